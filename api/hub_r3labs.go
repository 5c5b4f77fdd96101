package api

import (
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/r3labs/sse/v2"
)

const (
	// streamRoom is how many frames may wait for one client; one parcel may always wait.
	streamRoom = 1024
	// frameWithin is how long one frame may take to leave for a client.
	frameWithin = 5 * time.Second
)

// r3labs carries streams by github.com/r3labs/sse. That library stops every client for one that does not read,
// forgets nothing it replays, and can leave goroutines behind; so each connection has a stream of its own,
// nothing is replayed by it, and a stream is removed only after its one subscriber has left. It also formats and flushes
// every event anew for every client; so an event of it only says that there is a parcel, which was formatted once for all.
type r3labs struct {
	server *sse.Server
	mu     sync.Mutex
	left   map[string]chan struct{} // closed when the subscriber of a stream has left
}

func newR3labs() *r3labs {
	t := &r3labs{server: sse.New(), left: map[string]chan struct{}{}}
	t.server.AutoReplay = false // it would replace our ids
	t.server.AutoStream = false
	t.server.BufferSize = streamRoom
	t.server.Headers = map[string]string{"X-Accel-Buffering": "no"}
	t.server.OnUnsubscribe = func(stream string, _ *sse.Subscriber) {
		t.mu.Lock()
		defer t.mu.Unlock()
		close(t.left[stream])
	}
	return t
}

func (t *r3labs) serve(w http.ResponseWriter, r *http.Request, ready func(connection, func(frame) error) error) {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	c := &r3labsConnection{server: t.server, stream: rand.Text(), cancel: cancel, writer: w, control: http.NewResponseController(w), ready: ready}
	left := make(chan struct{})
	t.mu.Lock()
	t.left[c.stream] = left
	t.mu.Unlock()
	t.server.CreateStream(c.stream)

	inner := r.Clone(ctx)
	inner.Header.Del("Last-Event-ID") // the library takes numbers only; it was read before
	inner.URL.RawQuery = url.Values{"stream": {c.stream}}.Encode()
	t.server.ServeHTTP(c, inner)

	// This order leaves no goroutine behind.
	cancel()
	if c.begun { // else the library refused it, and nobody subscribed who could leave
		<-left
	}
	t.server.RemoveStream(c.stream)
	t.mu.Lock()
	delete(t.left, c.stream)
	t.mu.Unlock()
	c.finish()
}

// r3labsConnection is the ResponseWriter that the library writes to: for each event that it flushes, the next parcel is
// written whole, within a deadline, or not at all.
type r3labsConnection struct {
	server *sse.Server
	stream string
	cancel context.CancelFunc
	ready  func(connection, func(frame) error) error

	writer  http.ResponseWriter
	control *http.ResponseController
	begun   bool
	last    int64 // seq of the last position written; only the handler's goroutine touches it

	queue   sync.Mutex // of parcels, in the order of the library's events
	parcels []*parcel
	frames  int // in them

	mu       sync.Mutex // orders the deadlines of the writer and of cut
	severed  bool
	finished bool
}

var errCut = errors.New("the stream was cut")

func (c *r3labsConnection) send(p *parcel) bool {
	c.queue.Lock()
	defer c.queue.Unlock()
	if c.frames > 0 && c.frames+len(p.frames) > streamRoom || !c.server.TryPublish(c.stream, &sse.Event{Data: []byte{'.'}}) {
		return false
	}
	c.parcels = append(c.parcels, p)
	c.frames += len(p.frames)
	return true
}

// next is the parcel of the event that the library has just written.
func (c *r3labsConnection) next() *parcel {
	c.queue.Lock()
	defer c.queue.Unlock()
	p := c.parcels[0]
	c.parcels[0], c.parcels = nil, c.parcels[1:]
	c.frames -= len(p.frames)
	return p
}

// cut ends the stream even while a write to a client that does not read is under way.
func (c *r3labsConnection) cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.severed = true
	if !c.finished {
		// An error means that the connection is gone or knows no deadlines; then the next write ends it.
		_ = c.control.SetWriteDeadline(time.Unix(1, 0))
	}
	c.cancel()
}

// finish keeps a late cut from a connection that serves another request by then.
func (c *r3labsConnection) finish() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.finished = true
}

func (c *r3labsConnection) Header() http.Header         { return c.writer.Header() }
func (c *r3labsConnection) WriteHeader(status int)      { c.writer.WriteHeader(status) }
func (c *r3labsConnection) Write(b []byte) (int, error) { return len(b), nil } // see Flush

// Flush ends an event. The first one comes before any: from then on the library keeps what is sent, so the backlog is
// written now and what was sent meanwhile follows it.
func (c *r3labsConnection) Flush() {
	if !c.begun {
		c.begun = true
		err := c.deadline()
		if err == nil {
			err = c.control.Flush()
		}
		if err == nil {
			err = c.ready(c, func(f frame) error { return c.put(f.bytes(), f.at.seq) })
		}
		if err != nil {
			c.cut()
		}
		return
	}
	if rest, seen := c.next().after(c.last); len(rest) > 0 {
		if err := c.put(rest, seen); err != nil {
			c.cut()
		}
	}
}

// put writes frames within their deadline. After a failure the rest is thrown away: the client comes back with the last id
// that it saw.
func (c *r3labsConnection) put(frames []byte, seen int64) error {
	if err := c.deadline(); err != nil {
		return err
	}
	if _, err := c.writer.Write(frames); err != nil {
		return err
	}
	if err := c.control.Flush(); err != nil {
		return err
	}
	c.last = max(c.last, seen)
	return nil
}

func (c *r3labsConnection) deadline() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.severed {
		return errCut
	}
	if err := c.control.SetWriteDeadline(time.Now().Add(frameWithin)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	return nil
}
