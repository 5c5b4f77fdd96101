package storetest

import (
	"maps"
	"reflect"
	"testing"
	"time"

	"surehand/internal/message"
	"surehand/internal/plant"
	"surehand/internal/term"
)

// craft is a batch of changes that no move would make.
func (w *world) craft(changes ...plant.Change) plant.Batch {
	w.t.Helper()
	b := w.prepare(nil)
	b.Changes = changes
	return b
}

// altered is a copy of a row with some fields set.
func altered[R any, P interface {
	*R
	plant.Row
}](r plant.Row, set func(P)) plant.Row {
	n := *r.(P)
	set(&n)
	return P(&n)
}

// withVersion is a copy of any row with another version.
func withVersion(r plant.Row, by int64) plant.Row {
	n := reflect.New(reflect.TypeOf(r).Elem())
	n.Elem().Set(reflect.ValueOf(r).Elem())
	v := n.Elem().FieldByName("Version")
	v.SetInt(v.Int() + by)
	return n.Interface().(plant.Row)
}

// versioned is a step that changes one row of every kind that can change. It needs everyKind(1) before.
func versioned(tx *plant.Tx) {
	s := tx.State()
	tx.ConfigureOrganisation(plant.Organisation{ID: "acme", Name: "renamed"})
	tx.ConfigureFarm(plant.Farm{ID: farm, OrganisationID: "acme", Name: "renamed"})
	p := fullProfile()
	p.Name = "renamed"
	tx.ConfigureProfile(p)
	tx.RebootDevice(must(s.Device(fan(1))), "b2")
	observe(tx, 1, 30)
	tx.FinishEventIfPending(must(s.Event(s.PendingEvents(1)[0])), term.EventProcessed)
	tx.MarkDispatched(s.Intents()[0])
	r := must(s.Rule(coolDown(1)))
	tx.RepeatExecution(must(s.Execution(r.ExecutionID)), "")
	changed := *r
	changed.Active = false
	tx.ConfigureRule(changed)
	tx.LiftHoldIfHeld(plant.DeviceSubject(fan(1)), term.HoldQuarantine, "mai", "seen")
	versionedInCell(tx)
}

func guards(t *testing.T, open Opener) {
	w := newWorld(t, open)
	w.commit(everyKind(1))
	updates := len(w.prepare(nil, versioned).Changes)
	w.work.Rollback()
	if updates != 21 {
		t.Fatalf("the suite changes %d rows, want one of each of the 21 kinds that change", updates)
	}
	for n := range updates {
		for _, by := range []int64{-1, 1} {
			b := w.prepare(nil, versioned)
			b.Changes[n].Before = withVersion(b.Changes[n].Before, by)
			w.refuse(b, plant.FaultConflict)
		}
	}
	words := map[plant.Kind]func(plant.Row) plant.Row{
		plant.KindIntent: func(r plant.Row) plant.Row {
			return altered(r, func(i *plant.Intent) { i.State = term.Acknowledged })
		},
		plant.KindAttempt: func(r plant.Row) plant.Row {
			return altered(r, func(a *plant.Attempt) { a.Outcome = term.AttemptSent })
		},
		plant.KindEvent: func(r plant.Row) plant.Row { return altered(r, func(e *plant.Event) { e.Status = term.EventFailed }) },
	}
	maps.Copy(words, otherWords)
	for kind, other := range words {
		b := w.prepare(nil, versioned)
		for n, c := range b.Changes {
			if c.Before != nil && c.After.Kind() == kind {
				b.Changes[n].Before = other(c.Before)
			}
		}
		w.refuse(b, plant.FaultConflict)
	}
	b := w.prepare(nil, versioned)
	for n, c := range b.Changes {
		if j, ok := c.Before.(*plant.Job); ok { // the place is part of the guard
			b.Changes[n].Before = altered(j, func(j *plant.Job) { j.Position.Ref += "x" })
		}
	}
	w.refuse(b, plant.FaultConflict)
	w.commit(versioned)

	// A row that is there cannot be inserted, whatever its kind; one that is not there cannot be changed.
	c := w.commit(everyKind(2))
	for _, ch := range c.Changes {
		k := ch.After.Kind()
		if ch.Before != nil || k == plant.KindTelemetry || k == plant.KindEvent {
			continue
		}
		w.refuse(w.craft(plant.Change{Move: "Insert", After: ch.After}), plant.FaultConflict)
	}
	for _, ch := range c.Changes {
		if d, ok := ch.After.(*plant.Device); ok {
			missing := altered(d, func(d *plant.Device) { d.ID, d.Serial = "nobody", "NOBODY" })
			w.refuse(w.craft(plant.Change{Move: "Update", Before: missing, After: withVersion(missing, 1)}), plant.FaultConflict)
		}
	}
	// The law is the store's too.
	w.refuse(w.craft(plant.Change{Move: "Break", Before: w.state.Intents()[0], After: altered(withVersion(w.state.Intents()[0], 1),
		func(i *plant.Intent) { i.State, i.EndedAt, i.EvidenceID = term.Applied, w.now, "" })}), plant.FaultConflict)
}

// alter changes the rows of one kind that a batch writes.
func alter[R any, P interface {
	*R
	plant.Row
}](b plant.Batch, set func(P)) {
	for n, c := range b.Changes {
		if r, ok := c.After.(P); ok {
			b.Changes[n].After = altered(r, set)
		}
	}
}

func unique(t *testing.T, open Opener) {
	w := newWorld(t, open)
	w.commit(configured(3))
	var sending, waiting *plant.Intent
	w.commit(func(tx *plant.Tx) {
		sending = fence(tx, command(tx, 1, ""))
		waiting = command(tx, 1, "")
		tx.PlaceHold(plant.DeviceSubject(fan(1)), term.HoldQuarantine, "loop", "x")
	})
	var next *plant.Intent
	w.commit(func(tx *plant.Tx) { next = command(tx, 2, "") })
	tests := []struct {
		name  string
		step  step
		clash func(plant.Batch)
	}{
		{"serial of a new device", func(tx *plant.Tx) { configureFan(tx, 9) },
			func(b plant.Batch) { alter(b, func(d *plant.Device) { d.Serial = fanSerial(1) }) }},
		{"serial of a changed device", func(tx *plant.Tx) {
			d := *must(tx.State().Device(fan(2)))
			d.Serial = "OTHER"
			tx.ConfigureDevice(d)
		}, func(b plant.Batch) { alter(b, func(d *plant.Device) { d.Serial = fanSerial(1) }) }},
		{"idempotency key", func(tx *plant.Tx) { command(tx, 3, "") },
			func(b plant.Batch) {
				alter(b, func(i *plant.Intent) { i.IdempotencyKey = sending.IdempotencyKey })
			}},
		{"idempotency key inside the batch", func(tx *plant.Tx) { command(tx, 3, ""); command(tx, 3, "") },
			func(b plant.Batch) { alter(b, func(i *plant.Intent) { i.IdempotencyKey = plant.Hash("same") }) }},
		{"holder of an endpoint", func(tx *plant.Tx) { tx.WaitForGate(waiting, term.GateEndpointBusy, time.Time{}) },
			func(b plant.Batch) {
				alter(b, func(i *plant.Intent) { i.HoldsEndpoint, i.CommandID = true, "other" })
			}},
		{"open hold", func(tx *plant.Tx) {
			tx.PlaceHold(plant.DeviceSubject(fan(2)), term.HoldQuarantine, "loop", "x")
		}, func(b plant.Batch) { alter(b, func(h *plant.Hold) { h.Subject = plant.DeviceSubject(fan(1)) }) }},
		{"open attempt", func(tx *plant.Tx) { fence(tx, next) },
			func(b plant.Batch) {
				alter(b, func(a *plant.Attempt) { a.IntentID, a.Number = sending.ID, 2 })
			}},
		{"command id", func(tx *plant.Tx) { fence(tx, next) },
			func(b plant.Batch) { alter(b, func(i *plant.Intent) { i.CommandID = sending.CommandID }) }},
	}
	for n, tt := range tests {
		b := w.prepare(nil, tt.step)
		tt.clash(b)
		t.Log(tt.name)
		w.refuse(b, plant.FaultConflict)
		if n != 6 { // the last two share their step
			w.commit(tt.step)
		}
	}
	// A hold that has ended leaves room for the next one.
	w.commit(func(tx *plant.Tx) {
		tx.LiftHoldIfHeld(plant.DeviceSubject(fan(1)), term.HoldQuarantine, "mai", "x")
	})
	w.commit(func(tx *plant.Tx) {
		tx.PlaceHold(plant.DeviceSubject(fan(1)), term.HoldQuarantine, "loop", "again")
	})
}

func handOver(t *testing.T, open Opener) {
	w := newWorld(t, open)
	w.commit(configured(2))
	var first, second *plant.Intent
	w.commit(func(tx *plant.Tx) { first = fence(tx, command(tx, 1, "")); second = command(tx, 1, "") })
	// Leave before enter.
	w.commit(
		func(tx *plant.Tx) { first = apply(tx, first) },
		func(tx *plant.Tx) { second = fence(tx, second) },
	)
	// Enter before leave: the second one's first change of the turn stands before the first one's, and the
	// folded batch keeps that order.
	var third *plant.Intent
	w.commit(func(tx *plant.Tx) { third = command(tx, 1, "") })
	b := w.prepare(nil,
		func(tx *plant.Tx) { third = tx.WaitForGate(third, term.GateEndpointBusy, time.Time{}) },
		func(tx *plant.Tx) { second = apply(tx, second) },
		func(tx *plant.Tx) { third = fence(tx, third) },
	)
	if b.Changes[0].After.Key() != string(third.ID) {
		t.Fatalf("the suite wants the entering command first, not %s", b.Changes[0].After.Key())
	}
	w.accept(b)
	if h, ok := w.state.Holder(fanOn(1)); !ok || h.ID != third.ID {
		t.Errorf("the endpoint is held by %v", h)
	}
	// The same with many commands, for a set-based write, and with open attempts and holds that follow each
	// other on one command and one subject.
	const many = 16
	w.commit(func(tx *plant.Tx) {
		for n := 2; n < 2+many; n++ {
			configureFan(tx, n)
		}
	})
	old, fresh := make([]*plant.Intent, many), make([]*plant.Intent, many)
	w.commit(func(tx *plant.Tx) {
		for n := range many {
			old[n] = fence(tx, command(tx, n+2, ""))
			fresh[n] = command(tx, n+2, "")
			tx.PlaceHold(plant.DeviceSubject(fan(n+2)), term.HoldParked, "loop", "x")
		}
	})
	w.commit(
		func(tx *plant.Tx) {
			for n := range many {
				fresh[n] = tx.WaitForGate(fresh[n], term.GateEndpointBusy, time.Time{})
			}
		},
		func(tx *plant.Tx) {
			for n := range many {
				old[n] = apply(tx, old[n])
				fresh[n] = fence(tx, fresh[n])
				fresh[n] = tx.MarkNotSent(fresh[n], tx.Now().Add(time.Second), "x")
				fresh[n] = fence(tx, fresh[n])
				tx.LiftHoldIfHeld(plant.DeviceSubject(fan(n+2)), term.HoldParked, "mai", "x")
				tx.PlaceHold(plant.DeviceSubject(fan(n+2)), term.HoldParked, "loop", "y")
			}
		},
	)
	// A serial number moves to a spare device.
	w.commit(func(tx *plant.Tx) {
		d := *must(tx.State().Device(fan(3)))
		d.Serial = "BROKEN"
		tx.ConfigureDevice(d)
		d = *must(tx.State().Device(fan(4)))
		d.Serial = fanSerial(3)
		tx.ConfigureDevice(d)
	})
}

func allOrNothing(t *testing.T, open Opener) {
	w := newWorld(t, open)
	w.commit(everyKind(1))
	b := w.prepare(nil, versioned, everyKind(2), func(tx *plant.Tx) { tx.RememberKey(plant.MessageKey{ID: tx.NewID(), Outcome: "{}"}) })
	var key string
	for n, c := range b.Changes {
		switch r := c.After.(type) {
		case *plant.MessageKey:
			key = r.ID
		case *plant.Endpoint:
			if c.Before != nil {
				b.Changes[n].Before = withVersion(c.Before, 1) // the one wrong row
			}
		}
	}
	w.refuse(b, plant.FaultConflict)
	if k := w.known(message.Need{Keys: []string{key}}); len(k.Keys) != 0 {
		t.Error("a refused batch left a key")
	}
	if r, ok := w.store.(Reader); ok {
		for _, c := range b.Changes {
			if _, found, err := r.ReadRow(w.ctx(), c.After.Kind(), c.After.Key()); c.Before == nil && (found || err != nil) {
				t.Errorf("a refused batch left %s %s (error %v)", c.After.Kind(), c.After.Key(), err)
			}
		}
	}
	w.commit(versioned, everyKind(2))
}
