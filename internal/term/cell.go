package term

import (
	"fmt"
	"strconv"
	"strings"
)

// Names of the production half are chosen by people, like those of devices.
type (
	// OrderID is a work order's number, for example "WO-1001".
	OrderID string
	// JobID is "order.n": the n-th part of an order, from 1.
	JobID       string
	EquipmentID string
	// SlotID is "equipment:n", from 1.
	SlotID   string
	RouteID  string
	PalletID string
)

// Ids below are minted UUIDs.
type (
	TaskID     string
	AlarmID    string
	QuestionID string
)

// NewJobID names the n-th part of an order.
func NewJobID(o OrderID, n int) JobID { return JobID(fmt.Sprintf("%s.%d", o, n)) }

// NewSlotID names the n-th slot of an equipment.
func NewSlotID(e EquipmentID, n int) SlotID { return SlotID(fmt.Sprintf("%s:%d", e, n)) }

// OrderState of a work order. ISA-95 words in brackets. Each comment answers: what is true now, who moves it
// on, what a crash leaves here. Why an order does not run is a hold beside the state.
type OrderState string

const (
	// OrderDraft (NotAllowedToStart): stored, its parts do not count for anybody yet. A person starts or
	// cancels it. A crash leaves it as it is.
	OrderDraft OrderState = "draft"
	// OrderReady (AllowedToStart): may be worked on; no action of it was ever claimed. The first claim makes it
	// running. A crash leaves it as it is.
	OrderReady OrderState = "ready"
	// OrderRunning: parts of it are or were moved. Its last part's end completes it. A crash leaves it as it is.
	OrderRunning OrderState = "running"
	// OrderStopping: cancelled while parts were in the cell; these are retired or finished by the order's rule.
	// The last part's end makes it cancelled. A crash leaves it as it is.
	OrderStopping OrderState = "stopping"
	// OrderCompleted (end): every part has ended.
	OrderCompleted OrderState = "completed"
	// OrderCancelled (end): a person ended it, and every part has ended.
	OrderCancelled OrderState = "cancelled"
)

func (OrderState) Values() []string {
	return []string{"draft", "ready", "running", "stopping", "completed", "cancelled"}
}

// Ended tells whether the state can never change again.
func (s OrderState) Ended() bool { return s == OrderCompleted || s == OrderCancelled }

// InsideRule says what becomes of the parts in the cell when their order is cancelled.
type InsideRule string

const (
	InsideRetire InsideRule = "retire" // carried to the exit as they are
	InsideFinish InsideRule = "finish" // go their whole route first
)

func (InsideRule) Values() []string { return []string{"retire", "finish"} }

// JobState of one part. SUSPENDED and ERROR are words of the API: holds beside the state, so that resume
// knows where to go on.
type JobState string

const (
	// NotArrived: known by number only. A pallet brings it. A crash leaves it as it is.
	NotArrived JobState = "NOT_ARRIVED"
	// Queued: on its place of the pallet. A refill move brings it to the buffer. A crash leaves it as it is.
	Queued JobState = "QUEUED"
	// Waiting: on its own buffer place, next step open. The scheduler moves it on. A crash leaves it as it is.
	Waiting JobState = "WAITING"
	// Moving: a robot action for it is under way, or it is in the gripper. The action's result moves it on. A
	// crash leaves the action in doubt, and the place as it was before the action.
	Moving JobState = "MOVING"
	// Processing: in a slot, its step not done. The machine's done moves it on. A crash leaves it to the machine.
	Processing JobState = "PROCESSING"
	// WaitingUnload: in a slot, its step done. The scheduler moves it on. A crash leaves it as it is.
	WaitingUnload JobState = "WAITING_UNLOAD"
	// WaitingJudgement: in a slot, and a person has to say whether the part is good. A crash leaves it as it is.
	WaitingJudgement JobState = "WAITING_JUDGEMENT"
	// Completed (end): went its whole route and out.
	Completed JobState = "COMPLETED"
	// Scrapped (end): out, not good.
	Scrapped JobState = "SCRAPPED"
	// JobCancelled (end): out or never come, because a person ended it.
	JobCancelled JobState = "CANCELLED"
)

func (JobState) Values() []string {
	return []string{"NOT_ARRIVED", "QUEUED", "WAITING", "MOVING", "PROCESSING", "WAITING_UNLOAD", "WAITING_JUDGEMENT", "COMPLETED", "SCRAPPED", "CANCELLED"}
}

// Ended tells whether the state can never change again.
func (s JobState) Ended() bool { return s == Completed || s == Scrapped || s == JobCancelled }

// PositionType says on what a part is.
type PositionType string

const (
	Nowhere     PositionType = "NONE" // not in the cell, and never was
	OnDock      PositionType = "ON_DOCK"
	OnBuffer    PositionType = "ON_BUFFER"
	OnEquipment PositionType = "ON_EQUIPMENT"
	OnRobot     PositionType = "ON_ROBOT"
	Out         PositionType = "OUT" // has left the cell
)

func (PositionType) Values() []string {
	return []string{"NONE", "ON_DOCK", "ON_BUFFER", "ON_EQUIPMENT", "ON_ROBOT", "OUT"}
}

// Place is where a part is or goes. Ref is the pallet place, buffer place or gripper as a number from 1, the
// slot as "equipment:n", or for OUT how it left: "exit", "pallet", "removed". In a task the tool station is
// OnRobot with the tool as Ref.
type Place struct {
	Type PositionType `json:"type"`
	Ref  string       `json:"ref,omitempty"`
}

// Words of Place.Ref for OUT.
const (
	OutExit    = "exit"    // the robot put it there
	OutPallet  = "pallet"  // it stayed on the pallet, whose place is taken until the pallet leaves
	OutRemoved = "removed" // a person took it out
)

func DockPlace(n int) Place    { return Place{OnDock, strconv.Itoa(n)} }
func BufferPlace(n int) Place  { return Place{OnBuffer, strconv.Itoa(n)} }
func GripperPlace() Place      { return Place{OnRobot, "1"} }
func SlotPlace(s SlotID) Place { return Place{OnEquipment, string(s)} }
func OutPlace(how string) Place {
	return Place{Out, how}
}

// ToolStation is where a part is presented to a tool: it stays in the gripper.
func ToolStation(e EquipmentID) Place { return Place{OnRobot, string(e)} }

// Occupies tells whether a part at this place takes room in the cell.
func (p Place) Occupies() bool { return p.Type != Nowhere && p.Type != Out }

// Number of a dock, buffer or gripper place; 0 when it has none.
func (p Place) Number() int {
	if p.Type == OnEquipment || p.Type == Out {
		return 0
	}
	n, _ := strconv.Atoi(p.Ref)
	return n
}

// Slot of an equipment place: equipment and number from 1.
func (p Place) Slot() (EquipmentID, int) {
	if p.Type != OnEquipment {
		return "", 0
	}
	return SlotID(p.Ref).Split()
}

// Split gives equipment and number of a slot.
func (s SlotID) Split() (EquipmentID, int) {
	at := strings.LastIndexByte(string(s), ':')
	if at < 0 {
		return "", 0
	}
	n, _ := strconv.Atoi(string(s[at+1:]))
	return EquipmentID(s[:at]), n
}

// String is how people say it.
func (p Place) String() string {
	switch p.Type {
	case Nowhere:
		return "nowhere"
	case OnDock:
		return "dock place " + p.Ref
	case OnBuffer:
		return "buffer place " + p.Ref
	case OnEquipment:
		return p.Ref
	case OnRobot:
		if p == GripperPlace() {
			return "the gripper"
		}
		return p.Ref + ", held by the robot"
	case Out:
		switch p.Ref {
		case OutPallet:
			return "its pallet"
		case OutRemoved:
			return "no place of the cell"
		}
		return "the exit"
	}
	return string(p.Type) + " " + p.Ref
}

// Disposition says how a part is to leave other than good.
type Disposition string

const (
	DispositionNone   Disposition = "none"
	DispositionScrap  Disposition = "scrap"
	DispositionCancel Disposition = "cancel"
)

func (Disposition) Values() []string { return []string{"none", "scrap", "cancel"} }

// End is the state in which a part with this disposition ends.
func (d Disposition) End() JobState {
	switch d {
	case DispositionScrap:
		return Scrapped
	case DispositionCancel:
		return JobCancelled
	}
	return Completed
}

// EquipmentKind says what an equipment does.
type EquipmentKind string

const (
	KindMachine EquipmentKind = "machine"
	KindRobot   EquipmentKind = "robot"
	KindScanner EquipmentKind = "scanner"
	KindMarker  EquipmentKind = "marker"
)

func (EquipmentKind) Values() []string { return []string{"machine", "robot", "scanner", "marker"} }

// EquipmentStatus as last observed. The slots say what is in it, the holds whether it may be used.
type EquipmentStatus string

const (
	Offline          EquipmentStatus = "OFFLINE" // no fresh reading
	EquipmentIdle    EquipmentStatus = "IDLE"
	EquipmentRunning EquipmentStatus = "RUNNING"
	EquipmentDone    EquipmentStatus = "DONE"
	EquipmentFault   EquipmentStatus = "FAULT"
)

func (EquipmentStatus) Values() []string {
	return []string{"OFFLINE", "IDLE", "RUNNING", "DONE", "FAULT"}
}

// DoneLatch tells one done from the next one of the same level signal.
type DoneLatch string

const (
	// LatchNone: no done is being acknowledged. A done with a start since counts. A crash leaves it as it is.
	LatchNone DoneLatch = "none"
	// LatchSeen: the done is stored, the machine not yet told. A crash leaves it: it is acknowledged again.
	LatchSeen DoneLatch = "seen"
	// LatchAcked: the machine was told; only reading done = 0 ends it. A crash leaves it: told again.
	LatchAcked DoneLatch = "acked"
)

func (DoneLatch) Values() []string { return []string{"none", "seen", "acked"} }

// SlotState of an equipment slot.
type SlotState string

const (
	// SlotEmpty: no part is in it. The result of a move that sets one in, or a person's answer, fills it. A crash
	// leaves it as it is.
	SlotEmpty SlotState = "EMPTY"
	// SlotOccupied: a part is in it; once its start is confirmed, the machine works on it. The machine's done moves it
	// on, or a person's answer. A crash leaves it to the machine.
	SlotOccupied SlotState = "OCCUPIED"
	// SlotDone: the machine has done with the part in it. The result of the move that takes the part out empties it. A
	// crash leaves it as it is.
	SlotDone SlotState = "DONE"
)

func (SlotState) Values() []string { return []string{"EMPTY", "OCCUPIED", "DONE"} }

// The words of answers.
const (
	AnswerDone     = "done"       // the action happened: the part is where it should go
	AnswerNotDone  = "not_done"   // the action did not happen: the part is where it was
	AnswerGripper  = "in_gripper" // the part is in the gripper
	AnswerRemoved  = "removed"    // a person took the part out of the cell
	AnswerHome     = "at_home"    // the part stands on its own buffer place
	AnswerThere    = "is_there"   // the part is where the record says
	AnswerRetry    = "retry"      // the cause is gone: go on as before
	AnswerScrap    = "scrap"      // carry the part out as not good
	AnswerGood     = "good"       // the step is done and the part is good
	AnswerFinished = "finished"   // the machine has finished this part
	AnswerRestart  = "restart"    // the machine has not worked on it: start it again
	AnswerWait     = "wait"       // give it its time once more
	AnswerWithout  = "without"    // run without this equipment
	AnswerAccept   = "accept"     // take over what the machine says
	AnswerRecount  = "recount"    // count anew from the parts
	AnswerClear    = "clear"      // the slot is empty
	AnswerDismiss  = "dismiss"    // nothing of this matters any more
	AnswerNewPlace = "new_place"  // the part was set on the buffer place named in the effect
	AnswerMistaken = "mistaken"   // the report was wrong: everything stays
	AnswerVanished = "vanished"   // not a person's: the difference is gone by itself
	AnswerEvidence = "evidence"   // not a person's: the action's own late result
)
