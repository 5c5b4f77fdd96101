package workertest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"surehand/internal/term"
	"surehand/internal/workers"
)

// Mock is a robot, a machine, a scanner or a marker in memory, and its own driver.
type Mock struct {
	kind  term.EquipmentKind
	clock workers.Clock
	turn  chan struct{} // held by the action that is with the driver

	mu      sync.Mutex
	reading term.Reading
	change  chan struct{} // closed and renewed when reading changes
	faults  map[Fault]bool
	down    bool // the link
	still   bool // the heartbeat
	over    bool // the process life
	held    bool
	pending *workers.Task // begun and held
	begun   []uint32
	acks    int
}

// NewMock makes equipment that is reached, idle and empty.
func NewMock(kind term.EquipmentKind, c workers.Clock) *Mock {
	m := &Mock{kind: kind, clock: c, turn: make(chan struct{}, 1), change: make(chan struct{}), faults: map[Fault]bool{}}
	m.reading.Ready = true
	if kind == term.KindMachine {
		m.reading.State = term.MachineIdle
	}
	return m
}

// Set changes what the equipment shows.
func (m *Mock) Set(change func(*term.Reading)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	change(&m.reading)
	m.changed()
}

// Raise ends a cycle of a machine: done rises for the slot, with the next cycle number.
func (m *Mock) Raise(slot int, pass string) {
	m.Set(func(r *term.Reading) {
		r.Done, r.DoneSlot, r.Pass, r.State = true, slot, pass, term.MachineDone
		r.Cycle++
		r.Running = 0
	})
}

// Next sets a fault of the next action.
func (m *Mock) Next(f Fault) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if f == DoubledAnswer {
		return false // there is no wire
	}
	m.faults[f] = true
	m.held = m.held || f == Held
	return true
}

// Free lets go of what is held.
func (m *Mock) Free() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.held = false
	if m.pending != nil {
		m.end(*m.pending)
	}
	m.changed()
}

// Begun are the numbers that have begun, in their order.
func (m *Mock) Begun() []uint32 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]uint32(nil), m.begun...)
}

// AwaitBegun waits until so many have begun.
func (m *Mock) AwaitBegun(count int) {
	for {
		m.mu.Lock()
		begun, change := len(m.begun), m.change
		m.mu.Unlock()
		if begun >= count {
			return
		}
		<-change
	}
}

// Acknowledged counts the dones that were taken back.
func (m *Mock) Acknowledged() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.acks
}

// Cut ends the link; Heal brings it back.
func (m *Mock) Cut() { m.switched(func() { m.down = true }) }

// Heal brings the link back, unless the process life is over.
func (m *Mock) Heal() { m.switched(func() { m.down = m.over }) }

// Forget ends the process life: the link does not come back.
func (m *Mock) Forget() { m.switched(func() { m.over = true }) }

// StopHeartbeat and StartHeartbeat.
func (m *Mock) StopHeartbeat() { m.switched(func() { m.still = true }) }

// StartHeartbeat undoes StopHeartbeat.
func (m *Mock) StartHeartbeat() { m.switched(func() { m.still = false }) }

func (m *Mock) switched(change func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	change()
	m.changed()
}

func (m *Mock) changed() {
	close(m.change)
	m.change = make(chan struct{})
}

// shown is what a driver would read; the caller holds mu.
func (m *Mock) shown() term.Reading {
	r := m.reading
	switch {
	case m.down:
		r.Error = "the link is down"
	case m.still:
		r.Error = "its heartbeat stands still"
	default:
		r.Reached = true
	}
	return r
}

// Run reports each change, and ten times a second.
func (m *Mock) Run(ctx context.Context, report func(term.Reading)) {
	for ctx.Err() == nil {
		m.mu.Lock()
		r, change := m.shown(), m.change
		m.mu.Unlock()
		report(r)
		poll := time.NewTimer(100 * time.Millisecond)
		select {
		case <-change:
		case <-poll.C:
		case <-ctx.Done():
		}
		poll.Stop()
	}
}

// Perform does it at once, unless a fault was set.
func (m *Mock) Perform(ctx context.Context, t workers.Task) workers.Ending {
	select {
	case m.turn <- struct{}{}:
	case <-ctx.Done():
		return workers.NotBegun(t, context.Cause(ctx).Error())
	}
	defer func() { <-m.turn }()
	if m.take(SlowStart) {
		m.mu.Lock()
		change := m.change
		m.mu.Unlock()
		m.waitFor(ctx, change, 50*time.Millisecond)
	}
	if err := m.begin(t); err != nil {
		return workers.NotBegun(t, err.Error())
	}
	return m.follow(ctx, t)
}

func (m *Mock) take(f Fault) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	was := m.faults[f]
	delete(m.faults, f)
	return was
}

func (m *Mock) begin(t workers.Task) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	refused := m.faults[Refused]
	delete(m.faults, Refused)
	switch {
	case t.Late(m.clock.Now()):
		return errors.New("late")
	case m.down || m.still:
		return errors.New(m.shown().Error)
	case m.kind != term.KindScanner && !term.MayBegin(m.reading.Echo, t.ActionNo):
		return fmt.Errorf("number %d is not newer than %d", t.ActionNo, m.reading.Echo)
	case refused:
		return errors.New("refused")
	}
	m.begun = append(m.begun, t.ActionNo)
	m.reading.Echo, m.reading.StartResult, m.reading.Ended, m.reading.PartAt = t.ActionNo, 0, false, term.PartUnknown
	m.reading.Busy = m.kind == term.KindRobot || m.kind == term.KindMarker
	if m.pending = &t; !m.held {
		m.end(t)
	}
	m.changed()
	return nil
}

// end shows the end of what was begun; the caller holds mu.
func (m *Mock) end(t workers.Task) {
	m.pending, m.reading.Busy = nil, false
	switch t.Type {
	case term.TaskStartMachine:
		m.reading.StartResult, m.reading.State = term.StartRunning, term.MachineRunning
		m.reading.Running = m.reading.Running.With(max(t.Slot, 1))
	case term.TaskMark:
		m.reading.Ended = true
	case term.TaskMove:
		m.reading.Ended, m.reading.PartAt = true, term.PartAtTo
		if t.Present {
			m.reading.PartAt = term.PartGripper
		}
		m.reading.Gripper, m.reading.Position = t.Present, t.To
	}
}

// follow waits for the end as long as the action may take. A lost or late answer makes no difference to numbered
// equipment: its end can be read.
func (m *Mock) follow(ctx context.Context, t workers.Task) workers.Ending {
	over := time.NewTimer(t.Bound)
	defer over.Stop()
	scanner := m.kind == term.KindScanner
	lost := m.take(LostAnswer) || m.take(LateAnswer)
	for {
		m.mu.Lock()
		r, pending, change, down := m.reading, m.pending != nil, m.change, m.down
		m.mu.Unlock()
		switch {
		case scanner && (lost || down):
			return workers.NotBegun(t, "no answer")
		case scanner && !pending:
			e := workers.Happened(term.PartGripper)
			e.Code = "CODE"
			return e
		case !scanner && !pending && !down:
			if e, ok := workers.Concluded(t.Perform, r); ok {
				return e
			}
		}
		select {
		case <-change:
			continue
		case <-over.C:
		case <-ctx.Done():
		}
		if scanner {
			return workers.NotBegun(t, "no answer")
		}
		return workers.InDoubt("no end was seen")
	}
}

func (m *Mock) waitFor(ctx context.Context, change <-chan struct{}, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-change:
	case <-t.C:
	case <-ctx.Done():
	}
}

// Acknowledge takes done back when it is this one.
func (m *Mock) Acknowledge(_ context.Context, d workers.DoneCycle, acknowledged func()) error {
	m.mu.Lock()
	if m.down {
		m.mu.Unlock()
		return errors.New("the link is down")
	}
	if shown, ok := workers.DoneOf(m.reading); ok && shown == d {
		m.acks++
	}
	m.mu.Unlock()
	acknowledged()
	m.Set(func(r *term.Reading) {
		if shown, ok := workers.DoneOf(*r); ok && shown == d {
			r.Done, r.DoneSlot, r.Pass, r.State = false, 0, "", term.MachineIdle
		}
	})
	return nil
}
