package dbstate

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"surehand/internal/plant"
)

// field is one column of a table, read from many rows at once into one array parameter.
type field[R any] struct {
	name  string
	array string // element type of the parameter
	write string // how the column is made from "u.name"
	fixed bool   // set when the row is made; a change of it is a bug
	get   func([]R) any
	same  func(a, b R) bool
}

// Each maker below names a column and reads it from a row. Optional ones store NULL for the zero value, as
// package rows does; the zero value travels, so that arrays never carry NULL.

func text[R any, S ~string](name string, get func(R) S) field[R] {
	return field[R]{name: name, array: "text", write: "u." + name,
		get: func(rs []R) any {
			a := make([]string, len(rs))
			for i, r := range rs {
				a[i] = string(get(r))
			}
			return a
		},
		same: func(a, b R) bool { return get(a) == get(b) }}
}

func number[R any, N ~int | ~int64](name string, get func(R) N) field[R] {
	return field[R]{name: name, array: "bigint", write: "u." + name,
		get: func(rs []R) any {
			a := make([]int64, len(rs))
			for i, r := range rs {
				a[i] = int64(get(r))
			}
			return a
		},
		same: func(a, b R) bool { return get(a) == get(b) }}
}

func flag[R any](name string, get func(R) bool) field[R] {
	return field[R]{name: name, array: "boolean", write: "u." + name,
		get: func(rs []R) any {
			a := make([]bool, len(rs))
			for i, r := range rs {
				a[i] = get(r)
			}
			return a
		},
		same: func(a, b R) bool { return get(a) == get(b) }}
}

func moment[R any](name string, get func(R) time.Time) field[R] {
	return field[R]{name: name, array: "timestamptz", write: "u." + name,
		get: func(rs []R) any {
			a := make([]time.Time, len(rs))
			for i, r := range rs {
				a[i] = plant.Micros(get(r))
			}
			return a
		},
		same: func(a, b R) bool { return plant.Micros(get(a)).Equal(plant.Micros(get(b))) }}
}

// raw bytes are NULL when nil.
func raw[R any](name string, get func(R) []byte) field[R] {
	return field[R]{name: name, array: "bytea", write: "u." + name,
		get: func(rs []R) any {
			a := make([][]byte, len(rs))
			for i, r := range rs {
				a[i] = get(r)
			}
			return a
		},
		same: func(a, b R) bool { return string(get(a)) == string(get(b)) }}
}

// as stores a text as another type.
func (f field[R]) as(t string) field[R] { f.write += "::" + t; return f }

// optional stores NULL for the zero value.
func (f field[R]) optional() field[R] {
	zero := "''"
	switch f.array {
	case "timestamptz":
		zero = "'0001-01-01 00:00:00+00'"
	case "bigint":
		zero = "0"
	}
	f.write = strings.Replace(f.write, "u."+f.name, "NULLIF(u."+f.name+", "+zero+")", 1)
	return f
}

func (f field[R]) once() field[R] { f.fixed = true; return f }

// table writes many rows of one kind in one statement.
type table[R plant.Row] struct {
	name    string
	key     field[R]
	version field[R]   // absent in tables that are only appended to
	guards  []field[R] // state and place as before; none where the version alone guards
	fields  []field[R] // all columns, key and version included
	insert  string
	update  string
}

// writer is a table of any kind.
type writer interface {
	// unchanged names a column that no move may change but this change does.
	unchanged(c plant.Change) error
	inserts(cs []plant.Change) (string, []any)
	updates(cs []plant.Change) (string, []any)
}

// newTable builds the two statements. An update matches rows by key, version and guards as before.
func newTable[R plant.Row](name string, repeats bool, key, version, guard field[R], fields ...field[R]) *table[R] {
	all := []field[R]{key}
	if version.name != "" {
		all = append(all, version)
	}
	t := &table[R]{name: name, key: key, version: version, fields: append(all, fields...)}
	if guard.name != "" {
		t.guards = append(t.guards, guard)
	}

	var arrays, columns, values, names []string
	for i, f := range t.fields {
		arrays = append(arrays, "$"+strconv.Itoa(i+1)+"::"+f.array+"[]")
		names = append(names, quoted(f.name))
		columns = append(columns, quoted(f.name))
		values = append(values, quotedUse(f))
	}
	t.insert = fmt.Sprintf("INSERT INTO %s (%s) SELECT %s FROM unnest(%s) AS u(%s)",
		name, strings.Join(columns, ", "), strings.Join(values, ", "), strings.Join(arrays, ", "), strings.Join(names, ", "))
	if repeats {
		t.insert += " ON CONFLICT (id) DO NOTHING"
	}
	if version.name != "" {
		t.update = t.updateStatement()
	}
	return t
}

// also guards updates by one more column.
func (t *table[R]) also(guard field[R]) *table[R] {
	t.guards = append(t.guards, guard)
	t.update = t.updateStatement()
	return t
}

func (t *table[R]) updateStatement() string {
	var arrays, names, sets []string
	add := func(array, name string) {
		arrays = append(arrays, "$"+strconv.Itoa(len(arrays)+1)+"::"+array+"[]")
		names = append(names, quoted(name))
	}
	for _, f := range t.written() {
		add(f.array, f.name)
		if f.name != t.key.name {
			sets = append(sets, quoted(f.name)+" = "+quotedUse(f))
		}
	}
	where := "t.id = " + quotedUse(t.key) + " AND t.version = u.version_before"
	add("bigint", "version_before")
	for _, g := range t.guards {
		add(g.array, g.name+"_before")
		column := "t." + quoted(g.name)
		if strings.HasPrefix(g.write, "NULLIF") { // the zero value travels
			column = "coalesce(" + column + ", '')"
		}
		where += " AND " + column + " = u." + quoted(g.name+"_before")
	}
	return fmt.Sprintf("UPDATE %s AS t SET %s FROM unnest(%s) AS u(%s) WHERE %s",
		t.name, strings.Join(sets, ", "), strings.Join(arrays, ", "), strings.Join(names, ", "), where)
}

func quoted(name string) string { return `"` + name + `"` }

func quotedUse[R any](f field[R]) string {
	return strings.Replace(f.write, "u."+f.name, "u."+quoted(f.name), 1)
}

// written lists the key and the columns that an update sets.
func (t *table[R]) written() []field[R] {
	list := []field[R]{t.key}
	for _, f := range t.fields[1:] {
		if !f.fixed {
			list = append(list, f)
		}
	}
	return list
}

func (t *table[R]) unchanged(c plant.Change) error {
	if c.Before == nil {
		return nil
	}
	before, after := c.Before.(R), c.After.(R)
	if t.version.name == "" {
		return fmt.Errorf("%s of %s %s changes a row that is only ever appended", c.Move, after.Kind(), after.Key())
	}
	for _, f := range t.fields {
		if f.fixed && !f.same(before, after) {
			return fmt.Errorf("%s of %s %s changes %s, which no move may change", c.Move, after.Kind(), after.Key(), f.name)
		}
	}
	return nil
}

func (t *table[R]) inserts(cs []plant.Change) (string, []any) {
	after, _ := sides[R](cs)
	return t.insert, collect(t.fields, after)
}

func (t *table[R]) updates(cs []plant.Change) (string, []any) {
	after, before := sides[R](cs)
	args := collect(t.written(), after)
	args = append(args, t.version.get(before))
	for _, g := range t.guards {
		args = append(args, g.get(before))
	}
	return t.update, args
}

func sides[R plant.Row](cs []plant.Change) (after, before []R) {
	after, before = make([]R, len(cs)), make([]R, 0, len(cs))
	for i, c := range cs {
		after[i] = c.After.(R)
		if c.Before != nil {
			before = append(before, c.Before.(R))
		}
	}
	return after, before
}

func collect[R any](fields []field[R], rs []R) []any {
	args := make([]any, len(fields))
	for i, f := range fields {
		args[i] = f.get(rs)
	}
	return args
}
