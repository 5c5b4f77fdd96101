package plant

import (
	"strconv"
	"time"

	"surehand/internal/term"
)

// Perform is one physical action of the cell: do exactly this, once. Its task is committed.
type Perform struct {
	TaskID      term.TaskID
	Type        term.TaskKind
	EquipmentID term.EquipmentID
	Driver      term.DriverConfig
	ActionNo    uint32
	Attempt     int
	Epoch       int64
	From, To    int           // numbers of the places on the wire; 0: none
	FromGripper bool          // the part is in the gripper already
	Present     bool          // hold the part at the tool station To
	Slot        int           // of a start: from 1; 0: all occupied
	Program     int           // of a start
	Text        string        // of a mark: what is put on the part
	FencedAt    time.Time     // the turn's time: it must not begin later than SendBefore after it
	Bound       time.Duration // how long it may take before its outcome counts as unknown
}

func (p Perform) ActionKey() string { return "task:" + string(p.TaskID) }

// Acknowledge tells a machine that its done is stored. It may be done again: the signal is a level.
type Acknowledge struct {
	EquipmentID term.EquipmentID
	Driver      term.DriverConfig
	MessageID   string // a fresh id: each acknowledgement is an action of its own
}

func (a Acknowledge) ActionKey() string { return "ack:" + a.MessageID }

// Watch tells the workers which equipment there is and how it is reached: after the start and after an import.
// Each is watched from then on, and those that are not named any more are let go.
type Watch struct {
	Epoch     int64
	Turn      int64
	Equipment []WatchedEquipment
}

// WatchedEquipment is one equipment of a Watch, sorted by id.
type WatchedEquipment struct {
	ID     term.EquipmentID
	Type   term.EquipmentKind
	Config term.EquipmentConfig
	// InDoubt is the number of a mark, or of the robot's action, that an earlier process life handed out and that may have
	// begun, or may still begin; 0: none. A driver whose wire can withdraws it, so that its end becomes known.
	InDoubt uint32
}

func (w Watch) ActionKey() string {
	return "watch:" + strconv.FormatInt(w.Epoch, 10) + ":" + strconv.FormatInt(w.Turn, 10)
}

// WatchEquipment hands the list of all equipment to the workers after the commit.
func (tx *Tx) WatchEquipment() {
	w := Watch{Epoch: tx.w.state.fence.Epoch, Turn: tx.w.state.fence.Turn + 1}
	for _, e := range tx.w.state.Equipment() {
		w.Equipment = append(w.Equipment, WatchedEquipment{ID: e.ID, Type: e.Type, Config: e.Config, InDoubt: tx.inDoubt(e.ID)})
	}
	tx.start(w)
}

func (tx *Tx) inDoubt(id term.EquipmentID) uint32 {
	if t, busy := tx.w.state.RobotTask(); busy && t.Type != term.TaskScan && t.EquipmentID == id && t.State == term.TaskUnknown {
		return t.ActionNo
	}
	return 0
}
