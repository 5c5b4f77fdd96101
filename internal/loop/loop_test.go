package loop_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"surehand/internal/loop"
	"surehand/internal/loop/looptest"
	"surehand/internal/message"
	"surehand/internal/plant"
	"surehand/internal/term"
)

// proves C-2: a message of a person is decided once, whatever happens to its answer.
func TestIdempotency(t *testing.T) {
	r := newRig(t)
	m := r.wrap(message.SendCommand{Endpoint: "fan-a/on", Value: term.Bool(true)})
	first := r.turn(m)[0]
	require.Equal(t, message.Accepted, first.Code)
	require.NotZero(t, first.Seq)
	require.Equal(t, first, r.turn(m)[0], "the stored outcome")
	r.start()
	r.up()
	require.Equal(t, first, r.turn(m)[0], "the stored outcome, after a restart")
	other := m
	other.BodyHash = "other"
	require.Equal(t, message.Conflict, r.turn(other)[0].Code)
	require.Len(t, r.db.Intents(), 1)

	twin := r.wrap(message.SendCommand{Endpoint: "fan-b/on", Value: term.Bool(true)})
	o := r.turn(twin, twin)
	require.Equal(t, o[0], o[1])
	require.Len(t, r.db.Intents(), 2)
	refused := r.wrap(message.ReleaseHold{Subject: "device:fan-a", Hold: term.HoldParked, Reason: "x"})
	require.Equal(t, message.NotFound, r.turn(refused)[0].Code)
}

// proves C-6, X-8: one row of the log per message that decided something, gapless, and none for plain readings.
func TestEventLog(t *testing.T) {
	r := newRig(t)
	before := r.db.Fence().Seq
	r.post(r.reading("CLIMATE", temperature(20))) // the first verdict of the rule
	require.Equal(t, before+1, r.db.Fence().Seq)
	r.post(r.reading("CLIMATE", temperature(21))) // the same verdict: a plain reading
	require.Equal(t, before+1, r.db.Fence().Seq)
	r.hot()
	require.Equal(t, before+2, r.db.Fence().Seq)
	last := r.db.Log()[len(r.db.Log())-1]
	require.Equal(t, "TelemetryReceived", last.Type)
	var moves []string
	for _, n := range last.Notes {
		moves = append(moves, n.Move)
	}
	require.Subset(t, moves, []string{"RecordEvent", "CreateIntent", "RecordExecution", "FenceIfFree", "OpenAttempt"})
}

// proves C-20 (device half): what cannot be decided is parked and holds its device; the rest goes on.
func TestParking(t *testing.T) {
	r := newRig(t)
	// A decider that panics: an answer to no command of ours draws an id for its receipt.
	broken := message.DeviceResponded{Serial: "FAN-B", CommandID: "cmd_x", Status: term.RPCAccepted}
	bad := r.wrap(broken)
	good := r.wrap(r.reading("CLIMATE", temperature(30)))
	r.mint.armed = true
	o := r.turn(bad, good)
	require.Equal(t, message.Parked, o[0].Code)
	require.Equal(t, message.Accepted, o[1].Code)
	require.Len(t, rowsOf[*plant.Parked](r), 1)
	_, held := r.loop.State().Held("device:fan-b", term.HoldParked)
	require.True(t, held)
	r.publish() // fan-a is driven all the same
	require.Equal(t, term.GateQuarantine, r.command("fan-b/on", term.Bool(true)).WaitingFor)
	require.Equal(t, message.Accepted, r.person(message.ReleaseHold{Subject: "device:fan-b", Hold: term.HoldParked, Reason: "read it"}).Code)
	r.publish()

	for range 4 { // several in a minute: the whole half is held
		m := r.wrap(broken)
		r.mint.armed = true
		require.Equal(t, message.Parked, r.turn(m)[0].Code)
	}
	_, held = r.loop.State().Held(plant.DevicesSubject, term.HoldParked)
	require.True(t, held)
	r.wait(time.Minute)
	require.Equal(t, term.GateQuarantine, r.command("valve/position", term.Int(1)).WaitingFor)
}

// proves X-13, quality 8: the database refuses one message's row; the others stand, it is parked.
func TestRefusedByTheDatabaseIsDecidedOneByOne(t *testing.T) {
	r := newRig(t)
	r.db.Draw(func(b plant.Batch) looptest.Fault {
		for _, c := range b.Changes {
			if e, ok := c.After.(*plant.Endpoint); ok && e.ID == "climate/humidity" {
				return looptest.Fault{Mode: looptest.Conflict}
			}
		}
		return looptest.Fault{}
	})
	good := r.wrap(r.reading("CLIMATE", temperature(30)))
	bad := r.wrap(r.reading("CLIMATE", message.Field{Key: "humidity", Value: term.Float(1)}))
	fine := r.wrap(r.reading("FAN-A", on(false)))
	o := r.turn(good, bad, fine)
	require.Equal(t, message.Accepted, o[0].Code)
	require.Equal(t, message.Parked, o[1].Code)
	require.Equal(t, message.Noted, o[2].Code)
	require.Len(t, r.published(), 1)
}

// proves K-1, K-6: the loop in its own goroutine, woken by messages and timers, ended by a drain.
func TestRunAndDrain(t *testing.T) {
	r := newRig(t)
	r.store, r.hands, r.feed = r.db.Store(), &looptest.Hands{}, &looptest.Feed{}
	answers := make(chan message.Answer, 16)
	l := loop.New(loop.Options{Store: r.store, Hands: r.hands, Feed: r.feed, Clock: r.clock, Mint: r.mint, Check: r.check})
	ended := make(chan error, 1)
	go func() { ended <- l.Run(r.ctx) }()
	<-l.Opened()
	send := func(p message.Payload) message.Outcome {
		m := r.wrap(p)
		m.Reply = answers
		require.True(t, l.Post(m))
		return (<-answers).Outcome
	}
	send(message.LinkChanged{Link: plant.LinkCommands, Up: true})
	send(message.SessionDrained{Link: plant.LinkAnswers})
	send(message.DeviceStatusReported{Serial: "FAN-A", Online: true, BootID: r.boot})
	require.Equal(t, message.Accepted, send(message.SendCommand{Endpoint: "fan-a/on", Value: term.Bool(true)}).Code)
	r.clock.AwaitTimers(1)
	p := r.publish()
	send(message.AttemptEnded{AttemptID: p.AttemptID, IntentID: p.IntentID, Outcome: term.AttemptSent})

	l.Stop(true)
	r.clock.AwaitTimers(1) // asleep again: it waits for what is under way
	second := send(message.SendCommand{Endpoint: "fan-a/on", Value: term.Bool(false)})
	require.Equal(t, message.Accepted, second.Code)
	require.Equal(t, string(term.GateEndpointBusy), second.Reason)
	send(message.StateReported{Serial: "FAN-A", CommandID: p.CommandID, Fields: []message.Field{on(true)}, Seq: -1})
	require.NoError(t, <-ended)
	require.True(t, r.db.Drained())
	r.is(p, term.Applied)
	require.Empty(t, r.published(), "nothing new is sent while draining")
	require.False(t, l.Post(r.wrap(r.reading("CLIMATE", temperature(1)))), "ended")
}

// proves K-1, quality 15: a flood of readings is told "full" and does not stand in front of people.
func TestInboxIsBounded(t *testing.T) {
	r := newRig(t)
	l := loop.New(loop.Options{Store: r.db.Store(), Hands: r.hands, Feed: r.feed, Clock: r.clock, Mint: r.mint})
	taken := 0
	for l.Post(r.wrap(r.reading("CLIMATE", temperature(1)))) {
		taken++
		require.Less(t, taken, 100000)
	}
	require.EqualValues(t, taken, l.Health().Queued[3])
	answers := make(chan message.Answer, 1)
	m := r.wrap(message.SendCommand{Endpoint: "fan-a/on", Value: term.Bool(true)})
	m.Reply = answers
	require.True(t, l.Post(m))
	ctx, cancel := context.WithCancel(r.ctx)
	ended := make(chan error, 1)
	go func() { ended <- l.Run(ctx) }()
	require.Equal(t, message.Accepted, (<-answers).Outcome.Code)
	r.clock.AwaitTimers(1) // everything is decided
	require.Zero(t, l.Health().Queued[3])
	cancel()
	require.NoError(t, <-ended)
}
