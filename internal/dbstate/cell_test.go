package dbstate_test

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"surehand/internal/dbstate/entpgx"
	"surehand/internal/plant"
	"surehand/internal/term"
)

var zero time.Time

// versionUp is a row after a change of nothing but its version.
func versionUp(r plant.Row) plant.Row {
	n := reflect.New(reflect.TypeOf(r).Elem())
	n.Elem().Set(reflect.ValueOf(r).Elem())
	v := n.Elem().FieldByName("Version")
	v.SetInt(v.Int() + 1)
	return n.Interface().(plant.Row)
}

// situations are lawful rows of a kind in each of its states, and of a part in each of its places.
func situations() map[string][]func(n int) plant.Row {
	orders := func(s term.OrderState) func(int) plant.Row {
		return func(n int) plant.Row {
			return with(anOrder(n), func(o *plant.Order) {
				if o.State = s; s.Ended() {
					o.Completed, o.EndedAt = 5, at(9)
				}
			})
		}
	}
	job := func(s term.JobState, place func(n int) term.Place, d term.Disposition) func(int) plant.Row {
		return func(n int) plant.Row {
			return with(aJob(n), func(j *plant.Job) {
				if j.State, j.Position, j.Disposition = s, place(n), d; s.Ended() {
					j.TempSlotNo, j.EndedAt = 0, at(9)
				}
			})
		}
	}
	nowhere := func(int) term.Place { return term.Place{Type: term.Nowhere} }
	dock := func(n int) term.Place { return term.DockPlace(n + 1) }
	buffer := func(n int) term.Place { return term.BufferPlace(n + 1) }
	slot := func(n int) term.Place { return term.SlotPlace(millSlot(n)) }
	gripper := func(n int) term.Place { return term.Place{Type: term.OnRobot, Ref: fmt.Sprint(n + 1)} }
	exit := func(int) term.Place { return term.OutPlace(term.OutExit) }
	removed := func(int) term.Place { return term.OutPlace(term.OutRemoved) }
	tasks := func(s term.TaskState) func(int) plant.Row {
		return func(n int) plant.Row {
			return with(aStart(n), func(t *plant.Task) {
				if t.State = s; s != term.TaskRunning {
					t.DueAt = zero
				}
				if s.Ended() {
					t.EndedAt = at(9)
				}
			})
		}
	}
	all := map[string][]func(int) plant.Row{
		"jobs": {job(term.NotArrived, nowhere, term.DispositionNone), job(term.Queued, dock, term.DispositionNone), job(term.Moving, dock, term.DispositionNone),
			job(term.Moving, buffer, term.DispositionNone), job(term.Moving, slot, term.DispositionNone), job(term.Moving, gripper, term.DispositionNone),
			job(term.Waiting, buffer, term.DispositionNone), job(term.Processing, slot, term.DispositionNone), job(term.WaitingUnload, slot, term.DispositionNone),
			job(term.WaitingJudgement, slot, term.DispositionNone), job(term.WaitingJudgement, buffer, term.DispositionNone),
			job(term.Completed, exit, term.DispositionNone), job(term.Completed, removed, term.DispositionNone), job(term.Scrapped, exit, term.DispositionScrap),
			job(term.JobCancelled, exit, term.DispositionCancel), job(term.JobCancelled, nowhere, term.DispositionCancel)},
		"equipment_slots": {func(n int) plant.Row { return aSlot(n) }, func(n int) plant.Row { return movedInCell(aSlot(n), 0) },
			func(n int) plant.Row { return movedInCell(aSlot(n), 1) }},
		"pallets":        {func(n int) plant.Row { return aPallet(n) }, func(n int) plant.Row { return movedInCell(aPallet(n), 1) }},
		"manual_actions": {func(n int) plant.Row { return aQuestion(n) }, func(n int) plant.Row { return movedInCell(aQuestion(n), 1) }},
	}
	for _, s := range term.OrderState("").Values() {
		all["work_orders"] = append(all["work_orders"], orders(term.OrderState(s)))
	}
	for _, s := range term.TaskState("").Values() {
		all["tasks"] = append(all["tasks"], tasks(term.TaskState(s)))
	}
	for _, s := range term.DoneLatch("").Values() {
		all["equipment"] = append(all["equipment"], func(n int) plant.Row {
			return with(anEquipment(n), func(e *plant.Equipment) { e.Latch = term.DoneLatch(s) })
		})
	}
	for _, s := range term.AlarmState("").Values() {
		all["alarms"] = append(all["alarms"], func(n int) plant.Row {
			return with(anAlarm(n), func(a *plant.Alarm) {
				if a.State = term.AlarmState(s); a.State == term.AlarmAcknowledged {
					a.AckedBy = "anna"
				}
				if a.State == term.AlarmNormal {
					a.EndedAt = at(9)
				}
			})
		})
	}
	return all
}

// An update decided on one state or place hits no row that stands in another, one by one and many at once.
func TestEveryPairOfStatesOfTheCellIsGuarded(t *testing.T) {
	url := database(t)
	s, state := opened(t, url)
	w := newTurns(t, s, state)
	beside := session(t, url)
	for table, all := range situations() {
		for a, stored := range all {
			for b, expected := range all {
				for _, count := range []int{1, 12} {
					_, err := beside.Exec(t.Context(), "DELETE FROM "+table)
					require.NoError(t, err)
					var rows, changes []plant.Change
					for n := range count {
						is, thought := versionOne(stored(n)), versionOne(expected(n))
						rows = append(rows, insert(is)...)
						changes = append(changes, update(thought, versionUp(thought)))
					}
					w.must(rows...)
					err = w.try(changes...)
					if a == b {
						require.NoError(t, err, "%s %d", table, a)
					} else {
						requireFault(t, plant.FaultConflict, err)
					}
					var moved, kept int
					require.NoError(t, beside.QueryRow(t.Context(), "SELECT count(*) FILTER (WHERE version = 2), count(*) FILTER (WHERE version = 1) FROM "+table).Scan(&moved, &kept))
					want := []int{0, count}
					if a == b {
						want = []int{count, 0}
					}
					require.Equal(t, want, []int{moved, kept}, "%s: %d thought to be %d", table, a, b)
				}
			}
		}
	}
}

func versionOne(r plant.Row) plant.Row {
	n := versionUp(r)
	reflect.ValueOf(n).Elem().FieldByName("Version").SetInt(1)
	return n
}

// Each unique index of the cell refuses what it is there for.
func TestUniqueIndexesOfTheCell(t *testing.T) {
	url := database(t)
	s, state := opened(t, url)
	w := newTurns(t, s, state)
	beside := session(t, url)
	on := func(n int, p term.Place, s term.JobState) *plant.Job {
		return with(aJob(n), func(j *plant.Job) { j.State, j.Position = s, p })
	}
	robot := func(n int) *plant.Task {
		return with(aTask(n), func(t *plant.Task) { t.State, t.PartAt, t.EndedAt = term.TaskUnknown, "", zero })
	}
	for _, tt := range []struct {
		index  string
		stored plant.Row
		second plant.Row
	}{
		{"job_one_per_place", on(1, term.DockPlace(3), term.Queued), on(2, term.DockPlace(3), term.Moving)},
		{"job_one_per_place", on(1, term.GripperPlace(), term.Moving), on(2, term.GripperPlace(), term.Moving)},
		{"job_one_per_place", aJob(1), on(2, aJob(1).Position, term.Processing)},
		{"job_one_per_buffer_place", aJob(1), with(aJob(2), func(j *plant.Job) { j.TempSlotNo = aJob(1).TempSlotNo })},
		{"job_number_once", aJob(1), with(aJob(2), func(j *plant.Job) { j.OrderID = aJob(1).OrderID })},
		{"slot_one_per_job", aSlot(1), with(aSlot(2), func(l *plant.Slot) { l.JobID = aSlot(1).JobID })},
		{"slot_number_once", aSlot(1), with(aSlot(2), func(l *plant.Slot) { l.EquipmentID = aSlot(1).EquipmentID })},
		{"task_one_open_of_the_robot", robot(1), with(robot(2), func(r *plant.Task) { r.Type, r.EquipmentID = term.TaskScan, "scanner" })},
		{"task_one_open_start_per_machine", aStart(1), with(aStart(2), func(r *plant.Task) { r.EquipmentID = aStart(1).EquipmentID })},
		{"task_action_no_once", aTask(1), with(aStart(2), func(r *plant.Task) { r.ActionNo = aTask(1).ActionNo })},
		{"question_one_open_per_finding_and_subject", aQuestion(1), with(aQuestion(2), func(q *plant.Question) { q.Subject = aQuestion(1).Subject })},
		{"alarm_one_open_per_type_and_subject", anAlarm(1), with(anAlarm(2), func(a *plant.Alarm) { a.Subject = anAlarm(1).Subject })},
		{"cells_pkey", aCell(), aCell()},
		{"pallets_pkey", aPallet(1), aPallet(1)},
		{"work_orders_pkey", anOrder(1), anOrder(1)},
	} {
		w.must(insert(tt.stored)...)
		err := w.try(insert(tt.second)...)
		requireFault(t, plant.FaultConflict, err)
		require.ErrorContains(t, err, `"`+tt.index+`"`)
		for _, table := range []string{"jobs", "equipment_slots", "tasks", "manual_actions", "alarms", "cells", "pallets", "work_orders"} {
			_, err := beside.Exec(t.Context(), "DELETE FROM "+table)
			require.NoError(t, err)
		}
	}
}

// Two parts that change places in one batch cannot be ordered: nothing is written, and the loop decides one by one.
func TestPlacesThatSwapInOneBatch(t *testing.T) {
	url := database(t)
	s, state := opened(t, url)
	w := newTurns(t, s, state)
	w.must(insert(aJob(1), aJob(2))...)
	swapped := func(n, other int) plant.Change {
		return update(aJob(n), with(aJob(n), func(j *plant.Job) { j.Version, j.Position = 2, aJob(other).Position }))
	}
	requireFault(t, plant.FaultConflict, w.try(swapped(1, 2), swapped(2, 1)))
	aside := with(aJob(1), func(j *plant.Job) { j.Version, j.State, j.Position = 2, term.Moving, term.GripperPlace() })
	w.must(update(aJob(1), aside))
	w.must(update(aside, with(aJob(1), func(j *plant.Job) { j.Version, j.Position = 3, aJob(2).Position })), swapped(2, 1))
}

// What is loaded is what was written, and each field of each kind was written with something in it.
func TestEveryFieldOfTheCellReadsBack(t *testing.T) {
	url := database(t)
	s, state := opened(t, url)
	w := newTurns(t, s, state)
	client := entpgx.Client(session(t, url))
	first := append([]plant.Row{aCell()}, cellRows(0)...)
	first = append(first, aStart(1), anEquipment(1),
		with(aJob(3), func(j *plant.Job) {
			j.OrderID, j.Number, j.State, j.Position, j.Presented = orderNo(0), 4, term.Moving, term.GripperPlace(), mill(0)
		}),
		with(aTask(3), func(t *plant.Task) {
			t.JobID, t.EquipmentID, t.State, t.PartAt, t.EndedAt = part(3), mill(0), term.TaskUnknown, "", zero
		}))
	w.must(insert(first...)...)
	var open []plant.Row
	for _, r := range first {
		if r.Open() {
			open = append(open, r)
		}
	}
	loaded, err := s.Reload(t.Context())
	require.NoError(t, err)
	require.ElementsMatch(t, open, loaded.Rows())

	second := make([]plant.Row, 0, len(first))
	var changes []plant.Change
	for _, r := range first {
		if r.Kind() == plant.KindOrder || r.Kind() == plant.KindEquipment { // others of the picture refer to them
			continue
		}
		k := 1 // keeps what is optional
		if j, ok := r.(*plant.Job); ok && j.Presented != "" {
			k = 0 // ends
		}
		next := movedInCell(r, k)
		second = append(second, next)
		changes = append(changes, update(r, next))
	}
	w.must(changes...)
	seen := map[string]bool{}
	for n, r := range slices.Concat(first, second, []plant.Row{movedInCell(anOrder(0), 1)}) {
		v := reflect.ValueOf(r).Elem()
		for f := range v.NumField() {
			if !v.Field(f).IsZero() {
				seen[v.Type().Field(f).Name+" of "+string(r.Kind())] = true
			}
		}
		if n >= len(first) && n < len(first)+len(second) {
			back, err := readRow(t.Context(), client, r.Kind(), r.Key())
			require.NoError(t, err)
			require.Equal(t, r, back)
		}
	}
	for _, r := range first {
		for f := range reflect.TypeOf(r).Elem().NumField() {
			name := reflect.TypeOf(r).Elem().Field(f).Name + " of " + string(r.Kind())
			require.True(t, seen[name], "%s was never written with anything in it", name)
		}
	}
}
