package loop_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"surehand/internal/message"
	"surehand/internal/plant"
	"surehand/internal/term"
)

// withInspection is the cell with a route of a lathe and then the mill as an inspection.
func withInspection(onFail string) message.ImportPlant {
	p := theCell()
	check := term.Step{Kind: term.StepInspection, Group: "mill", OnFail: onFail, Timeout: term.Duration(5 * time.Minute)}
	if onFail == "rework" {
		check.ReworkTo, check.ReworkLimit = 1, 1
	}
	p.Routes[0].Steps = []message.ImportStep{p.Routes[0].Steps[0], {Step: check}}
	return p
}

// atInspection brings one part into the inspection and lets its cycle end without a result.
func atInspection(t *testing.T, onFail string) *cellRig {
	r := newCellRig(t, withInspection(onFail))
	r.confirm()
	r.order("A", 1)
	r.until("the inspection has ended its cycle", 10*time.Minute, func() bool {
		e := r.equipment("mill")
		return e.HasCycle && e.Latch == term.LatchNone
	})
	require.Equal(t, term.Processing, r.job("A.1").State, "a done without a result ends no inspection")
	require.Equal(t, term.SlotOccupied, r.slot("mill:1").State)
	return r
}

// proves C-4 C-14: an inspection ends only with a result, and the route says what becomes of a part that is not good.
func TestInspectionResult(t *testing.T) {
	t.Run("pass", func(t *testing.T) {
		r := atInspection(t, "")
		require.Equal(t, message.Accepted, r.post(message.InspectionResult{Machine: "mill", Pass: true, Data: "12.01 mm"}).Code)
		require.Equal(t, 2, r.job("A.1").StepIndex)
		require.Equal(t, "12.01 mm", r.job("A.1").Context.Results[1].Data)
		r.until("out", 10*time.Minute, func() bool { return r.ended("A") })
		require.Equal(t, 1, r.orderRow("A").Completed)
	})
	t.Run("fail, scrap", func(t *testing.T) {
		r := atInspection(t, "")
		r.post(message.InspectionResult{Machine: "mill", Pass: false})
		r.until("out", 10*time.Minute, func() bool { return r.ended("A") })
		require.Equal(t, 1, r.orderRow("A").Scrapped)
	})
	t.Run("fail, judged good", func(t *testing.T) {
		r := atInspection(t, "judge")
		r.post(message.InspectionResult{Machine: "mill", Pass: false})
		require.Equal(t, term.WaitingJudgement, r.job("A.1").State)
		require.Equal(t, message.Accepted, r.answerWith(r.question(term.FindJudgement, "job:A.1"), term.AnswerGood).Code)
		r.until("out", 10*time.Minute, func() bool { return r.ended("A") })
		require.Equal(t, 1, r.orderRow("A").Completed)
	})
	t.Run("fail, rework once, then judged", func(t *testing.T) {
		r := atInspection(t, "rework")
		r.post(message.InspectionResult{Machine: "mill", Pass: false})
		require.Equal(t, 0, r.job("A.1").StepIndex)
		require.Equal(t, 1, r.job("A.1").Context.Reworks)
		r.until("inspected again", 10*time.Minute, func() bool {
			return r.job("A.1").StepIndex == 1 && r.slot("mill:1").State == term.SlotOccupied && !r.slot("mill:1").StartedAt.IsZero()
		})
		r.post(message.InspectionResult{Machine: "mill", Pass: false})
		require.Equal(t, message.Accepted, r.answerWith(r.question(term.FindJudgement, "job:A.1"), term.AnswerScrap).Code, "its limit is reached")
		r.until("out", 10*time.Minute, func() bool { return r.ended("A") })
		require.Equal(t, 1, r.orderRow("A").Scrapped)
	})
	t.Run("for nobody", func(t *testing.T) {
		r := atInspection(t, "")
		o := r.post(message.InspectionResult{Machine: "lathe", Pass: true})
		require.Equal(t, message.Refused, o.Code)
		require.Equal(t, "stale", o.Reason)
	})
}

// proves C-4 C-17: a person may have parts brought although fewer places are free than the plant waits for.
func TestRefillRequested(t *testing.T) {
	r := newCellRig(t, theCell())
	r.confirm()
	r.order("A", 12)
	reserved := func() (n int) {
		for _, j := range r.loop.State().Placed() {
			if j.TempSlotNo > 0 {
				n++
			}
		}
		return n
	}
	require.Equal(t, 8, reserved(), "the whole buffer at the start")
	r.until("two parts are out", time.Hour, func() bool { return r.orderRow("A").Completed == 2 })
	require.Equal(t, 6, reserved(), "two free places are too few to refill by itself")
	r.accept(message.RefillRequested{})
	require.Equal(t, 8, reserved())
}

// proves C-4 C-6 C-15: the scheduler looks once in the batch, in a message of its own that the last one caused.
func TestScheduleTickFollowsTheMessageThatChangedTheCell(t *testing.T) {
	r := newCellRig(t, theCell())
	r.confirm()
	r.order("A", 1)
	log := r.db.Log()
	started, tick := log[len(log)-2], log[len(log)-1]
	require.Equal(t, "StartOrder", started.Type)
	require.Equal(t, "ScheduleTick", tick.Type)
	require.Equal(t, string(started.MessageID), tick.CausationID)
	require.Contains(t, tick.Subject, "task:")
	rows := len(log)
	r.accept(message.CompareCell{})
	require.Equal(t, "CompareCell", r.db.Log()[rows].Type)
}

// proves C-18: one robot holds a part before a tool, so scanning and marking exclude each other and everything else
// that the robot could do, without a lock.
func TestAScanExcludesEveryOtherActionOfTheRobot(t *testing.T) {
	r := newCellRig(t, theCell())
	r.confirm()
	r.order("A", 4)
	scans := 0
	r.until("the order has ended", time.Hour, func() bool {
		if task, busy := r.loop.State().RobotTask(); busy && task.Type == term.TaskScan {
			scans++
			for _, other := range r.loop.State().Tasks() {
				require.True(t, other.ID == task.ID || !other.Type.UsesRobot(), "%s while %s is scanned", other.Type, task.JobID)
			}
			held, ok := r.loop.State().JobAt(term.GripperPlace())
			require.True(t, ok && held.ID == task.JobID && held.Presented == "scanner")
		}
		return r.ended("A")
	})
	require.GreaterOrEqual(t, scans, 4)
}

// proves C-1: whoever is not the loop only posts, and what was posted takes effect in the order in which it was decided:
// two people who pause and resume at once leave what the log says last.
func TestCommandsTakeEffectInTheOrderOfTheLog(t *testing.T) {
	r := newCellRig(t, theCell())
	r.confirm()
	r.order("A", 1)
	person := func(who string, p message.Payload) message.Message {
		return message.Message{Source: message.FromPerson, Actor: who, Payload: p, BodyHash: who + p.Type()}
	}
	out := r.turn(person("kim", message.PauseOrder{Order: "A"}), person("lee", message.PauseOrder{Order: "A"}), person("lee", message.ResumeOrder{Order: "A"}))
	require.Equal(t, []message.Code{message.Accepted, message.Refused, message.Accepted}, []message.Code{out[0].Code, out[1].Code, out[2].Code})
	require.Equal(t, []int64{out[0].Seq, out[0].Seq + 1, out[0].Seq + 2}, []int64{out[0].Seq, out[1].Seq, out[2].Seq})
	_, paused := r.loop.State().Held(plant.OrderSubject("A"), term.HoldPaused)
	require.False(t, paused)
}
