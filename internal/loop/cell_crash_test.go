package loop_test

import (
	"flag"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"surehand/internal/loop/looptest"
	"surehand/internal/message"
	"surehand/internal/plant"
	"surehand/internal/term"
)

// every is how many steps lie between two interferences of the tests that interfere at every step. 1 tries them all.
var every = flag.Int("every", 4, "interfere at every n-th step of an order; 1: at each")

// number of a place on the wire in theCell.
func number(p term.Place) int {
	switch p.Type {
	case term.OnDock:
		return p.Number()
	case term.OnBuffer:
		return 20 + p.Number()
	case term.OnEquipment:
		id, n := p.Slot()
		return map[term.EquipmentID]int{"lathe": 40, "mill": 50, "oven": 60}[id] + n
	case term.Out:
		return 99
	}
	return looptest.Gripper
}

// honest is the answer of an operator who goes and looks; empty: there is nothing to say yet.
func (r *cellRig) honest(q *plant.Question) string {
	at, known := r.line.At[string(q.JobID)]
	switch q.Finding {
	case term.FindTaskUnknown:
		if r.line.Busy() {
			return ""
		}
		task, _ := r.loop.State().Task(q.TaskID)
		switch {
		case task.Type == term.TaskStartMachine && r.line.Started[task.ActionNo] > 0:
			return term.AnswerDone
		case task.Type == term.TaskMark && r.line.Marked[task.ActionNo] != "":
			return term.AnswerDone
		case task.Type != term.TaskMove:
			return term.AnswerNotDone
		case at == looptest.Removed:
			return term.AnswerRemoved
		case at == looptest.Gripper && task.From.Type == term.OnRobot && task.To.Type != term.OnRobot:
			return term.AnswerNotDone
		case at == looptest.Gripper && task.To.Type != term.OnRobot:
			return term.AnswerGripper
		case at == number(task.To):
			return term.AnswerDone
		case at == number(task.From):
			return term.AnswerNotDone
		}
		r.t.Fatalf("%s is at %d, neither on %s nor on %s\n%s", q.JobID, at, task.From, task.To, r.describe())
	case term.FindActionFailed, term.FindLateSuccess:
		if q.Finding == term.FindLateSuccess {
			for _, a := range q.Answers {
				if a.Word == term.AnswerDone && at == number(q.Place) {
					return term.AnswerDone
				}
			}
			return term.AnswerDismiss
		}
		return term.AnswerRetry
	case term.FindJudgement:
		return term.AnswerGood
	case term.FindPartMissing, term.FindGripperEmpty, term.FindJobSlot:
		if known && at >= 21 && at <= 28 {
			return term.AnswerHome
		}
		return term.AnswerRemoved
	}
	r.t.Fatalf("nobody would know why this is asked: %s %s\n%s", q.Finding, q.Subject, r.describe())
	return ""
}

// answerAll answers every open question from the true state, and confirms the recovery when there is one.
func (r *cellRig) answerAll() {
	r.t.Helper()
	for _, q := range r.loop.State().Questions() {
		word := r.honest(q)
		if word == "" || !slices.Contains(words(q), word) { // what the machines say has not arrived yet
			continue
		}
		o := r.person(message.ResolveManualAction{Question: q.ID, Version: q.Version, Hash: q.Hash, Answer: word, Reason: "I looked"})
		if o.Code == message.Refused && (o.Reason == "unsteady" || o.Reason == "changed") || o.Code == message.NotFound {
			continue
		}
		require.Equal(r.t, message.Accepted, o.Code, "%s %v: %+v\n%s", word, words(q), o, r.describe())
	}
	if _, held := r.loop.State().Held(plant.CellSubject, term.HoldRecovery); held && r.loop.State().HeldFor(plant.CellSubject) == "recovery" {
		r.person(message.ConfirmRecovery{})
	}
}

// withOperator steps to the end of an order while an honest operator answers what is asked.
func (r *cellRig) withOperator(id string, within time.Duration) {
	r.t.Helper()
	r.until("the order has ended", within, func() bool {
		r.answerAll()
		return r.ended(id)
	})
}

// proves C-19 C-7 X-2
//
// The process dies before and after the commit of every step of an order: what is asked is exactly about the actions
// that were under way, and an operator who answers from the true state brings the order to its right end.
func TestACrashAtAnyStepAsksWhatIsInDoubtAndLosesNothing(t *testing.T) {
	clean := newCellRig(t, theCell())
	clean.confirm()
	clean.order("A", 3)
	first := clean.steps
	clean.until("the order has ended", time.Hour, func() bool { return clean.ended("A") })
	steps := clean.steps - first
	crashes := 0
	for k := 0; k < 2*steps; k += 2**every - 1 { // odd, so that both sides of a commit come up
		crashes++
		r := newCellRig(t, theCell())
		r.confirm()
		r.order("A", 3)
		r.crashAt = 2*r.steps + k
		r.until("the crash", time.Hour, func() bool { return r.steps > r.crashAt/2 || r.ended("A") })
		inDoubt := 0
		for _, task := range r.loop.State().Tasks() {
			require.Equal(t, term.TaskUnknown, task.State)
			if task.Type.UsesRobot() {
				inDoubt++
			}
		}
		r.until("compared", time.Minute, func() bool {
			r.step()
			o := r.person(message.ConfirmRecovery{})
			return o.Reason != "comparing" && o.Reason != "" || o.Code == message.Accepted
		})
		require.Len(t, r.loop.State().Questions(), inDoubt, "crash %d\n%s", k, r.describe())
		r.withOperator("A", time.Hour)
		r.finished("A", 3)
		r.truth()
	}
	t.Logf("%d crashes", crashes)
}
