package line

import (
	"slices"
	"time"
)

// How a cycle ends, and how it is shown.

// due ends a cycle, or if the program is held, as soon as it goes on.
func (m *Machine) due(r *run) {
	r.due = true
	if slices.Contains(m.runs, r) && !m.held() {
		m.finish(r)
	}
}

func (m *Machine) resume() {
	for _, r := range slices.Clone(m.runs) {
		if r.due && slices.Contains(m.runs, r) {
			m.finish(r)
		}
	}
}

func (m *Machine) finish(r *run) {
	if r.plan.fault {
		m.fail(m.faults.FaultCode)
		return
	}
	m.runs = slices.DeleteFunc(m.runs, func(other *run) bool { return other == r })
	r.record.Outcome, r.record.Ended = Done, time.Now()
	// A part that was put in or torn out meanwhile was not worked on.
	worked := slices.DeleteFunc(m.partsOf(r.record.Slot), func(p *Part) bool { return !slices.Contains(r.record.Parts, p.ID) })
	r.record.Pass = m.judge(r, worked)
	for _, p := range worked {
		p.Steps = append(p.Steps, Step{
			At: time.Now(), Place: p.At, By: m.name, Worked: true, Program: r.record.Program, Pass: r.record.Pass,
		})
	}
	m.ended = append(m.ended, &ending{run: r})
	m.w.touch()
	m.showDone()
}

func (m *Machine) judge(r *run, worked []*Part) uint16 {
	switch {
	case !m.mo.Inspects:
		return 0
	case r.plan.failPart || slices.ContainsFunc(worked, func(p *Part) bool { return p.Bad }):
		return 2
	}
	return 1
}

// showDone is the handshake. The next done waits until done_ack is 0 again, or it would be taken off unseen.
func (m *Machine) showDone() {
	acknowledged := m.command[machineDoneAck] != 0
	if m.shown != nil && acknowledged && !m.faults.StaleDone {
		m.shown, m.done = nil, false
		m.w.touch()
	}
	if m.shown == nil && !acknowledged && len(m.ended) > 0 {
		next := m.ended[0]
		m.ended = m.ended[1:]
		m.show(next)
	}
}

func (m *Machine) show(e *ending) {
	record := e.run.record
	if !e.repeat {
		if !e.run.plan.stuckCounter {
			m.cycle++
		}
		record.Count = m.cycle
		if e.run.plan.double {
			m.ended = slices.Insert(m.ended, 0, &ending{run: e.run, repeat: true})
		}
	}
	m.shown, m.doneSlot, m.pass = e, uint16(record.Slot), record.Pass
	m.raise(e)
	if e.run.plan.flicker && !e.repeat {
		m.flicker(e)
	}
}

func (m *Machine) raise(e *ending) {
	m.done = true
	e.run.record.Raised++
	m.w.touch()
}

// flicker lets done fall and rise again, unless it was acknowledged meanwhile.
func (m *Machine) flicker(e *ending) {
	wait := m.faults.FlickerAfter
	m.w.after(wait, func() {
		if m.shown != e {
			return
		}
		m.done = false
		m.w.touch()
		m.w.after(wait, func() {
			if m.shown == e {
				m.raise(e)
			}
		})
	})
}

func (m *Machine) halt() { m.abandon() }

func (m *Machine) forget(memory Memory) {
	switch memory {
	case ForgetEcho:
		m.echo, m.startResult = 0, startNone
	case ForgetDone:
		m.shown, m.done, m.ended = nil, false, nil
	case ForgetCounter:
		m.cycle = 0
	}
}

func (m *Machine) status() []uint16 {
	echoFirst, echoSecond := m.words(m.echo)
	cycleFirst, cycleSecond := m.words(m.cycle)
	heartbeat := m.heartbeat()
	if m.faults.HeartbeatStopped {
		heartbeat = 0
	}
	var running, occupied, ready uint16
	for slot := 1; slot <= m.mo.Slots; slot++ {
		mask, part := uint16(1)<<(slot-1), m.partIn(slot)
		if part != nil {
			occupied |= mask
		}
		switch {
		case !m.running(slot):
			ready |= mask
		case !m.mo.Batch || part != nil:
			running |= mask
		}
	}
	if !m.ready || m.fault != 0 {
		ready = 0
	}
	m.readings++
	occupied ^= m.faults.OccupiedInverted
	if m.readings%2 == 0 {
		occupied ^= m.faults.OccupiedFlaps
	}
	return []uint16{
		echoFirst, echoSecond, m.state(), running, bit(m.done), m.doneSlot, cycleFirst, cycleSecond, occupied, m.fault,
		heartbeat, m.pass, m.startResult, ready,
	}
}

func (m *Machine) state() uint16 {
	switch {
	case m.fault != 0:
		return stateFault
	case !m.ready:
		return stateNotReady
	case len(m.runs) > 0:
		return stateRunning
	case m.done:
		return stateDone
	}
	return stateIdle
}
