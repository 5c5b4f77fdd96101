package mqttrpc_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/eclipse/paho.golang/paho"

	"surehand/internal/message"
	"surehand/internal/workers"
	"surehand/internal/workers/mqttrpc"
)

// patience ends a test that waits for what never comes; no test measures it.
const patience = 60 * time.Second

// signal wakes whoever waits for a condition over shared data.
type signal struct {
	mu      sync.Mutex
	changed chan struct{}
}

func newSignal() *signal { return &signal{changed: make(chan struct{})} }

// with changes the data and wakes all who wait.
func (s *signal) with(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
	close(s.changed)
	s.changed = make(chan struct{})
}

func (s *signal) await(t *testing.T, what string, holds func() bool) {
	t.Helper()
	late := time.NewTimer(patience)
	defer late.Stop()
	for {
		s.mu.Lock()
		ok, changed := holds(), s.changed
		s.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-changed:
		case <-late.C:
			t.Fatalf("waited in vain: %s", what)
		}
	}
}

// loop is the event loop as the driver sees it: an inbox with room, and answers when the test says so.
type loop struct {
	*signal
	room   int // messages that it still takes; below 0: all
	auto   bool
	all    []message.Message
	full   int // refused
	counts map[string]int
}

func newLoop(auto bool) *loop {
	return &loop{signal: newSignal(), room: -1, auto: auto, counts: map[string]int{}}
}

func (l *loop) Post(m message.Message) (taken bool) {
	l.with(func() {
		if l.room == 0 {
			l.full++
			return
		}
		l.room--
		l.all = append(l.all, m)
		taken = true
		if l.auto {
			reply(m)
		}
	})
	return taken
}

// reply never waits, as the loop never does.
func reply(m message.Message) {
	if m.Reply == nil {
		return
	}
	select {
	case m.Reply <- message.Answer{MessageID: m.ID, Outcome: message.Outcome{Code: message.Accepted}}:
	default:
		panic("no room for the loop's answer")
	}
}

func (l *loop) Count(name, label string) { l.with(func() { l.counts[name+" "+label]++ }) }

// awaitCount waits until something was counted n times.
func (l *loop) awaitCount(t *testing.T, name string, n int) {
	t.Helper()
	l.await(t, fmt.Sprintf("%d times %s", n, name), func() bool { return l.counts[name] >= n })
}

// awaitPayloads waits for n messages of one type and returns all of them so far.
func awaitPayloads[P message.Payload](t *testing.T, l *loop, n int) []P {
	t.Helper()
	var found []P
	l.await(t, fmt.Sprintf("%d messages %T", n, *new(P)), func() bool { found = payloads[P](l); return len(found) >= n })
	return found
}

// payloads are those of one type; the caller holds the lock, or nobody posts any more.
func payloads[P message.Payload](l *loop) (found []P) {
	for _, m := range l.all {
		if p, ok := m.Payload.(P); ok {
			found = append(found, p)
		}
	}
	return found
}

func (l *loop) messages() []message.Message {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]message.Message(nil), l.all...)
}

type wallClock struct{}

func (wallClock) Now() time.Time { return time.Now() }

var lastID atomic.Int64

func newID(time.Time) string { return fmt.Sprintf("message-%d", lastID.Add(1)) }

// newDriver makes a driver whose reconnects are quick.
func newDriver(t *testing.T, address string, l *loop, change ...func(*mqttrpc.Options)) *mqttrpc.Driver {
	t.Helper()
	o := mqttrpc.Options{URL: "mqtt://" + address, Installation: "plant-1", Poster: l, Clock: wallClock{}, NewID: newID,
		Count: l.Count, RedialAfter: time.Millisecond, RedialAtMost: 20 * time.Millisecond}
	for _, c := range change {
		c(&o)
	}
	d, err := mqttrpc.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(t, d) })
	return d
}

func start(t *testing.T, d *mqttrpc.Driver) {
	t.Helper()
	if err := d.Start(context.Background()); err != nil {
		t.Fatal(err)
	}
}

// stop stops a driver whose loop may be deaf.
func stop(t *testing.T, d *mqttrpc.Driver) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_ = d.Stop(ctx) // an error says that the deaf loop did not take everything
}

// startUp starts a driver and waits until all three links are up and what had queued has come.
func startUp(t *testing.T, address string, l *loop, change ...func(*mqttrpc.Options)) *mqttrpc.Driver {
	t.Helper()
	d := newDriver(t, address, l, change...)
	start(t, d)
	awaitPayloads[message.SessionDrained](t, l, 2)
	l.awaitCount(t, "mqtt_up commands", 1)
	return d
}

// peer is a client of the broker that shares nothing with the driver.
type peer struct {
	*signal
	client   *paho.Client
	received []*paho.Publish
	on       func(*paho.Publish)
}

func newPeer(t *testing.T, address, id string, on func(*paho.Publish)) *peer {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	p := &peer{signal: newSignal(), on: on}
	p.client = paho.NewClient(paho.ClientConfig{Conn: conn, ClientID: id, PacketTimeout: patience,
		OnPublishReceived: []func(paho.PublishReceived) (bool, error){func(r paho.PublishReceived) (bool, error) {
			p.with(func() { p.received = append(p.received, r.Packet) })
			if p.on != nil {
				p.on(r.Packet)
			}
			return true, nil
		}}})
	if _, err := p.client.Connect(context.Background(), &paho.Connect{ClientID: id, CleanStart: true, KeepAlive: 30}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.client.Disconnect(&paho.Disconnect{}) }) // its broker may be gone
	return p
}

func (p *peer) subscribe(t *testing.T, topic string) {
	t.Helper()
	s := &paho.Subscribe{Subscriptions: []paho.SubscribeOptions{{Topic: topic, QoS: 1}}}
	if _, err := p.client.Subscribe(context.Background(), s); err != nil {
		t.Fatal(err)
	}
}

func (p *peer) say(t *testing.T, topic, payload string, more ...func(*paho.Publish)) {
	t.Helper()
	m := &paho.Publish{Topic: topic, Payload: []byte(payload), QoS: 1}
	for _, f := range more {
		f(m)
	}
	if _, err := p.client.Publish(context.Background(), m); err != nil {
		t.Fatalf("publish to %s: %v", topic, err)
	}
}

func retained(m *paho.Publish) { m.Retain = true }
func qos0(m *paho.Publish)     { m.QoS = 0 }

// awaitReceived waits for n messages and returns all so far.
func (p *peer) awaitReceived(t *testing.T, n int) []*paho.Publish {
	t.Helper()
	var got []*paho.Publish
	p.await(t, fmt.Sprintf("%d messages at the peer", n), func() bool {
		got = append([]*paho.Publish(nil), p.received...)
		return len(got) >= n
	})
	return got
}

// proxy stands between the driver and its broker and can hold back, swallow or cut.
type proxy struct {
	*signal
	listener net.Listener
	target   string
	holding  bool // bytes of the broker wait
	swallow  bool // bytes of the broker are dropped
	refuse   bool // new connections are closed at once
	conns    map[net.Conn]bool
	opened   int
}

func newProxy(t *testing.T, target string) *proxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{signal: newSignal(), listener: listener, target: target, conns: map[net.Conn]bool{}}
	var running sync.WaitGroup
	running.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			running.Go(func() { p.serve(client) })
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		p.with(func() { p.holding, p.refuse = false, true })
		p.cut()
		running.Wait()
	})
	return p
}

func (p *proxy) address() string { return p.listener.Addr().String() }

func (p *proxy) serve(client net.Conn) {
	defer client.Close()
	broker, err := net.Dial("tcp", p.target)
	if err != nil {
		return
	}
	defer broker.Close()
	refused := false
	p.with(func() {
		if refused = p.refuse; !refused {
			p.conns[client], p.conns[broker] = true, true
			p.opened++
		}
	})
	if refused {
		return
	}
	defer p.with(func() { delete(p.conns, client); delete(p.conns, broker) })
	go func() {
		_, _ = io.Copy(broker, client) // ends with either connection
		_ = broker.Close()
	}()
	buffer := make([]byte, 64<<10)
	for {
		n, err := broker.Read(buffer)
		if n > 0 && p.forward() {
			if _, err := client.Write(buffer[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// forward waits while bytes are held back, and tells whether to pass them on.
func (p *proxy) forward() bool {
	for {
		p.mu.Lock()
		holding, swallow, changed := p.holding, p.swallow, p.changed
		p.mu.Unlock()
		if swallow || !holding {
			return !swallow
		}
		<-changed
	}
}

func (p *proxy) set(change func()) { p.with(change) }

// cut ends all connections, without a word in either direction.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		_ = c.Close()
	}
}

var _ workers.Poster = (*loop)(nil)
