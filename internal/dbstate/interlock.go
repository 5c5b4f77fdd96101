package dbstate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"surehand/internal/plant"
)

// interlockKey names the advisory lock: "surehand" in ASCII. It is taken per database.
const interlockKey int64 = 0x7375726568616e64

// OccupiedError: another process holds the interlock of this database.
type OccupiedError struct {
	PID         uint32 // of its database session
	Application string
	Address     string // empty: this machine
	Since       time.Time
}

func (e *OccupiedError) Error() string {
	from := ""
	if e.Address != "" {
		from = " from " + e.Address
	}
	return fmt.Sprintf("another surehand already runs on this database: %q%s (database session %d), connected since %s; stop it first, or start with --takeover to end it",
		e.Application, from, e.PID, e.Since.UTC().Format(time.RFC3339))
}

// How long a backend may take to end after it was told to.
const endPatience = 5 * time.Second

// Looks at an interlock that another session holds, before a start is refused: the server may not have
// noticed yet that the process before this one is gone.
const (
	startLooks = 10
	startPause = 100 * time.Millisecond
)

// takeInterlock takes the session lock on conn. Our own lost sessions are ended for it; another process's
// only with takeover. It is looked at more than once when a life starts, and once when one goes on.
func (s *Store) takeInterlock(ctx context.Context, conn *pgx.Conn, takeover bool, looks int) error {
	for range 4 + looks { // a holder is ended in one round; more mean that someone restarts faster than we end it
		var taken bool
		if err := conn.QueryRow(ctx, "SELECT pg_try_advisory_lock($1)", interlockKey).Scan(&taken); err != nil {
			return beforeCommit("take the interlock", err)
		}
		if taken {
			return nil
		}
		holder, since, err := holderOf(ctx, conn)
		switch {
		case errors.Is(err, pgx.ErrNoRows):
			continue // it ended between the two questions
		case err != nil:
			return beforeCommit("ask who holds the interlock", err)
		case slices.Contains(s.past, since):
			s.log.Info("ending our own lost database session", "pid", since.pid)
		case takeover:
			s.log.Warn("taking over: ending the other process's database session", "holder", holder.Application, "pid", since.pid)
			took, err := endAndTake(ctx, conn, since)
			if took || err != nil {
				return err
			}
			continue
		case looks > 1:
			looks--
			if err := wait(ctx, startPause); err != nil {
				return faultf(plant.FaultAway, "take the interlock: %w", err)
			}
			continue
		default:
			return fault(plant.FaultFenced, holder)
		}
		if err := endBackend(ctx, conn, since); err != nil {
			return err
		}
	}
	return faultf(plant.FaultAway, "the interlock of this database is still held after its holder was ended; does something restart the other process?")
}

// endAndTake ends a session and stands in the lock's queue before its process can come back: the lock goes to
// us the moment the session ends, and its process then finds a stranger in possession and ends.
func endAndTake(ctx context.Context, conn *pgx.Conn, b backend) (bool, error) {
	both := &pgx.Batch{}
	both.Queue("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid = $1 AND backend_start = $2", b.pid, b.since)
	both.Queue("SELECT pg_advisory_lock($1)", interlockKey) // lock_timeout of the session bounds the wait
	err := conn.SendBatch(ctx, both).Close()
	var answer *pgconn.PgError
	switch {
	case err == nil:
		return true, nil
	case errors.As(err, &answer) && answer.Code == "55P03":
		return false, nil
	}
	return false, beforeCommit("take the interlock over", err)
}

// holderOf finds the session that holds the interlock.
func holderOf(ctx context.Context, conn *pgx.Conn) (*OccupiedError, backend, error) {
	var e OccupiedError
	err := conn.QueryRow(ctx, `SELECT a.pid, coalesce(a.application_name, ''), coalesce(host(a.client_addr), ''), a.backend_start
		FROM pg_locks l JOIN pg_stat_activity a USING (pid)
		WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 1 AND l.classid = $1::bigint::oid AND l.objid = $2::bigint::oid
		AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
		interlockKey>>32, interlockKey&0xffffffff).Scan(&e.PID, &e.Application, &e.Address, &e.Since)
	return &e, backend{e.PID, e.Since}, err
}

// endBackend ends exactly that session and waits until it is gone.
func endBackend(ctx context.Context, conn *pgx.Conn, b backend) error {
	_, err := conn.Exec(ctx, "SELECT pg_terminate_backend(pid, $3) FROM pg_stat_activity WHERE pid = $1 AND backend_start = $2",
		b.pid, b.since, endPatience.Milliseconds())
	if err != nil {
		return beforeCommit(fmt.Sprintf("end database session %d", b.pid), err)
	}
	return nil
}
