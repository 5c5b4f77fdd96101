package loop_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"surehand/internal/message"
	"surehand/internal/plant"
	"surehand/internal/term"
)

func rowsOf[R plant.Row](r *rig) []R {
	var out []R
	for _, row := range r.db.Rows() {
		if x, ok := row.(R); ok {
			out = append(out, x)
		}
	}
	return out
}

func (r *rig) settleCommand(p plant.Publish) {
	r.ended(p, term.AttemptSent)
	r.report(p, on(true))
	r.is(p, term.Applied)
}

// proves D-2, D-3: the same reading, however it comes again, is one event and one command.
func TestRepeatedReadings(t *testing.T) {
	noTime := func(r *rig, dup bool, packet uint16) message.TelemetryReceived {
		return message.TelemetryReceived{Serial: "CLIMATE", Delivery: message.Delivery{PacketID: packet, Duplicate: dup}, Readings: []message.Reading{
			{Fields: []message.Field{temperature(30)}, Seq: -1, Canonical: `{"values":{"temperature":30}}`}}}
	}
	for _, c := range []struct {
		name   string
		first  func(*rig) message.TelemetryReceived
		second func(*rig, message.TelemetryReceived) message.TelemetryReceived
	}{
		{"boot id and seq", func(r *rig) message.TelemetryReceived { return r.reading("CLIMATE", temperature(30)) },
			func(_ *rig, m message.TelemetryReceived) message.TelemetryReceived { return m }},
		{"time only", func(r *rig) message.TelemetryReceived { return r.sampled("CLIMATE", start, -1, temperature(30)) },
			func(_ *rig, m message.TelemetryReceived) message.TelemetryReceived { return m }},
		{"inside an offline batch", func(r *rig) message.TelemetryReceived { return r.reading("CLIMATE", temperature(30)) },
			func(r *rig, m message.TelemetryReceived) message.TelemetryReceived {
				old := r.sampled("CLIMATE", start.Add(-time.Hour), 0, temperature(31)).Readings[0]
				m.Readings = []message.Reading{old, m.Readings[0], m.Readings[0]}
				return m
			}},
		{"neither, redelivered by the broker", func(r *rig) message.TelemetryReceived { return noTime(r, false, 7) },
			func(r *rig, _ message.TelemetryReceived) message.TelemetryReceived { return noTime(r, true, 7) }},
		{"seq without boot id", func(r *rig) message.TelemetryReceived {
			m := r.reading("CLIMATE", temperature(30))
			m.Readings[0].BootID, m.Readings[0].At = "", time.Time{}
			return m
		}, func(_ *rig, m message.TelemetryReceived) message.TelemetryReceived { return m }},
		{"a sample from the far future", func(r *rig) message.TelemetryReceived {
			return r.sampled("CLIMATE", start.Add(time.Hour), -1, temperature(30))
		}, func(_ *rig, m message.TelemetryReceived) message.TelemetryReceived { return m }},
	} {
		again := func(t *testing.T, between func(*rig)) {
			r := newRig(t)
			m := c.first(r)
			require.Equal(t, message.Accepted, r.post(m).Code)
			r.settleCommand(r.publish())
			between(r)
			r.post(r.reading("FAN-A", on(false))) // so that a second firing would not hide behind already_true
			o := r.post(c.second(r, m))
			require.NotEqual(t, message.Accepted, o.Code)
			require.Empty(t, rowsOf[*plant.Parked](r), "the unique index is the backstop, not the rule")
			require.Empty(t, r.published())
			require.Len(t, r.db.Intents(), 1)
		}
		t.Run(c.name, func(t *testing.T) { again(t, func(*rig) {}) })
		t.Run(c.name+", after a restart", func(t *testing.T) { again(t, func(r *rig) { r.start(); r.up() }) })
		t.Run(c.name+", in one turn", func(t *testing.T) {
			r := newRig(t)
			m := c.first(r)
			r.posts(m, c.second(r, m))
			require.Len(t, r.db.Intents(), 1)
			require.Len(t, r.published(), 1)
		})
	}
}

// proves D-3: equal readings without identity that are no redelivery are events of their own.
func TestTwoPresses(t *testing.T) {
	r := newRig(t)
	press := func(packet uint16) message.TelemetryReceived {
		return message.TelemetryReceived{Serial: "CLIMATE", Delivery: message.Delivery{PacketID: packet}, Readings: []message.Reading{
			{Fields: []message.Field{temperature(30)}, Seq: -1, Canonical: `{"values":{"temperature":30}}`}}}
	}
	for _, packet := range []uint16{7, 8, 7} { // a packet id comes round again
		r.post(press(packet))
		p := r.publish()
		r.ended(p, term.AttemptSent)
		r.answer(p, term.RPCRejected, term.ResultInvalidParam)
	}
	require.Len(t, r.db.Intents(), 3)
}

// proves D-2: what is old is stored and fires nothing.
func TestBackfill(t *testing.T) {
	r := newRig(t)
	require.Equal(t, message.Noted, r.post(r.sampled("CLIMATE", start.Add(-time.Hour), 1, temperature(40))).Code)
	require.Empty(t, r.published())
	ev := rowsOf[*plant.Event](r)
	require.Len(t, ev, 1)
	require.Equal(t, term.DiscardBackfill, ev[0].Reason)
	require.Equal(t, start.Add(-time.Hour), ev[0].At)

	// An offline batch: only its last reading is fresh.
	batch := message.TelemetryReceived{Serial: "CLIMATE"}
	for n, age := range []time.Duration{50 * time.Minute, 30 * time.Minute, time.Second} {
		batch.Readings = append(batch.Readings, r.sampled("CLIMATE", start.Add(-age), int64(2+n), temperature(float64(41+n))).Readings[0])
	}
	r.post(batch)
	require.Equal(t, term.Float(43), mustEndpoint(r, "climate/temperature").Value)
	require.Len(t, r.published(), 1)

	// An older one never overrides a newer one.
	r.post(r.sampled("CLIMATE", start.Add(-2*time.Second), 3, temperature(10)))
	require.Equal(t, term.Float(43), mustEndpoint(r, "climate/temperature").Value)
	byReason := map[term.DiscardReason]int{}
	for _, e := range rowsOf[*plant.Event](r) {
		byReason[e.Reason]++
	}
	require.Equal(t, map[term.DiscardReason]int{term.DiscardBackfill: 3, term.DiscardNone: 1, term.DiscardOlder: 1}, byReason)
}

func mustEndpoint(r *rig, id term.EndpointID) *plant.Endpoint {
	e, ok := r.loop.State().Endpoint(id)
	require.True(r.t, ok)
	return e
}

// A reading without a time that was queued in the broker while we were away has an unknown age.
func TestReadingWithoutTimeBeforeTheBacklogHasCome(t *testing.T) {
	r := newRig(t)
	r.start() // links not yet drained
	m := r.reading("CLIMATE", temperature(30))
	m.Readings[0].At = time.Time{}
	r.post(m)
	require.Empty(t, r.published())
	require.Empty(t, r.db.Intents())
	r.up()
	m = r.reading("CLIMATE", temperature(30))
	m.Readings[0].At = time.Time{}
	r.post(m)
	require.Len(t, r.db.Intents(), 1)
}

// proves D-3: a reading without a seq in between does not make a repeated seq new.
func TestMarkNeverGoesBack(t *testing.T) {
	r := newRig(t)
	first := r.reading("CLIMATE", temperature(30))
	r.post(first)
	r.settleCommand(r.publish())
	r.clock.Advance(time.Second)
	r.post(r.sampled("CLIMATE", r.clock.Now(), -1, temperature(20)))
	r.clock.Advance(time.Second)
	first.Readings[0].At = r.clock.Now() // the same seq with another time
	r.post(first)
	require.Equal(t, term.Float(20), mustEndpoint(r, "climate/temperature").Value)
	require.Len(t, r.db.Intents(), 1)
}

// proves D-3: order by boot id and seq.
func TestReboots(t *testing.T) {
	r := newRig(t)
	at := func(boot string, seq int64, v float64) message.TelemetryReceived {
		m := r.sampled("CLIMATE", time.Time{}, seq, temperature(v))
		m.Readings[0].BootID = boot
		return m
	}
	r.post(at("b1", 10, 20))
	r.post(at("b2", 1, 21)) // a reboot: newer although its seq is lower
	require.Equal(t, term.Float(21), mustEndpoint(r, "climate/temperature").Value)
	r.post(at("b1", 11, 30)) // queued from before it: older
	require.Equal(t, term.Float(21), mustEndpoint(r, "climate/temperature").Value)
	require.Empty(t, r.db.Intents())
	d, _ := r.loop.State().Device("climate")
	require.Equal(t, "b2", d.BootID)
	require.Contains(t, d.Boots, "b1")
	r.post(at("b2", 2, 22))
	require.Equal(t, term.Float(22), mustEndpoint(r, "climate/temperature").Value)
}

// proves D-1: what is not of the contract changes nothing, is counted, and the flow goes on.
func TestStrangeInput(t *testing.T) {
	r := newRig(t)
	require.Equal(t, "unknown_device", r.post(r.reading("NOBODY", temperature(30))).Reason)
	require.Equal(t, "malformed", r.post(message.InputRejected{Serial: "CLIMATE", Topic: "t", Reason: "malformed", Raw: []byte("{")}).Reason)
	r.post(r.reading("CLIMATE", message.Field{Key: "nonsense", Value: term.Int(1)}))
	r.post(r.reading("CLIMATE", message.Field{Key: "temperature", Value: term.Text("hot")}))
	require.Empty(t, rowsOf[*plant.Event](r))
	require.Empty(t, r.db.Intents())
	counts := map[plant.Count]int{}
	for _, c := range r.feed.Shown() {
		for _, n := range c.Counts {
			counts[n]++
		}
	}
	require.Equal(t, 1, counts[plant.Count{Name: "input_rejected", Label: "unknown_device"}])
	require.Equal(t, 1, counts[plant.Count{Name: "input_rejected", Label: "malformed"}])
	require.Equal(t, 1, counts[plant.Count{Name: "input_rejected", Label: "wrong_type"}])
	require.Equal(t, 1, counts[plant.Count{Name: "telemetry_ignored", Label: "unknown_key"}])

	// A flood of it is counted, and only a bounded number is kept.
	for range 3 * plant.MaxRejectsAMinute {
		r.post(message.InputRejected{Topic: "t", Reason: "malformed"})
	}
	require.Len(t, rowsOf[*plant.Receipt](r), plant.MaxRejectsAMinute)
	require.Equal(t, message.Accepted, r.hot().Code)
	r.publish()
}

// proves D-2, D-4: more events than one turn may evaluate commit pending and are the next turns' work, also
// after a restart.
func TestPendingEvents(t *testing.T) {
	r := newRig(t)
	batch := make([]message.Message, 0, plant.MaxBatch)
	for range 5 { // 5 × 500 readings in one turn
		m := message.TelemetryReceived{Serial: "CLIMATE"}
		for range 500 {
			m.Readings = append(m.Readings, r.reading("CLIMATE", temperature(20)).Readings[0])
			r.clock.Advance(time.Millisecond)
		}
		batch = append(batch, r.wrap(m))
	}
	require.NoError(t, r.loop.Turn(r.ctx, batch))
	left := r.loop.State().PendingEvents(10000)
	require.Len(t, left, 2500-plant.MaxEventsPerTurn)
	r.start()
	r.settle()
	require.Empty(t, r.loop.State().PendingEvents(10000))
	for _, e := range rowsOf[*plant.Event](r) {
		require.Equal(t, term.EventProcessed, e.Status)
	}
}

// proves D-4, X-6: verdicts are rows, written when verdict or reason changes, with a count and the last time.
func TestExecutions(t *testing.T) {
	r := newRig(t)
	verdicts := func() (out []string) {
		for _, x := range rowsOf[*plant.Execution](r) {
			out = append(out, fmt.Sprintf("%s %s ×%d", x.Outcome, x.Reason, x.Count))
		}
		return out
	}
	say := func(v float64) { r.clock.Advance(time.Second); r.post(r.reading("CLIMATE", temperature(v))) }
	say(20)
	say(21)
	require.Equal(t, []string{"false  ×1"}, verdicts(), "plain false is not counted again")
	say(30)
	p := r.publish()
	say(31)
	say(32)
	require.Equal(t, []string{"false  ×1", "fired  ×1", "in_flight " + string(p.IntentID) + " ×2"}, verdicts())
	r.settleCommand(p)
	say(33)
	say(34)
	say(35)
	require.Equal(t, "already_true  ×3", verdicts()[3])
	require.Len(t, r.db.Intents(), 1)
	x := rowsOf[*plant.Execution](r)[1]
	require.Equal(t, "true", x.Leaves[0].Result)
	require.Equal(t, term.Float(30), x.Leaves[0].Actual)
	require.NotEmpty(t, x.Gates)
	for _, g := range x.Gates {
		require.True(t, g.Pass)
	}
	// A false in between, and the observation is stale: it fires again.
	say(20)
	r.wait(3 * time.Minute)
	r.heard("FAN-A")
	say(30)
	require.Len(t, r.published(), 1)
}

// proves D-16: hold-off is memory of the rule and survives a restart.
func TestHoldOff(t *testing.T) {
	r := newRig(t)
	h := house(exact())
	h.Rules[0].HoldOff = term.Duration(time.Minute)
	r.person(h)
	r.hot()
	p := r.publish()
	r.ended(p, term.AttemptSent)
	r.answer(p, term.RPCRejected, term.ResultInvalidParam)
	r.start()
	r.up()
	r.hot()
	require.Empty(t, r.published())
	var reasons []string
	for _, x := range rowsOf[*plant.Execution](r) {
		reasons = append(reasons, x.Reason)
	}
	require.ElementsMatch(t, []string{"", string(term.GateHoldOff)}, reasons)
	r.wait(time.Minute)
	r.hot()
	require.Len(t, r.published(), 1)
}

// proves D-4: conditions over several endpoints.
func TestConditions(t *testing.T) {
	leaf := func(id string, op term.Operator, v ...term.Value) term.Condition {
		c := term.Condition{Endpoint: term.EndpointID(id), Op: op}
		if op == term.OpIn || op == term.OpBetween {
			c.Values = v
		} else {
			c.Value = v[0]
		}
		return c
	}
	temp := func(op term.Operator, v ...term.Value) term.Condition { return leaf("climate/temperature", op, v...) }
	humid := leaf("climate/humidity", term.OpGt, term.Int(50)) // never heard: unknown
	n := func(f float64) term.Value { return term.Float(f) }
	not := func(c term.Condition) term.Condition { return term.Condition{Not: &c} }
	for _, c := range []struct {
		name string
		when term.Condition
		want term.ExecutionOutcome // at 30 °C
	}{
		{"eq", temp(term.OpEq, n(30)), term.ExecutionFired},
		{"eq int", temp(term.OpEq, term.Int(30)), term.ExecutionFired},
		{"ne", temp(term.OpNe, n(30)), term.ExecutionFalse},
		{"gt at the bound", temp(term.OpGt, n(30)), term.ExecutionFalse},
		{"ge at the bound", temp(term.OpGe, n(30)), term.ExecutionFired},
		{"lt at the bound", temp(term.OpLt, n(30)), term.ExecutionFalse},
		{"le at the bound", temp(term.OpLe, n(30)), term.ExecutionFired},
		{"between, both inclusive", temp(term.OpBetween, n(30), n(30)), term.ExecutionFired},
		{"between, outside", temp(term.OpBetween, n(31), n(32)), term.ExecutionFalse},
		{"in", temp(term.OpIn, n(1), n(30)), term.ExecutionFired},
		{"not in", temp(term.OpIn, n(1), n(2)), term.ExecutionFalse},
		{"not", not(temp(term.OpLt, n(30))), term.ExecutionFired},
		{"all", term.Condition{All: []term.Condition{temp(term.OpGt, n(29)), temp(term.OpLt, n(31))}}, term.ExecutionFired},
		{"any", term.Condition{Any: []term.Condition{temp(term.OpGt, n(40)), temp(term.OpLt, n(31))}}, term.ExecutionFired},
		{"unknown", humid, term.ExecutionUnknown},
		{"true and unknown", term.Condition{All: []term.Condition{temp(term.OpGt, n(29)), humid}}, term.ExecutionUnknown},
		{"false and unknown", term.Condition{All: []term.Condition{temp(term.OpGt, n(40)), humid}}, term.ExecutionFalse},
		{"true or unknown", term.Condition{Any: []term.Condition{temp(term.OpGt, n(29)), humid}}, term.ExecutionFired},
		{"not unknown", not(humid), term.ExecutionUnknown},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t)
			h := house(exact())
			h.Rules[0].Condition = c.when
			require.Equal(t, message.Accepted, r.person(h).Code)
			r.hot()
			x := rowsOf[*plant.Execution](r)
			require.Len(t, x, 1)
			require.Equal(t, c.want, x[0].Outcome)
			require.NotEmpty(t, x[0].Leaves)
		})
	}
}
