package api

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"surehand/internal/dbstate/read"
	"surehand/internal/message"
	"surehand/internal/plant"
	"surehand/internal/term"
)

const (
	idA = "0190f3a0-0000-8000-8000-00000000000a"
	idB = "0190f3a0-0000-8000-8000-00000000000b"
)

var noon = time.Date(2026, 1, 31, 12, 0, 0, 123456000, time.UTC)

// fakeReader is a database with one row of each kind and an event log that grows.
type fakeReader struct {
	mu      sync.Mutex
	fence   plant.Fence
	log     []plant.Entry // seq = first+index
	first   int64
	command plant.Intent
	err     error
	filter  any    // the last one asked with
	onLog   func() // called once, after the next reading of the log
	cell    *fakeCell
}

func newFakeReader() *fakeReader {
	return &fakeReader{fence: plant.Fence{Generation: "gen-1", Epoch: 7}, first: 1, cell: newFakeCell(),
		command: plant.Intent{ID: idA, Version: 3, State: term.Dispatched, FarmID: "farm", DeviceID: "fan", EndpointID: "fan/on", Serial: "SN1",
			Action: term.ActionAbsolute, Method: "set", ExecutionID: idB,
			Params: `{"on":true}`, TargetValue: term.Bool(true), HoldsEndpoint: true, CreatedAt: noon, UpdatedAt: noon}}
}

// add commits rows and tells what the loop would show of them.
func (f *fakeReader) add(entries ...plant.Entry) plant.Committed {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range entries {
		f.fence.Seq++
		entries[i].Seq = f.fence.Seq
		if entries[i].MessageID == "" {
			entries[i].MessageID = idB
		}
	}
	f.log = append(f.log, entries...)
	f.fence.Turn++
	return plant.Committed{Fence: f.fence, At: noon, Entries: entries}
}

func (f *fakeReader) set(change func(*fakeReader)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change(f)
}

func (f *fakeReader) asked(filter any) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.filter = filter
	return f.err
}

func page[T any](f *fakeReader, filter any, row T) (read.Page[T], error) {
	if err := f.asked(filter); err != nil {
		return read.Page[T]{}, err
	}
	return read.Page[T]{Items: []T{row}, Next: "next"}, nil
}

func found[T any](f *fakeReader, ok bool, row T) (T, error) {
	err := f.asked(nil)
	if err == nil && !ok {
		err = read.ErrNotFound
	}
	return row, err
}

func (f *fakeReader) Ping(context.Context) error { return f.asked(nil) }
func (f *fakeReader) Fence(context.Context) (plant.Fence, error) {
	err := f.asked(nil)
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.fence, err
}
func (f *fakeReader) Commands(_ context.Context, c read.CommandFilter) (read.Page[*plant.Intent], error) {
	p, err := page(f, c, &f.command)
	p.Next = c.Cursor
	return p, err
}
func (f *fakeReader) Command(_ context.Context, id term.IntentID) (*plant.Intent, error) {
	f.mu.Lock()
	row := f.command
	f.mu.Unlock()
	return found(f, id == idA, &row)
}
func (f *fakeReader) CommandTimeline(_ context.Context, id term.IntentID) ([]read.TimelineItem, error) {
	return found(f, id == idA, []read.TimelineItem{{At: noon, Kind: "decided", Text: "set", Detail: json.RawMessage(`{"a":1}`)}})
}
func (f *fakeReader) TopTimeouts(_ context.Context, since time.Time, _ int) ([]read.Timeouts, error) {
	return []read.Timeouts{{DeviceID: "fan", Count: 3, LastAt: noon}}, f.asked(since)
}
func (f *fakeReader) Executions(_ context.Context, x read.ExecutionFilter) (read.Page[*plant.Execution], error) {
	return page(f, x, fakeExecution())
}
func (f *fakeReader) Execution(_ context.Context, id term.ExecutionID) (*plant.Execution, error) {
	return found(f, id == idB, fakeExecution())
}
func fakeExecution() *plant.Execution {
	return &plant.Execution{ID: idB, Source: term.SourceRule, Outcome: term.ExecutionFired, FarmID: "farm", TargetID: "fan/on", RuleID: "cool", Count: 1, FirstAt: noon, LastAt: noon}
}
func fakeEvent() *plant.Event {
	return &plant.Event{ID: idA, FarmID: "farm", DeviceID: "fan", EndpointID: "fan/on", At: noon, ReceivedAt: noon, Value: term.Float(1), Status: term.EventProcessed}
}
func (f *fakeReader) ExecutionTimeline(_ context.Context, id term.ExecutionID) (read.ExecutionStory, error) {
	return found(f, id == idB, read.ExecutionStory{Execution: fakeExecution(), Event: fakeEvent(), Command: &f.command,
		Timeline: []read.TimelineItem{{At: noon, Kind: "decided"}}})
}
func (f *fakeReader) Events(_ context.Context, e read.EventFilter) (read.Page[*plant.Event], error) {
	return page(f, e, fakeEvent())
}
func (f *fakeReader) Organisations(context.Context) ([]*plant.Organisation, error) {
	return []*plant.Organisation{{ID: "org"}}, f.asked(nil)
}
func (f *fakeReader) Farms(context.Context) ([]*plant.Farm, error) {
	return []*plant.Farm{{ID: "farm"}}, f.asked(nil)
}
func (f *fakeReader) Profiles(context.Context) ([]*plant.Profile, error) {
	return []*plant.Profile{{ID: "fans", Class: term.ClassA}}, f.asked(nil)
}
func (f *fakeReader) Profile(context.Context, term.ProfileID) (*plant.Profile, error) {
	return &plant.Profile{ID: "fans", Endpoints: []term.EndpointSpec{{Key: "on", Kind: term.Actuator, Type: term.TypeBool, Writable: true}}}, f.asked(nil)
}
func (f *fakeReader) Devices(_ context.Context, d read.DeviceFilter) (read.Page[*plant.Device], error) {
	return page(f, d, &plant.Device{ID: "fan", Serial: "SN1", Status: term.DeviceActive, Class: term.ClassA})
}
func (f *fakeReader) Device(_ context.Context, id term.DeviceID) (*plant.Device, error) {
	return found(f, id == "fan", &plant.Device{ID: "fan", ProfileID: "fans", Serial: "SN1", Status: term.DeviceActive, Class: term.ClassA})
}
func (f *fakeReader) EndpointsOf(context.Context, term.DeviceID) ([]*plant.Endpoint, error) {
	return []*plant.Endpoint{{ID: "fan/on", DeviceID: "fan", EndpKey: "on", Enabled: true, Value: term.Bool(false), SampledAt: noon, ReceivedAt: noon}}, f.asked(nil)
}
func (f *fakeReader) Rules(_ context.Context, r read.RuleFilter) (read.Page[*plant.Rule], error) {
	return page(f, r, &plant.Rule{ID: "cool"})
}
func (f *fakeReader) Holds(context.Context) ([]*plant.Hold, error) {
	return append([]*plant.Hold{{ID: idA, Subject: plant.DeviceSubject("fan"), Reason: term.HoldQuarantine, At: noon},
		{ID: idB, Subject: plant.DeviceSubject("other"), Reason: term.HoldParked, At: noon}}, f.cell.holds...), f.asked(nil)
}
func (f *fakeReader) LogAfter(_ context.Context, generation string, seq int64, limit int) ([]plant.Entry, plant.Fence, error) {
	f.mu.Lock()
	defer func() {
		after := f.onLog
		f.onLog = nil
		f.mu.Unlock()
		if after != nil {
			after()
		}
	}()
	switch {
	case f.err != nil:
		return nil, plant.Fence{}, f.err
	case generation != f.fence.Generation, seq > f.fence.Seq, seq+1 < f.first:
		return nil, f.fence, read.ErrReset
	}
	rest := f.log[seq+1-f.first:]
	return append([]plant.Entry(nil), rest[:min(limit, len(rest))]...), f.fence, nil
}
func (f *fakeReader) LogPage(_ context.Context, l read.LogFilter) (read.Page[*plant.Entry], error) {
	return page(f, l, &plant.Entry{Seq: 4, MessageID: idA, Type: "SendCommand", Source: "person", At: noon, Outcome: "accepted"})
}
func (f *fakeReader) Parked(_ context.Context, cursor string, limit int) (read.Page[*plant.Parked], error) {
	return page(f, [2]any{cursor, limit}, &plant.Parked{ID: idA, Raw: []byte("x"), At: noon})
}

// fakeLoop answers every message with one outcome, or not at all.
type fakeLoop struct {
	mu     sync.Mutex
	answer func(message.Message) *message.Outcome
	full   bool
	health Health
	posted []message.Message
}

func (l *fakeLoop) Post(m message.Message) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.full {
		return false
	}
	l.posted = append(l.posted, m)
	if l.answer != nil {
		if o := l.answer(m); o != nil {
			m.Reply <- message.Answer{MessageID: m.ID, Outcome: *o}
		}
	}
	return true
}

func (l *fakeLoop) last(t *testing.T) message.Message {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	require.NotEmpty(t, l.posted)
	return l.posted[len(l.posted)-1]
}

// bench is a server with everything around it faked.
type bench struct {
	*server
	reader *fakeReader
	loop   *fakeLoop
	face   http.Handler // the server, held against openapi.json
}

func newBench(t *testing.T, change ...func(*Options)) *bench {
	t.Helper()
	b := &bench{reader: newFakeReader(), loop: &fakeLoop{health: Health{Opened: true, LastTurn: noon, Epoch: 7}}}
	b.loop.answer = func(message.Message) *message.Outcome {
		return &message.Outcome{Code: message.Accepted, Subject: "execution:x", ID: "x", Seq: 5}
	}
	o := Options{Reader: b.reader, Post: b.loop.Post, Hub: NewHub(b.reader, nil), Version: "1.2.3", Now: func() time.Time { return noon },
		Health: func() Health { b.loop.mu.Lock(); defer b.loop.mu.Unlock(); return b.loop.health },
		ParseDevices: func(data []byte) (message.ImportDevices, []message.Problem) {
			if strings.HasPrefix(string(data), "bad") {
				return message.ImportDevices{}, []message.Problem{{Pointer: "/devices/0", Line: 3, Detail: "no"}}
			}
			return message.ImportDevices{Farms: []message.ImportFarm{{ID: "farm", Name: string(data)}}}, nil
		},
		ParsePlant: func(data []byte) (message.ImportPlant, []message.Problem) {
			if strings.HasPrefix(string(data), "bad") {
				return message.ImportPlant{}, []message.Problem{{Pointer: "/cell", Line: 3, Detail: "no"}}
			}
			return message.ImportPlant{Cell: message.ImportCell{Name: string(data)}, Equipment: []message.ImportEquipment{{ID: "m"}}, File: string(data)}, nil
		}}
	for _, c := range change {
		c(&o)
	}
	b.server = newServer(o)
	b.face = Checked(t, b.routes)
	return b
}

// ask makes one request; edit may change it.
func (b *bench) ask(method, path, body string, edit ...func(*http.Request)) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, "http://localhost"+path, strings.NewReader(body))
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for _, e := range edit {
		e(r)
	}
	w := httptest.NewRecorder()
	b.face.ServeHTTP(w, r)
	return w
}

func header(name, value string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set(name, value) }
}

// decoded reads an answer strictly: a field that the type does not have is a fault.
func decoded[T any](t *testing.T, body io.Reader) T {
	t.Helper()
	var v T
	data, err := io.ReadAll(body)
	require.NoError(t, err)
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	require.NoError(t, d.Decode(&v), string(data))
	return v
}

// requireProblem checks the form of a problem document and gives it.
func requireProblem(t *testing.T, w *httptest.ResponseRecorder, status int, code string) Problem {
	t.Helper()
	require.Equal(t, status, w.Code, w.Body.String())
	require.Equal(t, "application/problem+json", w.Header().Get("Content-Type"))
	p := decoded[Problem](t, w.Body)
	require.Equal(t, code, p.Code)
	require.Equal(t, status, p.Status)
	require.Equal(t, http.StatusText(status), p.Title)
	require.Equal(t, "urn:surehand:problem:"+code, p.Type)
	require.Equal(t, w.Header().Get("X-Request-Id"), p.RequestID)
	require.Equal(t, "urn:surehand:request:"+p.RequestID, p.Instance)
	return p
}
