package production

import (
	"fmt"

	"surehand/internal/message"
	"surehand/internal/plant"
	"surehand/internal/term"
)

// aboutMark asks what became of a mark. A second mark spoils a part, so "not done" is offered only when the marker shows
// that this number can begin no more; an older number says nothing, because a request may still be on its way. What the
// marker knows itself is no question: see proveMark.
func aboutMark(tx *plant.Tx, t *plant.Task, q *plant.Question) {
	q.Record = fmt.Sprintf("mark %d of %s by %s may have happened: %q", t.ActionNo, t.JobID, t.EquipmentID, marked(tx, t))
	q.Touches = append(q.Touches, plant.JobSubject(t.JobID))
	q.Readings = Bound(tx, t.EquipmentID)
	o, seen := tx.Session().Observed(t.EquipmentID)
	r := o.Reading
	q.Machine = markerWords(seen, r)
	q.Answers = []term.Answer{{Word: term.AnswerDone, Effect: "The part is marked, whole and readable: its step counts as done."}}
	over := r.Echo == t.ActionNo || r.Echo != 0 && term.NumberNewer(t.ActionNo, r.Echo)
	if seen && r.Reached && !r.Busy && over {
		q.Answers = append(q.Answers, term.Answer{Word: term.AnswerNotDone, Effect: "There is nothing of the mark on the part: it is marked, with a new number."})
	}
	q.Answers = append(q.Answers, scrapInGripper())
}

func markerWords(seen bool, r term.Reading) string {
	switch {
	case !seen:
		return "has not been read yet; the part is in the gripper"
	case !r.Reached:
		return "cannot be reached: " + r.Error + "; the part is in the gripper"
	case r.Echo == 0:
		return "knows no number; the part is in the gripper"
	}
	how := "was interrupted and does not know whether it is on the part"
	switch {
	case r.Busy:
		how = "is marking"
	case r.Ended:
		how = "is on the part"
	case r.Failed:
		how = "failed, nothing is on the part"
	case r.Void:
		how = "was withdrawn before it began"
	}
	return fmt.Sprintf("last number %d, which %s; the part is in the gripper", r.Echo, how)
}

// marked is the text of a mark; its part has gone no step further while the mark is open.
func marked(tx *plant.Tx, t *plant.Task) string {
	j, open := tx.State().Job(t.JobID)
	o, known := tx.State().Order(t.OrderID)
	if t.Type != term.TaskMark || !open || !known {
		return ""
	}
	step, _ := o.Step(j)
	return plant.MarkText(step.Text, j)
}

// proveMark resolves a mark in doubt by what the marker says of its number, and tells whether it did. The number was
// given to this part alone, the part has not left the gripper since, and an end never changes again: so the marker's word
// is proof, however old it is and whichever process life asked for the mark.
func proveMark(tx *plant.Tx, id term.EquipmentID) bool {
	t, busy := tx.State().RobotTask()
	o, _ := tx.Session().Observed(id)
	r := o.Reading
	if !busy || t.Type != term.TaskMark || t.EquipmentID != id || t.State != term.TaskUnknown || r.Echo != t.ActionNo || r.Busy {
		return false
	}
	switch {
	case r.Ended:
		toolEnded(tx, t, message.ActionEnded{Outcome: term.Done})
	case r.Failed:
		toolEnded(tx, t, message.ActionEnded{Outcome: term.NotDone, Error: "the marker says that it failed and did not mark the part"})
	case r.Void:
		toolEnded(tx, t, message.ActionEnded{Outcome: term.NotDone, Unsent: true, Error: "it was withdrawn before the marker began it"})
	default:
		return false
	}
	return true
}
