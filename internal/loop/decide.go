package loop

import (
	"encoding/json"
	"fmt"

	"surehand/internal/automation"
	"surehand/internal/message"
	"surehand/internal/plant"
	"surehand/internal/production"
	"surehand/internal/recovery"
	"surehand/internal/term"
)

// decided is a message with its outcome, not yet visible to anybody.
type decided struct {
	message message.Message
	outcome message.Outcome
}

// decideOne decides one message on its own savepoint. A refusal is an outcome: its changes are dropped and
// what a device said is kept.
func (l *Loop) decideOne(w *plant.Work, m message.Message, known message.Known, thisTurn map[term.MessageID]decided) decided {
	if why, poisoned := l.poison[m.ID]; poisoned {
		return l.park(w, m, why)
	}
	if m.Source == message.FromPerson {
		if outcome, repeated := repeatedMessage(m, known, thisTurn); repeated {
			return decided{m, outcome}
		}
	}
	tx := w.Tx()
	outcome := l.decide(tx, m, known)
	switch outcome.Code {
	case message.Accepted:
		outcome.Seq = w.NextSeq()
		l.rememberPerson(tx, m, outcome)
		w.Keep(tx, entry(m, outcome))
	case message.Refused:
		w.Drop(tx)
		outcome.Seq = w.NextSeq()
		l.rememberPerson(tx, m, outcome)
		w.Keep(tx, entry(m, outcome))
	case message.Noted:
		w.Close(tx)
	default: // invalid, not found, ignored: nothing of it stands but what was received
		w.Drop(tx)
		w.Close(tx)
	}
	d := decided{m, outcome}
	if m.Source == message.FromPerson {
		thisTurn[m.ID] = d
	}
	return d
}

// decide is the one switch over all messages: the path of every message starts here.
func (l *Loop) decide(tx *plant.Tx, m message.Message, known message.Known) message.Outcome {
	switch p := m.Payload.(type) {
	case message.TelemetryReceived:
		return automation.Telemetry(tx, m, p, known)
	case message.DeviceResponded:
		return automation.Responded(tx, p)
	case message.StateReported:
		return automation.Reported(tx, m, p)
	case message.DeviceStatusReported:
		return automation.Status(tx, p)
	case message.InputRejected:
		return automation.Rejected(tx, p)
	case message.AttemptEnded:
		return automation.AttemptEnded(tx, p)
	case message.LinkChanged:
		return automation.LinkChanged(tx, p)
	case message.SessionDrained:
		return automation.Drained(tx, p)
	case message.Due:
		return due(tx, p)
	case message.Continue:
		return automation.Continue(tx)
	case message.ProcessStarted:
		recovery.Started(tx)
		return automation.Started(tx)
	case message.DatabaseTravelled:
		recovery.Travelled(tx)
		return automation.Travelled(tx)
	case message.OutageEnded:
		return automation.OutageEnded(tx)
	case message.SendCommand:
		return automation.SendCommand(tx, m, p)
	case message.CancelCommand:
		return automation.CancelCommand(tx, m, p)
	case message.JudgeCommand:
		return automation.JudgeCommand(tx, m, p)
	case message.ReleaseHold:
		return automation.ReleaseHold(tx, m, p)
	case message.ImportDevices:
		return automation.Import(tx, p)
	case message.StopRequested:
		tx.TouchCell() // a drain may have nothing to wait for
		return automation.Stop(tx, p)
	}
	return l.decideCell(tx, m, known)
}

// decideCell is the switch over the messages of the production half.
func (l *Loop) decideCell(tx *plant.Tx, m message.Message, known message.Known) message.Outcome {
	switch p := m.Payload.(type) {
	case message.EquipmentStatusChanged:
		return recovery.Observed(tx, p)
	case message.MachineDone:
		return production.MachineDone(tx, p)
	case message.InspectionResult:
		return production.InspectionResult(tx, p)
	case message.ActionEnded:
		return production.ActionEnded(tx, p)
	case message.DoneAcknowledged:
		return production.DoneAcknowledged(tx, p)
	case message.StepTimeout:
		return production.StepTimeout(tx, p)
	case message.ScheduleTick:
		return production.Schedule(tx)
	case message.CreateOrder:
		return production.CreateOrder(tx, m, p, known)
	case message.StartOrder:
		return production.StartOrder(tx, p)
	case message.PauseOrder:
		return production.PauseOrder(tx, m, p)
	case message.ResumeOrder:
		return production.ResumeOrder(tx, m, p)
	case message.CancelOrder:
		return production.CancelOrder(tx, m, p)
	case message.SuspendJob:
		return production.SuspendJob(tx, m, p)
	case message.ResumeJob:
		return production.ResumeJob(tx, m, p)
	case message.ReworkJob:
		return production.ReworkJob(tx, p)
	case message.ScrapJob:
		return production.ScrapJob(tx, p)
	case message.PalletArrived:
		return production.PalletArrived(tx, p, known)
	case message.PalletLeft:
		return production.PalletLeft(tx, p)
	case message.RefillRequested:
		return production.RefillRequested(tx)
	case message.PauseCell:
		return production.PauseCell(tx, m, p)
	case message.ReleaseCell:
		return production.ReleaseCell(tx, m, p)
	case message.DisableEquipment:
		return production.DisableEquipment(tx, m, p)
	case message.EnableEquipment:
		return production.EnableEquipment(tx, m, p)
	case message.AckAlarm:
		return production.AckAlarm(tx, m, p)
	case message.ShelveAlarm:
		return production.ShelveAlarm(tx, m, p)
	case message.ImportPlant:
		return production.ImportPlant(tx, p)
	case message.ReportPart:
		return recovery.ReportPart(tx, p)
	case message.CompareCell:
		return recovery.CompareCell(tx, m)
	case message.ConfirmRecovery:
		return recovery.ConfirmRecovery(tx, m, p)
	case message.ResolveManualAction:
		return recovery.ResolveManualAction(tx, m, p, known)
	}
	panic(fmt.Sprintf("no decider for %T", m.Payload))
}

// due gives a timer to the half that owns its row.
func due(tx *plant.Tx, p message.Due) message.Outcome {
	switch p.Due.Kind {
	case plant.KindCell:
		return production.Woken(tx, p.Due)
	case plant.KindAlarm:
		return production.Shelf(tx, p.Due)
	}
	return automation.Due(tx, p)
}

func entry(m message.Message, o message.Outcome) plant.Entry {
	word := "accepted"
	switch o.Code {
	case message.Refused:
		word = "refused"
	case message.Parked:
		word = "parked"
	}
	return plant.Entry{MessageID: m.ID, Type: m.Payload.Type(), Source: string(m.Source), Actor: m.Actor, CorrelationID: m.CorrelationID,
		CausationID: m.CausationID, CreatedAt: plant.Micros(m.CreatedAt), Outcome: word, Reason: o.Reason, Subject: o.Subject}
}

// repeatedMessage answers a message of a person that was decided before, in this turn or an earlier one.
func repeatedMessage(m message.Message, known message.Known, thisTurn map[term.MessageID]decided) (message.Outcome, bool) {
	if before, ok := thisTurn[m.ID]; ok {
		return repetition(m, before.message.BodyHash, before.outcome), true
	}
	k, ok := known.Keys[string(m.ID)]
	if !ok {
		return message.Outcome{}, false
	}
	var stored message.Outcome
	if err := json.Unmarshal([]byte(k.Outcome), &stored); err != nil {
		stored = message.Outcome{Code: message.Accepted, Detail: "decided before"}
	}
	return repetition(m, k.BodyHash, stored), true
}

func repetition(m message.Message, bodyHash string, stored message.Outcome) message.Outcome {
	if bodyHash != m.BodyHash {
		return message.Outcome{Code: message.Conflict, Reason: "other_body", Detail: "This idempotency key was used for another request."}
	}
	return stored
}

// rememberPerson stores the outcome of a person's message, so that the same message again gets the same answer.
func (l *Loop) rememberPerson(tx *plant.Tx, m message.Message, o message.Outcome) {
	if m.Source == message.FromPerson {
		tx.RememberKey(plant.MessageKey{ID: string(m.ID), BodyHash: m.BodyHash, Outcome: term.JSON(o)})
	}
}

// park stores a message that could not be decided and holds what it was about. Too many in a minute hold the
// whole device half: something is wrong with the program, not with one device.
func (l *Loop) park(w *plant.Work, m message.Message, why string) decided {
	tx := w.Tx()
	tx.ParkMessage(plant.Parked{ID: m.ID, Type: m.Payload.Type(), Source: string(m.Source), Raw: message.Raw(m.Payload), Reason: why})
	if _, again := m.Payload.(message.Continue); again { // else the same event would break every turn to come
		if ev, pending := tx.State().Event(l.badEvent); pending {
			tx.FinishEventIfPending(ev, term.EventFailed)
		}
	}
	subject := l.subjectOf(tx.State(), m.Payload)
	if subject == "" {
		subject = production.Parked(tx, m.Payload)
	}
	if subject != "" {
		tx.PlaceHold(subject, term.HoldParked, "surehand", m.Payload.Type()+" could not be decided: "+why)
		tx.RaiseAlarm(term.AlarmUndecidable, subject, m.Payload.Type()+" could not be decided: "+why)
	}
	if m.Source != message.FromPerson && l.tooManyParks(tx.Now()) { // a person's odd request is no sign of a broken program
		for _, half := range []string{plant.DevicesSubject, plant.CellSubject} {
			tx.PlaceHold(half, term.HoldParked, "surehand", "several messages could not be decided within a minute")
		}
		subject = plant.DevicesSubject
	}
	outcome := message.Outcome{Code: message.Parked, Reason: why, Subject: subject, Seq: w.NextSeq()}
	w.Keep(tx, entry(m, outcome))
	return decided{m, outcome}
}

// subjectOf is the device that a message is about; empty when there is none.
func (l *Loop) subjectOf(s *plant.State, p message.Payload) string {
	bySerial := func(serial string) string {
		if d, ok := s.DeviceBySerial(serial); ok {
			return plant.DeviceSubject(d.ID)
		}
		return ""
	}
	byIntent := func(id term.IntentID) string {
		if i, ok := s.Intent(id); ok {
			return plant.DeviceSubject(i.DeviceID)
		}
		return ""
	}
	switch p := p.(type) {
	case message.TelemetryReceived:
		return bySerial(p.Serial)
	case message.DeviceResponded:
		return bySerial(p.Serial)
	case message.StateReported:
		return bySerial(p.Serial)
	case message.DeviceStatusReported:
		return bySerial(p.Serial)
	case message.AttemptEnded:
		return byIntent(p.IntentID)
	case message.Due:
		return byIntent(term.IntentID(p.Due.Key))
	}
	return ""
}
