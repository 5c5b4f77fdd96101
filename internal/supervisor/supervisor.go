package supervisor

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strconv"
	"strings"
	"time"
)

// Supervisor is the systemd that started this process. A nil one is nobody, and nothing is told.
type Supervisor struct {
	socket *net.UnixConn
	// watchdog is the longest silence that it accepts; 0: any.
	watchdog time.Duration
}

// FromEnvironment finds the supervisor that asked to be told; nil if none did. env is os.LookupEnv outside tests.
func FromEnvironment(env func(string) (string, bool)) (*Supervisor, error) {
	path, _ := env("NOTIFY_SOCKET")
	if path == "" {
		return nil, nil
	}
	// An abstract name begins with '@', which package net understands as well.
	socket, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		return nil, fmt.Errorf("NOTIFY_SOCKET: %w", err)
	}
	return &Supervisor{socket: socket, watchdog: watchdog(env)}, nil
}

// watchdog is the longest silence allowed. One meant for another process, as for a shell that started this one, is
// none of ours.
func watchdog(env func(string) (string, bool)) time.Duration {
	text, _ := env("WATCHDOG_USEC")
	usec, err := strconv.ParseInt(text, 10, 64)
	if pid, ok := env("WATCHDOG_PID"); err != nil || usec <= 0 || ok && pid != strconv.Itoa(os.Getpid()) {
		return 0
	}
	return time.Duration(usec) * time.Microsecond
}

// Health is what a sign rests on.
type Health struct {
	LastTurn     time.Time // of the loop, waiting for the database included
	DatabaseAway bool
}

// Clock is when to look.
type Clock interface {
	Now() time.Time
	After(time.Duration) (<-chan time.Time, func())
}

// Process is what is told about.
type Process struct {
	Opened <-chan struct{} // closed when the database has confirmed this life; HTTP listens by then
	Ending <-chan struct{} // closed when the loop has ended
	Health func() Health
	Clock  Clock
	Log    *slog.Logger
}

const (
	// lookEvery is how often the loop is looked at, unless the watchdog wants it more often.
	lookEvery = 5 * time.Second
	// looksPerWatchdog: the loop turns each second at least, so a few missed looks do no harm.
	looksPerWatchdog = 4
	// stillAfter is how long without a turn is worth a word in the status.
	stillAfter = 10 * time.Second
	// extendBy is asked for at each look while a start waits for the database.
	extendBy = time.Minute
	// sendWithin bounds one datagram: a supervisor that does not read must not hold anything up.
	sendWithin = time.Second
)

// Follow tells until the loop has ended or ctx does.
func (s *Supervisor) Follow(ctx context.Context, p Process) {
	if s == nil {
		return
	}
	w := watch{supervisor: s, process: p, turn: p.Health().LastTurn, movedAt: p.Clock.Now()}
	every := lookEvery
	if s.watchdog > 0 {
		every = min(every, s.watchdog/looksPerWatchdog)
	}
	opened := p.Opened
	for {
		look, stop := p.Clock.After(every)
		select {
		case <-opened:
			opened, w.ready = nil, true
			w.tell("READY=1")
		case <-look:
			w.look()
		case <-p.Ending:
			stop()
			w.stopping = true
			w.tell("STOPPING=1")
			return
		case <-ctx.Done():
			stop()
			return
		}
		stop()
	}
}

// watch is what was seen and told so far.
type watch struct {
	supervisor      *Supervisor
	process         Process
	ready, stopping bool
	turn            time.Time // the last one seen
	movedAt         time.Time
	status          string
	silenced        bool // a failure was logged, and nothing has worked since
}

// look tells that the loop is alive, if it has turned since the last look.
func (w *watch) look() {
	now := w.process.Clock.Now()
	turn := w.process.Health().LastTurn
	if turn.Equal(w.turn) {
		w.tell()
		return
	}
	w.turn, w.movedAt = turn, now
	signs := []string{"WATCHDOG=1"}
	if !w.ready {
		// The watchdog begins with READY. Until then TimeoutStartSec runs, which must not end a process that waits.
		signs = append(signs, "EXTEND_TIMEOUT_USEC="+strconv.FormatInt(extendBy.Microseconds(), 10))
	}
	w.tell(signs...)
}

// tell sends signs together with the status, if that has changed.
func (w *watch) tell(signs ...string) {
	if status := w.say(); status != w.status {
		w.status = status
		signs = append(signs, "STATUS="+status)
	}
	if len(signs) == 0 {
		return
	}
	err := w.supervisor.send(strings.Join(signs, "\n"))
	if err != nil && !w.silenced && w.process.Log != nil {
		w.process.Log.Warn("systemd cannot be told how this process is", "error", err)
	}
	w.silenced = err != nil
}

// say is the status for a person.
func (w *watch) say() string {
	switch h := w.process.Health(); {
	case w.stopping:
		return "stopping"
	case w.process.Clock.Now().Sub(w.movedAt) > stillAfter:
		return "the loop does not turn"
	case !w.ready:
		return "waits for the database to confirm this process life"
	case h.DatabaseAway:
		return "waits for the database: nothing is sent until it is back"
	}
	return "running"
}

func (s *Supervisor) send(message string) error {
	if err := s.socket.SetWriteDeadline(time.Now().Add(sendWithin)); err != nil {
		return err
	}
	_, err := s.socket.Write([]byte(message))
	return err
}
