package config

import (
	"bytes"
	"encoding/json"
	"strings"
	"time"

	"surehand/internal/term"
)

// flowWidth is the longest line into which a mapping or list is put in one piece.
const flowWidth = 110

// emit writes a tree as YAML: lists of things in blocks, small things in one line.
func emit(root *node) []byte {
	var b bytes.Buffer
	for n, p := range root.pairs {
		if n > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(key(p.key) + ":\n")
		for _, item := range p.value.items {
			emitItem(&b, item, 2)
		}
	}
	if len(root.pairs) == 0 {
		b.WriteString("{}\n")
	}
	return b.Bytes()
}

// emitItem writes one item of a list, its dash indented by n columns.
func emitItem(b *bytes.Buffer, item *node, n int) {
	b.WriteString(strings.Repeat(" ", n) + "-")
	if one := flow(item); item.kind != mapping || len(item.pairs) == 0 || n+2+len(one) <= flowWidth {
		b.WriteString(" " + one + "\n")
		return
	}
	for i, p := range item.pairs {
		if i > 0 {
			b.WriteString(strings.Repeat(" ", n+1))
		}
		emitPair(b, p, n+2)
	}
}

// emitPair writes a key and its value; the key stands at column n already but for one space.
func emitPair(b *bytes.Buffer, p pair, n int) {
	b.WriteString(" " + key(p.key) + ":")
	one := flow(p.value)
	switch {
	case p.value.kind == scalar || n+len(p.key)+2+len(one) <= flowWidth || len(p.value.items)+len(p.value.pairs) == 0:
		b.WriteString(" " + one + "\n")
	case p.value.kind == list:
		b.WriteByte('\n')
		for _, item := range p.value.items {
			emitItem(b, item, n+2)
		}
	default:
		b.WriteByte('\n')
		for _, q := range p.value.pairs {
			b.WriteString(strings.Repeat(" ", n+1))
			emitPair(b, q, n+2)
		}
	}
}

// flow is a node in one line.
func flow(n *node) string {
	var parts []string
	switch n.kind {
	case list:
		for _, i := range n.items {
			parts = append(parts, flow(i))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case mapping:
		for _, p := range n.pairs {
			parts = append(parts, key(p.key)+": "+flow(p.value))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	}
	if n.plain || plainText(n.text) {
		return n.text
	}
	return quoted(n.text)
}

func key(s string) string {
	if plainText(s) {
		return s
	}
	return quoted(s)
}

// plainText tells whether a text means itself without quotes, to every reader of YAML.
func plainText(s string) bool {
	if s == "" || ambiguous(s) || s == "true" || s == "false" || strings.EqualFold(s, "null") || len(s) > flowWidth {
		return false
	}
	for i, c := range []byte(s) {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z':
		case i > 0 && (c >= '0' && c <= '9' || c == '-' || c == '_' || c == '.' || c == '/'):
		case i > 0 && i < len(s)-1 && c == ' ' && s[i-1] != ' ':
		default:
			return false
		}
	}
	return true
}

// quoted writes a text in double quotes. JSON's escapes are YAML's too.
func quoted(s string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil { // a Go string always encodes
		panic(err)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// durationText is 5m and not 5m0s.
func durationText(d term.Duration) string {
	s := time.Duration(d).String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}
