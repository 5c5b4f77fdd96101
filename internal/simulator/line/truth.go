package line

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Truth is what really happened in the cell, in order.
type Truth struct {
	Actions  []Action                  // begun by the robot
	Executed map[uint32]int            // by action_no: how often it was begun
	Cycles   []Cycle                   // begun by machines
	Started  map[string]map[uint32]int // by machine and start_no, or marker and number: how often it was begun
	Ignored  []Ignored                 // edges of go and requests that began nothing, and lines not understood
	Readings []Reading
	Marks    []Mark // begun by markers
	Parts    map[string]Part
	// Violations are what should never happen; the test that provoked none expects none.
	Violations []Violation
	Faults     map[string]int // "endpoint/fault" or "endpoint/link/fault": how often it really struck
	Forgotten  int            // entries and parts no longer here, see Options.TruthSize
}

// Outcome is how an action or a cycle ended.
type Outcome string

// The outcomes. Abandoned: power was lost, or the machine went into fault, and it will never end by itself.
const (
	Running   Outcome = "running"
	Done      Outcome = "done"
	Failed    Outcome = "failed"
	Abandoned Outcome = "abandoned"
)

// Action is one action the robot has begun.
type Action struct {
	No             uint32
	Code, From, To uint16
	Begun, Ended   time.Time // Ended is zero while it runs
	Outcome        Outcome
	Error, PartAt  uint16 // as shown on the wire at its end
	Part           string // id of the part that was picked or placed; empty: none
}

// Cycle is one cycle a machine has begun.
type Cycle struct {
	Machine      string
	No           uint32 // start_no
	Slot         int    // from 1; 0: all (batch)
	Program      uint16
	Parts        []string // in the slots at the start
	Begun, Ended time.Time
	Outcome      Outcome
	Pass         uint16 // 0 none, 1 pass, 2 fail
	Count        uint32 // the counter shown with its done; 0: not shown yet
	Raised       int    // how often done rose for it; 1 for an honest machine
}

// Ignored is a request that began nothing.
type Ignored struct {
	At       time.Time
	Endpoint string
	No       uint32
	Reason   string
}

// Reading is one answer of a scanner.
type Reading struct {
	At         time.Time
	Scanner    string
	Connection int    // counts from 1
	Part       string // in the gripper at the station; empty: none
	Line       string // as answered; empty: no answer
}

// Mark is one mark that a marker has begun.
type Mark struct {
	Marker       string
	No           uint32
	Text         string
	Part         string // held at the station when it began; empty: none
	Begun, Ended time.Time
	Outcome      Outcome // Failed and Abandoned put nothing on the part
}

// Part is one physical part.
type Part struct {
	ID, Code string
	Origin   Place // where it first stood
	At       Place
	Bad      bool
	Marks    []string // what is on it, in order
	Steps    []Step   // in order
}

// Step is one thing that happened to a part: it came to a place, or a machine worked on it where it was.
type Step struct {
	At      time.Time
	Place   Place
	By      string // "pallet", "hand", "robot 17" (action_no), or the machine's name
	Worked  bool
	Program uint16 // if worked
	Pass    uint16 // if worked
	Text    string // if marked
}

// Route is a part's history in one line, such as "1 gripper 40 mill:3 gripper marker=A.1 90": places, machine:program, and
// marker=text.
func (p Part) Route() string {
	words := make([]string, len(p.Steps))
	for i, s := range p.Steps {
		words[i] = s.Place.String()
		if s.Worked {
			words[i] = fmt.Sprintf("%s:%d", s.By, s.Program)
		}
		if s.Text != "" {
			words[i] = fmt.Sprintf("%s=%s", s.By, s.Text)
		}
	}
	return strings.Join(words, " ")
}

// Kind is a kind of violation.
type Kind string

// The violations. After each of them the cell goes on as the real one would; what that is, is said here.
const (
	PickFromEmpty         Kind = "pick from an empty place"     // error, part_at 0
	PickWithFullGripper   Kind = "pick with a full gripper"     // error, part_at 1
	PlaceOntoOccupied     Kind = "place onto an occupied place" // error, part_at 2
	PlaceWithEmptyGripper Kind = "place with an empty gripper"  // error, part_at 0
	PickInProcess         Kind = "pick from a slot in process"  // the part is torn out
	LoadInProcess         Kind = "load into a slot in process"  // the part is put in
	BadCommand            Kind = "command that means nothing"   // error, nothing has moved
	StartedEmpty          Kind = "machine started with no part" // it runs
	ActionTwice           Kind = "action number executed twice" // it is done
	StartTwice            Kind = "start number executed twice"  // it runs
	MarkTwice             Kind = "mark number executed twice"   // it is done
	MarkedTwice           Kind = "part marked twice alike"      // with the same text: both are on it
	MarkedNothing         Kind = "mark without a part"          // it ends as if there were one
	MarkMoved             Kind = "part moved while marked"      // nothing readable is on it
)

// Violation is one broken law of the cell.
type Violation struct {
	At       time.Time
	Kind     Kind
	Endpoint string
	No       uint32 // action_no, start_no or the number of a mark
	Place    Place
	Part     string
}

func (v Violation) String() string {
	return fmt.Sprintf("%s: %s (number %d, place %s, part %q)", v.Endpoint, v.Kind, v.No, v.Place, v.Part)
}

// record is Truth while it grows; entries are shared with what is still running.
type record struct {
	Truth
	actions []*Action
	cycles  []*Cycle
	marks   []*Mark
}

func newRecord() record {
	return record{Truth: Truth{
		Executed: map[uint32]int{}, Started: map[string]map[uint32]int{}, Faults: map[string]int{},
	}}
}

func (w *World) violate(v Violation) {
	v.At = time.Now()
	w.touch()
	if len(w.truth.Violations) >= w.o.TruthSize {
		w.truth.Forgotten++
	} else {
		w.truth.Violations = append(w.truth.Violations, v)
	}
	w.untold = append(w.untold, v)
}

func (w *World) ignore(endpoint string, no uint32, reason string) {
	w.truth.Ignored = append(w.truth.Ignored, Ignored{At: time.Now(), Endpoint: endpoint, No: no, Reason: reason})
	w.touch()
}

// trim forgets the oldest once a list holds twice its bound, so that trimming costs little.
func (w *World) trim() {
	w.truth.actions = keep(w.truth.actions, w.o.TruthSize, &w.truth.Forgotten)
	w.truth.cycles = keep(w.truth.cycles, w.o.TruthSize, &w.truth.Forgotten)
	w.truth.marks = keep(w.truth.marks, w.o.TruthSize, &w.truth.Forgotten)
	w.truth.Ignored = keep(w.truth.Ignored, w.o.TruthSize, &w.truth.Forgotten)
	w.truth.Readings = keep(w.truth.Readings, w.o.TruthSize, &w.truth.Forgotten)
}

func keep[T any](list []T, size int, forgotten *int) []T {
	if len(list) <= 2*size {
		return list
	}
	*forgotten += len(list) - size
	return slices.Clone(list[len(list)-size:])
}

func (w *World) cloneTruth() Truth {
	t := w.truth.Truth
	for _, a := range w.truth.actions {
		t.Actions = append(t.Actions, *a)
	}
	for _, c := range w.truth.cycles {
		// A cycle's Parts are never written to again.
		t.Cycles = append(t.Cycles, *c)
	}
	for _, m := range w.truth.marks {
		t.Marks = append(t.Marks, *m)
	}
	t.Executed, t.Faults = maps.Clone(t.Executed), maps.Clone(t.Faults)
	t.Started = make(map[string]map[uint32]int, len(w.truth.Started))
	for name, counts := range w.truth.Started {
		t.Started[name] = maps.Clone(counts)
	}
	t.Ignored, t.Readings, t.Violations = slices.Clone(t.Ignored), slices.Clone(t.Readings), slices.Clone(t.Violations)
	t.Parts = make(map[string]Part, len(w.parts))
	for id, p := range w.parts {
		c := *p
		c.Steps, c.Marks = slices.Clone(p.Steps), slices.Clone(p.Marks)
		t.Parts[id] = c
	}
	return t
}

// Truth is a copy of what has happened up to now.
func (w *World) Truth() Truth {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.cloneTruth()
}

// Wait returns once until is true of the truth, or with the error of ctx. until must not call the World.
func (w *World) Wait(ctx context.Context, until func(Truth) bool) error {
	for {
		w.mu.Lock()
		truth, changed := w.cloneTruth(), w.changed
		w.mu.Unlock()
		if until(truth) {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Snapshot says where every part is, by its id.
func (w *World) Snapshot() map[string]Place {
	w.mu.Lock()
	defer w.mu.Unlock()
	at := make(map[string]Place, len(w.parts))
	for id, p := range w.parts {
		at[id] = p.At
	}
	return at
}
