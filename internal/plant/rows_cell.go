package plant

import (
	"slices"
	"strings"
	"time"

	"surehand/internal/term"
)

// The tables of the production half, in the order in which a batch writes them.
const (
	KindCell      Kind = "cell"
	KindRoute     Kind = "route"
	KindEquipment Kind = "equipment"
	KindPallet    Kind = "pallet"
	KindOrder     Kind = "work_order"
	KindJob       Kind = "job"
	KindSlot      Kind = "equipment_slot"
	KindTask      Kind = "task"
	KindQuestion  Kind = "manual_action"
	KindAlarm     Kind = "alarm"
)

// CellKey is the key of the one cell of this process.
const CellKey = "cell"

// Cell is the one production cell. Whether it runs is told by its holds (recovery, paused, parked).
type Cell struct {
	Version  int64
	Name     string
	Revision int64  // counts the plant files applied
	File     string // the plant file as it was imported
	Config   term.CellConfig
	// LastActionNo is the number of the last action or start that was handed out, or the highest echo taken over.
	LastActionNo uint32
	// Clean: nothing was handed out since the last drain ended, so a restart has nothing to ask about.
	Clean bool
	// RefillAsked: a person asked for a refill below the usual number of free places.
	RefillAsked bool
	// WaitingFor says in words why nothing moves; empty while something does. Plan explains it.
	WaitingFor string
	Plan       *term.Plan
	DueAt      time.Time // when the scheduler has to look again without a message; zero: never
}

// Route is the way of a part through the cell. An order keeps the steps as they were when it was created.
type Route struct {
	ID       term.RouteID
	Version  int64
	Revision int64
	Name     string
	Steps    []term.Step
}

// Equipment is a machine, the robot or a tool.
type Equipment struct {
	ID      term.EquipmentID
	Version int64
	Name    string
	Type    term.EquipmentKind
	Config  term.EquipmentConfig
	Status  term.EquipmentStatus
	Latch   term.DoneLatch
	// Cycle is the machine's own counter at the last done that counted; HasCycle: there was one.
	Cycle    uint32
	HasCycle bool
}

// Slot of a machine.
type Slot struct {
	ID          term.SlotID
	Version     int64
	EquipmentID term.EquipmentID
	Number      int // from 1
	State       term.SlotState
	JobID       term.JobID // empty while EMPTY
	EnteredAt   time.Time
	StartedAt   time.Time // the machine confirmed its start with this part; zero: not started
	DueAt       time.Time // when the step counts as overdue; zero: never
}

// Pallet at the dock. Its places are numbered from 1; the parts on it are jobs.
type Pallet struct {
	ID        term.PalletID
	Version   int64
	OrderID   term.OrderID
	Places    int
	ArrivedAt time.Time
	LeftAt    time.Time
}

// Order is a work order.
type Order struct {
	ID            term.OrderID
	Version       int64
	Product       string
	RouteID       term.RouteID
	RouteRevision int64
	Steps         []term.Step // frozen
	Priority      int         // higher goes first
	State         term.OrderState
	Inside        term.InsideRule // set by the cancel
	Planned       int
	Completed     int
	Scrapped      int
	Cancelled     int
	Actor         string // who created it
	CreatedAt     time.Time
	StartedAt     time.Time
	EndedAt       time.Time
}

// Left is how many parts have not ended.
func (r *Order) Left() int { return r.Planned - r.Completed - r.Scrapped - r.Cancelled }

// Job is one part of an order.
type Job struct {
	ID          term.JobID
	Version     int64
	OrderID     term.OrderID
	Number      int // within the order, from 1
	State       term.JobState
	Position    term.Place
	TempSlotNo  int // its own buffer place, kept until it ends; 0: none
	StepIndex   int // index into the order's steps of the next step; the number of steps: route done
	Disposition term.Disposition
	// Presented is the tool at which the robot holds the part; empty: at none.
	Presented term.EquipmentID
	Context   term.JobContext
	EnteredAt time.Time // at this position
	EndedAt   time.Time
}

// Task is one physical action: the row is committed before anything is started.
type Task struct {
	ID          term.TaskID
	Version     int64
	Type        term.TaskKind
	JobID       term.JobID       // empty for a start
	OrderID     term.OrderID     // of the job; empty for a start
	EquipmentID term.EquipmentID // who does it: robot, tool or machine
	From        term.Place
	To          term.Place
	Slot        int   // of a start: from 1; 0: all
	Slots       []int // of a start: the occupied slots that it starts
	Program     int
	State       term.TaskState
	ActionNo    uint32 // on the wire; never reused
	Attempt     int    // always 1: a new try is a new task
	Epoch       int64
	PartAt      term.PartAt // after the end
	Error       string
	Plan        *term.Plan // why it was chosen
	DueAt       time.Time  // when it becomes unknown by itself; zero: never
	CreatedAt   time.Time
	EndedAt     time.Time
}

// Question is a manual action: something that only a person can answer.
type Question struct {
	ID      term.QuestionID
	Version int64
	State   term.QuestionState
	Finding term.Finding
	Subject string   // what it is about: "job:…", "task:…", "equipment:…", "order:…", "cell"
	Touches []string // the subjects that are held while it is open; Subject is one of them
	Record  string   // what the database says, in words
	Machine string   // what the machines say, in words
	// Readings are the predicates that an answer is bound to, by equipment; Hash is over them, the finding and the record.
	Readings  []BoundReading
	Hash      string
	Answers   []term.Answer
	Suggested string // word of the answer that the evidence speaks for; empty: none
	TaskID    term.TaskID
	JobID     term.JobID
	Place     term.Place // of a report: where the person says that the part is
	OpenedAt  time.Time
	Answer    string
	By        string
	Reason    string
	EndedAt   time.Time
}

// BoundReading is what one equipment said when a question was asked.
type BoundReading struct {
	Equipment  term.EquipmentID `json:"equipment"`
	Predicates string           `json:"predicates"`
	At         time.Time        `json:"at"` // when it was read
}

// Alarm by ISA-18.2: one active row for each kind and subject.
type Alarm struct {
	ID           term.AlarmID
	Version      int64
	Type         term.AlarmKind
	Subject      string
	State        term.AlarmState
	Text         string
	Count        int64 // activations while the row was open
	FirstOut     bool  // nothing else was active when it came
	ShelvedUntil time.Time
	ShelvedBy    string
	ShelveReason string
	RaisedAt     time.Time // last activation
	ClearedAt    time.Time // last return
	AckedBy      string
	AckedAt      time.Time
	EndedAt      time.Time // normal again
}

func (*Cell) Kind() Kind      { return KindCell }
func (*Route) Kind() Kind     { return KindRoute }
func (*Equipment) Kind() Kind { return KindEquipment }
func (*Slot) Kind() Kind      { return KindSlot }
func (*Pallet) Kind() Kind    { return KindPallet }
func (*Order) Kind() Kind     { return KindOrder }
func (*Job) Kind() Kind       { return KindJob }
func (*Task) Kind() Kind      { return KindTask }
func (*Question) Kind() Kind  { return KindQuestion }
func (*Alarm) Kind() Kind     { return KindAlarm }

func (*Cell) Key() string        { return CellKey }
func (r *Route) Key() string     { return string(r.ID) }
func (r *Equipment) Key() string { return string(r.ID) }
func (r *Slot) Key() string      { return string(r.ID) }
func (r *Pallet) Key() string    { return string(r.ID) }
func (r *Order) Key() string     { return string(r.ID) }
func (r *Job) Key() string       { return string(r.ID) }
func (r *Task) Key() string      { return string(r.ID) }
func (r *Question) Key() string  { return string(r.ID) }
func (r *Alarm) Key() string     { return string(r.ID) }

func (r *Cell) Ver() int64      { return r.Version }
func (r *Route) Ver() int64     { return r.Version }
func (r *Equipment) Ver() int64 { return r.Version }
func (r *Slot) Ver() int64      { return r.Version }
func (r *Pallet) Ver() int64    { return r.Version }
func (r *Order) Ver() int64     { return r.Version }
func (r *Job) Ver() int64       { return r.Version }
func (r *Task) Ver() int64      { return r.Version }
func (r *Question) Ver() int64  { return r.Version }
func (r *Alarm) Ver() int64     { return r.Version }

func (*Cell) Open() bool       { return true }
func (*Route) Open() bool      { return true }
func (*Equipment) Open() bool  { return true }
func (*Slot) Open() bool       { return true }
func (r *Pallet) Open() bool   { return r.LeftAt.IsZero() }
func (r *Order) Open() bool    { return !r.State.Ended() }
func (r *Job) Open() bool      { return !r.State.Ended() }
func (r *Task) Open() bool     { return !r.State.Ended() }
func (r *Question) Open() bool { return r.State == term.QuestionOpen }
func (r *Alarm) Open() bool    { return r.State != term.AlarmNormal }

// Step is the next step of a job's order; false: its route is done.
func (r *Order) Step(j *Job) (term.Step, bool) {
	if j.StepIndex >= len(r.Steps) {
		return term.Step{}, false
	}
	return r.Steps[j.StepIndex], true
}

// Offers tells whether a word is one of the answers.
func (r *Question) Offers(word string) bool {
	return slices.ContainsFunc(r.Answers, func(a term.Answer) bool { return a.Word == word })
}

// Slot is the slot that a question is about; empty: it is about something else.
func (r *Question) Slot() term.SlotID {
	id, _ := strings.CutPrefix(r.Subject, SlotSubject(""))
	if id == r.Subject {
		return ""
	}
	return term.SlotID(id)
}

// Subjects of holds, questions, alarms and log entries.
const CellSubject = "cell"

func OrderSubject(id term.OrderID) string         { return "order:" + string(id) }
func JobSubject(id term.JobID) string             { return "job:" + string(id) }
func EquipmentSubject(id term.EquipmentID) string { return "equipment:" + string(id) }
func SlotSubject(id term.SlotID) string           { return "slot:" + string(id) }
func TaskSubject(id term.TaskID) string           { return "task:" + string(id) }
func QuestionSubject(id term.QuestionID) string   { return "question:" + string(id) }
func AlarmSubject(id term.AlarmID) string         { return "alarm:" + string(id) }
func PalletSubject(id term.PalletID) string       { return "pallet:" + string(id) }
