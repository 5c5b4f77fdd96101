package schema

import (
	"strings"

	"entgo.io/ent"
	"entgo.io/ent/dialect"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/field"
)

// stored sets the PostgreSQL type of a column.
func stored(as string) map[string]string { return map[string]string{dialect.Postgres: as} }

// A key names the row and never changes. Names are text, everything else is a UUID: time-ordered ones keep
// the index flat as the table grows.
func nameKey(goType any) ent.Field {
	return field.String("id").GoType(goType).SchemaType(stored("text")).Immutable()
}

func uuidKey(goType any) ent.Field {
	return field.String("id").GoType(goType).SchemaType(stored("uuid")).Immutable()
}

// version counts writes of the row: half of every guard.
func version() ent.Field { return field.Int64("version") }

// column is what text, uuid and the other makers below share: fixed columns are set when the row is made
// and no move changes them; optional ones are NULL when the row's field is empty or zero.
type column struct{ fixed, optional bool }

var (
	fixed         = column{fixed: true}
	changing      = column{}
	fixedOptional = column{fixed: true, optional: true}
	optional      = column{optional: true}
)

func (c column) text(name string, goType any) ent.Field { return c.string(name, "text", goType) }
func (c column) uuid(name string, goType any) ent.Field { return c.string(name, "uuid", goType) }

func (c column) string(name, as string, goType any) ent.Field {
	b := field.String(name).SchemaType(stored(as))
	if goType != nil {
		b = b.GoType(goType)
	}
	if c.fixed {
		b = b.Immutable()
	}
	if c.optional {
		b = b.Optional().Nillable()
	}
	return b
}

func (c column) enum(name string, goType field.EnumValues) ent.Field {
	b := field.Enum(name).GoType(goType)
	if c.fixed {
		b = b.Immutable()
	}
	if c.optional {
		b = b.Optional().Nillable()
	}
	return b
}

func (c column) time(name string) ent.Field {
	b := field.Time(name)
	if c.fixed {
		b = b.Immutable()
	}
	if c.optional {
		b = b.Optional().Nillable()
	}
	return b
}

func (c column) number(name string) ent.Field {
	b := field.Int(name)
	if c.fixed {
		b = b.Immutable()
	}
	if c.optional {
		b = b.Optional().Nillable()
	}
	return b
}

// document is a structure whose text must come back as it was: a term.Value keeps its type by how its
// number is written (1e+06 is a float, 1000000 an int), and jsonb rewrites numbers. So the column is json,
// and the Go side is the text itself.
func (c column) document(name string) ent.Field { return c.string(name, "json", nil) }

// The structures without values in them may be jsonb, which can be searched.
func (c column) list(name string) ent.Field { return c.string(name, "jsonb", nil) }

// checks makes the constraints of a table from name and condition pairs.
func checks(table string, pairs ...string) schema.Annotation {
	m := make(map[string]string, len(pairs)/2)
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i]] = pairs[i+1]
	}
	return entsql.Annotation{Table: table, Checks: m}
}

// known is the condition that an enum column holds one of its type's values, or NULL when it is optional.
func known(column string, values []string) string {
	return column + " IN " + in(values...)
}

// words is one condition for all columns of a table that hold words: PostgreSQL prepares each constraint at every
// statement.
func words(known ...string) string { return strings.Join(known, " AND ") }

func in(values ...string) string { return "('" + strings.Join(values, "', '") + "')" }
