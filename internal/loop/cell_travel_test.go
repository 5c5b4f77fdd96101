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

// travelled is a cell that releases itself, whose database has just lost the commit in which the first action was
// handed out.
func travelled(t *testing.T, m looptest.Mishap) *cellRig {
	p := theCell()
	p.Cell.Config.Options.AutomaticRelease = true
	r := newCellRig(t, p)
	r.until("released by itself", 10*time.Second, func() bool { return r.loop.State().HeldFor(plant.CellSubject) == "" })
	r.line.Strike = func(plant.Perform) looptest.Mishap { return m }
	r.order("A", 1)
	_, busy := r.loop.State().RobotTask()
	require.True(t, busy)
	r.db.Script(looptest.Fault{Mode: looptest.Stale, N: 1})
	r.person(message.RefillRequested{})
	r.line.Strike = nil
	_, busy = r.loop.State().RobotTask()
	require.False(t, busy, "the record does not know the action any more")
	require.Equal(t, term.OrderDraft, r.orderRow("A").State)
	return r
}

// proves C-19: after the database went back in time nothing is compared while an action of the lost commits can still
// begin, nothing is released by itself, and what the robot did is asked about.
func TestAnActionThatTheDatabaseHasLost(t *testing.T) {
	r := travelled(t, looptest.Fine)
	r.refuse("comparing", message.ConfirmRecovery{})
	r.until("asked", 30*time.Second, func() bool { return len(r.loop.State().Questions()) > 0 })
	r.wait(20 * time.Second)
	require.Equal(t, "recovery", r.loop.State().HeldFor(plant.CellSubject))
	require.Equal(t, 21, r.line.At["A.1"])
	require.Equal(t, term.DockPlace(1), r.job("A.1").Position, "nothing is guessed")
	r.accept(message.ReportPart{Job: "A.1", Place: term.BufferPlace(1), Reason: "I see it there"})
	require.Equal(t, message.Accepted, r.answerWith(r.question(term.FindReportedPart, "job:A.1"), term.AnswerAccept).Code)
	require.Equal(t, message.Accepted, r.answerWith(r.question(term.FindEchoUnknown, "equipment:robot"), term.AnswerAccept).Code)
	r.confirm()
	r.accept(message.StartOrder{Order: "A"})
	r.withOperator("A", time.Hour)
	r.finished("A", 1)
	r.truth()
}

// A number is not given out again, even when no machine has ever shown it.
func TestANumberThatTheDatabaseHasLostIsNotReused(t *testing.T) {
	r := travelled(t, looptest.SilentBefore)
	r.wait(time.Minute)
	require.Empty(t, r.loop.State().Questions(), "no machine knows of it")
	require.Equal(t, "recovery", r.loop.State().HeldFor(plant.CellSubject), "a person has to look all the same")
	r.confirm()
	r.accept(message.StartOrder{Order: "A"})
	task, busy := r.loop.State().RobotTask()
	require.True(t, busy)
	require.EqualValues(t, 2, task.ActionNo)
	r.withOperator("A", time.Hour)
	r.finished("A", 1)
	r.truth()
}
