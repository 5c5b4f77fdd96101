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

// besides is a mill with A.1 at work in slot 1 and the start of A.2 in slot 2 handed out and not answered.
func besides(t *testing.T) *cellRig {
	r := newCellRig(t, routed("mill"))
	r.line.CycleTime = 24 * time.Hour
	starts := 0
	r.line.Strike = func(p plant.Perform) looptest.Mishap {
		if p.Type == term.TaskStartMachine {
			if starts++; starts == 2 {
				return looptest.SilentBefore
			}
		}
		return looptest.Fine
	}
	r.confirm()
	r.order("A", 2)
	r.until("the second start is handed out", 10*time.Minute, func() bool { return starts == 2 })
	return r
}

// proves C-13: a done proves the start of the parts that it is about, and of no other.
func TestADoneProvesNoOtherStart(t *testing.T) {
	for _, c := range []struct {
		name    string
		slot    int
		proven  bool
		stepped []int
	}{{"of the other slot", 1, false, []int{1, 0}}, {"of its own slot", 2, true, []int{0, 1}}} {
		t.Run(c.name, func(t *testing.T) {
			r := besides(t)
			start, open := r.loop.State().StartOf("mill")
			require.True(t, open)
			r.accept(message.PauseCell{})
			r.post(message.MachineDone{Machine: "mill", SlotNo: c.slot, Exact: true, Cycle: 1, Counted: true})
			row, _ := r.db.Row(plant.KindTask, string(start.ID))
			require.Equal(t, c.proven, row.(*plant.Task).State == term.TaskSucceeded)
			require.Equal(t, c.proven, !r.slot("mill:2").StartedAt.IsZero())
			require.Equal(t, c.stepped, []int{r.job("A.1").StepIndex, r.job("A.2").StepIndex})
		})
	}
}

// inspected is a cell whose lathe inspects, with A.1 in it.
func inspected(t *testing.T, onFail string) *cellRig {
	p := theCell()
	s := term.Step{Kind: term.StepInspection, Group: "lathe", Timeout: term.Duration(5 * time.Minute), OnFail: onFail}
	if onFail == "rework" {
		s.ReworkTo, s.ReworkLimit = 1, 3
	}
	p.Routes[0].Steps = []message.ImportStep{{Step: s}}
	r := newCellRig(t, p)
	r.line.CycleTime = 24 * time.Hour
	r.confirm()
	r.order("A", 1)
	r.until("it is inspected", time.Minute, func() bool { return !r.slot("lathe:1").StartedAt.IsZero() })
	return r
}

// proves C-14: an inspection ends only with a result, and a part that is to leave leaves whatever the result is.
func TestTheEndOfAnInspection(t *testing.T) {
	for _, c := range []struct {
		name    string
		onFail  string
		before  message.Payload // of a person
		pass    string
		state   term.JobState
		step    int
		leaves  term.Disposition
		reworks int
	}{
		{"pass", "", nil, "pass", term.WaitingUnload, 1, term.DispositionNone, 0},
		{"no word", "", nil, "", term.Processing, 0, term.DispositionNone, 0},
		{"a word that nobody knows is none", "", nil, "perhaps", term.Processing, 0, term.DispositionNone, 0},
		{"fail, scrap", "scrap", nil, "fail", term.WaitingUnload, 1, term.DispositionScrap, 0},
		{"fail, judge", "judge", nil, "fail", term.WaitingJudgement, 0, term.DispositionNone, 0},
		{"fail, rework", "rework", nil, "fail", term.WaitingUnload, 0, term.DispositionNone, 1},
		{"fail, rework of a scrapped part", "rework", message.ScrapJob{Job: "A.1", Reason: "a scratch"}, "fail", term.WaitingUnload, 1, term.DispositionScrap, 0},
		{"fail, rework of a cancelled part", "rework", message.CancelOrder{Order: "A"}, "fail", term.WaitingUnload, 1, term.DispositionCancel, 0},
		{"fail, judgement of a scrapped part", "judge", message.ScrapJob{Job: "A.1", Reason: "a scratch"}, "fail", term.WaitingUnload, 1, term.DispositionScrap, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := inspected(t, c.onFail)
			r.accept(message.PauseCell{})
			if c.before != nil {
				r.accept(c.before)
			}
			r.post(message.MachineDone{Machine: "lathe", Pass: c.pass, Cycle: 1, Counted: true})
			j := r.job("A.1")
			require.Equal(t, c.state, j.State)
			require.Equal(t, c.step, j.StepIndex)
			require.Equal(t, c.leaves, j.Disposition)
			require.Equal(t, c.reworks, j.Context.Reworks)
			require.Equal(t, c.state == term.WaitingJudgement, len(r.loop.State().Questions()) == 1)
		})
	}
}

// A done without a result does not close the question about an inspection that is overdue: somebody has to say.
func TestAnOverdueInspectionIsAskedAboutUntilItsResultComes(t *testing.T) {
	r := inspected(t, "")
	r.until("overdue", 10*time.Minute, func() bool { return len(r.loop.State().Questions()) > 0 })
	r.post(message.MachineDone{Machine: "lathe", Cycle: 1, Counted: true})
	r.question(term.FindOverdue, "job:A.1")
	require.Equal(t, message.Accepted, r.post(message.InspectionResult{Machine: "lathe", Pass: true}).Code)
	require.Empty(t, r.loop.State().Questions())
	require.Equal(t, 1, r.job("A.1").StepIndex)
}

// A part that waits for judgement goes on waiting for it wherever a person sets it, and the judgement counts there.
func TestAPartIsJudgedWhereItIs(t *testing.T) {
	for _, c := range []struct {
		place term.Place
		at    int
		state term.JobState // after the report, and the same after it was found good unless it moves on
		good  term.JobState
	}{
		{term.SlotPlace("lathe:1"), 41, term.WaitingJudgement, term.WaitingUnload},
		{term.BufferPlace(1), 21, term.WaitingJudgement, term.Waiting},
		{term.BufferPlace(5), 25, term.WaitingJudgement, term.Waiting},
		{term.GripperPlace(), looptest.Gripper, term.Moving, term.Moving},
	} {
		t.Run(c.place.String(), func(t *testing.T) {
			r := inspected(t, "judge")
			r.accept(message.DisableEquipment{Equipment: "robot", Reason: "somebody is in the cell"})
			r.line.Reset("lathe")
			r.post(message.MachineDone{Machine: "lathe", Pass: "fail", Cycle: 1, Counted: true})
			q := r.question(term.FindJudgement, "job:A.1")
			r.line.PutBy("A.1", c.at)
			r.accept(message.ReportPart{Job: "A.1", Place: c.place, Reason: "I looked at it"})
			r.wait(2 * time.Second)
			require.Equal(t, message.Accepted, r.answerWith(r.question(term.FindReportedPart, "job:A.1"), term.AnswerAccept).Code)
			require.Equal(t, c.state, r.job("A.1").State)
			require.Equal(t, c.place, r.job("A.1").Position)
			require.Equal(t, message.Accepted, r.answerWith(q, term.AnswerGood).Code)
			require.Equal(t, c.good, r.job("A.1").State)
			require.Equal(t, 1, r.job("A.1").StepIndex, "the judgement counts")
			r.unparked()
		})
	}
}

// A comparison while the robot sets a part into a machine: the machine's older reading is no finding.
func TestAComparisonDuringAMoveFindsNothing(t *testing.T) {
	r := newCellRig(t, theCell())
	r.confirm()
	r.order("A", 1)
	r.until("A.1 goes into the lathe", time.Minute, func() bool {
		task, busy := r.loop.State().RobotTask()
		return busy && task.To == term.SlotPlace("lathe:1")
	})
	r.accept(message.CompareCell{})
	for range 100 {
		r.step()
		require.Empty(t, r.loop.State().Questions(), "%s", r.describe())
		if _, busy := r.loop.State().RobotTask(); !busy {
			r.wait(10 * time.Second)
			require.Empty(t, r.loop.State().Questions())
			return
		}
	}
	t.Fatal("the move does not end")
}

// The answer "set on another place" means the place that was named, whatever has become free meanwhile.
func TestANewPlaceIsThePlaceThatWasNamed(t *testing.T) {
	r := atWork(t, "mill", 2)
	r.accept(message.CreateOrder{ID: "B", Route: "housing", Quantity: 1})
	r.wreck(stored(r, plant.KindJob, "A.2", func(j *plant.Job) { j.TempSlotNo = 1 }))
	r.until("asked", time.Minute, func() bool { return len(r.loop.State().Questions()) > 0 })
	q := r.question(term.FindSharedPlace, "job:A.2")
	require.Equal(t, term.BufferPlace(2), q.Place)
	r.line.PutBy("A.2", 22)
	// A.1 leaves, so that place 1 becomes free; the question has not been looked at since.
	r.accept(message.ReportPart{Job: "A.1", Place: term.OutPlace(""), Reason: "dropped"})
	r.answerWith(r.question(term.FindReportedPart, "job:A.1"), term.AnswerAccept)
	if now, open := r.loop.State().Question(q.ID); open {
		require.Equal(t, message.Accepted, r.answerWith(now, term.AnswerNewPlace).Code)
		require.Equal(t, term.BufferPlace(2), r.job("A.2").Position)
	}
}
