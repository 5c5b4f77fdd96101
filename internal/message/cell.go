package message

import (
	"surehand/internal/plant"
	"surehand/internal/term"
)

// Commands of people about the cell.
type (
	// CreateOrder stores a work order as a draft. An empty ID is made from the time.
	CreateOrder struct {
		ID       term.OrderID `json:"id,omitempty"`
		Product  string       `json:"product,omitempty"`
		Route    term.RouteID `json:"route"`
		Quantity int          `json:"quantity"`           // 1 to plant.MaxParts
		Priority int          `json:"priority,omitempty"` // -100 to 100; higher goes first
	}
	// StartOrder lets a draft be worked on.
	StartOrder struct {
		Order term.OrderID `json:"order"`
	}
	// PauseOrder lets no new action of an order begin; a part in the gripper is put down first.
	PauseOrder struct {
		Order  term.OrderID `json:"order"`
		Reason string       `json:"reason,omitempty"`
	}
	// ResumeOrder ends a pause.
	ResumeOrder struct {
		Order  term.OrderID `json:"order"`
		Reason string       `json:"reason,omitempty"`
	}
	// CancelOrder ends an order: parts that are not in the cell at once, parts inside by the rule (default retire).
	CancelOrder struct {
		Order  term.OrderID    `json:"order"`
		Inside term.InsideRule `json:"inside,omitempty"`
		Reason string          `json:"reason,omitempty"`
	}
	// SuspendJob lets no new action of one part begin; in the gripper it is put down first.
	SuspendJob struct {
		Job    term.JobID `json:"job"`
		Reason string     `json:"reason,omitempty"`
	}
	// ResumeJob ends a suspension.
	ResumeJob struct {
		Job    term.JobID `json:"job"`
		Reason string     `json:"reason,omitempty"`
	}
	// ReworkJob sends a part back to a step of its route, from 1.
	ReworkJob struct {
		Job    term.JobID `json:"job"`
		Step   int        `json:"step"`
		Reason string     `json:"reason"`
	}
	// ScrapJob lets a part be carried out as not good.
	ScrapJob struct {
		Job    term.JobID `json:"job"`
		Reason string     `json:"reason"`
	}
	// ReportPart: a person says where a part is now, or that it was taken out. It opens a question that shows what
	// this would change.
	ReportPart struct {
		Job    term.JobID `json:"job"`
		Place  term.Place `json:"place"` // OUT: removed
		Reason string     `json:"reason"`
	}
	// PauseCell lets no new action begin.
	PauseCell struct {
		Reason string `json:"reason,omitempty"`
	}
	// ReleaseCell ends a pause of the cell.
	ReleaseCell struct {
		Reason string `json:"reason,omitempty"`
	}
	// ConfirmRecovery brings the cell back into scheduling after a restart. Refused while a finding is open.
	ConfirmRecovery struct {
		// Release lets the cell go on at once. Default true; false: it stays paused until ReleaseCell.
		Release *bool  `json:"release,omitempty"`
		Reason  string `json:"reason,omitempty"`
	}
	// CompareCell compares record and machines now, on request.
	CompareCell struct{}
	// ResolveManualAction answers a question. Version and Hash are those that the person saw.
	ResolveManualAction struct {
		Question term.QuestionID `json:"question"`
		Version  int64           `json:"version"`
		Hash     string          `json:"hash"`
		Answer   string          `json:"answer"`
		Reason   string          `json:"reason"`
	}
	// AckAlarm: seen.
	AckAlarm struct {
		Alarm term.AlarmID `json:"alarm"`
	}
	// ShelveAlarm puts an alarm aside for a time, 1 min to 24 h; 0 brings it back.
	ShelveAlarm struct {
		Alarm  term.AlarmID  `json:"alarm"`
		For    term.Duration `json:"for"`
		Reason string        `json:"reason"`
	}
	// EnableEquipment ends "run without it".
	EnableEquipment struct {
		Equipment term.EquipmentID `json:"equipment"`
		Reason    string           `json:"reason"`
	}
	// DisableEquipment lets the cell run without it.
	DisableEquipment struct {
		Equipment term.EquipmentID `json:"equipment"`
		Reason    string           `json:"reason"`
	}
	// PalletArrived: parts 1 to Quantity of a pallet stand at the dock, for the next parts of the order.
	PalletArrived struct {
		Pallet   term.PalletID `json:"pallet"`
		Order    term.OrderID  `json:"order"`
		Quantity int           `json:"quantity"`
	}
	// PalletLeft: the pallet is gone. Refused while an open part stands on it.
	PalletLeft struct {
		Pallet term.PalletID `json:"pallet"`
	}
	// RefillRequested lets parts be brought from the dock now, however few places are free.
	RefillRequested struct{}
	// ImportPlant is the production half's configuration, applied as a whole or not at all.
	ImportPlant struct {
		Cell      ImportCell        `json:"cell"`
		Equipment []ImportEquipment `json:"equipment"`
		Routes    []ImportRoute     `json:"routes"`
		File      string            `json:"file"` // as it came, kept with the revision
	}
	ImportCell struct {
		Name   string          `json:"name"`
		Config term.CellConfig `json:"config"`
		Line   int             `json:"line,omitempty"`
	}
	ImportEquipment struct {
		ID     term.EquipmentID     `json:"id"`
		Name   string               `json:"name,omitempty"`
		Kind   term.EquipmentKind   `json:"kind"`
		Config term.EquipmentConfig `json:"config"`
		Line   int                  `json:"line,omitempty"`
	}
	ImportRoute struct {
		ID    term.RouteID `json:"id"`
		Name  string       `json:"name,omitempty"`
		Steps []ImportStep `json:"steps"`
		Line  int          `json:"line,omitempty"`
	}
	ImportStep struct {
		term.Step
		Line int `json:"line,omitempty"`
	}
)

// Events of the machines and of time.
type (
	// EquipmentStatusChanged is one poll of an equipment: posted at every change of its predicates and about once a
	// second. Epoch is the process life whose watcher read it.
	EquipmentStatusChanged struct {
		Equipment term.EquipmentID `json:"equipment"`
		Epoch     int64            `json:"epoch"`
		Reading   term.Reading     `json:"reading"`
	}
	// MachineDone: a machine says that a cycle has ended. SlotNo missing (0) or 1 with several slots: the earliest
	// occupied one (C-13). Job is what the machine believes to be in the slot, where it knows.
	MachineDone struct {
		Machine term.EquipmentID `json:"machine"`
		SlotNo  int              `json:"slotNo,omitempty"`
		// Exact: the machine names its slots itself, so that 1 means slot 1 and not "not said".
		Exact   bool       `json:"exact,omitempty"`
		Job     term.JobID `json:"job,omitempty"`
		Pass    string     `json:"pass,omitempty"` // pass, fail; empty: not said
		Cycle   uint32     `json:"cycle,omitempty"`
		Counted bool       `json:"counted,omitempty"` // Cycle is the machine's own counter
	}
	// InspectionResult: of a part in an inspection machine.
	InspectionResult struct {
		Machine term.EquipmentID `json:"machine"`
		SlotNo  int              `json:"slotNo,omitempty"`
		Job     term.JobID       `json:"job,omitempty"`
		Pass    bool             `json:"pass"`
		Data    string           `json:"data,omitempty"`
	}
	// StepTimeout: an action, or a step in a slot, has not ended in its time.
	StepTimeout struct {
		Due plant.Due `json:"due"`
	}
	// ScheduleTick: the scheduler looks, in the batch of the message that changed the cell.
	ScheduleTick struct{}
)

// ActionEnded is a worker's one answer to an action of the cell; a late one may follow an unknown outcome. Its type
// is one of RobotActionSucceeded, RobotActionFailed, ToolActionSucceeded, ToolActionFailed, MachineStartSucceeded
// and MachineStartFailed (C-5); Outcome tells "surely not" from "unknown" among the failed.
type ActionEnded struct {
	Task    term.TaskID   `json:"task"`
	Kind    term.TaskKind `json:"kind"`
	Attempt int           `json:"attempt"`
	Epoch   int64         `json:"epoch"`
	Outcome term.Outcome  `json:"outcome"`
	PartAt  term.PartAt   `json:"partAt,omitempty"`
	Code    string        `json:"code,omitempty"` // read by a scanner
	Error   string        `json:"error,omitempty"`
	Late    bool          `json:"late,omitempty"` // follows an unknown outcome
	// Unsent: not_done because nothing was even tried (too late, no link): it may be planned anew without asking.
	Unsent bool `json:"unsent,omitempty"`
}

// DoneAcknowledged: a machine was told that its done is stored.
type DoneAcknowledged struct {
	Machine term.EquipmentID `json:"machine"`
}

func (CreateOrder) Type() string            { return "CreateOrder" }
func (StartOrder) Type() string             { return "StartOrder" }
func (PauseOrder) Type() string             { return "PauseOrder" }
func (ResumeOrder) Type() string            { return "ResumeOrder" }
func (CancelOrder) Type() string            { return "CancelOrder" }
func (SuspendJob) Type() string             { return "SuspendJob" }
func (ResumeJob) Type() string              { return "ResumeJob" }
func (ReworkJob) Type() string              { return "ReworkJob" }
func (ScrapJob) Type() string               { return "ScrapJob" }
func (ReportPart) Type() string             { return "ReportPart" }
func (PauseCell) Type() string              { return "PauseCell" }
func (ReleaseCell) Type() string            { return "ReleaseCell" }
func (ConfirmRecovery) Type() string        { return "ConfirmRecovery" }
func (CompareCell) Type() string            { return "CompareCell" }
func (ResolveManualAction) Type() string    { return "ResolveManualAction" }
func (AckAlarm) Type() string               { return "AckAlarm" }
func (ShelveAlarm) Type() string            { return "ShelveAlarm" }
func (EnableEquipment) Type() string        { return "EnableEquipment" }
func (DisableEquipment) Type() string       { return "DisableEquipment" }
func (PalletArrived) Type() string          { return "PalletArrived" }
func (PalletLeft) Type() string             { return "PalletLeft" }
func (RefillRequested) Type() string        { return "RefillRequested" }
func (ImportPlant) Type() string            { return "ImportPlant" }
func (EquipmentStatusChanged) Type() string { return "EquipmentStatusChanged" }
func (MachineDone) Type() string            { return "MachineDone" }
func (InspectionResult) Type() string       { return "InspectionResult" }
func (StepTimeout) Type() string            { return "StepTimeout" }
func (ScheduleTick) Type() string           { return "ScheduleTick" }
func (DoneAcknowledged) Type() string       { return "DoneAcknowledged" }

func (a ActionEnded) Type() string {
	who := "RobotAction"
	switch a.Kind {
	case term.TaskScan, term.TaskMark:
		who = "ToolAction"
	case term.TaskStartMachine:
		who = "MachineStart"
	}
	if a.Outcome == term.Done {
		return who + "Succeeded"
	}
	return who + "Failed"
}

func (CreateOrder) payload()            {}
func (StartOrder) payload()             {}
func (PauseOrder) payload()             {}
func (ResumeOrder) payload()            {}
func (CancelOrder) payload()            {}
func (SuspendJob) payload()             {}
func (ResumeJob) payload()              {}
func (ReworkJob) payload()              {}
func (ScrapJob) payload()               {}
func (ReportPart) payload()             {}
func (PauseCell) payload()              {}
func (ReleaseCell) payload()            {}
func (ConfirmRecovery) payload()        {}
func (CompareCell) payload()            {}
func (ResolveManualAction) payload()    {}
func (AckAlarm) payload()               {}
func (ShelveAlarm) payload()            {}
func (EnableEquipment) payload()        {}
func (DisableEquipment) payload()       {}
func (PalletArrived) payload()          {}
func (PalletLeft) payload()             {}
func (RefillRequested) payload()        {}
func (ImportPlant) payload()            {}
func (EquipmentStatusChanged) payload() {}
func (MachineDone) payload()            {}
func (InspectionResult) payload()       {}
func (StepTimeout) payload()            {}
func (ScheduleTick) payload()           {}
func (ActionEnded) payload()            {}
func (DoneAcknowledged) payload()       {}
