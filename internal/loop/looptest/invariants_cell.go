package looptest

import (
	"cmp"
	"maps"
	"slices"

	"surehand/internal/message"
	"surehand/internal/plant"
	"surehand/internal/term"
)

// endsOf counts the ended parts of an order from its parts, whatever its counters say.
func (db *Database) endsOf(id term.OrderID) message.Ends {
	var n message.Ends
	for _, j := range db.jobs[id] {
		switch db.rows[rowID{plant.KindJob, string(j)}].(*plant.Job).State {
		case term.Completed:
			n.Completed++
		case term.Scrapped:
			n.Scrapped++
		case term.JobCancelled:
			n.Cancelled++
		}
	}
	return n
}

// inCell are the invariants of one row of the production half.
func (v *verdict) inCell(r plant.Row) {
	switch r := r.(type) {
	case *plant.Order:
		v.countsOf(r)
	case *plant.Job:
		v.refers(r, plant.KindOrder, string(r.OrderID))
		v.placeOf(r)
	case *plant.Slot:
		v.refers(r, plant.KindEquipment, string(r.EquipmentID))
		v.partIn(r)
	case *plant.Pallet:
		v.refers(r, plant.KindOrder, string(r.OrderID))
	case *plant.Task:
		v.refers(r, plant.KindEquipment, string(r.EquipmentID))
		v.refers(r, plant.KindJob, string(r.JobID))
		v.refers(r, plant.KindOrder, string(r.OrderID))
		v.numberOf(r)
	case *plant.Question:
		v.refers(r, plant.KindTask, string(r.TaskID))
		v.refers(r, plant.KindJob, string(r.JobID))
		if r.Open() && !slices.Contains(r.Touches, r.Subject) {
			v.broken(9, "question %s is open and does not touch its subject %s", r.ID, r.Subject)
		}
	}
}

// countsOf: invariant 11, from the parts themselves, and a part for each one planned.
func (v *verdict) countsOf(o *plant.Order) {
	if n := v.db.endsOf(o.ID); n != (message.Ends{Completed: o.Completed, Scrapped: o.Scrapped, Cancelled: o.Cancelled}) {
		v.broken(11, "order %s counts %d completed, %d scrapped, %d cancelled; its parts say %+v", o.ID, o.Completed, o.Scrapped, o.Cancelled, n)
	}
	if n := len(v.db.jobs[o.ID]); n != o.Planned {
		v.broken(11, "order %s plans %d parts and has %d", o.ID, o.Planned, n)
	}
	if o.Open() {
		return
	}
	for _, id := range v.db.jobs[o.ID] {
		if j := v.db.rows[rowID{plant.KindJob, string(id)}]; j.Open() {
			v.broken(11, "order %s has ended and its part %s has not", o.ID, id)
		}
	}
}

// placeOf: invariant 8, seen from the part.
func (v *verdict) placeOf(j *plant.Job) {
	if !j.Open() {
		return
	}
	if j.Position.Type == term.OnEquipment {
		l, ok := v.db.rows[rowID{plant.KindSlot, j.Position.Ref}].(*plant.Slot)
		if !ok || l.JobID != j.ID {
			v.broken(8, "part %s is on %s, whose slot row says otherwise", j.ID, j.Position)
		}
	}
	c, ok := v.db.rows[rowID{plant.KindCell, plant.CellKey}].(*plant.Cell)
	if ok && j.TempSlotNo > c.Config.Buffer.Count {
		v.broken(8, "part %s owns buffer place %d of %d", j.ID, j.TempSlotNo, c.Config.Buffer.Count)
	}
}

// partIn: invariant 8, seen from the slot.
func (v *verdict) partIn(l *plant.Slot) {
	if l.JobID == "" {
		return
	}
	j, ok := v.db.rows[rowID{plant.KindJob, string(l.JobID)}].(*plant.Job)
	if !ok || !j.Open() || j.Position != term.SlotPlace(l.ID) {
		v.broken(8, "slot %s has part %s, which is not there", l.ID, l.JobID)
	}
}

// numberOf: invariant 10. A number on the wire was drawn from the cell's counter.
func (v *verdict) numberOf(t *plant.Task) {
	c, ok := v.db.rows[rowID{plant.KindCell, plant.CellKey}].(*plant.Cell)
	if !ok || t.ActionNo != c.LastActionNo && term.NumberNewer(c.LastActionNo, t.ActionNo) {
		v.broken(10, "task %s has number %d, which the cell did not draw", t.ID, t.ActionNo)
	}
}

// together are invariants 8 and 10 of the open rows, from the rows and not from the index that keeps them.
func (v *verdict) together() {
	places, buffers := map[term.Place]term.JobID{}, map[int]term.JobID{}
	robot := term.TaskID("")
	starts := map[term.EquipmentID]term.TaskID{}
	for _, r := range slices.SortedFunc(maps.Values(v.db.open), func(a, b plant.Row) int { return cmp.Compare(a.Key(), b.Key()) }) {
		switch r := r.(type) {
		case *plant.Job:
			if other, twice := places[r.Position]; twice {
				v.broken(8, "%s has %s and %s", r.Position, other, r.ID)
			}
			if r.Position.Occupies() {
				places[r.Position] = r.ID
			}
			if other, twice := buffers[r.TempSlotNo]; twice {
				v.broken(8, "buffer place %d belongs to %s and %s", r.TempSlotNo, other, r.ID)
			}
			if r.TempSlotNo != 0 {
				buffers[r.TempSlotNo] = r.ID
			}
		case *plant.Task:
			if r.Type.UsesRobot() {
				if robot != "" {
					v.broken(10, "actions %s and %s of the one robot are open", robot, r.ID)
				}
				robot = r.ID
			} else {
				if other, twice := starts[r.EquipmentID]; twice {
					v.broken(10, "starts %s and %s of %s are open", other, r.ID, r.EquipmentID)
				}
				starts[r.EquipmentID] = r.ID
			}
		}
	}
}

// stepInCell: what no change may do. What has ended does not change (6), a part moves only with the evidence or the
// answer that moved it (9), and what an action asks for stays (10).
func (v *verdict) stepInCell(s step, c plant.Change) {
	if c.Before == nil {
		return
	}
	switch c.After.(type) {
	case *plant.Order, *plant.Job, *plant.Task, *plant.Question, *plant.Pallet, *plant.Alarm:
		if !c.Before.Open() {
			v.broken(6, "%s of %s, which had ended", c.Move, idOf(c.After))
		}
	}
	switch after := c.After.(type) {
	case *plant.Job:
		before := c.Before.(*plant.Job)
		if before.Position != after.Position && !s.moved(before, after) {
			v.broken(9, "part %s went from %s to %s (%s) with no result and no answer in the same commit", after.ID, before.Position, after.Position, c.Move)
		}
	case *plant.Task:
		before := c.Before.(*plant.Task)
		if after.ActionNo != before.ActionNo || after.Attempt != before.Attempt || after.Epoch != before.Epoch || after.JobID != before.JobID ||
			after.From != before.From || after.To != before.To {
			v.broken(10, "what task %s asks for changed", after.ID)
		}
		if before.State == term.TaskUnknown && after.State == term.TaskRunning {
			v.broken(10, "task %s was in doubt and runs again", after.ID)
		}
	}
}

// moved tells whether a commit holds what moved a part: the end of its action, an answer, or a pallet that came with
// it or took it away.
func (s step) moved(before, after *plant.Job) bool {
	if before.Position.Type == term.Nowhere || before.Position.Type == term.OnDock && after.Position == term.OutPlace(term.OutPallet) {
		return true
	}
	return slices.ContainsFunc(s.Changes, func(c plant.Change) bool {
		switch r := c.After.(type) {
		case *plant.Task:
			return r.JobID == after.ID && !r.Open()
		case *plant.Question:
			return !r.Open()
		}
		return false
	})
}

// touchedInCell names the rows whose invariants a changed row is part of.
func touchedInCell(r plant.Row) []rowID {
	switch r := r.(type) {
	case *plant.Job:
		ids := []rowID{{plant.KindOrder, string(r.OrderID)}}
		if r.Position.Type == term.OnEquipment {
			ids = append(ids, rowID{plant.KindSlot, r.Position.Ref})
		}
		return ids
	case *plant.Slot:
		return []rowID{{plant.KindJob, string(r.JobID)}}
	}
	return nil
}
