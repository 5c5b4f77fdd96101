package api

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

const (
	defaultLimit = 100
	maxLimit     = 500
)

// query reads the parameters of a list and keeps the first fault. A parameter that the route does not know, or
// a word that its vocabulary does not have, is a fault: a misspelt filter must not look like an empty list.
type query struct {
	r     *http.Request
	fault error
}

func queryOf(r *http.Request, known ...string) *query {
	return &query{r: r, fault: queryOnly(r, known...)}
}

func queryOnly(r *http.Request, known ...string) error {
	for name, values := range r.URL.Query() {
		if !slices.Contains(known, name) {
			if len(known) == 0 {
				return invalid("?"+name, "there is no such parameter; this address takes none")
			}
			return invalid("?"+name, "there is no such parameter; known are: %s", strings.Join(known, ", "))
		}
		if len(values) > 1 {
			return invalid("?"+name, "give it once")
		}
		if strings.ContainsRune(values[0], 0) || !utf8.ValidString(values[0]) {
			return invalid("?"+name, "this is no text")
		}
	}
	return nil
}

func (q *query) text(name string) string { return q.r.URL.Query().Get(name) }

func (q *query) bad(name, format string, args ...any) {
	if q.fault == nil {
		q.fault = invalid("?"+name, format, args...)
	}
}

func (q *query) limit() int {
	text := q.text("limit")
	if text == "" {
		return defaultLimit
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > maxLimit {
		q.bad("limit", "a whole number from 1 to %d", maxLimit)
	}
	return n
}

func (q *query) flag(name string) bool {
	switch q.text(name) {
	case "", "false":
		return false
	case "true":
		return true
	}
	q.bad(name, "true or false")
	return false
}

func (q *query) time(name string) time.Time {
	text := q.text(name)
	if text == "" {
		return time.Time{}
	}
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		q.bad(name, "a time as in RFC 3339, such as 2026-01-31T08:00:00Z")
	}
	return t.UTC()
}

// word reads a parameter with a closed vocabulary.
func word[W interface {
	~string
	Values() []string
}](q *query, name string) W {
	w := W(q.text(name))
	if w != "" && !slices.Contains(w.Values(), string(w)) {
		q.bad(name, "none of: %s", strings.Join(w.Values(), ", "))
	}
	return w
}

// words reads a comma-separated list out of a closed vocabulary.
func words[W interface {
	~string
	Values() []string
}](q *query, name string) []W {
	text := q.text(name)
	if text == "" {
		return nil
	}
	known := W("").Values()
	var list []W
	for s := range strings.SplitSeq(text, ",") {
		if !slices.Contains(known, s) {
			q.bad(name, "%q is none of: %s", s, strings.Join(known, ", "))
		}
		list = append(list, W(s))
	}
	return list
}
