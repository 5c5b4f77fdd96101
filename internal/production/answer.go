package production

import (
	"fmt"
	"slices"

	"surehand/internal/plant"
	"surehand/internal/term"
)

// AnswerTask carries a person's word about an action in doubt into the record; a text says why it cannot be so.
func AnswerTask(tx *plant.Tx, t *plant.Task, word, actor string) string {
	by := "answered by " + actor
	switch {
	case t.Type == term.TaskStartMachine:
		return answerStart(tx, t, word, by)
	case t.Type != term.TaskMove:
		if word == term.AnswerDone {
			tx.FinishTask(t.ID, term.PartGripper)
			tx.CompleteStep(t.JobID, term.StepResult{Equipment: t.EquipmentID, Data: marked(tx, t), By: actor})
		} else {
			tx.FailTask(t.ID, term.PartGripper, by)
		}
	default:
		if why := answerMove(tx, t, word, by); why != "" {
			return why
		}
	}
	tx.ResolveAlarm(term.AlarmTaskUnknown, plant.EquipmentSubject(t.EquipmentID))
	return ""
}

// answerMove lets the record follow a person's word about where a move left its part.
func answerMove(tx *plant.Tx, t *plant.Task, word, by string) string {
	at := map[string]term.PartAt{term.AnswerDone: term.PartAtTo, term.AnswerNotDone: term.PartAtFrom, term.AnswerGripper: term.PartGripper}[word]
	if why := canLand(tx, t, at); why != "" {
		return why
	}
	switch {
	case word != term.AnswerDone:
		tx.FailTask(t.ID, at, by)
	case t.To.Type == term.OnRobot:
		tx.FinishTask(t.ID, term.PartGripper)
	default:
		tx.FinishTask(t.ID, at)
	}
	place(tx, t, at)
	return ""
}

// canLand says why a part cannot be recorded where its own action left it; empty: it can. Nothing else is brought to a
// place that an action is heading for, so this is met only by a record that contradicts itself.
func canLand(tx *plant.Tx, t *plant.Task, at term.PartAt) string {
	j, open := tx.State().Job(t.JobID)
	p := placeOf(t, at)
	if !open || j.Position == p {
		return ""
	}
	if other, taken := tx.State().JobAt(p); taken && other.ID != j.ID && p.Occupies() {
		return fmt.Sprintf("%s is recorded at %s", other.ID, p)
	}
	if s, ok := tx.State().Slot(term.SlotID(p.Ref)); p.Type == term.OnEquipment && (!ok || s.State != term.SlotEmpty) {
		return fmt.Sprintf("slot %s is not empty in the record", p.Ref)
	}
	return ""
}

func answerStart(tx *plant.Tx, t *plant.Task, word, by string) string {
	switch word {
	case term.AnswerDone:
		started(tx, t)
	case term.AnswerNotDone:
		tx.FailTask(t.ID, "", by)
	case term.AnswerFinished:
		started(tx, t)
		for _, n := range t.Slots {
			if s, ok := tx.State().Slot(term.NewSlotID(t.EquipmentID, n)); ok && covers(t, s) {
				if j, ok := tx.State().Job(s.JobID); ok && j.State == term.Processing {
					StepByPerson(tx, j, "", by)
				}
			}
		}
	}
	tx.ResolveAlarm(term.AlarmTaskUnknown, plant.EquipmentSubject(t.EquipmentID))
	return ""
}

// StepByPerson ends the step of a part in its slot by a person's word; pass is "fail" for a part that is not good.
func StepByPerson(tx *plant.Tx, j *plant.Job, pass, actor string) {
	if s, ok := tx.State().Slot(term.SlotID(j.Position.Ref)); ok && s.JobID == j.ID && s.State == term.SlotOccupied {
		tx.FinishSlotIfOccupied(s.ID)
	}
	if j.State == term.Processing || j.State == term.WaitingJudgement || j.Position.Type == term.OnRobot {
		tx.CompleteStep(j.ID, term.StepResult{Equipment: equipmentOf(j), Pass: pass, By: actor})
	}
	CloseStepQuestions(tx, j.ID, actor+" has ended the step")
}

// CloseStepQuestions closes what was asked about a step in a slot that is over, or that the part has left.
func CloseStepQuestions(tx *plant.Tx, id term.JobID, why string) {
	subject := plant.JobSubject(id)
	for _, f := range []term.Finding{term.FindOverdue, term.FindNotRunning} {
		if q, open := tx.State().QuestionOf(f, subject); open {
			tx.ResolveQuestion(q, term.AnswerEvidence, "surehand", why)
		}
	}
	tx.ResolveAlarm(term.AlarmOverdue, subject)
}

func equipmentOf(j *plant.Job) term.EquipmentID {
	id, _ := j.Position.Slot()
	return id
}

// DropDone acknowledges a done that a person says means nothing.
func DropDone(tx *plant.Tx, id term.EquipmentID) {
	e, ok := tx.State().EquipmentByID(id)
	if !ok || e.Type != term.KindMachine {
		return
	}
	o, seen := tx.Session().Observed(id)
	if seen && o.Reading.Done {
		tx.LatchDone(id, o.Reading.Cycle, o.Reading.Cycle != 0) // a machine that counts is above 0 at its first done
	}
}

// DoneByPerson ends the steps of the parts in a machine that a question is about (of all, when it names none), and
// acknowledges the machine's done.
func DoneByPerson(tx *plant.Tx, id term.EquipmentID, q *plant.Question, actor string) {
	for _, s := range tx.State().SlotsOf(id) {
		j, ok := tx.State().Job(s.JobID)
		if !ok || s.State != term.SlotOccupied || j.State != term.Processing {
			continue
		}
		if q.Finding == term.FindUnexpected || slices.Contains(q.Touches, plant.JobSubject(j.ID)) {
			StepByPerson(tx, j, "", actor)
		}
	}
	DropDone(tx, id)
}

// Rest looks at a part after an answer: one that rests on its pallet and is to leave ends there.
func Rest(tx *plant.Tx, id term.JobID) { endOnDock(tx, id) }
