package scheduler

import (
	"strings"
	"time"

	"surehand/internal/term"
)

// route of the scenes: turning, scan, milling, mark, heat.
var route = []term.Step{
	{Kind: term.StepMachine, Group: "turning", Program: 1},
	{Kind: term.StepScan, Group: "scan"},
	{Kind: term.StepMachine, Group: "milling", Program: 2},
	{Kind: term.StepMark, Group: "mark"},
	{Kind: term.StepMachine, Group: "heat", Program: 3},
}

// Where a part of a scene is about to do its step.
const (
	turning = iota
	scan
	milling
	mark
	heat
	done
)

// scene is a cell of 8 places with a lathe, two mills, an oven of 4 for batches, scanner and marker, all empty.
func scene(edits ...func(*Cell)) Cell {
	c := Cell{Now: modelNow, Places: 8, RefillAt: 4, RefillBy: 4, Robot: Robot{ID: "robot"},
		Tools: []Tool{{ID: "marker", Does: term.StepMark, Group: "mark"}, {ID: "scanner", Does: term.StepScan, Group: "scan"}},
		Machines: []Machine{machine("lathe", "turning", 1), machine("mill-1", "milling", 1), machine("mill-2", "milling", 1),
			machine("oven", "heat", 4)}}
	c.Machines[3].Batch, c.Machines[3].MaxWait = true, 10*time.Minute
	for _, edit := range edits {
		edit(&c)
	}
	return c
}

func machine(id, group string, slots int) Machine {
	m := Machine{ID: term.EquipmentID(id), Group: group, Latch: term.LatchNone}
	for n := 1; n <= slots; n++ {
		m.Slots = append(m.Slots, Slot{Number: n, State: term.SlotEmpty})
	}
	return m
}

func (c *Cell) find(id term.EquipmentID) *Machine {
	for i := range c.Machines {
		if c.Machines[i].ID == id {
			return &c.Machines[i]
		}
	}
	panic(id)
}

func (c *Cell) job(id term.JobID) *Part {
	for i := range c.Parts {
		if c.Parts[i].Job == id {
			return &c.Parts[i]
		}
	}
	panic(id)
}

// add puts part n of order WO-1 into the scene. at: "dock", "buffer" (its own place), "gripper", "lathe:1" (done),
// "lathe:1 loaded" or "lathe:1 started". Its own buffer place is n.
func add(n int, at string, step int, edits ...func(*Part)) func(*Cell) {
	return func(c *Cell) {
		p := Part{Job: term.NewJobID("WO-1", n), Number: n, Order: "WO-1", Created: modelNow, OrderState: term.OrderRunning, Home: n,
			Step: step, Steps: route, Disposition: term.DispositionNone}
		switch at {
		case "dock":
			p.State, p.Place = term.Queued, term.DockPlace(n)
		case "buffer":
			p.State, p.Place = term.Waiting, term.BufferPlace(n)
		case "gripper":
			p.State, p.Place = term.Moving, term.GripperPlace()
		default:
			c.put(&p, at)
		}
		for _, edit := range edits {
			edit(&p)
		}
		c.Parts = append(c.Parts, p)
	}
}

func (c *Cell) put(p *Part, at string) {
	where, how, _ := strings.Cut(at, " ")
	p.Place = term.SlotPlace(term.SlotID(where))
	id, n := p.Place.Slot()
	s := &c.find(id).Slots[n-1]
	s.State, s.Job, s.Entered = term.SlotOccupied, p.Job, modelNow
	p.State = term.Processing
	switch how {
	case "":
		s.State, p.State, s.Started = term.SlotDone, term.WaitingUnload, modelNow
	case "started":
		s.Started = modelNow
	}
}

// Edits of a part.
func held(why string) func(*Part) { return func(p *Part) { p.Held, p.Settle = why, false } }
func asideOf(p *Part)             { p.Held, p.Settle = string(p.Job)+" is suspended", true }
func scrapped(p *Part)            { p.Disposition = term.DispositionScrap }
func cancelled(p *Part)           { p.Disposition = term.DispositionCancel }
func homeless(p *Part)            { p.Home = 0 }
func urgent(p *Part)              { p.Priority = 5 }
func inOrder(s term.OrderState) func(*Part) {
	return func(p *Part) { p.OrderState = s }
}
func presented(at term.EquipmentID) func(*Part) { return func(p *Part) { p.Presented = at } }

// Edits of a cell.
func broken(id term.EquipmentID, why string) func(*Cell) {
	return func(c *Cell) {
		switch id {
		case c.Robot.ID:
			c.Robot.Why = why
		case "scanner":
			c.Tools[1].Why = why
		case "marker":
			c.Tools[0].Why = why
		default:
			c.find(id).Why = why
		}
	}
}

func halted(why string, settle bool) func(*Cell) {
	return func(c *Cell) { c.Halt, c.Settle = why, settle }
}

func busy(c *Cell) { c.Robot.Busy, c.Robot.Job = true, "WO-9.1" }

func keepPaused(c *Cell) { c.KeepPaused = true }

func latched(id term.EquipmentID) func(*Cell) {
	return func(c *Cell) { c.find(id).Latch = term.LatchAcked }
}

func starting(id term.EquipmentID) func(*Cell) {
	return func(c *Cell) { c.find(id).Starting = true }
}
