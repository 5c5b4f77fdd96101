package dbstate

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"surehand/ent/loopstate"
	"surehand/internal/plant"
)

// setBasedFrom is the number of changes of one kind from which one statement for all of them is cheaper
// than one each: 15 to 25 µs of PostgreSQL a single-row statement, 10 to 15 µs a row in a set.
const setBasedFrom = 12

// commitAnswer is how long the answer to COMMIT is waited for; after it the commit is in doubt and is settled.
// Syncing a batch takes milliseconds, a bad disk a few seconds.
const commitAnswer = 4 * time.Second

// Commit writes one batch in one transaction: BEGIN and every statement in one round trip, COMMIT in a
// second one, after the rows of the first were counted. Nothing is durable before the second.
func (s *Store) Commit(ctx context.Context, b plant.Batch) error {
	conn, err := s.open(ctx)
	if err != nil {
		return err
	}
	if err := s.record(ctx, b); err != nil {
		return err
	}
	sending, sent := s.trip(ctx, 1)
	defer sent()
	if err := s.send(sending, conn, b); err != nil {
		s.rollback(ctx)
		return err
	}
	// From here on it may have happened, whatever the answer is, and also when none comes in time.
	committing, committed := context.WithTimeout(ctx, commitAnswer)
	defer committed()
	tag, err := conn.Exec(committing, "commit")
	if err != nil {
		s.settleConnection()
		return afterCommit(err)
	}
	if tag.String() != "COMMIT" {
		return faultf(plant.FaultConflict, "the server rolled back instead of committing: nothing is committed")
	}
	s.fence = b.After
	return nil
}

// settleConnection gives a connection up whose transaction is not surely over.
func (s *Store) settleConnection() {
	if s.conn.IsClosed() || s.conn.PgConn().TxStatus() != 'I' {
		s.drop()
	}
}

// record makes the statements of a batch: the fence first, since a batch that does not fit must not wait
// for anything else, then kind by kind, then the log.
func (s *Store) record(ctx context.Context, b plant.Batch) error {
	if err := consecutive(b); err != nil {
		return fault(plant.FaultBug, err)
	}
	r := s.writes
	r.begin()
	r.add(expect{what: "begin"}, "begin")
	r.next, r.suffix = expect{what: fenceStatement, rows: 1}, ""
	err := s.client.LoopState.Update().
		Where(loopstate.ID(1), loopstate.Epoch(b.Before.Epoch), loopstate.Life(b.Before.Life),
			loopstate.Generation(b.Before.Generation), loopstate.Seq(b.Before.Seq), loopstate.Turn(b.Before.Turn)).
		SetSeq(b.After.Seq).SetTurn(b.After.Turn).Exec(ctx)
	if err != nil {
		return fault(plant.FaultBug, err)
	}
	for _, group := range grouped(b.Changes) {
		if err := s.write(ctx, group); err != nil {
			return err
		}
	}
	log := make([]plant.Change, len(b.Entries))
	for i := range b.Entries {
		log[i] = plant.Change{Move: "Log", After: &entry{Entry: b.Entries[i], generation: b.After.Generation}}
	}
	return s.write(ctx, log)
}

// consecutive holds invariant 12 at the door: one turn on, and a seq for every entry without a gap.
func consecutive(b plant.Batch) error {
	next := b.Before
	next.Turn++
	for _, e := range b.Entries {
		next.Seq++
		if e.Seq != next.Seq {
			return fmt.Errorf("log entry %s has seq %d where %d follows (invariant 12)", e.MessageID, e.Seq, next.Seq)
		}
	}
	if next != b.After {
		return fmt.Errorf("a batch with %d entries leads from %+v to %+v (invariant 12)", len(b.Entries), b.Before, b.After)
	}
	return nil
}

const fenceStatement = "the fence"

// write queues changes of one kind and one step: one statement each, or one for all.
func (s *Store) write(ctx context.Context, group []plant.Change) error {
	if len(group) == 0 {
		return nil
	}
	kind := group[0].After.Kind()
	table := tables[kind]
	if table == nil {
		return faultf(plant.FaultBug, "kind %s has no table", kind)
	}
	for _, c := range group {
		if err := table.unchanged(c); err != nil {
			return fault(plant.FaultBug, err)
		}
	}
	insert := group[0].Before == nil
	// A reading and its events have the id of what they say. One that came before, and whose key was not kept
	// because it fired nothing, is the same row again: it counts as written.
	repeats := insert && (kind == plant.KindTelemetry || kind == plant.KindEvent)
	if len(group) >= setBasedFrom {
		e := expect{what: fmt.Sprintf("%d rows of %s", len(group), kind), rows: int64(len(group)), repeats: repeats}
		query, args := table.updates, []any(nil)
		if insert {
			query = table.inserts
		}
		var sql string
		sql, args = query(group)
		s.writes.add(e, sql, args...)
		return nil
	}
	s.writes.suffix = ""
	if repeats {
		s.writes.suffix = " ON CONFLICT (id) DO NOTHING"
	}
	for _, c := range group {
		s.writes.next = expect{what: fmt.Sprintf("%s of %s %s", c.Move, kind, c.After.Key()), rows: 1, repeats: repeats}
		if err := writeEnt(ctx, s.client, c); err != nil {
			return faultf(plant.FaultConflict, "%s: %w", s.writes.next.what, err) // a value the schema refuses
		}
	}
	return nil
}

// grouped sorts changes into statements: by kind in the order of plant.Kinds, and within a kind first what
// lets something go (an endpoint, an open attempt, a hold, the robot), then new rows, then parts and slots that
// change places, one by one, then the rest. Otherwise a unique index would see two holders where one hands over to
// the other.
func grouped(changes []plant.Change) [][]plant.Change {
	by := map[plant.Kind]*[steps][]plant.Change{}
	for _, c := range changes {
		k := c.After.Kind()
		if by[k] == nil {
			by[k] = new([steps][]plant.Change)
		}
		step := stepOf(c)
		by[k][step] = append(by[k][step], c)
	}
	var groups [][]plant.Change
	for _, k := range plant.Kinds() {
		g := by[k]
		if g == nil {
			continue
		}
		groups = append(groups, g[stepLetGo], g[stepCreate])
		for _, c := range leaveBeforeEnter(g[stepMove]) {
			groups = append(groups, []plant.Change{c})
		}
		groups = append(groups, g[stepChange])
	}
	return groups
}

// The steps within a kind.
const (
	stepLetGo = iota
	stepCreate
	stepMove
	stepChange
	steps
)

func stepOf(c plant.Change) int {
	if moves(c) {
		return stepMove
	}
	if c.Before == nil {
		return stepCreate
	}
	before, isIntent := c.Before.(*plant.Intent)
	switch {
	case isIntent && before.HoldsEndpoint && !c.After.(*plant.Intent).HoldsEndpoint,
		!isIntent && c.Before.Open() && !c.After.Open():
		return stepLetGo
	}
	return stepChange
}

// send runs the statements and counts the rows of each.
func (s *Store) send(ctx context.Context, conn *pgx.Conn, b plant.Batch) error {
	answers := conn.SendBatch(ctx, s.writes.batch)
	err := s.count(answers)
	if closed := answers.Close(); closed != nil && err == nil {
		err = beforeCommit("write a batch", closed)
	}
	if errors.Is(err, errFenceMissed) {
		return s.whyMissed(ctx, conn, b)
	}
	return err
}

var errFenceMissed = errors.New("the fence row is not as the batch expects it")

func (s *Store) count(answers pgx.BatchResults) error {
	for _, e := range s.writes.expects {
		tag, err := answers.Exec()
		if err != nil {
			return beforeCommit(e.what, err)
		}
		n := tag.RowsAffected()
		switch {
		case n == e.rows, e.repeats && n < e.rows:
		case e.what == fenceStatement && n == 0:
			return errFenceMissed
		case n < e.rows:
			return faultf(plant.FaultConflict, "%s: %d rows are as the picture says, not %d; the picture is wrong", e.what, n, e.rows)
		default:
			return faultf(plant.FaultBug, "%s changed %d rows instead of %d", e.what, n, e.rows)
		}
	}
	return nil
}

// whyMissed tells a wrong picture from a lost life.
func (s *Store) whyMissed(ctx context.Context, conn *pgx.Conn, b plant.Batch) error {
	if _, err := conn.Exec(ctx, "rollback"); err != nil {
		return beforeCommit("roll back", err)
	}
	f, err := scanFence(conn.QueryRow(ctx, "SELECT "+fenceColumns+" FROM loop_state WHERE id = 1"))
	if errors.Is(err, pgx.ErrNoRows) {
		return faultf(plant.FaultBug, "the row of loop_state is gone; this database was changed by something other than surehand")
	}
	if err != nil {
		return beforeCommit("read the fence", err)
	}
	if err := s.ours(f); err != nil {
		return err
	}
	return faultf(plant.FaultConflict, "the picture stands at seq %d turn %d, the database at seq %d turn %d: reload",
		b.Before.Seq, b.Before.Turn, f.Seq, f.Turn)
}

// rollback ends the transaction of a batch that is not committed. It has its own short time, since the
// caller's may be over; when it fails the connection goes, and with it the transaction.
func (s *Store) rollback(ctx context.Context) {
	if s.conn.IsClosed() {
		s.drop()
		return
	}
	if s.conn.PgConn().TxStatus() == 'I' {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	if _, err := s.conn.Exec(ctx, "rollback"); err != nil {
		s.log.Info("the loop's database connection is given up: its transaction could not be rolled back", "error", err)
		s.drop()
	}
}
