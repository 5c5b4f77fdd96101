package dbstate

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"surehand/internal/plant"
)

// settleLockMS is how long, in milliseconds, a commit that is still at work may take to end by itself
// before its session is ended.
const settleLockMS = 500

// Settle finds out whether a batch whose commit is in doubt was committed. It holds the fence row while it
// reads it: a commit that is still under way owns that row, so it is waited for and then ended, and what is
// read cannot change any more.
func (s *Store) Settle(ctx context.Context, b plant.Batch) (plant.Settled, error) {
	s.drop() // whatever the old connection still says is of no use
	for {
		answer, err := s.settleOnce(ctx, b)
		var blocked *pgconn.PgError
		switch {
		case err == nil:
			return answer, nil
		case errors.As(err, &blocked) && blocked.Code == "55P03":
			if err := s.endPast(ctx); err != nil {
				return 0, err
			}
		default:
			return 0, err
		}
		if err := ctx.Err(); err != nil {
			return 0, faultf(plant.FaultAway, "settle a commit: %w", err)
		}
	}
}

// settleOnce takes the row lock once and compares.
func (s *Store) settleOnce(ctx context.Context, b plant.Batch) (plant.Settled, error) {
	ctx, cancel := s.trip(ctx, 2)
	defer cancel()
	conn, err := s.open(ctx)
	if err != nil {
		return 0, err
	}
	var found plant.Fence
	err = pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, fmt.Sprintf("SET LOCAL lock_timeout = %d", settleLockMS)); err != nil {
			return err
		}
		found, err = scanFence(tx.QueryRow(ctx, "SELECT "+fenceColumns+" FROM loop_state WHERE id = 1 FOR UPDATE"))
		return err
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return 0, faultf(plant.FaultBug, "the row of loop_state is gone; this database was changed by something other than surehand")
	}
	if err != nil {
		return 0, s.failed("settle a commit", err)
	}
	now := s.identify(ctx, conn)
	settled, err := s.compare(found, now, b)
	if err == nil && settled != plant.TimeTravel {
		s.fence, s.server = found, now
	}
	return settled, err
}

// compare says what a fence row that nobody can change means for a batch.
func (s *Store) compare(found plant.Fence, now server, b plant.Batch) (plant.Settled, error) {
	switch {
	case found.Epoch > b.Before.Epoch, found.Epoch == b.Before.Epoch && found.Life != b.Before.Life:
		return 0, faultf(plant.FaultFenced, "process life %s (epoch %d) owns this database now: end", found.Life, found.Epoch)
	case found == b.After:
		return plant.Stands, nil
	case found == b.Before && !s.server.differs(now):
		return plant.Lost, nil
	}
	s.log.Error("the database is neither before nor after the commit in doubt: commits were lost by a failover or a restore",
		"found", found, "before", b.Before, "after", b.After)
	return plant.TimeTravel, nil
}

// endPast ends our earlier sessions that still live on the server: one of them holds the fence row.
func (s *Store) endPast(ctx context.Context) error {
	ctx, cancel := s.trip(ctx, 2)
	defer cancel()
	conn, err := s.open(ctx)
	if err != nil {
		return err
	}
	for _, b := range s.past {
		if err := endBackend(ctx, conn, b); err != nil {
			return s.failed("end an earlier session of ours", err)
		}
	}
	return wait(ctx, 10*time.Millisecond)
}
