package opcua_test

import (
	"encoding/binary"
	"io"
	"net"
	"sync"
	"testing"
	"time"
)

// proxy stands between the driver and a server. What it passes on to the server it knows nothing of; of what comes back it
// knows where a chunk ends.
type proxy struct {
	server   string
	listener net.Listener

	mu     sync.Mutex
	down   bool                      // ends connections at once
	silent bool                      // takes everything and passes nothing on, on every connection that there is or will be
	alter  func(chunk []byte) []byte // what becomes of a chunk on its way to the driver; nil: it stays
	open   map[net.Conn]bool
	taken  int // connections
	change chan struct{}
}

func newProxy(t *testing.T, server string) *proxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{server: server, listener: listener, open: map[net.Conn]bool{}, change: make(chan struct{})}
	go p.accept()
	t.Cleanup(func() { _ = listener.Close(); p.cut() })
	return p
}

func (p *proxy) address() string { return p.listener.Addr().String() }

func (p *proxy) set(change func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change()
}

func (p *proxy) cut() {
	p.set(func() {
		p.down = true
		for c := range p.open {
			_ = c.Close()
		}
	})
}

func (p *proxy) heal() { p.set(func() { p.down = false }) }

// hush keeps what is open open, and silent for good; new connections too, until speak.
func (p *proxy) hush() { p.set(func() { p.silent = true }) }

func (p *proxy) speak() { p.set(func() { p.silent = false }) }

// connections counts those that were taken.
func (p *proxy) connections() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.taken
}

// awaitConnections waits until so many were taken.
func (p *proxy) awaitConnections(t *testing.T, count int) {
	for giveUp := time.After(patience); ; {
		p.mu.Lock()
		taken, change := p.taken, p.change
		p.mu.Unlock()
		if taken >= count {
			return
		}
		select {
		case <-change:
		case <-giveUp:
			t.Errorf("%d connections in %s, want %d", taken, patience, count)
			return
		}
	}
}

func (p *proxy) accept() {
	for {
		c, err := p.listener.Accept()
		if err != nil {
			return
		}
		go p.join(c)
	}
}

func (p *proxy) admit(c net.Conn, client bool) (silent, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.down {
		_ = c.Close()
		return false, false
	}
	p.open[c] = true
	if client {
		p.taken++
		close(p.change)
		p.change = make(chan struct{})
	}
	return p.silent, true
}

func (p *proxy) leave(c net.Conn) {
	p.set(func() { delete(p.open, c) })
	_ = c.Close()
}

func (p *proxy) join(client net.Conn) {
	silent, ok := p.admit(client, true)
	if !ok {
		return
	}
	defer p.leave(client)
	if silent {
		_, _ = io.Copy(io.Discard, client)
		return
	}
	server, err := net.Dial("tcp", p.server)
	if err != nil {
		return
	}
	if _, ok := p.admit(server, false); !ok {
		return
	}
	defer p.leave(server)
	go func() {
		p.answers(client, server)
		_ = client.Close()
	}()
	p.pass(server, client)
}

// answers passes on chunk by chunk, and alters them if somebody wants that.
func (p *proxy) answers(to, from net.Conn) {
	for silent := false; ; {
		chunk := make([]byte, 8)
		if _, err := io.ReadFull(from, chunk); err != nil {
			return
		}
		chunk = append(chunk, make([]byte, binary.LittleEndian.Uint32(chunk[4:])-8)...)
		if _, err := io.ReadFull(from, chunk[8:]); err != nil {
			return
		}
		var alter func([]byte) []byte
		p.set(func() { silent, alter = silent || p.silent, p.alter })
		if silent {
			continue
		}
		if alter != nil {
			chunk = alter(chunk)
		}
		if _, err := to.Write(chunk); err != nil {
			return
		}
	}
}

// pass copies until either side ends, or for good into nothing once the proxy has fallen silent.
func (p *proxy) pass(to, from net.Conn) {
	buffer, silent := make([]byte, 1<<16), false
	for {
		n, err := from.Read(buffer)
		if err != nil {
			return
		}
		p.set(func() { silent = silent || p.silent })
		if silent {
			continue
		}
		if _, err := to.Write(buffer[:n]); err != nil {
			return
		}
	}
}
