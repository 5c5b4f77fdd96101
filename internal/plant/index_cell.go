package plant

import (
	"cmp"
	"fmt"
	"slices"

	"surehand/internal/term"
)

// insertInCell is insert for the rows of the production half; false: not one of them.
func (s *State) insertInCell(r Row) bool {
	switch r := r.(type) {
	case *Cell:
		s.cell = r
		s.due.set(Due{At: r.DueAt, Kind: KindCell, Key: CellKey, Version: r.Version})
	case *Route:
		s.routes[r.ID] = r
	case *Equipment:
		s.equipment[r.ID] = r
	case *Pallet:
		s.pallets[r.ID] = r
	case *Order:
		s.orders[r.ID] = r
	case *Job:
		s.jobs[r.ID] = r
		s.jobsOf[r.OrderID] = s.byNumber(s.jobsOf[r.OrderID], r)
		if r.Position.Occupies() {
			addSorted(s.placed, r.Position, r.ID)
			s.inCell = insertSorted(s.inCell, r.ID)
		}
	case *Slot:
		s.slots[r.ID] = r
		s.due.set(Due{At: r.DueAt, Kind: KindSlot, Key: string(r.ID), Version: r.Version})
	case *Task:
		s.tasks[r.ID] = r
		s.due.set(Due{At: r.DueAt, Kind: KindTask, Key: string(r.ID), Version: r.Version})
	case *Question:
		s.questions[r.ID] = r
		s.questionOf[string(r.Finding)+"\x00"+r.Subject] = r.ID
		for _, t := range r.Touches {
			addSorted(s.asked, t, r.ID)
		}
	case *Alarm:
		s.alarms[r.ID] = r
		s.alarmOf[string(r.Type)+"\x00"+r.Subject] = r.ID
		s.due.set(Due{At: r.ShelvedUntil, Kind: KindAlarm, Key: string(r.ID), Version: r.Version})
	default:
		return false
	}
	return true
}

func (s *State) removeFromCell(r Row) bool {
	switch r := r.(type) {
	case *Cell:
		s.cell = nil
		s.due.drop(KindCell, CellKey)
	case *Route:
		delete(s.routes, r.ID)
	case *Equipment:
		delete(s.equipment, r.ID)
	case *Pallet:
		delete(s.pallets, r.ID)
	case *Order:
		delete(s.orders, r.ID)
	case *Job:
		delete(s.jobs, r.ID)
		if l := without(s.jobsOf[r.OrderID], r.ID); len(l) > 0 {
			s.jobsOf[r.OrderID] = l
		} else {
			delete(s.jobsOf, r.OrderID)
		}
		if r.Position.Occupies() {
			dropSorted(s.placed, r.Position, r.ID)
			s.inCell = deleteSorted(s.inCell, r.ID)
		}
	case *Slot:
		delete(s.slots, r.ID)
		s.due.drop(KindSlot, string(r.ID))
	case *Task:
		delete(s.tasks, r.ID)
		s.due.drop(KindTask, string(r.ID))
	case *Question:
		delete(s.questions, r.ID)
		delete(s.questionOf, string(r.Finding)+"\x00"+r.Subject)
		for _, t := range r.Touches {
			dropSorted(s.asked, t, r.ID)
		}
	case *Alarm:
		delete(s.alarms, r.ID)
		delete(s.alarmOf, string(r.Type)+"\x00"+r.Subject)
		s.due.drop(KindAlarm, string(r.ID))
	default:
		return false
	}
	return true
}

// byNumber keeps the parts of an order in the order of their numbers.
func (s *State) byNumber(l []term.JobID, r *Job) []term.JobID {
	at, found := slices.BinarySearchFunc(l, r.Number, func(id term.JobID, n int) int { return cmp.Compare(s.jobs[id].Number, n) })
	if found {
		return l
	}
	return slices.Insert(l, at, r.ID)
}

func without(l []term.JobID, id term.JobID) []term.JobID {
	if at := slices.Index(l, id); at >= 0 {
		return slices.Delete(l, at, at+1)
	}
	return l
}

func (s *State) appendCellRows(rows []Row) []Row {
	if s.cell != nil {
		rows = append(rows, s.cell)
	}
	rows = appendRows(rows, sortedRows(s.routes))
	rows = appendRows(rows, sortedRows(s.equipment))
	rows = appendRows(rows, sortedRows(s.pallets))
	rows = appendRows(rows, sortedRows(s.orders))
	rows = appendRows(rows, sortedRows(s.jobs))
	rows = appendRows(rows, sortedRows(s.slots))
	rows = appendRows(rows, sortedRows(s.tasks))
	rows = appendRows(rows, sortedRows(s.questions))
	return appendRows(rows, sortedRows(s.alarms))
}

// checkCell refuses a picture that cannot be driven at all. What a person can put right (places, slots, counters)
// is not refused: the recovery compares it and asks.
func (s *State) checkCell() error {
	for _, j := range sortedRows(s.jobs) {
		if s.orders[j.OrderID] == nil {
			return fmt.Errorf("job %s is open and its order %s is not", j.ID, j.OrderID)
		}
	}
	for _, l := range sortedRows(s.slots) {
		if s.equipment[l.EquipmentID] == nil {
			return fmt.Errorf("slot %s: its equipment is missing", l.ID)
		}
	}
	robots := 0
	for _, t := range sortedRows(s.tasks) {
		if s.equipment[t.EquipmentID] == nil {
			return fmt.Errorf("task %s: equipment %s is missing", t.ID, t.EquipmentID)
		}
		if t.JobID != "" && s.jobs[t.JobID] == nil {
			return fmt.Errorf("task %s is open and its part %s is not", t.ID, t.JobID)
		}
		if t.Type.UsesRobot() {
			robots++
		}
	}
	if robots > 1 {
		return fmt.Errorf("%d actions of the one robot are open (invariant 10)", robots)
	}
	return nil
}
