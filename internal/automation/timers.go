package automation

import (
	"time"

	"surehand/internal/message"
	"surehand/internal/plant"
	"surehand/internal/term"
)

// Due takes a timer of a row. A timer about an older version of the row changes nothing.
func Due(tx *plant.Tx, p message.Due) message.Outcome {
	i, ok := tx.State().Intent(term.IntentID(p.Due.Key))
	if !ok || p.Due.Kind != plant.KindIntent || i.Version != p.Due.Version || i.DueAt.After(tx.Now()) {
		return ignored("stale timer")
	}
	_, sending := tx.State().OpenAttemptOf(i.ID)
	switch {
	case i.State == term.PendingDispatch && !i.HoldsEndpoint:
		Dispatch(tx, i.EndpointID)
		if j, open := tx.State().Intent(i.ID); open && j == i { // not first in line, or still gated
			if !tx.Now().Before(i.DeadlineAt) {
				tx.MarkExpired(i, "deadline: "+string(i.WaitingFor))
			} else {
				tx.WaitForGate(i, i.WaitingFor, time.Time{})
			}
		}
	case i.State == term.Retrying && !i.NextAttemptAt.IsZero(): // else the window of its last attempt runs

		if i.AttemptCount > 0 && silenceMeansNothing(tx) && stopAttempts(tx, i) != "" {
			tx.PostponeWindow(i, tx.Now().Add(plant.OutageGrace))
			break
		}
		Dispatch(tx, i.EndpointID)
		if j, open := tx.State().Intent(i.ID); open && j.Version == i.Version {
			tx.WaitForGate(i, i.WaitingFor, time.Time{})
		}
	case silenceMeansNothing(tx):
		tx.PostponeWindow(i, tx.Now().Add(plant.OutageGrace))
	default:
		silence(tx, i, sending)
		Dispatch(tx, i.EndpointID)
	}
	return accepted(i)
}

// silenceMeansNothing: answers may still be queued in the broker, so windows stand still.
func silenceMeansNothing(tx *plant.Tx) bool { return !tx.Session().Drained(plant.LinkAnswers) }

// silence decides what the end of a window without a signal means.
func silence(tx *plant.Tx, i *plant.Intent, sending bool) {
	if sending { // its worker did not answer within the attempt's deadline either
		i = tx.MarkSendUnknown(i, tx.Now(), "the publish was not confirmed in time")
	}
	mark := func(reason string) {
		tx.RecordReceipt(plant.Receipt{IntentID: i.ID, DeviceID: i.DeviceID, Serial: i.Serial, Type: term.ReceiptTimeout,
			Correlation: term.CorrelationNone, CorrelationKey: i.MQTTRequestID, Reason: reason})
	}
	switch {
	case i.State == term.Acknowledged:
		mark("no proof within the reconciliation window")
		tx.MarkUncertain(i, "acknowledged, but no proof came within the window")
	case repeatable(tx, i):
		mark("no ack")
		tx.RecordReceipt(plant.Receipt{IntentID: i.ID, DeviceID: i.DeviceID, Serial: i.Serial, Type: term.ReceiptRetry,
			Correlation: term.CorrelationNone, CorrelationKey: i.MQTTRequestID, Reason: "ack timeout"})
		tx.MarkRetrying(i, backoff(tx, i, i.AttemptCount), "no ack")
	default:
		mark("no ack; not repeatable")
		tx.MarkUncertain(i, "it may have run, and nothing came back")
	}
}

// repeatable: whether silence may be answered by sending the same command id again. Absolute actions only.
// Class A always: the device dedupes over a reboot. Class B while its memory is surely the same one: sent by
// this process life, known to have been sent, and no other boot id since. Class C never.
func repeatable(tx *plant.Tx, i *plant.Intent) bool {
	d, ok := tx.State().Device(i.DeviceID)
	if !ok || i.Action != term.ActionAbsolute || !remembers(tx, i) {
		return false
	}
	return d.Class == term.ClassA || i.State == term.Dispatched && i.FencedAt.After(tx.Session().StartedAt())
}

// Started is the restart law: an attempt that an earlier life left open may have been sent. It is not sent
// again; the rest of its window is waited, and never less than the grace after an outage.
func Started(tx *plant.Tx) message.Outcome {
	began := tx.Now()
	for _, i := range tx.State().Intents() { // after a clock that went back, an older life's fence must not look like ours
		began = later(began, i.FencedAt)
	}
	tx.Session().Start(began)
	for _, a := range tx.State().OpenAttempts() {
		i, _ := tx.State().Intent(a.IntentID)
		tx.MarkSendUnknown(i, later(i.DueAt, tx.Now().Add(plant.OutageGrace)), "the process ended while it was being sent")
	}
	clampWindows(tx)
	extendWindows(tx)
	return message.Outcome{Code: message.Accepted, Subject: "loop"}
}

// clampWindows keeps what is left of every window within its full length, so that a clock that went back between
// two process lives neither holds a command for hours nor sends one long after it was wanted.
func clampWindows(tx *plant.Tx) {
	for _, i := range tx.State().Intents() {
		if !i.State.Live() {
			continue
		}
		timing := tx.State().Timing(i.DeviceID)
		full := time.Duration(timing.CommandDeadline)
		switch {
		case i.AttemptCount == 0 && i.CreatedAt.After(tx.Now().Add(plant.FutureTolerance)):
			if i.State == term.PendingDispatch {
				tx.MarkExpired(i, "the clock went back: how old it is cannot be told")
				continue
			}
		case i.State == term.Acknowledged:
			full = time.Duration(timing.ReconciliationWindow)
		case i.State == term.Dispatched:
			full = time.Duration(timing.AckTimeout)
		}
		if most := tx.Now().Add(full); i.DueAt.After(most) {
			tx.PostponeWindow(i, most)
		}
	}
}

// OutageEnded gives every window that ran while the loop could not commit its grace.
func OutageEnded(tx *plant.Tx) message.Outcome {
	extendWindows(tx)
	return changedOr(tx, "loop")
}

// Travelled quarantines every device: what was committed and is lost may have been executed.
func Travelled(tx *plant.Tx) message.Outcome {
	for _, d := range tx.State().Devices() {
		tx.PlaceHold(plant.DeviceSubject(d.ID), term.HoldQuarantine, "surehand", "the database went back in time: commits were lost by a failover or a restore")
	}
	tx.LiftHoldIfHeld(plant.DevicesSubject, term.HoldQuarantine, "surehand", "each device is held by itself now")
	return message.Outcome{Code: message.Accepted, Subject: plant.DevicesSubject}
}

// LinkChanged notes a broker connection.
func LinkChanged(tx *plant.Tx, p message.LinkChanged) message.Outcome {
	tx.Session().SetLink(p.Link, p.Up)
	word := map[bool]string{true: "up", false: "down"}[p.Up]
	tx.Count("link", string(p.Link)+" "+word)
	return message.Outcome{Code: message.Accepted, Subject: "link:" + string(p.Link), Reason: word, State: word}
}

// Drained: what had queued while we were away has come in; from now on silence means silence.
func Drained(tx *plant.Tx, p message.SessionDrained) message.Outcome {
	tx.Session().SetDrained(p.Link)
	if p.Link == plant.LinkAnswers {
		extendWindows(tx)
	}
	return message.Outcome{Code: message.Accepted, Subject: "link:" + string(p.Link), State: "drained"}
}

// extendWindows leaves at least the grace in every window in which silence is about to be judged.
func extendWindows(tx *plant.Tx) {
	least := tx.Now().Add(plant.OutageGrace)
	for _, i := range tx.State().Intents() {
		silenceJudged := i.State != term.Retrying || i.NextAttemptAt.IsZero() || i.AttemptCount >= i.MaxAttempts // else its due time stands
		if i.AttemptCount > 0 && i.State.Live() && silenceJudged && i.DueAt.Before(least) && i.WaitingFor == term.GateNone {
			tx.PostponeWindow(i, least)
		}
	}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// More tells whether work was left over that only its bound stopped: pending events, or commands whose gate
// is open now.
func More(s *plant.State, session *plant.Session) bool {
	if len(s.PendingEvents(1)) > 0 {
		return true
	}
	if session.LinkUp(plant.LinkCommands) && len(s.WaitingAt(term.GateLinkDown, 1)) > 0 {
		return true
	}
	return s.PublishesOpen() < plant.MaxPublishesOpen && len(s.WaitingAt(term.GateNoSlot, 1)) > 0
}

// Continue goes on with what an earlier turn left over, again up to its bound.
func Continue(tx *plant.Tx) message.Outcome {
	for _, id := range tx.State().PendingEvents(plant.MaxEventsPerTurn) {
		if !tx.MayEvaluate(id) {
			break
		}
		ev, _ := tx.State().Event(id)
		if tx.Now().Sub(ev.At) > time.Duration(tx.State().Timing(ev.DeviceID).Freshness) {
			tx.FinishEventIfPending(ev, term.EventDiscarded) // it became old while it waited
			continue
		}
		evaluateEvent(tx, ev)
	}
	for _, gate := range []term.Gate{term.GateLinkDown, term.GateNoSlot} {
		for _, id := range tx.State().WaitingAt(gate, plant.MaxFencesPerSweep) {
			if i, ok := tx.State().Intent(id); ok && i.WaitingFor == gate {
				Dispatch(tx, i.EndpointID)
			}
		}
	}
	return changedOr(tx, "loop")
}

func changedOr(tx *plant.Tx, subject string) message.Outcome {
	if tx.Changed() {
		return message.Outcome{Code: message.Accepted, Subject: subject}
	}
	return ignored("nothing left over")
}
