package simulator

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

// target is one actuator and the value a command moves it to.
type target struct {
	endpoint *Endpoint
	effect   Effect
	value    any // Absolute only
}

// onRequest takes one copy of a request: known → answered from memory; too late, busy, refused → answered; else
// accepted. The order of these checks is the contract's: a stored result is replayed even after the deadline.
func (d *Device) onRequest(now time.Time, payload []byte, retained bool, answerTopic string, correlation []byte) {
	f := d.Faults()
	r, err := parseRequest(payload)
	if err != nil {
		d.recorder.record(Event{At: now, Kind: eventIgnored, Name: "malformed request"})
		return
	}
	r.answerTopic, r.correlation, r.retained = answerTopic, correlation, retained
	if r.Method == methodResolve {
		d.onResolve(now, r)
		return
	}
	// Only commands are counted as received: a resolve never executes anything.
	d.recorder.record(Event{At: now, Kind: eventReceived, CommandID: r.CommandID, Attempt: r.Attempt, BootID: d.currentBoot()})
	if r.retained {
		// A retained command would run again at every reconnect: the contract forbids it, so the device does too.
		d.recorder.record(Event{At: now, Kind: eventIgnored, Name: "retained request"})
		return
	}
	if d.dice.roll("drop_request", f.DropRequest) {
		d.strike(now, "drop_request", r.CommandID)
		d.recorder.record(Event{At: now, Kind: eventDropped, CommandID: r.CommandID})
		return
	}
	if d.remembers() {
		if d.dice.roll("forget_dedupe", f.ForgetDedupe) && d.memory.get(r.CommandID) != nil {
			d.strike(now, "forget_dedupe", r.CommandID)
			d.memory.forget(r.CommandID)
		}
		if known := d.memory.get(r.CommandID); known != nil {
			d.replay(now, r, known)
			return
		}
	}
	if d.can(CapabilityClock) && !r.deadline.IsZero() && d.ownTime(now).After(r.deadline) {
		// It refuses this attempt and not the command, as busy does, so it is not stored.
		d.answer(now, r, statusRejected, codeBusy, "deadline passed")
		return
	}
	if d.isBusy(now, r, f) {
		d.answer(now, r, statusRejected, codeBusy, "busy")
		return
	}
	if d.dice.roll("reject", f.Reject) {
		d.strike(now, "reject", r.CommandID)
		d.refuse(now, r, f.RejectCode, "told to refuse")
		return
	}
	targets, code, why := d.targets(r)
	if code != codeOK {
		d.refuse(now, r, code, why)
		return
	}
	d.accept(now, r, targets, f)
}

// remembers says whether the class dedupes at all.
func (d *Device) remembers() bool { return d.options.Class != ClassC }

func (d *Device) can(capability string) bool {
	return slices.Contains(d.options.Capabilities, capability)
}

func (d *Device) currentBoot() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.bootID
}

func (d *Device) isBusy(now time.Time, r request, f Faults) bool {
	if d.agenda.full() {
		return true
	}
	left, known := d.busyLeft[r.CommandID]
	if !known {
		if f.BusyTimes == 0 {
			return false
		}
		if len(d.busyLeft) >= d.options.DedupeSize {
			d.busyLeft = map[string]int{}
		}
		left = f.BusyTimes
	}
	if left == 0 {
		return false
	}
	d.busyLeft[r.CommandID] = left - 1
	d.strike(now, "busy", r.CommandID)
	return true
}

// targets finds what the method and its parameters move, or why nothing can.
func (d *Device) targets(r request) (found []target, code, why string) {
	m, known := d.methods[r.Method]
	if !known {
		return nil, codeNotSupported, fmt.Sprintf("no method %q", r.Method)
	}
	wanted := map[string]json.RawMessage{}
	switch {
	case m.Effect != Absolute:
		return []target{{endpoint: d.endpoints[m.Actuator], effect: m.Effect}}, codeOK, ""
	case m.Actuator != "":
		value, given := r.Params[m.Param]
		if !given {
			return nil, codeInvalidParam, fmt.Sprintf("parameter %q is missing", m.Param)
		}
		wanted[m.Actuator] = value
	default:
		wanted = r.Params
	}
	if len(wanted) == 0 {
		return nil, codeInvalidParam, "no parameters"
	}
	// In the order of the endpoints, so that one command moves its actuators in the same order every time.
	for i := range d.options.Endpoints {
		e := &d.options.Endpoints[i]
		raw, given := wanted[e.Key]
		if !given || !e.Actuator {
			continue
		}
		value, err := e.accept(raw)
		if err != nil {
			return nil, codeInvalidParam, fmt.Sprintf("%s: %v", e.Key, err)
		}
		found = append(found, target{endpoint: e, effect: Absolute, value: value})
	}
	if len(found) != len(wanted) {
		return nil, codeInvalidParam, "a parameter names no actuator"
	}
	return found, codeOK, ""
}

// refuse stores and answers a refusal that will stay true. busy is never stored.
func (d *Device) refuse(now time.Time, r request, code, why string) {
	d.recorder.record(Event{At: now, Kind: eventResult, CommandID: r.CommandID, Status: statusRejected, Code: code})
	if code != codeBusy && d.remembers() {
		d.memory.put(r.CommandID, &record{answer: responseBody{
			CommandID: r.CommandID, Status: statusRejected, ResultCode: code, Message: why,
		}})
	}
	d.answer(now, r, statusRejected, code, why)
}

// accept answers and puts the effect on the agenda. The agenda is written first: whoever has seen the answer may move
// the clock.
func (d *Device) accept(now time.Time, r request, targets []target, f Faults) {
	p := d.throwPlan(f)
	if d.remembers() {
		d.memory.put(r.CommandID, &record{running: true, mute: p.silent})
	}
	at := now.Add(d.options.ApplyDelay)
	if p.late {
		d.strike(now, "late", r.CommandID)
		at = now.Add(f.LateBy)
		if !r.deadline.IsZero() {
			at = r.deadline.Add(f.LateBy)
		}
	}
	if p.rebootUnanswered {
		d.execute(now, r, targets)
		d.finish(now, r, p.silent, statusSucceeded, codeOK, "", d.reported(targets))
		d.reboot(now, "reboot_before_answer")
		return
	}
	if p.late && !p.silent {
		d.agenda.add(at, func(now time.Time) { d.answer(now, r, statusAccepted, codeOK, "") })
	}
	if p.ackWithoutApply {
		d.strike(now, "ack_without_apply", r.CommandID)
	} else {
		d.agenda.add(at, func(now time.Time) { d.apply(now, r, targets, p) })
	}
	switch {
	case p.silent:
		d.strike(now, "silent", r.CommandID)
	case !p.late:
		d.answer(now, r, statusAccepted, codeOK, "")
	}
}

// replay answers a copy of a known command from memory: the attempt of the copy, the result of the first.
func (d *Device) replay(now time.Time, r request, known *record) {
	if known.mute {
		return
	}
	if known.running {
		d.answer(now, r, statusAccepted, codeOK, "")
		return
	}
	d.answer(now, r, known.answer.Status, known.answer.ResultCode, known.answer.Message)
	if known.report != nil {
		d.sendReport(now, r.CommandID, known.report)
	}
}

// onResolve tells what became of a command, and makes sure that an unknown one never runs: the refusal is stored
// before the answer leaves.
func (d *Device) onResolve(now time.Time, r request) {
	if !d.can(CapabilityResolve) {
		d.answer(now, r, statusRejected, codeNotSupported, "no resolve")
		return
	}
	body := resolveBody{ResolveID: r.ResolveID, CommandID: r.CommandID}
	known := d.memory.get(r.CommandID)
	switch {
	case known == nil:
		d.recorder.record(Event{At: now, Kind: eventTombstoned, CommandID: r.CommandID})
		d.memory.put(r.CommandID, &record{tombstoned: true, answer: responseBody{
			CommandID: r.CommandID, Status: statusRejected, ResultCode: codeNotSupported, Message: "tombstoned",
		}})
		body.Outcome = "tombstoned"
	case known.tombstoned:
		body.Outcome = "tombstoned"
	case known.running:
		body.Outcome = "running"
	default:
		body.Outcome = "refused"
		if known.answer.Status == statusSucceeded {
			body.Outcome = "done"
		}
		body.Result = &resolveResult{
			Status: known.answer.Status, ResultCode: known.answer.ResultCode, Message: known.answer.Message,
			ReportedState: known.state, AppliedAt: known.appliedAt,
		}
	}
	d.sendAnswer(now, r, encode(body), "")
}

// answer builds a response to this copy and lets the answer faults at it.
func (d *Device) answer(now time.Time, r request, status, code, message string) {
	body := responseBody{CommandID: r.CommandID, Status: status, ResultCode: code, Message: message, Attempt: r.Attempt}
	if d.dice.roll("wrong_command_id", d.Faults().WrongCommandID) {
		d.strike(now, "wrong_command_id", r.CommandID)
		body.CommandID = "not-" + r.CommandID
	}
	d.sendAnswer(now, r, encode(body), status)
}

func (d *Device) sendAnswer(now time.Time, r request, payload []byte, status string) {
	f := d.Faults()
	drop := d.dice.roll("drop_ack", f.DropAck)
	double := d.dice.roll("double_ack", f.DoubleAck)
	delay := d.dice.roll("delay_ack", f.DelayAck)
	if drop {
		d.strike(now, "drop_ack", r.CommandID)
		return
	}
	copies := 1
	if double {
		d.strike(now, "double_ack", r.CommandID)
		copies = 2
	}
	send := func(now time.Time) {
		for range copies {
			if status != "" { // a resolve's answer is no answer to the command
				d.recorder.record(Event{At: now, Kind: eventAnswered, CommandID: r.CommandID, Status: status})
			}
			d.send(now, outgoing{kind: kindResponse, topic: r.answerTopic, payload: payload, correlation: r.correlation})
		}
	}
	if delay {
		d.strike(now, "delay_ack", r.CommandID)
		d.agenda.add(now.Add(f.AckDelay), send)
		return
	}
	send(now)
}
