package api

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// numbered reads a bound of a schema.
func numbered(s map[string]any, name string) (int64, bool) {
	n, ok := s[name].(json.Number)
	if !ok {
		return 0, false
	}
	v, err := n.Int64()
	return v, err == nil
}

// edges are values at both sides of everything that a schema says, and of other types.
func edges(s map[string]any) []any {
	list := []any{"a b", "", "x", 7, true, []any{}, map[string]any{}, "1h", "ü"}
	if words, ok := s["enum"].([]any); ok {
		list = append(list, words...)
	}
	for _, bound := range []string{"minimum", "maximum"} {
		if v, ok := numbered(s, bound); ok {
			list = append(list, v-1, v, v+1)
		}
	}
	for _, bound := range []string{"minLength", "maxLength"} {
		if v, ok := numbered(s, bound); ok {
			list = append(list, strings.Repeat("x", int(v)), strings.Repeat("x", int(v)+1))
		}
	}
	return append(list, s["examples"], s["default"])
}

// TestBodiesAreTakenAsDescribed sends, for every field of every request, values at both sides of its bounds, and leaves
// each field out. The face of the bench judges: what the document calls a fault must not be taken, nor the other way
// round.
func TestBodiesAreTakenAsDescribed(t *testing.T) {
	b := newBench(t)
	statuses := map[int]int{}
	send := func(r row, body any) {
		text, err := json.Marshal(body)
		require.NoError(t, err)
		statuses[b.ask(http.MethodPost, pathOf(r), string(text)).Code]++
	}
	for _, r := range posts {
		if r.id == "importPlant" { // YAML only
			continue
		}
		s, _ := theContract().resolved(bodySchema(r), "")
		base, _ := r.example.(map[string]any)
		for _, other := range []any{nil, []any{}, "x", 1, map[string]any{}, map[string]any{"nonsense": 1}, map[string]any{"nonsense": true}} {
			send(r, other)
		}
		for name, node := range object(s["properties"]) {
			without := maps.Clone(base)
			delete(without, name)
			send(r, orObject(without))
			field, _ := theContract().resolved(node, "")
			for _, value := range edges(field) {
				if value == nil {
					continue
				}
				changed := orObject(maps.Clone(base))
				changed[name] = value
				send(r, changed)
			}
		}
	}
	require.Greater(t, statuses[http.StatusOK], 100, statuses)
	require.Greater(t, statuses[http.StatusUnprocessableEntity], 100, statuses)
	require.Len(t, statuses, 2, "what is JSON is taken or has a fault that is pointed to")
}

func orObject(m map[string]any) map[string]any {
	if m == nil {
		return map[string]any{}
	}
	return m
}

func bodySchema(r row) any {
	operation := object(object(object(theContract().document["paths"])[r.full()])["post"])
	return object(object(object(operation["requestBody"])["content"])["application/json"])["schema"]
}

// TestNoParameterIsLeftOut compares what a list says that it knows with what is described.
func TestNoParameterIsLeftOut(t *testing.T) {
	b := newBench(t)
	for _, r := range slices.Concat(gets, posts) {
		if r.query == nil && methodOf(r) == http.MethodGet {
			continue // what shows one thing looks at no parameter
		}
		described := []string{}
		for _, p := range r.query {
			if p.Ref != "" {
				p = sharedParameters()[p.Ref[strings.LastIndexByte(p.Ref, '/')+1:]]
			}
			if p.In == "query" {
				described = append(described, p.Name)
			}
		}
		refused := requireProblem(t, b.send(t, r, "?nonsense=1"), http.StatusUnprocessableEntity, "invalid")
		_, known, _ := strings.Cut(refused.Problems[0].Detail, "known are: ")
		require.ElementsMatch(t, described, strings.FieldsFunc(known, func(c rune) bool { return c == ',' || c == ' ' }), r.id)
	}
}

// TestQueriesAreTakenAsDescribed does the same with every parameter of every list.
func TestQueriesAreTakenAsDescribed(t *testing.T) {
	b := newBench(t)
	statuses := map[int]int{}
	for _, r := range gets {
		if r.id == "streamEvents" { // what it takes goes on for ever: TestTopicsNarrowTheStream
			continue
		}
		for _, p := range r.query {
			if p.Ref != "" {
				p = sharedParameters()[p.Ref[strings.LastIndexByte(p.Ref, '/')+1:]]
			}
			s := p.Schema
			values := append([]string{"", "x", "true", "false", "yes", "1", "a,b", "%00", "%FF", "2026-01-31T08:00:00Z", "2026-01-31T08:00:00.5+01:00", "2026-01-31"}, s.Enum...)
			if s.Items != nil {
				values = append(append(values, s.Items.Enum...), strings.Join(s.Items.Enum, ","), s.Items.Enum[0]+",x")
			}
			if s.Maximum != nil {
				values = append(values, "0", "-1", "1.5", fmt.Sprint(s.Maximum), fmt.Sprint(s.Maximum)+"0")
			}
			for _, value := range values {
				statuses[b.ask(http.MethodGet, pathOf(r)+"?"+p.Name+"="+value, "").Code]++
			}
			statuses[b.ask(http.MethodGet, pathOf(r)+"?"+p.Name+"=x&"+p.Name+"=x", "").Code]++
		}
	}
	require.ElementsMatch(t, []int{http.StatusOK, http.StatusUnprocessableEntity}, slices.Collect(maps.Keys(statuses)), "%v", statuses)
}
