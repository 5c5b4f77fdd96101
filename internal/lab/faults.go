package lab

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"surehand/internal/simulator"
	"surehand/internal/simulator/line"
	"surehand/internal/term"
)

// Kinds of faults.
const (
	Switch = "switch" // on until it is switched off
	Once   = "once"   // happens once; it cannot be switched off
)

// Fault is one thing that can go wrong.
type Fault struct {
	ID    string `json:"id"` // what:whom, "cut:mill"
	Group string `json:"group"`
	Label string `json:"label"`
	Kind  string `json:"kind"`
	On    bool   `json:"on"`
}

// ErrNoFault is that of an id which is not listed.
var ErrNoFault = errors.New("there is no such fault")

type fault struct {
	Fault
	mu  sync.Mutex
	set func(on bool) error
}

// Add makes a fault of something outside the plant known, as of the database or of Surehand itself. They stand before those
// of the plant. Not to be called while the plant is used.
func (p *Plant) Add(f Fault, set func(on bool) error) {
	p.faults = slices.Insert(p.faults, p.added, &fault{Fault: f, set: set})
	p.added++
}

// Faults lists them all, in groups.
func (p *Plant) Faults() []Fault {
	list := make([]Fault, len(p.faults))
	for i, f := range p.faults {
		f.mu.Lock()
		list[i] = f.Fault
		f.mu.Unlock()
	}
	return list
}

// Set switches a fault on or off, or lets it happen.
func (p *Plant) Set(id string, on bool) error {
	i := slices.IndexFunc(p.faults, func(f *fault) bool { return f.ID == id })
	if i < 0 {
		return fmt.Errorf("%w: %q", ErrNoFault, id)
	}
	f := p.faults[i]
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.Kind == Once && !on {
		return nil
	}
	if err := f.set(on); err != nil {
		return err
	}
	f.On = on && f.Kind == Switch
	return nil
}

// wired is what every endpoint of the line has.
type wired interface {
	Address() string
	Cut()
	Restore() error
}

func (p *Plant) wired(e equipment) wired {
	switch e.kind {
	case term.KindRobot:
		return p.World.Robot()
	case term.KindScanner:
		return p.World.Scanner(e.id)
	case term.KindMarker:
		return p.World.Marker(e.id)
	}
	return p.World.Machine(e.id)
}

// frozen is what has a program that can stand still, powered what has power that can fail.
type (
	frozen interface {
		Freeze()
		Thaw()
	}
	powered interface{ Restart(...line.Memory) error }
)

func (p *Plant) everyFault() (all []*fault) {
	add := func(id, group, label, kind string, set func(on bool) error) {
		all = append(all, &fault{Fault: Fault{ID: id, Group: group, Label: label, Kind: kind}, set: set})
	}
	for _, e := range p.equipment {
		w := p.wired(e)
		add("cut:"+e.id, e.name, "Network cable pulled", Switch, func(on bool) error {
			if on {
				w.Cut()
				return nil
			}
			return w.Restore()
		})
		if c, ok := w.(frozen); ok {
			add("freeze:"+e.id, e.name, "Program stands still", Switch, func(on bool) error {
				if on {
					c.Freeze()
				} else {
					c.Thaw()
				}
				return nil
			})
		}
		if c, ok := w.(powered); ok {
			add("restart:"+e.id, e.name, "Controller loses power for a moment", Once, func(bool) error { return c.Restart() })
		}
		switch e.kind {
		case term.KindRobot:
			p.robotFaults(e, add)
		case term.KindMachine:
			p.machineFaults(e, add)
		case term.KindScanner:
			add("noread:"+e.id, e.name, "Next code is not read", Once, func(bool) error {
				p.World.Scanner(e.id).SetFaults(line.ScannerFaults{NoRead: 1, Strikes: 1})
				return nil
			})
		case term.KindMarker:
			p.markerFaults(e, add)
		}
	}
	p.deviceFaults(add)
	return all
}

type adder func(id, group, label, kind string, set func(on bool) error)

func (p *Plant) robotFaults(e equipment, add adder) {
	r := p.World.Robot()
	next := func(id, label string, f line.RobotFaults) {
		f.Strikes = 1
		add(id+":"+e.id, e.name, label, Once, func(bool) error { r.SetFaults(f); return nil })
	}
	add("stick:"+e.id, e.name, "Hangs in the next move, with the part in the gripper", Switch, func(on bool) error {
		r.SetFaults(line.RobotFaults{})
		if on {
			r.SetFaults(line.RobotFaults{StickAfterPick: 1, Strikes: 1})
		} else {
			r.Free()
		}
		return nil
	})
	next("fail", "Next move ends with an error, the part in the gripper", line.RobotFaults{FailAfterPick: 1})
	next("drop", "Loses the next part", line.RobotFaults{LosePart: 1})
	add("lose-answer:"+e.id, e.name, "The answer to the next start is lost", Once, func(bool) error {
		r.SetLinkFaults(line.LinkFaults{LoseGoAnswer: 1, Strikes: 1})
		return nil
	})
}

func (p *Plant) markerFaults(e equipment, add adder) {
	m := p.World.Marker(e.id)
	next := func(id, label string, f line.MarkerFaults) {
		f.Strikes = 1
		add(id+":"+e.id, e.name, label, Once, func(bool) error { m.SetFaults(f); return nil })
	}
	next("fail", "Next mark fails", line.MarkerFaults{Fail: 1})
	next("lose-answer", "The answer to the next mark is lost", line.MarkerFaults{LoseAnswer: 1})
	add("stick:"+e.id, e.name, "Next mark never ends", Switch, func(on bool) error {
		m.SetFaults(line.MarkerFaults{Stick: rate(on), Strikes: 1})
		if !on {
			m.Free()
		}
		return nil
	})
}

func (p *Plant) machineFaults(e equipment, add adder) {
	m := p.World.Machine(e.id)
	next := func(id, label string, f line.MachineFaults) {
		f.Strikes = 1
		add(id+":"+e.id, e.name, label, Once, func(bool) error { m.SetFaults(f); return nil })
	}
	next("refuse", "Refuses the next start", line.MachineFaults{RefuseStart: 1})
	next("never-finish", "Next cycle never ends", line.MachineFaults{NeverFinish: 1})
	next("double-done", "Says the next done twice", line.MachineFaults{DoubleDone: 1})
	add("stale-done:"+e.id, e.name, "Done stays although it was acknowledged", Switch, func(on bool) error {
		m.SetFaults(line.MachineFaults{StaleDone: on})
		return nil
	})
	if e.inspects {
		next("reject", "Next part fails its inspection", line.MachineFaults{FailPart: 1})
		add("reject-all:"+e.id, e.name, "Every part fails its inspection", Switch, func(on bool) error {
			m.SetFaults(line.MachineFaults{FailPart: rate(on)})
			return nil
		})
	}
	add("fault:"+e.id, e.name, "Machine fault", Switch, func(on bool) error {
		if on {
			m.Fail(9)
		} else {
			m.ClearFault()
		}
		return nil
	})
}

func rate(on bool) float64 {
	if on {
		return 1
	}
	return 0
}

// deviceFaults are those of all greenhouses at once; one set of faults holds what is switched on.
func (p *Plant) deviceFaults(add adder) {
	var mu sync.Mutex
	var faults simulator.Faults
	set := func(id, label string, change func(*simulator.Faults, bool)) {
		add(id+":devices", "Devices", label, Switch, func(on bool) error {
			mu.Lock()
			defer mu.Unlock()
			change(&faults, on)
			for _, h := range p.Houses {
				h.SetFaults(faults)
			}
			return nil
		})
	}
	set("drop-acks", "Half of the answers are lost", func(f *simulator.Faults, on bool) { f.DropAck = rate(on) / 2 })
	set("silent", "They act and say nothing", func(f *simulator.Faults, on bool) { f.Silent = rate(on) })
	set("lie", "They say done and do nothing", func(f *simulator.Faults, on bool) { f.Lie = rate(on) })
	set("accept", "They accept and do nothing: commands end as uncertain", func(f *simulator.Faults, on bool) { f.AckWithoutApply = rate(on) })
	set("refuse", "They refuse with a hardware fault", func(f *simulator.Faults, on bool) { f.Reject = rate(on) })
	set("malformed", "A tenth of their messages is garbage", func(f *simulator.Faults, on bool) { f.MalformedJSON = rate(on) / 10 })
	for i, h := range p.Houses {
		house := Houses(len(p.Houses))[i]
		add("cut:"+house.ID, "Devices", house.Name+" loses its network", Switch, func(on bool) error {
			var failed []error
			for _, d := range h.Devices() {
				if on {
					failed = append(failed, d.GoOffline())
				} else {
					failed = append(failed, d.GoOnline())
				}
			}
			return errors.Join(failed...)
		})
	}
}
