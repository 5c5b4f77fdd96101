package line

import (
	"fmt"
	"slices"
	"time"
)

const (
	machineStatusSize = 14
	machineGo         = 4 // offsets in the command block
	machineDoneAck    = 5
)

// What state says.
const (
	stateNotReady = 0
	stateIdle     = 1
	stateRunning  = 2
	stateDone     = 3
	stateFault    = 4
)

// What start_result says.
const (
	startNone     = 0
	startAccepted = 1
	startRefused  = 2
)

// Machine is one machine: slots that run one by one, or as a batch.
type Machine struct {
	Controller
	mo     MachineOptions
	faults MachineFaults
	chance *chance

	startResult uint16
	fault       uint16
	runs        []*run    // under way, in the order of their starts
	ended       []*ending // not shown yet, in the order of their ends
	shown       *ending   // the cycle that done stands for; nil once it was acknowledged
	done        bool
	doneSlot    uint16
	pass        uint16
	cycle       uint32
	readings    int // of the status block, for sensors that flap
}

// run is one cycle under way.
type run struct {
	record *Cycle
	plan   cyclePlan
	due    bool // its time has come
}

// ending is a cycle that has ended and is to be shown by done.
type ending struct {
	run    *run
	repeat bool // was shown before
}

func newMachine(w *World, mo MachineOptions) *Machine {
	m := &Machine{
		Controller: newController(w, mo.Name, mo.Modbus, machineGo, machineStatusSize), mo: mo,
		faults: MachineFaults{}.withDefaults(), chance: newChance(w, mo.Name),
	}
	m.connect(m)
	return m
}

// SetFaults sets how the machine misbehaves from now on.
func (m *Machine) SetFaults(f MachineFaults) {
	m.w.lock()
	defer m.w.unlock()
	m.faults = f.withDefaults()
	m.chance.limit(f.Strikes)
	if !m.held() {
		m.scan() // a done that was stale goes now
	}
}

// Finish ends the cycle of a slot now (batch: slot 0), whenever it would have ended, and says whether there was one.
func (m *Machine) Finish(slot int) bool {
	m.w.lock()
	defer m.w.unlock()
	for _, r := range m.runs {
		if r.record.Slot == slot {
			m.due(r)
			return true
		}
	}
	return false
}

// Fail puts the machine into fault, with that number above 0; cycles under way are abandoned.
func (m *Machine) Fail(number uint16) {
	m.w.lock()
	defer m.w.unlock()
	m.fail(number)
}

// ClearFault ends a fault.
func (m *Machine) ClearFault() {
	m.w.lock()
	defer m.w.unlock()
	m.fault = 0
	m.w.touch()
}

func (m *Machine) fail(number uint16) {
	m.fault = number
	m.abandon()
	m.w.touch()
}

func (m *Machine) abandon() {
	for _, r := range m.runs {
		r.record.Outcome, r.record.Ended = Abandoned, time.Now()
	}
	m.runs = nil
}

func (m *Machine) scan() {
	if m.risingGo() {
		m.start(m.commandNumber(), int(m.command[2]), m.command[3])
	}
	m.showDone()
}

func (m *Machine) start(no uint32, slot int, program uint16) {
	switch {
	case m.chance.strikes("lose_start", m.faults.LoseStart):
		m.w.ignore(m.name, no, "lost")
		return
	case !newer(no, m.echo):
		m.w.ignore(m.name, no, fmt.Sprintf("not newer than %d", m.echo))
		return
	}
	m.echo = no
	if reason := m.refusal(slot, program); reason != "" {
		m.startResult = startRefused
		m.w.ignore(m.name, no, reason)
		return
	}
	m.startResult = startAccepted
	r := &run{plan: m.throwPlan(), record: &Cycle{
		Machine: m.name, No: no, Slot: slot, Program: program, Begun: time.Now(), Outcome: Running,
	}}
	for _, p := range m.partsOf(slot) {
		r.record.Parts = append(r.record.Parts, p.ID)
	}
	m.runs = append(m.runs, r)
	m.w.truth.cycles = append(m.w.truth.cycles, r.record)
	m.w.truth.Started[m.name][no]++
	m.w.touch()
	if m.w.truth.Started[m.name][no] > 1 {
		m.violate(r, StartTwice)
	}
	if len(r.record.Parts) == 0 {
		m.violate(r, StartedEmpty)
	}
	if !r.plan.never {
		m.w.after(m.w.scaled(m.cycleTime(program))+r.plan.extra, func() { m.due(r) })
	}
}

// refusal says why a start is refused, or nothing.
func (m *Machine) refusal(slot int, program uint16) string {
	_, known := m.mo.Programs[program]
	switch {
	case m.chance.strikes("refuse_start", m.faults.RefuseStart):
		return "refused"
	case m.fault != 0:
		return fmt.Sprintf("in fault %d", m.fault)
	case !m.ready:
		return "not ready"
	case m.mo.Batch && slot != 0, !m.mo.Batch && (slot < 1 || slot > m.mo.Slots):
		return fmt.Sprintf("no slot %d", slot)
	case m.mo.Programs != nil && !known:
		return fmt.Sprintf("no program %d", program)
	case m.running(slot):
		return fmt.Sprintf("slot %d is running", slot)
	case m.unacknowledged(slot):
		return fmt.Sprintf("slot %d is done and not acknowledged", slot)
	}
	return ""
}

func (m *Machine) cycleTime(program uint16) time.Duration {
	if m.mo.Programs == nil {
		return m.mo.CycleTime
	}
	return m.mo.Programs[program]
}

// running says whether a slot is being processed; in a batch all are, or none.
func (m *Machine) running(slot int) bool {
	return slices.ContainsFunc(m.runs, func(r *run) bool { return r.record.Slot == slot || m.mo.Batch })
}

func (m *Machine) unacknowledged(slot int) bool {
	if m.shown != nil && m.shown.run.record.Slot == slot {
		return true
	}
	return slices.ContainsFunc(m.ended, func(e *ending) bool { return e.run.record.Slot == slot })
}

func (s *spot) inProcess() bool { return s.machine != nil && s.machine.running(s.slot) }

func (m *Machine) partIn(slot int) *Part {
	return m.w.partAt(Place(m.mo.First) + Place(slot-1))
}

// partsOf are the parts in a slot, or with slot 0 in all.
func (m *Machine) partsOf(slot int) []*Part {
	var parts []*Part
	for n := 1; n <= m.mo.Slots; n++ {
		if p := m.partIn(n); p != nil && (slot == 0 || slot == n) {
			parts = append(parts, p)
		}
	}
	return parts
}

func (m *Machine) violate(r *run, kind Kind) {
	v := Violation{Kind: kind, Endpoint: m.name, No: r.record.No, Place: Place(m.mo.First)}
	if r.record.Slot > 0 {
		v.Place += Place(r.record.Slot - 1)
	}
	if len(r.record.Parts) > 0 {
		v.Part = r.record.Parts[0]
	}
	m.w.violate(v)
}
