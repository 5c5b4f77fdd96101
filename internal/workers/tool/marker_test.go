package tool_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/simonvetter/modbus"

	"surehand/internal/plant"
	"surehand/internal/simulator/line"
	"surehand/internal/term"
	"surehand/internal/workers"
	"surehand/internal/workers/tool"
	"surehand/internal/workers/workertest"
)

const station = 82

// marking is a cell whose robot holds part 1.1 at a marker, and the marker's driver.
type marking struct {
	t      *testing.T
	world  *line.World
	marker *line.Marker
	driver *tool.Marker
	over   atomic.Bool // the process life
}

func openMarker(t *testing.T, o line.MarkerOptions) *marking {
	t.Helper()
	o.Name, o.Place = "marker", station
	world, err := line.Start(line.Options{Dock: line.Row{First: 1, Count: 1}, Markers: []line.MarkerOptions{o}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(world.Close)
	if _, err := world.Arrive(1); err != nil {
		t.Fatal(err)
	}
	m := &marking{t: t, world: world, marker: world.Marker("marker")}
	m.driver = m.newDriver(0)
	m.present()
	return m
}

// present lets the robot take the part and hold it at the station.
func (m *marking) present() {
	m.t.Helper()
	robot, err := modbus.NewClient(&modbus.ClientConfiguration{URL: "tcp://" + m.world.Robot().Address(), Timeout: 5 * time.Second})
	if err != nil {
		m.t.Fatal(err)
	}
	if err := errors.Join(robot.SetUnitId(1), robot.Open()); err != nil {
		m.t.Fatal(err)
	}
	defer func() { _ = robot.Close() }()
	if err := robot.WriteRegisters(0, []uint16{0, 1, 2, 1, station, 1}); err != nil { // number 1: present 1 at the station
		m.t.Fatal(err)
	}
	m.await(func(t line.Truth) bool { return len(t.Actions) == 1 && t.Actions[0].Outcome == line.Done })
}

func (m *marking) newDriver(inDoubt uint32) *tool.Marker {
	m.t.Helper()
	d, err := tool.NewMarker(tool.MarkerOptions{Clock: wallClock{}, InDoubt: inDoubt, Config: term.DriverConfig{Address: m.marker.Address(),
		Poll: term.Duration(10 * time.Millisecond), Stale: term.Duration(time.Second), Timeout: term.Duration(300 * time.Millisecond)},
		Confirm: func(context.Context) error {
			if m.over.Load() {
				return errors.New("this process life is over")
			}
			return nil
		}})
	if err != nil {
		m.t.Fatal(err)
	}
	return d
}

func (m *marking) await(until func(line.Truth) bool) {
	m.t.Helper()
	ctx, cancel := context.WithTimeout(m.t.Context(), time.Minute)
	defer cancel()
	if err := m.world.Wait(ctx, until); err != nil {
		m.t.Fatalf("%v\n%s", err, m.world)
	}
}

// run lets a driver watch until the test ends, and gives what waits for a reading.
func (m *marking) run(d *tool.Marker) (await func(is func(term.Reading) bool) term.Reading) {
	ctx, cancel := context.WithTimeout(m.t.Context(), time.Minute)
	readings := make(chan term.Reading)
	var running sync.WaitGroup
	running.Go(func() {
		d.Run(ctx, func(r term.Reading) {
			select {
			case readings <- r:
			case <-ctx.Done():
			}
		})
		close(readings)
	})
	m.t.Cleanup(func() { cancel(); running.Wait() })
	return func(is func(term.Reading) bool) term.Reading {
		m.t.Helper()
		for r := range readings {
			if is(r) {
				return r
			}
		}
		m.t.Fatalf("no such reading\n%s", m.world)
		return term.Reading{}
	}
}

func mark(n uint32) workers.Task {
	now := time.Now()
	return workers.Task{StartedAt: now, Perform: plant.Perform{TaskID: term.TaskID(fmt.Sprint("task-", n)), Type: term.TaskMark, EquipmentID: "marker",
		ActionNo: n, Text: fmt.Sprint("A.", n), To: station, FencedAt: now.Round(0), Bound: 30 * time.Second}}
}

func (m *marking) begun() int { return len(m.world.Truth().Marks) }

func (m *marking) harm() (harm []string) {
	for _, v := range m.world.Truth().Violations {
		harm = append(harm, v.String())
	}
	return harm
}

func (m *marking) next(f workertest.Fault) bool {
	faults := map[workertest.Fault]line.MarkerFaults{
		workertest.LostAnswer:    {LoseAnswer: 1, Strikes: 1},
		workertest.LateAnswer:    {LateAnswer: 1, LateAnswerBy: 700 * time.Millisecond, Strikes: 1},
		workertest.DoubledAnswer: {Doubled: 1},
		workertest.Refused:       {Refuse: 1, Strikes: 1},
		workertest.SlowStart:     {LateMark: 1, Strikes: 1},
		workertest.Held:          {Stick: 1, Strikes: 1},
	}
	m.marker.SetFaults(faults[f])
	return true
}

func TestMarkerKeepsTheDriversContract(t *testing.T) {
	workertest.Drivers(t, func(t *testing.T) workertest.Equipment {
		m := openMarker(t, line.MarkerOptions{})
		ready := func(err error) {
			if err != nil {
				t.Error(err)
			}
		}
		return workertest.Equipment{
			Driver: m.driver, Task: mark, Done: workers.Happened(term.PartGripper), Next: m.next, Free: m.marker.Free,
			Begun: m.begun, AwaitBegun: func(n int) { m.await(func(t line.Truth) bool { return len(t.Marks) >= n }) },
			Writes: func() int { return m.begun() + len(m.world.Truth().Ignored) },
			Cut:    m.marker.Cut, Heal: func() { ready(m.marker.Restore()) }, Restart: func() { ready(m.marker.Restart()) },
			Forget: func() { m.over.Store(true) }, Harm: m.harm,
		}
	})
}

// What became of a mark whose answer is missing is the marker's word about its number; only what it does not know either
// is in doubt.
func TestWhatBecameOfAMark(t *testing.T) {
	done := workers.Happened(term.PartGripper)
	not := workers.Ending{Outcome: term.NotDone, PartAt: term.PartGripper}
	doubt := workers.Ending{Outcome: term.Unknown}
	for _, c := range []struct {
		name   string
		last   uint32
		faults line.MarkerFaults
		during func(*marking) // after it has begun
		bound  time.Duration
		want   workers.Ending
		says   string
		marks  int // begun, in the end
	}{
		{"done", 0, line.MarkerFaults{}, nil, 0, done, "", 1},
		{"after a number of another installation", 6, line.MarkerFaults{}, nil, 0, done, "", 1},
		{"a number that the marker knows", 7, line.MarkerFaults{}, nil, 0, not, "not newer than 7", 0},
		{"a number that is older", 8, line.MarkerFaults{}, nil, 0, not, "not newer than 8", 0},
		{"refused", 0, line.MarkerFaults{Refuse: 1}, nil, 0, not, "did not mark the part: refused", 0},
		{"failed", 0, line.MarkerFaults{Fail: 1}, nil, 0, not, "did not mark the part: no contact", 1},
		{"the connection is closed instead of an answer", 0, line.MarkerFaults{HangUp: 1, Strikes: 2}, nil, 0, done, "", 1},
		{"an answer that means nothing", 0, line.MarkerFaults{Garble: 1, Strikes: 2}, nil, 0, done, "", 1},
		{"MARK is lost", 0, line.MarkerFaults{LoseMark: 1}, nil, 300 * time.Millisecond, not, "withdrawn before the marker began", 0},
		{"MARK comes late, when it was withdrawn", 0, line.MarkerFaults{LateMark: 1, LateMarkBy: 500 * time.Millisecond}, nil, 200 * time.Millisecond, not, "withdrawn", 0},
		{"the power is lost", 0, line.MarkerFaults{Stick: 1}, func(m *marking) { _ = m.marker.Restart() }, 0, doubt, "interrupted and does not know", 1},
		{"the power is lost, and the memory with it", 3, line.MarkerFaults{Stick: 1}, func(m *marking) { _ = m.marker.Restart(line.ForgetEcho) }, 0, doubt, "lost its memory", 1},
		{"the memory of a marker that has none is lost", 0, line.MarkerFaults{Stick: 1}, func(m *marking) { _ = m.marker.Restart(line.ForgetEcho) }, 0, doubt, "interrupted", 1},
		{"it never ends", 0, line.MarkerFaults{Stick: 1}, nil, 300 * time.Millisecond, doubt, "still busy", 1},
		{"the power is off", 0, line.MarkerFaults{Stick: 1}, func(m *marking) { m.marker.PowerOff() }, 200 * time.Millisecond, doubt, "cannot be asked", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m := openMarker(t, line.MarkerOptions{Last: c.last})
			m.marker.SetFaults(c.faults)
			task := mark(7)
			if c.bound != 0 {
				task.Bound = c.bound
			}
			ended := make(chan workers.Ending, 1)
			go func() { ended <- m.driver.Perform(t.Context(), task) }()
			if c.during != nil {
				m.await(func(t line.Truth) bool { return len(t.Marks) == 1 })
				c.during(m)
			}
			e := <-ended
			why := e.Error
			e.Error = ""
			if e != c.want || !strings.Contains(why, c.says) || (why == "") != (c.says == "") {
				t.Errorf("ended %+v (%s)", e, why)
			}
			if c.faults.LateMark > 0 {
				m.await(func(t line.Truth) bool { return len(t.Ignored) == 1 })
			}
			if got := m.begun(); got != c.marks {
				t.Errorf("%d marks were begun", got)
			}
			for _, harm := range m.harm() {
				t.Errorf("harm: %s", harm)
			}
		})
	}
}

// A mark that is in doubt when the driver gives up is withdrawn as soon as the marker can be asked, whichever process life
// sent it, so that its end can be read.
func TestADoubtIsWithdrawnAsSoonAsTheMarkerCanBeAsked(t *testing.T) {
	withdrawn := func(r term.Reading) bool { return r.Reached && r.Echo == 7 && r.Void }
	t.Run("of this process life", func(t *testing.T) {
		t.Parallel()
		m := openMarker(t, line.MarkerOptions{})
		await := m.run(m.driver)
		m.marker.SetFaults(line.MarkerFaults{LoseMark: 1})
		task := mark(7)
		task.Bound = 200 * time.Millisecond
		ctx, giveUp := context.WithCancel(t.Context())
		ended := make(chan workers.Ending, 1)
		lost := m.world.Truth().Faults["marker/lose_mark"]
		go func() { ended <- m.driver.Perform(ctx, task) }()
		m.await(func(t line.Truth) bool { return t.Faults["marker/lose_mark"] > lost })
		giveUp()
		if e := <-ended; e.Outcome != term.Unknown {
			t.Fatalf("ended %+v", e)
		}
		r := await(withdrawn)
		if e, ok := workers.Concluded(task.Perform, r); !ok || e.Outcome != term.NotDone || !e.Unsent {
			t.Errorf("the reading concludes %+v %v", e, ok)
		}
	})
	t.Run("of an earlier one", func(t *testing.T) {
		t.Parallel()
		m := openMarker(t, line.MarkerOptions{Last: 6})
		m.run(m.newDriver(7))(withdrawn)
		if e := m.driver.Perform(t.Context(), mark(7)); e.Outcome != term.NotDone || m.begun() != 0 {
			t.Errorf("ended %+v, %d begun", e, m.begun())
		}
	})
	t.Run("one that was done is not", func(t *testing.T) {
		t.Parallel()
		m := openMarker(t, line.MarkerOptions{})
		if e := m.driver.Perform(t.Context(), mark(7)); e.Outcome != term.Done {
			t.Fatalf("ended %+v", e)
		}
		m.run(m.newDriver(7))(func(r term.Reading) bool { return r.Echo == 7 && r.Ended })
	})
	t.Run("not by a process life that is over", func(t *testing.T) {
		t.Parallel()
		m := openMarker(t, line.MarkerOptions{})
		m.over.Store(true)
		r := m.run(m.newDriver(7))(func(r term.Reading) bool { return r.Error != "" })
		if r.Reached || r.Error != "this process life is over" {
			t.Errorf("reads %+v", r)
		}
		m.over.Store(false)
		if e := m.driver.Perform(t.Context(), mark(7)); e.Outcome != term.Done {
			t.Errorf("ended %+v", e)
		}
	})
	t.Run("a newer mark takes its place", func(t *testing.T) {
		t.Parallel()
		m := openMarker(t, line.MarkerOptions{})
		d := m.newDriver(7)
		if e := d.Perform(t.Context(), mark(8)); e.Outcome != term.Done {
			t.Fatalf("ended %+v", e)
		}
		m.run(d)(func(r term.Reading) bool { return r.Echo == 8 && r.Ended })
	})
}

// What cannot be said in one line is never sent.
func TestTextThatCannotBeMarked(t *testing.T) {
	m := openMarker(t, line.MarkerOptions{})
	for _, text := range []string{"", "  ", "A\nVOID 9", "Größe", "a\x00", " A", strings.Repeat("x", 201)} {
		task := mark(7)
		task.Text = text
		if e := m.driver.Perform(t.Context(), task); e.Outcome != term.NotDone || e.Unsent || e.Error == "" {
			t.Errorf("%q ended %+v", text, e)
		}
	}
	longest := mark(4294967295)
	longest.Text = strings.Repeat("x", 200)
	if e := m.driver.Perform(t.Context(), longest); e.Outcome != term.Done {
		t.Errorf("ended %+v", e)
	}
	task := mark(9)
	task.Type = term.TaskScan
	if e := m.driver.Perform(t.Context(), task); e.Outcome != term.NotDone {
		t.Errorf("ended %+v", e)
	}
	if truth := m.world.Truth(); len(truth.Marks) != 1 || len(truth.Ignored) != 0 {
		t.Errorf("marks %+v, ignored %+v", truth.Marks, truth.Ignored)
	}
}

// A marker that is busy with somebody else's mark is waited for while ours may begin; then it was not tried.
func TestABusyMarkerIsNotTried(t *testing.T) {
	t.Parallel()
	m := openMarker(t, line.MarkerOptions{})
	m.marker.SetFaults(line.MarkerFaults{Stick: 1, LoseAnswer: 1, Strikes: 2})
	c, err := net.Dial("tcp", m.marker.Address())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	if _, err := io.WriteString(c, "MARK 5 elsewhere\n"); err != nil {
		t.Fatal(err)
	}
	m.await(func(t line.Truth) bool { return len(t.Marks) == 1 })
	e := m.driver.Perform(t.Context(), mark(7))
	if want := workers.NotTried(mark(7), "late: not reached in time: the marker is busy with number 5"); e != want {
		t.Errorf("ended %+v", e)
	}
	m.marker.Free()
	if e := m.driver.Perform(t.Context(), mark(8)); e.Outcome != term.Done {
		t.Errorf("ended %+v", e)
	}
}

func TestSettingsOfAMarkerAreChecked(t *testing.T) {
	for name, o := range map[string]tool.MarkerOptions{
		"no clock":   {Config: term.DriverConfig{Address: "127.0.0.1:1"}},
		"no address": {Clock: wallClock{}},
	} {
		if _, err := tool.NewMarker(o); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// A marker's answer to MARK ends the mark only when it is about this number, or surely says that nothing was begun. What
// else it says, however much and however slowly, leaves the word to LAST and VOID.
func TestAnAnswerToMarkThatProvesNothing(t *testing.T) {
	done := workers.Happened(term.PartGripper)
	not := workers.Ending{Outcome: term.NotDone, PartAt: term.PartGripper}
	for _, c := range []struct {
		name, mark, last, void string // answers to MARK, to LAST after that, and to VOID
		want                   workers.Ending
		says                   string
	}{
		{"it had this number already, and has marked it", "OLD 7", "DONE 7", "", done, ""},
		{"it had this number already, and does not know", "OLD 7", "UNKNOWN 7", "", workers.Ending{Outcome: term.Unknown}, "interrupted"},
		{"it says that an older number is newer", "OLD 5", "DONE 5", "VOID 7", not, "withdrawn"},
		{"it has gone on", "OLD 9", "DONE 9", "", not, "not newer than 9"},
		{"done, of another", "DONE 6", "DONE 5", "VOID 7", not, "withdrawn"},
		{"done, of another, and of this in the end", "DONE 6", "DONE 7", "", done, ""},
		{"ten megabytes on one line", strings.Repeat("x", 10<<20), "DONE 7", "", done, ""},
		{"no byte that is a letter", "\x00\xff\x1b", "FAIL 7 \x00", "", not, "did not mark the part"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			var answering sync.WaitGroup
			var marks atomic.Int64
			answering.Go(func() {
				for {
					conn, err := listener.Accept()
					if err != nil {
						return
					}
					answering.Go(func() {
						defer func() { _ = conn.Close() }()
						line, _ := bufio.NewReader(conn).ReadString('\n')
						answer := c.last
						switch {
						case strings.HasPrefix(line, "MARK"):
							marks.Add(1)
							answer = c.mark
						case strings.HasPrefix(line, "VOID"):
							answer = c.void
						case marks.Load() == 0:
							answer = "DONE 5"
						}
						_, _ = io.WriteString(conn, answer+"\n")
					})
				}
			})
			defer answering.Wait()
			defer func() { _ = listener.Close() }()
			d, err := tool.NewMarker(tool.MarkerOptions{Clock: wallClock{}, Config: term.DriverConfig{Address: listener.Addr().String(),
				Poll: term.Duration(10 * time.Millisecond), Timeout: term.Duration(time.Second)}})
			if err != nil {
				t.Fatal(err)
			}
			e := d.Perform(t.Context(), mark(7))
			why := e.Error
			e.Error = ""
			if e != c.want || !strings.Contains(why, c.says) || (why == "") != (c.says == "") || marks.Load() != 1 {
				t.Errorf("ended %+v (%s) after %d marks", e, why, marks.Load())
			}
		})
	}
}
