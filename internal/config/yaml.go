package config

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"surehand/internal/message"
)

const (
	maxFileBytes = 1 << 20
	maxDepth     = 32 // of lists and mappings in each other
	maxColumn    = 512
)

// parse reads one YAML document into a tree. A nil tree without a problem is an empty document.
func parse(data []byte) (n *node, problem *message.Problem) {
	defer func() {
		if r := recover(); r != nil { // the library's parser gave up on something it did not expect
			n, problem = nil, fault(0, "this is no YAML that can be read: %v", r)
		}
	}()
	switch {
	case len(data) > maxFileBytes:
		return nil, fault(0, "the file has %d bytes; at most %d are allowed", len(data), maxFileBytes)
	case !utf8.Valid(data):
		return nil, fault(0, "the file is not UTF-8")
	}
	tokens := lexer.Tokenize(string(data))
	if p := screen(tokens); p != nil {
		return nil, p
	}
	file, err := parser.Parse(tokens, 0)
	if err != nil {
		var syntax *yaml.SyntaxError
		if errors.As(err, &syntax) {
			return nil, fault(lineOf(syntax.Token), "%s", syntax.Message)
		}
		return nil, fault(0, "%v", err)
	}
	var root ast.Node
	for _, d := range file.Docs {
		switch {
		case d.Body == nil:
		case root != nil:
			return nil, fault(lineOf(d.Body.GetToken()), "a second document starts here; a file holds one")
		default:
			root = d.Body
		}
	}
	if root == nil {
		return nil, nil
	}
	t := &tree{}
	n = t.node(root, 1)
	if t.problem != nil {
		return nil, t.problem
	}
	return n, nil
}

func fault(line int, format string, args ...any) *message.Problem {
	return &message.Problem{Line: line, Detail: fmt.Sprintf(format, args...)}
}

func lineOf(t *token.Token) int {
	if t == nil || t.Position == nil {
		return 0
	}
	return t.Position.Line
}

// screen looks at the tokens before anything recursive does: a file that nests too deep would exhaust the stack.
func screen(tokens token.Tokens) *message.Problem {
	flow, line, onLine, sinceEntry := 0, 0, 0, 0
	for _, t := range tokens {
		if t.Position != nil && t.Position.Line != line {
			line, onLine = t.Position.Line, 0
		}
		switch t.Type {
		case token.AnchorType, token.AliasType, token.TagType, token.MergeKeyType, token.DirectiveType, token.MappingKeyType:
			return fault(line, "anchors, aliases, tags, merge keys, directives and '?' keys are not supported; write it out")
		case token.MappingStartType, token.SequenceStartType:
			flow++
			sinceEntry = 0
		case token.MappingEndType, token.SequenceEndType:
			flow--
			sinceEntry = 0
		case token.CollectEntryType:
			sinceEntry = 0
		case token.SequenceEntryType, token.MappingValueType:
			if t.Position != nil && t.Type == token.SequenceEntryType && t.Position.Column > maxColumn {
				return fault(line, "indented by more than %d columns", maxColumn)
			}
			onLine++
			sinceEntry++
			if flow == 0 && onLine > maxDepth || flow > 0 && sinceEntry > maxDepth {
				return fault(line, "nested deeper than %d levels", maxDepth)
			}
		}
		if flow > maxDepth {
			return fault(line, "nested deeper than %d levels", maxDepth)
		}
	}
	return nil
}

// tree turns the library's nodes into ours; its first problem ends it.
type tree struct{ problem *message.Problem }

func (t *tree) fail(n ast.Node, format string, args ...any) *node {
	if t.problem == nil {
		t.problem = fault(lineOf(n.GetToken()), format, args...)
	}
	return &node{kind: scalar, plain: true}
}

func (t *tree) node(n ast.Node, depth int) *node {
	if depth > maxDepth {
		return t.fail(n, "nested deeper than %d levels", maxDepth)
	}
	switch n := n.(type) {
	case nil:
		return &node{kind: scalar, plain: true}
	case *ast.MappingNode:
		return t.mapping(n, n.Values, depth)
	case *ast.MappingValueNode:
		return t.mapping(n, []*ast.MappingValueNode{n}, depth)
	case *ast.SequenceNode:
		out := &node{kind: list, line: lineOf(n.GetToken())}
		for _, v := range n.Values {
			item := t.node(v, depth+1)
			if item.line == 0 {
				item.line = out.line
			}
			out.items = append(out.items, item)
		}
		return out
	case *ast.StringNode:
		plain := n.Token.Type != token.SingleQuoteType && n.Token.Type != token.DoubleQuoteType
		return &node{kind: scalar, line: lineOf(n.Token), text: n.Value, plain: plain}
	case *ast.LiteralNode:
		return &node{kind: scalar, line: lineOf(n.Start), text: n.Value.Value}
	case *ast.NullNode, *ast.BoolNode, *ast.IntegerNode, *ast.FloatNode, *ast.InfinityNode, *ast.NanNode:
		tk := n.GetToken()
		text := strings.TrimSpace(tk.Value)
		if n.Type() == ast.NullType {
			text = ""
		}
		return &node{kind: scalar, line: lineOf(tk), text: text, plain: true}
	}
	return t.fail(n, "%s is not supported here", n.Type())
}

func (t *tree) mapping(at ast.Node, values []*ast.MappingValueNode, depth int) *node {
	out := &node{kind: mapping, line: lineOf(at.GetToken())}
	for n, v := range values {
		key := t.node(v.Key, depth+1)
		if key.kind != scalar {
			t.fail(v, "a key must be a word")
		}
		if n == 0 && key.line > 0 {
			out.line = key.line
		}
		value := t.node(v.Value, depth+1)
		if value.line == 0 || value.kind == scalar && value.plain && value.text == "" {
			value.line = key.line
		}
		out.pairs = append(out.pairs, pair{key: key.text, line: key.line, value: value})
	}
	return out
}
