package scheduler

import (
	"cmp"
	"slices"
	"time"

	"surehand/internal/term"
)

// Decision is what to do now. Reserve comes first: a refill move may already go to a place reserved with it.
type Decision struct {
	Move    *Move // nil: the robot does nothing now
	Reserve []Reservation
	Starts  []Start
	// RefillDone: the refill that a person asked for was answered.
	RefillDone bool
	Explain    term.Plan
	Wait       string    // why the robot does nothing, for the panel; it changes only with the cell
	WakeAt     time.Time // when to look again though nothing happens; zero: never
}

// Move is one action of the robot, or of a tool before which the robot holds the part.
type Move struct {
	Generator string
	Job       term.JobID
	Kind      term.TaskKind
	By        term.EquipmentID
	To        term.Place
}

// Start of a machine: Slot from 1, or 0 for all; Slots are those that it starts.
type Start struct {
	Machine term.EquipmentID
	Slot    int
	Slots   []int
	Program int
}

// Reservation gives a part on the dock its own buffer place.
type Reservation struct {
	Job   term.JobID
	Place int
}

// Plan decides. Places are reserved and machines started whether the robot is free or not.
func Plan(c Cell) Decision {
	p := &planner{c: normal(c)}
	p.reserve()
	p.start()
	p.choose()
	if p.d.Move == nil && p.idle() && p.reserveForIdle() {
		p.choose()
	}
	p.explain()
	p.wake(c.Again)
	return p.d
}

type planner struct {
	c     Cell
	d     Decision
	found []candidate
	waits []string // what machines wait for, in words
}

// normal is a copy in one fixed order: the decision must not depend on how the cell was listed.
func normal(c Cell) Cell {
	c = c.Clone()
	slices.SortFunc(c.Machines, func(a, b Machine) int { return cmp.Compare(a.ID, b.ID) })
	for i := range c.Machines {
		slices.SortFunc(c.Machines[i].Slots, func(a, b Slot) int { return cmp.Compare(a.Number, b.Number) })
	}
	slices.SortFunc(c.Tools, func(a, b Tool) int { return cmp.Compare(a.ID, b.ID) })
	slices.SortFunc(c.Parts, func(a, b Part) int { return before(&a, &b) })
	return c
}

// before tells which of two parts goes first: by the order's priority, then the older order, then the number.
func before(a, b *Part) int {
	return cmp.Or(cmp.Compare(b.Priority, a.Priority), a.Created.Compare(b.Created), cmp.Compare(a.Order, b.Order), cmp.Compare(a.Number, b.Number))
}

// choose generates all moves and takes the best that nothing forbids.
func (p *planner) choose() {
	p.found = p.found[:0]
	for i := range p.c.Parts {
		p.generate(&p.c.Parts[i])
	}
	p.rank()
	p.d.Move = nil
	if i := p.chosen(); i >= 0 {
		m := p.found[i].move
		p.d.Move = &m
	}
}

// chosen is the index of the best move that nothing forbids; -1: none.
func (p *planner) chosen() int {
	return slices.IndexFunc(p.found, func(k candidate) bool { return k.reason == "" })
}

// idle tells whether nothing is under way that could end by itself, and no reading is about to open a way.
func (p *planner) idle() bool {
	if p.c.Halt != "" || p.c.Robot.Busy || p.c.Robot.Why != "" {
		return false
	}
	for i := range p.c.Machines {
		m := &p.c.Machines[i]
		if m.Starting || m.running() || m.Latch != term.LatchNone {
			return false
		}
		for j := range m.Slots {
			if s := &m.Slots[j]; m.Why == "" && (s.Closed || s.Foreign) {
				return false
			}
		}
	}
	return true
}

func (p *planner) wake(at time.Time) {
	if !at.IsZero() && (p.d.WakeAt.IsZero() || at.Before(p.d.WakeAt)) {
		p.d.WakeAt = at
	}
}

func (p *planner) part(id term.JobID) *Part {
	for i := range p.c.Parts {
		if p.c.Parts[i].Job == id {
			return &p.c.Parts[i]
		}
	}
	return nil
}

// at is the part on a place.
func (p *planner) at(place term.Place) *Part {
	for i := range p.c.Parts {
		if p.c.Parts[i].Place == place {
			return &p.c.Parts[i]
		}
	}
	return nil
}

func (p *planner) machine(id term.EquipmentID) *Machine {
	for i := range p.c.Machines {
		if p.c.Machines[i].ID == id {
			return &p.c.Machines[i]
		}
	}
	return nil
}
