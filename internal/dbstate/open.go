package dbstate

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"surehand/internal/dbstate/migrate"
	"surehand/internal/plant"
	"surehand/internal/term"
)

// Previous is how the process life before this one ended.
type Previous struct {
	Epoch          int64 // 0: there was none
	StartedAt      time.Time
	StoppedCleanly bool
	Drained        bool // its inbound sessions had been worked off
}

// Previous tells how the life before ended; known after Open.
func (s *Store) Previous() Previous { return s.previous }

// Open takes the interlock, starts a new epoch under the given life id and returns the picture. Called
// again after a failure it starts one more epoch, which harms nothing.
func (s *Store) Open(ctx context.Context, life string) (*plant.State, error) {
	ctx, cancel := s.trip(ctx, 6)
	defer cancel()
	conn, err := s.open(ctx)
	if err != nil {
		return nil, err
	}
	if err := migrate.CheckConn(ctx, conn); err != nil {
		var wrong *migrate.VersionError
		if errors.As(err, &wrong) {
			return nil, fault(plant.FaultRefused, err)
		}
		return nil, s.failed("check the schema", err)
	}
	if err := s.takeInterlock(ctx, conn, s.options.Takeover, startLooks); err != nil {
		return nil, err
	}
	fence, previous, err := s.startEpoch(ctx, conn, life)
	if err != nil {
		return nil, err
	}
	s.life, s.epoch, s.previous, s.fence = life, fence.Epoch, previous, fence
	s.server = s.identify(ctx, conn)
	return s.load(ctx, conn)
}

const fenceColumns = "installation::text, generation::text, seq, turn, epoch, life::text"

func scanFence(row pgx.Row, more ...any) (plant.Fence, error) {
	var f plant.Fence
	err := row.Scan(append([]any{&f.Installation, &f.Generation, &f.Seq, &f.Turn, &f.Epoch, &f.Life}, more...)...)
	return f, err
}

// startEpoch moves the epoch on; the row is made at the very first start.
func (s *Store) startEpoch(ctx context.Context, conn *pgx.Conn, life string) (plant.Fence, Previous, error) {
	var fence plant.Fence
	var previous Previous
	err := pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		old, err := scanFence(tx.QueryRow(ctx, "SELECT "+fenceColumns+", started_at, stopped_cleanly, drained FROM loop_state WHERE id = 1 FOR UPDATE"),
			&previous.StartedAt, &previous.StoppedCleanly, &previous.Drained)
		if errors.Is(err, pgx.ErrNoRows) {
			fence, err = scanFence(tx.QueryRow(ctx, `INSERT INTO loop_state
				(id, installation, generation, seq, turn, epoch, life, stopped_cleanly, drained, started_at)
				VALUES (1, $1, $2, 0, 0, 1, $3, false, false, now()) RETURNING `+fenceColumns,
				uuid.NewString(), uuid.NewString(), life))
			return err
		}
		if err != nil {
			return err
		}
		previous.Epoch, previous.StartedAt = old.Epoch, plant.Micros(previous.StartedAt)
		fence, err = scanFence(tx.QueryRow(ctx, `UPDATE loop_state SET epoch = epoch + 1, life = $1, stopped_cleanly = false,
			drained = false, started_at = now() WHERE id = 1 RETURNING `+fenceColumns, life))
		return err
	})
	if err != nil {
		return fence, previous, s.failed("start a new epoch", err)
	}
	return fence, previous, nil
}

// identify asks which history of which cluster this is. Without the right to read it, only the fence tells
// that a database went back in time.
func (s *Store) identify(ctx context.Context, conn *pgx.Conn) server {
	var v server
	if err := conn.QueryRow(ctx, "SELECT substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8)").Scan(&v.timeline); err != nil {
		s.log.Warn("the server's timeline cannot be read; only the fence tells of a failover", "error", err)
	}
	if err := conn.QueryRow(ctx, "SELECT system_identifier::text FROM pg_control_system()").Scan(&v.system); err != nil {
		s.log.Warn("the server's identity cannot be read; only the fence tells of a restore. Grant pg_monitor to this role", "error", err)
	}
	return v
}

// differs tells whether two sightings are surely not of one history.
func (a server) differs(b server) bool {
	known := func(x, y string) bool { return x != "" && y != "" && x != y }
	return known(a.system, b.system) || known(a.timeline, b.timeline)
}

// Reload returns a fresh picture for the current epoch.
func (s *Store) Reload(ctx context.Context) (*plant.State, error) {
	ctx, cancel := s.trip(ctx, 6)
	defer cancel()
	conn, err := s.open(ctx)
	if err != nil {
		return nil, err
	}
	return s.load(ctx, conn)
}

// NewGeneration starts a new generation after the database went back in time: every id of the stream that
// was handed out before is void. Seq goes on from where the database stands.
func (s *Store) NewGeneration(ctx context.Context) (*plant.State, error) {
	ctx, cancel := s.trip(ctx, 6)
	defer cancel()
	conn, err := s.open(ctx)
	if err != nil {
		return nil, err
	}
	// An older epoch in the row is our own start that was lost; a newer or equal one of another life is not.
	// The hold comes with it, in the same statement: a process that dies next must not forget why.
	hold := plant.TravelledHold(term.HoldID(uuid.NewString()), time.Now())
	fence, err := scanFence(conn.QueryRow(ctx, `WITH begun AS (
			UPDATE loop_state SET generation = $1, epoch = $2, life = $3, stopped_cleanly = false, drained = false
			WHERE id = 1 AND (epoch < $2 OR (epoch = $2 AND life = $3)) RETURNING *
		), held AS (
			INSERT INTO holds (id, version, subject, reason, "by", why, at, is_open)
			SELECT $4::uuid, 1, $5, $6, $7, $8, $9, true FROM begun
			ON CONFLICT (subject, reason) WHERE is_open DO NOTHING
		) SELECT `+fenceColumns+` FROM begun`, uuid.NewString(), s.epoch, s.life,
		string(hold.ID), hold.Subject, string(hold.Reason), hold.By, hold.Why, hold.At))
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, faultf(plant.FaultFenced, "another process life owns this database; end")
	}
	if err != nil {
		return nil, s.failed("start a new generation", err)
	}
	s.fence, s.server = fence, s.identify(ctx, conn)
	s.log.Warn("the database went back in time; a new generation begins", "generation", fence.Generation, "seq", fence.Seq)
	return s.load(ctx, conn)
}

// Stop writes that this life ended cleanly and lets the interlock go.
func (s *Store) Stop(ctx context.Context, drained bool) error {
	ctx, cancel := s.trip(ctx, 2)
	defer cancel()
	conn, err := s.open(ctx)
	if err != nil {
		return err
	}
	tag, err := conn.Exec(ctx, "UPDATE loop_state SET stopped_cleanly = true, drained = $1 WHERE id = 1 AND epoch = $2 AND life = $3",
		drained, s.epoch, s.life)
	if err != nil {
		return s.failed("write that this life ended", err)
	}
	if tag.RowsAffected() != 1 {
		return faultf(plant.FaultFenced, "another process life owns this database; nothing was written")
	}
	if _, err := conn.Exec(ctx, "SELECT pg_advisory_unlock($1)", interlockKey); err != nil {
		s.log.Info("the interlock goes with the connection", "error", err)
	}
	s.drop()
	s.life = ""
	return nil
}

// failed classifies an error outside a commit and gives a dead connection up. Such statements may be sent
// again whatever became of them, so that a lost answer is only "away".
func (s *Store) failed(doing string, err error) error {
	if s.conn != nil && s.conn.IsClosed() {
		s.drop()
	}
	var answer *pgconn.PgError
	if !errors.As(err, &answer) {
		var already *plant.Fault
		if errors.As(err, &already) {
			return err
		}
		return fault(plant.FaultAway, fmt.Errorf("%s: %w", doing, err))
	}
	return beforeCommit(doing, err)
}
