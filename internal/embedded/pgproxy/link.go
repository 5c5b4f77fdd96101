package pgproxy

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"time"
)

// Codes of the messages that come before a session, which have no type byte.
const (
	sslRequest    = 80877103
	gssEncRequest = 80877104
)

// largest message that is forwarded; a batch of statements is far below.
const largest = 256 << 20

// link is one client with its connection to the server.
type link struct {
	proxy  *Proxy
	client net.Conn
	server net.Conn
	ended  chan struct{} // the server's side is over

	mu      sync.Mutex
	swallow chan struct{} // not nil: answers are dropped, and closed when the server is ready again
	held    *Trap         // not nil: the next answer waits for its release

	statements map[string]bool // prepared statements that are a COMMIT; only the client's pump uses these
	portals    map[string]bool
}

func newLink(p *Proxy, client, server net.Conn) *link {
	return &link{proxy: p, client: client, server: server, ended: make(chan struct{}),
		statements: map[string]bool{}, portals: map[string]bool{}}
}

func (l *link) cut() {
	_ = l.client.Close() // closing twice is harmless, and nobody is left to be told
	_ = l.server.Close()
}

func (l *link) run() {
	var answers sync.WaitGroup
	answers.Go(func() {
		l.answers()
		close(l.ended)
		_ = l.client.Close()
	})
	l.requests()
	l.cut()
	answers.Wait()
}

// message is one protocol message as it is on the wire; kind 0 is one without type byte.
type message struct {
	kind byte
	wire []byte
}

func (m message) body() []byte {
	if m.kind == 0 {
		return m.wire[4:]
	}
	return m.wire[5:]
}

func read(r *bufio.Reader, typed bool) (message, error) {
	head := make([]byte, 4, 5)
	if typed {
		head = head[:5]
	}
	if _, err := io.ReadFull(r, head); err != nil {
		return message{}, err
	}
	m := message{}
	length := head
	if typed {
		m.kind, length = head[0], head[1:]
	}
	n := int(binary.BigEndian.Uint32(length))
	if n < 4 || n > largest {
		return message{}, fmt.Errorf("message of %d bytes", n)
	}
	m.wire = append(head, make([]byte, n-4)...)
	_, err := io.ReadFull(r, m.wire[len(head):])
	return m, err
}

// requests forwards what the client says until either side is gone.
func (l *link) requests() {
	r := bufio.NewReader(l.client)
	if err := l.startup(r); err != nil {
		return
	}
	for {
		m, err := read(r, true)
		if err != nil {
			return
		}
		if l.isCommit(m) {
			trap, delay := l.proxy.committing()
			switch {
			case trap != nil && trap.action == HoldAnswer:
				l.mu.Lock()
				l.held = trap
				l.mu.Unlock()
			case trap != nil:
				l.spring(trap, m, r)
				return
			}
			if delay > 0 && !l.hold(delay) {
				return
			}
		}
		if _, err := l.server.Write(m.wire); err != nil {
			return
		}
	}
}

// startup forwards the first message of a session, and declines encryption for the server.
func (l *link) startup(r *bufio.Reader) error {
	for {
		m, err := read(r, false)
		if err != nil {
			return err
		}
		if len(m.body()) < 4 {
			return errors.New("short startup message")
		}
		if code := binary.BigEndian.Uint32(m.body()); code == sslRequest || code == gssEncRequest {
			if _, err := l.client.Write([]byte{'N'}); err != nil {
				return err
			}
			continue
		}
		_, err = l.server.Write(m.wire)
		return err
	}
}

// hold waits; false when the server went meanwhile.
func (l *link) hold(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-l.ended:
		return false
	}
}

// answers forwards what the server says, or drops it while a trap wants that.
func (l *link) answers() {
	r := bufio.NewReader(l.server)
	defer func() {
		if held := l.takeHeld(); held != nil { // the session ended without an answer
			close(held.sprung)
			close(held.done)
		}
	}()
	for {
		m, err := read(r, true)
		if err != nil {
			return
		}
		l.mu.Lock()
		swallow := l.swallow
		if swallow != nil && m.kind == 'Z' { // ready for the next query: this one is answered
			close(swallow)
			l.swallow = nil
		}
		l.mu.Unlock()
		if swallow != nil {
			continue
		}
		if held := l.takeHeld(); held != nil { // with the first word of the answer: the server is through
			held.arrived = true
			close(held.sprung)
			select {
			case <-held.release:
			case <-l.proxy.stopping:
			}
			close(held.done)
		}
		if _, err := l.client.Write(m.wire); err != nil {
			return
		}
	}
}

// takeHeld gives the trap that waits for the answer that has just come, once.
func (l *link) takeHeld() *Trap {
	l.mu.Lock()
	defer l.mu.Unlock()
	held := l.held
	l.held = nil
	return held
}

// isCommit tells whether a message makes the server commit, and keeps track of prepared ones.
func (l *link) isCommit(m message) bool {
	switch m.kind {
	case 'Q':
		query, _ := text(m.body())
		return commits(query)
	case 'P':
		name, rest := text(m.body())
		query, _ := text(rest)
		l.statements[name] = commits(query)
	case 'B':
		portal, rest := text(m.body())
		statement, _ := text(rest)
		l.portals[portal] = l.statements[statement]
	case 'E':
		portal, _ := text(m.body())
		return l.portals[portal]
	}
	return false
}

func text(b []byte) (string, []byte) {
	s, rest, _ := bytes.Cut(b, []byte{0})
	return string(s), rest
}

func commits(query string) bool {
	q := strings.ToLower(strings.TrimRight(strings.TrimSpace(query), "; \n\t"))
	return q == "commit" || q == "end" || q == "commit transaction" || q == "commit work"
}

// spring does with a COMMIT what the trap is for. The link ends with it.
func (l *link) spring(t *Trap, m message, r *bufio.Reader) {
	defer close(t.done)
	switch t.action {
	case CutBefore:
		l.cut()
		close(t.sprung)
	case CutAfter:
		t.arrived = l.deliver(m, r)
		l.cut()
		close(t.sprung)
	case HangAfter:
		t.arrived = l.deliver(m, r)
		close(t.sprung)
		l.untilClientLeaves(r)
	case HoldBack:
		_ = l.client.Close()
		close(t.sprung)
		l.deliverLater(t, m)
	case HangBefore:
		close(t.sprung)
		l.deliverLater(t, m)
	}
}

// deliverLater waits for the release; a proxy that ends gives the COMMIT up.
func (l *link) deliverLater(t *Trap, m message) {
	select {
	case <-t.release:
		t.arrived = l.deliver(m, nil)
	case <-l.proxy.stopping:
	}
}

// deliver sends the COMMIT, with the Sync that belongs to a prepared one, drops the answer, and tells
// whether the server gave one.
func (l *link) deliver(m message, r *bufio.Reader) bool {
	answered := make(chan struct{})
	l.mu.Lock()
	l.swallow = answered
	l.mu.Unlock()
	if _, err := l.server.Write(m.wire); err != nil {
		return false
	}
	if m.kind == 'E' && !l.sync(r) {
		return false
	}
	select {
	case <-answered:
		return true
	case <-l.ended:
		select { // the answer may have come together with the end
		case <-answered:
			return true
		default:
			return false
		}
	}
}

// sync forwards the client's messages up to its Sync, or makes one when the client is gone.
func (l *link) sync(r *bufio.Reader) bool {
	for r != nil {
		m, err := read(r, true)
		if err != nil {
			break
		}
		if _, err := l.server.Write(m.wire); err != nil {
			return false
		}
		if m.kind == 'S' {
			return true
		}
	}
	_, err := l.server.Write([]byte{'S', 0, 0, 0, 4})
	return err == nil
}

// untilClientLeaves reads and drops, so that a client that hangs can still give up.
func (l *link) untilClientLeaves(r *bufio.Reader) {
	for {
		if _, err := read(r, true); err != nil {
			return
		}
	}
}
