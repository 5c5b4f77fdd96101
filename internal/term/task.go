package term

// TaskKind names one physical action.
type TaskKind string

const (
	TaskMove         TaskKind = "MOVE"
	TaskScan         TaskKind = "SCAN"
	TaskMark         TaskKind = "MARK"
	TaskStartMachine TaskKind = "START_MACHINE"
)

func (TaskKind) Values() []string { return []string{"MOVE", "SCAN", "MARK", "START_MACHINE"} }

// UsesRobot tells whether the robot is busy while the task is open: a scanned part is in its gripper.
func (k TaskKind) UsesRobot() bool { return k != TaskStartMachine }

// TaskState of one physical action.
type TaskState string

const (
	// TaskPending: written, not yet handed out. It is started in the turn that writes it; a crash never shows it.
	TaskPending TaskState = "PENDING"
	// TaskRunning: handed out after its commit; from here on it may have happened. Its one result or its timeout
	// moves it on. A crash leaves it in doubt: the next start makes it UNKNOWN.
	TaskRunning TaskState = "RUNNING"
	// TaskUnknown: may have happened. Its own late result, evidence or a person moves it on. A crash changes nothing.
	TaskUnknown TaskState = "UNKNOWN"
	// TaskSucceeded (end): proven done.
	TaskSucceeded TaskState = "SUCCEEDED"
	// TaskFailed (end): surely not done as asked; part_at says where the part is.
	TaskFailed TaskState = "FAILED"
	// TaskCancelled (end): a person ended it and said where the part is.
	TaskCancelled TaskState = "CANCELLED"
)

func (TaskState) Values() []string {
	return []string{"PENDING", "RUNNING", "UNKNOWN", "SUCCEEDED", "FAILED", "CANCELLED"}
}

// Ended tells whether the state can never change again.
func (s TaskState) Ended() bool {
	return s == TaskSucceeded || s == TaskFailed || s == TaskCancelled
}

// PartAt is where a part is after an action, in terms of the action.
type PartAt string

const (
	PartUnknown PartAt = ""
	PartAtFrom  PartAt = "from"
	PartGripper PartAt = "gripper"
	PartAtTo    PartAt = "to"
)

func (PartAt) Values() []string { return []string{"from", "gripper", "to"} }

// Outcome of a physical action: done, surely not done, or unknown. Unknown is never failure and never
// permission to repeat.
type Outcome string

const (
	Done    Outcome = "done"
	NotDone Outcome = "not_done"
	Unknown Outcome = "unknown"
)

func (Outcome) Values() []string { return []string{"done", "not_done", "unknown"} }
