package loop_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"surehand/internal/loop"
	"surehand/internal/loop/looptest"
	"surehand/internal/message"
	"surehand/internal/plant"
	"surehand/internal/term"
)

// rig drives the production loop turn by turn on the memory store in virtual time. After every committed turn
// the picture is held against a fresh load, and every invariant against rows, log and history.
type rig struct {
	t     *testing.T
	ctx   context.Context
	db    *looptest.Database
	store *looptest.Memory
	clock *looptest.Clock
	mint  *brittleMint
	hands *looptest.Hands
	feed  *looptest.Feed
	loop  *loop.Loop
	seq   int64 // of the devices' readings
	boot  string
	ids   int
}

// brittleMint makes the decider that draws the next id panic, when told to.
type brittleMint struct {
	*looptest.Mint
	armed bool
	// always: every decider that keeps a receipt panics; parking itself may draw.
	always bool
}

func (m *brittleMint) ID(now time.Time) string {
	if m.always && calledByReceipt() {
		panic("brittle")
	}
	if m.armed {
		m.armed = false
		panic("brittle")
	}
	return m.Mint.ID(now)
}

func calledByReceipt() bool {
	var pcs [16]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs[:])])
	for {
		f, more := frames.Next()
		if strings.HasSuffix(f.Function, "RecordReceipt") {
			return true
		}
		if !more {
			return false
		}
	}
}

// publishAfterRelease: the half was held, and an engineer lets it go.
func (r *rig) publishAfterRelease() {
	r.t.Helper()
	r.hot()
	require.Empty(r.t, r.published())
	require.Equal(r.t, message.Accepted, r.person(message.ReleaseHold{Subject: plant.DevicesSubject, Hold: term.HoldParked, Reason: "mended"}).Code)
	r.publish()
}

var start = time.Date(2026, 11, 30, 3, 0, 0, 0, time.UTC)

// house: a sensor that triggers, a fan of each class with a boolean output, a valve with a number.
func house(timing term.Timing) message.ImportDevices {
	output := func(key string, typ term.ValueType) term.EndpointSpec {
		return term.EndpointSpec{Key: key, Kind: term.Actuator, Type: typ, Writable: true, Action: term.ActionAbsolute,
			Binding: term.Binding{Method: "set", Param: key}}
	}
	low, high := 0.0, 100.0
	valve := output("position", term.TypeInt)
	valve.Constraints = term.Constraints{Min: &low, Max: &high}
	pulse := output("open", term.TypeBool)
	pulse.Action = term.ActionPulse
	profile := func(id string, class term.DeviceClass, specs ...term.EndpointSpec) message.ImportProfile {
		return message.ImportProfile{ID: term.ProfileID(id), Class: class, Timing: timing, Endpoints: specs}
	}
	device := func(id, profile string) message.ImportDevice {
		return message.ImportDevice{ID: term.DeviceID(id), Farm: "house", Profile: term.ProfileID(profile), Serial: strings.ToUpper(id)}
	}
	hot := func(id, target string) message.ImportRule {
		return message.ImportRule{ID: term.RuleID(id), Farm: "house", Trigger: "climate/temperature", Target: term.EndpointID(target), TargetValue: term.Bool(true),
			Condition: term.Condition{Endpoint: "climate/temperature", Op: term.OpGt, Value: term.Int(28)}}
	}
	return message.ImportDevices{
		Organisations: []message.ImportOrganisation{{ID: "acme"}},
		Farms:         []message.ImportFarm{{ID: "house", Organisation: "acme"}},
		Profiles: []message.ImportProfile{
			profile("climate", "B", term.EndpointSpec{Key: "temperature", Kind: term.Sensor, Type: term.TypeFloat},
				term.EndpointSpec{Key: "humidity", Kind: term.Sensor, Type: term.TypeFloat}),
			profile("fan-a", "A", output("on", term.TypeBool)), profile("fan-b", "B", output("on", term.TypeBool)),
			profile("fan-c", "C", output("on", term.TypeBool)), profile("valve", "A", valve), profile("door", "A", pulse),
		},
		Devices: []message.ImportDevice{device("climate", "climate"), device("fan-a", "fan-a"), device("fan-b", "fan-b"), device("fan-c", "fan-c"),
			device("valve", "valve"), device("door", "door")},
		Rules: []message.ImportRule{hot("cool-a", "fan-a/on")},
	}
}

func exact() term.Timing { zero := 0.0; return term.Timing{Jitter: &zero} }

// newRig starts a process with the house imported, links up and every device heard.
func newRig(t *testing.T) *rig {
	r := &rig{t: t, ctx: t.Context(), db: looptest.NewDatabase(), clock: looptest.NewClock(start.Add(-time.Second)), mint: &brittleMint{Mint: looptest.NewMint(1)}, boot: "b1"}
	r.start()
	require.Equal(t, message.Accepted, r.person(house(exact())).Code)
	r.clock.Advance(time.Second) // nothing is fenced at the very instant of the start
	r.up()
	return r
}

// start is a new process life on the same database.
func (r *rig) start() {
	r.store, r.hands, r.feed = r.db.Store(), &looptest.Hands{}, &looptest.Feed{}
	r.loop = loop.New(loop.Options{Store: r.store, Hands: r.hands, Feed: r.feed, Clock: r.clock, Mint: r.mint, Check: r.check})
	require.NoError(r.t, r.loop.Begin(r.ctx))
}

func (r *rig) check(_ context.Context, s *plant.State) {
	r.t.Helper()
	fresh, err := r.db.Load()
	require.NoError(r.t, err)
	require.Empty(r.t, plant.Diff(s, fresh), "the picture differs from a fresh load (invariant 13)")
	require.Empty(r.t, looptest.Invariants(r.db))
}

// up brings the links up, drains the sessions and lets every device be heard.
func (r *rig) up() {
	for _, l := range []plant.Link{plant.LinkTelemetry, plant.LinkAnswers, plant.LinkCommands} {
		r.post(message.LinkChanged{Link: l, Up: true})
	}
	r.post(message.SessionDrained{Link: plant.LinkTelemetry})
	r.post(message.SessionDrained{Link: plant.LinkAnswers})
	for _, d := range r.loop.State().Devices() {
		r.heard(d.Serial)
	}
}

func (r *rig) heard(serial string) {
	r.post(message.DeviceStatusReported{Serial: serial, Online: true, BootID: r.boot})
}

// post decides one message in a turn of its own and returns its outcome.
func (r *rig) post(p message.Payload) message.Outcome { return r.posts(p)[0] }

// posts decides several messages in one turn.
func (r *rig) posts(payloads ...message.Payload) []message.Outcome {
	r.t.Helper()
	batch := make([]message.Message, len(payloads))
	for i, p := range payloads {
		batch[i] = r.wrap(p)
	}
	return r.turn(batch...)
}

func (r *rig) wrap(p message.Payload) message.Message {
	r.ids++
	m := message.Message{ID: term.MessageID(r.mint.ID(r.clock.Now())), Payload: p, CreatedAt: r.clock.Now(), Source: message.FromDevice}
	switch p.(type) {
	case message.TelemetryReceived:
		m.Source = message.FromTelemetry
	case message.AttemptEnded:
		m.Source = message.FromWorker
	case message.SendCommand, message.CancelCommand, message.JudgeCommand, message.ReleaseHold, message.ImportDevices:
		m.Source, m.Actor, m.BodyHash = message.FromPerson, "kim", fmt.Sprint(p)
	}
	return m
}

func (r *rig) turn(batch ...message.Message) []message.Outcome {
	r.t.Helper()
	replies := make(chan message.Answer, len(batch))
	for i := range batch {
		batch[i].Reply = replies
	}
	require.NoError(r.t, r.loop.Turn(r.ctx, batch))
	outcomes := make([]message.Outcome, len(batch))
	for i := range batch { // answers come in the order of the batch
		a := <-replies
		require.Equal(r.t, batch[i].ID, a.MessageID)
		outcomes[i] = a.Outcome
	}
	r.settle()
	return outcomes
}

func (r *rig) person(p message.Payload) message.Outcome { return r.post(p) }

// settle turns until nothing is left over for now.
func (r *rig) settle() {
	r.t.Helper()
	for n := 0; ; n++ {
		next, ok := r.loop.NextTurn()
		if !ok || next.After(r.clock.Now()) {
			return
		}
		require.Less(r.t, n, 100, "the loop does not come to rest")
		require.NoError(r.t, r.loop.Turn(r.ctx, nil))
	}
}

// wait lets time pass, stopping at every timer on the way.
func (r *rig) wait(d time.Duration) {
	r.t.Helper()
	end := r.clock.Now().Add(d)
	for {
		next, ok := r.loop.NextTurn()
		if !ok || next.After(end) {
			break
		}
		if next.After(r.clock.Now()) {
			r.clock.Advance(next.Sub(r.clock.Now()))
		}
		r.settle()
	}
	r.clock.Advance(end.Sub(r.clock.Now()))
	r.settle()
}

// reading of one device now, with the next seq.
func (r *rig) reading(serial string, fields ...message.Field) message.TelemetryReceived {
	r.seq++
	return r.sampled(serial, r.clock.Now(), r.seq, fields...)
}

func (r *rig) sampled(serial string, at time.Time, seq int64, fields ...message.Field) message.TelemetryReceived {
	return message.TelemetryReceived{Serial: serial, Delivery: message.Delivery{PacketID: 1}, Readings: []message.Reading{
		{Fields: fields, At: at, Seq: seq, BootID: r.boot, Canonical: fmt.Sprintf(`{"seq":%d,"ts":%q,"values":%q}`, seq, at, fmt.Sprint(fields))}}}
}

func temperature(v float64) message.Field {
	return message.Field{Key: "temperature", Value: term.Float(v)}
}
func on(v bool) message.Field { return message.Field{Key: "on", Value: term.Bool(v)} }

func (r *rig) hot() message.Outcome { return r.post(r.reading("CLIMATE", temperature(30))) }

// published is what was handed to the broker since the last call.
func (r *rig) published() []plant.Publish {
	var out []plant.Publish
	for _, a := range r.hands.Take() {
		out = append(out, a.(plant.Publish))
	}
	return out
}

// publish expects exactly one.
func (r *rig) publish() plant.Publish {
	r.t.Helper()
	p := r.published()
	require.Len(r.t, p, 1)
	return p[0]
}

func (r *rig) ended(p plant.Publish, outcome term.AttemptOutcome) message.Outcome {
	return r.post(message.AttemptEnded{AttemptID: p.AttemptID, IntentID: p.IntentID, Outcome: outcome, Error: string(outcome)})
}

func (r *rig) answer(p plant.Publish, status term.RPCStatus, code term.ResultCode) message.Outcome {
	return r.post(message.DeviceResponded{Serial: p.Serial, CommandID: p.CommandID, Status: status, ResultCode: code, Attempt: p.Number,
		Correlation: p.Correlation, Raw: []byte("{}")})
}

func (r *rig) report(p plant.Publish, fields ...message.Field) message.Outcome {
	return r.post(message.StateReported{Serial: p.Serial, CommandID: p.CommandID, Fields: fields, Seq: -1, Raw: []byte("{}")})
}

// intent finds a command, ended or not.
func (r *rig) intent(id term.IntentID) *plant.Intent {
	r.t.Helper()
	row, ok := r.db.Row(plant.KindIntent, string(id))
	require.True(r.t, ok, "no intent %s", id)
	return row.(*plant.Intent)
}

func (r *rig) is(p plant.Publish, state term.CommandState) *plant.Intent {
	r.t.Helper()
	i := r.intent(p.IntentID)
	require.Equal(r.t, state, i.State, "%+v", *i)
	return i
}

// one is the only command in the database.
func (r *rig) one() *plant.Intent {
	r.t.Helper()
	all := r.db.Intents()
	require.Len(r.t, all, 1)
	return all[0]
}

// command sends a hand command and returns its intent.
func (r *rig) command(endpoint string, v term.Value) *plant.Intent {
	r.t.Helper()
	o := r.person(message.SendCommand{Endpoint: term.EndpointID(endpoint), Value: v})
	require.Equal(r.t, message.Accepted, o.Code, "%+v", o)
	return r.intent(term.IntentID(o.ID))
}
