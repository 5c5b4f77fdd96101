package plant

import (
	"fmt"
	"slices"

	"surehand/internal/term"
)

var orderLaws = []law[Order]{
	{"order_end_has_time", func(r *Order) bool { return r.State.Ended() == !r.EndedAt.IsZero() }},
	{"order_end_counts_all", func(r *Order) bool { return r.State.Ended() == (r.Left() == 0) }},
	{"order_counts", func(r *Order) bool {
		return r.Planned >= 1 && r.Planned <= MaxParts && r.Completed >= 0 && r.Scrapped >= 0 && r.Cancelled >= 0 && r.Left() >= 0
	}},
	{"order_stopping_has_rule", func(r *Order) bool { return implies(r.State == term.OrderStopping, r.Inside != "") }},
}

var jobLaws = []law[Job]{
	{"job_end_is_out", func(r *Job) bool {
		return r.State.Ended() == !r.EndedAt.IsZero() &&
			implies(r.State.Ended(), !r.Position.Occupies() && r.TempSlotNo == 0) &&
			implies(r.Position.Type == term.Out, r.State.Ended())
	}},
	{"job_not_arrived_is_nowhere", func(r *Job) bool {
		return implies(r.State == term.NotArrived, r.Position.Type == term.Nowhere) &&
			implies(r.Position.Type == term.Nowhere, r.State == term.NotArrived || r.State.Ended())
	}},
	{"job_state_fits_place", func(r *Job) bool {
		switch r.State {
		case term.Queued:
			return r.Position.Type == term.OnDock
		case term.Waiting:
			return r.Position.Type == term.OnBuffer
		case term.Processing, term.WaitingUnload:
			return r.Position.Type == term.OnEquipment
		case term.WaitingJudgement:
			return oneOf(r.Position.Type, term.OnEquipment, term.OnBuffer)
		case term.Moving:
			return r.Position.Occupies()
		}
		return true
	}},
	{"job_on_robot_is_moving", func(r *Job) bool { return implies(r.Position.Type == term.OnRobot, r.State == term.Moving) }},
	{"job_presented_is_in_gripper", func(r *Job) bool { return implies(r.Presented != "", r.Position.Type == term.OnRobot) }},
	{"job_place_has_ref", func(r *Job) bool {
		return (r.Position.Type == term.Nowhere) == (r.Position.Ref == "")
	}},
	{"job_on_buffer_is_on_its_own_place", func(r *Job) bool {
		return r.TempSlotNo >= 0 && r.TempSlotNo <= MaxPlaces &&
			implies(r.Position.Type == term.OnBuffer, r.TempSlotNo > 0 && r.Position.Number() == r.TempSlotNo)
	}},
	{"job_disposition_fits_end", func(r *Job) bool {
		return implies(r.State == term.Completed, r.Disposition == term.DispositionNone) &&
			implies(r.State == term.Scrapped, r.Disposition == term.DispositionScrap) &&
			implies(r.State == term.JobCancelled, r.Disposition == term.DispositionCancel)
	}},
}

var slotLaws = []law[Slot]{
	{"slot_empty_has_no_job", func(r *Slot) bool { return (r.State == term.SlotEmpty) == (r.JobID == "") }},
	{"slot_times_fit", func(r *Slot) bool {
		return (r.State == term.SlotEmpty) == r.EnteredAt.IsZero() &&
			implies(r.State == term.SlotEmpty, r.StartedAt.IsZero()) &&
			implies(!r.DueAt.IsZero(), r.State == term.SlotOccupied)
	}},
}

var taskLaws = []law[Task]{
	{"task_end_has_time", func(r *Task) bool { return r.State.Ended() == !r.EndedAt.IsZero() }},
	{"task_start_has_no_job", func(r *Task) bool {
		return (r.Type == term.TaskStartMachine) == (r.JobID == "") && (r.JobID == "") == (r.OrderID == "")
	}},
	{"task_open_has_no_result", func(r *Task) bool { return implies(!r.State.Ended(), r.PartAt == "") }},
	{"task_running_has_timer", func(r *Task) bool { return (r.State == term.TaskRunning) == !r.DueAt.IsZero() }},
}

var questionLaws = []law[Question]{
	{"question_end_has_answer", func(r *Question) bool {
		open := r.State == term.QuestionOpen
		return open == r.EndedAt.IsZero() && open == (r.Answer == "") && open == (r.By == "")
	}},
	{"question_has_answers", func(r *Question) bool { return len(r.Answers) > 0 && len(r.Touches) > 0 }},
}

var alarmLaws = []law[Alarm]{
	{"alarm_normal_has_time", func(r *Alarm) bool { return (r.State == term.AlarmNormal) == !r.EndedAt.IsZero() }},
	{"alarm_acknowledged_has_actor", func(r *Alarm) bool {
		return implies(r.State == term.AlarmAcknowledged, r.AckedBy != "") && implies(r.State == term.AlarmUnacknowledged, r.AckedBy == "")
	}},
	{"alarm_shelved_has_reason", func(r *Alarm) bool {
		return r.ShelvedUntil.IsZero() == (r.ShelvedBy == "") && r.ShelvedUntil.IsZero() == (r.ShelveReason == "") &&
			implies(!r.ShelvedUntil.IsZero(), r.Type.Shelvable())
	}},
	{"alarm_counts", func(r *Alarm) bool { return r.Count >= 1 }},
}

var equipmentLaws = []law[Equipment]{
	{"equipment_latch_only_of_machines", func(r *Equipment) bool {
		return implies(r.Latch != term.LatchNone, r.Type == term.KindMachine)
	}},
}

// knownWords checks what the database's enum CHECKs say.
func knownWords(r Row) bool {
	known := func(values []string, v string) bool { return slices.Contains(values, v) }
	switch r := r.(type) {
	case *Order:
		return known(r.State.Values(), string(r.State))
	case *Job:
		return known(r.State.Values(), string(r.State)) && known(r.Position.Type.Values(), string(r.Position.Type)) &&
			known(r.Disposition.Values(), string(r.Disposition))
	case *Slot:
		return known(r.State.Values(), string(r.State))
	case *Task:
		return known(r.State.Values(), string(r.State)) && known(r.Type.Values(), string(r.Type))
	case *Question:
		return known(r.State.Values(), string(r.State)) && known(r.Finding.Values(), string(r.Finding))
	case *Alarm:
		return known(r.State.Values(), string(r.State)) && known(r.Type.Values(), string(r.Type))
	case *Equipment:
		return known(r.Type.Values(), string(r.Type)) && known(r.Status.Values(), string(r.Status)) && known(r.Latch.Values(), string(r.Latch))
	}
	return true
}

// lawfulInCell is Lawful for the rows of the production half.
func lawfulInCell(r Row) error {
	if !knownWords(r) {
		return fmt.Errorf("%s %s has a word that is none of its states: %+v", r.Kind(), r.Key(), r)
	}
	switch r := r.(type) {
	case *Order:
		return obey(orderLaws, r, r)
	case *Job:
		return obey(jobLaws, r, r)
	case *Slot:
		return obey(slotLaws, r, r)
	case *Task:
		return obey(taskLaws, r, r)
	case *Question:
		return obey(questionLaws, r, r)
	case *Alarm:
		return obey(alarmLaws, r, r)
	case *Equipment:
		return obey(equipmentLaws, r, r)
	}
	return nil
}
