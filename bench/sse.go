package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/r3labs/sse/v2"

	"surehand/api"
	"surehand/internal/dbstate/read"
	"surehand/internal/plant"
)

const (
	sseSubscribers = 1000
	// sseBurst events are shown at a time, as by a turn of that many messages; sseOpen bursts may be on their way, so
	// that neither side waits for the other, and no subscriber is behind by more than what is kept for it.
	sseBurst = 100
	sseOpen  = 2
	// sseDialling connections are opened at a time: each reads its snapshot from the database.
	sseDialling = 16
)

// stream1000: events a second that reach every one of 1,000 subscribers, by our hub and handler against
// github.com/r3labs/sse as its own documentation uses it, one stream for all. Both are served over loopback TCP, with the
// same event and the same client code, in this process: what the clients cost is in both figures. What counts is what
// subscribers have read, and a subscriber that was cut or missed one event ends the benchmark.
func stream1000(ctx context.Context, s *site) (round, error) {
	subscribers := s.options.scaled(sseSubscribers)
	if err := enoughFiles(2*subscribers + 500); err != nil {
		return nil, err
	}
	h, err := s.house(ctx, "stream", houseSpec{valves: 1, direct: true})
	if err != nil {
		return nil, err
	}
	reader, err := read.Open(ctx, s.cluster.url("stream"))
	if err != nil {
		return nil, err
	}
	s.closers = append(s.closers, reader.Close)
	return func(ctx context.Context) (float64, float64, error) {
		ours, sample, err := streamOurs(ctx, s, h, reader, subscribers)
		if err != nil {
			return 0, 0, fmt.Errorf("ours: %w", err)
		}
		plain, err := streamPlain(ctx, s, sample, subscribers)
		if err != nil {
			return 0, 0, fmt.Errorf("r3labs/sse: %w", err)
		}
		s.note("%d subscribers, events of %d bytes of JSON; deliveries/s: ours %.0f, plain %.0f", subscribers, len(sample),
			ours*float64(subscribers), plain*float64(subscribers))
		return ours, plain, nil
	}, nil
}

// enoughFiles: both ends of every connection are in this process.
func enoughFiles(wanted int) error {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return err
	}
	if limit.Cur < uint64(wanted) {
		return fmt.Errorf("%d open files are allowed, %d are needed: ulimit -n %d", limit.Cur, wanted, wanted)
	}
	return nil
}

// streamOurs measures the product's hub and handler; sample is the data of one event, as it was read.
func streamOurs(ctx context.Context, s *site, h *house, reader *read.Reader, subscribers int) (rate float64, sample []byte, err error) {
	serving, stop := context.WithCancel(ctx)
	hub := api.NewHub(reader, slog.New(slog.DiscardHandler), api.MaxClients(subscribers))
	handler := api.New(api.Options{Reader: reader, Post: h.loop.Post, Hub: hub, Version: "bench", Health: func() api.Health { return api.Health{Opened: true} }})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		stop()
		return 0, nil, err
	}
	var running sync.WaitGroup
	running.Go(func() { hub.Run(serving) })
	running.Go(func() { _ = api.Serve(serving, listener, handler, hub, nil) })
	defer func() { stop(); running.Wait() }()

	fence := h.loop.State().Fence()
	a, err := gather(ctx, listener.Addr().String(), "/api/v1/stream", subscribers)
	if err != nil {
		return 0, nil, err
	}
	defer a.leave()
	// The hub now learns where the log stands, and from then on each subscriber that has joined gets its heartbeats.
	hub.Show(plant.Committed{Fence: fence})
	if err := a.allListen(ctx); err != nil {
		return 0, nil, err
	}
	rate, err = a.play(ctx, s.options.window(), func() error {
		entries := make([]plant.Entry, sseBurst)
		for i := range entries {
			fence.Seq++
			entries[i] = eventOf(h, fence.Seq)
		}
		hub.Show(plant.Committed{Fence: fence, At: entries[0].At, Entries: entries})
		return nil
	})
	return rate, a.sample(), err
}

// eventOf is a row of the log as a device's answer makes it.
func eventOf(h *house, seq int64) plant.Entry {
	m := h.device(nil)
	return plant.Entry{Seq: seq, MessageID: m.ID, Type: "DeviceResponded", Source: string(m.Source), At: m.CreatedAt, CreatedAt: m.CreatedAt,
		Outcome: "accepted", Subject: "intent:" + string(m.ID)}
}

// streamPlain measures the library. It would keep every event for those who come back, which costs it nothing here.
func streamPlain(ctx context.Context, s *site, sample []byte, subscribers int) (float64, error) {
	server := sse.New()
	server.AutoReplay = false
	server.CreateStream("log")
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	web := &http.Server{Handler: server, ReadHeaderTimeout: 5 * time.Second}
	var running sync.WaitGroup
	running.Go(func() { _ = web.Serve(listener) })
	defer func() { _ = web.Close(); running.Wait(); server.Close() }()

	a, err := gather(ctx, listener.Addr().String(), "/?stream=log", subscribers)
	if err != nil {
		return 0, err
	}
	defer a.leave()
	server.Publish("log", &sse.Event{Event: []byte("heartbeat"), Data: []byte("{}")})
	if err := a.allListen(ctx); err != nil {
		return 0, err
	}
	seq := 0
	return a.play(ctx, s.options.window(), func() error {
		for range sseBurst {
			seq++
			server.Publish("log", &sse.Event{ID: fmt.Appendf(nil, "0190a0b0-c0d0-7000-8000-000000000001:%d", seq), Event: []byte("log"), Data: sample})
		}
		return nil
	})
}

// audience is all subscribers of one side.
type audience struct {
	members []*member
	reading sync.WaitGroup
	// arrived counts, by burst, who has read all of it; more bursts than that are never on their way.
	arrived   [2 * sseOpen]atomic.Int64
	whole     chan struct{} // one a burst that everybody has
	listening chan struct{} // one a member, at its first heartbeat
	failed    chan error
	leaving   atomic.Bool
}

// member is one subscriber: a connection that is read, and nothing else.
type member struct {
	conn net.Conn
	body *bufio.Reader
	read int // events so far
	// sample is the data of its first event.
	sample []byte
}

// gather connects subscribers. The answer's header has come from each when it returns.
func gather(ctx context.Context, address, path string, n int) (*audience, error) {
	a := &audience{members: make([]*member, n), whole: make(chan struct{}, 2*sseOpen), listening: make(chan struct{}, n), failed: make(chan error, n)}
	places := make(chan struct{}, sseDialling)
	var dialling sync.WaitGroup
	errs := make([]error, n)
	for i := range n {
		places <- struct{}{}
		dialling.Go(func() {
			defer func() { <-places }()
			a.members[i], errs[i] = subscribe(ctx, address, path)
		})
	}
	dialling.Wait()
	if err := errors.Join(errs...); err != nil {
		a.leave()
		return nil, err
	}
	for _, m := range a.members {
		a.reading.Go(func() {
			if err := m.follow(a); !a.leaving.Load() {
				a.failed <- fmt.Errorf("a subscriber lost its stream after %d events: %w", m.read, err)
			}
		})
	}
	return a, nil
}

func subscribe(ctx context.Context, address, path string) (*member, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	if _, err := fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: %s\r\nAccept: text/event-stream\r\n\r\n", path, address); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	response, err := http.ReadResponse(bufio.NewReaderSize(conn, 16<<10), nil)
	if err == nil && response.StatusCode != http.StatusOK {
		err = errors.New(response.Status)
	}
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return &member{conn: conn, body: bufio.NewReaderSize(response.Body, 16<<10)}, nil
}

// follow reads the stream to its end, and says what ended it. An event counts when the empty line after it has come.
func (m *member) follow(a *audience) error {
	name, data, listens := "", []byte(nil), false
	for {
		line, err := m.body.ReadSlice('\n')
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) { // a snapshot may be longer than the buffer: it is no event
			return err
		}
		switch {
		case bytes.HasPrefix(line, []byte("event: ")):
			name = string(bytes.TrimSpace(line[len("event: "):]))
		case m.sample == nil && bytes.HasPrefix(line, []byte("data: ")):
			data = bytes.Clone(bytes.TrimSpace(line[len("data: "):]))
		case len(line) > 1:
		case name == "log":
			if m.read++; m.sample == nil {
				m.sample = data
			}
			a.counted(m.read)
			name = ""
		case name == "heartbeat" && !listens:
			listens = true
			a.listening <- struct{}{}
			name = ""
		default:
			name = ""
		}
	}
}

// counted tells when a burst has reached everybody.
func (a *audience) counted(read int) {
	if read%sseBurst != 0 {
		return
	}
	burst := &a.arrived[read/sseBurst%len(a.arrived)]
	if burst.Add(1) == int64(len(a.members)) {
		burst.Store(0)
		a.whole <- struct{}{}
	}
}

// allListen waits until each member has had a heartbeat: from then on it gets every event.
func (a *audience) allListen(ctx context.Context) error {
	for range a.members {
		if err := a.await(ctx, a.listening); err != nil {
			return fmt.Errorf("not everybody listens: %w", err)
		}
	}
	return nil
}

// play shows bursts for a while, and then waits until everybody has everything.
func (a *audience) play(ctx context.Context, window time.Duration, show func() error) (eventsPerSecond float64, err error) {
	began := time.Now()
	shown, open := 0, 0
	for {
		over := time.Since(began) >= window
		switch {
		case over && open == 0:
			wall := time.Since(began).Seconds()
			return float64(shown) / wall, nil
		case !over && open < sseOpen:
			if err := show(); err != nil {
				return 0, err
			}
			shown, open = shown+sseBurst, open+1
		default:
			if err := a.await(ctx, a.whole); err != nil {
				return 0, err
			}
			open--
		}
	}
}

func (a *audience) await(ctx context.Context, what <-chan struct{}) error {
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case <-what:
		return nil
	case err := <-a.failed:
		return err
	case <-late.C:
		return fmt.Errorf("nothing came for %s", patience)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// sample is the data of an event as the first member has read it. Nobody reads any more when it is asked for.
func (a *audience) sample() []byte { a.leave(); return a.members[0].sample }

func (a *audience) leave() {
	a.leaving.Store(true)
	for _, m := range a.members {
		if m != nil {
			_ = m.conn.Close()
		}
	}
	a.reading.Wait()
	for _, err := range drained(a.failed) {
		fmt.Fprintln(os.Stderr, "bench: sse_1000:", err)
	}
}

// drained takes what is in a channel.
func drained[T any](c <-chan T) (all []T) {
	for {
		select {
		case v := <-c:
			all = append(all, v)
		default:
			return all
		}
	}
}
