package plant

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"surehand/internal/term"
)

// Every law of the cell is broken by one changed field.
func TestTheLawsOfTheCellBite(t *testing.T) {
	order := func(s term.OrderState) *Order { return &Order{ID: "A", State: s, Planned: 2} }
	job := func(s term.JobState, p term.Place, home int) *Job {
		return &Job{ID: "A.1", State: s, Position: p, TempSlotNo: home, Disposition: term.DispositionNone}
	}
	ended := func(s term.JobState, d term.Disposition) *Job {
		j := job(s, term.OutPlace(term.OutExit), 0)
		j.Disposition, j.EndedAt = d, six
		return j
	}
	running := func() *Task {
		return &Task{ID: "t", Type: term.TaskMove, JobID: "A.1", OrderID: "A", State: term.TaskRunning, DueAt: six}
	}
	question := func() *Question {
		return &Question{ID: "q", State: term.QuestionOpen, Finding: term.FindFault, Answers: []term.Answer{{Word: "without"}}, Touches: []string{"cell"}}
	}
	in, nowhere := term.SlotPlace("lathe:1"), term.Place{Type: term.Nowhere}
	seen := map[string]bool{}
	bites(t, seen, "order_words_known", order(term.OrderReady), func(r *Order) { r.State = "lost" })
	bites(t, seen, "order_end_has_time", order(term.OrderReady), func(r *Order) { r.EndedAt = six })
	bites(t, seen, "order_end_counts_all", order(term.OrderReady), func(r *Order) { r.Completed = 2 })
	bites(t, seen, "order_counts", order(term.OrderReady), func(r *Order) { r.Scrapped = -1 })
	bites(t, seen, "order_stopping_has_rule", order(term.OrderReady), func(r *Order) { r.State = term.OrderStopping })
	bites(t, seen, "job_words_known", job(term.Waiting, term.BufferPlace(1), 1), func(r *Job) { r.Disposition = "eaten" })
	bites(t, seen, "job_end_is_out", ended(term.Completed, term.DispositionNone), func(r *Job) { r.TempSlotNo = 1 })
	bites(t, seen, "job_end_is_out", ended(term.Completed, term.DispositionNone), func(r *Job) { r.Position = term.DockPlace(1) })
	bites(t, seen, "job_not_arrived_is_nowhere", job(term.NotArrived, nowhere, 0), func(r *Job) { r.Position = term.DockPlace(1) })
	bites(t, seen, "job_state_fits_place", job(term.Queued, term.DockPlace(1), 0), func(r *Job) { r.Position = in })
	bites(t, seen, "job_state_fits_place", job(term.Waiting, term.BufferPlace(1), 1), func(r *Job) { r.Position = in })
	bites(t, seen, "job_state_fits_place", job(term.Processing, in, 1), func(r *Job) { r.Position = term.BufferPlace(1) })
	bites(t, seen, "job_state_fits_place", job(term.WaitingUnload, in, 1), func(r *Job) { r.Position = term.DockPlace(1) })
	bites(t, seen, "job_state_fits_place", job(term.WaitingJudgement, in, 1), func(r *Job) { r.Position = term.DockPlace(1) })
	bites(t, seen, "job_on_robot_is_moving", job(term.Moving, term.GripperPlace(), 1), func(r *Job) { r.State = term.Waiting })
	bites(t, seen, "job_presented_is_in_gripper", job(term.Moving, in, 1), func(r *Job) { r.Presented = "scanner" })
	bites(t, seen, "job_place_has_ref", job(term.Queued, term.DockPlace(1), 0), func(r *Job) { r.Position.Ref = "" })
	bites(t, seen, "job_on_buffer_is_on_its_own_place", job(term.Waiting, term.BufferPlace(1), 1), func(r *Job) { r.TempSlotNo = 2 })
	bites(t, seen, "job_disposition_fits_end", ended(term.Completed, term.DispositionNone), func(r *Job) { r.Disposition = term.DispositionScrap })
	bites(t, seen, "job_disposition_fits_end", ended(term.Scrapped, term.DispositionScrap), func(r *Job) { r.Disposition = term.DispositionNone })
	bites(t, seen, "job_disposition_fits_end", ended(term.JobCancelled, term.DispositionCancel), func(r *Job) { r.Disposition = term.DispositionScrap })
	bites(t, seen, "slot_words_known", slotRow(1, term.SlotOccupied, "A.1"), func(r *Slot) { r.State = "OPEN" })
	bites(t, seen, "slot_empty_has_no_job", slotRow(1, term.SlotOccupied, "A.1"), func(r *Slot) { r.JobID = "" })
	bites(t, seen, "slot_times_fit", slotRow(1, term.SlotDone, "A.1"), func(r *Slot) { r.DueAt = six })
	bites(t, seen, "slot_times_fit", slotRow(1, term.SlotEmpty, ""), func(r *Slot) { r.StartedAt = six })
	bites(t, seen, "task_words_known", running(), func(r *Task) { r.Type = "DANCE" })
	bites(t, seen, "task_end_has_time", running(), func(r *Task) { r.EndedAt = six })
	bites(t, seen, "task_start_has_no_job", running(), func(r *Task) { r.Type = term.TaskStartMachine })
	bites(t, seen, "task_open_has_no_result", running(), func(r *Task) { r.PartAt = term.PartAtTo })
	bites(t, seen, "task_running_has_timer", running(), func(r *Task) { r.DueAt = time.Time{} })
	bites(t, seen, "question_words_known", question(), func(r *Question) { r.Finding = "odd" })
	bites(t, seen, "question_end_has_answer", question(), func(r *Question) { r.Answer = "without" })
	bites(t, seen, "question_has_answers", question(), func(r *Question) { r.Answers = nil })
	bites(t, seen, "alarm_words_known", alarmRow(term.AlarmUnacknowledged, false), func(r *Alarm) { r.Type = "noise" })
	bites(t, seen, "alarm_normal_has_time", alarmRow(term.AlarmUnacknowledged, false), func(r *Alarm) { r.EndedAt = six })
	bites(t, seen, "alarm_acknowledged_has_actor", alarmRow(term.AlarmAcknowledged, false), func(r *Alarm) { r.AckedBy = "" })
	bites(t, seen, "alarm_shelved_has_reason", alarmRow(term.AlarmUnacknowledged, true), func(r *Alarm) { r.ShelveReason = "" })
	bites(t, seen, "alarm_shelved_has_reason", alarmRow(term.AlarmUnacknowledged, true), func(r *Alarm) { r.Type = term.AlarmPartLost })
	bites(t, seen, "alarm_counts", alarmRow(term.AlarmUnacknowledged, false), func(r *Alarm) { r.Count = 0 })
	machine := func() *Equipment {
		return &Equipment{ID: "lathe", Type: term.KindMachine, Status: term.EquipmentIdle, Latch: term.LatchSeen}
	}
	bites(t, seen, "equipment_words_known", machine(), func(r *Equipment) { r.Status = "ASLEEP" })
	bites(t, seen, "equipment_latch_only_of_machines", machine(), func(r *Equipment) { r.Type = term.KindRobot })
	total := len(orderLaws) + len(jobLaws) + len(slotLaws) + len(taskLaws) + len(questionLaws) + len(alarmLaws) + len(equipmentLaws)
	require.Len(t, seen, total, "each law has a row")
}

func bites[R Row](t *testing.T, seen map[string]bool, law string, row R, wreck func(R)) {
	t.Helper()
	require.NoError(t, Lawful(row), law)
	wreck(row)
	require.Error(t, Lawful(row))
	require.Contains(t, brokenBy(row), law)
	seen[law] = true
}

// brokenBy names every law that a row breaks: the CHECKs of the schema say each by itself.
func brokenBy(r Row) (names []string) {
	switch r := r.(type) {
	case *Order:
		return brokenOf(orderLaws, r)
	case *Job:
		return brokenOf(jobLaws, r)
	case *Slot:
		return brokenOf(slotLaws, r)
	case *Task:
		return brokenOf(taskLaws, r)
	case *Question:
		return brokenOf(questionLaws, r)
	case *Alarm:
		return brokenOf(alarmLaws, r)
	}
	return brokenOf(equipmentLaws, r.(*Equipment))
}

func brokenOf[R any](laws []law[R], r *R) (names []string) {
	for _, l := range laws {
		if !l.ok(r) {
			names = append(names, l.name)
		}
	}
	return names
}

// An alarm by ISA-18.2: a word a line, and what the one row says after it.
func TestAnAlarmByISA182(t *testing.T) {
	type row struct {
		do      string
		state   term.AlarmState
		count   int64
		acked   string
		shelved bool
	}
	for _, c := range []struct {
		name  string
		lines []row
	}{
		{"seen, then over", []row{{"raise", term.AlarmUnacknowledged, 1, "", false}, {"ack", term.AlarmAcknowledged, 1, "kim", false}, {"clear", term.AlarmNormal, 1, "kim", false}}},
		{"over, then seen", []row{{"raise", term.AlarmUnacknowledged, 1, "", false}, {"clear", term.AlarmReturned, 1, "", false}, {"ack", term.AlarmNormal, 1, "kim", false}}},
		{"it comes again on the same row, until it was seen", []row{{"raise", term.AlarmUnacknowledged, 1, "", false}, {"raise", term.AlarmUnacknowledged, 1, "", false},
			{"clear", term.AlarmReturned, 1, "", false}, {"clear", term.AlarmReturned, 1, "", false}, {"raise", term.AlarmUnacknowledged, 2, "", false},
			{"clear", term.AlarmReturned, 2, "", false}, {"raise", term.AlarmUnacknowledged, 3, "", false}, {"ack", term.AlarmAcknowledged, 3, "kim", false},
			{"raise", term.AlarmAcknowledged, 3, "kim", false}}},
		{"shelved and back", []row{{"raise", term.AlarmUnacknowledged, 1, "", false}, {"shelve", term.AlarmUnacknowledged, 1, "", true}, {"clear", term.AlarmReturned, 1, "", true},
			{"raise", term.AlarmUnacknowledged, 2, "", true}, {"unshelve", term.AlarmUnacknowledged, 2, "", false}}},
		{"an end ends the shelving", []row{{"raise", term.AlarmUnacknowledged, 1, "", false}, {"ack", term.AlarmAcknowledged, 1, "kim", false},
			{"shelve", term.AlarmAcknowledged, 1, "kim", true}, {"clear", term.AlarmNormal, 1, "kim", false}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := workOn(t)
			tx := w.Tx()
			var id term.AlarmID
			for n, l := range c.lines {
				a, open := tx.State().AlarmOf(term.AlarmFault, "equipment:lathe")
				require.Equal(t, n > 0, open)
				switch l.do {
				case "raise":
					tx.RaiseAlarm(term.AlarmFault, "equipment:lathe", "fault 3")
				case "clear":
					tx.ResolveAlarm(term.AlarmFault, "equipment:lathe")
				case "ack":
					tx.AcknowledgeAlarm(a, "kim")
				case "shelve":
					tx.ShelveAlarm(a, six.Add(time.Hour), "kim", "known")
				case "unshelve":
					tx.UnshelveAlarm(a)
				}
				a = w.journal[len(w.journal)-1].After.(*Alarm)
				if n == 0 {
					id = a.ID
				}
				require.Equal(t, id, a.ID, "one row")
				require.Equal(t, l, row{l.do, a.State, a.Count, a.AckedBy, !a.ShelvedUntil.IsZero()}, "line %d", n)
			}
		})
	}
}

// What came first tells the cause: the first of several alarms is marked, and the next first one after calm.
func TestFirstOut(t *testing.T) {
	w := workOn(t)
	tx := w.Tx()
	first := func(subject string) bool {
		tx.RaiseAlarm(term.AlarmFault, subject, "x")
		a, _ := tx.State().AlarmOf(term.AlarmFault, subject)
		return a.FirstOut
	}
	require.True(t, first("equipment:lathe"))
	require.False(t, first("equipment:mill"))
	tx.ResolveAlarm(term.AlarmFault, "equipment:lathe")
	require.False(t, first("equipment:oven"), "the mill is still active")
	tx.ResolveAlarm(term.AlarmFault, "equipment:mill")
	tx.ResolveAlarm(term.AlarmFault, "equipment:oven")
	require.True(t, first("equipment:robot"), "the others are over")
}
