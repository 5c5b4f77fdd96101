package storetest

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"surehand/internal/message"
	"surehand/internal/plant"
	"surehand/internal/term"
)

func gapless(t *testing.T, open Opener) {
	w := newWorld(t, open)
	w.commit(configured(3))
	three := []step{
		func(tx *plant.Tx) { command(tx, 1, "") },
		func(tx *plant.Tx) { command(tx, 2, "") },
		func(tx *plant.Tx) { command(tx, 3, "") },
	}
	wrong := []plant.FaultKind{plant.FaultConflict, plant.FaultBug}
	tests := []struct {
		name  string
		spoil func(*plant.Batch)
		kinds []plant.FaultKind
	}{
		{"a gap in front", func(b *plant.Batch) {
			b.After.Seq++
			for n := range b.Entries {
				b.Entries[n].Seq++
			}
		}, wrong},
		{"a gap between", func(b *plant.Batch) { b.Entries[2].Seq++; b.After.Seq++ }, wrong},
		{"a gap behind", func(b *plant.Batch) { b.After.Seq++ }, wrong},
		{"a seq twice", func(b *plant.Batch) { b.Entries[2].Seq-- }, wrong},
		{"an entry left out", func(b *plant.Batch) { b.Entries = b.Entries[:2] }, wrong},
		{"a seq from before", func(b *plant.Batch) {
			b.Before.Seq--
			b.After.Seq--
			for n := range b.Entries {
				b.Entries[n].Seq--
			}
		}, []plant.FaultKind{plant.FaultConflict}},
		{"another turn", func(b *plant.Batch) { b.Before.Turn--; b.After.Turn-- }, []plant.FaultKind{plant.FaultConflict}},
		{"another generation", func(b *plant.Batch) {
			b.Before.Generation = w.mint.ID(w.now)
			b.After.Generation = b.Before.Generation
		}, []plant.FaultKind{plant.FaultConflict}},
	}
	for _, tt := range tests {
		t.Log(tt.name)
		b := w.prepare(nil, three...)
		b.Entries = slices.Clone(b.Entries)
		tt.spoil(&b)
		w.refuse(b, tt.kinds...)
	}
	before := w.state.Fence()
	c := w.commit(three...)
	if after := w.state.Fence(); after.Seq != before.Seq+3 || after.Turn != before.Turn+1 || c.Entries[0].Seq != before.Seq+1 {
		t.Errorf("three entries lead from %+v to %+v", before, after)
	}
}

func insertOrIgnore(t *testing.T, open Opener) {
	w := newWorld(t, open)
	w.commit(configured(40))
	for _, many := range []int{1, 30} {
		var events []*plant.Event
		var again []plant.Change
		w.commit(func(tx *plant.Tx) {
			for n := range many {
				e, tel := reading(tx, n+1, tx.Now(), 20, term.DiscardNone)
				events = append(events, e)
				again = append(again, plant.Change{Move: "RecordTelemetry", After: &tel}, plant.Change{Move: "RecordEvent", After: e})
			}
		})
		w.commit(func(tx *plant.Tx) {
			for _, e := range events {
				tx.FinishEventIfPending(e, term.EventProcessed)
			}
		})
		// The same readings come once more, together with a new one.
		fresh := *events[0]
		fresh.At = fresh.At.Add(time.Microsecond)
		fresh.ID = term.EventID(plant.DerivedID(fresh.At, "event", "fresh", string(fresh.ID)))
		fresh.Status, fresh.Reason = term.EventDiscarded, term.DiscardOlder
		again = append(again, plant.Change{Move: "RecordEvent", After: &fresh})
		b := w.craft(again...)
		if err := w.store.Commit(w.ctx(), b); err != nil {
			t.Fatalf("events that are stored already: %v", err)
		}
		w.work.Accept(b)
		w.same() // nothing is pending again
		r, ok := w.store.(Reader)
		if !ok {
			continue
		}
		for _, e := range events {
			got, found, err := r.ReadRow(w.ctx(), plant.KindEvent, e.Key())
			if err != nil || !found || got.(*plant.Event).Status != term.EventProcessed || got.Ver() != 2 {
				t.Errorf("event %s reads back as %+v (found %t, error %v)", e.ID, got, found, err)
			}
		}
		if got, found, err := r.ReadRow(w.ctx(), plant.KindEvent, fresh.Key()); err != nil || !found || !reflect.DeepEqual(got, &fresh) {
			t.Errorf("the new event reads back as %+v (found %t, error %v)", got, found, err)
		}
	}
}

func known(t *testing.T, open Opener) {
	w := newWorld(t, open)
	w.commit(configured(3))
	var ended, opened, unsent *plant.Intent
	var key plant.MessageKey
	w.commit(func(tx *plant.Tx) {
		ended = apply(tx, fence(tx, command(tx, 1, "")))
		opened = fence(tx, command(tx, 2, ""))
		unsent = tx.MarkFailed(command(tx, 3, ""), "cancelled")
		key = plant.MessageKey{ID: tx.NewID(), BodyHash: plant.Hash("b"), Outcome: `{"code":"accepted","detail":"ĐÃ"}`}
		tx.RememberKey(key)
	})
	key.At = plant.Micros(w.now)
	tests := []struct {
		name    string
		need    message.Need
		keys    []plant.MessageKey
		intents []*plant.Intent
	}{
		{"nothing", message.Need{}, nil, nil},
		{"a key", message.Need{Keys: []string{key.ID}}, []plant.MessageKey{key}, nil},
		{"an unknown key", message.Need{Keys: []string{w.mint.ID(w.now)}}, nil, nil},
		{"an ended command by its command id", message.Need{Commands: []term.CommandID{ended.CommandID}}, nil, []*plant.Intent{ended}},
		{"an ended command by its id", message.Need{Intents: []term.IntentID{ended.ID}}, nil, []*plant.Intent{ended}},
		{"an ended command that was never sent", message.Need{Intents: []term.IntentID{unsent.ID}}, nil, []*plant.Intent{unsent}},
		{"an open command", message.Need{Commands: []term.CommandID{opened.CommandID}}, nil, []*plant.Intent{opened}},
		{"by both ids, and twice", message.Need{Commands: []term.CommandID{ended.CommandID, ended.CommandID}, Intents: []term.IntentID{ended.ID, ended.ID}}, nil, []*plant.Intent{ended}},
		{"unknown commands", message.Need{Commands: []term.CommandID{"nobody"}, Intents: []term.IntentID{term.IntentID(w.mint.ID(w.now))}}, nil, nil},
		{"all together", message.Need{Keys: []string{key.ID, w.mint.ID(w.now)}, Commands: []term.CommandID{ended.CommandID, opened.CommandID}, Intents: []term.IntentID{unsent.ID}},
			[]plant.MessageKey{key}, []*plant.Intent{ended, opened, unsent}},
	}
	byID := func(a, b *plant.Intent) int { return strings.Compare(string(a.ID), string(b.ID)) }
	for _, tt := range tests {
		k := w.known(tt.need)
		if len(k.Keys) != len(tt.keys) {
			t.Errorf("%s: %d keys, want %d", tt.name, len(k.Keys), len(tt.keys))
		}
		for _, want := range tt.keys {
			if got := k.Keys[want.ID]; got != want {
				t.Errorf("%s: key %+v, want %+v", tt.name, got, want)
			}
		}
		got, want := slices.SortedFunc(slices.Values(k.Intents), byID), slices.SortedFunc(slices.Values(tt.intents), byID)
		if len(got) != len(want) || len(got) > 0 && !reflect.DeepEqual(got, want) {
			t.Errorf("%s: commands\n%+v, want\n%+v", tt.name, got, want)
		}
	}
}

func onlyCounts(t *testing.T, open Opener) {
	w := newWorld(t, open)
	w.commit(configured(1))
	b := w.prepare(nil, func(tx *plant.Tx) { tx.Count("rejected", "malformed") })
	if !w.work.Empty() || len(b.Entries) != 0 || len(b.Changes) != 0 {
		t.Errorf("a turn that only counts would write %+v", b)
	}
	if c := w.work.Counts(); len(c) != 1 || c[0].Name != "rejected" {
		t.Errorf("counts: %v", c)
	}
	w.work.Rollback()
	w.same()
}

// fencedSays calls until the store gives its last word: a handle whose connection was cut by the takeover may
// first have to find that out.
func fencedSays(call func() error) plant.FaultKind {
	var kind plant.FaultKind
	for range 20 {
		err := call()
		if err == nil {
			return -1
		}
		if kind = plant.FaultOf(err); kind != plant.FaultAway && kind != plant.FaultAgain && kind != plant.FaultDoubt {
			return kind
		}
	}
	return kind
}

func fencing(t *testing.T, open Opener) {
	old := newWorld(t, open)
	old.commit(configured(2))
	before := old.state
	fresh := old.next(open)
	if f, g := before.Fence(), fresh.state.Fence(); g.Epoch != f.Epoch+1 || g.Life == f.Life || g.Seq != f.Seq || g.Turn != f.Turn ||
		g.Generation != f.Generation || g.Installation != f.Installation {
		t.Errorf("a second process leads from fence %+v to %+v", f, g)
	}
	b := old.prepare(nil, func(tx *plant.Tx) { command(tx, 1, "") })
	if k := fencedSays(func() error { return old.store.Commit(old.ctx(), b) }); k != plant.FaultFenced {
		t.Errorf("the commit of a forgotten process says %v", k)
	}
	old.work.Rollback()
	if k := fencedSays(func() error { _, err := old.store.Reload(old.ctx()); return err }); k != plant.FaultFenced {
		t.Errorf("the reload of a forgotten process says %v", k)
	}
	fresh.same()
	if len(fresh.state.Intents()) != 0 {
		t.Error("a forgotten process wrote a command")
	}
	fresh.commit(func(tx *plant.Tx) { fence(tx, command(tx, 1, "")) })
	third := fresh.next(open)
	if d := third.state.Fence().Epoch - before.Fence().Epoch; d != 2 {
		t.Errorf("two more processes raise the epoch by %d", d)
	}
	third.same()
}

func stopThenOpen(t *testing.T, open Opener) {
	for _, drained := range []bool{true, false} {
		w := newWorld(t, open)
		w.commit(configured(2))
		w.commit(func(tx *plant.Tx) { fence(tx, command(tx, 1, "")); command(tx, 2, "") })
		if err := w.store.Stop(w.ctx(), drained); err != nil {
			t.Fatalf("stop: %v", err)
		}
		n := w.next(open)
		if !reflect.DeepEqual(n.state.Rows(), w.state.Rows()) {
			t.Error("the next process finds another picture")
		}
		n.same()
		n.commit(func(tx *plant.Tx) { apply(tx, must(tx.State().Holder(fanOn(1)))) })
		n.commit(func(tx *plant.Tx) { tx.MarkFailed(tx.State().Intents()[0], "cancelled") })
		if err := n.store.Stop(n.ctx(), true); err != nil {
			t.Fatalf("stop: %v", err)
		}
	}
}

func settle(t *testing.T, open Opener) {
	w := newWorld(t, open)
	w.commit(configured(2))
	says := func(b plant.Batch, want plant.Settled) {
		t.Helper()
		if got, err := w.store.Settle(w.ctx(), b); err != nil || got != want {
			t.Fatalf("settle says %d (error %v), want %d", got, err, want)
		}
	}
	b := w.prepare(nil, func(tx *plant.Tx) { command(tx, 1, "") })
	says(b, plant.Lost)
	w.accept(b)
	says(b, plant.Stands)
	// A turn without a log row is told by its turn number.
	w.now = w.now.Add(time.Second)
	w.work = w.state.Begin(w.now, w.mint, w.session, nil, nil)
	tx := w.work.Tx()
	observe(tx, 1, 20)
	w.work.Close(tx)
	b = w.work.Batch()
	says(b, plant.Lost)
	w.accept(b)
	says(b, plant.Stands)
}
