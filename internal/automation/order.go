package automation

import (
	"slices"
	"strconv"
	"time"

	"surehand/internal/message"
	"surehand/internal/plant"
	"surehand/internal/term"
)

// order is where one reading stands against what is known of its device.
type order struct {
	// at is the time used for order: the sample time, or the receive time when the device sent none or one
	// too far in the future.
	at time.Time
	// sampledAt is stored as the event's time: the device's word when it sent one.
	sampledAt time.Time
	// fingerprint of the reading (not of the MQTT message): boot id + seq, else its canonical form, else the
	// delivery.
	fingerprint string
	// oldBoot: it was sampled before a reboot that is known already.
	oldBoot bool
	// newBoot: it is the first of a boot id not heard before.
	newBoot bool
	// byReceipt: the device's time is too far ahead to order by.
	byReceipt bool
	now       time.Time
	// ageUnknown: when the device sent no time and the backlog has not come in yet.
	ageUnknown bool
}

// weigh places a reading of a device. arrival makes a delivery without identity of its own unique.
func weigh(tx *plant.Tx, d *plant.Device, r message.Reading, arrival string) order {
	now := tx.Now()
	o := order{at: now, sampledAt: now, now: now}
	if !r.At.IsZero() {
		o.sampledAt = plant.Micros(r.At)
		if !o.sampledAt.After(now.Add(plant.FutureTolerance)) {
			o.at = o.sampledAt
		} else {
			o.byReceipt = true
			o.ageUnknown = !tx.Session().Drained(plant.LinkTelemetry)
		}
	} else {
		o.ageUnknown = !tx.Session().Drained(plant.LinkTelemetry)
	}
	switch {
	case r.Seq >= 0:
		o.fingerprint = "seq:" + r.BootID + ":" + strconv.FormatInt(r.Seq, 10)
		if r.BootID == "" && !r.At.IsZero() { // seq alone repeats after a reboot
			o.fingerprint += ":" + plant.Hash(r.Canonical)
		}
	case !r.At.IsZero():
		o.fingerprint = plant.Hash(r.Canonical)
	default:
		o.fingerprint = "delivery:" + arrival
	}
	if r.BootID != "" && r.BootID != d.BootID {
		o.oldBoot = slices.Contains(d.Boots, r.BootID)
		o.newBoot = !o.oldBoot
	}
	return o
}

// newer tells whether a reading is strictly newer than an endpoint's mark: boot id + seq, else time; at
// equal times by hash. Only a strictly newer reading may fire, prove or release anything.
func (o order) newer(m term.Mark, r message.Reading) bool {
	if o.oldBoot || slices.Contains(m.Hashes, o.hash()) {
		return false
	}
	if r.Seq >= 0 && m.Seq >= 0 && r.BootID == m.BootID {
		if r.Seq > m.Seq {
			return true
		}
		if r.BootID != "" {
			return false
		}
		// Without a boot id a backward jump is a reboot if the sample is newer too; a repeated key is told
		// before (see readingKey).
		return r.Seq < m.Seq && (r.At.IsZero() || o.at.UnixMicro() > m.At)
	}
	if r.Seq >= 0 && r.BootID != "" && m.BootID != "" && r.BootID != m.BootID {
		return true // not an old boot: a reboot
	}
	at := o.at.UnixMicro()
	switch {
	case at > m.At, m.At > o.now.Add(plant.FutureTolerance).UnixMicro(): // or our clock went back since
		return true
	case at < m.At:
		return false
	}
	return len(m.Hashes) < plant.MaxMarkHashes
}

func (o order) hash() string { return plant.Hash(o.fingerprint)[:16] }

// mark is the endpoint's mark after this reading. It never goes back: a reading without a seq keeps the seq
// that is known of its boot, and one that is newer by its seq keeps a later time.
func (o order) mark(m term.Mark, r message.Reading) term.Mark {
	n := term.Mark{BootID: r.BootID, Seq: r.Seq, At: o.at.UnixMicro(), Hashes: []string{o.hash()}}
	if n.Seq < 0 && (n.BootID == "" || n.BootID == m.BootID) {
		n.BootID, n.Seq = m.BootID, m.Seq
	}
	switch {
	case m.At > o.now.Add(plant.FutureTolerance).UnixMicro(): // our clock went back: the mark has to follow
	case n.At < m.At:
		n.At, n.Hashes = m.At, m.Hashes
	case n.At == m.At && len(m.Hashes) < plant.MaxMarkHashes:
		n.Hashes = append(slices.Clone(m.Hashes), o.hash())
	case n.At == m.At:
		n.Hashes = m.Hashes
	}
	return n
}

// readingKey is the key under which a reading with a verdict is remembered, and whether the marks alone
// cannot tell a repetition of it, so that the store has to be asked.
func readingKey(s *plant.State, d *plant.Device, serial string, r message.Reading, del message.Delivery, now time.Time) (key string, ask bool) {
	switch {
	case r.Seq >= 0:
		parts := []string{"reading", serial, r.BootID, strconv.FormatInt(r.Seq, 10)}
		if r.BootID == "" && !r.At.IsZero() {
			parts = append(parts, r.Canonical)
		}
		return plant.DerivedID(time.Time{}, parts...), r.BootID == "" || d == nil || r.BootID != d.BootID
	case !r.At.IsZero():
		return plant.DerivedID(time.Time{}, "reading", serial, r.Canonical), r.At.After(now.Add(plant.FutureTolerance)) || orderedByReceipt(s, d, r)
	case del.PacketID != 0:
		return plant.DerivedID(time.Time{}, "delivery", serial, strconv.Itoa(int(del.PacketID)), r.Canonical), true
	}
	return "", false
}

// orderedByReceipt: what is known of an endpoint of this reading was sampled "later" than its mark, so the mark
// is our receive time and cannot tell a repetition.
func orderedByReceipt(s *plant.State, d *plant.Device, r message.Reading) bool {
	if d == nil {
		return false
	}
	for _, f := range r.Fields {
		if spec, ok := s.SpecByTelemetry(d, f.Key); ok {
			if e, ok := s.Endpoint(term.NewEndpointID(d.ID, spec.Key)); ok && e.SampledAt.UnixMicro() > e.Mark.At {
				return true
			}
		}
	}
	return false
}

// repeated tells whether a reading was decided before, as far as only its key can tell.
func repeated(tx *plant.Tx, key string, ask bool, r message.Reading, del message.Delivery, known message.Known) bool {
	if key == "" || !ask {
		return false
	}
	k, stored := known.Keys[key]
	if !stored && !tx.KeyRemembered(key) {
		return false
	}
	if r.Seq < 0 && r.At.IsZero() { // a packet id comes round again: only a redelivery repeats, and not for ever
		return del.Duplicate && (!stored || tx.Now().Sub(k.At) < plant.DeliveryKeyLife)
	}
	return true
}
