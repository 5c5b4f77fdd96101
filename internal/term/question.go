package term

// AlarmState by ISA-18.2.
type AlarmState string

const (
	// AlarmUnacknowledged: its cause is there, and nobody has seen it. A person acknowledges it, or its cause goes away.
	// A crash leaves it as it is.
	AlarmUnacknowledged AlarmState = "unacknowledged"
	// AlarmAcknowledged: its cause is there, and a person has seen it. It ends when its cause goes away. A crash leaves
	// it as it is.
	AlarmAcknowledged AlarmState = "acknowledged"
	// AlarmReturned: its cause is over, and nobody has seen it. A person acknowledges it, or the cause comes again. A
	// crash leaves it as it is.
	AlarmReturned AlarmState = "returned_unacknowledged"
	// AlarmNormal (end): over and seen.
	AlarmNormal AlarmState = "normal"
)

func (AlarmState) Values() []string {
	return []string{"unacknowledged", "acknowledged", "returned_unacknowledged", "normal"}
}

// Active tells whether the cause is there now.
func (s AlarmState) Active() bool { return s == AlarmUnacknowledged || s == AlarmAcknowledged }

// AlarmKind says what an alarm is about.
type AlarmKind string

const (
	AlarmOffline      AlarmKind = "equipment_offline"
	AlarmFault        AlarmKind = "equipment_fault"
	AlarmOverdue      AlarmKind = "step_overdue"
	AlarmTaskFailed   AlarmKind = "action_failed"
	AlarmTaskUnknown  AlarmKind = "action_unknown"
	AlarmJobMismatch  AlarmKind = "job_mismatch"
	AlarmUnexpected   AlarmKind = "unexpected_signal"
	AlarmPartLost     AlarmKind = "part_in_doubt"
	AlarmRecovery     AlarmKind = "recovery"
	AlarmUndecidable  AlarmKind = "message_parked"
	AlarmLateEvidence AlarmKind = "late_success"
)

func (AlarmKind) Values() []string {
	return []string{"equipment_offline", "equipment_fault", "step_overdue", "action_failed", "action_unknown", "job_mismatch",
		"unexpected_signal", "part_in_doubt", "recovery", "message_parked", "late_success"}
}

// Shelvable tells whether a person may put the alarm aside for a time: never where a part may be lost.
func (k AlarmKind) Shelvable() bool {
	return k == AlarmOffline || k == AlarmFault || k == AlarmOverdue || k == AlarmTaskFailed || k == AlarmUnexpected
}

// QuestionState of a manual action.
type QuestionState string

const (
	QuestionOpen     QuestionState = "OPEN"
	QuestionResolved QuestionState = "RESOLVED"
)

func (QuestionState) Values() []string { return []string{"OPEN", "RESOLVED"} }

// Finding is the kind of difference, or of doubt, that a question is about.
type Finding string

const (
	FindJobSlot       Finding = "job_slot_mismatch"   // a job on an equipment whose slot says otherwise
	FindSlotJob       Finding = "slot_without_job"    // a slot with a job that is elsewhere
	FindSharedPlace   Finding = "shared_buffer_place" // several parts on one buffer place
	FindPlaceRange    Finding = "buffer_place_range"  // a buffer place that does not exist
	FindTwoPlaces     Finding = "job_in_two_places"
	FindCounters      Finding = "counters_wrong"
	FindNotRunning    Finding = "machine_not_running" // the record says processing, the machine does not
	FindPartMissing   Finding = "part_missing"        // the record says a part, the machine has none
	FindPartForeign   Finding = "part_unknown"        // the machine has a part, the record none
	FindGripper       Finding = "gripper_part_unknown"
	FindGripperEmpty  Finding = "gripper_empty" // the record says a part in the gripper, the robot has none
	FindTaskUnknown   Finding = "action_unknown"
	FindEchoUnknown   Finding = "echo_unknown" // a machine or robot knows a number that the record does not
	FindUnreachable   Finding = "unreachable"
	FindFault         Finding = "equipment_fault"
	FindFlapping      Finding = "signal_flapping"
	FindActionFailed  Finding = "action_failed"
	FindJobMismatch   Finding = "done_for_other_job"
	FindUnexpected    Finding = "done_not_expected"
	FindOverdue       Finding = "step_overdue"
	FindJudgement     Finding = "judgement"
	FindReportedPart  Finding = "part_reported" // a person says where a part is
	FindLateSuccess   Finding = "late_success"  // a success after the answer "not done"
	FindParkedMessage Finding = "message_parked"
)

func (Finding) Values() []string {
	return []string{"job_slot_mismatch", "slot_without_job", "shared_buffer_place", "buffer_place_range", "job_in_two_places", "counters_wrong",
		"machine_not_running", "part_missing", "part_unknown", "gripper_part_unknown", "gripper_empty", "action_unknown", "echo_unknown",
		"unreachable", "equipment_fault", "signal_flapping", "action_failed", "done_for_other_job", "done_not_expected", "step_overdue",
		"judgement", "part_reported", "late_success", "message_parked"}
}

// BlocksRecovery tells whether a recovery is not over while a question about this is open: where parts are, and what
// the machines do, has to be known before anything moves.
func (f Finding) BlocksRecovery() bool {
	switch f {
	case FindJobSlot, FindSlotJob, FindSharedPlace, FindPlaceRange, FindTwoPlaces, FindCounters, FindNotRunning, FindPartMissing,
		FindPartForeign, FindGripper, FindGripperEmpty, FindEchoUnknown, FindUnreachable, FindFault, FindFlapping, // a comparison's own
		FindTaskUnknown, FindLateSuccess, FindUnexpected, FindJobMismatch:
		return true
	}
	return false
}

// Answer is one word that a person may give to a question, with what it does.
type Answer struct {
	Word   string `json:"word"`
	Effect string `json:"effect"` // for people, shown before they confirm
}
