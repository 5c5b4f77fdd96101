package looptest

import (
	"fmt"
	"time"

	"surehand/internal/message"
	"surehand/internal/plant"
	"surehand/internal/term"
)

// lineDone is the end of a cycle.
type lineDone struct {
	slot int    // 0: all
	pass string // pass, fail or not said
}

type lineMachine struct {
	config   plant.WatchedEquipment
	echo     uint32
	result   int
	running  term.Slots
	pending  []lineDone // that wait for the line to be free
	done     bool
	shown    lineDone // while done
	cycle    uint32
	cut      bool
	fault    int
	told     string // predicates last told
	doneTold bool
	toldAt   time.Time
}

// acknowledge does what the workers do: only a done that was told in this process life is taken back on the wire; when
// none was told and the machine shows none, what an earlier life stored is over.
func (l *Line) acknowledge(a plant.Acknowledge) {
	m := l.machines[a.EquipmentID]
	if m == nil || m.cut {
		return
	}
	epoch := l.epoch
	l.after(50*time.Millisecond, func() {
		if m.cut || l.epoch != epoch || m.done && !m.doneTold {
			return
		}
		m.done, m.doneTold = false, false
		if l.LoseAcknowledged == nil || !l.LoseAcknowledged() {
			l.post(message.FromWorker, message.DoneAcknowledged{Machine: a.EquipmentID})
		}
		l.raise(m)
	})
}

// raise shows the next done that waits.
func (l *Line) raise(m *lineMachine) {
	if m.done || len(m.pending) == 0 {
		return
	}
	m.done, m.shown, m.doneTold = true, m.pending[0], false
	m.pending = m.pending[1:]
	m.cycle++
}

func (l *Line) working(place int) bool {
	for _, e := range l.watched {
		m := l.machines[e.ID]
		if m == nil {
			continue
		}
		n := place - m.config.Config.First + 1
		if n >= 1 && n <= m.config.Config.Slots && m.running.Has(n) {
			return true
		}
	}
	return false
}

func (l *Line) start(p plant.Perform, m Mishap) {
	machine := l.machines[p.EquipmentID]
	l.after(100*time.Millisecond, func() {
		switch {
		case m == Refuses || m == Drops:
			l.result(p, term.NotDone, "", "", "refused", false)
			return
		case m == SilentBefore || m == Stuck || m == ArrivesLate:
			l.result(p, term.Unknown, "", "", "no answer", false)
			return
		case !term.MayBegin(machine.echo, p.ActionNo):
			l.violate("start %d of %s after %d", p.ActionNo, p.EquipmentID, machine.echo)
			return
		}
		l.Started[p.ActionNo]++
		machine.echo, machine.result = p.ActionNo, 1
		slots := []int{p.Slot}
		if p.Slot == 0 {
			slots = nil
			for n := 1; n <= machine.config.Config.Slots; n++ {
				if l.On(machine.config.Config.First+n-1) != "" {
					slots = append(slots, n)
				}
			}
		}
		for _, n := range slots {
			if l.On(machine.config.Config.First+n-1) == "" {
				l.violate("start %d of %s with the empty slot %d", p.ActionNo, p.EquipmentID, n)
			}
			machine.running = machine.running.With(n)
		}
		l.after(l.CycleTime, func() { l.cycleEnds(machine, p, slots) })
		switch m {
		case Silent, StuckHolding:
			l.result(p, term.Unknown, "", "", "the answer was lost", false)
		case AnswersLate:
			l.result(p, term.Unknown, "", "", "no answer yet", false)
			l.after(l.CycleTime/2, func() { l.result(p, term.Done, "", "", "", true) })
		default:
			l.result(p, term.Done, "", "", "", false)
		}
	})
}

func (l *Line) cycleEnds(m *lineMachine, p plant.Perform, slots []int) {
	for _, n := range slots {
		m.running &^= 1 << (n - 1)
		done := lineDone{slot: n}
		if part := l.On(m.config.Config.First + n - 1); part != "" {
			l.Visits[part] = append(l.Visits[part], string(m.config.ID))
			if l.Judge != nil {
				done.pass = l.Judge(m.config.ID, part)
			}
		}
		if !m.config.Config.Batch {
			m.pending = append(m.pending, done)
		}
	}
	if m.config.Config.Batch { // one word for all cannot say which part is bad
		m.pending = append(m.pending, lineDone{})
	}
	l.raise(m)
}

// tell posts readings that changed, or that were told a second ago, and dones that nobody heard of yet.
func (l *Line) tell() {
	if l.epoch == 0 {
		return
	}
	for _, e := range l.watched {
		switch e.Type {
		case term.KindMachine:
			m := l.machines[e.ID]
			r := l.machineReading(m)
			if m.done && !m.doneTold && !m.cut {
				m.doneTold = true
				l.post(message.FromDevice, message.MachineDone{Machine: e.ID, SlotNo: m.shown.slot, Exact: true, Pass: m.shown.pass, Cycle: m.cycle, Counted: true})
			}
			l.reading(e.ID, r, &m.told, &m.toldAt)
		case term.KindRobot:
			l.reading(e.ID, l.robotReading(), &l.robot.told, &l.robot.toldAt)
		default:
			t := l.tools[e.ID]
			l.reading(e.ID, t.reading(), &t.told, &t.toldAt)
		}
	}
}

func (l *Line) reading(id term.EquipmentID, r term.Reading, told *string, at *time.Time) {
	if p := r.Predicates() + fmt.Sprint(r.ReadySlots); p != *told || l.now.Sub(*at) >= time.Second {
		*told, *at = p, l.now
		l.post(message.FromDevice, message.EquipmentStatusChanged{Equipment: id, Epoch: l.epoch, Reading: r})
	}
}

func (l *Line) machineReading(m *lineMachine) term.Reading {
	if m.cut {
		return term.Reading{Error: "cut"}
	}
	r := term.Reading{Reached: true, Ready: true, Echo: m.echo, Running: m.running, Done: m.done, DoneSlot: m.shown.slot, Pass: m.shown.pass, Cycle: m.cycle,
		StartResult: m.result, Fault: m.fault, State: term.MachineIdle}
	for n := 1; n <= m.config.Config.Slots; n++ {
		if l.On(m.config.Config.First+n-1) != "" {
			r.Occupied = r.Occupied.With(n)
		}
		if !m.running.Has(n) {
			r.ReadySlots = r.ReadySlots.With(n)
		}
	}
	switch {
	case m.fault != 0:
		r.State = term.MachineFault
	case m.running != 0:
		r.State = term.MachineRunning
	case m.done:
		r.State = term.MachineDone
	}
	return r
}

func (l *Line) robotReading() term.Reading {
	r := l.robot
	if r.cut {
		return term.Reading{Error: "cut"}
	}
	return term.Reading{Reached: true, Ready: true, Echo: r.echo, Busy: r.busy, Ended: r.ended, PartAt: r.partAt, Gripper: l.On(Gripper) != "", Position: r.at, Fault: r.fault}
}
