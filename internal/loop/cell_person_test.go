package loop_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"surehand/internal/loop/looptest"
	"surehand/internal/message"
	"surehand/internal/plant"
	"surehand/internal/term"
)

// atEveryStep runs an order of two parts again and again, and interferes after each step of it.
func atEveryStep(t *testing.T, interfere func(r *cellRig)) {
	for k := 0; ; k += *every {
		r := newCellRig(t, theCell())
		r.sparse = true
		r.confirm()
		r.order("A", 2)
		for range k {
			if r.step(); r.ended("A") {
				require.Greater(t, k, 50, "the order was too short to be interfered with")
				return
			}
		}
		interfere(r)
		r.truth()
	}
}

// A person's command at any moment, also with a part in the gripper, leaves a cell that goes on to the right end.
func TestCommandsInEveryState(t *testing.T) {
	for _, c := range []struct {
		name      string
		interfere func(r *cellRig)
	}{
		{"pause and resume the order", func(r *cellRig) {
			r.accept(message.PauseOrder{Order: "A", Reason: "shift change"})
			r.refuse("paused", message.PauseOrder{Order: "A"})
			r.rests()
			if r.ended("A") { // its last part was on its last move
				return
			}
			r.accept(message.ResumeOrder{Order: "A"})
			r.withOperator("A", time.Hour)
			r.finished("A", 2)
		}},
		{"pause and release the cell", func(r *cellRig) {
			r.accept(message.PauseCell{Reason: "cleaning"})
			r.rests()
			r.accept(message.ReleaseCell{})
			r.withOperator("A", time.Hour)
			r.finished("A", 2)
		}},
		{"suspend and resume a part", func(r *cellRig) {
			if _, open := r.loop.State().Job("A.1"); !open {
				return
			}
			r.accept(message.SuspendJob{Job: "A.1", Reason: "looks odd"})
			r.wait(5 * time.Minute)
			if _, open := r.loop.State().Job("A.1"); !open { // it was on its last move
				r.withOperator("A", time.Hour)
				return
			}
			require.NotEqual(r.t, term.OnRobot, r.job("A.1").Position.Type, "a suspended part stays in the gripper\n%s", r.describe())
			require.False(r.t, r.ended("A"))
			r.accept(message.ResumeJob{Job: "A.1"})
			r.withOperator("A", time.Hour)
			r.finished("A", 2)
		}},
		{"cancel, parts retired", func(r *cellRig) {
			r.accept(message.CancelOrder{Order: "A", Inside: term.InsideRetire})
			r.until("the order has ended", time.Hour, func() bool { return r.ended("A") })
			require.Equal(r.t, term.OrderCancelled, r.orderRow("A").State)
			r.countersRight()
		}},
		{"cancel, parts finished", func(r *cellRig) {
			r.accept(message.CancelOrder{Order: "A", Inside: term.InsideFinish})
			r.until("the order has ended", time.Hour, func() bool { return r.ended("A") })
			require.Equal(r.t, term.OrderCancelled, r.orderRow("A").State)
			r.countersRight()
		}},
		{"rework a part", func(r *cellRig) {
			j, open := r.loop.State().Job("A.1")
			if !open {
				return
			}
			o := r.person(message.ReworkJob{Job: "A.1", Step: 1, Reason: "again"})
			atRest := j.State == term.Waiting || j.State == term.WaitingUnload
			require.Equal(r.t, atRest, o.Code == message.Accepted, "%s: %+v", j.State, o)
			if !atRest {
				require.Equal(r.t, string(j.State), o.State, "the refusal names the state that forbids it")
			}
			r.until("the order has ended", time.Hour, func() bool { return r.ended("A") })
			require.Equal(r.t, 2, r.orderRow("A").Completed)
		}},
		{"scrap a part", func(r *cellRig) {
			if _, open := r.loop.State().Job("A.2"); !open {
				return
			}
			r.accept(message.ScrapJob{Job: "A.2", Reason: "a scratch"})
			r.until("the order has ended", time.Hour, func() bool { return r.ended("A") })
			require.Equal(r.t, term.OrderCompleted, r.orderRow("A").State)
			require.Equal(r.t, 1, r.orderRow("A").Scrapped)
			r.countersRight()
		}},
	} {
		t.Run(c.name, func(t *testing.T) { atEveryStep(t, c.interfere) })
	}
}

// rests waits until nothing moves and the gripper is empty: what a pause must lead to by itself.
func (r *cellRig) rests() {
	r.t.Helper()
	r.until("nothing moves", 10*time.Minute, func() bool {
		_, busy := r.loop.State().RobotTask()
		_, held := r.loop.State().JobAt(term.GripperPlace())
		return !busy && !held
	})
	executed := len(r.line.Executed)
	unloads := 0
	for _, e := range r.loop.State().Equipment() {
		unloads += len(r.loop.State().SlotsOf(e.ID))
	}
	r.wait(3 * time.Minute) // only parts that become done may still be unloaded to their own places
	require.LessOrEqual(r.t, len(r.line.Executed), executed+2, "%s", r.describe())
	require.NotEqual(r.t, 0, unloads)
}

func (r *cellRig) countersRight() {
	r.t.Helper()
	o := r.orderRow("A")
	ends := map[term.JobState]int{}
	for n := 1; n <= o.Planned; n++ {
		j := r.jobRow(fmt.Sprintf("A.%d", n))
		ends[j.State]++
		switch j.Position.Ref {
		case term.OutExit:
			require.Equal(r.t, r.line.Exit, r.line.At[string(j.ID)])
		case term.OutPallet:
			require.Equal(r.t, n, r.line.At[string(j.ID)], "%s was left on its pallet place", j.ID)
		}
	}
	require.Equal(r.t, []int{ends[term.Completed], ends[term.Scrapped], ends[term.JobCancelled]}, []int{o.Completed, o.Scrapped, o.Cancelled})
}

// From every state a person alone can reach an end: everything is dead, the process has been restarted, and whoever is
// there carries every part out by hand and says so.
func TestAPersonAloneReachesAnEndFromEveryState(t *testing.T) {
	atEveryStep(t, func(r *cellRig) {
		for _, e := range r.loop.State().Equipment() {
			r.line.Cut(e.ID, true)
		}
		if r.steps%2 == 0 {
			r.crash()
		}
		r.wait(15 * time.Second) // nobody reaches into the cell before everything stands still
		r.until("the order has ended", time.Hour, func() bool {
			r.person(message.CancelOrder{Order: "A"})
			for _, q := range r.loop.State().Questions() {
				for _, word := range []string{term.AnswerRemoved, term.AnswerAccept, term.AnswerWithout, term.AnswerNotDone, term.AnswerDone, term.AnswerScrap} {
					if q.Offers(word) {
						if word == term.AnswerRemoved {
							r.line.PutBy(string(q.JobID), looptest.Removed)
						}
						r.answerWith(q, word)
						break
					}
				}
			}
			for _, j := range r.loop.State().Placed() {
				if _, moving := r.loop.State().TaskOf(j.ID); !moving && len(r.loop.State().AskedAbout(plant.JobSubject(j.ID))) == 0 {
					r.line.PutBy(string(j.ID), looptest.Removed)
					r.accept(message.ReportPart{Job: j.ID, Place: term.OutPlace(term.OutRemoved), Reason: "carried out"})
				}
			}
			return r.ended("A")
		})
		require.Equal(r.t, 0, r.orderRow("A").Left())
	})
}
