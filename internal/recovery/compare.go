package recovery

import (
	"fmt"
	"slices"
	"time"

	"surehand/internal/plant"
	"surehand/internal/term"
)

// Seen is what was last read of each equipment; false: nothing yet in this process life.
type Seen func(term.EquipmentID) (plant.Observation, bool)

// flapping: so many changes within its window, the last one not long ago, are no sign of work but of a bad signal.
const flapping = 6

// Compare lists every difference between the record and the readings, as the questions that a person has to answer.
// only: this equipment alone; empty: the whole cell, the record against itself too. What an open action touches is
// asked about with the action, not here.
func Compare(s *plant.State, seen Seen, now time.Time, only term.EquipmentID) []plant.Question {
	c := comparer{state: s, seen: seen, now: now, moving: map[term.Place]bool{}}
	for _, t := range s.Tasks() {
		if t.JobID != "" {
			c.moving[t.From], c.moving[t.To] = true, true
		}
	}
	if only == "" {
		c.record()
	}
	for _, e := range s.Equipment() {
		if only != "" && e.ID != only {
			continue
		}
		if _, disabled := s.Held(plant.EquipmentSubject(e.ID), term.HoldDisabled); disabled {
			continue
		}
		c.equipment(e)
	}
	return c.found
}

type comparer struct {
	state  *plant.State
	seen   Seen
	now    time.Time
	moving map[term.Place]bool // places of an open action
	found  []plant.Question
}

func (c *comparer) find(q plant.Question) { c.found = append(c.found, q) }

func answer(word, format string, args ...any) term.Answer {
	return term.Answer{Word: word, Effect: fmt.Sprintf(format, args...)}
}

func removed() term.Answer {
	return answer(term.AnswerRemoved, "You have taken the part out of the cell: it ends as scrap.")
}

// record holds the database against itself.
func (c *comparer) record() {
	cell, ok := c.state.Cell()
	if !ok {
		return
	}
	owner := map[int]*plant.Job{}
	for _, j := range c.state.Jobs() {
		subject := plant.JobSubject(j.ID)
		n := j.TempSlotNo
		if n > cell.Config.Buffer.Count {
			c.newPlace(plant.Question{Finding: term.FindPlaceRange, Touches: []string{subject}, Machine: "no sensor says where it is",
				Record: fmt.Sprintf("%s has buffer place %d; the buffer has 1 to %d", j.ID, n, cell.Config.Buffer.Count)}, j)
		}
		if other, shared := owner[n]; n > 0 && shared {
			c.newPlace(plant.Question{Finding: term.FindSharedPlace, Touches: []string{subject, plant.JobSubject(other.ID)}, Machine: "no sensor says where they are",
				Record: fmt.Sprintf("%s and %s both have buffer place %d", other.ID, j.ID, n)}, j)
		} else if n > 0 {
			owner[n] = j
		}
		if j.Position.Type == term.OnEquipment {
			c.jobInSlot(j)
		}
	}
	for _, e := range c.state.Equipment() {
		for _, s := range c.state.SlotsOf(e.ID) {
			c.slotsJob(e, s)
		}
	}
	for _, o := range c.state.Orders() {
		if left := len(c.state.JobsOf(o.ID)); left != o.Left() {
			c.find(plant.Question{Finding: term.FindCounters, Subject: plant.OrderSubject(o.ID), Touches: []string{plant.OrderSubject(o.ID)},
				Record:  fmt.Sprintf("%s counts %d of %d parts as ended, but %d are open", o.ID, o.Planned-o.Left(), o.Planned, left),
				Machine: "the parts themselves are the proof", Answers: []term.Answer{answer(term.AnswerRecount, "The counters are set to what the parts say.")}})
		}
	}
}

// newPlace offers the lowest free buffer place. The answer means this place, whatever becomes free meanwhile.
func (c *comparer) newPlace(q plant.Question, j *plant.Job) {
	cell, _ := c.state.Cell()
	q.Subject, q.JobID = plant.JobSubject(j.ID), j.ID
	if n := freePlace(c.state, cell.Config.Buffer.Count, j); n > 0 {
		q.Place = term.BufferPlace(n)
		q.Answers = append(q.Answers, answer(term.AnswerNewPlace, "You have set %s on buffer place %d: that is its own place now.", j.ID, n))
	}
	q.Answers = append(q.Answers, removed())
	c.find(q)
}

// freePlace is the lowest buffer place that is no other part's; 0: none.
func freePlace(s *plant.State, count int, j *plant.Job) int {
	for n := 1; n <= count; n++ {
		if !slices.ContainsFunc(s.Jobs(), func(o *plant.Job) bool { return o.ID != j.ID && o.TempSlotNo == n }) {
			return n
		}
	}
	return 0
}

func (c *comparer) jobInSlot(j *plant.Job) {
	id, n := j.Position.Slot()
	s, ok := c.state.Slot(term.SlotID(j.Position.Ref))
	if ok && s.JobID == j.ID {
		return
	}
	says := "which does not exist"
	var answers []term.Answer
	if ok {
		says = "which is " + string(s.State)
		if s.JobID != "" {
			says += " with " + string(s.JobID)
		} else {
			answers = append(answers, answer(term.AnswerThere, "%s is in slot %d of %s: the slot follows.", j.ID, n, id))
		}
	}
	if c.homeFree(j) {
		answers = append(answers, answer(term.AnswerHome, "%s stands on its own buffer place %d.", j.ID, j.TempSlotNo))
	}
	c.find(plant.Question{Finding: term.FindJobSlot, Subject: plant.JobSubject(j.ID), JobID: j.ID, Touches: []string{plant.JobSubject(j.ID), plant.EquipmentSubject(id)},
		Record: fmt.Sprintf("%s is at %s, %s", j.ID, j.Position, says), Machine: c.slotSays(id, n), Readings: c.bound(id), Answers: append(answers, removed())})
}

// homeFree tells whether no other part is recorded on a part's own buffer place.
func (c *comparer) homeFree(j *plant.Job) bool {
	if j.TempSlotNo == 0 {
		return false
	}
	other, taken := c.state.JobAt(term.BufferPlace(j.TempSlotNo))
	return !taken || other.ID == j.ID
}

// slotsJob: a slot that names a part which is elsewhere, or has ended.
func (c *comparer) slotsJob(e *plant.Equipment, s *plant.Slot) {
	if s.JobID == "" {
		return
	}
	j, open := c.state.Job(s.JobID)
	if open && j.Position == term.SlotPlace(s.ID) {
		return
	}
	f, says := term.FindSlotJob, "has ended"
	touches := []string{plant.EquipmentSubject(e.ID)}
	var answers []term.Answer
	if open {
		f, says = term.FindTwoPlaces, "is on "+j.Position.String()
		touches = append(touches, plant.JobSubject(j.ID))
		answers = append(answers, answer(term.AnswerThere, "%s is in slot %d of %s: its place follows.", j.ID, s.Number, e.ID))
	}
	answers = append(answers, answer(term.AnswerClear, "Slot %d of %s is empty: the slot follows.", s.Number, e.ID))
	c.find(plant.Question{Finding: f, Subject: plant.SlotSubject(s.ID), JobID: s.JobID, Touches: append(touches, plant.SlotSubject(s.ID)),
		Record: fmt.Sprintf("slot %s holds %s, which %s", s.ID, s.JobID, says), Machine: c.slotSays(e.ID, s.Number), Readings: c.bound(e.ID), Answers: answers})
}

func (c *comparer) slotSays(id term.EquipmentID, n int) string {
	o, seen := c.seen(id)
	switch {
	case !seen:
		return fmt.Sprintf("%s has not been read yet", id)
	case !o.Reading.Reached:
		return fmt.Sprintf("%s cannot be reached", id)
	case o.Reading.Occupied.Has(n):
		return fmt.Sprintf("%s: a part is in slot %d", id, n)
	}
	return fmt.Sprintf("%s: slot %d is empty", id, n)
}

func (c *comparer) bound(ids ...term.EquipmentID) []plant.BoundReading {
	var bound []plant.BoundReading
	for _, id := range ids {
		if o, seen := c.seen(id); seen {
			bound = append(bound, plant.BoundReading{Equipment: id, Predicates: o.Reading.Predicates(), At: plant.Micros(o.At)})
		}
	}
	return bound
}

// equipment holds the record against what one equipment says.
func (c *comparer) equipment(e *plant.Equipment) {
	o, seen := c.seen(e.ID)
	if !seen {
		return // the comparison is not over before it is
	}
	r := o.Reading
	subject := plant.EquipmentSubject(e.ID)
	without := answer(term.AnswerWithout, "The cell runs without %s. Parts in it stay until they are reported.", e.ID)
	ask := func(f term.Finding, record, machine string, answers ...term.Answer) {
		c.find(plant.Question{Finding: f, Subject: subject, Touches: []string{subject}, Record: record, Machine: machine, Readings: c.bound(e.ID), Answers: answers})
	}
	switch {
	case !r.Reached:
		ask(term.FindUnreachable, c.holding(e), fmt.Sprintf("%s cannot be reached: %s", e.ID, r.Error), without)
		return
	case o.Changes >= flapping && c.now.Sub(o.Since) < flapQuiet:
		c.find(plant.Question{Finding: term.FindFlapping, Subject: subject, Touches: []string{subject}, Record: c.holding(e),
			Machine: fmt.Sprintf("%s keeps changing what it says", e.ID), Answers: []term.Answer{without}})
		return
	case e.Type == term.KindRobot && c.ownError(r): // told with the question about the action
	case r.Fault != 0 || r.State == term.MachineFault:
		ask(term.FindFault, c.holding(e), fmt.Sprintf("%s reports fault %d", e.ID, r.Fault), without)
	}
	cell, _ := c.state.Cell()
	if term.MayBegin(cell.LastActionNo, r.Echo) {
		c.find(plant.Question{Finding: term.FindEchoUnknown, Subject: subject, Touches: []string{subject, plant.CellSubject},
			Record: fmt.Sprintf("the last number given out is %d", cell.LastActionNo), Machine: fmt.Sprintf("%s knows number %d", e.ID, r.Echo),
			Readings: c.bound(e.ID), Answers: []term.Answer{answer(term.AnswerAccept, "You have looked: the parts are where the record says. Numbering goes on above %d.", r.Echo)}})
	}
	if !o.At.After(o.RecordAt) {
		return // read before the record changed: the next reading is compared
	}
	switch e.Type {
	case term.KindMachine:
		c.machine(e, r)
	case term.KindRobot:
		c.robot(e, r)
	}
}

// ownError tells whether what a robot shows as its error is the end of the very action that is asked about.
func (c *comparer) ownError(r term.Reading) bool {
	t, busy := c.state.RobotTask()
	return busy && r.Fault != 0 && r.Echo == t.ActionNo
}

// flapQuiet is how long a signal that flapped must have stood still.
const flapQuiet = 3 * time.Second

func (c *comparer) holding(e *plant.Equipment) string {
	parts := ""
	for _, s := range c.state.SlotsOf(e.ID) {
		if s.JobID != "" {
			parts += fmt.Sprintf(", slot %d holds %s (%s)", s.Number, s.JobID, s.State)
		}
	}
	if parts == "" {
		parts = ", holds no part"
	}
	return string(e.ID) + parts
}

func (c *comparer) machine(e *plant.Equipment, r term.Reading) {
	starting, start := c.state.StartOf(e.ID)
	for _, s := range c.state.SlotsOf(e.ID) {
		if c.moving[term.SlotPlace(s.ID)] {
			continue
		}
		there := r.Occupied.Has(s.Number)
		j, open := c.state.Job(s.JobID)
		if s.JobID != "" && (!open || j.Position != term.SlotPlace(s.ID)) {
			continue // the record against itself says that already
		}
		subject := plant.EquipmentSubject(e.ID)
		switch {
		case s.JobID == "" && there:
			c.find(plant.Question{Finding: term.FindPartForeign, Subject: plant.SlotSubject(s.ID), Touches: []string{subject, plant.SlotSubject(s.ID)},
				Record: fmt.Sprintf("slot %s is empty", s.ID), Machine: c.slotSays(e.ID, s.Number), Readings: c.bound(e.ID),
				Answers: []term.Answer{answer(term.AnswerWithout, "The cell runs without %s. If it is a part of an order, report that part; if you take it out, this question closes by itself.", e.ID)}})
		case s.JobID != "" && !there:
			answers := []term.Answer{}
			if c.homeFree(j) {
				answers = append(answers, answer(term.AnswerHome, "%s stands on its own buffer place %d.", j.ID, j.TempSlotNo))
			}
			c.find(plant.Question{Finding: term.FindPartMissing, Subject: plant.JobSubject(j.ID), JobID: j.ID, Touches: []string{plant.JobSubject(j.ID), subject},
				Record: fmt.Sprintf("%s is in slot %s", j.ID, s.ID), Machine: c.slotSays(e.ID, s.Number), Readings: c.bound(e.ID), Answers: append(answers, removed())})
		case s.State == term.SlotOccupied && !s.StartedAt.IsZero() && there && !c.progresses(e, s, r) && !(start && slices.Contains(starting.Slots, s.Number)):
			c.find(plant.Question{Finding: term.FindNotRunning, Subject: plant.JobSubject(j.ID), JobID: j.ID, Touches: []string{plant.JobSubject(j.ID), subject},
				Record:  fmt.Sprintf("%s is processed in slot %s since %s", j.ID, s.ID, s.StartedAt.Format(time.TimeOnly)),
				Machine: fmt.Sprintf("%s is %s and does not work on slot %d", e.ID, r.State, s.Number), Readings: c.bound(e.ID),
				Answers: []term.Answer{answer(term.AnswerFinished, "The machine has finished %s: its step counts as done.", j.ID),
					answer(term.AnswerRestart, "%s may be worked on from the beginning of its step: it is started again.", j.ID),
					answer(term.AnswerScrap, "%s is not good: it is carried to the exit as scrap.", j.ID)}})
		}
	}
}

// progresses tells whether a machine still works on a slot, or says that it has done so: a done that the loop takes by
// itself is no difference.
func (c *comparer) progresses(e *plant.Equipment, s *plant.Slot, r term.Reading) bool {
	if r.Running.Has(s.Number) {
		return true
	}
	if !r.Done {
		return false
	}
	newer := !e.HasCycle || r.Cycle != e.Cycle
	return newer && (e.Config.Batch || r.DoneSlot == 0 || r.DoneSlot == s.Number || e.Config.Slots == 1)
}

func (c *comparer) robot(e *plant.Equipment, r term.Reading) {
	if _, busy := c.state.RobotTask(); busy {
		return // the question about the action covers what it holds
	}
	j, holds := c.state.JobAt(term.GripperPlace())
	switch {
	case !holds && r.Gripper:
		c.find(plant.Question{Finding: term.FindGripper, Subject: plant.EquipmentSubject(e.ID), Touches: []string{plant.EquipmentSubject(e.ID)},
			Record: "the gripper is empty", Machine: "the robot holds a part", Readings: c.bound(e.ID),
			Answers: []term.Answer{answer(term.AnswerWithout, "The cell stands without its robot. If it is a part of an order, report that part; if you take it out, this question closes by itself.")}})
	case holds && !r.Gripper:
		var answers []term.Answer
		if c.homeFree(j) {
			answers = append(answers, answer(term.AnswerHome, "%s stands on its own buffer place %d.", j.ID, j.TempSlotNo))
		}
		c.find(plant.Question{Finding: term.FindGripperEmpty, Subject: plant.JobSubject(j.ID), JobID: j.ID, Touches: []string{plant.JobSubject(j.ID), plant.EquipmentSubject(e.ID)},
			Record: fmt.Sprintf("%s is in the gripper", j.ID), Machine: "the gripper is empty", Readings: c.bound(e.ID), Answers: append(answers, removed())})
	}
}
