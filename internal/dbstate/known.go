package dbstate

import (
	"context"
	"errors"
	"strings"
	"unicode/utf8"

	"entgo.io/ent/dialect"
	entsql "entgo.io/ent/dialect/sql"
	"github.com/jackc/pgx/v5"

	"surehand/ent"
	"surehand/ent/automationcommandintent"
	"surehand/ent/messagekey"
	"surehand/internal/dbstate/entpgx"
	"surehand/internal/dbstate/rows"
	"surehand/internal/message"
	"surehand/internal/plant"
)

// Known answers what a turn asks before it decides, in one round trip.
func (s *Store) Known(ctx context.Context, need message.Need) (message.Known, error) {
	known := message.Known{Keys: map[string]plant.MessageKey{}}
	if need.Empty() {
		return known, nil
	}
	ctx, cancel := s.trip(ctx, 1)
	defer cancel()
	conn, err := s.open(ctx)
	if err != nil {
		return known, err
	}
	// ent builds its queries and reads their answers in one call. So it runs twice: the first time its
	// statements are only collected, the second time it is given the answers.
	twice := &twoStep{batch: &pgx.Batch{}}
	client := ent.NewClient(ent.Driver(twice))
	if _, err := ask(ctx, client, need); err != nil {
		return known, fault(plant.FaultBug, err)
	}
	twice.answers = conn.SendBatch(ctx, twice.batch)
	found, err := ask(ctx, client, need)
	if err := errors.Join(err, twice.answers.Close()); err != nil {
		return known, s.failed("ask what is known", err)
	}
	for _, k := range found.keys {
		r, err := rows.MessageKey(k)
		if err != nil {
			return known, fault(plant.FaultBug, err)
		}
		known.Keys[r.ID] = *r
	}
	for _, i := range found.intents {
		r, err := rows.Intent(i)
		if err != nil {
			return known, fault(plant.FaultBug, err)
		}
		known.Intents = append(known.Intents, r)
	}
	return known, nil
}

type answers struct {
	keys    []*ent.MessageKey
	intents []*ent.AutomationCommandIntent
}

func ask(ctx context.Context, c *ent.Client, need message.Need) (answers, error) {
	var a answers
	var err error
	a.keys, err = c.MessageKey.Query().Where(func(q *entsql.Selector) { q.Where(anyOf(q.C(messagekey.FieldID), uuids(need.Keys))) }).All(ctx)
	if err != nil {
		return a, err
	}
	a.intents, err = c.AutomationCommandIntent.Query().Where(func(q *entsql.Selector) {
		q.Where(entsql.Or(
			anyOf(q.C(automationcommandintent.FieldID), uuids(need.Intents)),
			anyOf(q.C(automationcommandintent.FieldCommandID), storable(need.Commands)),
		))
	}).All(ctx)
	return a, err
}

// anyOf is one parameter whatever the number of ids, so that the statement is planned once.
func anyOf(column string, ids []string) *entsql.Predicate {
	return entsql.P(func(b *entsql.Builder) {
		b.Ident(column).WriteString(" = ANY (").Arg(ids).WriteByte(')')
	})
}

// uuids leaves out what is no UUID: nothing is stored under it, and the server would refuse the question.
func uuids[S ~string](ids []S) []string {
	kept := make([]string, 0, len(ids))
	for _, id := range ids {
		if isUUID(string(id)) {
			kept = append(kept, string(id))
		}
	}
	return kept
}

func isUUID(s string) bool {
	if len(s) != 36 {
		return false
	}
	for i := range len(s) {
		c := s[i]
		dash := i == 8 || i == 13 || i == 18 || i == 23
		digit := c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
		if dash != (c == '-') || !dash && !digit {
			return false
		}
	}
	return true
}

// storable leaves out texts that no column can hold; command ids come from devices.
func storable[S ~string](ids []S) []string {
	kept := make([]string, 0, len(ids))
	for _, id := range ids {
		if s := string(id); utf8.ValidString(s) && !strings.ContainsRune(s, 0) {
			kept = append(kept, s)
		}
	}
	return kept
}

// twoStep is the driver of Known.
type twoStep struct {
	entpgx.Driver
	batch   *pgx.Batch
	answers pgx.BatchResults // nil: still collecting
}

func (t *twoStep) Query(_ context.Context, query string, args, v any) error {
	if t.answers == nil {
		plain, err := entpgx.Plain(args)
		if err != nil {
			return err
		}
		t.batch.Queue(query, plain...)
		entpgx.Fill(v, nil)
		return nil
	}
	found, err := t.answers.Query()
	if err != nil {
		return err
	}
	entpgx.Fill(v, found)
	return nil
}

func (t *twoStep) Tx(context.Context) (dialect.Tx, error) { return dialect.NopTx(t), nil }
