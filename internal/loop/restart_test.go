package loop_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"surehand/internal/loop/looptest"
	"surehand/internal/message"
	"surehand/internal/plant"
	"surehand/internal/term"
)

// proves D-13, X-1, X-4: the restart law, state by state and class by class. The process ends at each place of
// a command's life; the next life sends nothing blindly.
func TestRestart(t *testing.T) {
	type want struct {
		soon  term.CommandState // right after the restart
		later term.CommandState // after the rest of its window, 5 s at least
		sends int               // publishes of the next life until then and through the backoff
	}
	stages := []struct {
		name  string
		reach func(*rig) plant.Publish
		want  map[string]want
	}{
		{"fenced, not known whether sent", func(r *rig) plant.Publish { return r.publish() }, map[string]want{
			"fan-a/on": {term.PendingDispatch, term.Retrying, 1}, "fan-b/on": {term.PendingDispatch, term.Uncertain, 0},
			"fan-c/on": {term.PendingDispatch, term.Uncertain, 0}, "door/open": {term.PendingDispatch, term.Uncertain, 0}}},
		{"dispatched", func(r *rig) plant.Publish { p := r.publish(); r.ended(p, term.AttemptSent); return p }, map[string]want{
			"fan-a/on": {term.Dispatched, term.Retrying, 1}, "fan-b/on": {term.Dispatched, term.Uncertain, 0},
			"fan-c/on": {term.Dispatched, term.Uncertain, 0}, "door/open": {term.Dispatched, term.Uncertain, 0}}},
		{"acknowledged", func(r *rig) plant.Publish {
			p := r.publish()
			r.ended(p, term.AttemptSent)
			r.answer(p, term.RPCAccepted, term.ResultOK)
			r.clock.Advance(26 * time.Second)
			return p
		}, map[string]want{
			"fan-a/on": {term.Acknowledged, term.Uncertain, 0}, "fan-b/on": {term.Acknowledged, term.Uncertain, 0},
			"fan-c/on": {term.Acknowledged, term.Uncertain, 0}, "door/open": {term.Acknowledged, term.Uncertain, 0}}},
		{"second attempt fenced", func(r *rig) plant.Publish {
			r.ended(r.publish(), term.AttemptSent)
			r.wait(10 * time.Second)
			return r.publish()
		}, map[string]want{"fan-a/on": {term.Retrying, term.Retrying, 1}}},
	}
	for _, s := range stages {
		for endpoint, w := range s.want {
			t.Run(s.name+" "+endpoint, func(t *testing.T) {
				r := newRig(t)
				r.command(endpoint, term.Bool(true))
				p := s.reach(r)
				r.start()
				r.is(p, w.soon)
				r.wait(2 * time.Minute) // links are still down: silence means nothing
				r.is(p, w.soon)
				require.Empty(t, r.published())
				r.up()
				r.wait(5*time.Second - time.Millisecond)
				r.is(p, w.soon)
				require.Empty(t, r.published())
				r.wait(time.Millisecond)
				if i := r.intent(p.IntentID); i.DeadlineAt.After(r.clock.Now()) {
					r.is(p, w.later)
				}
			})
			t.Run(s.name+" "+endpoint+", back at once", func(t *testing.T) {
				r := newRig(t)
				r.command(endpoint, term.Bool(true))
				p := s.reach(r)
				r.start()
				r.up()
				require.Empty(t, r.published(), "a restart sends nothing by itself")
				r.wait(5 * time.Second)
				r.is(p, w.later)
				r.wait(18 * time.Second)
				sent := r.published()
				require.Len(t, sent, w.sends)
				for _, again := range sent {
					require.Equal(t, p.CommandID, again.CommandID)
					require.Equal(t, p.Number+1, again.Number)
				}
			})
			t.Run(s.name+" "+endpoint+", its report was queued", func(t *testing.T) {
				r := newRig(t)
				r.command(endpoint, term.Bool(true))
				p := s.reach(r)
				r.start()
				key := "on"
				if endpoint == "door/open" {
					key = "open"
				}
				r.report(p, message.Field{Key: key, Value: term.Bool(true)})
				r.is(p, term.Applied)
				r.up()
				r.wait(time.Minute)
				require.Empty(t, r.published())
			})
		}
	}
	t.Run("decided, not fenced", func(t *testing.T) {
		r := newRig(t)
		r.post(message.LinkChanged{Link: plant.LinkCommands})
		i := r.command("fan-c/on", term.Bool(true))
		r.start()
		r.up()
		require.Equal(t, i.ID, r.publish().IntentID)
	})
	t.Run("waiting for its next attempt", func(t *testing.T) {
		r := newRig(t)
		r.command("fan-a/on", term.Bool(true))
		p := r.publish()
		r.ended(p, term.AttemptSent)
		r.wait(6 * time.Second)
		r.is(p, term.Retrying)
		r.start()
		r.up()
		r.wait(3 * time.Second)
		require.Empty(t, r.published(), "its due time still stands")
		r.wait(time.Second)
		require.Equal(t, 2, r.publish().Number)
	})
}

// proves D-13: the kill comes at every commit of a command's life; whatever was decided, the next life ends it
// right, and the device never sees a command id that was not stored before.
func TestKillAtEveryCommit(t *testing.T) {
	story := func(r *rig, step func() bool) {
		if r.hot(); !step() {
			return
		}
		for _, p := range r.published() {
			if r.ended(p, term.AttemptSent); !step() {
				return
			}
			if r.answer(p, term.RPCAccepted, term.ResultOK); !step() {
				return
			}
			r.report(p, on(true))
		}
	}
	for kill := 1; kill <= 4; kill++ {
		for _, lost := range []bool{false, true} {
			r := newRig(t)
			n := 0
			story(r, func() bool { n++; return n < kill })
			if lost {
				r.db.Restore(0) // nothing is lost by a kill: what was committed stays
			}
			before := r.db.Intents()
			require.Len(t, before, 1)
			r.start()
			r.up()
			r.hot() // the reading comes again, newer
			require.LessOrEqual(t, len(r.db.Intents()), 2)
			r.wait(10 * time.Minute)
			for _, i := range r.db.Intents() {
				require.True(t, i.State.Ended() || i.State == term.Uncertain, "%s is still %s", i.ID, i.State)
			}
		}
	}
}

// proves X-1: with the database away nothing is dispatched, nothing is lost, and all goes on by itself.
func TestDatabaseAway(t *testing.T) {
	r := newRig(t)
	r.db.Script(looptest.Fault{Mode: looptest.Away, N: 30})
	m := r.wrap(r.reading("CLIMATE", temperature(30)))
	replies := make(chan message.Answer, 1)
	m.Reply = replies
	done := make(chan error, 1)
	go func() { done <- r.loop.Turn(r.ctx, []message.Message{m}) }()
	for waiting := true; waiting; {
		select {
		case err := <-done:
			require.NoError(t, err)
			waiting = false
		default:
			if _, ok := r.clock.Next(); ok {
				require.True(t, r.loop.Health().DatabaseAway)
				require.Empty(t, r.hands.Started(), "dispatched while the database was away")
				require.Empty(t, replies, "acknowledged while the database was away")
				r.clock.Advance(200 * time.Millisecond)
			}
		}
	}
	require.Equal(t, message.Accepted, (<-replies).Outcome.Code)
	require.False(t, r.loop.Health().DatabaseAway)
	r.settle()
	require.Len(t, r.published(), 1)
	require.Len(t, r.db.Intents(), 1)
}

// proves X-1: windows stand still while the loop cannot commit; at least 5 s are left afterwards.
func TestWindowsStandStillDuringAnOutage(t *testing.T) {
	r := newRig(t)
	r.command("fan-c/on", term.Bool(true))
	p := r.publish()
	r.ended(p, term.AttemptSent)
	r.clock.Advance(4900 * time.Millisecond)
	r.db.Script(looptest.Fault{Mode: looptest.Away, N: 100})
	done := make(chan error, 1)
	go func() { done <- r.loop.Turn(r.ctx, []message.Message{r.wrap(r.reading("CLIMATE", temperature(20)))}) }()
	for waiting := true; waiting; {
		select {
		case err := <-done:
			require.NoError(t, err)
			waiting = false
		default:
			if _, ok := r.clock.Next(); ok {
				r.clock.Advance(time.Second)
			}
		}
	}
	r.settle()
	r.is(p, term.Dispatched)
	r.wait(5*time.Second - time.Millisecond)
	r.is(p, term.Dispatched)
	r.wait(time.Millisecond)
	r.is(p, term.Uncertain)
}

// proves X-13: a forgotten process is fenced off by its next write.
func TestForgottenProcess(t *testing.T) {
	r := newRig(t)
	old := r.loop
	r.start()
	err := old.Turn(r.ctx, []message.Message{r.wrap(r.reading("CLIMATE", temperature(30)))})
	require.Equal(t, plant.FaultFenced, plant.FaultOf(err))
	require.Empty(t, r.db.Intents())
}

// proves X-5 (device half): the database went back in time; a new generation starts and devices are quarantined.
func TestDatabaseWentBackInTime(t *testing.T) {
	r := newRig(t)
	generation := r.db.Fence().Generation
	r.hot()
	r.publish()
	r.db.Script(looptest.Fault{Mode: looptest.Stale, N: 1})
	r.post(message.DeviceStatusReported{Serial: "FAN-A", Online: true, BootID: "b9"})
	r.settle()
	require.NotEqual(t, generation, r.db.Fence().Generation)
	for _, d := range r.loop.State().Devices() {
		_, held := r.loop.State().Held(plant.DeviceSubject(d.ID), term.HoldQuarantine)
		require.True(t, held, d.ID)
	}
	require.Empty(t, r.published())
	r.hot()
	require.Empty(t, r.published(), "quarantined")
}

// proves X-5 (device half): a process that dies between the new generation and the quarantine does not forget it.
func TestQuarantineSurvivesACrashRightAfterTheNewGeneration(t *testing.T) {
	r := newRig(t)
	_, err := r.store.NewGeneration(r.ctx)
	require.NoError(t, err)
	r.start()
	r.up()
	require.Equal(t, term.GateQuarantine, r.command("fan-a/on", term.Bool(true)).WaitingFor)
	require.Equal(t, message.Accepted, r.person(message.ReleaseHold{Subject: plant.DevicesSubject, Hold: term.HoldQuarantine, Reason: "compared"}).Code)
	r.publish()
}
