package line

import "fmt"

// What a person, or a pallet, does in the cell. A hand does nothing that is physically impossible: it answers with an
// error, and nothing has changed.

// Arrive brings the next pallet with n raw parts, at the first n dock places. Their ids are "pallet.place", from "1.1".
func (w *World) Arrive(n int) ([]string, error) {
	w.lock()
	defer w.unlock()
	if n < 1 || n > w.o.Dock.Count {
		return nil, fmt.Errorf("%d parts on a pallet: the dock has %d places", n, w.o.Dock.Count)
	}
	first := Place(w.o.Dock.First)
	for i := range w.o.Dock.Count {
		if err := w.free(first + Place(i)); err != nil {
			return nil, err
		}
	}
	w.pallets++
	ids := make([]string, n)
	for i := range n {
		ids[i] = fmt.Sprintf("%d.%d", w.pallets, i+1)
		if err := w.bring(first+Place(i), ids[i], w.o.PartCode(w.pallets, i+1), "pallet"); err != nil {
			return nil, err
		}
	}
	return ids, nil
}

// Depart takes the pallet away with the parts still on it, and says which.
func (w *World) Depart() []string {
	w.lock()
	defer w.unlock()
	var ids []string
	for i := range w.o.Dock.Count {
		if p := w.partAt(Place(w.o.Dock.First) + Place(i)); p != nil {
			w.shift(p, Away, "pallet")
			ids = append(ids, p.ID)
		}
	}
	return ids
}

// Put brings a new part into the cell by hand, at a numbered place or into the gripper.
func (w *World) Put(at Place, id, code string) error {
	w.lock()
	defer w.unlock()
	return w.bring(at, id, code, "hand")
}

func (w *World) bring(at Place, id, code, by string) error {
	if id == "" || w.parts[id] != nil {
		return fmt.Errorf("part id %q is empty or used already", id)
	}
	if err := w.free(at); err != nil {
		return err
	}
	// A new part stands nowhere, and shift takes it from there.
	p := &Part{ID: id, Code: code, Origin: at, At: Away}
	w.parts[id] = p
	w.shift(p, at, by)
	return nil
}

// Move carries a part by hand, from and to anywhere: out of the gripper, up from the floor (by MoveID), away.
func (w *World) Move(from, to Place) error {
	w.lock()
	defer w.unlock()
	p := w.partAt(from)
	if p == nil {
		return fmt.Errorf("no part at %s", w.spotName(from))
	}
	return w.carry(p, to)
}

// MoveID carries a part, wherever it is, by hand.
func (w *World) MoveID(id string, to Place) error {
	w.lock()
	defer w.unlock()
	p := w.parts[id]
	if p == nil {
		return fmt.Errorf("no part %s", id)
	}
	return w.carry(p, to)
}

func (w *World) carry(p *Part, to Place) error {
	if p.At == to {
		return nil
	}
	if err := w.free(to); err != nil {
		return err
	}
	w.shift(p, to, "hand")
	return nil
}

// Remove takes a part out of the cell by hand and says which.
func (w *World) Remove(at Place) (string, error) {
	w.lock()
	defer w.unlock()
	p := w.partAt(at)
	if p == nil {
		return "", fmt.Errorf("no part at %s", w.spotName(at))
	}
	w.shift(p, Away, "hand")
	return p.ID, nil
}

// MarkBad makes every machine that inspects judge the part as failed, or no longer.
func (w *World) MarkBad(id string, bad bool) error {
	w.lock()
	defer w.unlock()
	p := w.parts[id]
	if p == nil {
		return fmt.Errorf("no part %s", id)
	}
	p.Bad = bad
	w.touch()
	return nil
}

// PartAt is the id of the part at a place (at the exit, the last one), or empty.
func (w *World) PartAt(at Place) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if p := w.partAt(at); p != nil {
		return p.ID
	}
	return ""
}
