package production

import (
	"time"

	"surehand/internal/message"
	"surehand/internal/plant"
	"surehand/internal/term"
)

// PauseCell lets no new action begin. What is under way ends; a part in the gripper is put down.
func PauseCell(tx *plant.Tx, m message.Message, p message.PauseCell) message.Outcome {
	if _, ok := tx.State().Cell(); !ok {
		return noCell()
	}
	if h, held := tx.State().Held(plant.CellSubject, term.HoldPaused); held {
		return refused(plant.CellSubject, "paused", "paused", "The cell is paused already, by %s.", h.By)
	}
	tx.PlaceHold(plant.CellSubject, term.HoldPaused, m.Actor, p.Reason)
	return accepted(plant.CellSubject, "", "paused")
}

// ReleaseCell ends a pause. A recovery is ended by its own confirmation.
func ReleaseCell(tx *plant.Tx, m message.Message, p message.ReleaseCell) message.Outcome {
	if !tx.LiftHoldIfHeld(plant.CellSubject, term.HoldPaused, m.Actor, p.Reason) {
		state := tx.State().HeldFor(plant.CellSubject)
		if state == string(term.HoldRecovery) {
			return refused(plant.CellSubject, "recovery", state, "The cell waits for the end of the recovery; confirm that.")
		}
		return refused(plant.CellSubject, "not_paused", state, "The cell is not paused.")
	}
	return accepted(plant.CellSubject, "", tx.State().HeldFor(plant.CellSubject))
}

// DisableEquipment lets the cell run without an equipment.
func DisableEquipment(tx *plant.Tx, m message.Message, p message.DisableEquipment) message.Outcome {
	e, ok := tx.State().EquipmentByID(p.Equipment)
	subject := plant.EquipmentSubject(p.Equipment)
	switch {
	case !ok:
		return notFound("unknown_equipment", "There is no equipment %s.", p.Equipment)
	case p.Reason == "":
		return invalid("/reason", "say why")
	}
	if _, held := tx.State().Held(subject, term.HoldDisabled); held {
		return refused(subject, "disabled", string(e.Status), "%s is disabled already.", e.ID)
	}
	tx.PlaceHold(subject, term.HoldDisabled, m.Actor, p.Reason)
	return accepted(subject, string(e.ID), string(term.HoldDisabled))
}

// EnableEquipment ends that. What is in it is compared first, as after a lost link.
func EnableEquipment(tx *plant.Tx, m message.Message, p message.EnableEquipment) message.Outcome {
	e, ok := tx.State().EquipmentByID(p.Equipment)
	subject := plant.EquipmentSubject(p.Equipment)
	switch {
	case !ok:
		return notFound("unknown_equipment", "There is no equipment %s.", p.Equipment)
	case p.Reason == "":
		return invalid("/reason", "say why it may be used again")
	}
	if !tx.LiftHoldIfHeld(subject, term.HoldDisabled, m.Actor, p.Reason) {
		return refused(subject, "not_disabled", string(e.Status), "%s is not disabled.", e.ID)
	}
	tx.PlaceHold(subject, term.HoldRecovery, "surehand", "was disabled; it is compared before it is used")
	return accepted(subject, string(e.ID), string(e.Status))
}

// AckAlarm: a person has seen it.
func AckAlarm(tx *plant.Tx, m message.Message, p message.AckAlarm) message.Outcome {
	a, ok := tx.State().Alarm(p.Alarm)
	if !ok {
		return notFound("unknown_alarm", "There is no open alarm %s.", p.Alarm)
	}
	if a.State == term.AlarmAcknowledged {
		return refused(plant.AlarmSubject(a.ID), "acknowledged", string(a.State), "The alarm was acknowledged by %s.", a.AckedBy)
	}
	a = tx.AcknowledgeAlarm(a, m.Actor)
	return accepted(plant.AlarmSubject(a.ID), string(a.ID), string(a.State))
}

// ShelveAlarm puts an alarm aside for 1 min to 24 h, or brings it back (0). Alarms about parts that may be lost cannot be shelved.
func ShelveAlarm(tx *plant.Tx, m message.Message, p message.ShelveAlarm) message.Outcome {
	a, ok := tx.State().Alarm(p.Alarm)
	switch d := time.Duration(p.For); {
	case !ok:
		return notFound("unknown_alarm", "There is no open alarm %s.", p.Alarm)
	case p.Reason == "":
		return invalid("/reason", "say why")
	case d == 0 && !a.ShelvedUntil.IsZero():
		a = tx.UnshelveAlarm(a)
		return accepted(plant.AlarmSubject(a.ID), string(a.ID), string(a.State))
	case d < time.Minute || d > 24*time.Hour:
		return invalid("/for", "1m to 24h, or 0s to end a shelving")
	case !a.Type.Shelvable():
		return refused(plant.AlarmSubject(a.ID), "not_shelvable", string(a.State), "An alarm %s cannot be shelved: a part may be lost.", a.Type)
	}
	a = tx.ShelveAlarm(a, tx.Now().Add(time.Duration(p.For)), m.Actor, p.Reason)
	return accepted(plant.AlarmSubject(a.ID), string(a.ID), string(a.State))
}
