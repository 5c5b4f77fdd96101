package api

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"surehand/internal/plant"
	"surehand/internal/term"
)

const (
	// hubRoom is how many turns may wait for the hub; more are read again from the event log.
	hubRoom = 1024
	// maxClients of the stream in this process, unless MaxClients says otherwise.
	maxClients = 200
	// valuesEvery is how often live values are shown, and heartbeatTicks of these make a heartbeat.
	valuesEvery    = 250 * time.Millisecond
	heartbeatTicks = 4
	// logPage is how many rows of the event log are read at once.
	logPage = 500
	// maxBacklog is how many missed rows are shown again; a client further behind starts anew.
	maxBacklog = 10_000
	// refillWithin bounds one reading of rows that the hub itself missed.
	refillWithin = 5 * time.Second
)

// transport carries one client's stream; hub_r3labs.go is the one there is.
type transport interface {
	// serve runs a client's stream until it is cut or leaves. It calls ready once, in the calling goroutine, when
	// what is sent to the connection is kept for the client; direct writes a frame before all of that. A frame
	// whose position the client has seen already is passed over, but for a heartbeat.
	serve(w http.ResponseWriter, r *http.Request, ready func(c connection, direct func(frame) error) error)
}

// connection is a client as the hub knows it. Neither method waits.
type connection interface {
	send(*parcel) bool // false: no room
	cut()
}

// client is one connection with what it wants to see. It is in the hub's list from join to leave.
type client struct {
	connection
	topics topics
}

// Hub shows what was committed to all clients of the stream. It keeps no history: what a client missed, or the
// hub itself, is read from the event log.
type Hub struct {
	reader    Reader
	log       *slog.Logger
	transport transport
	shown     chan plant.Committed
	room      int         // streams at a time
	overflow  atomic.Bool // turns were dropped: clients have to read values again

	mu       sync.Mutex // never held while waiting
	head     position   // of the last row shown; zero until the loop's first turn
	epoch    int64
	links    map[plant.Link]bool
	clients  map[*client]struct{}
	admitted int
	closed   bool
	watchers map[term.IntentID]map[chan *plant.Intent]struct{}
	values   conflated
	beats    int
}

// HubOption changes what a hub does by default.
type HubOption func(*Hub)

// MaxClients is how many streams there may be at a time; 200 by default.
func MaxClients(n int) HubOption { return func(h *Hub) { h.room = n } }

// NewHub makes a hub; Run has to run it.
func NewHub(reader Reader, log *slog.Logger, options ...HubOption) *Hub {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	h := &Hub{reader: reader, log: log, transport: newR3labs(), shown: make(chan plant.Committed, hubRoom), room: maxClients, links: map[plant.Link]bool{},
		clients: map[*client]struct{}{}, watchers: map[term.IntentID]map[chan *plant.Intent]struct{}{}}
	for _, o := range options {
		o(h)
	}
	return h
}

// Show takes a committed turn. It never waits: what finds no room is read again from the event log.
func (h *Hub) Show(c plant.Committed) {
	select {
	case h.shown <- c:
	default:
		h.overflow.Store(true)
	}
}

// Run shows turns to clients until the context ends, then ends all streams.
func (h *Hub) Run(ctx context.Context) {
	ticker := time.NewTicker(valuesEvery)
	defer ticker.Stop()
	h.run(ctx, ticker.C)
}

func (h *Hub) run(ctx context.Context, ticks <-chan time.Time) {
	defer h.Close()
	for {
		select {
		case c := <-h.shown:
			h.take(ctx, c)
		case at := <-ticks:
			h.tick(ctx, at)
		case <-ctx.Done():
			return
		}
	}
}

// Close ends all streams and lets no new one begin. Streams have to end before a server can shut down.
func (h *Hub) Close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	h.cutAll()
}

// Clients counts the open streams.
func (h *Hub) Clients() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.admitted
}

// take shows one turn. Rows that the hub did not get, because it was too slow, are read before it.
func (h *Hub) take(ctx context.Context, c plant.Committed) {
	h.mu.Lock()
	h.epoch = c.Fence.Epoch
	first := c.Fence.Seq + 1
	if len(c.Entries) > 0 {
		first = c.Entries[0].Seq
	}
	switch {
	case h.head.generation == "":
		h.head = position{c.Fence.Generation, first - 1}
	case h.head.generation != c.Fence.Generation:
		h.log.Warn("a new generation of the event log: all streams start anew", "generation", c.Fence.Generation, "clients", len(h.clients))
		h.head = position{c.Fence.Generation, first - 1}
		h.cutAll() // they come back with an id of the old generation and are told to reset
	}
	behind := first > h.head.seq+1
	h.mu.Unlock()
	if behind {
		h.refill(ctx, first-1)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.show(c.Entries)
	h.takeLinks(c.Counts)
	for _, change := range c.Changes {
		switch after := change.After.(type) {
		case *plant.Intent:
			for news := range h.watchers[after.ID] {
				conflate(news, after)
			}
		case *plant.Endpoint:
			before, _ := change.Before.(*plant.Endpoint)
			if len(h.clients) > 0 && !after.ReceivedAt.IsZero() && (before == nil || before.ReceivedAt != after.ReceivedAt || before.Value != after.Value) {
				h.values.put(after)
			}
		}
	}
}

// show gives rows to all clients, in order. What clients with the same topics get is written once, and leaves for each of
// them at once: with many screens, formatting and flushing row by row is what costs. The lock is held.
func (h *Hub) show(entries []plant.Entry) {
	frames, about := make([]frame, 0, len(entries)), make([]topics, 0, len(entries))
	for i := range entries {
		e := &entries[i]
		if e.Seq <= h.head.seq {
			continue // a refill has shown it
		}
		h.head.seq = e.Seq
		if len(h.clients) > 0 {
			frames, about = append(frames, entryFrame(h.head.generation, e)), append(about, topicsOf(e))
		}
	}
	parcels := map[topics]*parcel{}
	for c := range h.clients {
		p, packed := parcels[c.topics]
		if !packed {
			p = pack(frames, func(i int) bool { return about[i]&c.topics != 0 })
			parcels[c.topics] = p
		}
		h.give(c, p)
	}
}

// refill shows rows up to a seq that the hub missed; 0: all there are. What cannot be read is for each client
// to read: all are cut and come back with the last id that they saw.
func (h *Hub) refill(ctx context.Context, to int64) {
	ctx, cancel := context.WithTimeout(ctx, refillWithin)
	defer cancel()
	h.mu.Lock()
	head, clients := h.head, len(h.clients)
	h.mu.Unlock()
	var err error
	for clients > 0 && (to == 0 || head.seq < to) {
		var page []plant.Entry
		if page, _, err = h.reader.LogAfter(ctx, head.generation, head.seq, logPage); err != nil {
			break
		}
		h.mu.Lock()
		h.show(page)
		head = h.head
		h.mu.Unlock()
		if len(page) < logPage {
			break
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.clients) > 0 && (err != nil || h.head.seq < to) {
		h.log.Warn("rows that the stream missed cannot be read; every client reads them for itself", "after", h.head.seq, "to", to, "error", err)
		h.cutAll()
	}
	h.head.seq = max(h.head.seq, to)
}

// tick shows the live values that changed since the last one, and each second a heartbeat.
func (h *Hub) tick(ctx context.Context, at time.Time) {
	resync := h.overflow.Swap(false)
	h.mu.Lock()
	known := h.head.generation != ""
	h.mu.Unlock()
	if !known {
		return // until the loop's first turn there is nothing that a screen could call live
	}
	if resync {
		h.log.Warn("the stream was too slow for the loop; clients are told to read again what has no id")
		h.refill(ctx, 0)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if resync {
		h.send(jsonFrame("resync", resyncEvent{Reason: "overflow"}), allTopics)
	}
	if values := h.values.take(maxValues); len(values) > 0 {
		h.send(jsonFrame("values", valuesEvent{Values: values}), topicDevices)
	}
	if h.beats++; h.beats >= heartbeatTicks {
		h.beats = 0
		f := jsonFrame("heartbeat", heartbeatEvent{Generation: h.head.generation, Seq: h.head.seq, At: plant.Micros(at)})
		f.at = h.head
		h.send(f, allTopics)
	}
}

// takeLinks keeps the state of the broker connections, which is of this process life and has no row.
func (h *Hub) takeLinks(counts []plant.Count) {
	changed := false
	for _, c := range counts {
		if link, up, ok := linkOf(c); ok {
			h.links[link] = up
			changed = true
		}
	}
	if changed {
		h.send(jsonFrame("links", linksEvent{Links: h.linkWords()}), topicLinks)
	}
}

// send gives a frame to every client that wants it.
func (h *Hub) send(f frame, t topics) {
	p := pack([]frame{f}, nil)
	for c := range h.clients {
		if c.topics&t != 0 {
			h.give(c, p)
		}
	}
}

// give hands a client its frames; one without room is cut, never waited for.
func (h *Hub) give(c *client, p *parcel) {
	if len(p.frames) > 0 && !c.send(p) {
		h.log.Info("a client of the stream does not read and was cut")
		c.cut()
		delete(h.clients, c)
	}
}

func (h *Hub) cutAll() {
	for c := range h.clients {
		c.cut()
	}
	clear(h.clients)
	h.values = conflated{}
}

// admit counts a client that wants a stream; false: there is no room, or the hub is closed.
func (h *Hub) admit() (full, closed bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed || h.admitted >= h.room {
		return !h.closed, h.closed
	}
	h.admitted++
	return false, false
}

func (h *Hub) dismiss() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.admitted--
}

// join lets a client have every row after the returned position.
func (h *Hub) join(c *client) (position, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return position{}, false
	}
	h.clients[c] = struct{}{}
	return h.head, true
}

func (h *Hub) leave(c *client) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.clients, c)
}

// watch tells of the newest version of one command until leave is called.
func (h *Hub) watch(id term.IntentID) (news <-chan *plant.Intent, leave func()) {
	c := make(chan *plant.Intent, 1)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.watchers[id] == nil {
		h.watchers[id] = map[chan *plant.Intent]struct{}{}
	}
	h.watchers[id][c] = struct{}{}
	return c, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if delete(h.watchers[id], c); len(h.watchers[id]) == 0 {
			delete(h.watchers, id)
		}
	}
}

// conflate leaves the newest value in a channel of room 1 with one sender.
func conflate[T any](c chan T, v T) {
	select {
	case <-c:
	default:
	}
	c <- v
}

func (h *Hub) linkWords() map[string]string {
	words := map[string]string{}
	for _, l := range []plant.Link{plant.LinkTelemetry, plant.LinkAnswers, plant.LinkCommands} {
		word := "unknown"
		if up, known := h.links[l]; known {
			word = map[bool]string{true: "up", false: "down"}[up]
		}
		words[string(l)] = word
	}
	return words
}

// Links tells the state of the broker connections: up, down, or unknown before the first word of them.
func (h *Hub) Links() map[string]string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.linkWords()
}
