package scheduler

import (
	"slices"
	"time"

	"surehand/internal/term"
)

// Cell is what the scheduler knows of the cell at one moment. It refers to nothing outside but the steps of routes,
// which never change. Order within the slices does not matter.
type Cell struct {
	Now time.Time
	// Halt says why nothing new begins; empty: the cell runs. Settle: a part in the gripper may be put down all the same.
	Halt   string
	Settle bool
	// Again is when to look again because a reading is too old to act on; zero: never.
	Again time.Time

	Places             int // of the buffer
	RefillAt, RefillBy int
	RefillAsked        bool
	KeepPaused         bool // a paused part stays in its machine
	NotArrived         int  // parts of started orders that no pallet has brought yet

	Robot    Robot
	Machines []Machine
	Tools    []Tool
	Parts    []Part // that are at the dock or in the cell
}

// Robot and its open action.
type Robot struct {
	ID       term.EquipmentID
	Why      string // it may not be used; empty: it may
	Busy     bool
	Job      term.JobID // of the open action, with the places below
	From, To term.Place
}

// Machine with its slots.
type Machine struct {
	ID       term.EquipmentID
	Group    string
	Batch    bool
	MaxWait  time.Duration
	Why      string // it may not be used; empty: it may
	Latch    term.DoneLatch
	Starting bool // a start is open
	Slots    []Slot
}

// Slot of a machine.
type Slot struct {
	Number  int
	State   term.SlotState
	Job     term.JobID
	Entered time.Time
	Started time.Time // zero: the machine does not work on it yet
	Closed  bool      // the robot cannot reach in now (door, spindle)
	Foreign bool      // the machine reports a part that the record does not have
}

// Tool is a scanner or marker.
type Tool struct {
	ID    term.EquipmentID
	Does  term.StepKind
	Group string
	Why   string // it may not be used; empty: it may
}

// Part is one job with what its order says about it.
type Part struct {
	Job         term.JobID
	Number      int
	Order       term.OrderID
	Priority    int
	Created     time.Time
	OrderState  term.OrderState
	State       term.JobState
	Place       term.Place
	Home        int // its own buffer place; 0: none
	Step        int // index of the next step
	Steps       []term.Step
	Disposition term.Disposition
	Presented   term.EquipmentID
	// Held says why nothing is done with it; empty: nothing holds it. Settle: it may be brought to its own place.
	Held   string
	Settle bool
}

// Clone copies the cell so that the copy can be stepped.
func (c Cell) Clone() Cell {
	c.Machines, c.Tools, c.Parts = slices.Clone(c.Machines), slices.Clone(c.Tools), slices.Clone(c.Parts)
	for i := range c.Machines {
		c.Machines[i].Slots = slices.Clone(c.Machines[i].Slots)
	}
	return c
}

// Next is the part's next step; false: its route is done.
func (p *Part) Next() (term.Step, bool) {
	if p.Step >= len(p.Steps) {
		return term.Step{}, false
	}
	return p.Steps[p.Step], true
}

// Leaves tells whether the part has nothing left to do but to go out.
func (p *Part) Leaves() bool {
	return p.Step >= len(p.Steps) || p.Disposition == term.DispositionScrap || p.Disposition == term.DispositionCancel
}

// home is the part's own buffer place; nowhere: it has none.
func (p *Part) home() term.Place {
	if p.Home == 0 {
		return term.Place{}
	}
	return term.BufferPlace(p.Home)
}

// resting tells whether the part stands somewhere and no action for it is open.
func (p *Part) resting() bool {
	return p.State == term.Queued || p.State == term.Waiting || p.State == term.WaitingUnload
}

func (m *Machine) count(s term.SlotState) (n int) {
	for i := range m.Slots {
		if m.Slots[i].State == s {
			n++
		}
	}
	return n
}

// running tells whether the machine works on a part.
func (m *Machine) running() bool {
	for i := range m.Slots {
		if m.Slots[i].State == term.SlotOccupied && !m.Slots[i].Started.IsZero() {
			return true
		}
	}
	return false
}

func (m *Machine) place(s *Slot) term.Place { return term.SlotPlace(term.NewSlotID(m.ID, s.Number)) }
