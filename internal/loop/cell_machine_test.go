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

func (r *cellRig) slot(id string) *plant.Slot {
	s, ok := r.loop.State().Slot(term.SlotID(id))
	require.True(r.t, ok)
	return s
}

func (r *cellRig) job(id string) *plant.Job {
	j, ok := r.loop.State().Job(term.JobID(id))
	require.True(r.t, ok, "%s", r.describe())
	return j
}

func (r *cellRig) equipment(id string) *plant.Equipment {
	e, ok := r.loop.State().EquipmentByID(term.EquipmentID(id))
	require.True(r.t, ok)
	return e
}

func (r *cellRig) question(f term.Finding, subject string) *plant.Question {
	r.t.Helper()
	q, open := r.loop.State().QuestionOf(f, subject)
	require.True(r.t, open, "%s %s\n%s", f, subject, r.describe())
	return q
}

func (r *cellRig) answerWith(q *plant.Question, word string) message.Outcome {
	return r.person(message.ResolveManualAction{Question: q.ID, Version: q.Version, Hash: q.Hash, Answer: word, Reason: "I looked"})
}

// atWork brings one part of an order into a machine and lets the machine begin; its cycle never ends by itself.
func atWork(t *testing.T, machine string, parts int) *cellRig {
	r := newCellRig(t, theCell())
	r.line.CycleTime = 24 * time.Hour
	if machine != "lathe" {
		r = newCellRig(t, routed(machine))
		r.line.CycleTime = 24 * time.Hour
	}
	r.confirm()
	r.order("A", parts)
	started := func() bool {
		n := 0
		for _, s := range r.loop.State().SlotsOf(term.EquipmentID(machine)) {
			if !s.StartedAt.IsZero() {
				n++
			}
		}
		return n == min(parts, len(r.loop.State().SlotsOf(term.EquipmentID(machine))))
	}
	r.until(machine+" works", time.Hour, started)
	r.until("the robot rests", time.Minute, func() bool { _, busy := r.loop.State().RobotTask(); return !busy })
	return r
}

// routed is the cell with a route of one machine alone.
func routed(machine string) message.ImportPlant {
	p := theCell()
	p.Routes[0].Steps = []message.ImportStep{{Step: term.Step{Kind: term.StepMachine, Group: machine, Timeout: term.Duration(5 * time.Minute)}}}
	return p
}

// proves C-13
func TestMachineDoneFinishesTheRightSlots(t *testing.T) {
	for _, c := range []struct {
		name, machine string
		parts         int
		done          message.MachineDone
		done2         *message.MachineDone
		finished      []string // slots DONE at the end
	}{
		{"batch: all occupied slots", "oven", 4, message.MachineDone{Machine: "oven", Cycle: 1, Counted: true}, nil, []string{"oven:1", "oven:2", "oven:3", "oven:4"}},
		{"single: the slot number is missing", "lathe", 1, message.MachineDone{Machine: "lathe"}, nil, []string{"lathe:1"}},
		{"single: the slot number is nonsense", "lathe", 1, message.MachineDone{Machine: "lathe", SlotNo: 7}, nil, []string{"lathe:1"}},
		{"several: the named slot", "mill", 2, message.MachineDone{Machine: "mill", SlotNo: 2}, nil, []string{"mill:2"}},
		{"several: no slot, the earliest occupied", "mill", 2, message.MachineDone{Machine: "mill"}, nil, []string{"mill:1"}},
		{"several: slot 1 without exact numbers is the earliest occupied", "mill", 2, message.MachineDone{Machine: "mill", SlotNo: 1}, nil, []string{"mill:1"}},
		{"several: slot 1 of a machine that names its slots", "mill", 2, message.MachineDone{Machine: "mill", SlotNo: 1, Exact: true}, nil, []string{"mill:1"}},
		{"the matching job", "lathe", 1, message.MachineDone{Machine: "lathe", Job: "A.1"}, nil, []string{"lathe:1"}},
		{"doubled by the same counter", "mill", 2, message.MachineDone{Machine: "mill", Cycle: 9, Counted: true}, &message.MachineDone{Machine: "mill", Cycle: 9, Counted: true}, []string{"mill:1"}},
		{"doubled without a counter while the latch is not over", "mill", 2, message.MachineDone{Machine: "mill"}, &message.MachineDone{Machine: "mill"}, []string{"mill:1"}},
		{"another counter decides before the latch", "mill", 2, message.MachineDone{Machine: "mill", Cycle: 9, Counted: true}, &message.MachineDone{Machine: "mill", Cycle: 10, Counted: true}, []string{"mill:1", "mill:2"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := atWork(t, c.machine, c.parts)
			r.accept(message.PauseCell{}) // nothing is unloaded meanwhile
			o := r.post(c.done)
			require.Equal(t, message.Accepted, o.Code, "%+v", o)
			require.Equal(t, term.LatchSeen, r.equipment(c.machine).Latch)
			if c.done2 != nil {
				r.post(*c.done2)
			}
			var finished []string
			for _, s := range r.loop.State().SlotsOf(term.EquipmentID(c.machine)) {
				j := r.job(string(s.JobID))
				if s.State == term.SlotDone {
					finished = append(finished, string(s.ID))
					require.Equal(t, term.WaitingUnload, j.State)
					require.Equal(t, 1, j.StepIndex)
				} else {
					require.Equal(t, term.Processing, j.State)
					require.Equal(t, 0, j.StepIndex)
				}
			}
			require.Equal(t, c.finished, finished)
			require.Empty(t, r.loop.State().Questions())
		})
	}
}

// proves C-13
func TestDoneForAnotherJobChangesNothingAndAsks(t *testing.T) {
	r := atWork(t, "lathe", 1)
	for range 2 { // said again: the same question
		r.post(message.MachineDone{Machine: "lathe", Job: "A.9"})
		require.Equal(t, term.SlotOccupied, r.slot("lathe:1").State)
		require.Equal(t, term.LatchNone, r.equipment("lathe").Latch)
		require.Len(t, r.loop.State().Questions(), 1)
	}
	_, alarmed := r.loop.State().AlarmOf(term.AlarmJobMismatch, "equipment:lathe")
	require.True(t, alarmed)
	require.Equal(t, message.Accepted, r.answerWith(r.question(term.FindJobMismatch, "equipment:lathe"), term.AnswerFinished).Code)
	require.Equal(t, term.WaitingUnload, r.job("A.1").State)
}

// A done counts only with a start since: a part that was never started is not done, whatever the machine says.
func TestDoneWithoutAStartIsAskedAbout(t *testing.T) {
	r := newCellRig(t, theCell())
	r.confirm()
	r.line.Strike = func(p plant.Perform) looptest.Mishap {
		if p.Type == term.TaskStartMachine {
			return looptest.Refuses
		}
		return looptest.Fine
	}
	r.order("A", 1)
	r.until("the start was refused", time.Minute, func() bool {
		_, asked := r.loop.State().QuestionOf(term.FindActionFailed, "equipment:lathe")
		return asked
	})
	r.post(message.MachineDone{Machine: "lathe", Cycle: 1, Counted: true})
	require.Equal(t, term.SlotOccupied, r.slot("lathe:1").State)
	q := r.question(term.FindUnexpected, "equipment:lathe")
	require.Equal(t, message.Accepted, r.answerWith(q, term.AnswerDismiss).Code)
	require.Equal(t, term.Processing, r.job("A.1").State)
	r.line.Strike = nil
	require.Equal(t, message.Accepted, r.answerWith(r.question(term.FindActionFailed, "equipment:lathe"), term.AnswerRetry).Code)
	r.withOperator("A", time.Hour)
	r.finished("A", 1)
	r.truth()
}

func TestDoneOfAnEmptyMachineIsAcknowledgedAndAlarmed(t *testing.T) {
	r := newCellRig(t, theCell())
	r.confirm()
	require.Equal(t, "not_expected", r.post(message.MachineDone{Machine: "lathe", Cycle: 1, Counted: true}).Reason)
	require.Empty(t, r.loop.State().Questions())
	a, alarmed := r.loop.State().AlarmOf(term.AlarmUnexpected, "equipment:lathe")
	require.True(t, alarmed)
	require.Equal(t, term.AlarmReturned, a.State)
	require.Equal(t, term.LatchSeen, r.equipment("lathe").Latch)
}

// The latch is left only by reading done = 0 after our acknowledgement: a stale level is not the next cycle's done.
func TestAStaleDoneIsNotTheNextCyclesDone(t *testing.T) {
	r := atWork(t, "lathe", 1)
	reading := func(done bool, occupied term.Slots) message.EquipmentStatusChanged {
		return message.EquipmentStatusChanged{Equipment: "lathe", Epoch: r.loop.State().Fence().Epoch,
			Reading: term.Reading{Reached: true, Ready: true, State: term.MachineIdle, Occupied: occupied, ReadySlots: 1, Done: done, Cycle: 1, Echo: 2, StartResult: 1}}
	}
	r.post(message.MachineDone{Machine: "lathe"})
	require.Equal(t, term.LatchSeen, r.equipment("lathe").Latch)
	r.post(reading(true, 1))
	require.Equal(t, term.LatchSeen, r.equipment("lathe").Latch)
	r.post(message.DoneAcknowledged{Machine: "lathe"})
	require.Equal(t, term.LatchAcked, r.equipment("lathe").Latch)
	r.post(reading(true, 1)) // the machine has not taken it back yet
	require.Equal(t, term.LatchAcked, r.equipment("lathe").Latch)
	o := r.post(message.MachineDone{Machine: "lathe"})
	require.Equal(t, "repeated", o.Reason, "it may not have heard the acknowledgement: it is told again")
	require.Equal(t, term.LatchSeen, r.equipment("lathe").Latch)
	require.Equal(t, 1, r.job("A.1").StepIndex)
	r.post(message.DoneAcknowledged{Machine: "lathe"})
	r.post(reading(false, 1))
	require.Equal(t, term.LatchNone, r.equipment("lathe").Latch)
}

// proves C-7
func TestAResultCountsOnceAndOnlyForItsOwnTask(t *testing.T) {
	r := newCellRig(t, theCell())
	r.confirm()
	r.line.MoveTime = time.Hour
	r.order("A", 1)
	task, busy := r.loop.State().RobotTask()
	require.True(t, busy)
	result := message.ActionEnded{Task: task.ID, Kind: term.TaskMove, Attempt: 1, Epoch: task.Epoch, Outcome: term.Done, PartAt: term.PartAtTo}
	for _, c := range []struct {
		name  string
		wrong func(*message.ActionEnded)
	}{
		{"another attempt", func(a *message.ActionEnded) { a.Attempt = 2 }},
		{"another life", func(a *message.ActionEnded) { a.Epoch-- }},
		{"another kind", func(a *message.ActionEnded) { a.Kind = term.TaskScan }},
		{"no such task", func(a *message.ActionEnded) { a.Task = "01a22b09-f2d0-7f3e-abdd-000000000000" }},
	} {
		bad := result
		c.wrong(&bad)
		o := r.post(bad)
		require.Equal(t, message.Refused, o.Code, c.name)
		require.Equal(t, "stale", o.Reason, c.name)
		require.Equal(t, term.DockPlace(1), r.job("A.1").Position, c.name)
	}
	r.accept(message.PauseCell{})
	require.Equal(t, message.Accepted, r.post(result).Code)
	require.Equal(t, term.BufferPlace(1), r.job("A.1").Position)
	require.Equal(t, term.Waiting, r.job("A.1").State)
	seq := r.loop.State().Fence().Seq
	again := r.post(result)
	require.Equal(t, message.Refused, again.Code)
	require.Equal(t, "stale", again.Reason)
	require.Equal(t, seq+1, r.loop.State().Fence().Seq, "a stale result is recorded")
	require.Equal(t, term.BufferPlace(1), r.job("A.1").Position)
	require.Empty(t, r.loop.State().Questions())
}

// proves C-7 C-21: a result that comes late while its question is open resolves it; after the answer "not done" a
// success stops the cell and asks.
func TestALateSuccessBeforeAndAfterTheAnswer(t *testing.T) {
	inDoubt := func(t *testing.T) (*cellRig, message.ActionEnded) {
		r := newCellRig(t, theCell())
		r.confirm()
		r.line.Strike = func(plant.Perform) looptest.Mishap { return looptest.SilentBefore }
		r.order("A", 1)
		task, _ := r.loop.State().RobotTask()
		r.until("the action is in doubt", time.Minute, func() bool { return len(r.loop.State().Questions()) == 1 })
		r.wait(2 * time.Second)
		return r, message.ActionEnded{Task: task.ID, Kind: term.TaskMove, Attempt: 1, Epoch: task.Epoch, Outcome: term.Done, PartAt: term.PartAtTo, Late: true}
	}
	t.Run("before", func(t *testing.T) {
		r, late := inDoubt(t)
		require.Equal(t, message.Accepted, r.post(late).Code)
		require.Empty(t, r.loop.State().Questions())
		require.Equal(t, term.BufferPlace(1), r.job("A.1").Position)
	})
	t.Run("after", func(t *testing.T) {
		r, late := inDoubt(t)
		q := r.loop.State().Questions()[0]
		require.Empty(t, q.Suggested, "a robot that shows no number says nothing: %s", r.describe())
		require.Equal(t, message.Accepted, r.answerWith(q, term.AnswerNotDone).Code)
		r.wait(time.Second)
		require.Equal(t, "late_success", r.post(late).Reason)
		require.NotEmpty(t, r.loop.State().HeldFor(plant.CellSubject))
		require.Equal(t, message.Ignored, r.post(late).Code, "said again: the same question")
	})
}

// proves C-21
func TestAnOverdueStepAsksAndAMachineThatFinishesAfterAllClosesTheQuestion(t *testing.T) {
	for _, word := range []string{"", term.AnswerWait, term.AnswerFinished, term.AnswerScrap} {
		t.Run("answer "+word, func(t *testing.T) {
			r := atWork(t, "lathe", 1)
			r.until("overdue", 10*time.Minute, func() bool { return len(r.loop.State().Questions()) > 0 })
			q := r.question(term.FindOverdue, "job:A.1")
			_, alarmed := r.loop.State().AlarmOf(term.AlarmOverdue, "job:A.1")
			require.True(t, alarmed)
			if word != "" {
				require.Equal(t, message.Accepted, r.answerWith(q, word).Code)
				require.Empty(t, r.loop.State().Questions())
			}
			switch word {
			case term.AnswerWait:
				r.until("overdue again", 10*time.Minute, func() bool { return len(r.loop.State().Questions()) > 0 })
			case term.AnswerFinished:
				require.Equal(t, 1, r.job("A.1").StepIndex)
			case term.AnswerScrap:
				require.Equal(t, term.DispositionScrap, r.job("A.1").Disposition)
			case "":
				r.post(message.MachineDone{Machine: "lathe", Cycle: 1, Counted: true})
				require.Empty(t, r.loop.State().Questions())
				require.Equal(t, 1, r.job("A.1").StepIndex)
			}
		})
	}
}
