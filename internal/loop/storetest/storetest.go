package storetest

import (
	"context"
	"testing"

	"surehand/internal/loop"
	"surehand/internal/plant"
)

// Opener returns a new handle on the one database of a test, not opened yet. It is called once for each
// process life that the test plays.
type Opener func(t *testing.T) loop.Store

// Reader is optional: a handle that can read back what leaves the picture.
type Reader interface {
	// ReadRow finds one row, open or closed, as its plant row.
	ReadRow(ctx context.Context, kind plant.Kind, key string) (plant.Row, bool, error)
	// ReadLog returns the entries of the current generation after seq, in order.
	ReadLog(ctx context.Context, after int64) ([]plant.Entry, error)
}

// Run runs the suite. open makes a fresh, empty database and returns the Opener of its handles.
func Run(t *testing.T, open func(t *testing.T) Opener) {
	tests := []struct {
		name string
		test func(t *testing.T, fresh func(*testing.T) Opener)
	}{
		{"an empty database opens", on(opensEmpty)},
		{"every kind of row comes back as it was written", on(roundTrip)},
		{"a command is stored in every state of its life", on(everyState)},
		{"a row changed many times in a turn is written once", on(fold)},
		{"a refused message keeps its receipts only", on(refusedKeepsReceipts)},
		{"an update hits only the version and state it was decided on", on(guards)},
		{"a unique law holds against what is stored", on(unique)},
		{"an endpoint is handed over inside one batch, in either order", on(handOver)},
		{"a unique law of the cell holds against what is stored", on(uniqueInCell)},
		{"places pass from part to part inside one batch, in any order", on(passing)},
		{"a part is stored in every state of its life", on(lifeOfAPart)},
		{"a batch is written as a whole or not at all", on(allOrNothing)},
		{"the log is gapless and the fence exact", on(gapless)},
		{"what is stored already of events and readings is ignored", on(insertOrIgnore)},
		{"known keys and commands are found, ended ones too", on(known)},
		{"a turn that only counts has nothing to commit", on(onlyCounts)},
		{"a full turn of mixed messages", on(fullTurn)},
		{"many changes of each kind equal few", bigEqualsSmall},
		{"one stale row spoils a big batch", on(bigGuards)},
		{"a second process fences the first", on(fencing)},
		{"stop, then open", on(stopThenOpen)},
		{"a commit in doubt is settled", on(settle)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { tt.test(t, open) })
	}
}

// on gives a test one fresh database.
func on(test func(*testing.T, Opener)) func(*testing.T, func(*testing.T) Opener) {
	return func(t *testing.T, fresh func(*testing.T) Opener) { test(t, fresh(t)) }
}
