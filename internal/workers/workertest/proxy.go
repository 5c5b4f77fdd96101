package workertest

import (
	"encoding/binary"
	"io"
	"net"
	"sync"
	"testing"
	"time"
)

// Request is one Modbus request on its way through a Proxy.
type Request struct {
	Function byte
	Address  int
	Values   []uint16 // of a write
}

// Fate of a request.
type Fate struct {
	Drop    bool          // the server does not get it
	Hold    time.Duration // the server gets it later
	Silent  bool          // its answer is dropped
	Doubled bool          // its answer comes twice
	Late    time.Duration // its answer comes later, and may be overtaken
}

// Proxy stands between a Modbus client and its server.
type Proxy struct {
	server   string
	listener net.Listener

	mu     sync.Mutex
	fate   func(Request) Fate
	writes int
	down   bool
	open   map[net.Conn]bool
}

// NewProxy listens until the test ends.
func NewProxy(t *testing.T, server string) *Proxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{server: server, listener: listener, open: map[net.Conn]bool{}}
	go p.accept()
	t.Cleanup(func() { _ = listener.Close(); p.Cut() })
	return p
}

// Address for the client.
func (p *Proxy) Address() string { return p.listener.Addr().String() }

// Judge sets the fate of each request to come; nil: all pass.
func (p *Proxy) Judge(fate func(Request) Fate) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fate = fate
}

// Writes counts the writes that came.
func (p *Proxy) Writes() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.writes
}

// Cut ends every connection; new ones are ended at once.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.down = true
	for c := range p.open {
		_ = c.Close()
	}
}

// Heal takes connections again.
func (p *Proxy) Heal() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.down = false
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		go p.join(client)
	}
}

func (p *Proxy) admit(c net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.down {
		_ = c.Close()
		return false
	}
	p.open[c] = true
	return true
}

func (p *Proxy) leave(c net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.open, c)
	_ = c.Close()
}

func (p *Proxy) join(client net.Conn) {
	if !p.admit(client) {
		return
	}
	defer p.leave(client)
	server, err := net.Dial("tcp", p.server)
	if err != nil || !p.admit(server) {
		return
	}
	defer p.leave(server)
	j := &joint{client: client, server: server, fates: map[uint16]Fate{}}
	go func() { j.answers(); _ = client.Close() }()
	for {
		frame, err := readFrame(client)
		if err != nil || len(frame) < 12 {
			return
		}
		j.request(frame, p.judge(frame))
	}
}

func (p *Proxy) judge(frame []byte) Fate {
	r := Request{Function: frame[7], Address: int(binary.BigEndian.Uint16(frame[8:]))}
	switch r.Function {
	case 6:
		r.Values = []uint16{binary.BigEndian.Uint16(frame[10:])}
	case 16:
		for at := 13; at < len(frame); at += 2 {
			r.Values = append(r.Values, binary.BigEndian.Uint16(frame[at:]))
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if r.Values != nil {
		p.writes++
	}
	if p.fate == nil {
		return Fate{}
	}
	return p.fate(r)
}

// joint is one client's connection, passed on.
type joint struct {
	client, server net.Conn
	mu             sync.Mutex // of both directions' writes, and fates
	fates          map[uint16]Fate
}

func (j *joint) request(frame []byte, f Fate) {
	if f.Drop {
		return
	}
	j.mu.Lock()
	j.fates[binary.BigEndian.Uint16(frame)] = f
	j.mu.Unlock()
	if f.Hold > 0 {
		time.AfterFunc(f.Hold, func() { j.send(j.server, frame) })
		return
	}
	j.send(j.server, frame)
}

func (j *joint) answers() {
	for {
		frame, err := readFrame(j.server)
		if err != nil {
			return
		}
		j.mu.Lock()
		f := j.fates[binary.BigEndian.Uint16(frame)]
		j.mu.Unlock()
		switch {
		case f.Silent:
		case f.Late > 0:
			time.AfterFunc(f.Late, func() { j.send(j.client, frame) })
		case f.Doubled:
			j.send(j.client, append(frame[:len(frame):len(frame)], frame...))
		default:
			j.send(j.client, frame)
		}
	}
}

// send ignores that the other side has gone: both directions then end by themselves.
func (j *joint) send(to net.Conn, frame []byte) {
	j.mu.Lock()
	defer j.mu.Unlock()
	_, _ = to.Write(frame)
}

func readFrame(r io.Reader) ([]byte, error) {
	frame := make([]byte, 7, 260)
	if _, err := io.ReadFull(r, frame); err != nil {
		return nil, err
	}
	frame = frame[:6+int(binary.BigEndian.Uint16(frame[4:]))]
	_, err := io.ReadFull(r, frame[7:])
	return frame, err
}
