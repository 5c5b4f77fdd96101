package production_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"surehand/internal/message"
	"surehand/internal/plant"
	"surehand/internal/production"
	"surehand/internal/term"
)

// "Not done" is offered about a mark only when its number can begin no more. A marker that knows no number may still begin
// any, also one of the upper half of all numbers.
func TestAMarkIsNotDoneOnlyWhenItCanBeginNoMore(t *testing.T) {
	const high = 1<<31 + 5
	for _, c := range []struct {
		name    string
		reading term.Reading
		offered bool
	}{
		{"it knows no number", term.Reading{Reached: true}, false},
		{"an older number", term.Reading{Reached: true, Echo: high - 1}, false},
		{"this number, interrupted", term.Reading{Reached: true, Echo: high}, true},
		{"this number, being marked", term.Reading{Reached: true, Echo: high, Busy: true}, false},
		{"a newer number", term.Reading{Reached: true, Echo: high + 1}, true},
		{"it cannot be reached", term.Reading{Echo: high}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t)
			p := file()
			marking(&p, "{job}")
			require.Equal(t, message.Accepted, b.load(p).Code)
			b.with(func(tx *plant.Tx) {
				r, _ := tx.State().Route("housing")
				tx.CreateOrder(plant.Order{ID: "A", RouteID: r.ID, Steps: r.Steps, Planned: 1})
				tx.StartOrder("A")
				tx.ArrivePallet(plant.Pallet{ID: "P", OrderID: "A", Places: 1})
				tx.ArriveOnPallet("A.1", 1)
				tx.ReserveBufferPlace("A.1", 1)
				present := tx.ClaimJobForAction("A.1", term.TaskMove, "robot", term.ToolStation("marker"), nil)
				tx.FinishTask(present.ID, term.PartAtTo)
				tx.MoveJobToGripper("A.1", "marker")
				tx.AcceptEcho(high / 2)
				tx.AcceptEcho(high - 1)
			})
			b.with(func(tx *plant.Tx) {
				task := tx.ClaimJobForAction("A.1", term.TaskMark, "marker", term.GripperPlace(), nil)
				require.EqualValues(t, high, task.ActionNo)
				task = tx.DoubtTask(task.ID, "no answer")
				tx.Session().Observe("marker", c.reading, tx.Now())
				production.AskAboutTask(tx, task)
				q, _ := tx.State().QuestionOf(term.FindTaskUnknown, plant.TaskSubject(task.ID))
				offered := false
				for _, a := range q.Answers {
					offered = offered || a.Word == term.AnswerNotDone
				}
				require.Equal(t, c.offered, offered, "%+v", q.Answers)
			})
		})
	}
}
