package crash

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"surehand/internal/simulator"
)

// Times of the profiles: as short as the importer lets them be, so that silence is judged within a test.
const (
	ackTimeout      = 2 * time.Second
	window          = 3 * time.Second
	commandDeadline = 15 * time.Second
	keepAlive       = 2 * time.Second
	restWithin      = 90 * time.Second
)

var classes = []simulator.Class{simulator.ClassA, simulator.ClassB, simulator.ClassC}

func classOf(n int) simulator.Class { return classes[n%len(classes)] }

func serialOf(n int) string { return fmt.Sprintf("unit-%02d", n) }

// fleetYAML describes units that each sense a level, and act by a switch that rules drive and a speed that
// people set. The level of a unit switches the next one.
func fleetYAML(devices int) string {
	var b strings.Builder
	b.WriteString("organisations: [{id: o, name: O}]\nfarms: [{id: f, organisation: o, name: F}]\nprofiles:\n")
	for _, class := range classes {
		fmt.Fprintf(&b, `  - id: unit-%s
    class: %s
    timing: {ackTimeout: %s, backoff: [1s, 2s], jitter: 0.1, maxAttempts: 3, reconciliationWindow: %s, commandDeadline: %s, freshness: 10s, keepAlive: %s}
    endpoints:
      - {key: level, kind: sensor, type: float}
      - {key: "on", kind: actuator, type: bool, writable: true, action: absolute, binding: {method: set, param: "on"}}
      - {key: speed, kind: actuator, type: int, writable: true, action: absolute, binding: {method: set, param: speed}}
`, class, class, ackTimeout, window, commandDeadline, keepAlive)
	}
	b.WriteString("devices:\n")
	for n := range devices {
		fmt.Fprintf(&b, "  - {id: %s, farm: f, profile: unit-%s, serial: %s}\n", serialOf(n), classOf(n), serialOf(n))
	}
	b.WriteString("rules:\n")
	for n := range devices {
		level, target := serialOf(n)+"/level", serialOf((n+1)%devices)+"/on"
		fmt.Fprintf(&b, "  - {id: high-%d, farm: f, trigger: %s, when: {endpoint: %s, gt: 60}, set: {endpoint: %s, value: true}}\n", n, level, level, target)
		fmt.Fprintf(&b, "  - {id: low-%d, farm: f, trigger: %s, when: {endpoint: %s, lt: 40}, set: {endpoint: %s, value: false}}\n", n, level, level, target)
	}
	return b.String()
}

// misbehaviour is what the devices do to us while a test runs.
var misbehaviour = simulator.Faults{
	DropRequest: 0.10, DropAck: 0.10, DoubleAck: 0.05, DelayAck: 0.05, AckDelay: 300 * time.Millisecond,
	DropReport: 0.05, DoubleReport: 0.05, DelayReport: 0.05, ReportDelay: 500 * time.Millisecond,
	DuplicateTelemetry: 0.02, ReorderTelemetry: 0.02, OfflineBatch: true,
	RebootBeforeApply: 0.01, RebootAfterApply: 0.01, RebootBeforeAnswer: 0.01,
}

// fleet is the devices of a world.
type fleet struct {
	*simulator.Fleet
	w *world
}

// manner is how the devices of a world are.
type manner int

const (
	faulty manner = iota // 5 to 10 readings a second, and all the faults
	silent               // readings only on request and after a change, and no faults: commits can be told apart
)

// newFleet starts the devices and waits until they are online.
func newFleet(w *world, devices int, how manner) *fleet {
	w.t.Helper()
	options := make([]simulator.Options, devices)
	for n := range options {
		options[n] = simulator.Options{
			Serial: serialOf(n), BrokerURL: w.broker.URL(), Class: classOf(n), KeepAlive: keepAlive, Seed: w.seed,
			TelemetryPeriod: time.Second / time.Duration(5+n%6), TruthSize: 1 << 20, ApplyDelay: time.Duration(n%4) * 20 * time.Millisecond,
			Endpoints: []simulator.Endpoint{
				{Key: "level", Type: simulator.Float, Initial: 50.0},
				{Key: "on", Actuator: true, Type: simulator.Bool},
				{Key: "speed", Actuator: true, Type: simulator.Int},
			},
		}
		switch how {
		case faulty:
			options[n].Faults = misbehaviour
		case silent:
			options[n].TelemetryPeriod = 0
		}
	}
	sim, err := simulator.NewFleet(options)
	require.NoError(w.t, err)
	f := &fleet{Fleet: sim, w: w}
	w.t.Cleanup(f.Kill)
	f.Start()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	require.NoError(w.t, f.Connected(ctx))
	return f
}

// behave ends all faults and lets the sensors show values at which no rule fires.
func (f *fleet) behave() {
	f.SetFaults(simulator.Faults{OfflineBatch: true})
	for _, d := range f.Devices() {
		require.NoError(f.w.t, d.SetValue("level", 50.0))
	}
}

// received counts the copies of commands that reached a device.
func (f *fleet) received() (n int) {
	for _, truth := range f.Truth() {
		for _, c := range truth.Commands {
			n += c.Received
		}
	}
	return n
}
