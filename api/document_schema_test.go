package api

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strings"
	"time"
	"unicode"

	"surehand/internal/message"
	"surehand/internal/term"
)

// schema is a JSON Schema (2020-12), as far as the document uses it.
type schema struct {
	Ref                  string     `json:"$ref,omitempty"`
	Type                 any        `json:"type,omitempty"` // a word, or several
	Description          string     `json:"description,omitempty"`
	Format               string     `json:"format,omitempty"`
	Enum                 []string   `json:"enum,omitempty"`
	Const                any        `json:"const,omitempty"`
	Pattern              string     `json:"pattern,omitempty"`
	MinLength            any        `json:"minLength,omitempty"`
	MaxLength            any        `json:"maxLength,omitempty"`
	Minimum              any        `json:"minimum,omitempty"`
	Maximum              any        `json:"maximum,omitempty"`
	Default              any        `json:"default,omitempty"`
	ContentEncoding      string     `json:"contentEncoding,omitempty"`
	Items                *schema    `json:"items,omitempty"`
	Properties           properties `json:"properties,omitempty"`
	Required             []string   `json:"required,omitempty"`
	AdditionalProperties any        `json:"additionalProperties,omitempty"`
	OneOf                []*schema  `json:"oneOf,omitempty"`
	Examples             []any      `json:"examples,omitempty"`
}

// properties keep the order of the fields of their type.
type (
	properties []property
	property   struct {
		name   string
		schema *schema
	}
)

func (p properties) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, one := range p {
		if i > 0 {
			b.WriteByte(',')
		}
		value, err := json.Marshal(one.schema)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&b, "%q:%s", one.name, value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

const (
	uuidPattern = `^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`
	someName    = `[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}`
	jobPattern  = `^` + someName + `\.[1-9][0-9]{0,4}$`
	// durations are what time.ParseDuration reads and Duration.String writes.
	durationPattern = `^[+-]?(0|([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+$`
)

// uuids are the ids that are not names chosen by people.
var uuids = map[reflect.Type]bool{
	reflect.TypeFor[term.EventID](): true, reflect.TypeFor[term.ExecutionID](): true, reflect.TypeFor[term.IntentID](): true,
	reflect.TypeFor[term.ReceiptID](): true, reflect.TypeFor[term.HoldID](): true, reflect.TypeFor[term.MessageID](): true,
	reflect.TypeFor[term.TaskID](): true, reflect.TypeFor[term.AlarmID](): true, reflect.TypeFor[term.QuestionID](): true,
}

// shownAs are types whose name in Go is not that of the document.
var shownAs = map[reflect.Type]string{
	reflect.TypeFor[message.Problem](): "Fault",
	reflect.TypeFor[posted]():          "Posted",
	reflect.TypeFor[message.Code]():    "OutcomeCode",
}

// scalars are types that are not written as what they are made of.
var scalars = map[reflect.Type]schema{
	reflect.TypeFor[time.Time]():       {Type: "string", Format: "date-time"},
	reflect.TypeFor[term.Duration]():   {Type: "string", Pattern: durationPattern},
	reflect.TypeFor[json.RawMessage](): {},
	reflect.TypeFor[[]byte]():          {Type: "string", ContentEncoding: "base64"},
	reflect.TypeFor[term.Value]():      {Ref: "#/components/schemas/Value"},
}

// reflector makes schemas of Go types as encoding/json writes them. A struct and a vocabulary become a component, and
// what is said of them in the source becomes its description.
type reflector struct {
	comments   comments
	components map[string]*schema
	refine     map[string]func(*schema) // by "Type.field" of the document: what a Go type cannot say
	refined    map[string]bool
	silent     []string // fields that nothing is said of
	used       map[string]bool
}

func (g *reflector) of(t reflect.Type) *schema {
	if s, ok := scalars[t]; ok {
		return &s
	}
	switch t.Kind() {
	case reflect.Pointer:
		return g.of(t.Elem())
	case reflect.Slice:
		return &schema{Type: "array", Items: g.of(t.Elem())}
	case reflect.Map:
		return &schema{Type: "object", AdditionalProperties: g.of(t.Elem())}
	case reflect.Struct:
		return g.component(t, g.object)
	case reflect.String:
		if _, ok := reflect.Zero(t).Interface().(interface{ Values() []string }); ok {
			return g.component(t, g.vocabulary)
		}
		if uuids[t] {
			return &schema{Type: "string", Format: "uuid"}
		}
		return &schema{Type: "string"}
	case reflect.Bool:
		return &schema{Type: "boolean"}
	case reflect.Int:
		return &schema{Type: "integer"}
	case reflect.Int64:
		return &schema{Type: "integer", Format: "int64"}
	case reflect.Uint32:
		return &schema{Type: "integer", Minimum: 0, Maximum: uint32(math.MaxUint32)}
	case reflect.Float64:
		return &schema{Type: "number"}
	}
	panic("no schema for " + t.String())
}

// component puts a type among the shared ones, once, and refers to it.
func (g *reflector) component(t reflect.Type, describe func(reflect.Type) *schema) *schema {
	name := nameOf(t)
	if _, ok := g.components[name]; !ok {
		g.components[name] = nil // a type that has itself as a part ends here
		g.components[name] = describe(t)
	}
	return &schema{Ref: "#/components/schemas/" + name}
}

// nameOf is a type's name in the document: List[surehand/api.Command] is CommandList.
func nameOf(t reflect.Type) string {
	if name, ok := shownAs[t]; ok {
		return name
	}
	name, parameter, generic := strings.Cut(t.Name(), "[")
	if generic {
		parameter = parameter[strings.LastIndexByte(parameter, '.')+1:]
		return strings.TrimSuffix(parameter, "]") + name
	}
	return strings.ToUpper(name[:1]) + name[1:]
}

func (g *reflector) vocabulary(t reflect.Type) *schema {
	s := &schema{Type: "string", Enum: reflect.Zero(t).Interface().(interface{ Values() []string }).Values(), Description: g.comments.of(t, "")}
	for _, word := range s.Enum {
		if meaning := g.comments.words[t.PkgPath()+"."+t.Name()+"="+word]; meaning != "" {
			s.Description += "\n- `" + word + "`: " + meaning
		}
	}
	s.Description = strings.TrimSpace(s.Description)
	return s
}

// object describes a struct with the fields of those that it embeds. Only what is left out when empty is not required.
func (g *reflector) object(t reflect.Type) *schema {
	s := &schema{Type: "object", Description: g.comments.of(t, "")}
	if strings.HasSuffix(t.Name(), "Request") || strings.HasPrefix(t.Name(), "Import") {
		s.AdditionalProperties = false // the decoder refuses a field that it does not know
	}
	g.fields(t, t, s)
	if refine := g.refine[nameOf(t)]; refine != nil {
		g.refined[nameOf(t)] = true
		refine(s)
	}
	return s
}

func (g *reflector) fields(outer, t reflect.Type, into *schema) {
	for i := range t.NumField() {
		f := t.Field(i)
		tag, hasTag := f.Tag.Lookup("json")
		if f.Anonymous && !hasTag {
			g.fields(outer, f.Type, into)
			continue
		}
		if !f.IsExported() {
			continue
		}
		name, options, _ := strings.Cut(tag, ",")
		field := g.of(f.Type)
		key := nameOf(outer) + "." + name
		field.Description = cmp.Or(g.comments.of(t, f.Name), g.said(key), g.said(name))
		if field.Description == "" && field.Ref == "" {
			g.silent = append(g.silent, key)
		}
		if refine := g.refine[key]; refine != nil {
			g.refined[key] = true
			refine(field)
		}
		into.Properties = append(into.Properties, property{name, field})
		if !strings.Contains(options, "omit") {
			into.Required = append(into.Required, name)
		} else if f.Type.Kind() == reflect.Pointer && strings.Contains(options, "omitzero") {
			panic(key + ": a pointer is left out by omitempty")
		}
	}
}

// said looks a field up in the usual words.
func (g *reflector) said(key string) string {
	g.used[key] = true
	return usual[key]
}

// sentence makes a comment a line for people.
func sentence(comment string) string {
	text := strings.Join(strings.Fields(comment), " ")
	for i, r := range text {
		return text[:i] + string(unicode.ToUpper(r)) + text[i+len(string(r)):]
	}
	return ""
}
