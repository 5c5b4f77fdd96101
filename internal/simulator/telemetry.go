package simulator

import (
	"time"
)

const (
	// maxBatch bounds the readings kept while offline; the oldest go first.
	maxBatch = 1024
	// maxBatchValues is how many values one array carries: under the contract's 256.
	maxBatchValues = 200
)

// reading is one sample of all endpoints.
type reading struct {
	key  readingKey
	body telemetryBody
}

func (d *Device) topic(kind string) string {
	return d.options.Prefix + "/" + d.options.Serial + "/" + kind
}

// timedTelemetry keeps to its period even if one round comes late, without catching up on rounds that were missed.
func (d *Device) timedTelemetry(now time.Time) {
	d.publishTelemetry(now)
	for !d.nextTimed.After(now) {
		missed := now.Sub(d.nextTimed) / d.options.TelemetryPeriod
		d.nextTimed = d.nextTimed.Add((missed + 1) * d.options.TelemetryPeriod)
	}
	d.agenda.add(d.nextTimed, d.timedTelemetry)
}

// publishTelemetry takes a reading, and sends it if there is a connection.
func (d *Device) publishTelemetry(now time.Time) {
	if d.link == nil {
		return // without power nothing is sampled
	}
	f := d.Faults()
	ts := d.ownTime(now)
	if d.dice.roll("stale_telemetry", f.StaleTelemetry) {
		d.strike(now, "stale_telemetry", "")
		ts = ts.Add(-f.StaleBy)
	}
	r := d.sample(now, ts)
	drop := d.dice.roll("drop_telemetry", f.DropTelemetry)
	switch {
	case drop:
		d.strike(now, "drop_telemetry", "")
		d.lose(now, r.key, "dropped")
	case d.link.isUp():
		d.sendTelemetry(now, []reading{r}, f)
	case f.OfflineBatch:
		d.keep(now, r)
	default:
		d.lose(now, r.key, "offline")
	}
}

func (d *Device) sample(now, ts time.Time) reading {
	seq, bootID := d.nextSeq()
	r := reading{key: readingKey{seq, bootID}, body: telemetryBody{Values: d.snapshot()}}
	switch {
	case d.options.OmitTS:
	case d.options.MillisTS:
		r.body.TS = ts.UnixMilli()
	default:
		r.body.TS = ts.UTC().Format(time.RFC3339Nano)
	}
	if !d.options.OmitSeq {
		r.body.Seq, r.body.BootID = seq, bootID
	}
	d.recorder.record(Event{At: now, Kind: eventReading, Seq: seq, BootID: bootID, TS: ts, Values: r.body.Values})
	return r
}

func (d *Device) keep(now time.Time, r reading) {
	d.strike(now, "offline_batch", "")
	if len(d.batch) >= maxBatch {
		d.lose(now, d.batch[0].key, "batch full")
		d.batch = d.batch[1:]
	}
	d.batch = append(d.batch, r)
}

// sendBatch sends what was kept while offline, as arrays in the order of sampling.
func (d *Device) sendBatch(now time.Time) {
	batch := d.batch
	d.batch = nil
	each := max(1, maxBatchValues/len(d.options.Endpoints))
	for len(batch) > 0 {
		n := min(each, len(batch))
		d.sendTelemetry(now, batch[:n:n], d.Faults())
		batch = batch[n:]
	}
}

func (d *Device) sendTelemetry(now time.Time, readings []reading, f Faults) {
	m := outgoing{kind: kindTelemetry, topic: d.topic(kindTelemetry)}
	bodies := make([]telemetryBody, len(readings))
	for i, r := range readings {
		bodies[i] = r.body
		m.readings = append(m.readings, r.key)
	}
	// A batch of one is an array too: the contract allows both forms.
	if len(readings) == 1 && !f.OfflineBatch {
		m.payload = encode(bodies[0])
	} else {
		m.payload = encode(bodies)
	}
	if d.dice.roll("retain_telemetry", f.RetainTelemetry) {
		d.strike(now, "retain_telemetry", "")
		m.retain = true
	}
	duplicate := d.dice.roll("duplicate_telemetry", f.DuplicateTelemetry)
	if d.dice.roll("reorder_telemetry", f.ReorderTelemetry) && d.held == nil {
		d.strike(now, "reorder_telemetry", "")
		d.held = &m
		return
	}
	d.send(now, m)
	if duplicate {
		d.strike(now, "duplicate_telemetry", "")
		d.send(now, m)
	}
	if d.held != nil {
		late := *d.held
		d.held = nil
		d.send(now, late)
	}
}

// send is the last station before the wire: here a message may be broken or misdirected.
func (d *Device) send(now time.Time, m outgoing) {
	if d.link == nil {
		d.onLost(m, "without power")
		return
	}
	f := d.Faults()
	if m.kind != kindStatus {
		fault := ""
		if m.payload, fault = d.corrupt(f, m.payload); fault != "" {
			d.spoilt(now, m, fault)
		}
		if d.dice.roll("foreign_serial", f.ForeignSerial) {
			d.spoilt(now, m, "foreign_serial")
			m.topic = d.options.Prefix + "/" + f.ForeignTarget + "/" + m.kind
		}
	}
	d.link.send(m)
}

func (d *Device) spoilt(now time.Time, m outgoing, fault string) {
	d.strike(now, fault, "")
	for _, r := range m.readings {
		d.recorder.record(Event{At: now, Kind: eventSpoilt, Seq: r.seq, BootID: r.bootID, Name: fault})
	}
}

func (d *Device) lose(now time.Time, r readingKey, reason string) {
	d.recorder.record(Event{At: now, Kind: eventLost, Seq: r.seq, BootID: r.bootID, Name: reason})
}

// loseUnsent gives up what the device itself still held back.
func (d *Device) loseUnsent(reason string) {
	now := d.clock.Now()
	for _, r := range d.batch {
		d.lose(now, r.key, reason)
	}
	d.batch = nil
	if d.held != nil {
		d.onLost(*d.held, reason)
		d.held = nil
	}
}

// onAcked and onLost come from the link's goroutine as well; the recorder has its own lock.
func (d *Device) onAcked(m outgoing) {
	now := d.clock.Now()
	for _, r := range m.readings {
		d.recorder.record(Event{At: now, Kind: eventAcked, Seq: r.seq, BootID: r.bootID})
	}
}

func (d *Device) onLost(m outgoing, reason string) {
	now := d.clock.Now()
	for _, r := range m.readings {
		d.lose(now, r, reason)
	}
	if len(m.readings) == 0 {
		d.strike(now, "lost_"+m.kind, "")
	}
}
