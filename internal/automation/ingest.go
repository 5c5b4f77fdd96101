package automation

import (
	"slices"
	"strconv"
	"time"

	"surehand/internal/message"
	"surehand/internal/plant"
	"surehand/internal/term"
)

// Outcome of an input that changes nothing.
func ignored(reason string) message.Outcome {
	return message.Outcome{Code: message.Ignored, Reason: reason}
}

// Telemetry ingests the readings of one MQTT message: stores them, normalises each value into an endpoint
// event, and evaluates the rules that the event triggers. It never sends anything by itself (D-1): a command
// leaves only by Dispatch.
func Telemetry(tx *plant.Tx, m message.Message, p message.TelemetryReceived, known message.Known) message.Outcome {
	d, ok := tx.State().DeviceBySerial(p.Serial)
	if !ok {
		return reject(tx, "unknown_device", p.Serial, "", nil)
	}
	if p.Delivery.Retained { // a hint of unknown age: no event, no evidence, no rule
		tx.Count("telemetry_ignored", "retained")
		return ignored("retained")
	}
	stored := false
	for n, r := range p.Readings {
		arrival := string(m.ID) + "/" + strconv.Itoa(n)
		key, ask := readingKey(tx.State(), d, p.Serial, r, p.Delivery, tx.Now())
		if repeated(tx, key, ask, r, p.Delivery, known) {
			tx.Count("telemetry_ignored", "repeated")
			continue
		}
		if ingest(tx, d, r, arrival, key, known) {
			stored = true
		}
		d, _ = tx.State().Device(d.ID)
	}
	wakeDevice(tx, d.ID)
	if tx.Decided() {
		return message.Outcome{Code: message.Accepted, Subject: plant.DeviceSubject(d.ID)}
	}
	if stored {
		return message.Outcome{Code: message.Noted}
	}
	return ignored("nothing new")
}

// ingest stores one reading and what follows from it, and tells whether anything was stored.
func ingest(tx *plant.Tx, d *plant.Device, r message.Reading, arrival, key string, known message.Known) bool {
	o := weigh(tx, d, r, arrival)
	timing := tx.State().Timing(d.ID)
	fresh := !o.ageUnknown && tx.Now().Sub(o.at) <= time.Duration(timing.Freshness)
	if fresh && !o.oldBoot {
		tx.Session().Heard(d.ID, tx.Now())
		if o.newBoot {
			d = tx.RebootDevice(d, r.BootID)
		}
	}
	telemetry := plant.Telemetry{
		ID:       term.TelemetryID(plant.DerivedID(o.sampledAt, "telemetry", string(d.ID), o.fingerprint)),
		DeviceID: d.ID, SampledAt: o.sampledAt, ReceivedAt: tx.Now(), BootID: r.BootID, Seq: r.Seq, Body: r.Canonical,
	}
	var events []*plant.Event
	anyVerdict, stored := false, false
	for _, f := range r.Fields {
		spec, ok := tx.State().SpecByTelemetry(d, f.Key)
		if !ok {
			tx.Count("telemetry_ignored", "unknown_key")
			continue
		}
		value, err := f.Value.As(spec.Type)
		if err != nil {
			reject(tx, "wrong_type", d.Serial, f.Key+": "+err.Error(), []byte(r.Canonical))
			continue
		}
		e, ok := tx.State().Endpoint(term.NewEndpointID(d.ID, spec.Key))
		if !ok {
			tx.Count("telemetry_ignored", "unknown_key")
			continue
		}
		if !stored {
			stored = true
			tx.RecordTelemetry(telemetry)
		}
		if ev := observe(tx, d, e, spec, r, o, value, telemetry.ID, fresh); ev != nil {
			events = append(events, ev)
		}
	}
	// All values of a reading are observed before any rule looks at it: one sample is one moment.
	for _, ev := range events {
		if ev.Status != term.EventPending {
			continue
		}
		if !tx.MayEvaluate(ev.ID) {
			anyVerdict = true // stays pending, a later turn's work: it may still fire, so a repetition has to be told
			continue
		}
		if evaluateEvent(tx, ev) {
			anyVerdict = true
		}
	}
	if _, stored := known.Keys[key]; (anyVerdict || o.byReceipt) && key != "" && !stored && !tx.KeyRemembered(key) {
		tx.RememberKey(plant.MessageKey{ID: key})
	}
	return stored
}

// observe stores one value as an event and, if it is the newest, as what is known of its endpoint.
func observe(tx *plant.Tx, d *plant.Device, e *plant.Endpoint, spec *term.EndpointSpec, r message.Reading, o order, value term.Value,
	telemetry term.TelemetryID, fresh bool) *plant.Event {
	if spec.Freshness > 0 {
		fresh = !o.ageUnknown && tx.Now().Sub(o.at) <= time.Duration(spec.Freshness)
	}
	newer := o.newer(e.Mark, r)
	farm, _ := tx.State().Farm(d.FarmID)
	ev := plant.Event{
		ID: term.EventID(plant.DerivedID(o.sampledAt, "event", string(d.ID), string(e.ID), strconv.FormatInt(o.sampledAt.UnixMicro(), 10),
			value.String(), o.fingerprint)),
		OrganisationID: farm.OrganisationID, FarmID: d.FarmID, DeviceID: d.ID, EndpointID: e.ID, TelemetryID: telemetry,
		At: o.sampledAt, ReceivedAt: tx.Now(), Value: value, Snapshot: r.Canonical, Status: term.EventPending,
	}
	switch {
	case !newer:
		ev.Reason = term.DiscardOlder
	case d.Status != term.DeviceActive:
		ev.Reason = term.DiscardDevice
	case !e.Enabled:
		ev.Reason = term.DiscardDisabled
	case !fresh:
		ev.Reason = term.DiscardBackfill
	}
	if tx.HasEvent(ev.ID) { // the same reading twice in one turn, or again while it waits to be evaluated
		return nil
	}
	if ev.Reason != term.DiscardNone {
		ev.Status = term.EventDiscarded
	} else if len(tx.State().TriggeredBy(e.ID)) == 0 {
		ev.Status = term.EventProcessed // no rule to evaluate
	}
	stored := tx.RecordEvent(ev)
	if newer {
		before := *e
		after := tx.Observe(e, value, o.sampledAt, tx.Now(), o.mark(e.Mark, r))
		if fresh {
			weighEvidence(tx, &before, after, spec, !r.At.IsZero() && !o.byReceipt)
		}
	}
	return stored
}

// reject counts an input and keeps a bounded number of them as receipts.
func reject(tx *plant.Tx, reason, serial, detail string, raw []byte) message.Outcome {
	tx.Count("input_rejected", reason)
	if tx.Session().MayKeepReject(tx.Now()) {
		r := plant.Receipt{Type: term.ReceiptRejected, Correlation: term.CorrelationNone, Serial: serial, Reason: reason, Payload: raw}
		if detail != "" {
			r.Reason += ": " + detail
		}
		if d, ok := tx.State().DeviceBySerial(serial); ok {
			r.DeviceID = d.ID
		}
		tx.RecordReceipt(r)
	}
	return ignored(reason)
}

// Rejected records input that is not of the contract.
func Rejected(tx *plant.Tx, p message.InputRejected) message.Outcome {
	return reject(tx, p.Reason, p.Serial, p.Topic+": "+p.Detail, p.Raw)
}

// Status records presence and a reboot, and quarantines a device that knows a command of this installation
// which the database does not: the database went back in time.
func Status(tx *plant.Tx, p message.DeviceStatusReported) message.Outcome {
	d, ok := tx.State().DeviceBySerial(p.Serial)
	if !ok {
		return reject(tx, "unknown_device", p.Serial, "status", nil)
	}
	switch {
	case !p.Online:
		tx.Session().Gone(d.ID)
	default: // retained or not: the broker's will takes it back when the device is lost
		tx.Session().Heard(d.ID, tx.Now())
	}
	if p.BootID != "" && p.BootID != d.BootID && p.Online && !slices.Contains(d.Boots, p.BootID) { // a late status of an earlier boot
		d = tx.RebootDevice(d, p.BootID)
	}
	if p.LastCommandID != "" && OurCommand(tx.State().Fence().Installation, p.LastCommandID) {
		if _, known := tx.FindCommand(p.LastCommandID); !known {
			tx.PlaceHold(plant.DeviceSubject(d.ID), term.HoldQuarantine, "surehand",
				"the device's last command "+string(p.LastCommandID)+" is of this installation but not in the database")
		}
	}
	wakeDevice(tx, d.ID)
	if tx.Changed() {
		return message.Outcome{Code: message.Accepted, Subject: plant.DeviceSubject(d.ID)}
	}
	return ignored("nothing new")
}
