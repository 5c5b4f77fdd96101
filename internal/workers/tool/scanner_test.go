package tool_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"surehand/internal/plant"
	"surehand/internal/term"
	"surehand/internal/workers"
	"surehand/internal/workers/tool"
	"surehand/internal/workers/workertest"
)

type wallClock struct{}

func (wallClock) Now() time.Time { return time.Now() }

// scanner answers triggers on a real port, one connection at a time.
type scanner struct {
	t        *testing.T
	mu       sync.Mutex
	listener net.Listener
	address  string
	open     map[net.Conn]bool
	most     int
	triggers int
	changed  chan struct{}
	answer   string // "" is none
	held     chan struct{}
	delay    time.Duration
}

func newScanner(t *testing.T) *scanner {
	s := &scanner{t: t, address: "127.0.0.1:0", open: map[net.Conn]bool{}, changed: make(chan struct{}), answer: "P0001-01\n"}
	s.heal()
	t.Cleanup(s.cut)
	return s
}

func (s *scanner) heal() {
	listener, err := net.Listen("tcp", s.address)
	if err != nil {
		s.t.Fatal(err)
	}
	s.mu.Lock()
	s.listener, s.address = listener, listener.Addr().String()
	s.mu.Unlock()
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			s.mu.Lock()
			s.open[c] = true
			s.most = max(s.most, len(s.open))
			s.mu.Unlock()
			go s.serve(c)
		}
	}()
}

func (s *scanner) cut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = s.listener.Close()
	for c := range s.open {
		_ = c.Close()
	}
}

func (s *scanner) serve(c net.Conn) {
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.open, c)
		_ = c.Close()
	}()
	b := make([]byte, 16)
	for {
		n, err := c.Read(b)
		if err != nil {
			return
		}
		if string(b[:n]) != "READ\n" {
			s.t.Errorf("the trigger is %q", b[:n])
		}
		s.mu.Lock()
		s.triggers++
		answer, held, delay := s.answer, s.held, s.delay
		s.delay = 0
		close(s.changed)
		s.changed = make(chan struct{})
		s.mu.Unlock()
		if held != nil {
			<-held
		}
		go func() {
			<-time.After(delay)
			_, _ = c.Write([]byte(answer))
		}()
	}
}

func (s *scanner) begun() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.triggers
}

func (s *scanner) await(count int) {
	for {
		s.mu.Lock()
		triggers, changed := s.triggers, s.changed
		s.mu.Unlock()
		if triggers >= count {
			return
		}
		<-changed
	}
}

func (s *scanner) next(f workertest.Fault) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch f {
	case workertest.Held, workertest.LostAnswer:
		s.held = make(chan struct{})
		if f == workertest.LostAnswer { // one only
			held := s.held
			s.held, s.delay = nil, time.Hour
			close(held)
		}
	case workertest.LateAnswer:
		s.delay = 400 * time.Millisecond
	case workertest.SlowStart:
		s.delay = 50 * time.Millisecond
	case workertest.DoubledAnswer:
		s.answer += s.answer
	default:
		return false
	}
	return true
}

func (s *scanner) free() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held != nil {
		close(s.held)
		s.held = nil
	}
}

func scan(n uint32) workers.Task {
	now := time.Now()
	return workers.Task{StartedAt: now, Perform: plant.Perform{TaskID: term.TaskID(fmt.Sprint("task-", n)), Type: term.TaskScan, EquipmentID: "s",
		FencedAt: now.Round(0), Bound: 30 * time.Second}}
}

func options(s *scanner) tool.Options {
	return tool.Options{Clock: wallClock{}, ProbeEvery: 20 * time.Millisecond,
		Config: term.DriverConfig{Address: s.address, Trigger: "READ", Format: `P\d{4}-\d{2}`}}
}

func newDriver(t *testing.T, o tool.Options) *tool.Driver {
	t.Helper()
	d, err := tool.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestScannerKeepsTheDriversContract(t *testing.T) {
	workertest.Drivers(t, func(t *testing.T) workertest.Equipment {
		s := newScanner(t)
		var over atomic.Bool
		o := options(s)
		o.Confirm = func(context.Context) error {
			if over.Load() {
				return errors.New("this process life is over")
			}
			return nil
		}
		return workertest.Equipment{
			Driver: newDriver(t, o), Task: scan, Harmless: true,
			Done: workers.Ending{Outcome: term.Done, PartAt: term.PartGripper, Code: "P0001-01"},
			Next: s.next, Free: s.free, Begun: s.begun, AwaitBegun: s.await, Writes: s.begun,
			Cut: s.cut, Heal: s.heal, Restart: func() { s.cut(); s.heal() }, Forget: func() { over.Store(true) },
			Harm: func() []string { return nil },
		}
	})
}

// A scanner that is not probed is what the last scan found.
func TestNotProbed(t *testing.T) {
	s := newScanner(t)
	o := options(s)
	o.ProbeEvery = -1
	d := newDriver(t, o)
	readings := make(chan term.Reading)
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		d.Run(ctx, func(r term.Reading) {
			select {
			case readings <- r:
			case <-ctx.Done():
			}
		})
	})
	defer running.Wait()
	defer cancel()
	await := func(reached bool) {
		for r := range readings {
			if r.Reached == reached {
				return
			}
		}
	}
	await(true)
	s.cut()
	if e := d.Perform(t.Context(), scan(1)); e.Outcome != term.NotDone || !e.Unsent {
		t.Errorf("ended %+v", e)
	}
	await(false)
	s.heal()
	if e := d.Perform(t.Context(), scan(2)); e.Outcome != term.Done {
		t.Errorf("ended %+v", e)
	}
	await(true)
}

// A scan without a connection was not even tried: it may be planned anew, so the answer comes when its time is over.
func TestNoLinkIsNotTried(t *testing.T) {
	t.Parallel()
	s := newScanner(t)
	s.cut()
	d := newDriver(t, options(s))
	task := scan(1)
	e := d.Perform(t.Context(), task)
	want := workers.NotTried(task, "late: not reached in time: dial "+s.address+": connection refused")
	if e != want {
		t.Errorf("ended %+v, want %+v", e, want)
	}
	if now := time.Now(); !task.Late(now) || now.Sub(task.NotAfter()) > time.Second {
		t.Errorf("it was said %s after the time to begin was over", now.Sub(task.NotAfter()))
	}
	late := scan(2)
	late.StartedAt = late.StartedAt.Add(-plant.SendBefore)
	if e := d.Perform(t.Context(), late); !e.Unsent || !strings.HasPrefix(e.Error, "late: it may not begin") {
		t.Errorf("ended %+v", e)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if e := d.Perform(ctx, scan(3)); !e.Unsent || !strings.HasPrefix(e.Error, "given up") {
		t.Errorf("ended %+v", e)
	}
	if s.begun() != 0 {
		t.Errorf("%d triggers", s.begun())
	}
}

// A link that comes back while the scan may begin is enough.
func TestLinkBackInTime(t *testing.T) {
	t.Parallel()
	s := newScanner(t)
	s.cut()
	o := options(s)
	tries := 0
	o.Confirm = func(context.Context) error {
		if tries++; tries == 3 {
			s.heal()
		}
		return nil
	}
	if e := newDriver(t, o).Perform(t.Context(), scan(1)); e.Outcome != term.Done || tries != 3 {
		t.Errorf("ended %+v after %d tries", e, tries)
	}
}

// What went wrong behind the trigger was tried: a person is asked. The words name no port of ours.
func TestBehindTheTriggerItWasTried(t *testing.T) {
	t.Parallel()
	s := newScanner(t)
	s.answer = ""
	d := newDriver(t, options(s))
	said := map[string]bool{}
	for n := range uint32(2) {
		task := scan(n)
		task.Bound = 100 * time.Millisecond
		e := d.Perform(t.Context(), task)
		if e.Outcome != term.NotDone || e.Unsent || e.PartAt != term.PartGripper {
			t.Errorf("ended %+v", e)
		}
		said[e.Error] = true
	}
	if want := "no whole line came, but \"\": read " + s.address + ": i/o timeout"; len(said) != 1 || !said[want] {
		t.Errorf("said %v, want %q", said, want)
	}
}

func TestAnswers(t *testing.T) {
	long := strings.Repeat("x", 300)
	for _, c := range []struct{ name, answer, code, why string }{
		{"a code", "P0042-07\n", "P0042-07", ""},
		{"a code with a carriage return", "P0042-07\r\n", "P0042-07", ""},
		{"nothing read", "NOREAD\n", "", "read nothing"},
		{"another format", "?!#\n", "", `"?!#"`},
		{"a code with more around it", "xP0042-07\n", "", `"xP0042-07"`},
		{"an empty line", "\n", "", `""`},
		{"two lines at once", "P0042-07\nP0042-08\n", "P0042-07", ""},
		{"as long as a line may be", strings.Repeat("x", 255) + "\n", "", "not in the format"},
		{"too long", long + "\n", "", "longer than 256"},
		{"no line feed", "P0042-07", "", `"P0042-07"`},
		{"no answer", "", "", "no whole line"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newScanner(t)
			s.answer = c.answer
			task := scan(1)
			if !strings.HasSuffix(c.answer, "\n") {
				task.Bound = 100 * time.Millisecond
			}
			e := newDriver(t, options(s)).Perform(t.Context(), task)
			want := term.Done
			if c.code == "" {
				want = term.NotDone
			}
			if e.Outcome != want || e.Code != c.code || e.PartAt != term.PartGripper || !strings.Contains(e.Error, c.why) || (e.Error == "") != (c.why == "") {
				t.Errorf("ended %+v", e)
			}
		})
	}
}

// A scanner may take one connection only, so that a probe never stands beside a reading.
func TestOneConnectionAtATime(t *testing.T) {
	s := newScanner(t)
	o := options(s)
	o.ProbeEvery = time.Millisecond
	d := newDriver(t, o)
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { d.Run(ctx, func(term.Reading) {}) })
	var scans sync.WaitGroup
	for range 4 {
		scans.Go(func() {
			for range 10 {
				if e := d.Perform(ctx, scan(1)); e.Outcome != term.Done {
					t.Errorf("ended %+v", e)
				}
			}
		})
	}
	scans.Wait()
	cancel()
	running.Wait()
	if s.begun() != 40 {
		t.Errorf("%d triggers", s.begun())
	}
}

func TestSettingsAreChecked(t *testing.T) {
	s := newScanner(t)
	for name, change := range map[string]func(*tool.Options){
		"no clock":               func(o *tool.Options) { o.Clock = nil },
		"no address":             func(o *tool.Options) { o.Config.Address = "" },
		"a trigger of two lines": func(o *tool.Options) { o.Config.Trigger = "A\nB" },
		"no regular expression":  func(o *tool.Options) { o.Config.Format = "(" },
		"a parenthesis too many": func(o *tool.Options) { o.Config.Format = "a)|(?:b" },
	} {
		o := options(s)
		change(&o)
		if _, err := tool.New(o); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
