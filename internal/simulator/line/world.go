package line

import (
	"fmt"
	"slices"
	"sync"
	"time"
)

// RobotName is the name of the robot in Truth.
const RobotName = "robot"

// World is one running cell. All its methods, and those of its endpoints, are safe for concurrent use.
//
// One mutex owns everything physical and every register. An exported method takes it; every other function expects it
// to be held, unless its comment says otherwise.
type World struct {
	o        Options
	robot    *Robot
	machines []*Machine
	scanners []*Scanner
	markers  []*Marker

	mu      sync.Mutex
	spots   map[Place]*spot
	parts   map[string]*Part
	left    []string // ids in the order in which parts came to the exit, the floor or away
	gripper *Part
	pallets int
	truth   record
	closed  bool
	dirty   bool          // something has changed in this turn
	changed chan struct{} // closed and replaced at the end of such a turn
	untold  []Violation
}

// Start starts the cell, empty of parts, with every endpoint listening. Close ends it.
func Start(o Options) (*World, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	w := &World{
		o: o, spots: map[Place]*spot{}, parts: map[string]*Part{}, truth: newRecord(), changed: make(chan struct{}),
	}
	if err := w.addSpots(); err != nil {
		return nil, err
	}
	w.robot = newRobot(w)
	for _, mo := range o.Machines {
		m := newMachine(w, mo)
		w.machines = append(w.machines, m)
		w.truth.Started[mo.Name] = map[uint32]int{}
		for slot := 1; slot <= mo.Slots; slot++ {
			s := spot{name: fmt.Sprintf("%s slot %d", mo.Name, slot), machine: m, slot: slot}
			if err := w.addSpot(int(mo.First)+slot-1, s); err != nil {
				return nil, err
			}
		}
	}
	for _, so := range o.Scanners {
		w.scanners = append(w.scanners, newScanner(w, so))
	}
	for _, mo := range o.Markers {
		w.markers = append(w.markers, newMarker(w, mo))
		w.truth.Started[mo.Name] = map[uint32]int{}
	}
	for _, l := range w.links() {
		if err := l.start(); err != nil {
			w.Close()
			return nil, err
		}
	}
	return w, nil
}

// Close ends the cell: when it returns, nothing listens, no connection is open, and nothing moves any more. Truth
// stays readable.
func (w *World) Close() {
	w.lock()
	w.closed = true
	w.unlock()
	for _, l := range w.links() {
		l.close()
	}
}

// Robot is the robot.
func (w *World) Robot() *Robot { return w.robot }

// Machine is the machine of that name. It panics if there is none.
func (w *World) Machine(name string) *Machine {
	i := slices.IndexFunc(w.machines, func(m *Machine) bool { return m.name == name })
	if i < 0 {
		panic(fmt.Sprintf("the cell has no machine %q", name))
	}
	return w.machines[i]
}

// Scanner is the scanner of that name. It panics if there is none.
func (w *World) Scanner(name string) *Scanner {
	i := slices.IndexFunc(w.scanners, func(s *Scanner) bool { return s.o.Name == name })
	if i < 0 {
		panic(fmt.Sprintf("the cell has no scanner %q", name))
	}
	return w.scanners[i]
}

// Marker is the marker of that name. It panics if there is none.
func (w *World) Marker(name string) *Marker {
	i := slices.IndexFunc(w.markers, func(m *Marker) bool { return m.o.Name == name })
	if i < 0 {
		panic(fmt.Sprintf("the cell has no marker %q", name))
	}
	return w.markers[i]
}

func (w *World) links() []endpoint {
	links := []endpoint{w.robot.link}
	for _, m := range w.machines {
		links = append(links, m.link)
	}
	for _, s := range w.scanners {
		links = append(links, s.link)
	}
	for _, m := range w.markers {
		links = append(links, m.link)
	}
	return links
}

func (w *World) lock() { w.mu.Lock() }

// unlock ends a turn: those who wait for a change look again, and violations are told after the mutex is free.
func (w *World) unlock() {
	if w.dirty {
		w.dirty = false
		w.trim()
		if m := w.robot.mqtt; m != nil {
			m.show(false)
		}
		close(w.changed)
		w.changed = make(chan struct{})
	}
	untold := w.untold
	w.untold = nil
	w.mu.Unlock()
	if w.o.OnViolation == nil {
		return
	}
	for _, v := range untold {
		w.o.OnViolation(v)
	}
}

func (w *World) touch() { w.dirty = true }

// after runs do as a turn of its own, unless the cell has been closed by then.
func (w *World) after(d time.Duration, do func()) {
	time.AfterFunc(d, func() {
		w.lock()
		defer w.unlock()
		if !w.closed {
			do()
		}
	})
}

// scaled is a duration of the cell's own pace.
func (w *World) scaled(d time.Duration) time.Duration {
	return time.Duration(float64(d) / w.o.Speed)
}
