package scheduler

import (
	"fmt"

	"surehand/internal/term"
)

// add keeps a move together with what forbids it.
func (p *planner) add(q *Part, m Move, why string) {
	m.Job = q.Job
	if m.Generator == "swap" {
		why += fmt.Sprintf(", and %s waits for the slot", p.wanted(q).Job)
	}
	p.found = append(p.found, candidate{move: m, part: q, from: q.Place, reason: p.forbids(q, &m), why: why})
}

// forbids says why a move cannot be done now; empty: it can. The first that applies is told: the cell, the robot,
// the order and the part, where it is, where it goes.
func (p *planner) forbids(q *Part, m *Move) string {
	why := p.cellForbids(m)
	if why == "" {
		why = p.robotForbids(q, m)
	}
	if why == "" {
		why = p.partForbids(q, m)
	}
	if why == "" {
		why = p.sourceForbids(q)
	}
	if why == "" {
		why = p.targetForbids(q, m)
	}
	return why
}

func (p *planner) cellForbids(m *Move) string {
	if p.c.Halt != "" && !(m.Generator == "place" && p.c.Settle) {
		return p.c.Halt
	}
	return ""
}

func (p *planner) robotForbids(q *Part, m *Move) string {
	switch r := &p.c.Robot; {
	case r.Busy:
		return fmt.Sprintf("%s is busy with %s", r.ID, r.Job)
	case r.Why != "":
		return r.Why
	}
	for i := range p.c.Parts {
		if o := &p.c.Parts[i]; o.Place.Type == term.OnRobot && o.Job != q.Job {
			return fmt.Sprintf("%s holds %s", p.c.Robot.ID, o.Job)
		}
	}
	return ""
}

// started tells whether the part's order may be worked on.
func (p *Part) started() bool {
	return p.OrderState == term.OrderReady || p.OrderState == term.OrderRunning || p.OrderState == term.OrderStopping
}

func (p *planner) partForbids(q *Part, m *Move) string {
	home := m.To == q.home()
	switch {
	case q.Held != "" && !q.Settle:
		return q.Held
	case q.Held != "" && m.Generator == "place" && home:
	case q.Held != "" && q.State == term.WaitingUnload && home && !p.c.KeepPaused:
	case q.Held != "":
		return q.Held
	case m.Generator == "place":
	case !q.started():
		return fmt.Sprintf("order %s is %s", q.Order, q.OrderState)
	case m.Generator == "refill" && q.Leaves():
		return string(q.Job) + " is to leave with its pallet"
	case m.Generator == "refill" && q.OrderState == term.OrderStopping:
		return fmt.Sprintf("order %s is %s", q.Order, q.OrderState)
	}
	return ""
}

// sourceForbids: a part is taken only out of a slot that the robot can reach and whose record agrees.
func (p *planner) sourceForbids(q *Part) string {
	if q.Place.Type != term.OnEquipment {
		return ""
	}
	id, n := q.Place.Slot()
	m := p.machine(id)
	if m == nil {
		return fmt.Sprintf("%s is not in the plant file", id)
	}
	if m.Why != "" {
		return m.Why
	}
	for i := range m.Slots {
		s := &m.Slots[i]
		switch {
		case s.Number != n:
		case s.Job != q.Job || s.State != term.SlotDone:
			return fmt.Sprintf("%s is %s with %q in the record", q.Place.Ref, s.State, s.Job)
		case s.Closed:
			return q.Place.Ref + " is not open for the robot"
		default:
			return ""
		}
	}
	return q.Place.Ref + " is not in the plant file"
}

func (p *planner) targetForbids(q *Part, m *Move) string {
	step, _ := q.Next()
	switch {
	case m.Kind != term.TaskMove:
		return "" // the tool was chosen because it is usable
	case m.To.Type == term.Out:
		return ""
	case m.To == q.home():
		return p.homeForbids(q)
	case q.Home == 0:
		return fmt.Sprintf("%s has no buffer place of its own", q.Job)
	case step.Kind.InMachine():
		_, why := p.slotFor(q)
		return why
	}
	_, why := p.toolFor(q)
	return why
}

func (p *planner) homeForbids(q *Part) string {
	switch {
	case q.Home == 0 && q.State == term.Queued:
		return "no buffer place is reserved for it yet"
	case q.Home == 0:
		return fmt.Sprintf("%s has no buffer place of its own", q.Job)
	case q.Home > p.c.Places:
		return fmt.Sprintf("buffer place %d is not in the plant file", q.Home)
	}
	if o := p.at(q.home()); o != nil && o.Job != q.Job {
		return fmt.Sprintf("%s is on buffer place %d", o.Job, q.Home)
	}
	return ""
}

// toolFor is the tool of the part's next step, or why there is none. The one before which it is held goes first.
func (p *planner) toolFor(q *Part) (*Tool, string) {
	step, more := q.Next()
	if !more || step.Kind.InMachine() {
		return nil, "its next step is no tool's"
	}
	var best *Tool
	why := fmt.Sprintf("no %s tool in group %s", step.Kind, step.Group)
	for i := range p.c.Tools {
		t := &p.c.Tools[i]
		switch {
		case t.Does != step.Kind || t.Group != step.Group:
		case t.Why != "":
			why = t.Why
		case best == nil || t.ID == q.Presented:
			best = t
		}
	}
	if best != nil {
		return best, ""
	}
	return nil, why
}

// slotFor is the slot that the part's next step would take now, or why there is none. Of several batch machines the
// fullest goes first, so that batches get full; else the first by name.
func (p *planner) slotFor(q *Part) (term.Place, string) {
	step, more := q.Next()
	if !more || !step.Kind.InMachine() {
		return term.Place{}, "its next step is no machine's"
	}
	var best term.Place
	machines, filled, why := 0, -1, ""
	for i := range p.c.Machines {
		m := &p.c.Machines[i]
		if m.Group != step.Group {
			continue
		}
		machines++
		place, no := p.freeSlot(m, step.Program)
		n := 0
		if m.Batch {
			n = m.count(term.SlotOccupied)
		}
		if no != "" {
			why = no
		} else if n > filled {
			best, filled = place, n
		}
	}
	switch {
	case filled >= 0:
		return best, ""
	case machines == 0:
		return best, "no machine in group " + step.Group
	case machines > 1:
		return best, "no free slot in group " + step.Group
	}
	return best, why
}

// freeSlot is the first slot of a machine that may be loaded, or why none may.
func (p *planner) freeSlot(m *Machine, program int) (term.Place, string) {
	switch {
	case m.Why != "":
		return term.Place{}, m.Why
	case m.Latch != term.LatchNone:
		return term.Place{}, fmt.Sprintf("done of the last cycle not over at %s", m.ID)
	case m.Batch && m.Starting:
		return term.Place{}, fmt.Sprintf("batch machine %s is being started", m.ID)
	case m.Batch && m.running():
		return term.Place{}, fmt.Sprintf("batch machine %s is running", m.ID)
	case m.Batch && m.count(term.SlotDone) > 0:
		return term.Place{}, fmt.Sprintf("%s still holds finished parts", m.ID)
	}
	if other, filled := p.filledFor(m); m.Batch && filled && other != program {
		return term.Place{}, fmt.Sprintf("%s is being filled for program %d", m.ID, other)
	}
	why := fmt.Sprintf("no free slot in %s", m.ID)
	for i := range m.Slots {
		s := &m.Slots[i]
		place := m.place(s)
		if s.State != term.SlotEmpty {
			continue
		}
		switch {
		case s.Foreign:
			why = fmt.Sprintf("%s reports a part in %s", m.ID, place.Ref)
		case p.at(place) != nil:
			why = fmt.Sprintf("%s is in %s by the record", p.at(place).Job, place.Ref)
		case s.Closed:
			why = place.Ref + " is not open for the robot"
		default:
			return place, ""
		}
	}
	return term.Place{}, why
}

// filledFor is the program that the parts in a batch machine need, held or not; false: it is empty.
func (p *planner) filledFor(m *Machine) (program int, filled bool) {
	for i := range m.Slots {
		if q := p.part(m.Slots[i].Job); q != nil {
			if step, more := q.Next(); more {
				return step.Program, true
			}
		}
	}
	return 0, false
}
