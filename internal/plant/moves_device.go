package plant

import (
	"slices"
	"time"

	"surehand/internal/term"
)

// RecordTelemetry stores one reading as it came.
func (tx *Tx) RecordTelemetry(r Telemetry) { tx.put("RecordTelemetry", nil, &r) }

// RecordEvent stores one normalised value with its first status.
func (tx *Tx) RecordEvent(e Event) *Event {
	e.Version = 1
	tx.put("RecordEvent", nil, &e)
	return &e
}

// FinishEventIfPending ends a pending event: processed, failed, or discarded because it became old.
func (tx *Tx) FinishEventIfPending(e *Event, to term.EventStatus) {
	if e.Status != term.EventPending || to == term.EventPending {
		broken(6, "FinishEventIfPending of %s from %s to %s", e.ID, e.Status, to)
	}
	n := *e
	n.Version++
	n.Status = to
	if to == term.EventDiscarded {
		n.Reason = term.DiscardBackfill
	}
	tx.put("FinishEventIfPending", e, &n)
}

// Observe records what was last seen of an endpoint and moves its mark on. The caller has decided that the
// reading is newer.
func (tx *Tx) Observe(e *Endpoint, value term.Value, sampledAt, receivedAt time.Time, mark term.Mark) *Endpoint {
	n := *e
	n.Version++
	n.Value, n.SampledAt, n.ReceivedAt, n.Mark = value, Micros(sampledAt), Micros(receivedAt), mark
	tx.put("Observe", e, &n)
	return &n
}

// RebootDevice records a new boot id; the one before becomes history.
func (tx *Tx) RebootDevice(d *Device, bootID string) *Device {
	n := *d
	n.Version++
	if d.BootID != "" {
		n.Boots = append(slices.Clone(d.Boots), d.BootID)
		n.Boots = n.Boots[max(0, len(n.Boots)-MaxBoots):]
	}
	n.BootID = bootID
	tx.put("RebootDevice", d, &n)
	return &n
}

// RecordExecution stores a verdict. For a rule it becomes the current one: the one before closes unless its
// command is still open, and the rule remembers it together with its hold-off.
func (tx *Tx) RecordExecution(e Execution, holdUntil time.Time) *Execution {
	e.Version = 1
	e.Count = 1
	e.FirstAt, e.LastAt = tx.Now(), tx.Now()
	e.Reason = Printable(e.Reason)
	if len(e.Leaves) == 0 {
		e.Leaves = nil
	}
	if len(e.Gates) == 0 {
		e.Gates = nil
	}
	if e.LastEventID == "" {
		e.LastEventID = e.EventID
	}
	r, isRule := tx.w.state.rules[e.RuleID]
	e.IsOpen = isRule || e.IntentID != ""
	tx.put("RecordExecution", nil, &e)
	if !isRule {
		return &e
	}
	n := *r
	n.Version++
	n.ExecutionID = e.ID
	n.HoldUntil = Micros(holdUntil)
	tx.put("RememberVerdict", r, &n)
	if old, ok := tx.w.state.executions[r.ExecutionID]; ok && !tx.executionOpen(old) {
		closed := *old
		closed.Version++
		closed.IsOpen = false
		tx.put("CloseExecution", old, &closed)
	}
	return &e
}

// RepeatExecution counts one more event with the same verdict and reason.
func (tx *Tx) RepeatExecution(e *Execution, event term.EventID) {
	n := *e
	n.Version++
	n.Count++
	if n.LastAt = tx.Now(); n.LastAt.Before(n.FirstAt) { // the clock went back
		n.LastAt = n.FirstAt
	}
	n.LastEventID = event
	tx.put("RepeatExecution", e, &n)
}

// RecordReceipt stores raw evidence; it stays when the message is refused. Payload is cut to MaxReceiptBytes.
func (tx *Tx) RecordReceipt(r Receipt) term.ReceiptID {
	r.ID = term.ReceiptID(tx.NewID())
	r.ReceivedAt = tx.Now()
	r.Reason, r.CorrelationKey, r.Serial = Printable(r.Reason), Printable(r.CorrelationKey), Printable(r.Serial)
	r.Payload = r.Payload[:min(len(r.Payload), MaxReceiptBytes)]
	tx.receipts = append(tx.receipts, &r)
	tx.put("RecordReceipt", nil, &r)
	return r.ID
}

// RememberKey stores the outcome of a message of a person, or the key of a delivery without identity.
func (tx *Tx) RememberKey(k MessageKey) {
	k.At = tx.Now()
	tx.put("RememberKey", nil, &k)
}

// ParkMessage stores a message that could not be decided.
func (tx *Tx) ParkMessage(p Parked) {
	p.At = tx.Now()
	p.Reason = Printable(p.Reason)
	p.Raw = p.Raw[:min(len(p.Raw), MaxReceiptBytes)]
	tx.put("ParkMessage", nil, &p)
}

// PlaceHold holds a subject for a reason; held already: nothing changes.
func (tx *Tx) PlaceHold(subject string, reason term.HoldReason, by, why string) {
	if _, held := tx.w.state.Held(subject, reason); held {
		return
	}
	tx.put("PlaceHold", nil, &Hold{ID: term.HoldID(tx.NewID()), Version: 1, Subject: subject, Reason: reason, By: Printable(by), Why: Printable(why), At: tx.Now()})
}

// LiftHoldIfHeld ends a hold and tells whether there was one.
func (tx *Tx) LiftHoldIfHeld(subject string, reason term.HoldReason, by, why string) bool {
	h, held := tx.w.state.Held(subject, reason)
	if !held {
		return false
	}
	n := *h
	n.Version++
	n.EndedAt, n.EndedBy, n.EndWhy = tx.Now(), Printable(by), Printable(why)
	tx.put("LiftHoldIfHeld", h, &n)
	return true
}
