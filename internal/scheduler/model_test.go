package scheduler

import (
	"fmt"
	"slices"
	"time"

	"surehand/internal/term"
)

// world is a small cell that can be stepped by hand: what the scheduler decides is carried out at once, and what the
// machines, the robot and people do are events that come in any order. It knows nothing of how Plan decides, and
// checks by itself that a decision could be carried out.
type world struct {
	c     Cell // without its parts
	parts []modelPart
	// budget is how many disturbances may still come.
	budget  int
	paused  []bool // orders
	waiting bool   // the last decision wants to be woken
	never   bool   // and never is
}

type modelPart struct {
	Part
	order     int
	away      bool // not arrived
	out       bool
	suspended bool
}

var (
	modelNow = time.Date(2026, 11, 30, 3, 0, 0, 0, time.UTC)
	longAgo  = modelNow.Add(-time.Hour)
)

// event is one thing that happens. Progress comes by itself; the others need a person or a mishap.
type event struct {
	name     string
	progress bool
	costs    bool // one of the budget
	do       func(*world)
}

func (w *world) clone() *world {
	n := *w
	n.c = w.c.Clone()
	n.parts, n.paused = slices.Clone(w.parts), slices.Clone(w.paused)
	return &n
}

// view is what Look would see.
func (w *world) view() Cell {
	c := w.c.Clone()
	for i := range w.parts {
		p := w.parts[i]
		switch {
		case p.out:
			continue
		case p.away:
			c.NotArrived++
			continue
		case p.suspended:
			p.Held, p.Settle = string(p.Job)+" is suspended", true
		case w.paused[p.order]:
			p.Held, p.Settle = "order "+string(p.Order)+" is paused", true
		}
		c.Parts = append(c.Parts, p.Part)
	}
	return c
}

// mustGoOn says why it is not right when nothing more happens by itself; empty: all is done, or a person has to act.
func (w *world) mustGoOn() string {
	ready := w.c.Halt == "" && w.c.Robot.Why == "" && w.c.Tools[0].Why == ""
	for i := range w.c.Machines {
		ready = ready && w.c.Machines[i].Why == ""
	}
	left, held, blocks := "", 0, false
	for i := range w.parts {
		p := &w.parts[i]
		switch {
		case p.out:
		case w.c.Robot.Why == "" && p.Place.Type == term.OnRobot:
			return string(p.Job) + " is in the gripper"
		case !p.suspended && !w.paused[p.order]:
			left = string(p.Job) + " is left"
		case p.Home > 0:
			held++
			blocks = blocks || p.Place.Type == term.OnEquipment // not started with it inside
		}
	}
	if ready && !blocks && held < w.c.Places {
		return left
	}
	return ""
}

func (w *world) part(id term.JobID) *modelPart {
	for i := range w.parts {
		if w.parts[i].Job == id {
			return &w.parts[i]
		}
	}
	panic("no part " + id)
}

func (w *world) slot(place term.Place) (*Machine, *Slot) {
	id, n := place.Slot()
	for i := range w.c.Machines {
		if m := &w.c.Machines[i]; m.ID == id {
			return m, &m.Slots[n-1]
		}
	}
	panic("no slot " + place.String())
}

// decide lets the scheduler look, checks what it decided, and carries it out as far as it is done at once.
func (w *world) decide() error {
	d := Plan(w.view())
	for _, r := range d.Reserve {
		p := w.part(r.Job)
		if p.State != term.Queued || p.Home != 0 || r.Place < 1 || r.Place > w.c.Places || w.homed(r.Place) {
			return fmt.Errorf("reserves %+v", r)
		}
		p.Home = r.Place
	}
	for _, s := range d.Starts {
		if err := w.begin(s); err != nil {
			return fmt.Errorf("starts %+v: %w", s, err)
		}
	}
	if m := d.Move; m != nil {
		if err := w.claim(m); err != nil {
			return fmt.Errorf("moves %+v: %w", *m, err)
		}
	}
	w.waiting = !d.WakeAt.IsZero()
	if (d.Wait == "") != (d.Move != nil) || d.Explain.Why == "" || (d.Explain.Chosen >= 0) != (d.Move != nil) {
		return fmt.Errorf("explains %+v", d)
	}
	return w.check()
}

func (w *world) homed(place int) bool {
	return slices.ContainsFunc(w.parts, func(p modelPart) bool { return !p.out && p.Home == place })
}

func (w *world) begin(s Start) error {
	m, _ := w.slot(term.SlotPlace(term.NewSlotID(s.Machine, 1)))
	if m.Starting || m.Latch != term.LatchNone || m.Why != "" || len(s.Slots) == 0 || w.c.Halt != "" {
		return fmt.Errorf("machine %+v", m)
	}
	for i := range m.Slots {
		l := &m.Slots[i]
		if slices.Contains(s.Slots, l.Number) {
			p := w.part(l.Job)
			step, _ := p.Next()
			if l.State != term.SlotOccupied || !l.Started.IsZero() || step.Group != m.Group || step.Program != s.Program || p.suspended || w.paused[p.order] {
				return fmt.Errorf("slot %+v part %+v", l, p)
			}
			continue
		}
		if m.Batch && l.State != term.SlotEmpty {
			return fmt.Errorf("slot %d is left out of the batch", l.Number)
		}
	}
	if r := &w.c.Robot; m.Batch && r.Busy && (on(r.From, m) || on(r.To, m)) {
		return fmt.Errorf("the robot is at it")
	}
	m.Starting = true
	for _, n := range s.Slots {
		m.Slots[n-1].Started = modelNow // stands for "is being started" until the confirmation
	}
	return nil
}

// claim begins an action of the robot, the way package plant would: the part is MOVING and stays where it is.
func (w *world) claim(m *Move) error {
	p := w.part(m.Job)
	put := p.suspended || w.paused[p.order]
	home := m.To == term.BufferPlace(p.Home)
	gripped := p.Place.Type == term.OnRobot
	switch {
	case w.c.Robot.Busy || w.c.Robot.Why != "":
		return fmt.Errorf("the robot is not free")
	case !gripped && slices.ContainsFunc(w.parts, func(o modelPart) bool { return !o.out && o.Place.Type == term.OnRobot }):
		return fmt.Errorf("the gripper is not empty")
	case !gripped && !p.resting():
		return fmt.Errorf("%s is %s", p.Job, p.State)
	case w.c.Halt != "" && (!gripped || m.Kind != term.TaskMove || !home && m.To.Type != term.Out):
		return fmt.Errorf("the cell does not run")
	case put && !(home && (gripped || p.State == term.WaitingUnload && !w.c.KeepPaused)):
		return fmt.Errorf("the part is put aside")
	case m.To.Type == term.Out && !p.Leaves():
		return fmt.Errorf("the part is not ready")
	case m.To.Type == term.OnBuffer && !home:
		return fmt.Errorf("not its own place")
	case m.To.Type == term.OnEquipment:
		if err := w.mayLoad(p, m.To); err != nil {
			return err
		}
	case m.To.Type == term.OnRobot:
		if step, _ := p.Next(); step.Kind.InMachine() {
			return fmt.Errorf("no tool step")
		}
	}
	if from := p.Place; from.Type == term.OnEquipment {
		if mc, s := w.slot(from); mc.Why != "" || s.State != term.SlotDone {
			return fmt.Errorf("from %+v", mc)
		}
	}
	w.c.Robot.Busy, w.c.Robot.Job, w.c.Robot.From, w.c.Robot.To = true, m.Job, p.Place, m.To
	if m.Kind != term.TaskMove && p.Presented != m.By {
		return fmt.Errorf("not before %s", m.By)
	}
	p.State = term.Moving
	return nil
}

func (w *world) mayLoad(p *modelPart, to term.Place) error {
	m, s := w.slot(to)
	step, more := p.Next()
	switch {
	case s.State != term.SlotEmpty || m.Why != "" || m.Latch != term.LatchNone:
		return fmt.Errorf("into %+v", m)
	case !more || p.Leaves() || !step.Kind.InMachine() || step.Group != m.Group:
		return fmt.Errorf("%s is not its next step", m.ID)
	}
	for i := range m.Slots {
		l := &m.Slots[i]
		if m.Batch && l.State != term.SlotEmpty {
			other, _ := w.part(l.Job).Next()
			if !l.Started.IsZero() || l.State == term.SlotDone || other.Program != step.Program {
				return fmt.Errorf("into the batch %+v", m)
			}
		}
	}
	return nil
}

// check holds the state against what must always be true.
func (w *world) check() error {
	inside := 0
	for i := range w.parts {
		p := &w.parts[i]
		if p.out || p.away {
			continue
		}
		if p.Place.Type != term.OnDock {
			inside++
			if p.Home == 0 {
				return fmt.Errorf("%s is in the cell without a place of its own (C-11)", p.Job)
			}
		}
		for j := range w.parts[:i] {
			if o := &w.parts[j]; !o.out && !o.away && (o.Place == p.Place || o.Home == p.Home && p.Home != 0) {
				return fmt.Errorf("%s and %s are on %s and %s, homes %d and %d (invariant 8)", o.Job, p.Job, o.Place, p.Place, o.Home, p.Home)
			}
		}
		if p.Place.Type == term.OnEquipment {
			if _, s := w.slot(p.Place); s.Job != p.Job || s.State == term.SlotEmpty {
				return fmt.Errorf("%s is in %+v", p.Job, s)
			}
		}
	}
	if inside > w.c.Places {
		return fmt.Errorf("%d parts in a cell of %d places", inside, w.c.Places)
	}
	return nil
}
