package supervisor

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// systemd stands in for the real one: a datagram socket, and what was said on it.
type systemd struct {
	t      *testing.T
	socket *net.UnixConn
	path   string
}

func newSystemd(t *testing.T, path string) *systemd {
	t.Helper()
	socket, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	require.NoError(t, err)
	t.Cleanup(func() { _ = socket.Close() })
	return &systemd{t, socket, path}
}

func (d *systemd) environment(more ...string) func(string) (string, bool) {
	all := append([]string{"NOTIFY_SOCKET=" + d.path}, more...)
	return func(name string) (string, bool) {
		for _, one := range all {
			if v, ok := strings.CutPrefix(one, name+"="); ok {
				return v, true
			}
		}
		return "", false
	}
}

// hears waits for one datagram.
func (d *systemd) hears() []string {
	d.t.Helper()
	require.NoError(d.t, d.socket.SetReadDeadline(time.Now().Add(20*time.Second)))
	b := make([]byte, 4096)
	n, err := d.socket.Read(b)
	require.NoError(d.t, err)
	return strings.Split(string(b[:n]), "\n")
}

// handClock goes on only when the test says so.
type handClock struct {
	mu    sync.Mutex
	now   time.Time
	looks chan chan time.Time // each wait that began
	waits chan time.Duration
	begun chan struct{} // closed with the first wait
	first sync.Once
}

func newHandClock() *handClock {
	return &handClock{now: time.Unix(1_800_000_000, 0), looks: make(chan chan time.Time, 16), waits: make(chan time.Duration, 16),
		begun: make(chan struct{})}
}

func (c *handClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *handClock) After(d time.Duration) (<-chan time.Time, func()) {
	fire := make(chan time.Time, 1)
	c.waits <- d
	c.looks <- fire
	c.first.Do(func() { close(c.begun) })
	return fire, func() {}
}

// goOn lets the wait that has begun end after d.
func (c *handClock) goOn(d time.Duration) {
	fire := <-c.looks
	<-c.waits
	c.mu.Lock()
	c.now = c.now.Add(d)
	now := c.now
	c.mu.Unlock()
	fire <- now
}

// process is one that the test turns by hand.
type process struct {
	mu             sync.Mutex
	health         Health
	opened, ending chan struct{}
}

func (p *process) set(change func(*Health)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change(&p.health)
}

func (p *process) turns() { p.set(func(h *Health) { h.LastTurn = h.LastTurn.Add(time.Second) }) }

// begin follows a process in the background; what it returns waits for the end of that.
func begin(t *testing.T, d *systemd, clock *handClock, env ...string) (*process, func()) {
	t.Helper()
	s, err := FromEnvironment(d.environment(env...))
	require.NoError(t, err)
	require.NotNil(t, s)
	p := &process{opened: make(chan struct{}), ending: make(chan struct{})}
	ended := make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(func() { cancel(); <-ended })
	health := func() Health {
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.health
	}
	go func() {
		defer close(ended)
		s.Follow(ctx, Process{Opened: p.opened, Ending: p.ending, Health: health, Clock: clock})
	}()
	<-clock.begun // what was turned before counts as seen
	return p, func() { <-ended }
}

func TestALifeAsSystemdHearsIt(t *testing.T) {
	clock, d := newHandClock(), newSystemd(t, filepath.Join(t.TempDir(), "notify"))
	p, ended := begin(t, d, clock, "WATCHDOG_USEC=12000000", "WATCHDOG_PID="+strconv.Itoa(os.Getpid()))

	// The database is away at the start: the loop turns, and more time is asked for. Ready is not said.
	p.set(func(h *Health) { h.DatabaseAway = true })
	p.turns()
	clock.goOn(3 * time.Second)
	require.Equal(t, []string{"WATCHDOG=1", "EXTEND_TIMEOUT_USEC=60000000", "STATUS=waits for the database to confirm this process life"}, d.hears())

	p.set(func(h *Health) { h.DatabaseAway = false })
	close(p.opened)
	require.Equal(t, []string{"READY=1", "STATUS=running"}, d.hears())

	<-clock.looks // the wait that READY cut short
	require.Equal(t, 3*time.Second, <-clock.waits, "four looks fit into the watchdog's time")
	p.turns()
	clock.goOn(3 * time.Second)
	require.Equal(t, []string{"WATCHDOG=1"}, d.hears())

	// An absent database is no reason to be ended: the loop waits for it, and turns.
	p.set(func(h *Health) { h.DatabaseAway = true })
	p.turns()
	clock.goOn(3 * time.Second)
	require.Equal(t, []string{"WATCHDOG=1", "STATUS=waits for the database: nothing is sent until it is back"}, d.hears())

	p.set(func(h *Health) { h.DatabaseAway = false })
	close(p.ending)
	require.Equal(t, []string{"STOPPING=1", "STATUS=stopping"}, d.hears())
	ended()
}

func TestALoopThatHangsFeedsNoWatchdog(t *testing.T) {
	clock, d := newHandClock(), newSystemd(t, filepath.Join(t.TempDir(), "notify"))
	p, _ := begin(t, d, clock, "WATCHDOG_USEC=60000000")
	close(p.opened)
	require.Equal(t, []string{"READY=1", "STATUS=running"}, d.hears())
	<-clock.looks
	<-clock.waits

	for range 4 { // 20 s without a turn
		clock.goOn(5 * time.Second)
	}
	require.Equal(t, []string{"STATUS=the loop does not turn"}, d.hears(), "all that was said in these looks")
	p.turns()
	clock.goOn(5 * time.Second)
	require.Equal(t, []string{"WATCHDOG=1", "STATUS=running"}, d.hears())
}

func TestWhoIsTold(t *testing.T) {
	nobody, err := FromEnvironment(func(string) (string, bool) { return "", false })
	require.NoError(t, err)
	require.Nil(t, nobody)
	nobody.Follow(t.Context(), Process{}) // nothing is asked, nothing is told

	_, err = FromEnvironment((&systemd{path: filepath.Join(t.TempDir(), "nobody")}).environment())
	require.ErrorContains(t, err, "NOTIFY_SOCKET")

	// An abstract socket, as a container manager uses it, and a watchdog that was meant for another process.
	d := newSystemd(t, "@surehand-test-"+strconv.Itoa(os.Getpid()))
	s, err := FromEnvironment(d.environment("WATCHDOG_USEC=1000000", "WATCHDOG_PID=1"))
	require.NoError(t, err)
	require.Zero(t, s.watchdog)
	require.NoError(t, s.send("READY=1"))
	require.Equal(t, []string{"READY=1"}, d.hears())
}
