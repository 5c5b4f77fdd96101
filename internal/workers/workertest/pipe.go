package workertest

import (
	"io"
	"net"
	"sync"
	"testing"
)

// Pipe stands between a client and its server, whatever they speak, and can be cut.
type Pipe struct {
	server   string
	listener net.Listener

	mu   sync.Mutex
	down bool
	deaf bool // what the client says is dropped
	open map[net.Conn]bool
}

// NewPipe listens until the test ends.
func NewPipe(t *testing.T, server string) *Pipe {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &Pipe{server: server, listener: listener, open: map[net.Conn]bool{}}
	go p.accept()
	t.Cleanup(func() { _ = listener.Close(); p.Cut() })
	return p
}

// Address for the client.
func (p *Pipe) Address() string { return p.listener.Addr().String() }

// Cut ends every connection; new ones are ended at once.
func (p *Pipe) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.down = true
	for c := range p.open {
		_ = c.Close()
	}
}

// Heal takes connections again.
func (p *Pipe) Heal() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.down = false
}

// Deafen drops what clients say from now on, or no longer.
func (p *Pipe) Deafen(deaf bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.deaf = deaf
}

func (p *Pipe) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		go p.join(client)
	}
}

func (p *Pipe) join(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("tcp", p.server)
	if err != nil {
		return
	}
	defer server.Close()
	if !p.admit(client, server) {
		return
	}
	defer p.leave(client, server)
	go func() {
		_, _ = io.Copy(client, server) // ends with either connection
		_ = client.Close()
	}()
	buffer := make([]byte, 32<<10)
	for {
		n, err := client.Read(buffer)
		if n > 0 && !p.isDeaf() {
			_, _ = server.Write(buffer[:n])
		}
		if err != nil {
			return
		}
	}
}

func (p *Pipe) isDeaf() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.deaf
}

func (p *Pipe) admit(both ...net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range both {
		p.open[c] = true
	}
	return !p.down
}

func (p *Pipe) leave(both ...net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range both {
		delete(p.open, c)
	}
}
