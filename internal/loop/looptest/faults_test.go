package looptest_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"surehand/internal/loop/looptest"
	"surehand/internal/message"
	"surehand/internal/plant"
)

var start = time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)

// life is one process on a database in memory.
type life struct {
	t     *testing.T
	db    *looptest.Database
	store *looptest.Memory
	state *plant.State
	mint  *looptest.Mint
	now   time.Time
	work  *plant.Work
}

func newLife(t *testing.T, db *looptest.Database, name string) *life {
	t.Helper()
	l := &life{t: t, db: db, store: db.Store(), mint: looptest.NewMint(uint64(len(name))), now: start}
	s, err := l.store.Open(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	l.state = s
	return l
}

// batch decides one turn that stores a key.
func (l *life) batch() (plant.Batch, string) {
	l.now = l.now.Add(time.Second)
	l.work = l.state.Begin(l.now, l.mint, plant.NewSession(), nil, nil)
	tx := l.work.Tx()
	key := l.mint.ID(l.now)
	tx.RememberKey(plant.MessageKey{ID: key, Outcome: "{}"})
	l.work.Keep(tx, plant.Entry{Outcome: "accepted"})
	return l.work.Batch(), key
}

func (l *life) commit() string {
	l.t.Helper()
	b, key := l.batch()
	if err := l.store.Commit(l.t.Context(), b); err != nil {
		l.t.Fatal(err)
	}
	l.work.Accept(b)
	return key
}

func (l *life) knows(key string) bool {
	l.t.Helper()
	k, err := l.store.Known(l.t.Context(), message.Need{Keys: []string{key}})
	if err != nil {
		l.t.Fatal(err)
	}
	return len(k.Keys) == 1
}

func TestFaultsOfACommit(t *testing.T) {
	const ok = plant.FaultKind(-1)
	tests := []struct {
		name    string
		fault   looptest.Fault
		says    plant.FaultKind
		settles plant.Settled
		written bool // after it is settled
	}{
		{"none", looptest.Fault{}, ok, plant.Stands, true},
		{"fail before", looptest.Fault{Mode: looptest.FailBefore}, plant.FaultAway, plant.Lost, false},
		{"fail after", looptest.Fault{Mode: looptest.FailAfter}, plant.FaultDoubt, plant.Stands, true},
		{"fail lost", looptest.Fault{Mode: looptest.FailLost}, plant.FaultDoubt, plant.Lost, false},
		{"again", looptest.Fault{Mode: looptest.Again}, plant.FaultAgain, plant.Lost, false},
		{"conflict", looptest.Fault{Mode: looptest.Conflict}, plant.FaultConflict, plant.Lost, false},
		{"late", looptest.Fault{Mode: looptest.Late}, plant.FaultDoubt, plant.Stands, true},
		{"away for one call", looptest.Fault{Mode: looptest.Away, N: 1}, plant.FaultAway, plant.Lost, false},
		{"stale by nothing", looptest.Fault{Mode: looptest.Stale}, plant.FaultDoubt, plant.Lost, false},
		{"stale by two", looptest.Fault{Mode: looptest.Stale, N: 2}, plant.FaultDoubt, plant.TimeTravel, false},
	}
	for _, how := range []string{"scripted", "drawn"} {
		for _, tt := range tests {
			t.Run(how+" "+tt.name, func(t *testing.T) {
				db := looptest.NewDatabase()
				l := newLife(t, db, "a")
				for range 3 {
					l.commit()
				}
				if how == "scripted" {
					db.Script(tt.fault)
				} else {
					db.Draw(func(plant.Batch) looptest.Fault { return tt.fault })
				}
				b, key := l.batch()
				switch err := l.store.Commit(t.Context(), b); {
				case err == nil && tt.says != ok, err != nil && plant.FaultOf(err) != tt.says:
					t.Fatalf("commit says %v", err)
				}
				db.Heal()
				settled, err := l.store.Settle(t.Context(), b)
				if err != nil || settled != tt.settles || l.knows(key) != tt.written {
					t.Fatalf("settle says %d (error %v), written %t", settled, err, l.knows(key))
				}
				if settled == plant.Lost { // the same decision again
					if err := l.store.Commit(t.Context(), b); err != nil || !l.knows(key) {
						t.Errorf("the second try: %v", err)
					}
				}
				if broken := looptest.Invariants(db); len(broken) > 0 {
					t.Error(broken)
				}
			})
		}
	}
}

func TestAwayLastsForCallsOfAnyKind(t *testing.T) {
	db := looptest.NewDatabase()
	l := newLife(t, db, "a")
	db.Script(looptest.Fault{Mode: looptest.Away, N: 4})
	b, _ := l.batch()
	calls := []func() error{
		func() error { return l.store.Commit(t.Context(), b) },
		func() error { _, err := l.store.Reload(t.Context()); return err },
		func() error { _, err := l.store.Known(t.Context(), message.Need{}); return err },
		func() error { _, err := l.store.Settle(t.Context(), b); return err },
	}
	for n, call := range calls {
		if err := call(); err == nil || plant.FaultOf(err) != plant.FaultAway {
			t.Errorf("call %d: %v", n, err)
		}
	}
	if err := l.store.Commit(t.Context(), b); err != nil {
		t.Errorf("back again: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := l.store.Commit(ctx, b); plant.FaultOf(err) != plant.FaultAway {
		t.Errorf("without time: %v", err)
	}
}

func TestALateCommitNeverLandsBehindAnother(t *testing.T) {
	for _, lands := range []bool{true, false} {
		db := looptest.NewDatabase()
		old := newLife(t, db, "old")
		db.Script(looptest.Fault{Mode: looptest.Late})
		b, key := old.batch()
		if err := old.store.Commit(t.Context(), b); plant.FaultOf(err) != plant.FaultDoubt {
			t.Fatal(err)
		}
		if lands {
			db.Land()
		}
		fresh := newLife(t, db, "fresh")
		db.Land()
		if fresh.knows(key) != lands {
			t.Errorf("landed before the next process opened: %t, its key is known: %t", lands, !lands)
		}
		if _, err := old.store.Settle(t.Context(), b); plant.FaultOf(err) != plant.FaultFenced {
			t.Errorf("a forgotten process settles: %v", err)
		}
		if d := plant.Diff(fresh.state, must(fresh.store.Reload(t.Context()))); d != "" {
			t.Error(d)
		}
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func TestTimeTravel(t *testing.T) {
	db := looptest.NewDatabase()
	l := newLife(t, db, "a")
	var keys []string
	for range 5 {
		keys = append(keys, l.commit())
	}
	before := db.Fence()
	db.Script(looptest.Fault{Mode: looptest.Stale, N: 3})
	b, lost := l.batch()
	if err := l.store.Commit(t.Context(), b); plant.FaultOf(err) != plant.FaultDoubt {
		t.Fatal(err)
	}
	if s, err := l.store.Settle(t.Context(), b); err != nil || s != plant.TimeTravel {
		t.Fatal(s, err)
	}
	for n, k := range append(keys, lost) {
		if l.knows(k) != (n < 2) {
			t.Errorf("key %d after three commits were lost: known %t", n, n >= 2)
		}
	}
	s, err := l.store.NewGeneration(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if f := s.Fence(); f.Generation == before.Generation || f.Seq != 2 || f.Epoch != before.Epoch || f.Life != before.Life {
		t.Errorf("the new generation starts with %+v", f)
	}
	l.state = s
	for range 2 {
		l.commit()
	}
	log := db.Log()
	if len(log) != 4 || log[1].Generation != before.Generation || log[2].Generation == before.Generation || log[3].Seq != 4 || len(db.History()) != 4 {
		t.Errorf("log: %+v", log)
	}
	if broken := looptest.Invariants(db); len(broken) > 0 {
		t.Error(broken)
	}
	// A live process goes back to its own start at most; an operator may go back further.
	db.Script(looptest.Fault{Mode: looptest.Stale, N: 100})
	b, _ = l.batch()
	if err := l.store.Commit(t.Context(), b); plant.FaultOf(err) != plant.FaultDoubt {
		t.Fatal(err)
	}
	if _, err := l.store.Reload(t.Context()); err != nil {
		t.Error(err)
	}
	if n := db.Restore(100); n != 0 || db.Fence().Epoch != 0 || len(db.Rows()) != 0 || len(db.Log()) != 0 {
		t.Errorf("restored to the beginning: %d, %+v", n, db.Fence())
	}
	if _, err := l.store.Reload(t.Context()); plant.FaultOf(err) != plant.FaultFenced {
		t.Errorf("a process of a time that never was: %v", err)
	}
}

func TestClock(t *testing.T) {
	c := looptest.NewClock(start)
	var order []time.Duration
	chans := map[time.Duration]<-chan time.Time{}
	for _, d := range []time.Duration{30, 10, 20, 40} {
		chans[d], _ = c.After(d * time.Second)
	}
	_, stop := c.After(15 * time.Second)
	stop()
	stop() // giving up twice is nothing
	if at, ok := c.Next(); !ok || !at.Equal(start.Add(10*time.Second)) {
		t.Errorf("next: %v", at)
	}
	c.Advance(30 * time.Second)
	for _, d := range []time.Duration{10, 20, 30, 40} {
		select {
		case at := <-chans[d]:
			order = append(order, at.Sub(start)/time.Second)
		default:
		}
	}
	if !slices.Equal(order, []time.Duration{10, 20, 30}) || !c.Now().Equal(start.Add(30*time.Second)) {
		t.Errorf("fired %v, now %v", order, c.Now())
	}
	now, _ := c.After(0)
	<-now
	c.Step(start.Add(-time.Hour)) // a corrected clock fires nothing and shortens no wait
	if at, _ := c.Next(); !at.Equal(start.Add(-time.Hour + 10*time.Second)) {
		t.Errorf("next after a step: %v", at)
	}
	done := make(chan struct{})
	go func() { c.AwaitTimers(2); close(done) }()
	c.After(time.Second)
	<-done
}

func TestMint(t *testing.T) {
	a, b, other := looptest.NewMint(7), looptest.NewMint(7), looptest.NewMint(8)
	seen := map[string]bool{}
	for n := range 1000 {
		at := start.Add(time.Duration(n) * time.Millisecond)
		id := a.ID(at)
		if id != b.ID(at) || id == other.ID(at) || seen[id] || a.Fraction() != b.Fraction() {
			t.Fatalf("draw %d: %s", n, id)
		}
		if len(id) != 36 || id[14] != '7' || id[19] < '8' || id[19] > 'b' || id[:13] != plant.DerivedID(at, "x")[:13] {
			t.Fatalf("%s is no UUIDv7 of %v", id, at)
		}
		seen[id] = true
	}
}
