package production

import (
	"time"

	"surehand/internal/message"
	"surehand/internal/plant"
	"surehand/internal/scheduler"
	"surehand/internal/term"
)

// Schedule asks the scheduler what to do now and claims it: buffer places, machine starts, and at most one action of
// the robot. The action leaves only after the commit.
func Schedule(tx *plant.Tx) message.Outcome {
	if _, ok := tx.State().Cell(); !ok {
		return ignored("no cell")
	}
	markClean(tx)
	d := scheduler.Plan(scheduler.Look(tx.State(), tx.Session(), tx.Now()))
	if len(d.Reserve) > 0 || d.RefillDone {
		for _, r := range d.Reserve {
			tx.ReserveBufferPlace(r.Job, r.Place)
		}
		if d.RefillDone {
			tx.AskRefill(false)
		}
		d = scheduler.Plan(scheduler.Look(tx.State(), tx.Session(), tx.Now())) // the reserved parts can be brought now
	}
	for _, s := range d.Starts {
		tx.StartMachine(s.Machine, s.Slot, s.Slots, s.Program)
	}
	subject := plant.CellSubject
	if d.Move == nil {
		plan := d.Explain
		tx.WaitInCell(d.Wait, &plan, d.WakeAt)
	} else {
		plan := d.Explain
		t := tx.ClaimJobForAction(d.Move.Job, d.Move.Kind, d.Move.By, d.Move.To, &plan)
		subject = plant.TaskSubject(t.ID)
	}
	if !tx.Changed() {
		return ignored("nothing to do")
	}
	return message.Outcome{Code: message.Accepted, Subject: subject}
}

// markClean notes that a drain has ended with nothing under way and nothing in doubt: the next start has nothing to ask.
func markClean(tx *plant.Tx) {
	if tx.Session().Draining() && len(tx.State().Tasks()) == 0 && len(tx.State().Questions()) == 0 && tx.State().HeldFor(plant.CellSubject) != string(term.HoldRecovery) {
		tx.MarkCellClean()
	}
}

// UnderWay counts the actions whose result is awaited: a drain waits for them, and for a part in the gripper to be put
// down. What is in doubt waits for a person and not for the drain.
func UnderWay(s *plant.State) int {
	n := 0
	for _, t := range s.Tasks() {
		if t.State == term.TaskRunning {
			n++
		}
	}
	return n
}

// Woken: the time at which the scheduler wanted to look again has come.
func Woken(tx *plant.Tx, d plant.Due) message.Outcome {
	c, ok := tx.State().Cell()
	if !ok || c.Version != d.Version {
		return ignored("over")
	}
	tx.WaitInCell(c.WaitingFor, c.Plan, time.Time{})
	return message.Outcome{Code: message.Accepted, Subject: plant.CellSubject}
}

// Parked holds what a message was about that could not be decided; a result that is parked leaves its action in doubt.
func Parked(tx *plant.Tx, p message.Payload) (subject string) {
	switch p := p.(type) {
	case message.ActionEnded:
		t, open := tx.State().Task(p.Task)
		if !open {
			return ""
		}
		doubt(tx, t, "its result could not be decided")
		return plant.EquipmentSubject(t.EquipmentID)
	case message.StepTimeout:
		if t, open := tx.State().Task(term.TaskID(p.Due.Key)); open && p.Due.Kind == plant.KindTask {
			return plant.EquipmentSubject(t.EquipmentID)
		}
		return plant.CellSubject
	case message.MachineDone:
		return plant.EquipmentSubject(p.Machine)
	case message.InspectionResult:
		return plant.EquipmentSubject(p.Machine)
	case message.EquipmentStatusChanged:
		return plant.EquipmentSubject(p.Equipment)
	case message.DoneAcknowledged:
		return plant.EquipmentSubject(p.Machine)
	case message.ScheduleTick:
		return plant.CellSubject
	case message.Due: // of an intent: its device is held
		if p.Due.Kind == plant.KindCell || p.Due.Kind == plant.KindAlarm {
			return plant.CellSubject
		}
	}
	return ""
}
