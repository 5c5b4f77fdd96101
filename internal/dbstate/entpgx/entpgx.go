// Package entpgx lets ent read on a pgx connection, transaction or pool without database/sql in between: one
// type mapping less, and queries that can share a round trip.
//
// It only reads. What the loop writes goes through the recorder of package dbstate, and nothing else writes.
package entpgx

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"

	"entgo.io/ent/dialect"
	entsql "entgo.io/ent/dialect/sql"
	"github.com/jackc/pgx/v5"

	"surehand/ent"
)

// Querier is what can be read on.
type Querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// Client is an ent client that reads on q.
func Client(q Querier) *ent.Client { return ent.NewClient(ent.Driver(&Driver{q})) }

// Driver is ent's driver on a Querier.
type Driver struct{ On Querier }

func (d *Driver) Query(ctx context.Context, query string, args, v any) error {
	plain, err := Plain(args)
	if err != nil {
		return err
	}
	found, err := d.On.Query(ctx, query, plain...)
	if err != nil {
		return err
	}
	Fill(v, found)
	return nil
}

func (*Driver) Exec(_ context.Context, query string, _, _ any) error {
	return fmt.Errorf("this ent client only reads: %s", query)
}

func (d *Driver) Tx(context.Context) (dialect.Tx, error) { return dialect.NopTx(d), nil }
func (*Driver) Close() error                             { return nil }
func (*Driver) Dialect() string                          { return dialect.Postgres }

// Plain brings ent's arguments, which have the types of package term, into those that pgx encodes for any
// column. A list of texts, for "= ANY", stays one argument.
func Plain(args any) ([]any, error) {
	list, ok := args.([]any)
	if !ok {
		return nil, fmt.Errorf("ent gave arguments of type %T", args)
	}
	plain := make([]any, len(list))
	for i, a := range list {
		if texts, ok := a.([]string); ok {
			plain[i] = texts
			continue
		}
		p, err := driver.DefaultParameterConverter.ConvertValue(a)
		if err != nil {
			return nil, fmt.Errorf("argument %d: %w", i+1, err)
		}
		plain[i] = p
	}
	return plain, nil
}

// Fill hands a result to ent; nil is an empty one.
func Fill(v any, found pgx.Rows) {
	result := v.(*entsql.Rows)
	if found == nil {
		result.ColumnScanner = empty{}
		return
	}
	result.ColumnScanner = scanner{found}
}

type scanner struct{ pgx.Rows }

func (s scanner) Close() error { s.Rows.Close(); return s.Rows.Err() }

func (s scanner) Columns() ([]string, error) {
	fields := s.FieldDescriptions()
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.Name
	}
	return names, nil
}

func (scanner) ColumnTypes() ([]*sql.ColumnType, error) {
	return nil, errors.New("column types are not known outside database/sql")
}

func (scanner) NextResultSet() bool { return false }

type empty struct{ scanner }

func (empty) Next() bool                 { return false }
func (empty) Err() error                 { return nil }
func (empty) Close() error               { return nil }
func (empty) Columns() ([]string, error) { return nil, nil }
