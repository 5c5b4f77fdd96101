package api

import (
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"surehand/internal/message"
	"surehand/internal/plant"
)

const (
	loadRows    = 4000
	loadClients = 20
	loadStalled = 3
)

// TestNoGapNoDuplicateUnderLoad shows thousands of rows to clients that leave and come back, while others do
// not read at all. proves X-8
func TestNoGapNoDuplicateUnderLoad(t *testing.T) {
	b := newBench(t)
	s := serve(t, b)
	s.Hub().Show(b.reader.add(rows(1)...))

	stalled := make([]net.Conn, 0, loadStalled)
	for range loadStalled {
		conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
		require.NoError(t, err)
		require.NoError(t, conn.(*net.TCPConn).SetReadBuffer(4096))
		_, err = io.WriteString(conn, "GET /api/v1/stream HTTP/1.1\r\nHost: localhost\r\n\r\n")
		require.NoError(t, err)
		stalled = append(stalled, conn)
	}
	for !b.Hub().listening(loadStalled) { // they are live, and read nothing
		runtime.Gosched()
	}

	var progress pace
	progress.init(loadClients)
	var clients sync.WaitGroup
	faults := make(chan error, loadClients)
	for n := range loadClients {
		clients.Go(func() { faults <- s.follow(n, &progress) })
	}
	for at := 1; at < loadRows; at += 100 {
		for range 10 {
			s.Hub().Show(b.reader.add(padded(10)...))
		}
		progress.waitFor(int64(at), loadClients/2) // half of them have seen what was there before
	}
	clients.Wait()
	for range loadClients {
		require.NoError(t, <-faults)
	}
	for b.Hub().Clients() > 0 { // the stalled ones are still connected and have read nothing, and yet their streams end
		runtime.Gosched()
	}
	for _, conn := range stalled {
		require.NoError(t, conn.Close())
	}
	s.stop()
	require.NoError(t, <-s.ended)
	s.ended <- nil
	requireNoStreamsLeft(t)
	require.Zero(t, b.Hub().Clients())
}

// padded rows are as large as those of a real turn.
func padded(n int) []plant.Entry {
	list := rows(n)
	for i := range list {
		list[i] = plant.Entry{Type: "TelemetryReceived", Outcome: "accepted", Subject: strings.Repeat("s", 300), At: noon}
	}
	return list
}

// follow reads the stream to its end, leaving and coming back now and then, and checks that each row comes once
// and in order.
func (s *served) follow(n int, progress *pace) error {
	random := rand.New(rand.NewPCG(uint64(n), 1))
	last := ""
	var seen position
	for seen.seq < loadRows {
		r, err := s.tryOpen(last, "")
		if err != nil {
			return err
		}
		for left := 50 + random.IntN(400); left > 0 && seen.seq < loadRows; left-- {
			e, err := r.next()
			if err != nil {
				break // cut as too slow: it comes back
			}
			if !e.hasID {
				continue
			}
			at, ok := parsePosition(e.id)
			switch {
			case !ok:
				r.close()
				return errors.New("no position: " + e.id)
			case e.name == "snapshot" && last == "", e.name == "heartbeat" && at == seen:
			case e.name != "log" || at.seq != seen.seq+1:
				r.close()
				return errors.New("after " + seen.String() + " came " + e.name + " " + e.id)
			}
			seen, last = at, e.id
			progress.reached(n, at.seq)
		}
		r.close()
	}
	return nil
}

// pace lets the rows wait for the readers, so that the test is about order and not about speed.
type pace struct {
	mu   sync.Mutex
	cond *sync.Cond
	at   []int64
}

func (p *pace) init(n int) { p.cond, p.at = sync.NewCond(&p.mu), make([]int64, n) }

func (p *pace) reached(n int, seq int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.at[n] = seq
	p.cond.Broadcast()
}

func (p *pace) waitFor(seq int64, readers int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for {
		n := 0
		for _, at := range p.at {
			if at >= seq {
				n++
			}
		}
		if n >= readers {
			return
		}
		p.cond.Wait()
	}
}

// requireNoStreamsLeft: the library's goroutines end by themselves once their stream is removed; they only have
// to be given the processor.
func requireNoStreamsLeft(t *testing.T) {
	t.Helper()
	buffer := make([]byte, 4<<20)
	for deadline := time.Now().Add(30 * time.Second); ; runtime.Gosched() {
		stacks := string(buffer[:runtime.Stack(buffer, true)])
		if !strings.Contains(stacks, "r3labs/sse") {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("goroutines of streams are left:\n%s", stacks)
		}
	}
}

// TestShutdownWaitsForNobody ends a server with a live stream, one that does not read, a request that waits for
// an answer that does not come, and one that sends no body.
func TestShutdownWaitsForNobody(t *testing.T) {
	b := newBench(t)
	b.loop.answer = nil
	asked := make(chan struct{})
	b.o.Post = func(message.Message) bool { close(asked); return true }
	s := serveWith(t, b, 4096)
	s.Hub().Show(b.reader.add(rows(1)...))
	live := s.open(t, "", "")
	live.want(t, "snapshot", "gen-1:1")

	stalled, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	require.NoError(t, err)
	require.NoError(t, stalled.(*net.TCPConn).SetReadBuffer(4096))
	_, err = io.WriteString(stalled, "GET /api/v1/stream HTTP/1.1\r\nHost: localhost\r\nLast-Event-ID: gen-1:1\r\n\r\n")
	require.NoError(t, err)
	for !b.Hub().listening(2) {
		runtime.Gosched()
	}
	s.Hub().Show(b.reader.add(padded(200)...)) // fills the socket: a write to it is under way

	waiting := make(chan int, 1)
	go func() {
		request, err := http.NewRequest(http.MethodPost, s.url+hand, strings.NewReader(onBody))
		if err != nil {
			waiting <- 0
			return
		}
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("Prefer", "wait=30")
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			waiting <- 0
			return
		}
		defer response.Body.Close()
		waiting <- response.StatusCode
	}()
	<-asked
	s.stop()
	require.NoError(t, <-s.ended)
	s.ended <- nil
	require.Equal(t, http.StatusAccepted, <-waiting, "who waits is told that it is in progress")
	require.NoError(t, stalled.Close())
	requireNoStreamsLeft(t)
}
