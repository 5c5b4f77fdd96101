package plant

import (
	"slices"
	"time"

	"surehand/internal/term"
)

// CommandMove is a move of a command intent: its name carries the guard, From lists the only states it may
// start in. To empty: the state stays.
type CommandMove struct {
	Name string
	From []term.CommandState
	To   term.CommandState
}

// The moves of a command. No other edge exists; docs/commands.md draws them from this table.
var (
	moveFence       = CommandMove{"FenceIfFree", states(term.PendingDispatch, term.Retrying), ""}
	moveWait        = CommandMove{"WaitForGate", states(term.PendingDispatch, term.Retrying), ""}
	moveSendUnknown = CommandMove{"MarkSendUnknown", states(term.PendingDispatch, term.Retrying), ""}
	movePostpone    = CommandMove{"PostponeWindow", states(term.PendingDispatch, term.Dispatched, term.Acknowledged, term.Retrying), ""}
	moveWeak        = CommandMove{"CountWeakEvidence", states(term.PendingDispatch, term.Dispatched, term.Acknowledged, term.Retrying, term.Uncertain), ""}
	moveRelease     = CommandMove{"ReleaseEndpointIfUnproven", states(term.Expired, term.Uncertain), ""}

	moveDispatched   = CommandMove{"MarkDispatched", states(term.PendingDispatch, term.Retrying), term.Dispatched}
	moveNotSent      = CommandMove{"MarkNotSent", states(term.PendingDispatch, term.Retrying), term.Retrying}
	moveAcknowledged = CommandMove{"MarkAcknowledged", states(term.PendingDispatch, term.Dispatched, term.Retrying), term.Acknowledged}
	moveRetrying     = CommandMove{"MarkRetrying", states(term.PendingDispatch, term.Dispatched, term.Acknowledged, term.Retrying), term.Retrying}
	moveApplied      = CommandMove{"MarkApplied", states(term.PendingDispatch, term.Dispatched, term.Acknowledged, term.Retrying, term.Uncertain), term.Applied}
	moveFailed       = CommandMove{"MarkFailed", states(term.PendingDispatch, term.Dispatched, term.Acknowledged, term.Retrying, term.Uncertain), term.Failed}
	moveExpired      = CommandMove{"MarkExpired", states(term.PendingDispatch, term.Retrying), term.Expired}
	moveUncertain    = CommandMove{"MarkUncertain", states(term.PendingDispatch, term.Dispatched, term.Acknowledged, term.Retrying), term.Uncertain}
)

func states(s ...term.CommandState) []term.CommandState { return s }

// CommandMoves lists all moves, for the tests and for the drawing.
func CommandMoves() []CommandMove {
	return []CommandMove{moveFence, moveWait, moveSendUnknown, movePostpone, moveWeak, moveRelease,
		moveDispatched, moveNotSent, moveAcknowledged, moveRetrying, moveApplied, moveFailed, moveExpired, moveUncertain}
}

// CommandEdge tells whether some move leads from one state to another.
func CommandEdge(from, to term.CommandState) bool {
	for _, m := range CommandMoves() {
		if m.To == to && slices.Contains(m.From, from) {
			return true
		}
	}
	return false
}

// CreateIntent stores a new command, pending_dispatch, with its deadline as its first timer.
func (tx *Tx) CreateIntent(i Intent) *Intent {
	i.Version = 1
	i.State = term.PendingDispatch
	i.CreatedAt, i.UpdatedAt = tx.Now(), tx.Now()
	i.Actor = Printable(i.Actor)
	i.DueAt = i.DeadlineAt
	if old, ok := tx.FindIntent(i.ID); ok {
		broken(1, "intent %s exists already (%s); D-9 allows it once", i.ID, old.State)
	}
	tx.put("CreateIntent", nil, &i)
	return &i
}

// Send is what FenceIfFree needs to know of the wire.
type Send struct {
	CommandID term.CommandID
	Topic     string
	QoS       int
	Payload   string // frozen
	Hash      string // of commandId, method and params
	AckAfter  time.Duration
	LapseFor  time.Duration // after the attempt's deadline no copy can still arrive
	BootID    string        // of the device now
}

// FenceIfFree stores an attempt and hands its publish out after the commit: from here on it may have
// happened. The endpoint must be free or held by this very command, and no attempt of it may be open.
func (tx *Tx) FenceIfFree(i *Intent, s Send) *Intent {
	if h, held := tx.w.state.Holder(i.EndpointID); held && h.ID != i.ID {
		broken(5, "fence of %s while %s holds %s", i.ID, h.ID, i.EndpointID)
	}
	if a, open := tx.w.state.OpenAttemptOf(i.ID); open {
		broken(1, "fence of %s while attempt %s is open", i.ID, a.ID)
	}
	if i.CommandID != "" && i.CommandID != s.CommandID {
		broken(2, "command id of %s would change", i.ID)
	}
	now := tx.Now()
	deadline := Micros(now.Add(s.AckAfter))
	a := &Attempt{
		ID: term.AttemptID(tx.NewID()), Version: 1, IntentID: i.ID, CommandID: s.CommandID, Number: i.AttemptNumber + 1,
		Epoch: tx.w.state.fence.Epoch, FencedAt: now, DeadlineAt: deadline, Topic: s.Topic, QoS: s.QoS, Payload: s.Payload,
		Hash: s.Hash, Outcome: term.AttemptOpen,
	}
	n := tx.moveIntent(moveFence, i, func(n *Intent) {
		n.CommandID = s.CommandID
		n.AttemptNumber++
		n.AttemptCount++
		n.MQTTRequestID = string(a.ID)
		n.HoldsEndpoint = true
		n.FencedAt = now
		n.LapseAt = Micros(deadline.Add(s.LapseFor))
		n.NextAttemptAt = time.Time{}
		n.WaitingFor = term.GateNone
		n.DueAt = deadline
		if n.BootID == "" {
			n.BootID = s.BootID
		}
	})
	tx.put("OpenAttempt", nil, a)
	tx.start(Publish{AttemptID: a.ID, IntentID: i.ID, CommandID: s.CommandID, DeviceID: i.DeviceID, Serial: i.Serial, Number: a.Number,
		Topic: s.Topic, Payload: []byte(s.Payload), QoS: s.QoS, Correlation: string(a.ID), FencedAt: now, DeadlineAt: deadline})
	return n
}

// WaitForGate stores why a command is not sent now, when that changes. recheck is when to look again by
// itself; zero: only its deadline, or a message that may open the gate.
func (tx *Tx) WaitForGate(i *Intent, gate term.Gate, recheck time.Time) *Intent {
	due := i.DeadlineAt
	if !recheck.IsZero() {
		due = earlier(Micros(recheck), due)
	}
	if i.WaitingFor == gate && i.DueAt.Equal(due) {
		return i
	}
	return tx.moveIntent(moveWait, i, func(n *Intent) { n.WaitingFor, n.DueAt = gate, due })
}

// MarkDispatched: the broker acknowledged the publish (QoS 1), or it was written (QoS 0).
func (tx *Tx) MarkDispatched(i *Intent) *Intent {
	a := tx.endAttempt(i, term.AttemptSent, "")
	return tx.moveIntent(moveDispatched, i, func(n *Intent) { n.DueAt = a.DeadlineAt })
}

// MarkNotSent: surely nothing left; the attempt does not count and the next one waits until next.
func (tx *Tx) MarkNotSent(i *Intent, next time.Time, why string) *Intent {
	tx.endAttempt(i, term.AttemptNotSent, why)
	return tx.moveIntent(moveNotSent, i, func(n *Intent) {
		n.AttemptCount--
		if n.AttemptCount == 0 {
			n.LapseAt = time.Time{}
		}
		n.LastError = Printable(why)
		n.NextAttemptAt = Micros(next)
		n.DueAt = earlier(n.NextAttemptAt, n.DeadlineAt)
	})
}

// MarkSendUnknown: it may have left. The state stays; the attempt's deadline decides.
func (tx *Tx) MarkSendUnknown(i *Intent, due time.Time, why string) *Intent {
	tx.endAttempt(i, term.AttemptUnknown, why)
	return tx.moveIntent(moveSendUnknown, i, func(n *Intent) { n.LastError, n.DueAt = Printable(why), Micros(due) })
}

// MarkAcknowledged: the device itself accepted this command id. mark is the endpoint's mark now: what is
// newer was sampled after.
func (tx *Tx) MarkAcknowledged(i *Intent, mark term.Mark, window time.Duration) *Intent {
	tx.answered(i)
	return tx.moveIntent(moveAcknowledged, i, func(n *Intent) {
		n.AckedAt = tx.Now()
		n.AckMark = mark
		n.WeakSamples = 0
		n.WaitingFor = term.GateNone
		n.NextAttemptAt = time.Time{}
		n.DueAt = Micros(tx.Now().Add(window))
	})
}

// MarkRetrying: the last attempt brought nothing, or the device is busy; the next waits until next.
func (tx *Tx) MarkRetrying(i *Intent, next time.Time, why string) *Intent {
	tx.answered(i)
	return tx.moveIntent(moveRetrying, i, func(n *Intent) {
		n.LastError = Printable(why)
		n.WaitingFor = term.GateNone
		n.NextAttemptAt = Micros(next)
		n.DueAt = earlier(n.NextAttemptAt, n.DeadlineAt)
	})
}

// MarkApplied: the target state was proven after the fence; the receipt is the evidence.
func (tx *Tx) MarkApplied(i *Intent, evidence term.ReceiptID) *Intent {
	tx.answered(i)
	return tx.moveIntent(moveApplied, i, func(n *Intent) {
		n.EvidenceID = evidence
		n.HoldsEndpoint = false
		n.LastError = ""
	})
}

// MarkFailed: surely no effect can still come.
func (tx *Tx) MarkFailed(i *Intent, why string) *Intent {
	tx.answered(i)
	return tx.moveIntent(moveFailed, i, func(n *Intent) {
		n.LastError = Printable(why)
		n.HoldsEndpoint = false
	})
}

// MarkExpired: budget or deadline over and no signal came. If an attempt may have left, the endpoint stays
// held until its last copy has lapsed.
func (tx *Tx) MarkExpired(i *Intent, why string) *Intent {
	if a, open := tx.w.state.OpenAttemptOf(i.ID); open {
		broken(4, "%s would expire while attempt %s is being sent", i.ID, a.ID)
	}
	return tx.moveIntent(moveExpired, i, func(n *Intent) {
		n.LastError = Printable(why)
		n.PossiblyExecuted = n.AttemptCount > 0
		n.HoldsEndpoint = n.PossiblyExecuted
	})
}

// MarkUncertain: a signal came, or it may have run, and proof is missing.
func (tx *Tx) MarkUncertain(i *Intent, why string) *Intent {
	tx.answered(i)
	return tx.moveIntent(moveUncertain, i, func(n *Intent) { n.LastError = Printable(why) })
}

// ReleaseEndpointIfUnproven lets go of the endpoint of a command that ended unproven, once its last copy has
// lapsed and something newer comes, or a person says so. Its state stays as it is.
func (tx *Tx) ReleaseEndpointIfUnproven(i *Intent) *Intent {
	return tx.moveIntent(moveRelease, i, func(n *Intent) { n.HoldsEndpoint = false })
}

// PostponeWindow moves a timer on after an outage, during which silence meant nothing.
func (tx *Tx) PostponeWindow(i *Intent, due time.Time) *Intent {
	return tx.moveIntent(movePostpone, i, func(n *Intent) {
		n.DueAt = Micros(due)
		if n.NextAttemptAt.After(n.DueAt) {
			n.NextAttemptAt = n.DueAt
		}
	})
}

// CountWeakEvidence counts equal samples that do not yet prove the target.
func (tx *Tx) CountWeakEvidence(i *Intent, samples int) *Intent {
	if i.WeakSamples == samples {
		return i
	}
	return tx.moveIntent(moveWeak, i, func(n *Intent) { n.WeakSamples = samples })
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// moveIntent is the only writer of an intent after its creation.
func (tx *Tx) moveIntent(m CommandMove, i *Intent, set func(*Intent)) *Intent {
	if cur, ok := tx.FindIntent(i.ID); !ok || cur.Version > i.Version {
		if !ok {
			broken(6, "%s of %s, which is not known", m.Name, i.ID)
		}
		i = cur // an earlier step of this message moved it on
	}
	if !slices.Contains(m.From, i.State) {
		broken(6, "%s of %s from %s", m.Name, i.ID, i.State)
	}
	n := *i
	n.Version++
	n.UpdatedAt = tx.Now()
	if m.To != "" {
		n.State = m.To
	}
	set(&n)
	if n.State.Ended() || n.State == term.Uncertain {
		n.DueAt, n.NextAttemptAt, n.WaitingFor = time.Time{}, time.Time{}, term.GateNone
		if n.State.Ended() && n.EndedAt.IsZero() {
			n.EndedAt = tx.Now()
		}
		if !n.HoldsEndpoint && n.ClosedAt.IsZero() {
			n.ClosedAt = tx.Now()
		}
	}
	tx.put(m.Name, i, &n)
	if m.To != "" && n.State != i.State || n.Open() != i.Open() {
		tx.finishExecution(&n)
	}
	return &n
}

// endAttempt closes the open attempt of a command.
func (tx *Tx) endAttempt(i *Intent, outcome term.AttemptOutcome, why string) *Attempt {
	a, open := tx.w.state.OpenAttemptOf(i.ID)
	if !open {
		broken(1, "no attempt of %s is open", i.ID)
	}
	n := *a
	n.Version++
	n.Outcome, n.Error, n.EndedAt = outcome, Printable(why), tx.Now()
	tx.put("EndAttempt", a, &n)
	return &n
}

// answered closes an attempt that is still being sent when its command moves on: what its worker will say
// no longer matters, and whether this copy left is not known.
func (tx *Tx) answered(i *Intent) {
	if _, open := tx.w.state.OpenAttemptOf(i.ID); open {
		tx.endAttempt(i, term.AttemptUnknown, "its command moved on before the publish was confirmed")
	}
}

// finishExecution writes what became of a command into the execution that wanted it.
func (tx *Tx) finishExecution(i *Intent) {
	e, ok := tx.w.state.executions[i.ExecutionID]
	if !ok { // it was closed when the command left the picture, and the command came back by late evidence
		return
	}
	n := *e
	n.Version++
	n.FinalState, n.FinalReason = "", ""
	if i.State.Ended() || i.State == term.Uncertain {
		n.FinalState, n.FinalReason = i.State, i.LastError
	}
	n.IsOpen = tx.executionOpen(&n)
	if n.FinalState == e.FinalState && n.FinalReason == e.FinalReason && n.IsOpen == e.IsOpen {
		return
	}
	tx.put("FinishExecution", e, &n)
}

// executionOpen: the current verdict of its rule, or its command is open.
func (tx *Tx) executionOpen(e *Execution) bool {
	if e.IntentID != "" {
		if _, open := tx.w.state.intents[e.IntentID]; open {
			return true
		}
	}
	r, ok := tx.w.state.rules[e.RuleID]
	return ok && r.ExecutionID == e.ID
}
