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

// picking is a cell whose robot has just been asked to bring A.1 from the dock to buffer place 1 and says nothing.
func picking(t *testing.T) (*cellRig, *plant.Task) {
	r := newCellRig(t, theCell())
	r.confirm()
	r.line.Strike = func(plant.Perform) looptest.Mishap { return looptest.SilentBefore }
	r.order("A", 1)
	task, busy := r.loop.State().RobotTask()
	require.True(t, busy)
	r.line.MoveTime = time.Hour // no answer of the line's own
	return r, task
}

func resultOf(task *plant.Task, o term.Outcome, at term.PartAt) message.ActionEnded {
	return message.ActionEnded{Task: task.ID, Kind: task.Type, Attempt: 1, Epoch: task.Epoch, Outcome: o, PartAt: at}
}

// unparked: nothing that came from outside was too odd to be decided.
func (r *cellRig) unparked() {
	r.t.Helper()
	for _, h := range r.loop.State().Holds() {
		require.NotEqual(r.t, term.HoldParked, h.Reason, "%+v", h)
	}
}

// proves C-7: a part moves only with a result that says where it is, and that can be so.
func TestWhatEachResultOfAMoveMeans(t *testing.T) {
	dock, home, gripper := term.DockPlace(1), term.BufferPlace(1), term.GripperPlace()
	for _, c := range []struct {
		name    string
		outcome term.Outcome
		at      term.PartAt
		unsent  bool
		state   term.TaskState
		place   term.Place
		asked   term.Finding // empty: nobody is asked
	}{
		{"done, at its target", term.Done, term.PartAtTo, false, term.TaskSucceeded, home, ""},
		{"done, and no word of the part", term.Done, "", false, term.TaskUnknown, dock, term.FindTaskUnknown},
		{"done, and the part is where it was", term.Done, term.PartAtFrom, false, term.TaskUnknown, dock, term.FindTaskUnknown},
		{"done, and the part is in the gripper", term.Done, term.PartGripper, false, term.TaskUnknown, dock, term.FindTaskUnknown},
		{"done, at a place that nobody knows", term.Done, "moon", false, term.TaskUnknown, dock, term.FindTaskUnknown},
		{"not done, the part is where it was", term.NotDone, term.PartAtFrom, false, term.TaskFailed, dock, term.FindActionFailed},
		{"not done, the part is in the gripper", term.NotDone, term.PartGripper, false, term.TaskFailed, gripper, term.FindActionFailed},
		{"not done as asked, and the part is there", term.NotDone, term.PartAtTo, false, term.TaskFailed, home, term.FindActionFailed},
		{"not done, and no word of the part", term.NotDone, "", false, term.TaskUnknown, dock, term.FindTaskUnknown},
		{"nothing was sent", term.NotDone, term.PartAtFrom, true, term.TaskFailed, dock, ""},
		{"nothing was sent, and no word of the part", term.NotDone, "", true, term.TaskFailed, dock, ""},
		{"nothing was sent, and the part is there all the same", term.NotDone, term.PartAtTo, true, term.TaskFailed, dock, ""},
		{"done, and nothing was sent", term.Done, term.PartAtTo, true, term.TaskUnknown, dock, term.FindTaskUnknown},
		{"nobody can say", term.Unknown, term.PartAtTo, false, term.TaskUnknown, dock, term.FindTaskUnknown},
		{"an outcome that nobody knows", "perhaps", term.PartAtTo, false, term.TaskUnknown, dock, term.FindTaskUnknown},
		{"no outcome", "", term.PartAtTo, false, term.TaskUnknown, dock, term.FindTaskUnknown},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, task := picking(t)
			r.accept(message.PauseCell{}) // what follows from it is not looked at
			p := resultOf(task, c.outcome, c.at)
			p.Unsent = c.unsent
			require.Equal(t, message.Accepted, r.post(p).Code)
			row, _ := r.db.Row(plant.KindTask, string(task.ID))
			require.Equal(t, c.state, row.(*plant.Task).State)
			require.Equal(t, c.place, r.job("A.1").Position, "%s", r.describe())
			var asked term.Finding
			for _, q := range r.loop.State().Questions() {
				asked = q.Finding
			}
			require.Equal(t, c.asked, asked)
			r.unparked()
		})
	}
}

// After the end of an action: what says the same changes nothing, what says otherwise stops the cell and asks.
func TestAResultAfterTheEndThatSaysOtherwise(t *testing.T) {
	for _, c := range []struct {
		name        string
		first, then func(*plant.Task) message.ActionEnded
		place       term.Place // that the question is about; nothing: it is not asked
	}{
		{"done, and done again", done, done, term.Place{}},
		{"done, and then not", done, notDone(term.PartAtFrom), term.DockPlace(1)},
		{"done, and then in the gripper", done, notDone(term.PartGripper), term.GripperPlace()},
		{"done, and then nobody knows", done, func(k *plant.Task) message.ActionEnded { return resultOf(k, term.Unknown, "") }, term.Place{}},
		{"not done, and not done again", notDone(term.PartAtFrom), notDone(term.PartAtFrom), term.Place{}},
		{"not done, and then done", notDone(term.PartAtFrom), done, term.BufferPlace(1)},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, task := picking(t)
			r.accept(message.PauseCell{})
			o := r.turn(message.Message{Source: message.FromWorker, Payload: c.first(task)}, message.Message{Source: message.FromWorker, Payload: c.then(task)})
			at := r.job("A.1").Position
			require.Equal(t, message.Accepted, o[0].Code)
			q, asked := r.loop.State().QuestionOf(term.FindLateSuccess, plant.TaskSubject(task.ID))
			require.Equal(t, c.place != term.Place{}, asked)
			if asked {
				require.Equal(t, c.place, q.Place)
				require.Equal(t, "question", r.loop.State().HeldFor("job:A.1"))
			}
			r.wait(5 * time.Second)
			require.Equal(t, at, r.job("A.1").Position, "the record waits for a person")
		})
	}
}

func done(k *plant.Task) message.ActionEnded { return resultOf(k, term.Done, term.PartAtTo) }

func notDone(at term.PartAt) func(*plant.Task) message.ActionEnded {
	return func(k *plant.Task) message.ActionEnded { return resultOf(k, term.NotDone, at) }
}

// A part of an order that was not started yet can be taken off its pallet.
func TestAPartOfADraftIsTakenOut(t *testing.T) {
	r := newCellRig(t, theCell())
	r.confirm()
	r.accept(message.CreateOrder{ID: "A", Route: "housing", Quantity: 2})
	r.accept(message.PalletArrived{Pallet: "P", Order: "A", Quantity: 2})
	for _, id := range []string{"A.1", "A.2"} {
		r.accept(message.ReportPart{Job: term.JobID(id), Place: term.OutPlace(""), Reason: "dropped"})
		require.Equal(t, message.Accepted, r.answerWith(r.question(term.FindReportedPart, "job:"+id), term.AnswerAccept).Code)
		require.Equal(t, term.Scrapped, r.jobRow(id).State)
	}
	require.Equal(t, term.OrderCompleted, r.orderRow("A").State)
	require.Equal(t, 2, r.orderRow("A").Scrapped)
	r.accept(message.PalletLeft{Pallet: "P"})
}

// A pallet's number is used once, and somebody is told so.
func TestAPalletThatComesBack(t *testing.T) {
	r := newCellRig(t, theCell())
	r.confirm()
	r.accept(message.CreateOrder{ID: "A", Route: "housing", Quantity: 2})
	r.accept(message.PalletArrived{Pallet: "P", Order: "A", Quantity: 1})
	r.refuse("dock_taken", message.PalletArrived{Pallet: "P", Order: "A", Quantity: 1})
	r.accept(message.ReportPart{Job: "A.1", Place: term.OutPlace(""), Reason: "dropped"})
	r.answerWith(r.question(term.FindReportedPart, "job:A.1"), term.AnswerAccept)
	r.accept(message.PalletLeft{Pallet: "P"})
	r.refuse("pallet_used", message.PalletArrived{Pallet: "P", Order: "A", Quantity: 1})
	r.accept(message.PalletArrived{Pallet: "P-2", Order: "A", Quantity: 1})
}

// Nobody can report a part into the gripper that an action has for another one.
func TestTheGripperOfAnActionIsTaken(t *testing.T) {
	r := newCellRig(t, theCell())
	r.confirm()
	r.accept(message.DisableEquipment{Equipment: "lathe", Reason: "being cleaned"})
	r.order("A", 2)
	r.until("A.1 rests", time.Minute, func() bool { return r.job("A.1").State == term.Waiting && r.job("A.2").State == term.Moving })
	o := r.person(message.ReportPart{Job: "A.1", Place: term.GripperPlace(), Reason: "I see one there"})
	require.Equal(t, message.Invalid, o.Code, "%+v", o)
	require.Contains(t, o.Problems[0].Detail, "an action for A.2 has the robot")
	o = r.person(message.ReportPart{Job: "A.1", Place: term.BufferPlace(2), Reason: "I see one there"})
	require.Equal(t, message.Invalid, o.Code, "a place that an action is heading for")
}

// What was asked about a step is over with the step: an answer that comes after it changes nothing.
func TestAnAnswerAboutAStepThatIsOver(t *testing.T) {
	overdue := func(t *testing.T) (*cellRig, *plant.Question) {
		r := atWork(t, "lathe", 1)
		r.until("overdue", 10*time.Minute, func() bool { return len(r.loop.State().Questions()) > 0 })
		return r, r.question(term.FindOverdue, "job:A.1")
	}
	t.Run("the part was carried away", func(t *testing.T) {
		r, q := overdue(t)
		r.line.PutBy("A.1", 21)
		r.accept(message.ReportPart{Job: "A.1", Place: term.BufferPlace(1), Reason: "I carried it"})
		r.wait(2 * time.Second)
		require.Equal(t, message.Accepted, r.answerWith(r.question(term.FindReportedPart, "job:A.1"), term.AnswerAccept).Code)
		require.Equal(t, message.NotFound, r.answerWith(q, term.AnswerWait).Code)
		require.Equal(t, term.BufferPlace(1), r.job("A.1").Position)
		require.Equal(t, term.Waiting, r.job("A.1").State)
		r.unparked()
	})
	t.Run("a person has said that the machine has finished it", func(t *testing.T) {
		r := atWork(t, "mill", 2)
		r.until("overdue", 10*time.Minute, func() bool { return len(r.loop.State().Questions()) == 2 })
		q := r.question(term.FindOverdue, "job:A.1")
		r.post(message.MachineDone{Machine: "mill", Job: "B.7"}) // the earliest is A.1
		require.Equal(t, message.Accepted, r.answerWith(r.question(term.FindJobMismatch, "equipment:mill"), term.AnswerFinished).Code)
		require.Equal(t, 1, r.job("A.1").StepIndex)
		require.Equal(t, 0, r.job("A.2").StepIndex, "only the part that the question is about")
		require.Equal(t, message.NotFound, r.answerWith(q, term.AnswerWait).Code)
		r.unparked()
	})
}

// A machine that lost its power in the middle of a step is one question, whichever was asked first: that the step takes too
// long, or that the machine does not work on it. Once it is answered the step has its time again.
func TestAStandingMachineIsAskedAboutOnce(t *testing.T) {
	for name, overdueFirst := range map[string]bool{"overdue first": true, "not running first": false} {
		t.Run(name, func(t *testing.T) {
			r := atWork(t, "lathe", 1)
			if overdueFirst {
				r.until("overdue", 10*time.Minute, func() bool { return len(r.loop.State().Questions()) > 0 })
				r.question(term.FindOverdue, "job:A.1")
			}
			r.line.Reset("lathe")
			r.line.CycleTime = 20 * time.Second
			r.crash()
			r.until("asked", time.Minute, func() bool {
				_, asked := r.loop.State().QuestionOf(term.FindNotRunning, "job:A.1")
				return asked
			})
			r.wait(12 * time.Minute)
			require.Len(t, r.loop.State().Questions(), 1, "%s", r.describe())
			require.Equal(t, message.Accepted, r.answerWith(r.question(term.FindNotRunning, "job:A.1"), term.AnswerRestart).Code)
			r.confirm()
			r.until("done", time.Hour, func() bool { return r.ended("A") })
			r.finished("A", 1)
			r.truth()
		})
	}
}

// A person's answer about a start stays that person's in the record.
func TestAnAnswerIsNotEvidence(t *testing.T) {
	r := newCellRig(t, theCell())
	r.confirm()
	r.line.Strike = func(p plant.Perform) looptest.Mishap {
		if p.Type == term.TaskStartMachine {
			r.line.Cut("lathe", true)
			return looptest.SilentBefore
		}
		return looptest.Fine
	}
	r.order("A", 1)
	var q *plant.Question
	r.until("asked", 2*time.Minute, func() bool {
		for _, q = range r.loop.State().Questions() {
			return q.Finding == term.FindTaskUnknown
		}
		return false
	})
	r.wait(2 * time.Second)
	q = r.question(q.Finding, q.Subject)
	require.Equal(t, []string{"done", "finished"}, words(q), "not done is not offered: nobody can see that")
	require.Equal(t, message.Accepted, r.answerWith(q, term.AnswerDone).Code)
	row, _ := r.db.Row(plant.KindQuestion, string(q.ID))
	require.Equal(t, []string{"kim", term.AnswerDone}, []string{row.(*plant.Question).By, row.(*plant.Question).Answer})
}
