package api

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/stretchr/testify/require"

	"surehand/internal/dbstate/read"
	"surehand/internal/message"
	"surehand/internal/plant"
	"surehand/internal/term"
)

// reads has every route that only reads, with a request that works.
var reads = map[string]string{
	"/api/v1/commands":                 "/api/v1/commands?state=retrying,uncertain&device=fan&endpoint=fan/on&rule=cool&farm=farm&holding=true&cursor=c&limit=500",
	"/api/v1/commands/{id}":            "/api/v1/commands/" + idA,
	"/api/v1/commands/{id}/timeline":   "/api/v1/commands/" + idA + "/timeline",
	"/api/v1/executions":               "/api/v1/executions?rule=cool&farm=farm&outcome=refused",
	"/api/v1/executions/{id}":          "/api/v1/executions/" + idB,
	"/api/v1/executions/{id}/timeline": "/api/v1/executions/" + idB + "/timeline",
	"/api/v1/devices":                  "/api/v1/devices?farm=farm&profile=fans&status=active&search=SN",
	"/api/v1/devices/{id}":             "/api/v1/devices/fan",
	"/api/v1/devices/{id}/events":      "/api/v1/devices/fan/events?endpoint=fan/on&status=failed&from=2026-01-31T00:00:00Z&to=2026-01-31T01:00:00.5Z",
	"/api/v1/events":                   "/api/v1/events?device=fan",
	"/api/v1/log":                      "/api/v1/log?subject=device:fan&type=SendCommand&outcome=refused&actor=local",
	"/api/v1/parked":                   "/api/v1/parked?limit=1",
	"/api/v1/organisations":            "/api/v1/organisations",
	"/api/v1/farms":                    "/api/v1/farms",
	"/api/v1/profiles":                 "/api/v1/profiles",
	"/api/v1/rules":                    "/api/v1/rules?farm=farm",
	"/api/v1/holds":                    "/api/v1/holds",
	"/api/v1/diagnostics/top-timeouts": "/api/v1/diagnostics/top-timeouts?since=2026-01-30T00:00:00Z",
	"/api/v1/system":                   "/api/v1/system",
	"/api/v1/openapi.json":             "/api/v1/openapi.json",
	"/healthz":                         "/healthz",
	"/readyz":                          "/readyz",
}

type write struct {
	route, path, body string
	payload           message.Payload
}

// writes has every route that posts, with a body that is taken and the message that it becomes.
var writes = []write{
	{"/api/v1/commands", "/api/v1/commands", `{"endpoint":"fan/on","value":true,"reason":"hot","reassert":true}`,
		message.SendCommand{Endpoint: "fan/on", Value: term.Bool(true), Reason: "hot", Reassert: true}},
	{"/api/v1/commands/{id}/cancel", "/api/v1/commands/" + idA + "/cancel", `{"reason":"wrong"}`, message.CancelCommand{IntentID: idA, Reason: "wrong"}},
	{"/api/v1/commands/{id}/cancel", "/api/v1/commands/" + idA + "/cancel", ``, message.CancelCommand{IntentID: idA}},
	{"/api/v1/commands/{id}/verdict", "/api/v1/commands/" + idA + "/verdict", `{"verdict":"failed","reason":"seen"}`,
		message.JudgeCommand{IntentID: idA, Verdict: term.VerdictFailed, Reason: "seen"}},
	{"/api/v1/holds/release", "/api/v1/holds/release", `{"subject":"device:fan","hold":"quarantine","reason":"checked"}`,
		message.ReleaseHold{Subject: "device:fan", Hold: term.HoldQuarantine, Reason: "checked"}},
	{"/api/v1/configuration/import", "/api/v1/configuration/import", `{"farms":[{"id":"farm","organisation":"org","name":"F"}]}`,
		message.ImportDevices{Farms: []message.ImportFarm{{ID: "farm", Organisation: "org", Name: "F"}}}},
	{"/api/v1/system/stop", "/api/v1/system/stop", `{"drain":true}`, message.StopRequested{Drain: true}},
}

func allReads() map[string]string {
	all := maps.Clone(reads)
	maps.Copy(all, cellReads)
	return all
}

// proves D-22
func TestEveryRouteAnswers(t *testing.T) {
	b := newBench(t)
	for route, path := range allReads() {
		w := b.ask(http.MethodGet, path, "")
		require.Equal(t, http.StatusOK, w.Code, route+": "+w.Body.String())
		require.Equal(t, "application/json", w.Header().Get("Content-Type"))
		require.Equal(t, "no-store", w.Header().Get("Cache-Control"))
		require.Equal(t, "nosniff", w.Header().Get("X-Content-Type-Options"))
	}
	tried := map[string]bool{"GET /api/v1/stream": true, "POST /api/v1/plant": true} // stream_test.go, cell_test.go
	for route := range allReads() {
		tried["GET "+route] = true
	}
	for _, c := range append(slices.Clone(writes), cellWrites...) {
		w := b.ask(http.MethodPost, c.path, c.body)
		require.Equal(t, http.StatusOK, w.Code, c.route+": "+w.Body.String())
		m := b.loop.last(t)
		require.Equal(t, c.payload, m.Payload)
		require.Equal(t, message.FromPerson, m.Source)
		require.Equal(t, localActor, m.Actor)
		require.Equal(t, noon, m.CreatedAt)
		tried["POST "+c.route] = true
	}
	require.NoError(t, chi.Walk(b.routes, func(method, route string, _ http.Handler, _ ...func(http.Handler) http.Handler) error {
		require.True(t, tried[method+" "+route], "no test asks %s %s", method, route)
		delete(tried, method+" "+route)
		return nil
	}))
	require.Empty(t, tried, "these routes are not there")
}

func TestListsPassTheirFiltersOn(t *testing.T) {
	b := newBench(t)
	b.ask(http.MethodGet, reads["/api/v1/commands"], "")
	require.Equal(t, read.CommandFilter{States: []term.CommandState{term.Retrying, term.Uncertain}, Device: "fan", Endpoint: "fan/on", Rule: "cool",
		Farm: "farm", OnlyHolding: true, Cursor: "c", Limit: 500}, b.reader.filter)
	b.ask(http.MethodGet, reads["/api/v1/devices/{id}/events"], "")
	require.Equal(t, read.EventFilter{Device: "fan", Endpoint: "fan/on", Status: term.EventFailed, From: time.Date(2026, 1, 31, 0, 0, 0, 0, time.UTC),
		To: time.Date(2026, 1, 31, 1, 0, 0, 5e8, time.UTC), Now: noon, Limit: 100}, b.reader.filter)
	b.ask(http.MethodGet, reads["/api/v1/log"], "")
	require.Equal(t, read.LogFilter{Subject: "device:fan", Type: "SendCommand", Outcome: "refused", Actor: "local", Limit: 100}, b.reader.filter)
	b.ask(http.MethodGet, "/api/v1/diagnostics/top-timeouts", "")
	require.Equal(t, noon.Add(-24*time.Hour), b.reader.filter)
}

func TestDeviceShowsValuesHoldersAndHolds(t *testing.T) {
	d := decoded[DeviceDetail](t, newBench(t).ask(http.MethodGet, "/api/v1/devices/fan", "").Body)
	require.Equal(t, "SN1", d.Serial)
	require.Len(t, d.Endpoints, 1)
	require.Equal(t, term.Bool(false), d.Endpoints[0].Value)
	require.Equal(t, noon, d.Endpoints[0].SampledAt)
	require.Equal(t, noon, d.Endpoints[0].ReceivedAt)
	require.True(t, d.Endpoints[0].Spec.Writable)
	require.EqualValues(t, idA, d.Endpoints[0].Holder.ID)
	require.Len(t, d.Holds, 1, "the hold of another device is not shown")
}

func TestWhatIsWrittenIsScalarAndUTC(t *testing.T) {
	body := newBench(t).ask(http.MethodGet, "/api/v1/commands/"+idA, "").Body.String()
	require.Contains(t, body, `"targetValue":true`)
	require.Contains(t, body, `"createdAt":"2026-01-31T12:00:00.123456Z"`)
	require.Contains(t, body, `"params":{"on":true}`)
	require.NotContains(t, body, "endedAt", "what is not there is left out")
}

func TestFaultsOfReading(t *testing.T) {
	b := newBench(t)
	for path, code := range map[string]string{
		"/api/v1/commands?limit=501":           "invalid",
		"/api/v1/commands?limit=0":             "invalid",
		"/api/v1/commands?state=done":          "invalid",
		"/api/v1/commands?holding=yes":         "invalid",
		"/api/v1/commands?stat=retrying":       "invalid",
		"/api/v1/commands?limit=1&limit=2":     "invalid",
		"/api/v1/devices?search=%00":           "invalid",
		"/api/v1/devices?status=broken":        "invalid",
		"/api/v1/executions?outcome=maybe":     "invalid",
		"/api/v1/events?from=yesterday":        "invalid",
		"/api/v1/events?status=new":            "invalid",
		"/api/v1/farms?limit=1":                "invalid",
		"/api/v1/stream?topics=commands,alarm": "invalid",
	} {
		p := requireProblem(t, b.ask(http.MethodGet, path, ""), http.StatusUnprocessableEntity, code)
		require.Len(t, p.Problems, 1, path)
		require.True(t, strings.HasPrefix(p.Problems[0].Pointer, "?"), path)
	}
	for _, path := range []string{"/api/v1/commands/" + idB, "/api/v1/commands/nothing", "/api/v1/commands/nothing/timeline", "/api/v1/commands/" + idB + "/timeline",
		"/api/v1/executions/" + idA, "/api/v1/executions/x", "/api/v1/executions/" + idA + "/timeline", "/api/v1/devices/none", "/api/v1/devices/%00", "/api/v1/devices/a%2Fb/events"} {
		requireProblem(t, b.ask(http.MethodGet, path, ""), http.StatusNotFound, "not_found")
	}
	for cause, status := range map[error]int{errors.New("ERROR: secret detail (SQLSTATE XX000)"): http.StatusInternalServerError,
		fmt.Errorf("secret host: %w", io.ErrUnexpectedEOF): http.StatusServiceUnavailable, read.ErrCursor: http.StatusUnprocessableEntity} {
		b.reader.set(func(f *fakeReader) { f.err = cause })
		for route, path := range allReads() {
			if route == "/healthz" || route == "/readyz" || route == "/api/v1/system" || route == "/api/v1/openapi.json" {
				continue
			}
			if cause == read.ErrCursor && !inPages(route) {
				continue // there is no cursor that it could be said of
			}
			w := b.ask(http.MethodGet, path, "")
			require.Equal(t, status, w.Code, route)
			require.NotContains(t, w.Body.String(), "secret")
			if status == http.StatusServiceUnavailable {
				require.NotEmpty(t, w.Header().Get("Retry-After"))
			}
		}
	}
}

func TestHealth(t *testing.T) {
	b := newBench(t)
	require.Equal(t, Liveness{OK: true, LastTurn: noon}, decoded[Liveness](t, b.ask(http.MethodGet, "/healthz", "").Body))
	require.Equal(t, Readiness{Ready: true, Database: true, Writing: true, Loop: true, Turning: true, Epoch: 7}, decoded[Readiness](t, b.ask(http.MethodGet, "/readyz", "").Body))

	b.loop.health = Health{Opened: true, LastTurn: noon.Add(-turnsWithin), DatabaseAway: true, Epoch: 7, Inbox: Inbox{Person: 2}}
	b.reader.set(func(f *fakeReader) { f.err = errors.New("gone") })
	require.Equal(t, http.StatusOK, b.ask(http.MethodGet, "/healthz", "").Code, "a loop that waits for the database is alive")
	w := b.ask(http.MethodGet, "/readyz", "")
	require.Equal(t, http.StatusServiceUnavailable, w.Code)
	require.Equal(t, Readiness{Loop: true, Turning: true, Epoch: 7}, decoded[Readiness](t, w.Body))
	s := decoded[System](t, b.ask(http.MethodGet, "/api/v1/system", "").Body)
	require.Equal(t, "unreachable", s.Database)
	require.Equal(t, Inbox{Person: 2}, s.Inbox)
	b.reader.set(func(f *fakeReader) { f.err = nil })
	require.Equal(t, "away", decoded[System](t, b.ask(http.MethodGet, "/api/v1/system", "").Body).Database)

	b.loop.health.LastTurn = noon.Add(-turnsWithin - time.Microsecond)
	require.Equal(t, http.StatusServiceUnavailable, b.ask(http.MethodGet, "/healthz", "").Code)
	b.loop.health = Health{}
	w = b.ask(http.MethodGet, "/readyz", "")
	require.Equal(t, Readiness{Database: true, Writing: true}, decoded[Readiness](t, w.Body))
}

func TestSystemTells(t *testing.T) {
	b := newBench(t)
	b.reader.add(plant.Entry{})
	b.Hub().takeLinks([]plant.Count{{Name: "link", Label: "answers up"}, {Name: "link", Label: "nonsense"}})
	s := decoded[System](t, b.ask(http.MethodGet, "/api/v1/system", "").Body)
	require.Equal(t, System{Version: "1.2.3", Epoch: 7, Generation: "gen-1", Seq: 1, LastTurn: noon, Database: "ok",
		Links: map[string]string{"telemetry": "unknown", "answers": "up", "commands": "unknown"}}, s)
}

func (b *bench) Hub() *Hub { return b.o.Hub }
