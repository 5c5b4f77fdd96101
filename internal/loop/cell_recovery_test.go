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

// wreck changes rows of the database by hand while the process is down, and starts it again.
func (r *cellRig) wreck(rows ...plant.Row) {
	r.wrecked = true
	r.db.Wreck(rows...)
	r.crash()
}

func stored[R any, P interface {
	*R
	plant.Row
}](r *cellRig, kind plant.Kind, key string, change func(P)) plant.Row {
	row, ok := r.db.Row(kind, key)
	require.True(r.t, ok)
	n := *row.(P)
	change(&n)
	return P(&n)
}

// difference is one way in which record and machines can contradict each other.
type difference struct {
	finding term.Finding
	subject string
	make    func(t *testing.T) *cellRig
	// answers are what is offered, with what a person does in the cell so that the answer is true.
	answers map[string]func(*cellRig)
	// vanishes makes the difference go away by itself; nil: only an answer ends it.
	vanishes func(*cellRig)
}

func nothing(*cellRig) {}

func put(part string, place int) func(*cellRig) {
	return func(r *cellRig) { r.line.PutBy(part, place) }
}

// emptySlot is what a slot row is when nothing is in it.
func emptySlot(s *plant.Slot) {
	s.State, s.JobID, s.EnteredAt, s.StartedAt, s.DueAt = term.SlotEmpty, "", time.Time{}, time.Time{}, time.Time{}
}

// waiting is a cell in which A.1 rests on its own buffer place.
func waiting(t *testing.T) *cellRig {
	r := newCellRig(t, theCell())
	r.confirm()
	r.accept(message.DisableEquipment{Equipment: "lathe", Reason: "being cleaned"})
	r.order("A", 1)
	r.until("A.1 rests on the buffer", time.Minute, func() bool { return r.job("A.1").State == term.Waiting })
	return r
}

func empty(t *testing.T) *cellRig {
	r := newCellRig(t, theCell())
	r.confirm()
	return r
}

func differences() []difference {
	working := func(t *testing.T) *cellRig { return atWork(t, "lathe", 1) }
	wrecked := func(begin func(*testing.T) *cellRig, rows func(*cellRig) []plant.Row) func(*testing.T) *cellRig {
		return func(t *testing.T) *cellRig {
			r := begin(t)
			r.wreck(rows(r)...)
			return r
		}
	}
	disturbed := func(begin func(*testing.T) *cellRig, do func(*cellRig)) func(*testing.T) *cellRig {
		return func(t *testing.T) *cellRig {
			r := begin(t)
			do(r)
			r.crash()
			return r
		}
	}
	row := func(rows ...plant.Row) []plant.Row { return rows }
	return []difference{
		{term.FindJobSlot, "job:A.1", wrecked(working, func(r *cellRig) []plant.Row {
			return row(stored(r, plant.KindSlot, "lathe:1", emptySlot))
		}), map[string]func(*cellRig){"is_there": nothing, "at_home": put("A.1", 21), "removed": put("A.1", looptest.Removed)}, nil},
		{term.FindTwoPlaces, "slot:lathe:1", wrecked(waiting, func(r *cellRig) []plant.Row {
			return row(stored(r, plant.KindSlot, "lathe:1", func(s *plant.Slot) { s.State, s.JobID, s.EnteredAt = term.SlotOccupied, "A.1", r.clock.Now() }))
		}), map[string]func(*cellRig){"is_there": put("A.1", 41), "clear": nothing}, nil},
		{term.FindSlotJob, "slot:mill:2", wrecked(func(t *testing.T) *cellRig {
			r := empty(t)
			r.accept(message.CreateOrder{ID: "Z", Route: "housing", Quantity: 9})
			r.accept(message.CancelOrder{Order: "Z"})
			return r
		}, func(r *cellRig) []plant.Row {
			return row(stored(r, plant.KindSlot, "mill:2", func(s *plant.Slot) { s.State, s.JobID, s.EnteredAt = term.SlotOccupied, "Z.9", r.clock.Now() }))
		}), map[string]func(*cellRig){"clear": nothing}, nil},
		{term.FindSharedPlace, "job:A.2", wrecked(func(t *testing.T) *cellRig { return atWork(t, "mill", 2) }, func(r *cellRig) []plant.Row {
			return row(stored(r, plant.KindJob, "A.2", func(j *plant.Job) { j.TempSlotNo = 1 }))
		}), map[string]func(*cellRig){"new_place": put("A.2", 22), "removed": put("A.2", looptest.Removed)}, nil},
		{term.FindPlaceRange, "job:A.1", wrecked(working, func(r *cellRig) []plant.Row {
			return row(stored(r, plant.KindJob, "A.1", func(j *plant.Job) { j.TempSlotNo = 9 }))
		}), map[string]func(*cellRig){"new_place": put("A.1", 21), "removed": put("A.1", looptest.Removed)}, nil},
		{term.FindCounters, "order:A", wrecked(func(t *testing.T) *cellRig { return atWork(t, "mill", 2) }, func(r *cellRig) []plant.Row {
			return row(stored(r, plant.KindOrder, "A", func(o *plant.Order) { o.Scrapped = 1 }))
		}), map[string]func(*cellRig){"recount": nothing}, nil},
		{term.FindNotRunning, "job:A.1", disturbed(working, func(r *cellRig) { r.line.Reset("lathe") }),
			map[string]func(*cellRig){"finished": nothing, "restart": nothing, "scrap": nothing}, nil},
		{term.FindPartMissing, "job:A.1", disturbed(working, put("A.1", 21)),
			map[string]func(*cellRig){"at_home": nothing, "removed": put("A.1", looptest.Removed)}, put("A.1", 41)},
		{term.FindPartForeign, "slot:mill:2", disturbed(empty, put("X.1", 52)), map[string]func(*cellRig){"without": nothing}, put("X.1", looptest.Removed)},
		{term.FindGripper, "equipment:robot", disturbed(empty, put("X.1", looptest.Gripper)), map[string]func(*cellRig){"without": nothing}, put("X.1", looptest.Removed)},
		{term.FindGripperEmpty, "job:A.1", disturbed(func(t *testing.T) *cellRig {
			r := empty(t)
			r.line.Strike = func(plant.Perform) looptest.Mishap { return looptest.Drops }
			r.order("A", 1)
			r.until("the part is in the gripper", time.Minute, func() bool { return r.job("A.1").Position == term.GripperPlace() })
			r.line.Strike = nil
			return r
		}, put("A.1", 21)), map[string]func(*cellRig){"at_home": nothing, "removed": put("A.1", looptest.Removed)}, put("A.1", looptest.Gripper)},
		{term.FindEchoUnknown, "equipment:robot", wrecked(waiting, func(r *cellRig) []plant.Row {
			return row(stored(r, plant.KindCell, plant.CellKey, func(c *plant.Cell) { c.LastActionNo = 0 }))
		}), map[string]func(*cellRig){"accept": nothing}, nil},
		{term.FindUnreachable, "equipment:mill", disturbed(empty, func(r *cellRig) { r.line.Cut("mill", true) }),
			map[string]func(*cellRig){"without": nothing}, func(r *cellRig) { r.line.Cut("mill", false) }},
		{term.FindFault, "equipment:mill", disturbed(empty, func(r *cellRig) { r.line.Fail("mill", 17) }),
			map[string]func(*cellRig){"without": nothing}, func(r *cellRig) { r.line.Fail("mill", 0) }},
		{term.FindFlapping, "equipment:mill", func(t *testing.T) *cellRig {
			r := empty(t)
			r.crash()
			for n := range 9 {
				r.line.Fail("mill", n%2)
				r.step()
				r.clock.Advance(100 * time.Millisecond)
				r.line.Step(r.clock.Now())
			}
			return r
		}, map[string]func(*cellRig){"without": nothing}, nothing},
	}
}

// found steps until the comparison has asked about a difference and what it rests on stands still.
func (r *cellRig) found(d difference) *plant.Question {
	r.t.Helper()
	r.until("asked", time.Minute, func() bool {
		_, open := r.loop.State().QuestionOf(d.finding, d.subject)
		return open
	})
	r.refuse("findings_open", message.ConfirmRecovery{})
	return r.question(d.finding, d.subject)
}

// proves C-19: each answer to each finding leads to a picture in which the finding is gone, and the record is whole.
func TestEachAnswerOfARecoveryEndsItsFinding(t *testing.T) {
	for _, d := range differences() {
		for word, do := range d.answers {
			t.Run(fmt.Sprint(d.finding, "/", word), func(t *testing.T) {
				r := d.make(t)
				q := r.found(d)
				require.Len(t, words(q), len(d.answers), "%v", words(q))
				require.Contains(t, words(q), word)
				do(r)
				r.until("answered", time.Minute, func() bool {
					q, open := r.loop.State().QuestionOf(d.finding, d.subject)
					if !open { // what the person did has ended it before the answer
						return true
					}
					o := r.answerWith(q, word)
					return o.Code == message.Accepted
				})
				r.gone(d)
			})
		}
		if d.vanishes == nil {
			continue
		}
		t.Run(fmt.Sprint(d.finding, "/vanishes"), func(t *testing.T) {
			r := d.make(t)
			id := r.found(d).ID
			d.vanishes(r)
			r.until("gone by itself", time.Minute, func() bool { _, open := r.loop.State().Question(id); return !open })
			row, _ := r.db.Row(plant.KindQuestion, string(id))
			require.Equal(t, "surehand", row.(*plant.Question).By)
			r.gone(d)
		})
	}
}

// gone: a difference does not come back, nothing of it is left in the record, and the recovery can be ended.
func (r *cellRig) gone(d difference) {
	r.t.Helper()
	r.wait(6 * time.Second)
	_, open := r.loop.State().QuestionOf(d.finding, d.subject)
	require.False(r.t, open, "%s", r.describe())
	if d.finding == term.FindEchoUnknown { // every machine that knows a newer number asks
		r.until("all accepted", time.Minute, func() bool {
			for _, q := range r.loop.State().Questions() {
				r.answerWith(q, term.AnswerAccept)
			}
			return len(r.loop.State().Questions()) == 0
		})
	}
	require.Empty(r.t, looptest.Invariants(r.db), "%s", r.describe())
	r.confirm()
	if a, alarmed := r.loop.State().AlarmOf(term.AlarmRecovery, d.subject); alarmed {
		require.False(r.t, a.State.Active(), "its alarm has returned")
	}
}
