package production

import (
	"fmt"

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
			tx.CompleteStep(t.JobID, term.StepResult{Equipment: t.EquipmentID, By: actor})
		} else {
			tx.FailTask(t.ID, term.PartGripper, by)
		}
	case word == term.AnswerDone:
		j, _ := tx.State().Job(t.JobID)
		if why := canLand(tx, t, j); why != "" {
			return why
		}
		at := term.PartAtTo
		if t.To.Type == term.OnRobot {
			at = term.PartGripper
		}
		tx.FinishTask(t.ID, at)
		place(tx, t, term.PartAtTo)
	case word == term.AnswerNotDone:
		tx.FailTask(t.ID, term.PartAtFrom, by)
		place(tx, t, term.PartAtFrom)
	case word == term.AnswerGripper:
		tx.FailTask(t.ID, term.PartGripper, by)
		place(tx, t, term.PartGripper)
	}
	tx.ResolveAlarm(term.AlarmTaskUnknown, plant.EquipmentSubject(t.EquipmentID))
	return ""
}

// canLand says why a part cannot be recorded on the target of its own action.
func canLand(tx *plant.Tx, t *plant.Task, j *plant.Job) string {
	if other, taken := tx.State().JobAt(t.To); taken && t.To.Type != term.OnRobot && other.ID != j.ID {
		return fmt.Sprintf("%s is recorded on %s", other.ID, t.To)
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
			if s, ok := tx.State().Slot(term.NewSlotID(t.EquipmentID, n)); ok {
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
	if j.State == term.Processing || j.State == term.WaitingJudgement {
		tx.CompleteStep(j.ID, term.StepResult{Equipment: equipmentOf(j), Pass: pass, By: actor})
	}
	tx.ResolveAlarm(term.AlarmOverdue, plant.JobSubject(j.ID))
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
		tx.LatchDone(id, o.Reading.Cycle, true)
	}
}

// DoneByPerson ends the steps of all parts in a machine whose done nobody expected, and acknowledges it.
func DoneByPerson(tx *plant.Tx, id term.EquipmentID, actor string) string {
	for _, s := range tx.State().SlotsOf(id) {
		if j, ok := tx.State().Job(s.JobID); ok && s.State == term.SlotOccupied && j.State == term.Processing {
			StepByPerson(tx, j, "", actor)
		}
	}
	DropDone(tx, id)
	return ""
}

// Rest looks at a part after an answer: one that rests on its pallet and is to leave ends there.
func Rest(tx *plant.Tx, id term.JobID) { endOnDock(tx, id) }
