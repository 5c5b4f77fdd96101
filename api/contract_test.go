package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/go-chi/chi/v5"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// contract is openapi.json as a client reads it: nothing here knows how it was made.
type contract struct {
	document   map[string]any
	operations *chi.Mux // of the document, not of the server
	compiler   *jsonschema.Compiler

	mu       sync.Mutex
	compiled map[string]*jsonschema.Schema
	seen     map[string]map[string]bool // statuses by "GET /path"
	late     []string                   // faults of requests that outlived their test
}

const documentURL = "surehand:openapi.json"

// theContract is read once: it has no state but what was seen, which is of the whole test run.
var theContract = sync.OnceValue(func() *contract {
	parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader(openapi))
	if err != nil {
		panic(err)
	}
	c := &contract{document: parsed.(map[string]any), operations: chi.NewRouter(), compiler: jsonschema.NewCompiler(), compiled: map[string]*jsonschema.Schema{}, seen: map[string]map[string]bool{}}
	closeObjects(c.document)
	c.compiler.DefaultDraft(jsonschema.Draft2020)
	c.compiler.AssertFormat()
	if err := c.compiler.AddResource(documentURL, c.document); err != nil {
		panic(err)
	}
	for path, methods := range object(c.document["paths"]) {
		for method := range object(methods) {
			c.operations.MethodFunc(strings.ToUpper(method), path, func(http.ResponseWriter, *http.Request) {})
		}
	}
	return c
})

// closeObjects lets a field that is not described be a fault. Clients have to be ready for new ones; we are not.
func closeObjects(node any) {
	switch n := node.(type) {
	case map[string]any:
		if _, open := n["additionalProperties"]; n["type"] == "object" && n["properties"] != nil && !open {
			n["additionalProperties"] = false
		}
		for _, child := range n {
			closeObjects(child)
		}
	case []any:
		for _, child := range n {
			closeObjects(child)
		}
	}
}

func object(node any) map[string]any { m, _ := node.(map[string]any); return m }

// resolved follows a reference within the document, and says where it leads.
func (c *contract) resolved(node any, at string) (map[string]any, string) {
	n := object(node)
	ref, ok := n["$ref"].(string)
	if !ok {
		return n, at
	}
	found := any(c.document)
	for part := range strings.SplitSeq(strings.TrimPrefix(ref, "#/"), "/") {
		found = object(found)[part]
	}
	return object(found), ref
}

// valid checks a value against the schema at a place of the document.
func (c *contract) valid(at string, value any) error {
	c.mu.Lock()
	s := c.compiled[at]
	if s == nil {
		var err error
		if s, err = c.compiler.Compile(documentURL + at); err != nil {
			c.mu.Unlock()
			return err
		}
		c.compiled[at] = s
	}
	c.mu.Unlock()
	return s.Validate(value)
}

func (c *contract) validJSON(at string, text []byte) error {
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return err
	}
	return c.valid(at, value)
}

func pointed(parts ...string) string {
	at := "#"
	for _, p := range parts {
		at += "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(p)
	}
	return at
}

// checked is a handler whose every request and answer is held against the document.
type checked struct {
	*contract
	t    *testing.T
	next http.Handler

	mu     sync.Mutex
	ended  bool
	faults int
}

// maxFaults are told of one test: under load they are all alike.
const maxFaults = 20

// Checked holds a handler against the document for the length of a test.
func Checked(t *testing.T, next http.Handler) http.Handler {
	c := &checked{contract: theContract(), t: t, next: next}
	t.Cleanup(func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.ended = true
	})
	return c
}

// fault fails the test, or the whole run when the test has ended meanwhile.
func (c *checked) fault(r *http.Request, format string, args ...any) {
	said := r.Method + " " + r.URL.RequestURI() + ": " + fmt.Sprintf(format, args...)
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.ended {
		if c.faults++; c.faults <= maxFaults {
			c.t.Error(said)
		}
		return
	}
	c.contract.mu.Lock()
	defer c.contract.mu.Unlock()
	c.late = append(c.late, c.t.Name()+": "+said)
}

func (c *checked) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := &exchange{ResponseWriter: w, checked: c, request: r, status: http.StatusOK}
	copied := *r // the handler may change its own
	if r.Body != nil {
		copied.Body = &heard{r.Body, &x.body}
	}
	x.match()
	c.next.ServeHTTP(x, &copied)
	x.judge()
}

// heard keeps what is read of a body: a body that the handler does not want is not waited for.
type heard struct {
	io.ReadCloser
	into *bytes.Buffer
}

func (h *heard) Read(b []byte) (int, error) {
	n, err := h.ReadCloser.Read(b)
	h.into.Write(b[:n])
	return n, err
}

// exchange is one request with its answer.
type exchange struct {
	http.ResponseWriter
	checked *checked
	request *http.Request

	route     string // of the document; empty: none
	operation map[string]any
	at        string // of the operation in the document
	id        string // of the thing in the path

	body   bytes.Buffer
	status int
	begun  bool
	answer bytes.Buffer
	frames frames
}

func (x *exchange) Unwrap() http.ResponseWriter { return x.ResponseWriter }

func (x *exchange) WriteHeader(status int) {
	if !x.begun {
		x.begun, x.status = true, status
		x.frames.on = x.Header().Get("Content-Type") == "text/event-stream"
	}
	x.ResponseWriter.WriteHeader(status)
}

func (x *exchange) Write(b []byte) (int, error) {
	if !x.begun {
		x.WriteHeader(http.StatusOK)
	}
	if x.frames.on {
		x.frames.take(x, b)
	} else {
		x.answer.Write(b)
	}
	return x.ResponseWriter.Write(b)
}

func (x *exchange) match() {
	ctx, path := chi.NewRouteContext(), x.request.URL.RawPath
	if path == "" {
		path = x.request.URL.Path
	}
	if x.checked.operations.Match(ctx, x.request.Method, path) {
		x.route, x.id = ctx.RoutePattern(), ctx.URLParam("id")
		method := strings.ToLower(x.request.Method)
		x.operation, x.at = object(object(object(x.checked.document["paths"])[x.route])[method]), pointed("paths", x.route, method)
	}
}

func (x *exchange) fault(format string, args ...any) { x.checked.fault(x.request, format, args...) }

// judge holds status, headers, type and body of the answer against the document, and the request against what became
// of it.
func (x *exchange) judge() {
	status := strconv.Itoa(x.status)
	described, at := x.described(status)
	if described == nil {
		x.fault("the document has no answer %s", status)
		return
	}
	x.headers(object(described["headers"]))
	mediaType, _, err := mime.ParseMediaType(x.Header().Get("Content-Type"))
	content := object(described["content"])
	if err != nil || content[mediaType] == nil {
		x.fault("answer %s has type %q, and the document %v", status, x.Header().Get("Content-Type"), slices.Sorted(maps.Keys(content)))
		return
	}
	if strings.HasSuffix(mediaType, "json") {
		if err := x.checked.validJSON(at+strings.TrimPrefix(pointed("content", mediaType, "schema"), "#"), x.answer.Bytes()); err != nil {
			x.fault("answer %s is not as described: %v\n%s", status, err, x.answer.Bytes())
		}
	}
	x.asked()
}

// described is what the document says of an answer. What is at no address is answered by the shared problems.
func (x *exchange) described(status string) (map[string]any, string) {
	if x.operation != nil {
		x.checked.saw(x.request.Method+" "+x.route, status)
		return x.checked.resolved(object(x.operation["responses"])[status], x.at+"/responses/"+status)
	}
	for _, of := range []int{http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusForbidden, http.StatusMisdirectedRequest} {
		if of == x.status {
			x.checked.saw(anywhere, status)
			return x.checked.resolved(map[string]any{"$ref": shared("responses", responseNames[of])}, "")
		}
	}
	return nil, ""
}

// anywhere stands for the addresses that are no routes.
const anywhere = "anywhere"

func (c *contract) saw(route, status string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.seen[route] == nil {
		c.seen[route] = map[string]bool{}
	}
	c.seen[route][status] = true
}

// everywhere are headers that every answer may have; the introduction of the document tells of them.
var everywhere = []string{"Cache-Control", "Content-Type", "Content-Length", "Connection", "Date", "Referrer-Policy", "X-Content-Type-Options", "X-Frame-Options"}

func (x *exchange) headers(described map[string]any) {
	for name := range x.Header() {
		_, ok := described[name]
		if !ok && !slices.Contains(everywhere, name) {
			x.fault("answer %d has header %s, which the document has not", x.status, name)
		}
	}
	for name, of := range described {
		header, at := x.checked.resolved(of, "")
		value := x.Header().Get(name)
		posted := x.status < http.StatusMultipleChoices && (name == keyHeader || name == "Preference-Applied") && !strings.Contains(x.request.URL.RawQuery, "check=true")
		switch {
		case value == "" && (header["required"] == true || posted):
			x.fault("answer %d has no header %s", x.status, name)
		case value != "" && at != "":
			if err := x.checked.valid(at+"/schema", typed(object(header["schema"]), value)); err != nil {
				x.fault("header %s: %v", name, err)
			}
		}
	}
}

// typed reads the text of a parameter or header as its schema wants it.
func typed(s map[string]any, text string) any {
	switch {
	case s["type"] == "array":
		list := []any{}
		for part := range strings.SplitSeq(text, ",") {
			list = append(list, part)
		}
		return list
	case s["type"] == "boolean" && (text == "true" || text == "false"):
		return text == "true"
	case s["type"] == "integer":
		if _, err := strconv.Atoi(text); err == nil {
			return json.Number(text)
		}
	}
	return text
}

// eventNamed is the schema of one event, so that a fault is not told of all the others too.
func (c *contract) eventNamed(name any) string {
	at := shared("schemas", "StreamEvent")
	events, _ := c.resolved(map[string]any{"$ref": at}, "")
	list, _ := events["oneOf"].([]any)
	for i, one := range list {
		if object(object(object(one)["properties"])["event"])["const"] == name {
			return fmt.Sprintf("%s/oneOf/%d", at, i)
		}
	}
	return at
}

// frames checks the events of a stream as they are written.
type frames struct {
	on   bool
	rest []byte
	logs int
}

// maxChecked log rows of one stream are checked: under load they are all alike.
const maxChecked = 50

func (f *frames) take(x *exchange, b []byte) {
	f.rest = append(f.rest, b...)
	for {
		block, rest, whole := bytes.Cut(f.rest, []byte("\n\n"))
		if !whole {
			return
		}
		f.rest = rest
		event := map[string]any{}
		for line := range strings.SplitSeq(string(block), "\n") {
			field, value, _ := strings.Cut(line, ": ")
			event[field] = value
		}
		if event["event"] == "log" {
			if f.logs++; f.logs > maxChecked {
				continue
			}
		}
		text, _ := event["data"].(string)
		data, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
		if event["data"] = data; err == nil {
			err = x.checked.valid(x.checked.eventNamed(event["event"]), event)
		}
		if err != nil {
			x.fault("event is not as described: %v\n%s", err, block)
		}
		x.checked.saw(anywhere, "event "+fmt.Sprint(event["event"]))
	}
}
