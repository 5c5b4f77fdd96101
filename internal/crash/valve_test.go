package crash

import (
	"net"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// valve forwards TCP connections and can be shut: then nothing passes in either direction and nothing is
// closed, as with a hung peer.
type valve struct {
	listener net.Listener
	target   string
	running  sync.WaitGroup

	mu    sync.Mutex
	open  chan struct{} // closed while bytes pass
	ended chan struct{}
	conns []net.Conn
}

func newValve(t *testing.T, target string) *valve {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	v := &valve{listener: l, target: target, open: make(chan struct{}), ended: make(chan struct{})}
	close(v.open)
	v.running.Go(v.accept)
	t.Cleanup(v.end)
	return v
}

func (v *valve) url() string { return "mqtt://" + v.listener.Addr().String() }

// shut stops the flow; release lets it go on.
func (v *valve) shut() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.open = make(chan struct{})
}

func (v *valve) release() {
	v.mu.Lock()
	defer v.mu.Unlock()
	close(v.open)
}

func (v *valve) end() {
	close(v.ended)
	_ = v.listener.Close()
	v.mu.Lock()
	for _, c := range v.conns {
		_ = c.Close()
	}
	v.mu.Unlock()
	v.running.Wait()
}

func (v *valve) accept() {
	for {
		client, err := v.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", v.target)
		if err != nil { // the client sees what it would see without us
			_ = client.Close()
			continue
		}
		v.mu.Lock()
		v.conns = append(v.conns, client, server)
		v.mu.Unlock()
		v.running.Go(func() { v.pump(client, server) })
		v.running.Go(func() { v.pump(server, client) })
	}
}

func (v *valve) pump(from, to net.Conn) {
	defer from.Close()
	defer to.Close()
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		if err != nil {
			return
		}
		v.mu.Lock()
		open := v.open
		v.mu.Unlock()
		select {
		case <-open:
		case <-v.ended:
			return
		}
		if _, err := to.Write(buffer[:n]); err != nil {
			return
		}
	}
}
