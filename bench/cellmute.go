package main

import (
	"errors"
	"net"
	"sync"
	"sync/atomic"
)

// muteLink stands before a controller. Muted it is a PLC that hangs: it accepts connections, takes what is sent, and
// never answers.
type muteLink struct {
	target    string
	listener  net.Listener
	muted     atomic.Bool
	swallowed atomic.Int64 // bytes taken while muted, since the last change

	mu   sync.Mutex
	open map[net.Conn]bool
}

func newMuteLink(target string) (*muteLink, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	l := &muteLink{target: target, listener: listener, open: map[net.Conn]bool{}}
	go l.accept()
	return l, nil
}

func (l *muteLink) address() string { return l.listener.Addr().String() }

// mute lets what is open hang as it is; the other way round the connections end, as with a controller that restarts.
func (l *muteLink) mute(on bool) {
	l.swallowed.Store(0)
	if l.muted.Store(on); !on {
		l.hangUp()
	}
}

func (l *muteLink) hangUp() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for c := range l.open {
		_ = c.Close()
	}
}

func (l *muteLink) close() {
	_ = l.listener.Close()
	l.hangUp()
}

func (l *muteLink) accept() {
	for {
		client, err := l.listener.Accept()
		if err != nil {
			return
		}
		controller, err := net.Dial("tcp", l.target)
		if err != nil {
			_ = client.Close()
			continue
		}
		l.mu.Lock()
		l.open[client], l.open[controller] = true, true
		l.mu.Unlock()
		go l.carry(controller, client)
		go l.carry(client, controller)
	}
}

func (l *muteLink) carry(to, from net.Conn) {
	defer func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.open, from)
		_ = errors.Join(from.Close(), to.Close())
	}()
	buffer := make([]byte, 4096)
	for {
		n, err := from.Read(buffer)
		if err != nil {
			return
		}
		if l.muted.Load() {
			l.swallowed.Add(int64(n))
			continue
		}
		if _, err := to.Write(buffer[:n]); err != nil {
			return
		}
	}
}
