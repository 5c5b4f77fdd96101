package plant

import (
	"slices"

	"surehand/internal/term"
)

var orderLaws = []law[Order]{
	{"order_words_known", func(r *Order) bool { return known(r.State) && knownOrNone(r.Inside) }},
	{"order_end_has_time", func(r *Order) bool { return r.State.Ended() == !r.EndedAt.IsZero() }},
	{"order_end_counts_all", func(r *Order) bool { return r.State.Ended() == (r.Left() == 0) }},
	{"order_counts", func(r *Order) bool {
		return r.Planned >= 1 && r.Planned <= MaxParts && r.Completed >= 0 && r.Scrapped >= 0 && r.Cancelled >= 0 && r.Left() >= 0
	}},
	{"order_stopping_has_rule", func(r *Order) bool { return implies(r.State == term.OrderStopping, r.Inside != "") }},
}

var jobLaws = []law[Job]{
	{"job_words_known", func(r *Job) bool { return known(r.State) && known(r.Position.Type) && known(r.Disposition) }},
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
			implies(r.Position.Type == term.OnBuffer, r.TempSlotNo > 0 && r.Position == term.BufferPlace(r.TempSlotNo))
	}},
	{"job_disposition_fits_end", func(r *Job) bool {
		return implies(r.State == term.Completed, r.Disposition == term.DispositionNone) &&
			implies(r.State == term.Scrapped, r.Disposition == term.DispositionScrap) &&
			implies(r.State == term.JobCancelled, r.Disposition == term.DispositionCancel)
	}},
}

var slotLaws = []law[Slot]{
	{"slot_words_known", func(r *Slot) bool { return known(r.State) }},
	{"slot_empty_has_no_job", func(r *Slot) bool { return (r.State == term.SlotEmpty) == (r.JobID == "") }},
	{"slot_times_fit", func(r *Slot) bool {
		return (r.State == term.SlotEmpty) == r.EnteredAt.IsZero() &&
			implies(r.State == term.SlotEmpty, r.StartedAt.IsZero()) &&
			implies(!r.DueAt.IsZero(), r.State == term.SlotOccupied)
	}},
}

var taskLaws = []law[Task]{
	{"task_words_known", func(r *Task) bool {
		return known(r.Type) && known(r.State) && knownOrNone(r.PartAt) && knownOrNone(r.From.Type) && knownOrNone(r.To.Type)
	}},
	{"task_end_has_time", func(r *Task) bool { return r.State.Ended() == !r.EndedAt.IsZero() }},
	{"task_start_has_no_job", func(r *Task) bool {
		return (r.Type == term.TaskStartMachine) == (r.JobID == "") && (r.JobID == "") == (r.OrderID == "")
	}},
	{"task_open_has_no_result", func(r *Task) bool { return implies(!r.State.Ended(), r.PartAt == "") }},
	{"task_running_has_timer", func(r *Task) bool { return (r.State == term.TaskRunning) == !r.DueAt.IsZero() }},
}

var questionLaws = []law[Question]{
	{"question_words_known", func(r *Question) bool { return known(r.State) && known(r.Finding) }},
	{"question_end_has_answer", func(r *Question) bool {
		open := r.State == term.QuestionOpen
		return open == r.EndedAt.IsZero() && open == (r.Answer == "") && open == (r.By == "")
	}},
	{"question_has_answers", func(r *Question) bool { return len(r.Answers) > 0 && len(r.Touches) > 0 }},
}

var alarmLaws = []law[Alarm]{
	{"alarm_words_known", func(r *Alarm) bool { return known(r.State) && known(r.Type) }},
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
	{"equipment_words_known", func(r *Equipment) bool { return known(r.Type) && known(r.Status) && known(r.Latch) }},
	{"equipment_latch_only_of_machines", func(r *Equipment) bool {
		return implies(r.Latch != term.LatchNone, r.Type == term.KindMachine)
	}},
}

// known tells whether a word is one of its type's; what the CHECKs on words say.
func known[W interface {
	~string
	Values() []string
}](word W) bool {
	return slices.Contains(word.Values(), string(word))
}

func knownOrNone[W interface {
	~string
	Values() []string
}](word W) bool {
	return word == "" || known(word)
}

// lawfulInCell is Lawful for the rows of the production half.
func lawfulInCell(r Row) error {
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
