package automation

import (
	"fmt"

	"surehand/internal/message"
	"surehand/internal/plant"
	"surehand/internal/term"
)

// SendCommand is a person's wish; it takes the same path as a rule's: gates, intent, fence, proof.
func SendCommand(tx *plant.Tx, m message.Message, p message.SendCommand) message.Outcome {
	w := wish{endpoint: p.Endpoint, value: p.Value}
	refusing, inputs := refusingGates(tx, w)
	switch refusing {
	case term.GateNone:
	case term.GateUnknownTarget:
		return message.Outcome{Code: message.NotFound, Reason: string(refusing), Detail: "There is no endpoint " + string(p.Endpoint) + "."}
	case term.GateValue:
		return message.Outcome{Code: message.Invalid, Reason: string(refusing), Problems: []message.Problem{{Pointer: "/value", Detail: factOf(inputs, refusing)}}}
	default:
		return message.Outcome{Code: message.Refused, Reason: string(refusing), Detail: explain(refusing, factOf(inputs, refusing)), Subject: "endpoint:" + string(p.Endpoint)}
	}
	x := plant.Execution{ID: term.ExecutionID(tx.NewID()), Source: term.SourceHand, TargetID: p.Endpoint, Gates: inputs, Reason: p.Reason}
	e, _ := tx.State().Endpoint(p.Endpoint)
	d, _ := tx.State().Device(e.DeviceID)
	x.FarmID = d.FarmID
	if already, _ := alreadyTrue(tx, w); already && !p.Reassert {
		x.Outcome = term.ExecutionAlreadyTrue
		tx.RecordExecution(x, tx.Now())
		return message.Outcome{Code: message.Accepted, State: string(x.Outcome), ID: string(x.ID), Subject: "execution:" + string(x.ID),
			Detail: "The endpoint shows this value already; nothing was sent. Use reassert to send it all the same."}
	}
	i := newIntent(tx, w)
	i.IdempotencyKey = plant.Hash("hand", string(m.ID), string(p.Endpoint), i.TargetValue.String())
	i.ID = term.IntentID(plant.DerivedID(tx.Now(), "intent", i.IdempotencyKey))
	i.ExecutionID, i.Actor = x.ID, m.Actor
	x.Outcome, x.IntentID = term.ExecutionFired, i.ID
	tx.CreateIntent(i)
	tx.RecordExecution(x, tx.Now())
	Dispatch(tx, i.EndpointID)
	out := message.Outcome{Code: message.Accepted, ID: string(i.ID), Subject: IntentSubject(i.ID)}
	if now, ok := tx.FindIntent(i.ID); ok {
		out.State = string(now.State)
		if now.WaitingFor != term.GateNone {
			out.Reason = string(now.WaitingFor)
			out.Detail = explain(now.WaitingFor, "")
		}
	}
	return out
}

func factOf(inputs []term.GateInput, gate term.Gate) string {
	for _, in := range inputs {
		if in.Gate == gate {
			return in.Fact
		}
	}
	return ""
}

func noSuchCommand(id term.IntentID) message.Outcome {
	return message.Outcome{Code: message.NotFound, Reason: "unknown_command", Detail: fmt.Sprintf("There is no command %s.", id)}
}

// CancelCommand ends a command of which surely nothing has left. After the fence it is refused: what may have
// left cannot be called back, only followed by a newer command.
func CancelCommand(tx *plant.Tx, m message.Message, p message.CancelCommand) message.Outcome {
	i, ok := tx.FindIntent(p.IntentID)
	if !ok {
		return noSuchCommand(p.IntentID)
	}
	_, sending := tx.State().OpenAttemptOf(i.ID)
	if i.AttemptCount > 0 || sending || !i.State.Live() {
		return message.Outcome{Code: message.Refused, Reason: "left_already", State: string(i.State), Subject: IntentSubject(i.ID), ID: string(i.ID),
			Detail: fmt.Sprintf("The command is %s. Only a command of which nothing has left can be cancelled.", i.State)}
	}
	tx.MarkFailed(i, "cancelled by "+m.Actor+reasonSuffix(p.Reason))
	Dispatch(tx, i.EndpointID)
	out := accepted(i)
	out.State = string(term.Failed)
	return out
}

func reasonSuffix(reason string) string {
	if reason == "" {
		return ""
	}
	return ": " + reason
}

// JudgeCommand takes a person's verdict on an uncertain command, stored as its evidence. On an expired command
// that may have run it only lets the endpoint go: an end never changes.
func JudgeCommand(tx *plant.Tx, m message.Message, p message.JudgeCommand) message.Outcome {
	i, ok := tx.FindIntent(p.IntentID)
	if !ok {
		return noSuchCommand(p.IntentID)
	}
	if p.Verdict != term.VerdictApplied && p.Verdict != term.VerdictFailed {
		return message.Outcome{Code: message.Invalid, Problems: []message.Problem{{Pointer: "/verdict", Detail: "applied or failed"}}}
	}
	if p.Reason == "" {
		return message.Outcome{Code: message.Invalid, Problems: []message.Problem{{Pointer: "/reason", Detail: "say how you know"}}}
	}
	holdsExpired := i.State == term.Expired && i.HoldsEndpoint
	if i.State != term.Uncertain && !holdsExpired {
		return message.Outcome{Code: message.Refused, Reason: "not_uncertain", State: string(i.State), Subject: IntentSubject(i.ID), ID: string(i.ID),
			Detail: fmt.Sprintf("The command is %s. A verdict is for an uncertain one.", i.State)}
	}
	verdict := tx.RecordReceipt(plant.Receipt{IntentID: i.ID, DeviceID: i.DeviceID, Serial: i.Serial, Type: term.ReceiptVerdict,
		Correlation: term.CorrelationNone, CorrelationKey: m.Actor, Reason: string(p.Verdict) + ": " + p.Reason})
	switch {
	case holdsExpired:
		tx.ReleaseEndpointIfUnproven(i)
	case p.Verdict == term.VerdictApplied:
		tx.MarkApplied(i, verdict)
	default:
		tx.MarkFailed(i, "judged failed by "+m.Actor+": "+p.Reason)
	}
	Dispatch(tx, i.EndpointID)
	out := accepted(i)
	if now, ok := tx.FindIntent(i.ID); ok {
		out.State = string(now.State)
	}
	return out
}

// ReleaseHold ends a hold of a device or of the device half.
func ReleaseHold(tx *plant.Tx, m message.Message, p message.ReleaseHold) message.Outcome {
	if p.Reason == "" {
		return message.Outcome{Code: message.Invalid, Problems: []message.Problem{{Pointer: "/reason", Detail: "say why it is safe"}}}
	}
	if p.Hold != term.HoldQuarantine && p.Hold != term.HoldParked { // the others have commands of their own, with their conditions
		return message.Outcome{Code: message.Invalid, Problems: []message.Problem{{Pointer: "/hold", Detail: "quarantine or parked"}}}
	}
	if !tx.LiftHoldIfHeld(p.Subject, p.Hold, m.Actor, p.Reason) {
		return message.Outcome{Code: message.NotFound, Reason: "not_held", Subject: p.Subject, Detail: fmt.Sprintf("%s is not held for %s.", p.Subject, p.Hold)}
	}
	tx.ResolveAlarm(term.AlarmUndecidable, p.Subject)
	const all = 1 << 20 // a release is rare, and each command waits for it
	for _, id := range tx.State().WaitingAt(term.GateQuarantine, all) {
		if i, ok := tx.State().Intent(id); ok && i.WaitingFor == term.GateQuarantine {
			Dispatch(tx, i.EndpointID)
		}
	}
	return message.Outcome{Code: message.Accepted, Subject: p.Subject}
}

// Stop lets nothing new be sent. The loop ends when it may.
func Stop(tx *plant.Tx, p message.StopRequested) message.Outcome {
	tx.Session().Stop(p.Drain)
	state := "stopping"
	if p.Drain {
		state = "draining"
	}
	return message.Outcome{Code: message.Accepted, Subject: "loop", State: state}
}

// UnderWay counts commands that may have left and have not come to rest: a drain waits for them.
func UnderWay(s *plant.State) int {
	n := 0
	for _, i := range s.Intents() {
		if i.State.Live() && i.AttemptCount > 0 {
			n++
		}
	}
	return n
}
