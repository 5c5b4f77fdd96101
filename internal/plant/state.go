package plant

import (
	"fmt"
	"maps"
	"slices"

	"surehand/internal/term"
)

// Fence is the one row that every commit moves forward conditionally: a process whose fence is not the
// stored one writes nothing and ends.
type Fence struct {
	Installation string // UUID of this installation, part of every command id
	Generation   string // UUID; new after the database went back in time; part of every SSE id
	Seq          int64  // of the last event_log row: gapless within a generation
	Turn         int64  // of the last commit, so that a commit in doubt without log rows can be told too
	Epoch        int64  // number of this process life
	Life         string // UUID of this process life
}

// table is one kind of row of the picture, by key.
type table[K ~string, R any] map[K]*R

func sortedRows[K ~string, R any](t table[K, R]) []*R {
	rows := make([]*R, 0, len(t))
	for _, k := range slices.Sorted(maps.Keys(t)) {
		rows = append(rows, t[k])
	}
	return rows
}

// State is the picture. It is read through its methods and changed only by Work.
type State struct {
	fence Fence

	organisations table[term.OrganisationID, Organisation]
	farms         table[term.FarmID, Farm]
	profiles      table[term.ProfileID, Profile]
	devices       table[term.DeviceID, Device]
	endpoints     table[term.EndpointID, Endpoint]
	rules         table[term.RuleID, Rule]
	events        table[term.EventID, Event]
	executions    table[term.ExecutionID, Execution]
	intents       table[term.IntentID, Intent]
	attempts      table[term.AttemptID, Attempt]
	holds         table[term.HoldID, Hold]

	cell      *Cell // nil: no plant file was imported yet
	routes    table[term.RouteID, Route]
	equipment table[term.EquipmentID, Equipment]
	pallets   table[term.PalletID, Pallet]
	orders    table[term.OrderID, Order]
	jobs      table[term.JobID, Job]
	slots     table[term.SlotID, Slot]
	tasks     table[term.TaskID, Task]
	questions table[term.QuestionID, Question]
	alarms    table[term.AlarmID, Alarm]

	// Derived from the rows, never stored.
	bySerial    map[string]term.DeviceID
	byDevice    map[term.DeviceID][]term.EndpointID // sorted
	byTrigger   map[term.EndpointID][]term.RuleID   // sorted
	byCommand   map[term.CommandID]term.IntentID
	holder      map[term.EndpointID]term.IntentID
	queue       map[term.EndpointID][]term.IntentID // open, not holding, oldest first
	openAttempt map[term.IntentID]term.AttemptID
	waiting     map[term.Gate][]term.IntentID // by the gate that stops them, sorted
	specs       map[term.ProfileID]specIndex
	held        map[string]term.HoldID // subject + reason
	pending     []term.EventID         // pending events, sorted: ids are time-ordered
	due         dueHeap

	// Of the cell. placed are the open parts that are in it, by place: two parts on one place is a contradiction that
	// a recovery shows to a person, so the index must be able to hold it.
	jobsOf     map[term.OrderID][]term.JobID // open, sorted by number
	placed     map[term.Place][]term.JobID   // sorted
	inCell     []term.JobID                  // the same parts, sorted
	asked      map[string][]term.QuestionID  // open questions by what they touch, sorted
	questionOf map[string]term.QuestionID    // finding + subject
	alarmOf    map[string]term.AlarmID       // kind + subject
}

func newState(f Fence) *State {
	return &State{
		fence:         f,
		organisations: table[term.OrganisationID, Organisation]{}, farms: table[term.FarmID, Farm]{},
		profiles: table[term.ProfileID, Profile]{}, devices: table[term.DeviceID, Device]{},
		endpoints: table[term.EndpointID, Endpoint]{}, rules: table[term.RuleID, Rule]{},
		events: table[term.EventID, Event]{}, executions: table[term.ExecutionID, Execution]{},
		intents: table[term.IntentID, Intent]{}, attempts: table[term.AttemptID, Attempt]{}, holds: table[term.HoldID, Hold]{},
		bySerial: map[string]term.DeviceID{}, byDevice: map[term.DeviceID][]term.EndpointID{},
		byTrigger: map[term.EndpointID][]term.RuleID{}, byCommand: map[term.CommandID]term.IntentID{},
		holder: map[term.EndpointID]term.IntentID{}, queue: map[term.EndpointID][]term.IntentID{},
		openAttempt: map[term.IntentID]term.AttemptID{}, waiting: map[term.Gate][]term.IntentID{},
		specs: map[term.ProfileID]specIndex{}, held: map[string]term.HoldID{},
		due:    newDueHeap(),
		routes: table[term.RouteID, Route]{}, equipment: table[term.EquipmentID, Equipment]{}, pallets: table[term.PalletID, Pallet]{},
		orders: table[term.OrderID, Order]{}, jobs: table[term.JobID, Job]{}, slots: table[term.SlotID, Slot]{},
		tasks: table[term.TaskID, Task]{}, questions: table[term.QuestionID, Question]{}, alarms: table[term.AlarmID, Alarm]{},
		jobsOf: map[term.OrderID][]term.JobID{}, placed: map[term.Place][]term.JobID{}, asked: map[string][]term.QuestionID{},
		questionOf: map[string]term.QuestionID{}, alarmOf: map[string]term.AlarmID{},
	}
}

// Load builds the picture from the open rows of the store and checks it against itself. An error means the
// stored rows contradict the law: the process must not drive anything with them.
func Load(f Fence, rows []Row) (*State, error) {
	s := newState(f)
	for _, r := range rows {
		if !r.Open() {
			return nil, fmt.Errorf("load: %s %s is closed but was loaded as open", r.Kind(), r.Key())
		}
		if err := Lawful(r); err != nil {
			return nil, fmt.Errorf("load: %w", err)
		}
		s.replace(nil, r)
	}
	if err := s.check(); err != nil {
		return nil, fmt.Errorf("load: %w", err)
	}
	return s, nil
}

// check holds the rows of the picture against each other.
func (s *State) check() error {
	for _, d := range sortedRows(s.devices) {
		if s.farms[d.FarmID] == nil || s.profiles[d.ProfileID] == nil {
			return fmt.Errorf("device %s: farm %q or profile %q is missing", d.ID, d.FarmID, d.ProfileID)
		}
	}
	for _, e := range sortedRows(s.endpoints) {
		if s.devices[e.DeviceID] == nil {
			return fmt.Errorf("endpoint %s: device is missing", e.ID)
		}
	}
	holders := map[term.EndpointID]term.IntentID{}
	for _, i := range sortedRows(s.intents) {
		if i.HoldsEndpoint {
			if other, twice := holders[i.EndpointID]; twice {
				return fmt.Errorf("endpoint %s is held by %s and %s (invariant 5)", i.EndpointID, other, i.ID)
			}
			holders[i.EndpointID] = i.ID
		}
	}
	for _, a := range sortedRows(s.attempts) {
		i := s.intents[a.IntentID]
		if i == nil || (i.State != term.PendingDispatch && i.State != term.Retrying) || !i.HoldsEndpoint {
			return fmt.Errorf("attempt %s is open but its command is not being sent", a.ID)
		}
	}
	return s.checkCell()
}
