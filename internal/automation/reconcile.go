package automation

import (
	"time"

	"surehand/internal/message"
	"surehand/internal/plant"
	"surehand/internal/term"
)

// AttemptEnded takes the worker's one answer to a publish.
func AttemptEnded(tx *plant.Tx, p message.AttemptEnded) message.Outcome {
	a, open := tx.State().Attempt(p.AttemptID)
	if !open {
		tx.Count("result_stale", string(p.Outcome))
		return ignored("its attempt has ended already")
	}
	i, _ := tx.State().Intent(a.IntentID)
	switch p.Outcome {
	case term.AttemptSent:
		tx.MarkDispatched(i)
	case term.AttemptNotSent:
		tx.MarkNotSent(i, backoff(tx, i, i.AttemptNumber), p.Error)
	default:
		tx.MarkSendUnknown(i, a.DeadlineAt, p.Error)
	}
	tx.RecordReceipt(plant.Receipt{IntentID: i.ID, DeviceID: i.DeviceID, Serial: i.Serial, Type: term.ReceiptPublish,
		Correlation: term.CorrelationTimely, CorrelationKey: string(a.ID), Reason: string(p.Outcome), Payload: []byte(p.Error)})
	wakeSlotWaiters(tx)
	return accepted(i)
}

// wakeSlotWaiters looks at commands that waited for the room that a publish just gave back.
func wakeSlotWaiters(tx *plant.Tx) {
	for _, id := range tx.State().WaitingAt(term.GateNoSlot, 2) {
		if i, ok := tx.State().Intent(id); ok {
			Dispatch(tx, i.EndpointID)
		}
	}
}

func accepted(i *plant.Intent) message.Outcome {
	return message.Outcome{Code: message.Accepted, Subject: IntentSubject(i.ID), ID: string(i.ID)}
}

// IntentSubject names a command in the event log.
func IntentSubject(id term.IntentID) string { return "intent:" + string(id) }

// backoff is when the next attempt may go out after attempt n (from 1): the profile's wait, lengthened by
// jitter so that devices that failed together do not return together.
func backoff(tx *plant.Tx, i *plant.Intent, n int) time.Time {
	timing := tx.State().Timing(i.DeviceID)
	wait := timing.Backoff[min(max(n, 1), len(timing.Backoff))-1]
	return tx.Now().Add(time.Duration(float64(wait) * (1 + *timing.Jitter*tx.Fraction())))
}

// Responded takes a device's answer to an RPC. An answer is never proof (D-7): it acknowledges or refuses.
func Responded(tx *plant.Tx, p message.DeviceResponded) message.Outcome {
	i, d, outcome := correlate(tx, p.Serial, p.CommandID, p.Raw)
	if i == nil {
		return outcome
	}
	receipt := plant.Receipt{IntentID: i.ID, DeviceID: d.ID, Serial: d.Serial, Type: term.ReceiptResult, Correlation: term.CorrelationTimely,
		CorrelationKey: p.Correlation, Reason: string(p.Status) + " " + string(p.ResultCode), Payload: p.Raw}
	if p.Status == term.RPCAccepted {
		receipt.Type = term.ReceiptAck
	}
	positive := p.Status == term.RPCAccepted || p.Status == term.RPCSucceeded
	var move func()
	if positive {
		receipt.Correlation, move = answerYes(tx, i, p)
	} else {
		receipt.Correlation, move = answerNo(tx, i, p)
	}
	tx.RecordReceipt(receipt)
	if move == nil {
		tx.Count("answer", string(receipt.Correlation))
		wakeDevice(tx, d.ID)
		return message.Outcome{Code: message.Noted, Reason: string(receipt.Correlation), Subject: IntentSubject(i.ID)}
	}
	move()
	Dispatch(tx, i.EndpointID)
	wakeDevice(tx, d.ID)
	return accepted(i)
}

// correlate finds the command that a device speaks of. A payload cannot speak for another device: the serial
// of the topic is the identity. nil: foreign, and what to answer.
func correlate(tx *plant.Tx, serial string, id term.CommandID, raw []byte) (*plant.Intent, *plant.Device, message.Outcome) {
	d, ok := tx.State().DeviceBySerial(serial)
	if !ok {
		return nil, nil, reject(tx, "unknown_device", serial, "", raw)
	}
	tx.Session().Heard(d.ID, tx.Now())
	i, ok := tx.FindCommand(id)
	if ok && i.DeviceID == d.ID {
		return i, d, message.Outcome{}
	}
	reason := "unknown_command"
	if ok {
		reason = "other_device"
	}
	tx.Count("answer", string(term.CorrelationForeign))
	if tx.Session().MayKeepReject(tx.Now()) {
		tx.RecordReceipt(plant.Receipt{DeviceID: d.ID, Serial: serial, Type: term.ReceiptRejected, Correlation: term.CorrelationForeign,
			CorrelationKey: string(id), Reason: reason, Payload: raw})
	}
	wakeDevice(tx, d.ID)
	return nil, d, ignored(reason)
}

// neverLeft: surely no attempt of the command has left, so nothing a device says can be about it.
func neverLeft(i *plant.Intent) bool { return i.AttemptCount == 0 }

func answerYes(tx *plant.Tx, i *plant.Intent, p message.DeviceResponded) (term.Correlation, func()) {
	switch {
	case neverLeft(i), i.State == term.Failed:
		return term.CorrelationContradiction, nil
	case i.State == term.Acknowledged && p.Status == term.RPCAccepted:
		return term.CorrelationDuplicate, nil
	case i.State == term.Acknowledged: // the result after the ack: kept, proves nothing
		return term.CorrelationTimely, nil
	case i.State == term.Applied:
		return term.CorrelationDuplicate, nil
	case i.State == term.Expired, i.State == term.Uncertain:
		return term.CorrelationLate, nil
	}
	return term.CorrelationTimely, func() {
		e, _ := tx.State().Endpoint(i.EndpointID)
		tx.MarkAcknowledged(i, e.Mark, time.Duration(tx.State().Timing(i.DeviceID).ReconciliationWindow))
	}
}

func answerNo(tx *plant.Tx, i *plant.Intent, p message.DeviceResponded) (term.Correlation, func()) {
	switch {
	case neverLeft(i), i.State == term.Applied:
		return term.CorrelationContradiction, nil
	case i.State == term.Failed:
		return term.CorrelationDuplicate, nil
	case i.State == term.Expired:
		return term.CorrelationLate, nil
	}
	why := string(p.ResultCode)
	if p.Message != "" {
		why += ": " + p.Message
	}
	switch attemptOf(i, p) {
	case attemptEarlier:
		return term.CorrelationEarlier, nil
	case attemptUnbound:
		if i.State == term.Uncertain {
			return term.CorrelationTimely, nil
		}
		return term.CorrelationTimely, func() { tx.MarkUncertain(i, "a refusal that cannot be bound to an attempt: "+why) }
	}
	if p.ResultCode == term.ResultBusy && i.State == term.Uncertain && i.AttemptCount > 1 {
		return term.CorrelationTimely, nil // this copy did not run; an earlier one may
	}
	if p.ResultCode == term.ResultBusy && i.State != term.Uncertain && mayRepeatAfterBusy(i) {
		return term.CorrelationTimely, func() { tx.MarkRetrying(i, backoff(tx, i, i.AttemptCount), why) }
	}
	return term.CorrelationTimely, func() { tx.MarkFailed(i, why) }
}

// mayRepeatAfterBusy: busy says that this copy did not run. With a single attempt and none left it is a
// refusal; otherwise the retry budget decides, since an earlier attempt may be what keeps the device busy.
func mayRepeatAfterBusy(i *plant.Intent) bool {
	return i.AttemptCount < i.MaxAttempts || i.AttemptNumber > 1
}

type attemptBinding int

const (
	attemptCurrent attemptBinding = iota
	attemptEarlier
	attemptUnbound
)

// attemptOf binds a negative answer to an attempt: by correlation data, else by the echoed number.
func attemptOf(i *plant.Intent, p message.DeviceResponded) attemptBinding {
	switch {
	case p.Correlation != "" && p.Correlation == i.MQTTRequestID, p.Correlation == "" && p.Attempt == i.AttemptNumber, i.AttemptNumber == 1:
		return attemptCurrent
	case p.Correlation != "", p.Attempt > 0:
		return attemptEarlier
	}
	return attemptUnbound
}

// Reported takes a device's report of its real state. With the command id it proves or contradicts that
// command; without one it is an observation like a reading.
func Reported(tx *plant.Tx, m message.Message, p message.StateReported) message.Outcome {
	d, ok := tx.State().DeviceBySerial(p.Serial)
	if !ok {
		return reject(tx, "unknown_device", p.Serial, "state", p.Raw)
	}
	if p.Retained { // a hint of unknown age: no evidence
		tx.Count("state_ignored", "retained")
		return ignored("retained")
	}
	tx.Session().Heard(d.ID, tx.Now())
	var about *plant.Intent
	if p.CommandID != "" {
		i, _, outcome := correlate(tx, p.Serial, p.CommandID, p.Raw)
		if i == nil {
			return outcome
		}
		about = i
		reportAbout(tx, i, d, p)
	}
	observeReport(tx, m, d, p, about == nil)
	wakeDevice(tx, d.ID)
	switch {
	case about != nil && tx.ChangedKind(plant.KindIntent):
		return accepted(about)
	case tx.Decided():
		return message.Outcome{Code: message.Accepted, Subject: plant.DeviceSubject(d.ID)}
	}
	return message.Outcome{Code: message.Noted}
}

// reportAbout judges a report that names its command.
func reportAbout(tx *plant.Tx, i *plant.Intent, d *plant.Device, p message.StateReported) {
	e, _ := tx.State().Endpoint(i.EndpointID)
	spec, known := tx.State().Spec(e)
	receipt := plant.Receipt{IntentID: i.ID, DeviceID: d.ID, Serial: d.Serial, Type: term.ReceiptStateReport, Correlation: term.CorrelationTimely,
		CorrelationKey: string(p.CommandID), Payload: p.Raw}
	if !known {
		receipt.Reason = "its endpoint is not in the profile any more"
		tx.RecordReceipt(receipt)
		return
	}
	value, reported := reportedValue(p, spec)
	if !reported {
		receipt.Reason = "says nothing about " + spec.Key
		tx.RecordReceipt(receipt)
		return
	}
	// A toggle or a pulse has no target to compare with: the device's report about this very command is its proof.
	proves := i.Action != term.ActionAbsolute || value.Equal(i.TargetValue, tolerance(e, spec))
	receipt.Reason = value.String()
	switch {
	case neverLeft(i), i.State == term.Applied && !proves, i.State == term.Failed && proves:
		receipt.Correlation = term.CorrelationContradiction
		tx.Count("answer", string(receipt.Correlation))
		tx.RecordReceipt(receipt)
	case i.State == term.Applied, i.State == term.Failed:
		receipt.Correlation = term.CorrelationDuplicate
		tx.RecordReceipt(receipt)
	case i.State == term.Expired:
		receipt.Correlation = term.CorrelationLate
		tx.RecordReceipt(receipt)
		if i.HoldsEndpoint { // what became of it is known now; its state, an end, stays
			tx.ReleaseEndpointIfUnproven(i)
			Dispatch(tx, i.EndpointID)
		}
	case proves:
		evidence := tx.RecordReceipt(receipt)
		tx.MarkApplied(i, evidence)
		Dispatch(tx, i.EndpointID)
	case i.State == term.Uncertain && !oneExecution(tx, i):
		tx.RecordReceipt(receipt)
	case oneExecution(tx, i):
		tx.RecordReceipt(receipt)
		tx.MarkFailed(i, "the device reports "+value.String()+" for this command")
		Dispatch(tx, i.EndpointID)
	default:
		tx.RecordReceipt(receipt)
		tx.MarkUncertain(i, "the device reports "+value.String()+", but another copy of the command may still run")
	}
}

// oneExecution: no other copy of the command can change what the report says.
func oneExecution(tx *plant.Tx, i *plant.Intent) bool {
	return i.AttemptCount <= 1 || remembers(tx, i)
}

func reportedValue(p message.StateReported, spec *term.EndpointSpec) (term.Value, bool) {
	for _, f := range p.Fields {
		if f.Key == spec.TelemetryKey() || f.Key == spec.Binding.Param {
			if v, err := f.Value.As(spec.Type); err == nil {
				return v, true
			}
		}
	}
	return term.Value{}, false
}

// observeReport takes the values of a report into the picture, ordered like a reading without a time:
// appliedAt is stored with the receipt and never trusted for order. A report that named its command has been
// judged already; it must not also count for the command that was sent because of it.
func observeReport(tx *plant.Tx, m message.Message, d *plant.Device, p message.StateReported, evidence bool) {
	r := message.Reading{Fields: p.Fields, Seq: p.Seq, BootID: p.BootID}
	o := weigh(tx, d, r, string(m.ID))
	if !tx.Session().Drained(plant.LinkAnswers) {
		return // it may have been queued for hours, and carries no time to tell
	}
	o.ageUnknown = false
	if o.newBoot {
		d = tx.RebootDevice(d, p.BootID)
	}
	for _, f := range p.Fields {
		spec, ok := tx.State().SpecByTelemetry(d, f.Key)
		if !ok {
			continue
		}
		value, err := f.Value.As(spec.Type)
		e, exists := tx.State().Endpoint(term.NewEndpointID(d.ID, spec.Key))
		if err != nil || !exists || !o.newer(e.Mark, r) {
			continue
		}
		before := *e
		after := tx.Observe(e, value, o.sampledAt, tx.Now(), o.mark(e.Mark, r))
		if evidence {
			weighEvidence(tx, &before, after, spec, false)
		}
	}
}
