package storetest

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"surehand/internal/plant"
	"surehand/internal/term"
)

// mixed is the n-th message of a full turn on fans 1 to fans.
func mixed(n, fans int) step {
	f := n%fans + 1
	return func(tx *plant.Tx) {
		switch n % 8 {
		case 0, 1, 2:
			e, _ := reading(tx, f, tx.Now().Add(time.Duration(n)*time.Millisecond), float64(n), term.DiscardNone)
			observe(tx, f, float64(n))
			tx.FinishEventIfPending(e, term.EventProcessed)
		case 3:
			reading(tx, f, tx.Now().Add(-time.Duration(n)*time.Hour), float64(n), term.DiscardBackfill)
		case 4:
			if len(tx.State().Queue(fanOn(f))) < plant.MaxQueue {
				command(tx, f, "")
			}
			tx.RememberKey(plant.MessageKey{ID: tx.NewID(), Outcome: "{}"})
		case 5:
			if q := tx.State().Queue(fanOn(f)); len(q) > 0 {
				if _, held := tx.State().Holder(fanOn(f)); !held {
					fence(tx, must(tx.State().Intent(q[0])))
				}
			}
			tx.RebootDevice(must(tx.State().Device(fan(f))), tx.NewID())
		case 6:
			if i, held := tx.State().Holder(fanOn(f)); held {
				apply(tx, acknowledge(tx, i))
			}
			tx.RecordReceipt(plant.Receipt{Serial: "x", Type: term.ReceiptRejected, Correlation: term.CorrelationNone, Reason: "malformed", Payload: []byte{0}})
		case 7:
			if !tx.LiftHoldIfHeld(plant.DeviceSubject(fan(f)), term.HoldQuarantine, "mai", "x") {
				tx.PlaceHold(plant.DeviceSubject(fan(f)), term.HoldQuarantine, "loop", "x")
			}
		}
	}
}

func fullTurn(t *testing.T, open Opener) {
	const fans = 7 // no divisor of the message kinds: every fan meets every message
	w := newWorld(t, open)
	w.commit(configured(fans))
	for range 3 {
		steps := make([]step, plant.MaxBatch)
		for n := range steps {
			steps[n] = mixed(n, fans)
		}
		if c := w.commit(steps...); len(c.Entries) != plant.MaxBatch {
			t.Errorf("a full turn has %d entries", len(c.Entries))
		}
	}
}

// phases play many fans through everything; each phase is many messages of one kind.
func phases(fans int) [][]step {
	intents := make([]*plant.Intent, fans+1)
	events := make([]*plant.Event, fans+1)
	kinds := []func(*plant.Tx, int){
		configureFan,
		func(tx *plant.Tx, n int) { events[n], _ = reading(tx, n, tx.Now(), 28.5, term.DiscardNone) },
		func(tx *plant.Tx, n int) { observe(tx, n, 28.5) },
		func(tx *plant.Tx, n int) {
			tx.FinishEventIfPending(events[n], term.EventProcessed)
			intents[n] = command(tx, n, events[n].ID)
		},
		func(tx *plant.Tx, n int) { intents[n] = tx.WaitForGate(intents[n], term.GateLinkDown, time.Time{}) },
		func(tx *plant.Tx, n int) { intents[n] = fence(tx, intents[n]) },
		func(tx *plant.Tx, n int) { intents[n] = tx.MarkDispatched(intents[n]) },
		func(tx *plant.Tx, n int) { intents[n] = acknowledge(tx, intents[n]) },
		func(tx *plant.Tx, n int) {
			intents[n] = tx.MarkRetrying(intents[n], tx.Now().Add(time.Second), "busy")
		},
		func(tx *plant.Tx, n int) { intents[n] = fence(tx, intents[n]) },
		func(tx *plant.Tx, n int) {
			if n%3 == 0 {
				tx.MarkUncertain(intents[n], "no proof")
			} else {
				apply(tx, intents[n])
			}
		},
		func(tx *plant.Tx, n int) { configureFanAgain(tx, n) },
		func(tx *plant.Tx, n int) {
			tx.PlaceHold(plant.DeviceSubject(fan(n)), term.HoldQuarantine, "loop", "x")
		},
		func(tx *plant.Tx, n int) {
			tx.LiftHoldIfHeld(plant.DeviceSubject(fan(n)), term.HoldQuarantine, "mai", "x")
		},
		func(tx *plant.Tx, n int) {
			tx.RememberKey(plant.MessageKey{ID: tx.NewID(), Outcome: "{}"})
			tx.ParkMessage(plant.Parked{ID: term.MessageID(tx.NewID()), Type: "T", Source: "device", Raw: []byte{1}, Reason: "r"})
		},
	}
	kinds = append(kinds, cellPhases()...)
	all := [][]step{{configured(0), configuredCell(0)}}
	for _, k := range kinds {
		var steps []step
		for n := 1; n <= fans; n++ {
			steps = append(steps, func(tx *plant.Tx) { k(tx, n) })
		}
		all = append(all, steps)
	}
	return all
}

func configureFanAgain(tx *plant.Tx, n int) {
	d := *must(tx.State().Device(fan(n)))
	d.Status = term.DeviceMaintenance
	tx.ConfigureDevice(d)
	e := *must(tx.State().Endpoint(fanOn(n)))
	e.Enabled = false
	tx.ConfigureEndpoint(e)
	r := *must(tx.State().Rule(coolDown(n)))
	r.Active = false
	tx.ConfigureRule(r)
}

func bigEqualsSmall(t *testing.T, fresh func(*testing.T) Opener) {
	const fans = 40
	big, small := newWorld(t, fresh(t)), newWorld(t, fresh(t))
	for _, phase := range phases(fans) {
		big.commit(phase...)
	}
	for _, phase := range phases(fans) {
		at := small.now
		for _, s := range phase {
			small.now = at // the whole phase has one time, as in one turn
			small.commit(s)
		}
	}
	a, b := big.reload(), small.reload()
	ra, rb := a.Rows(), b.Rows()
	for n := range max(len(ra), len(rb)) {
		if n >= len(ra) || n >= len(rb) {
			t.Fatalf("many changes a commit leave %d rows, one change a commit %d", len(ra), len(rb))
		}
		// Ids are drawn in the order of the messages, which is the same.
		if !reflect.DeepEqual(ra[n], rb[n]) {
			t.Fatalf("many changes a commit:\n%+v\none change a commit:\n%+v", ra[n], rb[n])
		}
	}
	if fa, fb := a.Fence(), b.Fence(); fa.Seq != fb.Seq {
		t.Errorf("seq %d against %d", fa.Seq, fb.Seq)
	}
}

func bigGuards(t *testing.T, open Opener) {
	const fans = 40
	w := newWorld(t, open)
	for _, phase := range phases(fans) {
		b := w.prepare(nil, phase...)
		for _, kind := range plant.Kinds() {
			spoilt := b
			spoilt.Changes = slices.Clone(b.Changes)
			at := -1 // the last update of the kind, behind all others
			for n, c := range b.Changes {
				if c.Before != nil && c.After.Kind() == kind {
					at = n
				}
			}
			if at < 0 {
				continue
			}
			spoilt.Changes[at].Before = withVersion(b.Changes[at].Before, 1)
			if err := w.store.Commit(w.ctx(), spoilt); plant.FaultOf(err) != plant.FaultConflict || err == nil {
				t.Fatalf("one stale %s among %d changes: %v", kind, len(b.Changes), err)
			}
		}
		w.accept(b)
	}
}
