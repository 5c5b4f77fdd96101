package config

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"surehand/internal/message"
	"surehand/internal/term"
)

// maxProblems bounds the answer to a file that is wrong from end to end.
const maxProblems = 100

type nodeKind int

const (
	scalar nodeKind = iota
	mapping
	list
)

// node is one thing of a YAML document, with the line on which it starts.
type node struct {
	kind  nodeKind
	line  int
	text  string // of a scalar
	plain bool   // written without quotes: may be a number, a boolean or nothing
	pairs []pair
	items []*node
}

type pair struct {
	key   string
	line  int
	value *node
}

func (n *node) empty() bool {
	return n == nil || n.kind == scalar && n.plain && (n.text == "" || n.text == "null" || n.text == "~")
}

// form collects what is wrong with a document.
type form struct{ problems []message.Problem }

func (f *form) fault(line int, at, format string, args ...any) {
	if len(f.problems) < maxProblems {
		f.problems = append(f.problems, message.Problem{Pointer: at, Line: line, Detail: fmt.Sprintf(format, args...)})
	}
}

// object is a mapping whose keys are known. Reading a key that is absent gives the zero value.
type object struct {
	f      *form
	at     string // JSON pointer
	line   int
	fields map[string]pair
}

// object reads a mapping; any other key than the known ones is a problem.
func (f *form) object(n *node, at string, known ...string) object {
	o := object{f: f, at: at, fields: map[string]pair{}}
	if n.empty() {
		if n != nil {
			o.line = n.line
		}
		return o
	}
	o.line = n.line
	if n.kind != mapping {
		f.fault(n.line, at, "must be a mapping with the keys %s", strings.Join(known, ", "))
		return o
	}
	for _, p := range n.pairs {
		_, twice := o.fields[p.key]
		switch {
		case !slices.Contains(known, p.key):
			f.fault(p.line, at+"/"+escape(p.key), "is no key here; known are %s", strings.Join(known, ", "))
		case twice:
			f.fault(p.line, at+"/"+escape(p.key), "stands twice")
		default:
			o.fields[p.key] = p
		}
	}
	return o
}

// escape makes a key a part of a JSON pointer.
func escape(key string) string { return strings.NewReplacer("~", "~0", "/", "~1").Replace(key) }

func (o object) has(key string) bool { p, ok := o.fields[key]; return ok && !p.value.empty() }

func (o object) fault(key, format string, args ...any) {
	line := o.line
	if p, ok := o.fields[key]; ok {
		line = p.line
	}
	o.f.fault(line, o.at+"/"+key, format, args...)
}

// scalar returns the node of a key, nil when it is absent or no single value.
func (o object) scalar(key, want string) *node {
	p, ok := o.fields[key]
	if !ok || p.value.empty() {
		return nil
	}
	if p.value.kind != scalar {
		o.fault(key, "must be %s", want)
		return nil
	}
	return p.value
}

// text takes what is written as it is written, bare numbers too: an id 0123 stays 0123.
func (o object) text(key string) string {
	n := o.scalar(key, "text")
	switch {
	case n == nil:
		return ""
	case strings.ContainsRune(n.text, 0):
		o.fault(key, "has a NUL character")
	case len(n.text) > term.MaxTextBytes:
		o.fault(key, "has %d bytes; at most %d are allowed", len(n.text), term.MaxTextBytes)
	default:
		return n.text
	}
	return ""
}

// required is text that must be there.
func (o object) required(key string) string {
	before := len(o.f.problems)
	s := o.text(key)
	if s == "" && len(o.f.problems) == before {
		o.fault(key, "is missing")
	}
	return s
}

// word is text out of a list; absent: empty.
func (o object) word(key string, known []string) string {
	s := o.text(key)
	if s != "" && !slices.Contains(known, s) {
		o.fault(key, "%q is none of %s", s, strings.Join(known, ", "))
		return ""
	}
	return s
}

func (o object) bool(key string) *bool {
	n := o.scalar(key, "true or false")
	if n == nil {
		return nil
	}
	if n.plain && (n.text == "true" || n.text == "false") {
		b := n.text == "true"
		return &b
	}
	o.fault(key, "must be true or false, not %q", n.text)
	return nil
}

func (o object) number(key string) *float64 {
	n := o.scalar(key, "a number")
	if n == nil {
		return nil
	}
	if v, err := term.ParseValue(n.text); err == nil && n.plain {
		if f, ok := v.AsNumber(); ok && !math.IsInf(f, 0) {
			f += 0 // -0 becomes 0
			return &f
		}
	}
	o.fault(key, "must be a number such as 28 or 0.5, not %q", n.text)
	return nil
}

func (o object) int(key string) int {
	n := o.scalar(key, "a whole number")
	if n == nil {
		return 0
	}
	i, err := strconv.ParseInt(n.text, 10, 32)
	if err != nil || !n.plain || i < 0 {
		o.fault(key, "must be a whole number that is not negative, not %q", n.text)
		return 0
	}
	return int(i)
}

func (o object) duration(key string) term.Duration {
	n := o.scalar(key, "a duration such as 5s")
	if n == nil {
		return 0
	}
	return o.asDuration(key, n)
}

func (o object) asDuration(key string, n *node) term.Duration {
	d, err := time.ParseDuration(n.text)
	switch {
	case n.kind != scalar || err != nil:
		o.fault(key, "must be a duration with its unit, such as 500ms, 5s or 1m30s, not %q", n.text)
		return 0
	case d < 0:
		o.fault(key, "must not be negative")
		return 0
	}
	return term.Duration(d)
}

// list returns the items of a key.
func (o object) list(key string) []*node {
	p, ok := o.fields[key]
	if !ok || p.value.empty() {
		return nil
	}
	if p.value.kind != list {
		o.fault(key, "must be a list")
		return nil
	}
	return p.value.items
}

func (o object) object(key string, known ...string) object {
	return o.f.object(o.fields[key].value, o.at+"/"+key, known...)
}

// value reads a typed scalar: a bare true, false or number is one, everything else is text.
func (o object) value(key string) term.Value {
	n := o.scalar(key, "one value")
	if n == nil {
		return term.Value{}
	}
	return o.asValue(key, n)
}

func (o object) values(key string) []term.Value {
	var out []term.Value
	for _, n := range o.list(key) {
		if n.kind != scalar || n.empty() {
			o.fault(key, "must be a list of single values")
			return nil
		}
		out = append(out, o.asValue(key, n))
	}
	return out
}

func (o object) asValue(key string, n *node) term.Value {
	switch {
	case !n.plain:
		return o.asText(key, n.text)
	case ambiguous(n.text):
		o.fault(key, "bare %s may mean a boolean or a text: write true or false, or put it in quotes", n.text)
		return term.Value{}
	case numberLike(n.text):
		v, err := term.ParseValue(n.text)
		if _, ok := v.AsNumber(); err != nil || !ok {
			o.fault(key, "%s is no number that can be stored; write it as 28 or 28.5, or in quotes as text", n.text)
			return term.Value{}
		}
		return v
	case n.text == "true" || n.text == "false":
		return term.Bool(n.text == "true")
	}
	return o.asText(key, n.text)
}

func (o object) asText(key, s string) term.Value {
	if len(s) > term.MaxTextBytes || strings.ContainsRune(s, 0) {
		o.fault(key, "text has a NUL character or more than %d bytes", term.MaxTextBytes)
		return term.Value{}
	}
	return term.Text(s)
}

// ambiguous: YAML 1.1 takes these for booleans, YAML 1.2 for text; nobody should have to know.
func ambiguous(s string) bool {
	switch strings.ToLower(s) {
	case "on", "off", "yes", "no", "y", "n":
		return true
	case "true", "false":
		return s != "true" && s != "false"
	}
	return false
}

// numberLike: a person who writes this without quotes means a number.
func numberLike(s string) bool {
	t := strings.TrimLeft(s, "+-")
	switch strings.ToLower(t) {
	case ".inf", ".nan":
		return true
	}
	t = strings.TrimPrefix(t, ".")
	if t == "" || t[0] < '0' || t[0] > '9' {
		return false
	}
	if _, err := strconv.ParseFloat(strings.ReplaceAll(s, "_", ""), 64); err == nil {
		return true
	}
	_, err := strconv.ParseInt(strings.ReplaceAll(s, "_", ""), 0, 64)
	return err == nil
}
