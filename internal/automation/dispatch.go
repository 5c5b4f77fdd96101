package automation

import (
	"time"

	"surehand/internal/plant"
	"surehand/internal/term"
)

// Dispatch moves one endpoint on as far as its gates allow: it retries the command that holds the endpoint
// when that is due, lets go of one that ended unproven and has lapsed, and fences the next waiting one. It is
// the only place from which anything is sent, and it checks every gate again before each send (D-16).
func Dispatch(tx *plant.Tx, id term.EndpointID) {
	for range plant.MaxQueue + 2 { // each pass ends or moves a command on
		holder, held := tx.State().Holder(id)
		if held && !letGo(tx, holder) {
			if holder.State == term.Retrying {
				retry(tx, holder)
			}
			waitBehind(tx, id)
			return
		}
		queue := tx.State().Queue(id)
		if len(queue) == 0 {
			return
		}
		head, _ := tx.State().Intent(queue[0])
		if !send(tx, head) {
			waitBehind(tx, id)
			return
		}
	}
}

// waitBehind notes on the commands that wait for a held endpoint what they wait for. A holder that ended
// unproven lets go at its lapse at the earliest: that is when to look again.
func waitBehind(tx *plant.Tx, id term.EndpointID) {
	holder, held := tx.State().Holder(id)
	if !held {
		return
	}
	var recheck time.Time
	if !holder.State.Live() && holder.Action == term.ActionAbsolute && holder.LapseAt.After(tx.Now()) {
		recheck = holder.LapseAt
	}
	for n, q := range tx.State().Queue(id) {
		i, _ := tx.State().Intent(q)
		if n > 0 {
			recheck = time.Time{} // only the first in line can be sent then
		}
		tx.WaitForGate(i, term.GateEndpointBusy, recheck)
	}
}

// letGo releases an endpoint for the next command when its holder is an absolute action that ended unproven
// and whose last copy has lapsed. The old command stays as it is.
func letGo(tx *plant.Tx, holder *plant.Intent) bool {
	if holder.State.Live() || holder.Action != term.ActionAbsolute || holder.LapseAt.After(tx.Now()) {
		return false
	}
	queue := tx.State().Queue(holder.EndpointID)
	if len(queue) == 0 {
		return false
	}
	if head, _ := tx.State().Intent(queue[0]); head.Action != term.ActionAbsolute {
		return false // only a newer absolute wish makes the old outcome irrelevant
	}
	tx.ReleaseEndpointIfUnproven(holder)
	return true
}

// send fences the first waiting command of a free endpoint, or ends it, or notes what it waits for. It tells
// whether the endpoint should be looked at again.
func send(tx *plant.Tx, i *plant.Intent) (again bool) {
	if !tx.Now().Before(i.DeadlineAt) {
		tx.MarkExpired(i, "deadline: "+string(i.WaitingFor))
		return true
	}
	w := wishOf(tx, i)
	if gate, _ := refusingGates(tx, w); gate != term.GateNone {
		tx.MarkFailed(i, string(gate))
		return true
	}
	if gate, _ := waitingGates(tx, w); gate != term.GateNone {
		tx.WaitForGate(i, gate, time.Time{})
		return false
	}
	fence(tx, i)
	return false
}

// retry sends the next attempt of the command that holds its endpoint, when it is due and nothing forbids it.
func retry(tx *plant.Tx, i *plant.Intent) {
	if _, open := tx.State().OpenAttemptOf(i.ID); open || i.NextAttemptAt.IsZero() || tx.Now().Before(earlier(i.NextAttemptAt, i.DeadlineAt)) {
		return // being sent, or its window runs, or it is not due
	}
	if reason := stopAttempts(tx, i); reason != "" {
		if i.AttemptCount > 0 && silenceMeansNothing(tx) {
			// An answer may still be queued in the broker; its timer looks again.
			if i.WaitingFor != term.GateNone {
				tx.WaitForGate(i, term.GateNone, tx.Now().Add(plant.OutageGrace))
			}
			return
		}
		giveUp(tx, i, reason)
		Dispatch(tx, i.EndpointID)
		return
	}
	if gate, _ := waitingGates(tx, wishOf(tx, i)); gate != term.GateNone {
		tx.WaitForGate(i, gate, time.Time{})
		return
	}
	fence(tx, i)
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// stopAttempts says why no further attempt of a command may be made; empty: one may.
func stopAttempts(tx *plant.Tx, i *plant.Intent) string {
	if !tx.Now().Before(i.DeadlineAt) {
		return "deadline"
	}
	if i.AttemptCount >= i.MaxAttempts {
		return "attempts"
	}
	if i.AttemptCount > 0 && !remembers(tx, i) {
		return memoryGone
	}
	if gate, _ := refusingGates(tx, wishOf(tx, i)); gate != term.GateNone {
		return string(gate)
	}
	if i.AttemptCount > 0 && i.Action == term.ActionAbsolute {
		for _, q := range tx.State().Queue(i.EndpointID) {
			if newer, _ := tx.State().Intent(q); newer.Action == term.ActionAbsolute && newer.TargetValue != i.TargetValue {
				return "superseded by " + string(newer.ID)
			}
		}
	}
	return ""
}

// memoryGone: the device may not know any more that it ran this command id.
const memoryGone = "the device may not remember the first copy"

// remembers tells whether a further copy of the same command id is harmless to the device as it is now: class A
// always; class B while it is surely the boot that got the first copy; class C never. It is asked before every
// further send, not only when silence is judged: a reboot or a changed class may lie between the two.
func remembers(tx *plant.Tx, i *plant.Intent) bool {
	d, ok := tx.State().Device(i.DeviceID)
	if !ok || d.Serial != i.Serial {
		return false
	}
	switch d.Class {
	case term.ClassA:
		return true
	case term.ClassB:
		return i.BootID != "" && d.BootID == i.BootID
	}
	return false
}

// giveUp ends a command whose attempts are over: failed when surely nothing left, expired when no signal
// came, uncertain when one did.
func giveUp(tx *plant.Tx, i *plant.Intent, reason string) {
	switch {
	case i.AttemptCount == 0 && reason != "deadline" && reason != "attempts":
		tx.MarkFailed(i, reason)
	case i.AttemptCount > 0 && (!i.AckedAt.IsZero() || reason == memoryGone):
		tx.MarkUncertain(i, reason)
	default:
		tx.MarkExpired(i, reason)
	}
}

func wishOf(tx *plant.Tx, i *plant.Intent) wish {
	w := wish{endpoint: i.EndpointID, value: i.TargetValue, intent: i, revision: i.RuleRevision}
	if i.RuleID != "" {
		rule, ok := tx.State().Rule(i.RuleID)
		if !ok {
			rule = &plant.Rule{} // gone: inactive
		}
		w.rule = rule
	}
	return w
}

// fence stores the attempt with its frozen payload; the publish goes out after the commit.
func fence(tx *plant.Tx, i *plant.Intent) {
	d, _ := tx.State().Device(i.DeviceID)
	timing := tx.State().Timing(d.ID)
	id := i.CommandID
	if id == "" {
		id = newCommandID(tx)
	}
	ack := time.Duration(timing.AckTimeout)
	qos := 0
	if d.Class == term.ClassA {
		qos = 1
	}
	tx.FenceIfFree(i, plant.Send{
		CommandID: id, Topic: RequestTopic(i.Serial), QoS: qos,
		Payload: request(id, i, tx.Now(), tx.Now().Add(ack), i.AttemptNumber+1),
		Hash:    plant.Hash(string(id), i.Method, i.Params), AckAfter: ack,
		LapseFor: time.Duration(timing.KeepAlive) * 3 / 2, BootID: d.BootID,
	})
}

// wakeDevice looks at the waiting commands of a device that was just heard.
func wakeDevice(tx *plant.Tx, id term.DeviceID) {
	for _, e := range tx.State().EndpointsOf(id) {
		if wants(tx.State(), e) {
			Dispatch(tx, e)
		}
	}
}

// wants tells whether a command of an endpoint waits for something.
func wants(s *plant.State, id term.EndpointID) bool {
	if len(s.Queue(id)) > 0 {
		return true
	}
	h, held := s.Holder(id)
	return held && h.WaitingFor != term.GateNone
}
