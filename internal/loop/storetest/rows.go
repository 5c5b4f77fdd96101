package storetest

import (
	"testing"
	"time"

	"surehand/internal/message"
	"surehand/internal/plant"
	"surehand/internal/term"
)

func opensEmpty(t *testing.T, open Opener) {
	w := newWorld(t, open)
	f := w.state.Fence()
	if f.Installation == "" || f.Generation == "" || f.Life == "" || f.Epoch < 1 || f.Seq != 0 {
		t.Errorf("fence of an empty database: %+v", f)
	}
	if rows := w.state.Rows(); len(rows) != 0 {
		t.Errorf("an empty database has rows: %v", rows)
	}
	w.same()
}

// everyKind is a step that writes one new row of every kind, for a fan that is configured by it.
func everyKind(n int) step {
	return func(tx *plant.Tx) {
		configured(0)(tx)
		configureFan(tx, n)
		e, _ := reading(tx, n, tx.Now().Add(-time.Second), 28.5, term.DiscardNone)
		observe(tx, n, 28.5)
		i := fence(tx, command(tx, n, e.ID))
		receipt(tx, i, term.ReceiptPublish)
		tx.RecordReceipt(plant.Receipt{Serial: "unknown", Type: term.ReceiptRejected, Correlation: term.CorrelationNone, Reason: "malformed", Payload: []byte{0, 1, 0xff}})
		tx.PlaceHold(plant.DeviceSubject(fan(n)), term.HoldQuarantine, "loop", awkward)
		tx.RememberKey(plant.MessageKey{ID: tx.NewID(), BodyHash: plant.Hash("body"), Outcome: term.JSON(message.Outcome{Code: message.Accepted, Detail: awkward})})
		tx.ParkMessage(plant.Parked{ID: term.MessageID(tx.NewID()), Type: "TelemetryReceived", Source: "telemetry", Raw: []byte{0, 0xfe}, Reason: awkward})
		everyKindOfCell(tx, n)
	}
}

func roundTrip(t *testing.T, open Opener) {
	w := newWorld(t, open)
	c := w.commit(everyKind(1))
	wrote := map[plant.Kind]bool{}
	for _, ch := range c.Changes {
		wrote[ch.After.Kind()] = true
	}
	for _, k := range plant.Kinds() {
		if !wrote[k] {
			t.Errorf("the suite wrote no %s", k)
		}
	}
	// Zero and odd values of the rows above.
	w.commit(func(tx *plant.Tx) {
		tx.ConfigureProfile(plant.Profile{ID: "bare", Name: "", Class: term.ClassC})
		tx.ConfigureDevice(plant.Device{ID: "bare-1", FarmID: farm, ProfileID: "bare", Serial: "B", Status: term.DeviceRetired, Class: term.ClassC})
	})
	w.commit(func(tx *plant.Tx) { reading(tx, 1, tx.Now().Add(-time.Hour), 0, term.DiscardBackfill) })
	for n, v := range []term.Value{term.Int(-9007199254740993), term.Float(1e300), term.Float(3), term.Bool(false), term.Text(awkward), term.Text("")} {
		w.commit(func(tx *plant.Tx) {
			e := must(tx.State().Endpoint(fanOn(1)))
			tx.Observe(e, v, tx.Now(), tx.Now(), term.Mark{Seq: -1, At: int64(n)})
		})
	}
	for range plant.MaxBoots + 2 {
		w.commit(func(tx *plant.Tx) { tx.RebootDevice(must(tx.State().Device(fan(1))), tx.NewID()) })
	}
	w.commit(func(tx *plant.Tx) {
		tx.LiftHoldIfHeld(plant.DeviceSubject(fan(1)), term.HoldQuarantine, "mai", awkward)
		tx.PlaceHold(plant.DeviceSubject(fan(1)), term.HoldQuarantine, "loop", "again")
		tx.PlaceHold(plant.DeviceSubject(fan(1)), term.HoldParked, "loop", "")
	})
	w.commit(func(tx *plant.Tx) {
		r := must(tx.State().Rule(coolDown(1)))
		tx.RecordExecution(plant.Execution{ID: term.ExecutionID(tx.NewID()), Source: term.SourceRule, RuleID: r.ID, RuleRevision: r.Revision, FarmID: farm,
			TargetID: r.Target, Outcome: term.ExecutionRefused, Reason: string(term.GateHoldOff)}, time.Time{})
	})
	w.commit(func(tx *plant.Tx) {
		r := must(tx.State().Rule(coolDown(1)))
		tx.RepeatExecution(must(tx.State().Execution(r.ExecutionID)), term.EventID(tx.NewID()))
	})
	w.commit(func(tx *plant.Tx) { handCommand(tx, 1) })
}

// life is the way of one command, one move a turn.
type life []func(*plant.Tx, *plant.Intent)

func everyState(t *testing.T, open Opener) {
	send := func(tx *plant.Tx, i *plant.Intent) { fence(tx, i) }
	sent := func(tx *plant.Tx, i *plant.Intent) { tx.MarkDispatched(i) }
	acked := func(tx *plant.Tx, i *plant.Intent) { acknowledge(tx, i) }
	retry := func(tx *plant.Tx, i *plant.Intent) { tx.MarkRetrying(i, tx.Now().Add(5*time.Second), awkward) }
	notSent := func(tx *plant.Tx, i *plant.Intent) {
		tx.MarkNotSent(i, tx.Now().Add(5*time.Second), "the link was down")
	}
	unknown := func(tx *plant.Tx, i *plant.Intent) {
		tx.MarkSendUnknown(i, tx.Now().Add(5*time.Second), "timeout")
	}
	applied := func(tx *plant.Tx, i *plant.Intent) { apply(tx, i) }
	failed := func(tx *plant.Tx, i *plant.Intent) { receipt(tx, i, term.ReceiptResult); tx.MarkFailed(i, "rejected") }
	expired := func(tx *plant.Tx, i *plant.Intent) { tx.MarkExpired(i, "deadline") }
	uncertain := func(tx *plant.Tx, i *plant.Intent) { tx.MarkUncertain(i, "no proof") }
	release := func(tx *plant.Tx, i *plant.Intent) { tx.ReleaseEndpointIfUnproven(i) }
	wait := func(tx *plant.Tx, i *plant.Intent) { tx.WaitForGate(i, term.GateLinkDown, time.Time{}) }
	weak := func(tx *plant.Tx, i *plant.Intent) { tx.CountWeakEvidence(i, 1) }
	postpone := func(tx *plant.Tx, i *plant.Intent) { tx.PostponeWindow(i, tx.Now().Add(time.Hour)) }
	tests := []struct {
		name  string
		life  life
		state term.CommandState
		open  bool
	}{
		{"waiting", life{wait}, term.PendingDispatch, true},
		{"being sent", life{send}, term.PendingDispatch, true},
		{"send unknown", life{send, unknown, postpone}, term.PendingDispatch, true},
		{"dispatched", life{send, sent}, term.Dispatched, true},
		{"acknowledged", life{send, sent, acked, weak}, term.Acknowledged, true},
		{"busy", life{send, sent, acked, retry, wait}, term.Retrying, true},
		{"not sent", life{send, notSent}, term.Retrying, true},
		{"sent again", life{send, notSent, send, sent, retry, send}, term.Retrying, true},
		{"applied", life{send, sent, acked, applied}, term.Applied, false},
		{"failed unsent", life{failed}, term.Failed, false},
		{"failed", life{send, sent, failed}, term.Failed, false},
		{"expired unsent", life{expired}, term.Expired, false},
		{"expired, perhaps done", life{send, sent, retry, expired}, term.Expired, true},
		{"expired and let go", life{send, sent, retry, expired, release}, term.Expired, false},
		{"uncertain", life{send, sent, uncertain, weak}, term.Uncertain, true},
		{"uncertain and let go", life{send, uncertain, release}, term.Uncertain, false},
		{"uncertain, then judged", life{send, sent, uncertain, failed}, term.Failed, false},
		{"applied by late evidence", life{send, sent, uncertain, release, applied}, term.Applied, false},
	}
	w := newWorld(t, open)
	w.commit(configured(len(tests)))
	for n, tt := range tests {
		var id term.IntentID
		w.commit(func(tx *plant.Tx) { id = command(tx, n+1, "").ID })
		for m, move := range tt.life {
			i := w.intent(id)
			var known []*plant.Intent
			if !i.Open() {
				known = append(known, i)
			}
			w.accept(w.prepare(known, func(tx *plant.Tx) { move(tx, i) }))
			if after := w.intent(id); after.Version <= i.Version {
				t.Errorf("%s: move %d left version %d", tt.name, m, after.Version)
			}
		}
		if i := w.intent(id); i.State != tt.state || i.Open() != tt.open {
			t.Errorf("%s: ends as %s, open %t; want %s, open %t", tt.name, i.State, i.Open(), tt.state, tt.open)
		}
	}
}

func fold(t *testing.T, open Opener) {
	w := newWorld(t, open)
	w.commit(configured(3))
	// Created, sent, answered and proven inside one turn, by several messages.
	var i *plant.Intent
	c := w.commit(
		func(tx *plant.Tx) { i = command(tx, 1, "") },
		func(tx *plant.Tx) { i = tx.WaitForGate(i, term.GateLinkDown, time.Time{}); i = fence(tx, i) },
		func(tx *plant.Tx) { i = tx.MarkDispatched(i) },
		func(tx *plant.Tx) { i = acknowledge(tx, i) },
		func(tx *plant.Tx) { i = apply(tx, i) },
	)
	if len(c.Entries) != 5 {
		t.Errorf("five messages have %d entries", len(c.Entries))
	}
	seen := map[string]int{}
	for _, ch := range c.Changes {
		seen[string(ch.After.Kind())+" "+ch.After.Key()]++
	}
	for k, n := range seen {
		if n != 1 {
			t.Errorf("%s is in the batch %d times", k, n)
		}
	}
	if got := w.intent(i.ID); got.State != term.Applied || got.Version != 6 {
		t.Errorf("the command came back as %s version %d", got.State, got.Version)
	}
	// The same endpoint observed many times, an event finished in the turn that brought it, a hold placed and
	// lifted, a rule that changes its verdict twice.
	w.commit(
		func(tx *plant.Tx) {
			for v := range 20 {
				observe(tx, 2, float64(v))
			}
			e, _ := reading(tx, 2, tx.Now(), 19, term.DiscardNone)
			tx.FinishEventIfPending(e, term.EventProcessed)
			tx.PlaceHold(plant.DeviceSubject(fan(2)), term.HoldParked, "loop", "x")
			tx.LiftHoldIfHeld(plant.DeviceSubject(fan(2)), term.HoldParked, "mai", "y")
		},
		func(tx *plant.Tx) { command(tx, 2, "") },
		func(tx *plant.Tx) { command(tx, 2, "") },
	)
	// Many versions in one step of the stored row.
	w.commit(func(tx *plant.Tx) { i = command(tx, 3, "") })
	w.commit(
		func(tx *plant.Tx) { i = fence(tx, i) },
		func(tx *plant.Tx) { i = tx.MarkNotSent(i, tx.Now().Add(time.Second), "x") },
		func(tx *plant.Tx) { i = fence(tx, i) },
		func(tx *plant.Tx) { i = tx.MarkUncertain(i, "y") },
		func(tx *plant.Tx) { i = tx.ReleaseEndpointIfUnproven(i) },
	)
}

func refusedKeepsReceipts(t *testing.T, open Opener) {
	w := newWorld(t, open)
	w.commit(configured(1))
	w.now = w.now.Add(time.Second)
	w.work = w.state.Begin(w.now, w.mint, w.session, nil, nil)
	tx := w.work.Tx()
	i := fence(tx, command(tx, 1, ""))
	receipt(tx, i, term.ReceiptResult) // its command is dropped with the message
	tx.RecordReceipt(plant.Receipt{DeviceID: fan(1), Serial: fanSerial(1), Type: term.ReceiptRejected, Correlation: term.CorrelationForeign, Reason: "foreign", Payload: []byte("{}")})
	w.work.Drop(tx)
	w.keep(tx, plant.Entry{Outcome: "refused", Reason: "foreign"})
	b := w.work.Batch()
	if len(b.Changes) != 2 || len(b.Entries) != 1 {
		t.Fatalf("a refused message leaves %d changes and %d entries", len(b.Changes), len(b.Entries))
	}
	w.accept(b)
	if len(w.state.Intents()) != 0 {
		t.Error("a refused message created a command")
	}
}
