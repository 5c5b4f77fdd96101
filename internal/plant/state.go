package plant

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
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
		due: newDueHeap(),
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
	return nil
}

// Rows returns every row of the picture by kind and key.
func (s *State) Rows() []Row {
	var rows []Row
	rows = appendRows(rows, sortedRows(s.organisations))
	rows = appendRows(rows, sortedRows(s.farms))
	rows = appendRows(rows, sortedRows(s.profiles))
	rows = appendRows(rows, sortedRows(s.devices))
	rows = appendRows(rows, sortedRows(s.endpoints))
	rows = appendRows(rows, sortedRows(s.rules))
	rows = appendRows(rows, sortedRows(s.events))
	rows = appendRows(rows, sortedRows(s.executions))
	rows = appendRows(rows, sortedRows(s.intents))
	rows = appendRows(rows, sortedRows(s.attempts))
	return appendRows(rows, sortedRows(s.holds))
}

func appendRows[R Row](to []Row, rows []R) []Row {
	for _, r := range rows {
		to = append(to, r)
	}
	return to
}

// Diff tells how two pictures differ, in words; empty when they are equal (invariant 13).
func Diff(a, b *State) string {
	if a.fence != b.fence {
		return fmt.Sprintf("fence: %+v against %+v", a.fence, b.fence)
	}
	ra, rb := a.Rows(), b.Rows()
	for i := range max(len(ra), len(rb)) {
		switch {
		case i >= len(ra):
			return fmt.Sprintf("only in the second: %s %s %+v", rb[i].Kind(), rb[i].Key(), rb[i])
		case i >= len(rb):
			return fmt.Sprintf("only in the first: %s %s %+v", ra[i].Kind(), ra[i].Key(), ra[i])
		case !reflect.DeepEqual(ra[i], rb[i]):
			return fmt.Sprintf("%s %s:\n first: %+v\nsecond: %+v", ra[i].Kind(), ra[i].Key(), ra[i], rb[i])
		}
	}
	switch {
	case !reflect.DeepEqual(a.bySerial, b.bySerial), !reflect.DeepEqual(a.byDevice, b.byDevice), !reflect.DeepEqual(a.byTrigger, b.byTrigger):
		return "derived indexes of the configuration differ"
	case !reflect.DeepEqual(a.byCommand, b.byCommand), !reflect.DeepEqual(a.holder, b.holder), !reflect.DeepEqual(a.queue, b.queue),
		!reflect.DeepEqual(a.openAttempt, b.openAttempt), !reflect.DeepEqual(a.held, b.held),
		!reflect.DeepEqual(a.waiting, b.waiting):
		return "derived indexes of the commands differ"
	case !slices.Equal(a.pending, b.pending):
		return "pending events differ"
	case !slices.Equal(a.due.sorted(), b.due.sorted()):
		return "due times differ"
	}
	return ""
}

func (s *State) Fence() Fence { return s.fence }

func (s *State) Organisation(id term.OrganisationID) (*Organisation, bool) {
	r, ok := s.organisations[id]
	return r, ok
}
func (s *State) Farm(id term.FarmID) (*Farm, bool)          { r, ok := s.farms[id]; return r, ok }
func (s *State) Profile(id term.ProfileID) (*Profile, bool) { r, ok := s.profiles[id]; return r, ok }
func (s *State) Device(id term.DeviceID) (*Device, bool)    { r, ok := s.devices[id]; return r, ok }
func (s *State) Endpoint(id term.EndpointID) (*Endpoint, bool) {
	r, ok := s.endpoints[id]
	return r, ok
}
func (s *State) Rule(id term.RuleID) (*Rule, bool)    { r, ok := s.rules[id]; return r, ok }
func (s *State) Event(id term.EventID) (*Event, bool) { r, ok := s.events[id]; return r, ok }
func (s *State) Execution(id term.ExecutionID) (*Execution, bool) {
	r, ok := s.executions[id]
	return r, ok
}
func (s *State) Intent(id term.IntentID) (*Intent, bool)    { r, ok := s.intents[id]; return r, ok }
func (s *State) Attempt(id term.AttemptID) (*Attempt, bool) { r, ok := s.attempts[id]; return r, ok }

func (s *State) Organisations() []*Organisation { return sortedRows(s.organisations) }
func (s *State) Farms() []*Farm                 { return sortedRows(s.farms) }
func (s *State) Profiles() []*Profile           { return sortedRows(s.profiles) }
func (s *State) Devices() []*Device             { return sortedRows(s.devices) }
func (s *State) Endpoints() []*Endpoint         { return sortedRows(s.endpoints) }
func (s *State) Rules() []*Rule                 { return sortedRows(s.rules) }
func (s *State) Intents() []*Intent             { return sortedRows(s.intents) }
func (s *State) OpenAttempts() []*Attempt       { return sortedRows(s.attempts) }

// DeviceBySerial finds the device that a topic names.
func (s *State) DeviceBySerial(serial string) (*Device, bool) {
	id, ok := s.bySerial[serial]
	if !ok {
		return nil, false
	}
	return s.devices[id], true
}

// EndpointsOf lists a device's endpoints, sorted.
func (s *State) EndpointsOf(id term.DeviceID) []term.EndpointID { return s.byDevice[id] }

// TriggeredBy lists the rules that an endpoint triggers, sorted.
func (s *State) TriggeredBy(id term.EndpointID) []term.RuleID { return s.byTrigger[id] }

// IntentByCommand finds an open command by its id on the wire.
func (s *State) IntentByCommand(id term.CommandID) (*Intent, bool) {
	i, ok := s.byCommand[id]
	if !ok {
		return nil, false
	}
	return s.intents[i], true
}

// Holder is the command that holds an endpoint.
func (s *State) Holder(id term.EndpointID) (*Intent, bool) {
	i, ok := s.holder[id]
	if !ok {
		return nil, false
	}
	return s.intents[i], true
}

// Queue lists the commands that wait for an endpoint, oldest first.
func (s *State) Queue(id term.EndpointID) []term.IntentID { return s.queue[id] }

// OpenAttemptOf is the attempt of a command that is being sent.
func (s *State) OpenAttemptOf(id term.IntentID) (*Attempt, bool) {
	a, ok := s.openAttempt[id]
	if !ok {
		return nil, false
	}
	return s.attempts[a], true
}

// PublishesOpen counts open attempts: handed out and not yet answered, or left by an earlier life and not yet
// judged.
func (s *State) PublishesOpen() int {
	return len(s.attempts)
}

// Held finds an open hold.
func (s *State) Held(subject string, reason term.HoldReason) (*Hold, bool) {
	id, ok := s.held[holdKey(subject, reason)]
	if !ok {
		return nil, false
	}
	return s.holds[id], true
}

// Holds lists the open holds, sorted by id.
func (s *State) Holds() []*Hold { return sortedRows(s.holds) }

// PendingEvents lists up to n events whose rules are not evaluated yet, oldest first.
func (s *State) PendingEvents(n int) []term.EventID {
	return slices.Clone(s.pending[:min(n, len(s.pending))])
}

// WaitingAt lists up to n commands that a waiting gate stops, sorted by id: oldest event first.
func (s *State) WaitingAt(gate term.Gate, n int) []term.IntentID {
	return slices.Clone(s.waiting[gate][:min(n, len(s.waiting[gate]))])
}

// specIndex finds catalogue entries by key and by telemetry key.
type specIndex struct{ byKey, byTelemetry map[string]*term.EndpointSpec }

func indexSpecs(p *Profile) specIndex {
	x := specIndex{map[string]*term.EndpointSpec{}, map[string]*term.EndpointSpec{}}
	for i := range p.Endpoints {
		spec := &p.Endpoints[i]
		x.byKey[spec.Key] = spec
		x.byTelemetry[spec.TelemetryKey()] = spec
	}
	return x
}

// Spec is the catalogue entry of an endpoint.
func (s *State) Spec(e *Endpoint) (*term.EndpointSpec, bool) {
	d, ok := s.devices[e.DeviceID]
	if !ok {
		return nil, false
	}
	spec, ok := s.specs[d.ProfileID].byKey[e.EndpKey]
	return spec, ok
}

// SpecByTelemetry is the catalogue entry that a telemetry key of a device means.
func (s *State) SpecByTelemetry(d *Device, key string) (*term.EndpointSpec, bool) {
	spec, ok := s.specs[d.ProfileID].byTelemetry[key]
	return spec, ok
}

// Timing of a device, with defaults filled in.
func (s *State) Timing(id term.DeviceID) term.Timing {
	if d, ok := s.devices[id]; ok {
		if p, ok := s.profiles[d.ProfileID]; ok {
			return p.Timing.WithDefaults()
		}
	}
	return term.Timing{}.WithDefaults()
}

// Mute takes a timer out until its row changes or the picture is loaded again: after its message was parked.
func (s *State) Mute(d Due) { s.due.drop(d.Kind, d.Key) }

// NextDue is the earliest due time of the picture.
func (s *State) NextDue() (Due, bool) { return s.due.first() }

func holdKey(subject string, reason term.HoldReason) string { return subject + "\x00" + string(reason) }

// replace takes before out of the picture and puts after in, with every index: the one place that keeps
// them in step. Undo is replace with the two swapped.
func (s *State) replace(before, after Row) {
	if before != nil && before.Open() {
		s.remove(before)
	}
	if after != nil && after.Open() {
		s.insert(after)
	}
}

func (s *State) insert(r Row) {
	switch r := r.(type) {
	case *Organisation:
		s.organisations[r.ID] = r
	case *Farm:
		s.farms[r.ID] = r
	case *Profile:
		s.profiles[r.ID] = r
		s.specs[r.ID] = indexSpecs(r)
	case *Device:
		s.devices[r.ID] = r
		s.bySerial[r.Serial] = r.ID
	case *Endpoint:
		s.endpoints[r.ID] = r
		addSorted(s.byDevice, r.DeviceID, r.ID)
	case *Rule:
		s.rules[r.ID] = r
		addSorted(s.byTrigger, r.Trigger, r.ID)
	case *Event:
		s.events[r.ID] = r
		s.pending = insertSorted(s.pending, r.ID)
	case *Execution:
		s.executions[r.ID] = r
	case *Intent:
		s.intents[r.ID] = r
		if r.CommandID != "" {
			s.byCommand[r.CommandID] = r.ID
		}
		if r.HoldsEndpoint {
			if other, taken := s.holder[r.EndpointID]; taken && other != r.ID {
				broken(5, "endpoint %s is held by %s and %s", r.EndpointID, other, r.ID)
			}
			s.holder[r.EndpointID] = r.ID
		} else {
			s.queue[r.EndpointID] = s.enqueue(s.queue[r.EndpointID], r)
		}
		if r.WaitingFor != term.GateNone {
			addSorted(s.waiting, r.WaitingFor, r.ID)
		}
		s.due.set(Due{At: r.DueAt, Kind: KindIntent, Key: string(r.ID), Version: r.Version})
	case *Attempt:
		s.attempts[r.ID] = r
		s.openAttempt[r.IntentID] = r.ID
	case *Hold:
		s.holds[r.ID] = r
		s.held[holdKey(r.Subject, r.Reason)] = r.ID
	default:
		broken(13, "%s does not belong into the picture", r.Kind())
	}
}

func (s *State) remove(r Row) {
	switch r := r.(type) {
	case *Organisation:
		delete(s.organisations, r.ID)
	case *Farm:
		delete(s.farms, r.ID)
	case *Profile:
		delete(s.profiles, r.ID)
		delete(s.specs, r.ID)
	case *Device:
		delete(s.devices, r.ID)
		if s.bySerial[r.Serial] == r.ID { // another device may have taken it over in the same turn
			delete(s.bySerial, r.Serial)
		}
	case *Endpoint:
		delete(s.endpoints, r.ID)
		dropSorted(s.byDevice, r.DeviceID, r.ID)
	case *Rule:
		delete(s.rules, r.ID)
		dropSorted(s.byTrigger, r.Trigger, r.ID)
	case *Event:
		delete(s.events, r.ID)
		s.pending = deleteSorted(s.pending, r.ID)
	case *Execution:
		delete(s.executions, r.ID)
	case *Intent:
		delete(s.intents, r.ID)
		delete(s.byCommand, r.CommandID)
		if r.HoldsEndpoint {
			delete(s.holder, r.EndpointID)
		} else {
			s.dequeue(r)
		}
		dropSorted(s.waiting, r.WaitingFor, r.ID)
		s.due.drop(KindIntent, string(r.ID))
	case *Attempt:
		delete(s.attempts, r.ID)
		delete(s.openAttempt, r.IntentID)
	case *Hold:
		delete(s.holds, r.ID)
		delete(s.held, holdKey(r.Subject, r.Reason))
	default:
		broken(13, "%s does not belong into the picture", r.Kind())
	}
}

// enqueue keeps a queue in order of creation.
func (s *State) enqueue(q []term.IntentID, r *Intent) []term.IntentID {
	at, _ := slices.BinarySearchFunc(q, r, func(id term.IntentID, r *Intent) int {
		o := s.intents[id]
		if o == r || o.ID == r.ID {
			return 0
		}
		if c := o.CreatedAt.Compare(r.CreatedAt); c != 0 {
			return c
		}
		return cmp.Compare(o.ID, r.ID)
	})
	return slices.Insert(slices.Clone(q), at, r.ID)
}

func (s *State) dequeue(r *Intent) {
	q := s.queue[r.EndpointID]
	if at := slices.Index(q, r.ID); at >= 0 {
		q = slices.Delete(slices.Clone(q), at, at+1)
	}
	if len(q) == 0 {
		delete(s.queue, r.EndpointID)
		return
	}
	s.queue[r.EndpointID] = q
}

func addSorted[K comparable, V cmp.Ordered](m map[K][]V, k K, v V) { m[k] = insertSorted(m[k], v) }

func dropSorted[K comparable, V cmp.Ordered](m map[K][]V, k K, v V) {
	if l := deleteSorted(m[k], v); len(l) > 0 {
		m[k] = l
	} else {
		delete(m, k)
	}
}

func insertSorted[V cmp.Ordered](l []V, v V) []V {
	at, found := slices.BinarySearch(l, v)
	if found {
		return l
	}
	return slices.Insert(l, at, v)
}

func deleteSorted[V cmp.Ordered](l []V, v V) []V {
	at, found := slices.BinarySearch(l, v)
	if !found {
		return l
	}
	return slices.Delete(l, at, at+1)
}

// broken ends the process: an invariant of quality.md does not hold.
func broken(invariant int, format string, args ...any) {
	panic(fmt.Sprintf("invariant %d: %s", invariant, fmt.Sprintf(format, args...)))
}
