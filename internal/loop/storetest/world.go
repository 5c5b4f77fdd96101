package storetest

import (
	"context"
	"fmt"
	"reflect"
	"testing"
	"time"

	"surehand/internal/loop"
	"surehand/internal/loop/looptest"
	"surehand/internal/message"
	"surehand/internal/plant"
	"surehand/internal/term"
)

// world is one process life on one database.
type world struct {
	t       *testing.T
	store   loop.Store
	state   *plant.State
	session *plant.Session
	mint    *looptest.Mint
	now     time.Time
	// turn as prepared and not yet committed.
	work *plant.Work
}

type step = func(*plant.Tx)

func newWorld(t *testing.T, open Opener) *world {
	t.Helper()
	w := &world{t: t, store: open(t), session: plant.NewSession(), mint: looptest.NewMint(1),
		now: time.Date(2026, 3, 1, 8, 0, 0, 123456000, time.UTC)}
	w.open()
	return w
}

// next is another process on the same database.
func (w *world) next(open Opener) *world {
	w.t.Helper()
	n := &world{t: w.t, store: open(w.t), session: plant.NewSession(), mint: w.mint, now: w.now.Add(time.Minute)}
	n.open()
	return n
}

func (w *world) open() {
	w.t.Helper()
	s, err := w.store.Open(w.ctx(), w.mint.ID(w.now))
	if err != nil {
		w.t.Fatalf("open: %v", err)
	}
	w.state = s
}

// ctx bounds every call to the store, so that a store that hangs fails its test.
func (w *world) ctx() context.Context {
	ctx, cancel := context.WithTimeout(w.t.Context(), 30*time.Second)
	w.t.Cleanup(cancel)
	return ctx
}

// prepare decides one turn: each step is one message.
func (w *world) prepare(known []*plant.Intent, steps ...step) plant.Batch {
	w.t.Helper()
	w.now = w.now.Add(time.Second)
	w.work = w.state.Begin(w.now, w.mint, w.session, known, nil)
	for _, s := range steps {
		tx := w.work.Tx()
		s(tx)
		w.keep(tx, plant.Entry{Outcome: "accepted"})
	}
	return w.work.Batch()
}

func (w *world) keep(tx *plant.Tx, e plant.Entry) {
	if !tx.Changed() {
		w.work.Close(tx)
		return
	}
	e.MessageID = term.MessageID(w.mint.ID(w.now))
	e.Type, e.Source, e.Actor, e.CorrelationID, e.CausationID = "Test", "person", "mai", "c-1", w.mint.ID(w.now)
	e.CreatedAt, e.Subject = plant.Micros(w.now.Add(-time.Millisecond)), "device:fan-1"
	w.work.Keep(tx, e)
}

// commit decides one turn, commits it and compares.
func (w *world) commit(steps ...step) plant.Committed {
	w.t.Helper()
	return w.accept(w.prepare(nil, steps...))
}

// accept commits a prepared batch and compares the picture and what left it with the store.
func (w *world) accept(b plant.Batch) plant.Committed {
	w.t.Helper()
	if err := w.store.Commit(w.ctx(), b); err != nil {
		w.t.Fatalf("commit: %v", err)
	}
	c, _ := w.work.Accept(b)
	w.same()
	w.sameRows(b)
	return c
}

// refuse commits a batch that must be refused as kind, and checks that nothing of it was written.
func (w *world) refuse(b plant.Batch, kinds ...plant.FaultKind) {
	w.t.Helper()
	err := w.store.Commit(w.ctx(), b)
	if err == nil {
		w.t.Fatalf("the store committed what it must refuse")
	}
	got, ok := plant.FaultOf(err), false
	for _, k := range kinds {
		ok = ok || got == k
	}
	if !ok {
		w.t.Fatalf("the store says %v (%v), want one of %v", got, err, kinds)
	}
	w.work.Rollback()
	w.same()
}

// same: invariant 13, the picture equals a fresh load.
func (w *world) same() {
	w.t.Helper()
	if d := plant.Diff(w.state, w.reload()); d != "" {
		w.t.Fatalf("the picture differs from a fresh load: %s", d)
	}
}

func (w *world) reload() *plant.State {
	w.t.Helper()
	s, err := w.store.Reload(w.ctx())
	if err != nil {
		w.t.Fatalf("reload: %v", err)
	}
	return s
}

func (w *world) sameRows(b plant.Batch) {
	w.t.Helper()
	r, ok := w.store.(Reader)
	if !ok {
		return
	}
	for _, c := range b.Changes {
		got, found, err := r.ReadRow(w.ctx(), c.After.Kind(), c.After.Key())
		if err != nil || !found || !reflect.DeepEqual(got, c.After) {
			w.t.Fatalf("%s %s reads back (found %t, error %v)\n as: %+v\nnot: %+v", c.After.Kind(), c.After.Key(), found, err, got, c.After)
		}
	}
	log, err := r.ReadLog(w.ctx(), b.Before.Seq)
	if err != nil || len(log) != len(b.Entries) || len(log) > 0 && !reflect.DeepEqual(log, b.Entries) {
		w.t.Fatalf("the log reads back (error %v)\n as: %+v\nnot: %+v", err, log, b.Entries)
	}
}

func (w *world) known(n message.Need) message.Known {
	w.t.Helper()
	k, err := w.store.Known(w.ctx(), n)
	if err != nil {
		w.t.Fatalf("known: %v", err)
	}
	return k
}

// intent is the command as the picture or the store has it now.
func (w *world) intent(id term.IntentID) *plant.Intent {
	w.t.Helper()
	if i, ok := w.state.Intent(id); ok {
		return i
	}
	k := w.known(message.Need{Intents: []term.IntentID{id}})
	if len(k.Intents) != 1 {
		w.t.Fatalf("intent %s is not known", id)
	}
	return k.Intents[0]
}

// must is for what the test itself set up.
func must[T any](v T, ok bool) T {
	if !ok {
		panic("storetest: a row that the test wrote is missing from the picture")
	}
	return v
}

func name(kind string, n int) string { return fmt.Sprintf("%s-%d", kind, n) }

func ptr[T any](v T) *T { return &v }
