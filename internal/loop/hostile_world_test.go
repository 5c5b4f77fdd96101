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

// What changes between a decision and the send, or while an answer is out, decides anew. Each case here was once a
// fault: found by reading the law against sequences that nobody had written down.

// proves D-13, X-4: a class B device that rebooted, or a device that is another class now, gets no further copy.
func TestNoFurtherCopyOnceTheMemoryMayBeGone(t *testing.T) {
	for name, change := range map[string]func(*rig){
		"rebooted during the backoff": func(r *rig) { r.post(message.DeviceStatusReported{Serial: "FAN-B", Online: true, BootID: "b2"}) },
		"class C now": func(r *rig) {
			h := house(exact())
			h.Devices[2].Class = term.ClassC
			require.Equal(r.t, message.Accepted, r.person(h).Code)
		},
		"another serial number now": func(r *rig) {
			h := house(exact())
			h.Devices[2].Serial = "FAN-B2"
			require.Equal(r.t, message.Accepted, r.person(h).Code)
			r.heard("FAN-B2")
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.command("fan-b/on", term.Bool(true))
			p := r.publish()
			r.ended(p, term.AttemptSent)
			r.wait(5 * time.Second)
			r.is(p, term.Retrying)
			change(r)
			r.wait(6 * time.Second)
			require.Empty(t, r.published())
			r.is(p, term.Uncertain)
		})
	}
	t.Run("a class B device that never told a boot id", func(t *testing.T) {
		r := newRig(t)
		h := house(exact())
		h.Devices = append(h.Devices, message.ImportDevice{ID: "fan-x", Farm: "house", Profile: "fan-b", Serial: "FAN-X"})
		require.Equal(t, message.Accepted, r.person(h).Code)
		r.post(message.DeviceStatusReported{Serial: "FAN-X", Online: true})
		r.command("fan-x/on", term.Bool(true))
		p := r.publish()
		r.ended(p, term.AttemptSent)
		r.wait(20 * time.Second)
		require.Empty(t, r.published())
		r.is(p, term.Uncertain)
	})
}

// proves X-3: readings may lag behind answers; a sample from before the fence proves nothing, whatever its count.
func TestSampleFromBeforeTheFenceThatComesAfterTheAck(t *testing.T) {
	r := newRig(t)
	r.post(r.reading("FAN-A", on(false)))
	r.clock.Advance(time.Second)
	lagging := r.reading("FAN-A", on(true))
	r.clock.Advance(time.Second)
	r.command("fan-a/on", term.Bool(true))
	p := r.publish()
	r.ended(p, term.AttemptSent)
	r.answer(p, term.RPCAccepted, term.ResultOK)
	r.post(lagging)
	r.is(p, term.Acknowledged)
	r.clock.Advance(time.Second)
	r.post(r.reading("FAN-A", on(true)))
	r.is(p, term.Applied)
}

// proves X-3: another physical device under the same name proves nothing about the command of the old one.
func TestAnotherSerialProvesNothing(t *testing.T) {
	r := newRig(t)
	r.command("fan-c/on", term.Bool(true))
	p := r.publish()
	r.ended(p, term.AttemptSent)
	h := house(exact())
	h.Devices[3].Serial = "NEW-C"
	require.Equal(t, message.Accepted, r.person(h).Code)
	for range 3 {
		r.clock.Advance(time.Second)
		r.post(r.reading("NEW-C", on(true)))
	}
	require.NotEqual(t, term.Applied, r.intent(p.IntentID).State)
}

// proves D-16: a binding that changed after the decision refuses the command; it must not drive the old output.
func TestChangedBindingIsNotSent(t *testing.T) {
	r := newRig(t)
	r.post(message.DeviceStatusReported{Serial: "FAN-A"})
	i := r.command("fan-a/on", term.Bool(true))
	h := house(exact())
	h.Profiles[1].Endpoints[0].Binding.Param = "relay2"
	require.Equal(t, message.Accepted, r.person(h).Code)
	r.heard("FAN-A")
	require.Empty(t, r.published())
	require.Equal(t, term.Failed, r.intent(i.ID).State)
}

// proves D-13, quality 16: reports about commands whose endpoint left the profile are kept, also many in a turn.
func TestReportAboutARemovedEndpoint(t *testing.T) {
	for _, ended := range []bool{false, true} {
		r := newRig(t)
		r.command("fan-a/on", term.Bool(true))
		p := r.publish()
		r.ended(p, term.AttemptSent)
		if ended {
			r.report(p, on(true))
		}
		h := house(exact())
		h.Profiles[1].Endpoints[0].Key = "run"
		h.Rules = nil
		require.Equal(t, message.Accepted, r.person(h).Code)
		var batch []message.Message
		for range 30 {
			batch = append(batch, r.wrap(message.StateReported{Serial: p.Serial, CommandID: p.CommandID, Fields: []message.Field{on(true)}, Seq: -1, Raw: []byte("{}")}))
		}
		r.turn(batch...)
		require.Empty(t, rowsOf[*plant.Parked](r))
	}
}

// proves quality 16: many messages that cannot be decided in one turn are all parked, and the loop goes on.
func TestManyBrokenMessagesInOneTurn(t *testing.T) {
	r := newRig(t)
	var batch []message.Message
	for range 30 {
		batch = append(batch, r.wrap(message.DeviceResponded{Serial: "FAN-B", CommandID: "cmd_x", Status: term.RPCAccepted}))
	}
	r.mint.always = true
	outcomes := make(chan message.Answer, len(batch))
	for i := range batch {
		batch[i].Reply = outcomes
	}
	require.NoError(t, r.loop.Turn(r.ctx, batch))
	r.mint.always = false
	require.Len(t, outcomes, len(batch))
	require.Len(t, rowsOf[*plant.Parked](r), len(batch))
	r.publishAfterRelease()
}

// proves X-2: a late busy for one copy says nothing about an earlier one that was accepted.
func TestLateBusyWhileUncertain(t *testing.T) {
	r := newRig(t)
	r.command("fan-a/on", term.Bool(true))
	p := r.publish()
	r.ended(p, term.AttemptSent)
	r.wait(10 * time.Second)
	second := r.publish()
	r.ended(second, term.AttemptSent)
	r.answer(p, term.RPCAccepted, term.ResultOK)
	r.wait(30 * time.Second)
	r.is(p, term.Uncertain)
	r.answer(second, term.RPCRejected, term.ResultBusy)
	r.is(p, term.Uncertain)
}

// proves quality 15: a late busy for a command that waits at a gate leaves no gate behind to be looked at for ever.
func TestNoBusyLoopAfterALateBusy(t *testing.T) {
	r := newRig(t)
	r.command("fan-a/on", term.Bool(true))
	p := r.publish()
	r.ended(p, term.AttemptSent)
	r.wait(5 * time.Second)
	r.post(message.LinkChanged{Link: plant.LinkCommands})
	r.wait(5 * time.Second)
	require.Equal(t, term.GateLinkDown, r.intent(p.IntentID).WaitingFor)
	r.answer(p, term.RPCRejected, term.ResultBusy)
	require.Equal(t, term.GateNone, r.intent(p.IntentID).WaitingFor)
	r.post(message.LinkChanged{Link: plant.LinkCommands, Up: true}) // settle fails if it never rests
}

// proves D-3: a status of an earlier boot that comes late does not make the device deaf.
func TestLateStatusOfAnEarlierBoot(t *testing.T) {
	r := newRig(t)
	r.boot = "b2"
	r.post(r.reading("CLIMATE", temperature(20)))
	r.post(message.DeviceStatusReported{Serial: "CLIMATE", Online: true, BootID: "b1", Retained: true})
	r.clock.Advance(time.Second)
	r.hot()
	require.Len(t, r.db.Intents(), 1)
}

// proves D-2, D-3: the same reading twice in one turn is one event, and the record says that it fired.
func TestTheRecordOfARepetitionInOneTurn(t *testing.T) {
	r := newRig(t)
	m := r.reading("CLIMATE", temperature(30))
	r.posts(m, m)
	ev := rowsOf[*plant.Event](r)
	require.Len(t, ev, 1)
	require.Equal(t, term.EventProcessed, ev[0].Status)
}

// proves D-3: an event that waits for a later turn is remembered too, so that a repetition does not fire again.
func TestRepetitionOfADeferredEvent(t *testing.T) {
	r := newRig(t)
	one := func(seq int64, v float64) message.Reading {
		m := r.sampled("CLIMATE", time.Time{}, seq, temperature(v)).Readings[0]
		m.BootID = ""
		return m
	}
	m := message.TelemetryReceived{Serial: "CLIMATE"}
	for n := range plant.MaxEventsPerTurn {
		m.Readings = append(m.Readings, one(int64(1+n), 20))
	}
	hot := one(5000, 40)
	m.Readings = append(m.Readings, hot)
	r.post(m)
	r.settleCommand(r.publish())
	r.post(message.TelemetryReceived{Serial: "CLIMATE", Readings: []message.Reading{one(5001, 20)}})
	r.post(r.reading("FAN-A", on(false)))
	r.clock.Advance(time.Second)
	r.post(message.TelemetryReceived{Serial: "CLIMATE", Readings: []message.Reading{hot}})
	require.Len(t, r.db.Intents(), 1)
}

// proves D-2: what waited to be evaluated until it was old fires nothing.
func TestDeferredEventThatBecameOld(t *testing.T) {
	r := newRig(t)
	m := message.TelemetryReceived{Serial: "CLIMATE"}
	for n := range plant.MaxEventsPerTurn {
		m.Readings = append(m.Readings, r.sampled("CLIMATE", r.clock.Now(), int64(1+n), temperature(20)).Readings[0])
		r.clock.Advance(time.Microsecond)
	}
	m.Readings = append(m.Readings, r.sampled("CLIMATE", r.clock.Now(), 5000, temperature(40)).Readings[0])
	require.NoError(t, r.loop.Turn(r.ctx, []message.Message{r.wrap(m)}))
	require.Len(t, r.loop.State().PendingEvents(10), 1)
	r.clock.Advance(time.Hour)
	r.start()
	r.up()
	require.Empty(t, r.loop.State().PendingEvents(10))
	require.Empty(t, r.db.Intents())
}

// proves D-2: devices whose clock runs ahead.
func TestDeviceClockAhead(t *testing.T) {
	t.Run("a backlog fires nothing", func(t *testing.T) {
		r := newRig(t)
		r.start()
		r.post(message.LinkChanged{Link: plant.LinkCommands, Up: true})
		r.post(r.sampled("CLIMATE", r.clock.Now().Add(30*time.Minute), 1, temperature(40)))
		require.Empty(t, r.db.Intents())
	})
	for _, later := range []time.Duration{31 * time.Second, 2 * time.Minute} {
		t.Run("a repetition "+later.String()+" later", func(t *testing.T) {
			r := newRig(t)
			m := r.sampled("CLIMATE", r.clock.Now().Add(90*time.Second), -1, temperature(40))
			r.post(m)
			r.settleCommand(r.publish())
			r.post(r.reading("FAN-A", on(false)))
			r.clock.Advance(later)
			r.heard("FAN-A")
			r.post(m)
			require.Len(t, r.db.Intents(), 1)
			require.Empty(t, rowsOf[*plant.Parked](r))
		})
	}
}

// proves quality 16, 31 of the fault matrix: our own clock went back.
func TestOurClockWentBack(t *testing.T) {
	t.Run("verdicts go on being counted", func(t *testing.T) {
		r := newRig(t)
		r.hot()
		r.settleCommand(r.publish())
		r.clock.Advance(time.Second)
		r.post(r.reading("FAN-A", on(true)))
		r.hot()
		r.clock.Step(r.clock.Now().Add(-10 * time.Second))
		for range 10 {
			r.hot()
		}
		require.Empty(t, rowsOf[*plant.Parked](r))
	})
	t.Run("readings without a time are not deaf for an hour", func(t *testing.T) {
		r := newRig(t)
		plain := func(v float64) message.TelemetryReceived {
			m := r.reading("CLIMATE", temperature(v))
			m.Readings[0].At, m.Readings[0].Seq, m.Readings[0].BootID, m.Readings[0].Canonical = time.Time{}, -1, "", fmt.Sprint(r.seq)
			return m
		}
		r.post(plain(20))
		r.clock.Step(r.clock.Now().Add(-time.Hour))
		r.heard("FAN-A")
		r.post(plain(40))
		require.Equal(t, term.Float(40), mustEndpoint(r, "climate/temperature").Value)
		require.Len(t, r.published(), 1)
	})
	t.Run("another life's attempt is not taken for ours", func(t *testing.T) {
		r := newRig(t)
		r.command("fan-b/on", term.Bool(true))
		p := r.publish()
		r.ended(p, term.AttemptSent)
		r.clock.Step(r.clock.Now().Add(-time.Minute))
		r.start()
		r.up()
		r.wait(2 * time.Minute)
		require.Empty(t, r.published())
		r.is(p, term.Uncertain)
	})
	t.Run("windows keep their length over a restart", func(t *testing.T) {
		for _, endpoint := range []string{"fan-a/on", "fan-c/on"} {
			r := newRig(t)
			r.command(endpoint, term.Bool(true))
			p := r.publish()
			r.ended(p, term.AttemptSent)
			r.clock.Step(r.clock.Now().Add(-time.Hour))
			r.start()
			r.up()
			r.wait(6 * time.Second)
			require.NotEqual(t, term.Dispatched, r.intent(p.IntentID).State, endpoint)
		}
	})
	t.Run("what was wanted an hour from now is not sent", func(t *testing.T) {
		r := newRig(t)
		r.post(message.LinkChanged{Link: plant.LinkCommands})
		i := r.command("fan-a/on", term.Bool(true))
		r.clock.Step(r.clock.Now().Add(-time.Hour))
		r.start()
		r.up()
		require.Empty(t, r.published())
		require.Equal(t, term.Expired, r.intent(i.ID).State)
	})
}

// proves X-3: a state report from before the backlog has come in carries no time: it is not an observation.
func TestStateReportOfUnknownAge(t *testing.T) {
	r := newRig(t)
	r.start()
	r.post(message.LinkChanged{Link: plant.LinkCommands, Up: true})
	r.post(message.SessionDrained{Link: plant.LinkTelemetry})
	r.post(r.sampled("FAN-A", r.clock.Now().Add(-time.Second), -1, on(false)))
	r.post(message.StateReported{Serial: "FAN-A", Fields: []message.Field{on(true)}, Seq: -1, Raw: []byte("{}")})
	r.post(message.SessionDrained{Link: plant.LinkAnswers})
	require.Equal(t, string(term.PendingDispatch), r.person(message.SendCommand{Endpoint: "fan-a/on", Value: term.Bool(true)}).State)
	r.publish()
}

// proves D-23: a rule sees only devices of its farm, also after one has moved away.
func TestLeafOfADeviceThatMovedAway(t *testing.T) {
	r := newRig(t)
	h := house(exact())
	h.Rules[0].Condition = term.Condition{Any: []term.Condition{h.Rules[0].Condition, {Endpoint: "fan-b/on", Op: term.OpEq, Value: term.Bool(true)}}}
	require.Equal(t, message.Accepted, r.person(h).Code)
	r.post(r.reading("FAN-B", on(true)))
	h.Farms = append(h.Farms, message.ImportFarm{ID: "far", Organisation: "acme"})
	h.Devices[2].Farm = "far"
	h.Rules = nil
	require.Equal(t, message.Accepted, r.person(h).Code)
	r.post(r.reading("CLIMATE", temperature(20)))
	require.Empty(t, r.db.Intents())
}
