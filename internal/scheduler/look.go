package scheduler

import (
	"time"

	"surehand/internal/plant"
	"surehand/internal/term"
)

// Look takes the picture of the cell that Plan decides on.
func Look(s *plant.State, session *plant.Session, now time.Time) Cell {
	l := looker{s: s, session: session, c: Cell{Now: now}}
	if cell, ok := s.Cell(); ok {
		l.c.Places = cell.Config.Buffer.Count
		l.c.RefillAt, l.c.RefillBy = cell.Config.Options.Refill(l.c.Places)
		l.c.RefillAsked, l.c.KeepPaused = cell.RefillAsked, cell.Config.Options.KeepPausedInMachine
	}
	l.equipment()
	l.parts()
	l.halt()
	return l.c
}

type looker struct {
	s       *plant.State
	session *plant.Session
	c       Cell
}

// halt says why the cell does not run. A question about the cell outweighs a pause: nothing moves then.
func (l *looker) halt() {
	_, known := l.s.Cell()
	held, settle := l.held(plant.CellSubject, "cell")
	switch {
	case !known:
		l.c.Halt = "no plant file was imported"
	case l.c.Robot.ID == "":
		l.c.Halt = "the cell has no robot"
	case held != "":
		l.c.Halt, l.c.Settle = held, settle
	case l.session.Stopping():
		l.c.Halt, l.c.Settle = "surehand is stopping", true
	}
}

// held says in words what holds a subject. settle: a person put it aside, and nothing about it is in doubt.
func (l *looker) held(subject, name string) (why string, settle bool) {
	reason := l.s.HeldFor(subject)
	if reason == "" {
		return "", false
	}
	if len(l.s.AskedAbout(subject)) > 0 {
		return "question open about " + subject, false
	}
	switch term.HoldReason(reason) {
	case term.HoldRecovery:
		if subject == plant.CellSubject && l.session.Compared() {
			return "the recovery has to be confirmed", false
		}
		return name + " is not compared with the machines yet", false
	case term.HoldParked:
		return "a message about " + name + " could not be decided", false
	}
	return name + " is " + reason, true
}

func (l *looker) equipment() {
	for _, e := range l.s.Equipment() {
		switch e.Type {
		case term.KindRobot:
			if l.c.Robot.ID == "" {
				l.c.Robot = l.robot(e)
			}
		case term.KindMachine:
			l.c.Machines = append(l.c.Machines, l.machine(e))
		case term.KindScanner:
			l.c.Tools = append(l.c.Tools, Tool{ID: e.ID, Does: term.StepScan, Group: e.Config.Group, Why: l.unusable(e)})
		case term.KindMarker:
			l.c.Tools = append(l.c.Tools, Tool{ID: e.ID, Does: term.StepMark, Group: e.Config.Group, Why: l.unusable(e)})
		}
	}
}

func (l *looker) robot(e *plant.Equipment) Robot {
	r := Robot{ID: e.ID, Why: l.unusable(e)}
	if t, busy := l.s.RobotTask(); busy {
		r.Busy, r.Job, r.From, r.To = true, t.JobID, t.From, t.To
	}
	return r
}

func (l *looker) machine(e *plant.Equipment) Machine {
	m := Machine{ID: e.ID, Group: e.Config.Group, Batch: e.Config.Batch, MaxWait: time.Duration(e.Config.MaxWait), Latch: e.Latch, Why: l.unusable(e)}
	_, m.Starting = l.s.StartOf(e.ID)
	o, _ := l.session.Observed(e.ID)
	for _, s := range l.s.SlotsOf(e.ID) {
		m.Slots = append(m.Slots, Slot{Number: s.Number, State: s.State, Job: s.JobID, Entered: s.EnteredAt, Started: s.StartedAt,
			Closed: !o.Reading.ReadySlots.Has(s.Number), Foreign: s.State == term.SlotEmpty && o.Reading.Occupied.Has(s.Number)})
	}
	return m
}

// unusable says why an equipment may not be driven. A reading that is too old is no reason to believe anything: the
// worker would read again, but a plan made on it may be wrong for all others.
func (l *looker) unusable(e *plant.Equipment) string {
	name := string(e.ID)
	o, seen := l.session.Observed(e.ID)
	if h, disabled := l.s.Held(plant.EquipmentSubject(e.ID), term.HoldDisabled); disabled {
		return name + " is disabled by " + h.By + ": " + h.Why
	}
	if _, held := l.s.Held(plant.EquipmentSubject(e.ID), term.HoldRecovery); held && seen && !o.Reading.Reached {
		return name + " cannot be reached" // it is compared when it returns
	}
	if why, _ := l.held(plant.EquipmentSubject(e.ID), name); why != "" {
		return why
	}
	stale := o.At.Add(time.Duration(e.Config.Driver.WithDefaults().Stale))
	switch {
	case e.Status == term.Offline:
		return name + " is OFFLINE"
	case e.Status == term.EquipmentFault || seen && o.Reading.Fault != 0:
		return name + " is in FAULT"
	case !seen:
		return name + " was not heard since the start"
	case !o.Reading.Reached:
		return name + " is not reached"
	case l.c.Now.After(stale):
		// A reading that comes and says the same changes nothing that anybody would look at again for.
		l.again(l.c.Now.Add(time.Duration(e.Config.Driver.WithDefaults().Stale)))
		return name + " has no fresh reading"
	case !o.Reading.Ready && (e.Type == term.KindRobot || e.Type == term.KindMachine):
		return name + " is not ready"
	}
	return ""
}

func (l *looker) again(at time.Time) {
	if l.c.Again.IsZero() || at.Before(l.c.Again) {
		l.c.Again = at
	}
}

func (l *looker) parts() {
	inCell := map[term.OrderID]int{}
	for _, j := range l.s.Placed() {
		o, ok := l.s.Order(j.OrderID)
		if !ok {
			continue // Load refuses such a picture
		}
		inCell[o.ID]++
		l.c.Parts = append(l.c.Parts, l.part(o, j))
	}
	for _, o := range l.s.Orders() {
		if o.State != term.OrderDraft {
			l.c.NotArrived += max(0, o.Left()-inCell[o.ID])
		}
	}
}

func (l *looker) part(o *plant.Order, j *plant.Job) Part {
	p := Part{Job: j.ID, Number: j.Number, Order: o.ID, Priority: o.Priority, Created: o.CreatedAt, OrderState: o.State,
		State: j.State, Place: j.Position, Home: j.TempSlotNo, Step: j.StepIndex, Steps: o.Steps,
		Disposition: j.Disposition, Presented: j.Presented}
	part, partSettles := l.held(plant.JobSubject(j.ID), string(j.ID))
	order, orderSettles := l.held(plant.OrderSubject(o.ID), "order "+string(o.ID))
	switch {
	case part != "" && !partSettles:
		p.Held = part
	case order != "" && !orderSettles:
		p.Held = order
	case part != "":
		p.Held, p.Settle = part, true
	case order != "":
		p.Held, p.Settle = order, true
	}
	return p
}
