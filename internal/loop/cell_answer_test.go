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

// missing is a cell in recovery in which a person has carried A.1 from the lathe to its buffer place, and the question
// about it.
func missing(t *testing.T) (*cellRig, *plant.Question) {
	r := atWork(t, "lathe", 1)
	r.line.PutBy("A.1", 21)
	r.crash()
	r.until("asked", time.Minute, func() bool { return len(r.loop.State().Questions()) == 1 })
	r.wait(2 * time.Second)
	return r, r.question(term.FindPartMissing, "job:A.1")
}

// proves C-19: an answer is bound to what the person saw. In the order in which a refusal is looked for.
func TestAnAnswerIsBoundToWhatWasSeen(t *testing.T) {
	good := func(q *plant.Question) message.ResolveManualAction {
		return message.ResolveManualAction{Question: q.ID, Version: q.Version, Hash: q.Hash, Answer: term.AnswerHome, Reason: "I looked"}
	}
	for _, c := range []struct {
		name   string
		answer func(*cellRig, *message.ResolveManualAction)
		code   message.Code
		reason string
	}{
		{"no such question", func(_ *cellRig, p *message.ResolveManualAction) { p.Question, p.Reason = "nobody asked", "" }, message.NotFound, "unknown_question"},
		{"no reason", func(_ *cellRig, p *message.ResolveManualAction) { p.Reason, p.Version = "", 99 }, message.Invalid, ""},
		{"another version", func(_ *cellRig, p *message.ResolveManualAction) { p.Version++; p.Answer = "nonsense" }, message.Refused, "changed"},
		{"another hash", func(_ *cellRig, p *message.ResolveManualAction) { p.Hash = "x"; p.Answer = "nonsense" }, message.Refused, "changed"},
		{"an answer that was not offered", func(r *cellRig, p *message.ResolveManualAction) {
			p.Answer = term.AnswerDone
			r.line.PutBy("A.1", 41)
			r.step()
		}, message.Invalid, ""},
		{"the machine has just changed what it says", func(r *cellRig, _ *message.ResolveManualAction) {
			r.line.PutBy("A.1", 41)
			r.step()
		}, message.Refused, "changed"},
		{"the machine said something else meanwhile, and does not stand still yet", func(r *cellRig, _ *message.ResolveManualAction) {
			r.line.PutBy("A.1", 41)
			r.turn(r.line.Step(r.clock.Now())...)
			r.clock.Advance(300 * time.Millisecond)
			r.line.PutBy("A.1", 21)
			r.turn(r.line.Step(r.clock.Now())...)
		}, message.Refused, "unsteady"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, q := missing(t)
			p := good(q)
			c.answer(r, &p)
			o := r.person(p)
			require.Equal(t, c.code, o.Code, "%+v", o)
			require.Equal(t, c.reason, o.Reason, "%+v", o)
			require.Equal(t, term.SlotPlace("lathe:1"), r.job("A.1").Position, "nothing has changed")
			_, open := r.loop.State().Question(q.ID)
			require.True(t, open)
		})
	}
	t.Run("the same answer twice in one turn", func(t *testing.T) {
		r, q := missing(t)
		m := message.Message{Source: message.FromPerson, Actor: "kim", Payload: good(q), BodyHash: "x"}
		o := r.turn(m, m)
		require.Equal(t, []message.Code{message.Accepted, message.NotFound}, []message.Code{o[0].Code, o[1].Code})
	})
	t.Run("it is kept with who gave it and why", func(t *testing.T) {
		r, q := missing(t)
		r.accept(good(q))
		row, _ := r.db.Row(plant.KindQuestion, string(q.ID))
		n := row.(*plant.Question)
		require.Equal(t, []string{term.AnswerHome, "kim", "I looked"}, []string{n.Answer, n.By, n.Reason})
	})
}

// Readings that change show a new version of the question, and the reason stays the person's to give.
func TestAChangedReadingIsANewVersionOfTheQuestion(t *testing.T) {
	r, q := missing(t)
	r.line.Fail("lathe", 3)
	r.wait(3 * time.Second)
	now := r.question(term.FindPartMissing, "job:A.1")
	require.Equal(t, q.ID, now.ID)
	require.Equal(t, q.Version+1, now.Version)
	require.NotEqual(t, q.Hash, now.Hash)
	require.Equal(t, "changed", r.answerWith(q, term.AnswerHome).Reason)
	require.Equal(t, message.Accepted, r.answerWith(now, term.AnswerHome).Code)
}

// proves C-19
func TestARecoveryIsConfirmedOnlyWhenItIsOver(t *testing.T) {
	no := false
	r, q := missing(t)
	r.refuse("findings_open", message.ConfirmRecovery{})
	require.Equal(t, message.Accepted, r.answerWith(q, term.AnswerHome).Code)
	r.accept(message.ConfirmRecovery{Release: &no, Reason: "first a look"})
	require.Equal(t, "paused", r.loop.State().HeldFor(plant.CellSubject), "not released: it stays paused")
	r.refuse("not_in_recovery", message.ConfirmRecovery{})
	r.wait(time.Minute)
	_, busy := r.loop.State().RobotTask()
	require.False(t, busy)
	r.crash()
	o := r.refuse("comparing", message.ConfirmRecovery{})
	require.Equal(t, "recovery", o.State)
	require.Contains(t, o.Detail, "lathe", "it says what is waited for")
	require.Equal(t, "recovery", r.accept(message.ReleaseCell{}).State, "the pause is over, the recovery is not")
	r.refuse("recovery", message.ReleaseCell{})
	r.accept(message.CompareCell{})
}

// With nothing found one confirmation is enough, or none where the plant file says so or the last stop was a drain.
func TestARecoveryInWhichNothingWasFound(t *testing.T) {
	inRecovery := func(r *cellRig) bool {
		_, held := r.loop.State().Held(plant.CellSubject, term.HoldRecovery)
		return held
	}
	automatic := theCell()
	automatic.Cell.Config.Options.AutomaticRelease = true
	t.Run("waits for a person", func(t *testing.T) {
		r := atWork(t, "lathe", 1)
		r.crash()
		r.wait(time.Minute)
		require.True(t, inRecovery(r))
		require.Empty(t, r.loop.State().Questions())
		r.confirm()
	})
	t.Run("automatic release", func(t *testing.T) {
		r := newCellRig(t, automatic)
		r.until("released by itself", 10*time.Second, func() bool { return !inRecovery(r) })
		r.accept(message.PauseCell{})
		r.crash()
		r.until("released by itself", 10*time.Second, func() bool { return !inRecovery(r) })
		require.Equal(t, "paused", r.loop.State().HeldFor(plant.CellSubject), "a person's pause stays")
	})
	t.Run("not with something found", func(t *testing.T) {
		r := newCellRig(t, automatic)
		r.until("released by itself", 10*time.Second, func() bool { return !inRecovery(r) })
		r.line.PutBy("X.1", 52)
		r.crash()
		r.wait(time.Minute)
		require.True(t, inRecovery(r))
		r.refuse("findings_open", message.ConfirmRecovery{})
	})
	t.Run("after a drain", func(t *testing.T) {
		r := newCellRig(t, theCell())
		r.confirm()
		r.accept(message.StopRequested{Drain: true})
		r.wait(2 * time.Second)
		cell, _ := r.loop.State().Cell()
		require.True(t, cell.Clean)
		r.crash()
		r.until("released by itself", 10*time.Second, func() bool { return !inRecovery(r) })
	})
}

// A machine whose link returns is compared alone, and is used again only when it is clean and stands still.
func TestAMachineThatReturnsIsComparedAlone(t *testing.T) {
	held := func(r *cellRig, id string) string { return r.loop.State().HeldFor("equipment:" + id) }
	r := newCellRig(t, theCell())
	r.confirm()
	r.line.Cut("mill", true)
	r.wait(2 * time.Second)
	require.Equal(t, "recovery", held(r, "mill"))
	require.Equal(t, "", r.loop.State().HeldFor(plant.CellSubject), "the rest goes on")
	r.line.PutBy("X.1", 51) // somebody set a part in meanwhile
	r.line.Cut("mill", false)
	r.turn(r.line.Step(r.clock.Now())...)
	require.Equal(t, "recovery", held(r, "mill"), "not before it has stood still")
	require.Empty(t, r.loop.State().Questions())
	r.wait(3 * time.Second)
	require.Len(t, r.loop.State().Questions(), 1)
	r.question(term.FindPartForeign, "slot:mill:1")
	require.Equal(t, "recovery", held(r, "mill"))
	r.line.PutBy("X.1", looptest.Removed)
	r.wait(5 * time.Second)
	require.Empty(t, r.loop.State().Questions())
	require.Equal(t, "", held(r, "mill"))
}

// A flapping link: one row of one alarm, counted, and no false finding.
func TestAFlappingLinkIsOneAlarm(t *testing.T) {
	r := atWork(t, "lathe", 1)
	for range 12 {
		r.line.Cut("lathe", true)
		r.turn(r.line.Step(r.clock.Now())...)
		r.clock.Advance(400 * time.Millisecond)
		r.line.Cut("lathe", false)
		r.turn(r.line.Step(r.clock.Now())...)
		r.clock.Advance(400 * time.Millisecond)
		require.Empty(t, r.loop.State().Questions())
	}
	rows := 0
	for _, row := range r.db.Rows() {
		if a, ok := row.(*plant.Alarm); ok {
			rows++
			require.Equal(t, term.AlarmOffline, a.Type)
			require.EqualValues(t, 12, a.Count)
			require.Equal(t, term.AlarmReturned, a.State)
		}
	}
	require.Equal(t, 1, rows)
	r.wait(10 * time.Second)
	require.Empty(t, r.loop.State().Questions())
	require.Equal(t, "", r.loop.State().HeldFor("equipment:lathe"))
	require.Equal(t, term.Processing, r.job("A.1").State)
}
