package line

import (
	"errors"
	"fmt"
	"net"
	"sync"
	"syscall"
	"time"
)

const (
	maxConnections = 16 // at one endpoint; one more is closed at once
	// relistenFor is how long an endpoint tries to get its old port back: a client that dials while it is closed may
	// own it for a moment.
	relistenFor   = 5 * time.Second
	relistenEvery = 10 * time.Millisecond
	writeTimeout  = time.Second // of a client that does not read
)

// link is an endpoint's network: a listener that can be closed and come back on the same port. It has its own mutexes
// and is never called with the World's held, because it waits for connections that need it.
type link struct {
	serve func(conn net.Conn, number int)

	control sync.Mutex // one start or stop at a time
	closed  bool       // for good; under control

	mu       sync.Mutex
	address  string // as listened at from the first start on
	listener net.Listener
	open     map[net.Conn]bool
	count    int // connections ever
	running  sync.WaitGroup
}

func newLink(address string, serve func(net.Conn, int)) *link {
	return &link{serve: serve, address: address, open: map[net.Conn]bool{}}
}

// Address is where the endpoint listens, or listened and will again: "127.0.0.1:port".
func (l *link) Address() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.address
}

func (l *link) start() error {
	l.control.Lock()
	defer l.control.Unlock()
	l.mu.Lock()
	address, listening := l.address, l.listener != nil
	l.mu.Unlock()
	if listening {
		return nil
	}
	if l.closed {
		return fmt.Errorf("listen at %s: the cell is closed", address)
	}
	listener, err := listen(address)
	if err != nil {
		return err
	}
	l.mu.Lock()
	l.listener, l.address = listener, listener.Addr().String()
	l.mu.Unlock()
	l.running.Add(1)
	go l.accept(listener)
	return nil
}

func listen(address string) (net.Listener, error) {
	giveUp := time.Now().Add(relistenFor)
	for {
		listener, err := net.Listen("tcp", address)
		if !errors.Is(err, syscall.EADDRINUSE) || time.Now().After(giveUp) {
			return listener, err
		}
		time.Sleep(relistenEvery)
	}
}

// stop closes the port and every connection, and returns when nothing of them runs any more.
func (l *link) stop() {
	l.control.Lock()
	defer l.control.Unlock()
	l.mu.Lock()
	listener := l.listener
	l.listener = nil
	if listener != nil {
		_ = listener.Close()
	}
	for conn := range l.open {
		_ = conn.Close()
	}
	l.mu.Unlock()
	l.running.Wait()
}

func (l *link) close() {
	l.control.Lock()
	l.closed = true
	l.control.Unlock()
	l.stop()
}

func (l *link) accept(listener net.Listener) {
	defer l.running.Done()
	for {
		conn, err := listener.Accept()
		if err != nil {
			return // closed by stop
		}
		number, ok := l.admit(listener, conn)
		if !ok {
			_ = conn.Close()
			continue
		}
		l.running.Add(1)
		go func() {
			defer l.running.Done()
			defer l.release(conn)
			l.serve(conn, number)
		}()
	}
}

func (l *link) admit(listener net.Listener, conn net.Conn) (int, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.listener != listener || len(l.open) >= maxConnections {
		return 0, false
	}
	l.count++
	l.open[conn] = true
	return l.count, true
}

func (l *link) release(conn net.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.open, conn)
	_ = conn.Close()
}

// session writes whole answers to one connection, from several goroutines when answers are late.
type session struct {
	mu   sync.Mutex
	conn net.Conn
}

func (s *session) send(answer []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = s.conn.SetWriteDeadline(time.Now().Add(writeTimeout))
	// A client that has gone does not hear the answer; that is its own affair.
	_, _ = s.conn.Write(answer)
}
