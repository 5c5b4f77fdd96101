package api

import (
	"time"

	"surehand/internal/plant"
	"surehand/internal/term"
)

// Types of the production half, in the words of the customer.
type (
	Order struct {
		ID            term.OrderID    `json:"id"`
		Version       int64           `json:"version"`
		Product       string          `json:"product,omitempty"`
		RouteID       term.RouteID    `json:"routeId"`
		RouteRevision int64           `json:"routeRevision"`
		Steps         []term.Step     `json:"steps"` // as they were when the order was created
		Priority      int             `json:"priority"`
		State         term.OrderState `json:"state"`
		// Inside says what becomes of the parts in the cell; set by the cancel.
		Inside    term.InsideRule `json:"inside,omitempty"`
		Planned   int             `json:"planned"`
		Completed int             `json:"completed"`
		Scrapped  int             `json:"scrapped"`
		Cancelled int             `json:"cancelled"`
		Left      int             `json:"left"`  // parts that have not ended
		Holds     []Hold          `json:"holds"` // why it does not run, beside the state
		// ManualActions are the open ones that stop it.
		ManualActions []term.QuestionID `json:"manualActions"`
		Actor         string            `json:"actor,omitempty"`
		CreatedAt     time.Time         `json:"createdAt"`
		StartedAt     time.Time         `json:"startedAt,omitzero"`
		EndedAt       time.Time         `json:"endedAt,omitzero"`
	}

	// Job is one part. State is what is stored; ShownState is SUSPENDED or ERROR instead while something stops it.
	Job struct {
		ID            term.JobID        `json:"id"`
		Version       int64             `json:"version"`
		OrderID       term.OrderID      `json:"orderId"`
		Number        int               `json:"number"`
		State         term.JobState     `json:"state"`
		ShownState    string            `json:"shownState"`
		PositionType  term.PositionType `json:"positionType"`
		PositionRefID string            `json:"positionRefId,omitempty"`
		TempSlotNo    int               `json:"tempSlotNo,omitempty"` // its own buffer place, from 1
		StepIndex     int               `json:"stepIndex"`            // of the next step, from 0
		Disposition   term.Disposition  `json:"disposition"`
		// PresentedTo is the tool at which the robot holds it.
		PresentedTo   term.EquipmentID  `json:"presentedTo,omitempty"`
		Context       term.JobContext   `json:"context"`
		Holds         []Hold            `json:"holds"`         // of the part and of its order
		ManualActions []term.QuestionID `json:"manualActions"` // the open ones that touch it
		EnteredAt     time.Time         `json:"enteredAt,omitzero"`
		EndedAt       time.Time         `json:"endedAt,omitzero"`
	}

	// Timeline is what happened to one thing, in order.
	Timeline struct {
		Items []TimelineItem `json:"items"`
	}

	Task struct {
		ID          term.TaskID      `json:"id"`
		Version     int64            `json:"version"`
		Type        term.TaskKind    `json:"type"`
		JobID       term.JobID       `json:"jobId,omitempty"`
		OrderID     term.OrderID     `json:"orderId,omitempty"`
		EquipmentID term.EquipmentID `json:"equipmentId"`
		From        *term.Place      `json:"from,omitempty"`
		To          *term.Place      `json:"to,omitempty"`
		Slot        int              `json:"slot,omitempty"`  // of a start: from 1; left out: all
		Slots       []int            `json:"slots,omitempty"` // of a start: those that it starts
		Program     int              `json:"program,omitempty"`
		State       term.TaskState   `json:"state"`
		ActionNo    uint32           `json:"actionNo"`
		Attempt     int              `json:"attempt"`
		Epoch       int64            `json:"epoch"`
		PartAt      term.PartAt      `json:"partAt,omitempty"`
		Error       string           `json:"error,omitempty"`
		Plan        *term.Plan       `json:"plan,omitempty"` // why it was chosen
		DueAt       time.Time        `json:"dueAt,omitzero"`
		CreatedAt   time.Time        `json:"createdAt"`
		EndedAt     time.Time        `json:"endedAt,omitzero"`
	}

	Equipment struct {
		ID            term.EquipmentID     `json:"id"`
		Version       int64                `json:"version"`
		Name          string               `json:"name"`
		Kind          term.EquipmentKind   `json:"kind"`
		Status        term.EquipmentStatus `json:"status"`
		DoneLatch     term.DoneLatch       `json:"doneLatch"`
		Cycle         *uint32              `json:"cycle,omitempty"` // of the last done, where the machine counts
		Config        term.EquipmentConfig `json:"config"`          // as it applies, defaults included
		Slots         []Slot               `json:"slots"`
		Holds         []Hold               `json:"holds"`
		ManualActions []term.QuestionID    `json:"manualActions"`
	}
	Slot struct {
		ID           term.SlotID    `json:"id"`
		Version      int64          `json:"version"`
		Number       int            `json:"number"`
		State        term.SlotState `json:"state"`
		CurrentJobID term.JobID     `json:"currentJobId,omitempty"`
		EnteredAt    time.Time      `json:"enteredAt,omitzero"`
		StartedAt    time.Time      `json:"startedAt,omitzero"` // the machine confirmed it; left out: not started
		DueAt        time.Time      `json:"dueAt,omitzero"`
	}

	// Cell is everything that a screen of the cell shows.
	Cell struct {
		Name     string          `json:"name"`
		Version  int64           `json:"version"`
		Revision int64           `json:"revision"` // of the plant file
		Config   term.CellConfig `json:"config"`
		// WaitingFor says why nothing moves; left out while something does. Plan explains it.
		WaitingFor    string      `json:"waitingFor,omitempty"`
		Plan          *term.Plan  `json:"plan,omitempty"`
		RefillAsked   bool        `json:"refillAsked,omitempty"`
		LastActionNo  uint32      `json:"lastActionNo"`
		DueAt         time.Time   `json:"dueAt,omitzero"`
		Holds         []Hold      `json:"holds"` // of the cell itself: recovery, paused, parked
		RobotTask     *Task       `json:"robotTask,omitempty"`
		Starts        []Task      `json:"starts"`            // of machines, under way
		Gripper       *Job        `json:"gripper,omitempty"` // the part in it
		Equipment     []Equipment `json:"equipment"`
		Buffer        []CellPlace `json:"buffer"`
		Dock          []CellPlace `json:"dock"`
		Pallets       []Pallet    `json:"pallets"`       // at the dock
		ManualActions int         `json:"manualActions"` // open ones
		Alarms        int         `json:"alarms"`        // that are not normal
		UnseenAlarms  int         `json:"unseenAlarms"`  // of these, not acknowledged
	}
	// CellPlace is one place of the dock or the buffer with the parts that it belongs to: one, but for what a recovery
	// finds.
	CellPlace struct {
		Number     int   `json:"number"`     // from 1
		WireNumber int   `json:"wireNumber"` // as robot and machines name it
		Taken      bool  `json:"taken"`      // a part stands on it, or it is kept for one
		Jobs       []Job `json:"jobs"`       // of the buffer: also those that are elsewhere and come back
	}
	Pallet struct {
		ID        term.PalletID `json:"id"`
		Version   int64         `json:"version"`
		OrderID   term.OrderID  `json:"orderId"`
		Places    int           `json:"places"`
		ArrivedAt time.Time     `json:"arrivedAt"`
		LeftAt    time.Time     `json:"leftAt,omitzero"`
	}

	// ManualAction is a question that only a person can answer. An answer names Version and Hash as they were shown.
	ManualAction struct {
		ID        term.QuestionID      `json:"id"`
		Version   int64                `json:"version"`
		Hash      string               `json:"hash"`
		State     term.QuestionState   `json:"state"`
		Kind      term.Finding         `json:"kind"`
		Subject   string               `json:"subject"`
		Touches   []string             `json:"touches"` // what is held while it is open
		Record    string               `json:"record"`  // what the database says
		Machine   string               `json:"machine"` // what the machines say
		Readings  []plant.BoundReading `json:"readings"`
		Answers   []term.Answer        `json:"answers"`
		Suggested string               `json:"suggested,omitempty"`
		TaskID    term.TaskID          `json:"taskId,omitempty"`
		JobID     term.JobID           `json:"jobId,omitempty"`
		Place     *term.Place          `json:"place,omitempty"` // of a report: where the person says that the part is
		OpenedAt  time.Time            `json:"openedAt"`
		// BlocksRecovery: while it is open, a recovery cannot be confirmed.
		BlocksRecovery bool      `json:"blocksRecovery,omitempty"`
		Answer         string    `json:"answer,omitempty"`
		By             string    `json:"by,omitempty"`
		Reason         string    `json:"reason,omitempty"`
		EndedAt        time.Time `json:"endedAt,omitzero"`
	}

	// Recovery tells whether the cell waits for a person after a restart, and for what.
	Recovery struct {
		// Held: nothing moves until it is confirmed.
		Held  bool   `json:"held"`
		Holds []Hold `json:"holds"` // of the cell and of equipment that is compared
		// Confirmable: it is held and no question blocks it. That everything has been read since the start is known to the
		// running process only: for some seconds after a start, or while a machine does not stand still, a confirmation may
		// still be refused as "comparing", and a question may still come.
		Confirmable bool `json:"confirmable"`
		// Blocking is how many open questions have to be answered before it can be confirmed; each has blocksRecovery.
		Blocking int `json:"blocking"`
		// Findings are all open questions, those that block first, each kind newest first.
		Findings  []ManualAction `json:"findings"`
		Truncated bool           `json:"truncated,omitempty"` // GET /manual-actions has them all
	}

	Alarm struct {
		ID           term.AlarmID    `json:"id"`
		Version      int64           `json:"version"`
		Kind         term.AlarmKind  `json:"kind"`
		Subject      string          `json:"subject"`
		State        term.AlarmState `json:"state"`
		Active       bool            `json:"active"` // the cause is there now
		Text         string          `json:"text"`
		Count        int64           `json:"count"`    // activations of this row
		FirstOut     bool            `json:"firstOut"` // nothing else was active when it came
		Shelvable    bool            `json:"shelvable"`
		ShelvedUntil time.Time       `json:"shelvedUntil,omitzero"`
		ShelvedBy    string          `json:"shelvedBy,omitempty"`
		ShelveReason string          `json:"shelveReason,omitempty"`
		RaisedAt     time.Time       `json:"raisedAt"`
		ClearedAt    time.Time       `json:"clearedAt,omitzero"`
		AckedBy      string          `json:"ackedBy,omitempty"`
		AckedAt      time.Time       `json:"ackedAt,omitzero"`
		EndedAt      time.Time       `json:"endedAt,omitzero"`
	}

	Route struct {
		ID       term.RouteID `json:"id"`
		Version  int64        `json:"version"`
		Revision int64        `json:"revision"`
		Name     string       `json:"name"`
		Steps    []term.Step  `json:"steps"`
	}
	// Plant is the plant file as it was imported.
	Plant struct {
		Name     string `json:"name"`
		Revision int64  `json:"revision"`
		File     string `json:"file"`
	}
	// PlantCheck is the answer to a plant file that was only looked at. What concerns the whole is checked when it is
	// imported.
	PlantCheck struct {
		Name      string `json:"name"`
		Equipment int    `json:"equipment"`
		Routes    int    `json:"routes"`
	}
)
