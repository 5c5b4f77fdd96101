package read

import (
	"context"
	"errors"
	"strconv"

	entsql "entgo.io/ent/dialect/sql"
	"github.com/jackc/pgx/v5"

	"surehand/ent"
	"surehand/ent/eventlog"
	"surehand/ent/parkedmessage"
	"surehand/internal/dbstate/entpgx"
	"surehand/internal/dbstate/rows"
	"surehand/internal/plant"
	"surehand/internal/term"
)

// ErrReset: the log cannot be followed on from there without a gap. The client must start anew from a
// snapshot.
var ErrReset = errors.New("the event log cannot be continued from there: start again from a snapshot")

// LogAfter lists the log rows after seq of a generation, exact and in order, with the fence that they were
// read under. Rows up to the fence that are not in the answer come with the next call. ErrReset when the
// generation is not the current one, seq is not reached yet, or rows in between are gone.
func (r *Reader) LogAfter(ctx context.Context, generation string, seq int64, limit int) ([]plant.Entry, plant.Fence, error) {
	var entries []plant.Entry
	var now plant.Fence
	// One snapshot, so that no row can be missing below a fence that is shown.
	options := pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
	err := pgx.BeginTxFunc(ctx, r.pool, options, func(tx pgx.Tx) error {
		c := entpgx.Client(tx)
		var err error
		if now, err = fence(ctx, c); err != nil {
			return err
		}
		if now.Generation != generation || seq > now.Seq || seq < 0 {
			return ErrReset
		}
		list, err := c.EventLog.Query().Where(eventlog.IDGT(seq)).Order(eventlog.ByID()).Limit(bounded(limit)).All(ctx)
		if err != nil {
			return err
		}
		for n, e := range list {
			if e.ID != seq+1+int64(n) || e.Generation != generation {
				return ErrReset
			}
			entry, err := rows.Entry(e)
			if err != nil {
				return err
			}
			entries = append(entries, *entry)
		}
		if len(list) == 0 && now.Seq > seq {
			return ErrReset
		}
		return nil
	})
	switch {
	case errors.Is(err, ErrReset), errors.Is(err, ErrNotFound):
		return nil, now, err
	case err != nil:
		return nil, now, found(err)
	}
	return entries, now, nil
}

// LogFilter narrows a list of log rows; empty fields do not.
type LogFilter struct {
	Subject string
	Type    string
	Outcome string
	Actor   string
	Cursor  string
	Limit   int
}

// LogPage lists log rows, newest first.
func (r *Reader) LogPage(ctx context.Context, f LogFilter) (Page[*plant.Entry], error) {
	limit := bounded(f.Limit)
	q := r.client.EventLog.Query().Order(eventlog.ByID(entsql.OrderDesc())).Limit(limit + 1)
	key, more, err := after(f.Cursor)
	if err != nil {
		return Page[*plant.Entry]{}, err
	}
	if more {
		seq, err := strconv.ParseInt(key, 10, 64)
		if err != nil {
			return Page[*plant.Entry]{}, ErrCursor
		}
		q = q.Where(eventlog.IDLT(seq))
	}
	if f.Subject != "" {
		q = q.Where(eventlog.Subject(f.Subject))
	}
	if f.Type != "" {
		q = q.Where(eventlog.Type(f.Type))
	}
	if f.Outcome != "" {
		q = q.Where(eventlog.Outcome(f.Outcome))
	}
	if f.Actor != "" {
		q = q.Where(eventlog.Actor(f.Actor))
	}
	list, err := q.All(ctx)
	return pageOf(list, err, limit, rows.Entry, func(e *ent.EventLog) string { return strconv.FormatInt(e.ID, 10) })
}

// Parked lists messages that could not be decided, newest first.
func (r *Reader) Parked(ctx context.Context, cursor string, limit int) (Page[*plant.Parked], error) {
	limit = bounded(limit)
	// Parked ids are those of the messages, which may not be ordered by time.
	q := r.client.ParkedMessage.Query().Order(parkedmessage.ByAt(entsql.OrderDesc()), parkedmessage.ByID(entsql.OrderDesc())).Limit(limit + 1)
	switch key, more, err := afterUUID(cursor); {
	case err != nil:
		return Page[*plant.Parked]{}, err
	case more:
		last, err := r.client.ParkedMessage.Query().Where(parkedmessage.ID(term.MessageID(key))).Only(ctx)
		if err != nil {
			return Page[*plant.Parked]{}, ErrCursor
		}
		q = q.Where(parkedmessage.Or(parkedmessage.AtLT(last.At),
			parkedmessage.And(parkedmessage.At(last.At), parkedmessage.IDLT(last.ID))))
	}
	list, err := q.All(ctx)
	return pageOf(list, err, limit, rows.Parked, func(e *ent.ParkedMessage) string { return string(e.ID) })
}
