package scheduler

import (
	"fmt"
	"slices"
	"time"

	"surehand/internal/term"
)

// events lists everything that can happen now.
func (w *world) events() []event {
	var l []event
	by := func(name string, do func(*world)) { l = append(l, event{name: name, progress: true, do: do}) }
	hand := func(name string, do func(*world)) { l = append(l, event{name: name, do: do}) }
	upset := func(name string, do func(*world)) {
		if w.budget > 0 {
			l = append(l, event{name: name, costs: true, do: do})
		}
	}
	if w.c.Robot.Busy {
		by("robot", (*world).arrive)
		upset("robot fails before", func(w *world) { w.fail(false) })
		upset("robot stops with the part", func(w *world) { w.fail(true) })
	}
	for i := range w.c.Machines {
		w.machineEvents(i, by, hand, upset)
	}
	for o := range w.paused {
		w.orderEvents(o, by, hand, upset)
	}
	for i := range w.parts {
		w.partEvents(i, hand, upset)
	}
	for _, why := range w.blockers() {
		if *why(w) == "" {
			upset("robot or tool goes", func(w *world) { *why(w) = "it is OFFLINE" })
		} else {
			hand("robot or tool comes back", func(w *world) { *why(w) = "" })
		}
	}
	if w.c.Halt == "" {
		upset("pause cell", func(w *world) { w.c.Halt, w.c.Settle = "cell is paused", true })
	} else {
		hand("release cell", func(w *world) { w.c.Halt, w.c.Settle = "", false })
	}
	return l
}

// blockers are the robot and the tools that a part needs.
func (w *world) blockers() []func(*world) *string {
	l := []func(*world) *string{func(w *world) *string { return &w.c.Robot.Why }}
	for _, s := range w.parts[0].Steps {
		if !s.Kind.InMachine() {
			return append(l, func(w *world) *string { return &w.c.Tools[0].Why })
		}
	}
	return l
}

func (w *world) machineEvents(i int, by, hand, upset func(string, func(*world))) {
	m := &w.c.Machines[i]
	if m.Why != "" {
		hand(fmt.Sprintf("%s comes back", m.ID), func(w *world) { w.c.Machines[i].Why = "" })
		return
	}
	upset(fmt.Sprintf("%s goes", m.ID), func(w *world) { w.c.Machines[i].Why = string(m.ID) + " is OFFLINE" })
	switch {
	case m.Starting:
		by(fmt.Sprintf("%s confirms", m.ID), func(w *world) { w.c.Machines[i].Starting = false })
	case m.Latch != term.LatchNone:
		by(fmt.Sprintf("%s ends its done", m.ID), func(w *world) { w.c.Machines[i].Latch = term.LatchNone })
	default:
		for j := range m.Slots {
			if s := &m.Slots[j]; s.State == term.SlotOccupied && !s.Started.IsZero() {
				by(fmt.Sprintf("%s done %d", m.ID, s.Number), func(w *world) { w.done(i, j) })
				if m.Batch {
					break
				}
			}
		}
	}
	if w.waiting && !w.never && m.Batch && !m.running() && m.count(term.SlotOccupied) > 0 && !m.Slots[m.first()].Entered.Equal(longAgo) {
		by(fmt.Sprintf("%s has waited", m.ID), func(w *world) { w.waited(i) })
	}
}

func (m *Machine) first() int {
	return slices.IndexFunc(m.Slots, func(s Slot) bool { return s.State == term.SlotOccupied })
}

func (w *world) waited(i int) {
	m := &w.c.Machines[i]
	m.Slots[m.first()].Entered = longAgo
}

func (w *world) orderEvents(o int, by, hand, upset func(string, func(*world))) {
	of := func(p modelPart) bool { return p.order == o && !p.out }
	if !slices.ContainsFunc(w.parts, of) {
		return
	}
	if slices.ContainsFunc(w.parts, func(p modelPart) bool { return of(p) && p.away }) {
		by(fmt.Sprintf("pallet of %d", o), func(w *world) { w.pallet(o) })
	}
	if w.paused[o] {
		hand(fmt.Sprintf("resume order %d", o), func(w *world) { w.paused[o] = false })
	} else {
		upset(fmt.Sprintf("pause order %d", o), func(w *world) { w.paused[o] = true })
	}
	if w.parts[slices.IndexFunc(w.parts, of)].OrderState != term.OrderStopping {
		upset(fmt.Sprintf("cancel order %d, retire", o), func(w *world) { w.cancel(o, term.DispositionCancel) })
		upset(fmt.Sprintf("cancel order %d, finish", o), func(w *world) { w.cancel(o, term.DispositionNone) })
	}
}

func (w *world) partEvents(i int, hand, upset func(string, func(*world))) {
	p := &w.parts[i]
	if p.out || p.away {
		return
	}
	if p.suspended {
		hand(fmt.Sprintf("resume %s", p.Job), func(w *world) { w.parts[i].suspended = false })
	} else {
		upset(fmt.Sprintf("suspend %s", p.Job), func(w *world) { w.parts[i].suspended = true })
	}
	if !w.c.Robot.Busy || w.c.Robot.Job != p.Job {
		upset(fmt.Sprintf("somebody takes %s out", p.Job), func(w *world) { w.leave(&w.parts[i]); w.end(&w.parts[i]) })
	}
	if p.Disposition == term.DispositionNone && p.Place.Type != term.OnDock {
		upset(fmt.Sprintf("scrap %s", p.Job), func(w *world) { w.parts[i].Disposition = term.DispositionScrap })
	}
	if (p.State == term.Waiting || p.State == term.WaitingUnload) && p.Step > 0 && p.OrderState != term.OrderStopping {
		upset(fmt.Sprintf("rework %s", p.Job), func(w *world) { w.parts[i].Step, w.parts[i].Disposition = 0, term.DispositionNone })
	}
}

func (w *world) free() { w.c.Robot = Robot{ID: w.c.Robot.ID, Why: w.c.Robot.Why} }

// arrive: the open action has ended well.
func (w *world) arrive() {
	r := w.c.Robot
	p := w.part(r.Job)
	w.free()
	if r.From.Type == term.OnRobot && r.To.Type == term.OnRobot {
		p.Step++ // the tool has done
		return
	}
	w.leave(p)
	p.Place, p.Presented = r.To, ""
	switch r.To.Type {
	case term.Out:
		w.end(p)
	case term.OnBuffer:
		p.State = term.Waiting
	case term.OnEquipment:
		_, s := w.slot(r.To)
		*s = Slot{Number: s.Number, State: term.SlotOccupied, Job: p.Job, Entered: modelNow}
		p.State = term.Processing
	case term.OnRobot:
		p.Place, p.Presented = term.GripperPlace(), term.EquipmentID(r.To.Ref)
	}
}

func (w *world) leave(p *modelPart) {
	if p.Place.Type == term.OnEquipment {
		_, s := w.slot(p.Place)
		*s = Slot{Number: s.Number, State: term.SlotEmpty}
	}
}

func (w *world) end(p *modelPart) {
	p.out, p.Home, p.Place = true, 0, term.OutPlace(term.OutExit)
}

// fail: the open action has ended without success, and a person said where the part is.
func (w *world) fail(gripped bool) {
	r := w.c.Robot
	p := w.part(r.Job)
	w.free()
	if gripped && r.From.Type != term.OnRobot {
		w.leave(p)
		p.Place = term.GripperPlace()
		return
	}
	switch p.Place.Type {
	case term.OnDock:
		if p.State = term.Queued; p.Disposition != term.DispositionNone || p.OrderState == term.OrderStopping {
			w.end(p) // left on its pallet
		}
	case term.OnBuffer:
		p.State = term.Waiting
	case term.OnEquipment:
		p.State = term.WaitingUnload
	}
}

func (w *world) done(i, j int) {
	m := &w.c.Machines[i]
	for k := range m.Slots {
		if s := &m.Slots[k]; s.State == term.SlotOccupied && (m.Batch || k == j) {
			s.State, s.Entered = term.SlotDone, modelNow
			p := w.part(s.Job)
			p.Step++
			p.State = term.WaitingUnload
		}
	}
	m.Latch = term.LatchSeen
}

func (w *world) pallet(o int) {
	for i := range w.parts {
		if p := &w.parts[i]; p.order == o && p.away {
			p.away, p.State, p.Place = false, term.Queued, term.DockPlace(i+1)
		}
	}
}

// cancel ends an order: what is not in the cell at once, what is inside by the rule.
func (w *world) cancel(o int, inside term.Disposition) {
	w.paused[o] = false
	for i := range w.parts {
		p := &w.parts[i]
		switch {
		case p.order != o || p.out:
		case p.away || p.State == term.Queued:
			p.away = false
			w.end(p)
		default:
			p.OrderState = term.OrderStopping
			if p.Disposition == term.DispositionNone {
				p.Disposition = inside
			}
		}
	}
}

// key tells states apart. Times are told apart only as now and long ago.
func (w *world) key() string {
	b := make([]byte, 0, 64)
	flag := func(bits ...bool) {
		var n byte
		for i, set := range bits {
			if set {
				n |= 1 << i
			}
		}
		b = append(b, n)
	}
	old := func(t time.Time) bool { return t.Equal(longAgo) }
	flag(w.c.Halt != "", w.c.Robot.Busy, w.waiting, w.c.Robot.Why != "", w.c.Tools[0].Why != "")
	b = append(b, byte(w.budget))
	if w.c.Robot.Busy {
		b = append(append(append(b, w.c.Robot.Job...), w.c.Robot.To.Type...), w.c.Robot.To.Ref...)
	}
	for i := range w.c.Machines {
		m := &w.c.Machines[i]
		flag(m.Why != "", m.Starting, m.Latch != term.LatchNone)
		for j := range m.Slots {
			s := &m.Slots[j]
			flag(s.State == term.SlotOccupied, s.State == term.SlotDone, !s.Started.IsZero(), old(s.Entered))
		}
	}
	flag(w.paused...)
	for i := range w.parts {
		p := &w.parts[i]
		flag(p.away, p.out, p.suspended, p.OrderState == term.OrderStopping, p.Disposition == term.DispositionScrap, p.Disposition == term.DispositionCancel, p.Presented != "")
		b = append(b, byte(p.Home), byte(p.Step), p.State[0], p.State[len(p.State)-1], byte(len(p.Place.Type)))
		b = append(append(b, p.Place.Ref...), ';')
	}
	return string(b)
}
