package pgproxy

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// Action is what a trap does with a COMMIT.
type Action int

const (
	// CutBefore drops the connection on both sides; the COMMIT never reaches the server.
	CutBefore Action = iota
	// CutAfter lets the server commit and answer, and drops the connection before the client hears it.
	CutAfter
	// HoldBack drops the client and keeps the COMMIT on its way: Release lets it arrive.
	HoldBack
	// HangBefore leaves the client waiting and keeps the COMMIT on its way: Release lets it arrive.
	HangBefore
	// HangAfter lets the server commit and leaves the client waiting for an answer that never comes.
	HangAfter
	// HoldAnswer lets the server commit and keeps its answer on its way: Release lets it arrive, and the
	// session goes on as if the network had only been slow.
	HoldAnswer
)

func (a Action) String() string {
	return [...]string{"cut before", "cut after", "hold back", "hang before", "hang after", "hold answer"}[a]
}

// Counts of what the proxy saw and did.
type Counts struct {
	Connections int // accepted
	Refused     int
	Commits     int // seen, trapped ones included
	Trapped     int
	Cut         int // connections dropped by Cut or a trap
}

// Proxy forwards connections to one server. Its methods may be called from several goroutines.
type Proxy struct {
	listener net.Listener
	network  string
	address  string
	url      url.URL
	running  sync.WaitGroup
	stopping chan struct{}

	mu     sync.Mutex
	links  map[*link]struct{}
	trap   *Trap
	delay  time.Duration
	refuse bool
	closed bool
	counts Counts
}

// Start makes a proxy in front of the server of a database URL. It listens on loopback.
func Start(target string) (*Proxy, error) {
	config, err := pgx.ParseConfig(target)
	if err != nil {
		return nil, fmt.Errorf("pgproxy: target: %w", err)
	}
	p := &Proxy{links: map[*link]struct{}{}, stopping: make(chan struct{}), network: "tcp", address: net.JoinHostPort(config.Host, strconv.Itoa(int(config.Port)))}
	if strings.HasPrefix(config.Host, "/") {
		p.network, p.address = "unix", filepath.Join(config.Host, ".s.PGSQL."+strconv.Itoa(int(config.Port)))
	}
	if p.listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		return nil, fmt.Errorf("pgproxy: listen: %w", err)
	}
	p.url = url.URL{Scheme: "postgres", Host: p.listener.Addr().String(), Path: "/" + config.Database, User: url.UserPassword(config.User, config.Password),
		RawQuery: "sslmode=disable"}
	p.running.Go(p.accept)
	return p, nil
}

// URL is the database seen through the proxy.
func (p *Proxy) URL() string { return p.url.String() }

// Counts tells what happened so far.
func (p *Proxy) Counts() Counts {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.counts
}

// Arm sets a trap for the next COMMIT. It replaces a trap that nothing has run into yet.
func (p *Proxy) Arm(a Action) *Trap {
	t := &Trap{action: a, sprung: make(chan struct{}), release: make(chan struct{}), done: make(chan struct{})}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.trap = t
	return t
}

// Delay holds every COMMIT that is not trapped for d.
func (p *Proxy) Delay(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delay = d
}

// Refuse turns new connections away, as a server that is down does, or takes them again.
func (p *Proxy) Refuse(yes bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refuse = yes
}

// Cut drops every connection.
func (p *Proxy) Cut() {
	p.mu.Lock()
	links := make([]*link, 0, len(p.links))
	for l := range p.links {
		links = append(links, l)
	}
	p.counts.Cut += len(links)
	p.mu.Unlock()
	for _, l := range links {
		l.cut()
	}
}

// Close drops everything and ends the proxy.
func (p *Proxy) Close() error {
	p.mu.Lock()
	first := !p.closed
	p.closed = true
	p.mu.Unlock()
	if !first {
		return nil
	}
	close(p.stopping)
	err := p.listener.Close()
	p.Cut()
	p.running.Wait()
	return err
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			if errors.Is(err, net.ErrClosed) {
				return
			}
			continue // one connection failed while it was taken; the next may not
		}
		p.running.Go(func() { p.serve(client) })
	}
}

func (p *Proxy) serve(client net.Conn) {
	p.mu.Lock()
	refuse := p.refuse || p.closed
	if refuse {
		p.counts.Refused++
	} else {
		p.counts.Connections++
	}
	p.mu.Unlock()
	if refuse {
		_ = client.Close() // nothing was said on it
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	server, err := (&net.Dialer{}).DialContext(ctx, p.network, p.address)
	cancel()
	if err != nil {
		_ = client.Close() // the client sees what it would see without us: no server
		return
	}
	l := newLink(p, client, server)
	p.mu.Lock()
	gone := p.closed
	p.links[l] = struct{}{}
	p.mu.Unlock()
	if gone {
		l.cut()
	}
	l.run()
	p.mu.Lock()
	delete(p.links, l)
	p.mu.Unlock()
}

// committing says what to do with a COMMIT that has come: run into a trap, or pass after a while.
func (p *Proxy) committing() (*Trap, time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.counts.Commits++
	t := p.trap
	p.trap = nil
	if t != nil {
		p.counts.Trapped++
		if t.action == CutBefore || t.action == CutAfter || t.action == HoldBack {
			p.counts.Cut++
		}
	}
	return t, p.delay
}

// Trap waits for one COMMIT.
type Trap struct {
	action  Action
	sprung  chan struct{}
	release chan struct{}
	done    chan struct{}
	once    sync.Once
	arrived bool
}

// Sprung is closed when a COMMIT has run into the trap and been dealt with: for CutAfter, HangAfter and
// HoldAnswer the server has committed by then.
func (t *Trap) Sprung() <-chan struct{} { return t.sprung }

// Release lets a COMMIT that was held back go to the server, or an answer to the client, and tells whether the
// server answered it. False means that the server had ended that session, so that the COMMIT never happened.
func (t *Trap) Release() bool {
	t.once.Do(func() { close(t.release) })
	<-t.done
	return t.arrived
}
