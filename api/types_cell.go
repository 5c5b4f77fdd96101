package api

import (
	"time"

	"surehand/internal/plant"
	"surehand/internal/term"
)

// Types of the production half, in the words of the customer.
type (
	// Order is a work order.
	Order struct {
		ID            term.OrderID    `json:"id"`
		Version       int64           `json:"version"`
		Product       string          `json:"product,omitempty"` // for people
		RouteID       term.RouteID    `json:"routeId"`
		RouteRevision int64           `json:"routeRevision"` // of the route when the order was created
		Steps         []term.Step     `json:"steps"`         // as they were when the order was created
		Priority      int             `json:"priority"`      // -100 to 100, higher goes first
		State         term.OrderState `json:"state"`
		// Inside says what becomes of the parts in the cell; set by the cancel.
		Inside    term.InsideRule `json:"inside,omitempty"`
		Planned   int             `json:"planned"`   // parts to make
		Completed int             `json:"completed"` // parts that went their whole route
		Scrapped  int             `json:"scrapped"`  // parts that are not good
		Cancelled int             `json:"cancelled"` // parts that were ended or never came
		Left      int             `json:"left"`      // parts that have not ended
		Holds     []Hold          `json:"holds"`     // why it does not run, beside the state
		// ManualActions are the open ones that stop it.
		ManualActions []term.QuestionID `json:"manualActions"`
		Actor         string            `json:"actor,omitempty"` // who created it
		CreatedAt     time.Time         `json:"createdAt"`
		StartedAt     time.Time         `json:"startedAt,omitzero"` // its first action was given out
		EndedAt       time.Time         `json:"endedAt,omitzero"`   // its last part ended
	}

	// Job is one part of an order.
	Job struct {
		ID            term.JobID        `json:"id"`
		Version       int64             `json:"version"`
		OrderID       term.OrderID      `json:"orderId"`
		Number        int               `json:"number"`     // within the order, from 1
		State         term.JobState     `json:"state"`      // what is stored
		ShownState    string            `json:"shownState"` // state, or SUSPENDED or ERROR while something stops it
		PositionType  term.PositionType `json:"positionType"`
		PositionRefID string            `json:"positionRefId,omitempty"` // the place: a number from 1, a slot as equipment:n, or of OUT how it left
		TempSlotNo    int               `json:"tempSlotNo,omitempty"`    // its own buffer place, from 1
		StepIndex     int               `json:"stepIndex"`               // of the next step, from 0
		Disposition   term.Disposition  `json:"disposition"`             // whether it leaves other than good
		// PresentedTo is the tool at which the robot holds it.
		PresentedTo   term.EquipmentID  `json:"presentedTo,omitempty"`
		Context       term.JobContext   `json:"context"`            // what is known of it beside its place
		Holds         []Hold            `json:"holds"`              // of the part and of its order
		ManualActions []term.QuestionID `json:"manualActions"`      // the open ones that touch it
		EnteredAt     time.Time         `json:"enteredAt,omitzero"` // at this position
		EndedAt       time.Time         `json:"endedAt,omitzero"`   // out of the cell
	}

	// Timeline is what happened to one thing, in order.
	Timeline struct {
		Items []TimelineItem `json:"items"`
	}

	// Task is one physical action: stored before anything is started.
	Task struct {
		ID          term.TaskID      `json:"id"`
		Version     int64            `json:"version"`
		Type        term.TaskKind    `json:"type"`
		JobID       term.JobID       `json:"jobId,omitempty"`   // left out of the start of a machine
		OrderID     term.OrderID     `json:"orderId,omitempty"` // of the part
		EquipmentID term.EquipmentID `json:"equipmentId"`       // who does it: robot, tool or machine
		From        *term.Place      `json:"from,omitempty"`    // where the part is taken
		To          *term.Place      `json:"to,omitempty"`      // where it goes
		Slot        int              `json:"slot,omitempty"`    // of a start: from 1; left out: all
		Slots       []int            `json:"slots,omitempty"`   // of a start: those that it starts
		Program     int              `json:"program,omitempty"` // handed to the machine at its start
		State       term.TaskState   `json:"state"`
		ActionNo    uint32           `json:"actionNo"`         // its number on the wire, never used again
		Attempt     int              `json:"attempt"`          // always 1: a new try is a new action
		Epoch       int64            `json:"epoch"`            // the process life that handed it out
		PartAt      term.PartAt      `json:"partAt,omitempty"` // where the part is after the end, in terms of the action
		Error       string           `json:"error,omitempty"`  // what the machine or the wire said
		Plan        *term.Plan       `json:"plan,omitempty"`   // why it was chosen
		DueAt       time.Time        `json:"dueAt,omitzero"`   // when it counts as unknown by itself
		CreatedAt   time.Time        `json:"createdAt"`
		EndedAt     time.Time        `json:"endedAt,omitzero"` // succeeded, failed or cancelled
	}

	// Equipment is a machine, a tool or the robot.
	Equipment struct {
		ID            term.EquipmentID     `json:"id"`
		Version       int64                `json:"version"`
		Name          string               `json:"name"` // for people
		Kind          term.EquipmentKind   `json:"kind"`
		Status        term.EquipmentStatus `json:"status"`
		DoneLatch     term.DoneLatch       `json:"doneLatch"`       // how far the acknowledgement of the last done is
		Cycle         *uint32              `json:"cycle,omitempty"` // of the last done, where the machine counts
		Config        term.EquipmentConfig `json:"config"`          // as it applies, defaults included
		Slots         []Slot               `json:"slots"`           // of a machine, by number
		Holds         []Hold               `json:"holds"`           // why it may not be used
		ManualActions []term.QuestionID    `json:"manualActions"`   // the open ones that touch it
	}
	// Slot of a machine.
	Slot struct {
		ID           term.SlotID    `json:"id"`
		Version      int64          `json:"version"`
		Number       int            `json:"number"` // from 1
		State        term.SlotState `json:"state"`
		CurrentJobID term.JobID     `json:"currentJobId,omitempty"` // the part in it; left out of an empty slot
		EnteredAt    time.Time      `json:"enteredAt,omitzero"`     // the part came in
		StartedAt    time.Time      `json:"startedAt,omitzero"`     // the machine confirmed it; left out: not started
		DueAt        time.Time      `json:"dueAt,omitzero"`         // when the step counts as overdue
	}

	// Cell is everything that a screen of the cell shows.
	Cell struct {
		Name     string          `json:"name"` // of the cell
		Version  int64           `json:"version"`
		Revision int64           `json:"revision"` // of the plant file
		Config   term.CellConfig `json:"config"`   // the word of the plant file on the cell itself
		// WaitingFor says why nothing moves; left out while something does. Plan explains it.
		WaitingFor    string      `json:"waitingFor,omitempty"`
		Plan          *term.Plan  `json:"plan,omitempty"`        // what could be done next, and why not
		RefillAsked   bool        `json:"refillAsked,omitempty"` // a person asked for parts from the dock
		LastActionNo  uint32      `json:"lastActionNo"`          // the last number on the wire that was given out
		DueAt         time.Time   `json:"dueAt,omitzero"`        // when it is looked at again, whatever happens
		Holds         []Hold      `json:"holds"`                 // of the cell itself: recovery, paused, parked
		RobotTask     *Task       `json:"robotTask,omitempty"`   // what the robot does now
		Starts        []Task      `json:"starts"`                // of machines, under way
		Gripper       *Job        `json:"gripper,omitempty"`     // the part in it
		Equipment     []Equipment `json:"equipment"`             // machines, tools and the robot
		Buffer        []CellPlace `json:"buffer"`                // its places by number
		Dock          []CellPlace `json:"dock"`                  // its places by number
		Pallets       []Pallet    `json:"pallets"`               // at the dock
		ManualActions int         `json:"manualActions"`         // open ones
		Alarms        int         `json:"alarms"`                // that are not normal
		UnseenAlarms  int         `json:"unseenAlarms"`          // of these, not acknowledged
	}
	// CellPlace is one place of the dock or the buffer with the parts that it belongs to: one, but for what a recovery
	// finds.
	CellPlace struct {
		Number     int   `json:"number"`     // from 1
		WireNumber int   `json:"wireNumber"` // as robot and machines name it
		Taken      bool  `json:"taken"`      // a part stands on it, or it is kept for one
		Jobs       []Job `json:"jobs"`       // of the buffer: also those that are elsewhere and come back
	}
	// Pallet at the dock.
	Pallet struct {
		ID        term.PalletID `json:"id"`
		Version   int64         `json:"version"`
		OrderID   term.OrderID  `json:"orderId"`
		Places    int           `json:"places"`          // parts that came with it: on places 1 to this
		ArrivedAt time.Time     `json:"arrivedAt"`       // at the dock
		LeftAt    time.Time     `json:"leftAt,omitzero"` // it is gone
	}

	// ManualAction is a question that only a person can answer. An answer names Version and Hash as they were shown.
	ManualAction struct {
		ID        term.QuestionID      `json:"id"`
		Version   int64                `json:"version"`
		Hash      string               `json:"hash"` // stands for what the answer is bound to
		State     term.QuestionState   `json:"state"`
		Kind      term.Finding         `json:"kind"` // of difference or doubt
		Subject   string               `json:"subject"`
		Touches   []string             `json:"touches"`             // what is held while it is open
		Record    string               `json:"record"`              // what the database says
		Machine   string               `json:"machine"`             // what the machines say
		Readings  []plant.BoundReading `json:"readings"`            // the discrete signals that an answer is bound to
		Answers   []term.Answer        `json:"answers"`             // the words that may be answered
		Suggested string               `json:"suggested,omitempty"` // the word that the evidence speaks for
		TaskID    term.TaskID          `json:"taskId,omitempty"`    // the action that it is about
		JobID     term.JobID           `json:"jobId,omitempty"`     // the part that it is about
		Place     *term.Place          `json:"place,omitempty"`     // of a report: where the person says that the part is
		OpenedAt  time.Time            `json:"openedAt"`
		// BlocksRecovery: while it is open, a recovery cannot be confirmed.
		BlocksRecovery bool      `json:"blocksRecovery,omitempty"`
		Answer         string    `json:"answer,omitempty"` // the word that was answered
		By             string    `json:"by,omitempty"`     // who answered
		Reason         string    `json:"reason,omitempty"` // that was given with the answer
		EndedAt        time.Time `json:"endedAt,omitzero"` // it was answered, or the difference is gone
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

	// Alarm by ISA-18.2: one open alarm for each kind and subject.
	Alarm struct {
		ID           term.AlarmID    `json:"id"`
		Version      int64           `json:"version"`
		Kind         term.AlarmKind  `json:"kind"`
		Subject      string          `json:"subject"`
		State        term.AlarmState `json:"state"`
		Active       bool            `json:"active"`                 // the cause is there now
		Text         string          `json:"text"`                   // for people
		Count        int64           `json:"count"`                  // activations of this row
		FirstOut     bool            `json:"firstOut"`               // nothing else was active when it came
		Shelvable    bool            `json:"shelvable"`              // a person may put it aside for a time
		ShelvedUntil time.Time       `json:"shelvedUntil,omitzero"`  // it is put aside till then
		ShelvedBy    string          `json:"shelvedBy,omitempty"`    // who put it aside
		ShelveReason string          `json:"shelveReason,omitempty"` // why it was put aside
		RaisedAt     time.Time       `json:"raisedAt"`               // the cause came, the last time
		ClearedAt    time.Time       `json:"clearedAt,omitzero"`     // the cause went, the last time
		AckedBy      string          `json:"ackedBy,omitempty"`      // who has seen it
		AckedAt      time.Time       `json:"ackedAt,omitzero"`       // when it was seen
		EndedAt      time.Time       `json:"endedAt,omitzero"`       // over and seen
	}

	// Route is the way of a part through the cell.
	Route struct {
		ID       term.RouteID `json:"id"`
		Version  int64        `json:"version"`
		Revision int64        `json:"revision"` // counts the plant files that changed it
		Name     string       `json:"name"`     // for people
		Steps    []term.Step  `json:"steps"`    // in the order of the way
	}
	// Plant is the plant file as it was imported.
	Plant struct {
		Name     string `json:"name"`     // of the cell
		Revision int64  `json:"revision"` // counts the files that were applied
		File     string `json:"file"`     // YAML as it came
	}
	// PlantCheck is the answer to a plant file that was only looked at. What concerns the whole is checked when it is
	// imported.
	PlantCheck struct {
		Name      string `json:"name"`      // of the cell
		Equipment int    `json:"equipment"` // how many
		Routes    int    `json:"routes"`    // how many
	}
)
