package simulator

import (
	"fmt"
	"testing"
	"time"
)

// The model's promise: rules with a band keep switching, by day and by night, day after day.
func TestGreenhouseNeverComesToRest(t *testing.T) {
	for seed := range uint64(5) {
		c := newClimate(seed)
		var in actuators
		fan, valves := 0, 0
		var lastFan, lastValve float64
		for second := 0.0; second < 5*daySeconds; second += 5 {
			c.step(5, in)
			switch {
			case c.temperature > 28 && in.fan == 0:
				in.fan, lastFan = 1, second
				fan++
			case c.temperature < 24 && in.fan == 1:
				in.fan, lastFan = 0, second
			}
			for i, m := range c.moisture {
				if m < 30 && in.valve[i] == 0 {
					in.valve[i], lastValve = 1, second
					valves++
				}
				if m > 60 {
					in.valve[i] = 0
				}
			}
			if second-lastFan > 3600 || second-lastValve > 7200 {
				t.Fatalf("seed %d: at rest at %.0f s: %+v", seed, second, c)
			}
			if c.temperature < 15 || c.temperature > 35 || c.humidity < 10 || c.humidity > 98 || c.tank < 0 || c.tank > 100 {
				t.Fatalf("seed %d: out of bounds: %+v", seed, c)
			}
		}
		if fan < 200 || valves < 50 {
			t.Fatalf("seed %d: fan %d times, valves %d times", seed, fan, valves)
		}
	}
}

func TestGreenhouseIsSeeded(t *testing.T) {
	run := func(seed uint64) string {
		c := newClimate(seed)
		for range 1000 {
			c.step(10, actuators{fan: 1})
		}
		return fmt.Sprintf("%v %v %v", c.temperature, c.moisture, c.illuminance)
	}
	first, again := run(1), run(1)
	if first != again || first == run(2) {
		t.Fatal("same seed, same day; another seed, another day")
	}
}

// On the wire: ten devices, a fan that is told to run, and a temperature that falls for it.
func TestGreenhouseOnTheWire(t *testing.T) {
	ticks := make(chan time.Time)
	prefix := newPrefix()
	g, err := NewGreenhouse(GreenhouseOptions{
		BrokerURL: sharedBroker.url, Prefix: prefix, Seed: 3, Speed: 60, Period: 20 * time.Millisecond, Ticks: ticks,
	})
	if err != nil {
		t.Fatal(err)
	}
	climatePeer := newPeer(t, sharedBroker.url, prefix, "greenhouse-climate")
	fan := newPeer(t, sharedBroker.url, prefix, "greenhouse-fan-1")
	g.Start()
	t.Cleanup(g.Kill)
	await(t, g.Connected)
	if n := len(g.Devices()); n != 10 {
		t.Fatalf("%d devices", n)
	}
	temperature := func(ok func(float64) bool) {
		climatePeer.until("telemetry", func(o object) bool { return ok(o["values"].(object)["temperature"].(float64)) })
	}
	at := time.Unix(1_700_000_000, 0)
	warmer := func(seconds int) {
		for range seconds {
			at = at.Add(time.Second)
			ticks <- at
		}
	}
	warmer(30)
	temperature(func(v float64) bool { return v > 28 })
	fan.call(call{id: "c-1", params: `{"running": true}`})
	fan.until("state", func(o object) bool { return o["commandId"] == "c-1" })
	warmer(30)
	temperature(func(v float64) bool { return v < 24 })
	truth := g.Truth()
	equal(t, "fan", truth["greenhouse-fan-1"].Commands["c-1"].Executed, 1)
	g.Stop()
	fan.until("status", func(o object) bool { return o["online"] == false })
}

func TestFleetOfHundred(t *testing.T) {
	var options []Options
	prefix := newPrefix()
	for i := range 100 {
		options = append(options, valve(func(o *Options) {
			o.Serial = fmt.Sprintf("v-%d", i)
			o.Prefix = prefix
		}))
	}
	f, err := NewFleet(options)
	if err != nil {
		t.Fatal(err)
	}
	f.Start()
	t.Cleanup(f.Kill)
	await(t, f.Connected)
	f.SetFaults(Faults{DuplicateTelemetry: 1})
	for _, d := range f.Devices() {
		if err := d.PublishTelemetry(); err != nil {
			t.Fatal(err)
		}
	}
	for _, d := range f.Devices() {
		awaitTruth(t, d, func(x Truth) bool { return x.Faults["duplicate_telemetry"] == 1 && x.Readings[0].Acked })
	}
	f.Stop()
	if len(f.Truth()) != 100 || f.Device("v-7") == nil || f.Device("v-100") != nil {
		t.Fatal("fleet")
	}
}
