package api

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"surehand/internal/plant"
)

// served is a bench behind a real listener with small socket buffers, so that a client that does not read is
// noticed soon.
type served struct {
	*bench
	url    string
	stop   context.CancelFunc // begins the shutdown
	ended  chan error         // Serve's word
	runHub chan struct{}      // closed when the hub has ended
	ticks  chan time.Time
}

type smallBuffers struct {
	net.Listener
	bytes int
}

func (l smallBuffers) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err == nil {
		err = conn.(*net.TCPConn).SetWriteBuffer(l.bytes)
	}
	return conn, err
}

func serve(t *testing.T, b *bench) *served { return serveWith(t, b, 64<<10) }

func serveWith(t *testing.T, b *bench, buffer int) *served {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	s := &served{bench: b, url: "http://" + listener.Addr().String(), stop: cancel, ended: make(chan error, 1), runHub: make(chan struct{}), ticks: make(chan time.Time)}
	go func() { s.ended <- Serve(ctx, smallBuffers{listener, buffer}, b.face, b.Hub(), nil) }()
	go func() { defer close(s.runHub); b.Hub().run(ctx, s.ticks) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-s.ended)
		<-s.runHub
	})
	return s
}

// event is one event as a browser sees it.
type event struct {
	id, name, data string
	hasID          bool
}

type reading struct {
	response *http.Response
	lines    *bufio.Reader
	cancel   context.CancelFunc
}

// open begins a stream like an EventSource that comes back with the last id it saw.
func (s *served) open(t *testing.T, last, query string) *reading {
	t.Helper()
	r, err := s.tryOpen(last, query)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, r.response.StatusCode)
	require.Equal(t, "text/event-stream", r.response.Header.Get("Content-Type"))
	require.Equal(t, "no", r.response.Header.Get("X-Accel-Buffering"))
	t.Cleanup(r.close)
	return r
}

func (s *served) tryOpen(last, query string) (*reading, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute) // so that a fault ends a test
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+"/api/v1/stream"+query, nil)
	if err != nil {
		cancel()
		return nil, err
	}
	if last != "" {
		request.Header.Set("Last-Event-ID", last)
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Do(request)
	if err != nil {
		cancel()
		return nil, err
	}
	return &reading{response, bufio.NewReader(response.Body), cancel}, nil
}

func (r *reading) close() { r.cancel(); _ = r.response.Body.Close() }

func (r *reading) next() (event, error) {
	var e event
	for {
		line, err := r.lines.ReadString('\n')
		if err != nil {
			return event{}, err
		}
		line = strings.TrimSuffix(line, "\n")
		switch {
		case line == "":
			return e, nil
		case strings.HasPrefix(line, "id: "):
			e.id, e.hasID = line[4:], true
		case strings.HasPrefix(line, "event: "):
			e.name = line[7:]
		case strings.HasPrefix(line, "data: "):
			e.data = line[6:]
		default:
			return event{}, errors.New("a line that is no field: " + line)
		}
	}
}

func (r *reading) want(t *testing.T, name, id string) event {
	t.Helper()
	e, err := r.next()
	require.NoError(t, err)
	require.Equal(t, name, e.name)
	require.Equal(t, id, e.id)
	return e
}

func TestASnapshotThenEveryRow(t *testing.T) {
	b := newBench(t)
	b.reader.add(rows(3)...)
	s := serve(t, b)
	r := s.open(t, "", "")
	e := r.want(t, "snapshot", "gen-1:3")
	var snapshot snapshotEvent
	require.NoError(t, json.Unmarshal([]byte(e.data), &snapshot))
	require.Equal(t, "gen-1", snapshot.Generation)
	require.EqualValues(t, 3, snapshot.Seq)
	require.EqualValues(t, 7, snapshot.Epoch)
	require.Len(t, snapshot.OpenCommands, 1, "a command that is live and holds its endpoint comes once")
	s.Hub().Show(b.reader.add(plant.Entry{Type: "SendCommand", Outcome: "accepted", At: noon, Notes: []plant.Note{{Kind: plant.KindIntent, Key: idA, Move: "CreateIntent", To: "pending_dispatch"}}}))
	e = r.want(t, "log", "gen-1:4")
	require.JSONEq(t, `{"seq":4,"messageId":"`+idB+`","type":"SendCommand","source":"","at":"2026-01-31T12:00:00.123456Z","outcome":"accepted",
		"notes":[{"kind":"automation_command_intent","key":"`+idA+`","move":"CreateIntent","to":"pending_dispatch"}]}`, e.data)
}

func TestValuesAndHeartbeatsOnTheWire(t *testing.T) {
	b := newBench(t)
	first := b.reader.add(rows(1)...)
	b.Hub().take(context.Background(), first)
	s := serve(t, b)
	r := s.open(t, "gen-1:1", "")
	r.want(t, "resumed", "")
	for !b.Hub().listening(1) {
		runtime.Gosched()
	}
	b.Hub().take(context.Background(), plant.Committed{Fence: first.Fence, Changes: []plant.Change{observed("fan/a", 5, noon)}})
	for range heartbeatTicks {
		s.ticks <- noon
	}
	e := r.want(t, "values", "")
	require.False(t, e.hasID, "an empty id would make a browser forget its position")
	require.JSONEq(t, `{"values":[{"endpointId":"fan/a","deviceId":"fan","value":5,"sampledAt":"2026-01-31T12:00:00.123456Z","receivedAt":"2026-01-31T12:00:00.123456Z"}]}`, e.data)
	r.want(t, "heartbeat", "gen-1:1")
}

func TestWhatWasSkippedIsToldOnTheWire(t *testing.T) {
	b := newBench(t)
	b.Hub().take(context.Background(), b.reader.add(rows(1)...))
	s := serve(t, b)
	r := s.open(t, "gen-1:1", "")
	r.want(t, "resumed", "")
	for !b.Hub().listening(1) {
		runtime.Gosched()
	}
	b.Hub().overflow.Store(true)
	s.ticks <- noon
	require.JSONEq(t, `{"reason":"overflow"}`, r.want(t, "resync", "").data)
}

func (h *Hub) listening(n int) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.clients) == n
}

func TestTopicsNarrowTheStream(t *testing.T) {
	b := newBench(t)
	b.reader.add(plant.Entry{Type: "LinkChanged"}, plant.Entry{Type: "SendCommand"})
	s := serve(t, b)
	r := s.open(t, "gen-1:0", "?topics=links")
	r.want(t, "resumed", "")
	r.want(t, "log", "gen-1:1")
	for !b.Hub().listening(1) {
		runtime.Gosched()
	}
	c := b.reader.add(plant.Entry{Type: "SendCommand"}, plant.Entry{Type: "LinkChanged"})
	c.Counts = []plant.Count{{Name: "link", Label: "commands down"}}
	s.Hub().Show(c)
	r.want(t, "log", "gen-1:4")
	e := r.want(t, "links", "")
	require.JSONEq(t, `{"links":{"telemetry":"unknown","answers":"unknown","commands":"down"}}`, e.data)
}

// proves X-8, K-5
func TestComingBack(t *testing.T) {
	for name, c := range map[string]struct {
		last, reason string
		prepare      func(*fakeReader)
	}{
		"exactly":                    {"gen-1:2", "", nil},
		"with all seen":              {"gen-1:5", "", nil},
		"from the beginning":         {"gen-1:0", "", nil},
		"of another generation":      {"gen-0:2", "generation", nil},
		"ahead of the log":           {"gen-1:6", "ahead", nil},
		"malformed":                  {"17", "malformed", nil},
		"too far back":               {"gen-1:2", "too_far", func(f *fakeReader) { f.log = append(f.log, rows(maxBacklog)...); f.fence.Seq += maxBacklog }},
		"after rows were removed":    {"gen-1:2", "trimmed", func(f *fakeReader) { f.log, f.first = f.log[4:], 5 }},
		"with a position of nothing": {":", "malformed", nil},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.reader.add(rows(5)...)
			if c.prepare != nil {
				b.reader.set(c.prepare)
			}
			now := position{"gen-1", b.reader.fence.Seq}
			r := serve(t, b).open(t, c.last, "")
			if c.reason == "" {
				r.want(t, "resumed", "")
				last, _ := parsePosition(c.last)
				for last.seq < now.seq {
					last.seq++
					r.want(t, "log", last.String())
				}
				return
			}
			e := r.want(t, "reset", "")
			require.False(t, e.hasID)
			var reset resetEvent
			require.NoError(t, json.Unmarshal([]byte(e.data), &reset))
			require.Equal(t, resetEvent{c.reason, "gen-1", now.seq}, reset)
			r.want(t, "snapshot", now.String())
		})
	}
}

// TestARowBetweenReadingAndJoining is shown by the hub before the client is in its list, and after the client
// has read the log.
func TestARowBetweenReadingAndJoining(t *testing.T) {
	b := newBench(t)
	b.Hub().take(context.Background(), b.reader.add(rows(1)...))
	s := serve(t, b)
	b.reader.onLog = func() { b.Hub().take(context.Background(), b.reader.add(rows(2)...)) }
	r := s.open(t, "", "")
	r.want(t, "snapshot", "gen-1:1")
	r.want(t, "log", "gen-1:2")
	r.want(t, "log", "gen-1:3")
	s.Hub().Show(b.reader.add(rows(1)...))
	r.want(t, "log", "gen-1:4")
}

// deadlines is a client's connection that remembers the last write deadline.
type deadlines struct {
	http.ResponseWriter
	last time.Time
}

func (d *deadlines) SetWriteDeadline(at time.Time) error { d.last = at; return nil }

func TestACutEndsAWriteThatIsUnderWay(t *testing.T) {
	w := &deadlines{}
	canceled := false
	c := &r3labsConnection{control: http.NewResponseController(w), cancel: func() { canceled = true }}
	require.NoError(t, c.deadline())
	require.False(t, w.last.Before(time.Now()))
	c.cut()
	require.True(t, canceled)
	require.True(t, w.last.Before(time.Now()), "a deadline in the past ends it now")
	w.last = time.Time{}
	require.ErrorIs(t, c.deadline(), errCut)
	require.Zero(t, w.last, "no later frame gives it time again")
	c.finish()
	c.cut()
	require.Zero(t, w.last, "the connection serves another request by now")
}

func TestComingBackAfterARestart(t *testing.T) {
	before := newBench(t)
	before.reader.add(rows(2)...)
	s := serve(t, before)
	r := s.open(t, "", "")
	r.want(t, "snapshot", "gen-1:2")
	s.Hub().Show(before.reader.add(rows(1)...))
	r.want(t, "log", "gen-1:3")
	s.stop()
	_, err := r.next()
	require.Error(t, err, "the stream ends before the server")

	after := newBench(t) // a new process on the same database, which went on meanwhile
	after.reader = before.reader
	after.o.Reader, after.Hub().reader = before.reader, before.reader
	after.reader.add(rows(2)...)
	s = serve(t, after)
	r = s.open(t, "gen-1:3", "")
	r.want(t, "resumed", "")
	r.want(t, "log", "gen-1:4")
	r.want(t, "log", "gen-1:5")
	s.Hub().Show(after.reader.add(rows(1)...))
	r.want(t, "log", "gen-1:6")

	after.reader.set(func(f *fakeReader) { f.fence.Generation = "gen-2" }) // a failover lost commits
	s.Hub().Show(after.reader.add(rows(1)...))
	_, err = r.next()
	require.Error(t, err)
	r = s.open(t, "gen-1:6", "")
	r.want(t, "reset", "")
	r.want(t, "snapshot", "gen-2:7")
}

func TestStreamsHaveABound(t *testing.T) {
	b := newBench(t)
	for range maxClients {
		full, closed := b.Hub().admit()
		require.False(t, full || closed)
	}
	w := b.ask(http.MethodGet, "/api/v1/stream", "")
	requireProblem(t, w, http.StatusServiceUnavailable, "too_many_streams")
	require.NotEmpty(t, w.Header().Get("Retry-After"))
	b.Hub().dismiss()
	full, _ := b.Hub().admit()
	require.False(t, full)
	b.Hub().Close()
	requireProblem(t, b.ask(http.MethodGet, "/api/v1/stream", ""), http.StatusServiceUnavailable, "stopping")
	require.Equal(t, maxClients, b.Hub().Clients(), "a refused client takes no place")
}

func TestAStreamOfAnAbsentDatabaseIsAnOrdinaryAnswer(t *testing.T) {
	b := newBench(t)
	b.reader.err = io.ErrUnexpectedEOF
	requireProblem(t, b.ask(http.MethodGet, "/api/v1/stream", ""), http.StatusServiceUnavailable, "database_unavailable")
	require.Zero(t, b.Hub().Clients())
}
