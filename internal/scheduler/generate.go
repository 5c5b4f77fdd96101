package scheduler

import (
	"surehand/internal/term"
)

// candidate is one move that was looked at.
type candidate struct {
	move   Move
	part   *Part
	from   term.Place
	reason string // why it is forbidden; empty: it may be done
	why    string // what speaks for it
}

// generate lists the moves of one part.
func (p *planner) generate(q *Part) {
	switch {
	case q.Place.Type == term.OnRobot:
		p.place(q)
	case !q.resting():
		// an action for it is open, a machine works on it, or a person has to judge it
	case q.Held != "" && q.Settle:
		p.settle(q)
	case q.State == term.Queued:
		p.refill(q)
	case q.Leaves():
		p.leave(q)
	default:
		p.next(q)
	}
}

// place brings the part in the gripper to rest, or lets the tool before which it is held do its step first. What
// holds the part or the cell leads it to its own place.
func (p *planner) place(q *Part) {
	m := Move{Generator: "place", Kind: term.TaskMove, By: p.c.Robot.ID, To: q.home()}
	why := "to its own place"
	step, _ := q.Next()
	slot, _ := p.slotFor(q)
	tool, _ := p.toolFor(q)
	switch {
	case q.Held != "" || p.c.Halt != "" && !q.Leaves():
	case q.Leaves():
		m.To, why = term.OutPlace(term.OutExit), "it is ready to leave"
	case tool != nil && q.Presented == tool.ID:
		m.Kind, m.By, m.To = toolTask(step.Kind), tool.ID, term.ToolStation(tool.ID)
		why = "it is held before " + string(tool.ID)
	case slot.Type != "":
		m.To, why = slot, "its next step is free"
	}
	p.add(q, m, why)
}

func toolTask(k term.StepKind) term.TaskKind {
	if k == term.StepMark {
		return term.TaskMark
	}
	return term.TaskScan
}

// settle brings a part that a person put aside out of its machine to its own place, and nothing else.
func (p *planner) settle(q *Part) {
	switch q.State {
	case term.WaitingUnload:
		p.add(q, p.unload(q, q.home()), "it is put aside")
	case term.Queued:
		p.refill(q)
	case term.Waiting:
		if q.Leaves() {
			p.leave(q)
		} else {
			p.next(q)
		}
	}
}

// refill brings a part from the dock to the buffer place that was reserved for it.
func (p *planner) refill(q *Part) {
	p.add(q, Move{Generator: "refill", Kind: term.TaskMove, By: p.c.Robot.ID, To: q.home()}, "its buffer place is reserved")
}

// leave brings a part that has nothing left to do to the exit.
func (p *planner) leave(q *Part) {
	m := p.unload(q, term.OutPlace(term.OutExit))
	if q.State == term.Waiting || q.Disposition != term.DispositionNone && m.Generator == "unload" {
		m.Generator = "retire"
	}
	p.add(q, m, "it is ready to leave")
}

// unload empties a slot. It is a swap when a waiting part would take the slot at once.
func (p *planner) unload(q *Part, to term.Place) Move {
	m := Move{Generator: "unload", Kind: term.TaskMove, By: p.c.Robot.ID, To: to}
	if q.State == term.WaitingUnload && p.wanted(q) != nil {
		m.Generator = "swap"
	}
	return m
}

// wanted is the first part on the buffer that would take the slot of a finished part at once. The end of the
// machine's handshake is not waited for: it takes less than the robot's way. A batch machine is wanted only with
// its last finished part.
func (p *planner) wanted(q *Part) *Part {
	m := p.machineOf(q)
	if m == nil || m.Why != "" || m.Batch && m.count(term.SlotDone)+m.count(term.SlotOccupied) > 1 {
		return nil
	}
	for i := range p.c.Parts {
		w := &p.c.Parts[i]
		step, more := w.Next()
		if w.State == term.Waiting && w.Held == "" && !w.Leaves() && more && step.Kind.InMachine() && step.Group == m.Group && w.started() {
			return w
		}
	}
	return nil
}

// next brings a part that rests in the cell to its next step; from a machine directly where that is free, else out
// of the machine to its own place.
func (p *planner) next(q *Part) {
	step, _ := q.Next()
	m := Move{Kind: term.TaskMove, By: p.c.Robot.ID}
	if step.Kind.InMachine() {
		m.Generator = "load"
		if q.State == term.WaitingUnload {
			m.Generator = "transfer"
		}
		m.To, _ = p.slotFor(q)
		p.add(q, m, "a slot of its next step is free")
	} else {
		m.Generator = "tool"
		if t, _ := p.toolFor(q); t != nil {
			m.To = term.ToolStation(t.ID)
		}
		p.add(q, m, "its next step is there")
	}
	if q.State == term.WaitingUnload {
		direct := p.found[len(p.found)-1]
		out := p.unload(q, q.home())
		p.add(q, out, "its next step is not free yet")
		if k := &p.found[len(p.found)-1]; direct.reason == "" && k.reason == "" {
			k.reason = "can go on directly to " + direct.move.To.Ref
		}
	}
}
