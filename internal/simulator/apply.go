package simulator

import (
	"time"
)

// apply is the moment of the physical effect, with everything that can go wrong around it.
func (d *Device) apply(now time.Time, r request, targets []target, p plan) {
	if p.rebootBeforeApply {
		d.reboot(now, "reboot_before_apply")
		return
	}
	if p.hardwareFault {
		d.strike(now, "hardware_fault", r.CommandID)
		d.finish(now, r, p.silent, statusFailed, codeHardwareFault, "actuator does not move", nil)
		if !p.silent {
			d.answer(now, r, statusFailed, codeHardwareFault, "actuator does not move")
		}
		return
	}
	var state map[string]any
	if p.lie {
		d.strike(now, "lie", r.CommandID)
		state = d.pretended(targets)
	} else {
		d.execute(now, r, targets)
		state = d.reported(targets)
	}
	if p.contradict {
		d.strike(now, "contradict", r.CommandID)
		for _, t := range targets {
			state[t.endpoint.Key] = t.endpoint.another(state[t.endpoint.Key])
		}
	}
	report := d.finish(now, r, p.silent, statusSucceeded, codeOK, "", state)
	if p.rebootAfterApply {
		d.reboot(now, "reboot_after_apply")
		return
	}
	if !p.silent {
		if d.options.SendSucceeded {
			d.answer(now, r, statusSucceeded, codeOK, "")
		}
		d.report(now, r.CommandID, report, p)
	}
	d.sendStatus(now)
	if !d.options.QuietChanges {
		d.publishTelemetry(now)
	}
}

// execute moves the actuators. It is counted before anything can be told about it, and counts even if no value
// changes: a second start pulse on a running machine is a second start.
func (d *Device) execute(now time.Time, r request, targets []target) {
	keys := make([]string, len(targets))
	for i, t := range targets {
		keys[i] = t.endpoint.Key
	}
	d.recorder.record(Event{At: now, Kind: eventExecuted, CommandID: r.CommandID, Actuators: keys, BootID: d.currentBoot()})
	for _, t := range targets {
		key := t.endpoint.Key
		switch t.effect {
		case Toggle:
			d.move(now, key, !d.Value(key).(bool), r.CommandID)
		case Pulse:
			if n, counts := d.Value(key).(int64); counts {
				d.move(now, key, n+1, r.CommandID)
				continue
			}
			d.move(now, key, true, r.CommandID)
			d.move(now, key, false, r.CommandID)
		default:
			d.move(now, key, t.value, r.CommandID)
		}
	}
}

// finish stores the result; for class A effect and result are one step, as a device with a journal makes them. It
// returns the state report, which is kept with the result so that a replay says the very same thing.
func (d *Device) finish(now time.Time, r request, mute bool, status, code, message string, state map[string]any) []byte {
	d.recorder.record(Event{At: now, Kind: eventResult, CommandID: r.CommandID, Status: status, Code: code})
	result := &record{
		answer: responseBody{CommandID: r.CommandID, Status: status, ResultCode: code, Message: message},
		mute:   mute,
		state:  state,
	}
	if state != nil {
		body := d.buildState(now, r.CommandID, state)
		result.appliedAt = body.AppliedAt
		result.report = encode(body)
	}
	if d.remembers() {
		d.memory.put(r.CommandID, result)
	}
	d.mu.Lock()
	d.lastCommand = r.CommandID
	d.mu.Unlock()
	return result.report
}

// reported is the real state of the actuators a command moved.
func (d *Device) reported(targets []target) map[string]any {
	state := map[string]any{}
	for _, t := range targets {
		state[t.endpoint.Key] = d.Value(t.endpoint.Key)
	}
	return state
}

// pretended is the state they would have, had they moved.
func (d *Device) pretended(targets []target) map[string]any {
	state := d.reported(targets)
	for _, t := range targets {
		key := t.endpoint.Key
		switch {
		case t.effect == Absolute:
			state[key] = t.value
		case t.endpoint.Type == Int || t.effect == Toggle:
			state[key] = t.endpoint.another(state[key])
		}
	}
	return state
}

func (d *Device) buildState(now time.Time, commandID string, state map[string]any) stateBody {
	body := stateBody{
		CommandID: commandID, ReportedState: state, AppliedAt: d.ownTime(now).UTC().Format(time.RFC3339Nano),
	}
	seq, bootID := d.nextSeq()
	if !d.options.OmitSeq {
		body.Seq, body.BootID = seq, bootID
	}
	return body
}

// nextSeq numbers readings and state reports in one row, so that the two can be ordered against each other.
func (d *Device) nextSeq() (int64, string) {
	d.seq++
	return d.seq, d.currentBoot()
}

func (d *Device) report(now time.Time, commandID string, report []byte, p plan) {
	if p.dropReport {
		d.strike(now, "drop_report", commandID)
		return
	}
	copies := 1
	if p.doubleReport {
		d.strike(now, "double_report", commandID)
		copies = 2
	}
	send := func(now time.Time) {
		for range copies {
			d.sendReport(now, commandID, report)
		}
	}
	if p.delayReport {
		d.strike(now, "delay_report", commandID)
		d.agenda.add(now.Add(d.Faults().ReportDelay), send)
		return
	}
	send(now)
}

func (d *Device) sendReport(now time.Time, commandID string, report []byte) {
	d.recorder.record(Event{At: now, Kind: eventReported, CommandID: commandID})
	d.send(now, outgoing{kind: kindState, topic: d.topic(kindState), payload: report})
}

func (d *Device) sendState(now time.Time, body stateBody) {
	d.send(now, outgoing{kind: kindState, topic: d.topic(kindState), payload: encode(body)})
}

func (d *Device) sendStatus(now time.Time) {
	d.send(now, outgoing{kind: kindStatus, topic: d.topic(kindStatus), payload: d.status(true), retain: true})
}
