package api

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// ofResults are refusals of what drivers say, which no request can meet.
var ofResults = []string{"stale"}

// TestEveryRefusalIsDescribed reads the codes of 409 where they are made: a client branches on them.
func TestEveryRefusalIsDescribed(t *testing.T) {
	described := map[string]bool{}
	for _, r := range posts {
		for _, code := range strings.Fields(r.refusals) {
			described[code] = false
		}
	}
	for _, folder := range []string{"../internal/production", "../internal/recovery"} {
		files, err := filepath.Glob(filepath.Join(folder, "*.go"))
		require.NoError(t, err)
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
			require.NoError(t, err)
			ast.Inspect(parsed, func(n ast.Node) bool {
				code, ok := refusal(n)
				if ok && !slices.Contains(ofResults, code) {
					require.Contains(t, described, code, "%s refuses with a code that no operation of openapi.json names (document_posts_test.go)", file)
					described[code] = true
				}
				return true
			})
		}
	}
	for code, made := range described {
		if strings.HasPrefix(code, "device_") || strings.HasPrefix(code, "endpoint_") || slices.Contains([]string{"invalid_binding", "queue_full", "left_already", "not_uncertain"}, code) {
			continue // of package automation: gates, which package term lists, and two of its own
		}
		require.True(t, made, "nothing refuses with %s", code)
	}
}

// refusal is the code of a call such as refused(subject, "paused", …).
func refusal(n ast.Node) (string, bool) {
	call, ok := n.(*ast.CallExpr)
	if !ok || len(call.Args) < 3 {
		return "", false
	}
	if name, ok := call.Fun.(*ast.Ident); !ok || name.Name != "refused" && name.Name != "refuse" {
		return "", false
	}
	literal, ok := call.Args[1].(*ast.BasicLit)
	if !ok {
		return "", false
	}
	code, err := strconv.Unquote(literal.Value)
	return code, err == nil
}
