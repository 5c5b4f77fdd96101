package production

import (
	"fmt"
	"strings"

	"surehand/internal/plant"
	"surehand/internal/term"
)

// Bound is what equipment says now, for a question to be bound to.
func Bound(tx *plant.Tx, ids ...term.EquipmentID) []plant.BoundReading {
	var bound []plant.BoundReading
	for _, id := range ids {
		if o, seen := tx.Session().Observed(id); seen {
			bound = append(bound, plant.BoundReading{Equipment: id, Predicates: o.Reading.Predicates(), At: plant.Micros(o.At)})
		}
	}
	return bound
}

// AskAboutTask asks, or asks anew after a reading has changed, what became of an action in doubt. Offered is only what
// the readings do not rule out, and "not done" only when it can no longer happen.
func AskAboutTask(tx *plant.Tx, t *plant.Task) {
	equipment := plant.EquipmentSubject(t.EquipmentID)
	tx.RaiseAlarm(term.AlarmTaskUnknown, equipment, fmt.Sprintf("action %d (%s) may have happened: %s", t.ActionNo, t.Type, t.Error))
	q := plant.Question{Finding: term.FindTaskUnknown, Subject: plant.TaskSubject(t.ID), Touches: []string{equipment}, TaskID: t.ID, JobID: t.JobID}
	switch t.Type {
	case term.TaskStartMachine:
		aboutStart(tx, t, &q)
	case term.TaskMove:
		aboutMove(tx, t, &q)
	case term.TaskMark:
		aboutMark(tx, t, &q)
	default:
		aboutScan(t, &q)
	}
	tx.OpenQuestion(q)
}

func aboutStart(tx *plant.Tx, t *plant.Task, q *plant.Question) {
	q.Record = fmt.Sprintf("start %d of %s, slots %v, program %d, may have happened", t.ActionNo, t.EquipmentID, t.Slots, t.Program)
	q.Readings = Bound(tx, t.EquipmentID)
	o, seen := tx.Session().Observed(t.EquipmentID)
	r := o.Reading
	q.Machine = readingWords(seen, r)
	q.Answers = []term.Answer{{Word: term.AnswerDone, Effect: "The machine works on the parts; its done is waited for."}}
	if seen && r.Reached && !r.Go && r.Echo != t.ActionNo {
		q.Answers = append(q.Answers, term.Answer{Word: term.AnswerNotDone, Effect: "The machine has not started: it is started again, with a new number."})
	}
	q.Answers = append(q.Answers, term.Answer{Word: term.AnswerFinished, Effect: "The machine has finished the parts: their step counts as done."})
	if seen && r.Reached && r.Echo == t.ActionNo {
		q.Suggested = term.AnswerDone
	}
}

func aboutScan(t *plant.Task, q *plant.Question) {
	q.Record = fmt.Sprintf("%s of %s by %s, action %d, may have happened", t.Type, t.JobID, t.EquipmentID, t.ActionNo)
	q.Machine = "no answer; the part is in the gripper"
	q.Touches = append(q.Touches, plant.JobSubject(t.JobID))
	q.Answers = []term.Answer{{Word: term.AnswerNotDone, Effect: "The part is put down and shown to the tool again."}, scrapInGripper()}
}

func scrapInGripper() term.Answer {
	return term.Answer{Word: term.AnswerScrap, Effect: "The part is carried to the exit as scrap."}
}

func aboutMove(tx *plant.Tx, t *plant.Task, q *plant.Question) {
	q.Record = fmt.Sprintf("action %d was to bring %s from %s to %s", t.ActionNo, t.JobID, t.From, t.To)
	q.Touches = append(q.Touches, plant.JobSubject(t.JobID), plant.CellSubject)
	near := []term.EquipmentID{t.EquipmentID}
	for _, p := range []term.Place{t.From, t.To} {
		if id, n := p.Slot(); n > 0 && id != t.EquipmentID {
			near = append(near, id)
		}
	}
	q.Readings = Bound(tx, near...)
	o, seen := tx.Session().Observed(t.EquipmentID)
	r := o.Reading
	fresh := seen && r.Reached
	q.Machine = readingWords(seen, r)
	if words := slotWords(tx, t); words != "" {
		q.Machine += "; " + words
	}
	offer := func(word, format string, args ...any) {
		q.Answers = append(q.Answers, term.Answer{Word: word, Effect: fmt.Sprintf(format, args...)})
	}
	stands := func(p term.Place) bool { return !fresh || !r.Gripper || p.Type == term.OnRobot }
	inGripperAfter := t.To.Type == term.OnRobot
	if !inGripperAfter && stands(t.To) && slotAllows(tx, t.To) {
		offer(term.AnswerDone, "The part is at %s: the action counts as done.", t.To)
	}
	if inGripperAfter && !(fresh && !r.Gripper) {
		offer(term.AnswerDone, "The robot holds the part at %s: the action counts as done.", t.To.Ref)
	}
	empty := t.From.Type == term.OnRobot && fresh && !r.Gripper
	if fresh && cannotGoOn(r, t) && !(r.Echo == t.ActionNo && r.Ended) && stands(t.From) && slotAllows(tx, t.From) && !empty {
		offer(term.AnswerNotDone, "The part is still at %s: the action counts as not done.", t.From)
	}
	if t.From.Type != term.OnRobot && !(fresh && !r.Gripper) {
		offer(term.AnswerGripper, "The part is in the gripper, and the robot cannot go on with this action: the part is put on its own place.")
	}
	offer(term.AnswerRemoved, "You have taken the part out of the cell: it ends as scrap.")
	q.Suggested = suggestedMove(fresh, r, t)
	offered := false
	for _, a := range q.Answers {
		offered = offered || a.Word == q.Suggested
	}
	if !offered {
		q.Suggested = ""
	}
}

// cannotGoOn tells whether the robot surely does nothing more of an action: it stands still, and go is off, or it says
// itself that this very action has ended.
func cannotGoOn(r term.Reading, t *plant.Task) bool {
	return r.Reached && !r.Busy && (!r.Go || r.Echo == t.ActionNo && (r.Ended || r.Fault != 0))
}

// suggestedMove is what the robot's own registers say.
func suggestedMove(fresh bool, r term.Reading, t *plant.Task) string {
	switch {
	case !fresh || r.Busy:
		return ""
	case r.Echo == t.ActionNo && r.PartAt == term.PartAtTo:
		return term.AnswerDone
	case r.Echo == t.ActionNo && r.PartAt == term.PartGripper && r.Gripper:
		switch {
		case t.To.Type == term.OnRobot:
			return term.AnswerDone
		case t.From.Type == term.OnRobot:
			return term.AnswerNotDone
		}
		return term.AnswerGripper
	case r.Echo == t.ActionNo && r.PartAt == term.PartAtFrom, r.Echo != 0 && term.NumberNewer(r.Echo, t.ActionNo) && r.Idle():
		return term.AnswerNotDone
	}
	return ""
}

// slotAllows tells whether a machine's own sensor does not rule out that the part is on a place.
func slotAllows(tx *plant.Tx, p term.Place) bool {
	id, n := p.Slot()
	if n == 0 {
		return true
	}
	o, seen := tx.Session().Observed(id)
	return !seen || !o.Reading.Reached || o.Reading.Occupied.Has(n)
}

func slotWords(tx *plant.Tx, t *plant.Task) string {
	var words []string
	for _, p := range []term.Place{t.From, t.To} {
		if id, n := p.Slot(); n > 0 {
			o, seen := tx.Session().Observed(id)
			switch {
			case !seen:
				words = append(words, fmt.Sprintf("%s has not been read yet", id))
			case !o.Reading.Reached:
				words = append(words, fmt.Sprintf("%s cannot be reached", id))
			case o.Reading.Occupied.Has(n):
				words = append(words, fmt.Sprintf("%s slot %d holds a part", id, n))
			default:
				words = append(words, fmt.Sprintf("%s slot %d is empty", id, n))
			}
		}
	}
	return strings.Join(words, ", ")
}

func readingWords(seen bool, r term.Reading) string {
	switch {
	case !seen:
		return "has not been read yet"
	case !r.Reached:
		return "cannot be reached: " + r.Error
	}
	words := fmt.Sprintf("last number %d", r.Echo)
	if r.Busy || r.Running != 0 {
		words += ", working"
	} else {
		words += ", standing still"
	}
	if r.Fault != 0 {
		words += fmt.Sprintf(", fault %d", r.Fault)
	}
	if r.State == "" {
		if r.Gripper {
			words += ", gripper holds a part"
		} else {
			words += ", gripper empty"
		}
		if r.PartAt != "" {
			words += ", which left the part " + map[term.PartAt]string{term.PartAtFrom: "where it was", term.PartGripper: "in the gripper", term.PartAtTo: "where it was to go"}[r.PartAt]
		}
	}
	return words
}

// StillAtWork says why an action in doubt cannot be answered about yet: the robot or the marker carries it out right now.
// One that says so for ever is disabled first.
func StillAtWork(tx *plant.Tx, q *plant.Question) string {
	t, open := tx.State().Task(q.TaskID)
	if !open || t.Type != term.TaskMove && t.Type != term.TaskMark {
		return ""
	}
	if _, disabled := tx.State().Held(plant.EquipmentSubject(t.EquipmentID), term.HoldDisabled); disabled {
		return ""
	}
	if o, seen := tx.Session().Observed(t.EquipmentID); seen && o.Reading.Reached && o.Reading.Busy {
		doing := "moving"
		if t.Type == term.TaskMark {
			doing = "marking"
		}
		return fmt.Sprintf("%s is %s right now. Wait until it stands still; if it never does, stop it and disable it.", t.EquipmentID, doing)
	}
	return ""
}
