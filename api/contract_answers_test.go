package api

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/stretchr/testify/require"

	"surehand/internal/message"
)

// TestMain looks, after all tests, for what the document promises and no test has seen: an answer that cannot be had
// is as wrong as one that is not described.
func TestMain(m *testing.M) {
	code := m.Run()
	c := theContract()
	missing := c.late
	whole := true
	for _, name := range []string{"test.run", "test.skip", "test.list"} {
		whole = whole && flag.Lookup(name).Value.String() == ""
	}
	if whole && code == 0 {
		missing = append(missing, c.unseen()...)
	}
	for _, line := range missing {
		fmt.Fprintln(os.Stderr, "openapi.json:", line)
		code = 1
	}
	os.Exit(code)
}

// unseen lists each documented answer and event that no test has had.
func (c *contract) unseen() (missing []string) {
	for path, methods := range object(c.document["paths"]) {
		for method, operation := range object(methods) {
			route := strings.ToUpper(method) + " " + path
			for status := range object(object(operation)["responses"]) {
				if !c.seen[route][status] {
					missing = append(missing, object(operation)["operationId"].(string)+": no test had the answer "+status)
				}
			}
		}
	}
	for _, e := range aboutEvents {
		if !c.seen[anywhere]["event "+e.name] {
			missing = append(missing, "no test saw the event "+e.name)
		}
	}
	for _, status := range []string{"404", "405"} {
		if !c.seen[anywhere][status] {
			missing = append(missing, "no test had "+status+" of an address or a method")
		}
	}
	slices.Sort(missing)
	return missing
}

func TestTheDocumentHasEveryRouteAndNoOther(t *testing.T) {
	b := newBench(t, everything)
	described := map[string]bool{}
	for path, methods := range object(theContract().document["paths"]) {
		for method := range object(methods) {
			described[strings.ToUpper(method)+" "+path] = true
		}
	}
	require.NoError(t, chi.Walk(b.routes, func(method, route string, _ http.Handler, _ ...func(http.Handler) http.Handler) error {
		for prefix := range notDescribed {
			if route == consolePath || strings.HasPrefix(route, prefix) {
				return nil
			}
		}
		require.True(t, described[method+" "+route], "%s %s is not in the document", method, route)
		delete(described, method+" "+route)
		return nil
	}))
	require.Empty(t, described, "these are not there")
}

// everything is a server with all that a server may have.
func everything(o *Options) {
	figures := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4")
		_, _ = io.WriteString(w, "surehand_up 1\n")
	})
	o.Metrics, o.Console = figures, http.NotFoundHandler()
	o.Mount = map[string]http.Handler{"/lab": http.NotFoundHandler()}
}

// inPages tells whether a list is shown in pages.
func inPages(route string) bool {
	for _, r := range gets {
		if r.full() == route {
			return slices.ContainsFunc(r.query, func(p *parameter) bool { return p.Ref == shared("parameters", "Cursor") })
		}
	}
	return false
}

// pathOf is an address of a row at which the fakes have something.
func pathOf(r row) string {
	if path, ok := allReads()[r.full()]; ok && methodOf(r) == http.MethodGet {
		path, _, _ = strings.Cut(path, "?")
		return path
	}
	id := "WO-1"
	if r.thing != nil {
		id = fmt.Sprint(r.thing.Example)
	}
	return strings.ReplaceAll(r.full(), "{id}", id)
}

// send makes the request that the document has as the example of a row.
func (b *bench) send(t *testing.T, r row, query string, edit ...func(*http.Request)) *httptest.ResponseRecorder {
	t.Helper()
	body := ""
	switch {
	case r.id == "importPlant":
		body, edit = "cell: x", append([]func(*http.Request){yamlBody}, edit...)
	case r.example != nil:
		text, err := json.Marshal(r.example)
		require.NoError(t, err)
		body = string(text)
	}
	return b.ask(methodOf(r), pathOf(r)+query, body, edit...)
}

// provoked are the answers of a row: how each is brought about.
func provoked(t *testing.T, r row, status int) int {
	t.Helper()
	b := newBench(t, everything)
	says := func(o message.Outcome) { b.loop.answer = func(message.Message) *message.Outcome { return &o } }
	query, edit := "", func(*http.Request) {}
	body := func(text, mediaType string) func(*http.Request) {
		return func(r *http.Request) {
			r.Body, r.ContentLength = io.NopCloser(strings.NewReader(text)), int64(len(text))
			r.Header.Set("Content-Type", mediaType)
		}
	}
	post := methodOf(r) == http.MethodPost
	switch status {
	case http.StatusAccepted:
		b.decideWithin, b.loop.answer, edit = 0, nil, header("Prefer", "wait=0")
	case http.StatusBadRequest:
		edit = header(keyHeader, "two words")
	case http.StatusForbidden:
		edit = header("Sec-Fetch-Site", "cross-site")
	case http.StatusNotFound:
		switch {
		case r.id == "getMetrics":
			b = newBench(t)
		case post:
			says(message.Outcome{Code: message.NotFound, Reason: "unknown_thing"})
		case r.thing != nil:
			edit = func(q *http.Request) { q.URL.Path = strings.ReplaceAll(r.full(), "{id}", "no name") }
		default:
			b.reader.cell.absent = true
		}
	case http.StatusConflict:
		says(message.Outcome{Code: message.Refused, Reason: "not_draft", State: "running"})
	case http.StatusRequestEntityTooLarge:
		edit = body(strings.Repeat(" ", maxImport+1), "application/json")
	case http.StatusUnsupportedMediaType:
		edit = body("a=b", "application/x-www-form-urlencoded")
	case http.StatusMisdirectedRequest:
		edit = func(q *http.Request) { q.Host = "surehand.example" }
	case http.StatusUnprocessableEntity:
		query = "?nonsense=1"
	case http.StatusInternalServerError:
		says(message.Outcome{Code: message.Parked, Reason: "panic"})
		b.reader.err = errors.New("broken")
		if !strings.HasPrefix(r.full(), Root) || r.id == "getSystem" {
			b.o.Health = func() Health { panic("broken") }
		}
		if r.id == "getMetrics" {
			b = newBench(t, func(o *Options) {
				o.Metrics = http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("broken") })
			})
		}
	case http.StatusNotImplemented:
		b.o.ParsePlant = nil
	case http.StatusServiceUnavailable:
		b.loop.full, b.reader.err, b.loop.health.LastTurn = true, io.ErrUnexpectedEOF, noon.Add(-time.Hour)
	}
	if r.id == "streamEvents" && status == http.StatusOK {
		return serve(t, b).open(t, "", "").response.StatusCode
	}
	return b.send(t, r, query, edit).Code
}

func TestEveryDocumentedAnswerCanBeHad(t *testing.T) {
	for _, r := range slices.Concat(gets, outside, posts) {
		described := object(object(object(theContract().document["paths"])[r.full()])[strings.ToLower(methodOf(r))])
		for _, status := range slices.Sorted(maps.Keys(object(described["responses"]))) {
			want, err := strconv.Atoi(status)
			require.NoError(t, err)
			require.Equal(t, want, provoked(t, r, want), "%s %s", r.id, status)
		}
	}
}

// TestExamplesAreRight: what the document shows as an example is what it describes.
func TestExamplesAreRight(t *testing.T) {
	c, shown := theContract(), 0
	var look func(node any, at string)
	look = func(node any, at string) {
		for name, child := range object(node) {
			below := at + strings.TrimPrefix(pointed(name), "#")
			if media := object(child); media["example"] != nil && media["schema"] != nil {
				shown++
				require.NoError(t, c.valid(below+"/schema", media["example"]), below)
			}
			look(child, below)
		}
	}
	look(c.document, "#")
	require.Greater(t, shown, 50)
}
