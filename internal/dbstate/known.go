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
	entpallet "surehand/ent/pallet"
	enttask "surehand/ent/task"
	"surehand/internal/dbstate/entpgx"
	"surehand/internal/dbstate/rows"
	"surehand/internal/message"
	"surehand/internal/plant"
	"surehand/internal/term"
)

// Known answers what a turn asks before it decides, in one round trip.
func (s *Store) Known(ctx context.Context, need message.Need) (message.Known, error) {
	known := message.Known{Keys: map[string]plant.MessageKey{}, Ends: map[term.OrderID]message.Ends{}, Pallets: map[term.PalletID]bool{}}
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
	if len(need.Orders) > 0 {
		twice.batch.Queue(countEnds, storable(need.Orders))
	}
	twice.answers = conn.SendBatch(ctx, twice.batch)
	found, err := ask(ctx, client, need)
	if err == nil && len(need.Orders) > 0 {
		err = scanEnds(twice.answers, known.Ends)
	}
	for _, p := range found.pallets {
		known.Pallets[p.ID] = true
	}
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
	for _, t := range found.tasks {
		r, err := rows.Task(t)
		if err != nil {
			return known, fault(plant.FaultBug, err)
		}
		known.Tasks = append(known.Tasks, r)
	}
	return known, nil
}

// countEnds counts the ended parts of orders; an order that exists without any has one row of zeros.
const countEnds = `SELECT o.id, count(*) FILTER (WHERE j.state = 'COMPLETED'), count(*) FILTER (WHERE j.state = 'SCRAPPED'),
	count(*) FILTER (WHERE j.state = 'CANCELLED')
	FROM work_orders o LEFT JOIN jobs j ON j.order_id = o.id WHERE o.id = ANY ($1) GROUP BY o.id`

func scanEnds(answers pgx.BatchResults, into map[term.OrderID]message.Ends) error {
	counted, err := answers.Query()
	if err != nil {
		return err
	}
	var id string
	var n message.Ends
	_, err = pgx.ForEachRow(counted, []any{&id, &n.Completed, &n.Scrapped, &n.Cancelled}, func() error {
		into[term.OrderID(id)] = n
		return nil
	})
	return err
}

type answers struct {
	keys    []*ent.MessageKey
	intents []*ent.AutomationCommandIntent
	tasks   []*ent.Task
	pallets []*ent.Pallet
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
	if err == nil && len(need.Tasks) > 0 { // most turns are about devices alone
		a.tasks, err = c.Task.Query().Where(func(q *entsql.Selector) { q.Where(anyOf(q.C(enttask.FieldID), uuids(need.Tasks))) }).All(ctx)
	}
	if err == nil && len(need.Pallets) > 0 {
		a.pallets, err = c.Pallet.Query().Where(func(q *entsql.Selector) { q.Where(anyOf(q.C(entpallet.FieldID), storable(need.Pallets))) }).All(ctx)
	}
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
