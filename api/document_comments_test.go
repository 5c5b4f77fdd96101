package api

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// comments are what the source says of types, their fields and the words of vocabularies: one place for the reader of
// the code and the reader of the document.
type comments struct {
	types map[string]string // by "package.Type" and "package.Type.Field"
	words map[string]string // by "package.Type=word"
}

// commented are the packages whose types are shown.
var commented = map[string]string{"surehand/api": ".", "surehand/internal/term": "../internal/term", "surehand/internal/plant": "../internal/plant",
	"surehand/internal/message": "../internal/message"}

func readComments(t *testing.T) comments {
	t.Helper()
	c := comments{types: map[string]string{}, words: map[string]string{}}
	for path, folder := range commented {
		files, err := filepath.Glob(filepath.Join(folder, "*.go"))
		require.NoError(t, err)
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
			require.NoError(t, err)
			c.read(path, parsed)
		}
	}
	return c
}

func (c comments) read(path string, file *ast.File) {
	for _, d := range file.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok {
			continue
		}
		for _, spec := range g.Specs {
			switch s := spec.(type) {
			case *ast.TypeSpec:
				doc := s.Doc.Text()
				if doc == "" && len(g.Specs) == 1 && !g.Lparen.IsValid() {
					doc = g.Doc.Text()
				}
				c.readType(path+"."+s.Name.Name, s, doc)
			case *ast.ValueSpec:
				c.readWord(path, s)
			}
		}
	}
}

func (c comments) readType(name string, s *ast.TypeSpec, doc string) {
	c.types[name] = forAuthors.ReplaceAllString(sentence(strings.TrimPrefix(doc, s.Name.Name+":")), "")
	structure, ok := s.Type.(*ast.StructType)
	if !ok {
		return
	}
	for _, f := range structure.Fields.List {
		for _, field := range f.Names {
			said := f.Doc.Text() + " " + f.Comment.Text()
			c.types[name+"."+field.Name] = sentence(strings.TrimPrefix(said, field.Name+":"))
		}
	}
}

// forAuthors is said to who changes a vocabulary, not to who reads it.
var forAuthors = regexp.MustCompile(` ?Each comment answers:[^.]*\.`)

// readWord keeps the comment of a constant of a vocabulary, such as term.OrderDraft.
func (c comments) readWord(path string, s *ast.ValueSpec) {
	kind, ok := s.Type.(*ast.Ident)
	if !ok || len(s.Names) != 1 || len(s.Values) != 1 {
		return
	}
	literal, ok := s.Values[0].(*ast.BasicLit)
	if !ok || literal.Kind != token.STRING {
		return
	}
	word, err := strconv.Unquote(literal.Value)
	if err != nil {
		return
	}
	said := strings.TrimPrefix(s.Doc.Text()+" "+s.Comment.Text(), s.Names[0].Name)
	text := strings.Join(strings.Fields(strings.TrimLeft(said, " :")), " ")
	if strings.HasPrefix(text, "(") { // an ISA-95 word, or that it is an end
		text = strings.Replace(text, "): ", ") ", 1)
	}
	c.words[path+"."+kind.Name+"="+word] = text
}

// of is the comment of a type, or of one of its fields.
func (c comments) of(t reflect.Type, field string) string {
	name, _, _ := strings.Cut(t.Name(), "[")
	key := t.PkgPath() + "." + name
	if field != "" {
		key += "." + field
	}
	return c.types[key]
}
