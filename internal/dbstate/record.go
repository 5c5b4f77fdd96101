package dbstate

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"

	"entgo.io/ent/dialect"
	"github.com/jackc/pgx/v5"

	"surehand/ent"
	"surehand/internal/dbstate/entpgx"
)

// expect is what one statement of a batch must have changed.
type expect struct {
	what string // for the error: kind, key and move
	rows int64
	// repeats: a row that exists already counts as written (events and telemetry).
	repeats bool
}

// recorder is the driver behind the ent client that writes: it sends nothing, it collects the statements of
// one commit, which then go in one round trip. Rows are counted when the answers come, so ent is told that
// every statement changed one row.
type recorder struct {
	batch   *pgx.Batch
	expects []expect
	next    expect // of the statement that comes
	suffix  string // appended to the statement that comes
}

func newRecorder() (*recorder, *ent.Client) {
	r := &recorder{}
	return r, ent.NewClient(ent.Driver(r))
}

// begin starts the statements of one commit.
func (r *recorder) begin() { r.batch, r.expects = &pgx.Batch{}, r.expects[:0] }

// add queues a hand-written statement.
func (r *recorder) add(e expect, query string, args ...any) {
	r.batch.Queue(query, args...)
	r.expects = append(r.expects, e)
}

func (r *recorder) Exec(_ context.Context, query string, args, v any) error {
	plain, err := entpgx.Plain(args)
	if err != nil {
		return fmt.Errorf("%s: %w", r.next.what, err)
	}
	r.add(r.next, query+r.suffix, plain...)
	if result, ok := v.(*sql.Result); ok {
		*result = driver.RowsAffected(1)
	}
	return nil
}

func (r *recorder) Query(_ context.Context, query string, _, _ any) error {
	return fmt.Errorf("a commit reads nothing: %s", query)
}

func (r *recorder) Tx(context.Context) (dialect.Tx, error) { return dialect.NopTx(r), nil }
func (r *recorder) Close() error                           { return nil }
func (r *recorder) Dialect() string                        { return dialect.Postgres }
