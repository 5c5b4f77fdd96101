package loop

import (
	"context"
	"time"

	"surehand/internal/message"
	"surehand/internal/plant"
)

// Store is the truth. Every method may wait for the database; none may wait longer than its context.
type Store interface {
	// Open takes the interlock, starts a new epoch under the given life id and returns the picture. It is
	// called once, before any connection to a broker or machine is opened.
	Open(ctx context.Context, life string) (*plant.State, error)
	// Reload returns a fresh picture for the current epoch. It fails with FaultFenced when another process
	// life owns the database, and with FaultDoubt when the database is behind what this life committed.
	Reload(ctx context.Context) (*plant.State, error)
	// Known answers what a turn asks before it decides, in one read.
	Known(ctx context.Context, need message.Need) (message.Known, error)
	// Commit writes one batch in one transaction, conditional on the batch's Before fence. nil means it is
	// committed. Any other outcome is a *plant.Fault.
	Commit(ctx context.Context, b plant.Batch) error
	// Settle finds out whether a batch whose commit is in doubt was committed. It returns only when that can
	// no longer change.
	Settle(ctx context.Context, b plant.Batch) (plant.Settled, error)
	// NewGeneration starts a new generation after TimeTravel, under our epoch, and returns the picture.
	NewGeneration(ctx context.Context) (*plant.State, error)
	// Stop writes that this life ended cleanly and lets the interlock go.
	Stop(ctx context.Context, drained bool) error
}

// Hands carries actions out. Start never waits: the loop has reserved room before the fence.
type Hands interface{ Start(plant.Action) }

// Feed shows what was committed. Show never waits.
type Feed interface{ Show(plant.Committed) }

// Clock is the loop's only source of time.
type Clock interface {
	Now() time.Time
	// After is a channel that delivers once when d has passed; stop gives it up.
	After(d time.Duration) (c <-chan time.Time, stop func())
}
