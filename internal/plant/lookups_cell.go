package plant

import (
	"surehand/internal/term"
)

// Cell is the one cell; false: no plant file was imported yet.
func (s *State) Cell() (*Cell, bool) { return s.cell, s.cell != nil }

func (s *State) Route(id term.RouteID) (*Route, bool) { r, ok := s.routes[id]; return r, ok }
func (s *State) EquipmentByID(id term.EquipmentID) (*Equipment, bool) {
	r, ok := s.equipment[id]
	return r, ok
}
func (s *State) Pallet(id term.PalletID) (*Pallet, bool) { r, ok := s.pallets[id]; return r, ok }
func (s *State) Order(id term.OrderID) (*Order, bool)    { r, ok := s.orders[id]; return r, ok }
func (s *State) Job(id term.JobID) (*Job, bool)          { r, ok := s.jobs[id]; return r, ok }
func (s *State) Slot(id term.SlotID) (*Slot, bool)       { r, ok := s.slots[id]; return r, ok }
func (s *State) Task(id term.TaskID) (*Task, bool)       { r, ok := s.tasks[id]; return r, ok }
func (s *State) Question(id term.QuestionID) (*Question, bool) {
	r, ok := s.questions[id]
	return r, ok
}
func (s *State) Alarm(id term.AlarmID) (*Alarm, bool) { r, ok := s.alarms[id]; return r, ok }

func (s *State) Routes() []*Route        { return sortedRows(s.routes) }
func (s *State) Equipment() []*Equipment { return sortedRows(s.equipment) }
func (s *State) Pallets() []*Pallet      { return sortedRows(s.pallets) }
func (s *State) Orders() []*Order        { return sortedRows(s.orders) }
func (s *State) Jobs() []*Job            { return sortedRows(s.jobs) }
func (s *State) Tasks() []*Task          { return sortedRows(s.tasks) }
func (s *State) Questions() []*Question  { return sortedRows(s.questions) }
func (s *State) Alarms() []*Alarm        { return sortedRows(s.alarms) }

// JobsOf lists an order's parts that have not ended, by number.
func (s *State) JobsOf(id term.OrderID) []*Job {
	jobs := make([]*Job, 0, len(s.jobsOf[id]))
	for _, j := range s.jobsOf[id] {
		jobs = append(jobs, s.jobs[j])
	}
	return jobs
}

// Placed lists the parts that are in the cell, the dock included, sorted by id.
func (s *State) Placed() []*Job {
	jobs := make([]*Job, len(s.inCell))
	for i, id := range s.inCell {
		jobs[i] = s.jobs[id]
	}
	return jobs
}

// JobAt is the part on a place; of several, which only a recovery can meet, the first.
func (s *State) JobAt(p term.Place) (*Job, bool) {
	l := s.placed[p]
	if len(l) == 0 {
		return nil, false
	}
	return s.jobs[l[0]], true
}

// SlotsOf lists a machine's slots by number.
func (s *State) SlotsOf(id term.EquipmentID) []*Slot {
	e, ok := s.equipment[id]
	if !ok {
		return nil
	}
	slots := make([]*Slot, 0, e.Config.Slots)
	for n := 1; n <= e.Config.Slots; n++ {
		if l, ok := s.slots[term.NewSlotID(id, n)]; ok {
			slots = append(slots, l)
		}
	}
	return slots
}

// Robot is the one robot; false: there is none.
func (s *State) Robot() (*Equipment, bool) {
	for _, e := range sortedRows(s.equipment) {
		if e.Type == term.KindRobot {
			return e, true
		}
	}
	return nil, false
}

// RobotTask is the open action that keeps the robot busy.
func (s *State) RobotTask() (*Task, bool) {
	for _, t := range sortedRows(s.tasks) {
		if t.Type.UsesRobot() {
			return t, true
		}
	}
	return nil, false
}

// StartOf is the open start of a machine.
func (s *State) StartOf(id term.EquipmentID) (*Task, bool) {
	for _, t := range sortedRows(s.tasks) {
		if t.Type == term.TaskStartMachine && t.EquipmentID == id {
			return t, true
		}
	}
	return nil, false
}

// TaskOf is the open action of a part.
func (s *State) TaskOf(id term.JobID) (*Task, bool) {
	for _, t := range sortedRows(s.tasks) {
		if t.JobID == id {
			return t, true
		}
	}
	return nil, false
}

// AskedAbout lists the open questions that touch a subject, sorted by id.
func (s *State) AskedAbout(subject string) []term.QuestionID { return s.asked[subject] }

// QuestionOf is the open question of a finding about a subject.
func (s *State) QuestionOf(f term.Finding, subject string) (*Question, bool) {
	id, ok := s.questionOf[string(f)+"\x00"+subject]
	if !ok {
		return nil, false
	}
	return s.questions[id], true
}

// AlarmOf is the alarm of a kind and subject that is not normal.
func (s *State) AlarmOf(kind term.AlarmKind, subject string) (*Alarm, bool) {
	id, ok := s.alarmOf[string(kind)+"\x00"+subject]
	if !ok {
		return nil, false
	}
	return s.alarms[id], true
}

// HeldFor says why a subject may not be driven: the first of its holds, or an open question about it; empty: it may.
func (s *State) HeldFor(subject string) string {
	for _, reason := range []term.HoldReason{term.HoldRecovery, term.HoldParked, term.HoldPaused, term.HoldSuspended, term.HoldDisabled} {
		if _, held := s.Held(subject, reason); held {
			return string(reason)
		}
	}
	if len(s.asked[subject]) > 0 {
		return "question"
	}
	return ""
}
