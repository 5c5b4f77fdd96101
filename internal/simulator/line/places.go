package line

import (
	"fmt"
	"maps"
	"slices"
	"time"
)

// Place says where a part can be: the number of a place on the wire, 1 to 65535, or one of the constants.
type Place int

// Where a part is when it is at no numbered place.
const (
	Gripper Place = 0  // in the robot's gripper
	Floor   Place = -1 // lost
	Away    Place = -2 // taken out of the cell by hand, or left on its pallet
)

func (p Place) String() string {
	switch p {
	case Gripper:
		return "gripper"
	case Floor:
		return "floor"
	case Away:
		return "away"
	}
	return fmt.Sprintf("%d", int(p))
}

// spot is a numbered place of the cell.
type spot struct {
	number  Place
	name    string
	many    bool     // takes any number of parts
	machine *Machine // nil: no machine's
	slot    int      // of the machine, from 1
	parts   []*Part
}

func (s *spot) part() *Part {
	if len(s.parts) == 0 {
		return nil
	}
	return s.parts[len(s.parts)-1]
}

func (w *World) addSpot(number int, s spot) error {
	if number < 1 || number > 65535 {
		return fmt.Errorf("%s: number %d: want 1 to 65535", s.name, number)
	}
	s.number = Place(number)
	if other := w.spots[s.number]; other != nil {
		return fmt.Errorf("number %d is both %s and %s", number, other.name, s.name)
	}
	w.spots[s.number] = &s
	return nil
}

func (w *World) addRow(name string, r Row) error {
	for i := range r.Count {
		if err := w.addSpot(int(r.First)+i, spot{name: fmt.Sprintf("%s %d", name, i+1)}); err != nil {
			return err
		}
	}
	return nil
}

// addSpots makes every place but the machines' slots.
func (w *World) addSpots() error {
	if err := w.addRow("dock", w.o.Dock); err != nil {
		return err
	}
	if err := w.addRow("buffer", w.o.Buffer); err != nil {
		return err
	}
	if w.o.Exit != 0 {
		if err := w.addSpot(int(w.o.Exit), spot{name: "exit", many: true}); err != nil {
			return err
		}
	}
	for _, number := range w.o.Stations {
		if err := w.addSpot(int(number), spot{name: fmt.Sprintf("station %d", number)}); err != nil {
			return err
		}
	}
	seen := map[uint16]bool{}
	station := func(place uint16, name string) error {
		if seen[place] {
			return nil // several tools work at one station
		}
		seen[place] = true
		return w.addSpot(int(place), spot{name: name})
	}
	for _, s := range w.o.Scanners {
		if err := station(s.Place, s.Name); err != nil {
			return err
		}
	}
	for _, m := range w.o.Markers {
		if err := station(m.Place, m.Name); err != nil {
			return err
		}
	}
	return nil
}

// shift is the only way a part changes its place. It does not ask whether that is physically possible.
func (w *World) shift(p *Part, to Place, by string) {
	if w.gripper == p {
		w.gripper = nil
	}
	if s := w.spots[p.At]; s != nil {
		s.parts = slices.DeleteFunc(s.parts, func(q *Part) bool { return q == p })
	}
	p.At = to
	p.Steps = append(p.Steps, Step{At: time.Now(), Place: to, By: by})
	switch s := w.spots[to]; {
	case to == Gripper:
		w.gripper = p
	case s != nil:
		s.parts = append(s.parts, p)
		if s.many {
			w.left = append(w.left, p.ID)
		}
	default:
		w.left = append(w.left, p.ID)
	}
	w.forgetParts()
	w.touch()
}

// forgetParts keeps the memory of a cell that runs for days bounded: parts on their way are never forgotten.
func (w *World) forgetParts() {
	if len(w.left) <= 2*w.o.TruthSize {
		return
	}
	for _, id := range w.left[:w.o.TruthSize] {
		p := w.parts[id]
		if p == nil || (p.At > 0 && !w.spots[p.At].many) || p.At == Gripper {
			continue // was carried back in by hand
		}
		if s := w.spots[p.At]; s != nil {
			s.parts = slices.DeleteFunc(s.parts, func(q *Part) bool { return q == p })
		}
		delete(w.parts, id)
		w.truth.Forgotten++
	}
	w.left = slices.Clone(w.left[w.o.TruthSize:])
}

func (w *World) partAt(at Place) *Part {
	if at == Gripper {
		return w.gripper
	}
	if s := w.spots[at]; s != nil {
		return s.part()
	}
	return nil
}

// free says why no part can be put at a place, or nothing.
func (w *World) free(at Place) error {
	s := w.spots[at]
	switch {
	case at == Gripper && w.gripper != nil:
		return fmt.Errorf("the gripper holds %s", w.gripper.ID)
	case at > 0 && s == nil:
		return fmt.Errorf("no place has number %d", at)
	case s != nil && !s.many && len(s.parts) > 0:
		return fmt.Errorf("%s (%d) holds %s", s.name, at, s.part().ID)
	}
	return nil
}

func (w *World) spotName(at Place) string {
	if s := w.spots[at]; s != nil {
		return fmt.Sprintf("%s (%d)", s.name, at)
	}
	return at.String()
}

func (w *World) spotsInOrder() []*spot {
	return slices.SortedFunc(maps.Values(w.spots), func(a, b *spot) int { return int(a.number - b.number) })
}
