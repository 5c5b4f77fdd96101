package scheduler

import (
	"fmt"
	"time"

	"surehand/internal/term"
)

// start decides which machines begin. A machine of which a start is decided here counts as starting from then on,
// so that no move of the same decision goes into a batch that begins. Batches that wait for nothing begin first: what
// is inside them is then on its way to the others.
func (p *planner) start() {
	if p.c.Halt != "" {
		return
	}
	for i := range p.c.Machines {
		m := &p.c.Machines[i]
		switch {
		case !m.startable():
		case m.Batch:
			p.startBatch(m, false)
		default:
			p.startSlot(m)
		}
	}
	for i := range p.c.Machines {
		m := &p.c.Machines[i]
		switch {
		case m.count(term.SlotOccupied) == 0 || m.Starting:
		case m.Why != "":
			p.note("%s", m.Why)
		case m.Latch != term.LatchNone:
			p.note("done of the last cycle not over at %s", m.ID)
		case m.Batch:
			p.startBatch(m, true)
		}
	}
}

// startable tells whether a start of the machine may be asked for at all.
func (m *Machine) startable() bool {
	return m.count(term.SlotOccupied) > 0 && !m.Starting && m.Why == "" && m.Latch == term.LatchNone
}

func (p *planner) note(format string, args ...any) {
	p.waits = append(p.waits, fmt.Sprintf(format, args...))
}

func (p *planner) begin(m *Machine, s Start) {
	s.Machine, m.Starting = m.ID, true
	p.d.Starts = append(p.d.Starts, s)
}

// startSlot starts the slot that was loaded first of those that are not started.
func (p *planner) startSlot(m *Machine) {
	var first *Slot
	var program int
	for i := range m.Slots {
		s := &m.Slots[i]
		if s.State != term.SlotOccupied || !s.Started.IsZero() {
			continue
		}
		n, why := p.program(m, s)
		if why != "" {
			p.note("%s", why)
		} else if first == nil || s.Entered.Before(first.Entered) {
			first, program = s, n
		}
	}
	if first != nil {
		p.begin(m, Start{Slot: first.Number, Slots: []int{first.Number}, Program: program})
	}
}

// program is what a machine has to run for the part in a slot, or why it must not be started with it. A part that is
// to leave is worked on all the same: it can be taken out only when the machine has done.
func (p *planner) program(m *Machine, s *Slot) (program int, why string) {
	q := p.part(s.Job)
	if q == nil {
		return 0, fmt.Sprintf("the part in %s:%d is not known", m.ID, s.Number)
	}
	step, more := q.Next()
	switch {
	case q.Held != "":
		return 0, fmt.Sprintf("%s is not started: %s", m.ID, q.Held)
	case q.State != term.Processing:
		return 0, fmt.Sprintf("%s is not started: %s is %s", m.ID, q.Job, q.State)
	case !more || !step.Kind.InMachine() || step.Group != m.Group:
		return 0, fmt.Sprintf("%s has no step to do in %s", q.Job, m.ID)
	}
	return step.Program, ""
}

// startBatch starts all occupied slots together: when the machine is full, when the first part has waited long
// enough, or, in the second round (rest), when no further part can come to it. It is never started with a part inside
// that is held, and not while the robot has to do with it.
func (p *planner) startBatch(m *Machine, rest bool) {
	b, why := p.batch(m)
	until := b.first.Add(m.MaxWait)
	switch {
	case why != "":
		if rest {
			p.note("%s", why)
		}
	case len(b.slots) == 0 || p.c.Robot.Busy && (on(p.c.Robot.From, m) || on(p.c.Robot.To, m)):
	case len(b.slots) == len(m.Slots), !p.c.Now.Before(until), rest && !p.moreCome(m, b.program):
		p.begin(m, Start{Slots: b.slots, Program: b.program})
	case rest:
		p.note("%s waits for more parts (%d of %d are in it)", m.ID, len(b.slots), len(m.Slots))
		p.wake(until)
	}
}

// batch is what is in a batch machine that has not begun.
type batch struct {
	slots   []int
	program int
	first   time.Time // when the first part was set in
}

// batch gathers what would begin, or says why it must not. No slots and no reason: it runs.
func (p *planner) batch(m *Machine) (b batch, why string) {
	if m.running() {
		return b, ""
	}
	for i := range m.Slots {
		s := &m.Slots[i]
		switch s.State {
		case term.SlotEmpty:
			continue
		case term.SlotDone:
			return b, fmt.Sprintf("%s still holds finished parts", m.ID)
		}
		program, why := p.program(m, s)
		switch {
		case why != "":
			return b, why
		case len(b.slots) > 0 && program != b.program:
			return b, fmt.Sprintf("%s holds parts for different programs", m.ID)
		}
		b.program, b.slots = program, append(b.slots, s.Number)
		if b.first.IsZero() || s.Entered.Before(b.first) {
			b.first = s.Entered
		}
	}
	return b, ""
}

func on(place term.Place, m *Machine) bool {
	id, _ := place.Slot()
	return id == m.ID
}

// moreCome tells whether a further part can come to a batch of this program: it is in the cell or has its buffer
// place, nothing holds it, and it still has that step to go. A part in another batch that has not begun does not
// count, or two machines would wait for each other's parts. A part on the dock without a place does not count
// either: it comes when others have left, which may be the very parts inside.
// Whether the machines on its way work just now is left out on purpose: an outage of seconds must not start a
// half-filled oven. What cannot come after all is bounded by the machine's longest wait.
func (p *planner) moreCome(m *Machine, program int) bool {
	for i := range p.c.Parts {
		q := &p.c.Parts[i]
		switch {
		case q.Held != "" || q.Leaves() || q.OrderState == term.OrderDraft || q.State == term.WaitingJudgement:
			continue
		case q.State == term.Queued && (q.Home == 0 || !q.fetchable()):
			continue
		}
		next := q.Step
		if q.State == term.Processing {
			in := p.machineOf(q)
			if in != nil && in.Batch && !in.Starting && !in.running() {
				continue
			}
			next++ // this one is being done
		}
		for _, s := range q.Steps[min(next, len(q.Steps)):] {
			if s.Kind.InMachine() && s.Group == m.Group && s.Program == program {
				return true
			}
		}
	}
	return false
}

func (p *planner) machineOf(q *Part) *Machine {
	id, _ := q.Place.Slot()
	return p.machine(id)
}
