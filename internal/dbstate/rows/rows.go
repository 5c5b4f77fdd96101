// Package rows maps each row kind of package plant to its table and back: one function that fills an ent
// mutation from a row, used by inserts and updates alike, and one that makes the row from what was read.
//
// Three rules hold for every kind. An empty string, a zero time and a nil list are NULL where the column
// allows it, so that a row read back equals the row written, down to nil against empty lists. Times pass
// through plant.Micros in both directions. Values and documents are stored as the text that term prints.
//
// It must never decide anything: whether a row is lawful is said by plant and by the schema.
package rows

import (
	"encoding/json"
	"fmt"
	"time"

	"surehand/internal/plant"
	"surehand/internal/term"
)

// put sets an optional column, or clears it when the row's field is its zero value.
func put[T comparable](v T, set func(T), clear func()) {
	var zero T
	if v == zero {
		clear()
		return
	}
	set(v)
}

func putTime(t time.Time, set func(time.Time), clear func()) {
	if t.IsZero() {
		clear()
		return
	}
	set(plant.Micros(t))
}

func putList[T any](l []T, set func(string), clear func()) {
	if l == nil {
		clear()
		return
	}
	set(term.JSON(l))
}

func get[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}

func getTime(p *time.Time) time.Time {
	if p == nil {
		return time.Time{}
	}
	return plant.Micros(*p)
}

// parser reads stored texts and keeps the first fault, which names the row.
type parser struct {
	kind plant.Kind
	key  string
	err  error
}

func (p *parser) fail(column string, err error) {
	if p.err == nil {
		p.err = fmt.Errorf("%s %s: column %s cannot be read: %w; the row was changed by something other than surehand", p.kind, p.key, column, err)
	}
}

func (p *parser) value(column, text string) term.Value {
	v, err := term.ParseValue(text)
	if err != nil {
		p.fail(column, err)
	}
	return v
}

func document[T any](p *parser, column, text string) T {
	var v T
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		p.fail(column, err)
	}
	return v
}

func list[T any](p *parser, column string, text *string) []T {
	if text == nil {
		return nil
	}
	return document[[]T](p, column, *text)
}

// List is the stored form of a list: empty for nil, which is NULL.
func List[T any](l []T) string {
	if l == nil {
		return ""
	}
	return term.JSON(l)
}

// Value is the stored form of an optional value: empty for no value, which is NULL.
func Value(v term.Value) string {
	if v.IsZero() {
		return ""
	}
	return v.String()
}
