package robot_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"surehand/internal/plant"
	"surehand/internal/simulator/line"
	"surehand/internal/term"
	"surehand/internal/workers"
	"surehand/internal/workers/handshake"
	"surehand/internal/workers/modbus"
	"surehand/internal/workers/robot"
	"surehand/internal/workers/workertest"
)

type wallClock struct{}

func (wallClock) Now() time.Time { return time.Now() }

const (
	firstFrom = 1
	firstTo   = 101
	station   = 200
	goAt      = 5
	lateGo    = 700 * time.Millisecond
)

// cell is the robot of a simulated cell behind a proxy, with sixteen parts at one row and room for them at another.
type cell struct {
	t      *testing.T
	world  *line.World
	robot  *line.Robot
	proxy  *workertest.Proxy
	driver robot.Driver
	over   atomic.Bool // the process life
}

func open(t *testing.T) *cell {
	t.Helper()
	world, err := line.Start(line.Options{Dock: line.Row{First: firstFrom, Count: 16}, Buffer: line.Row{First: firstTo, Count: 16},
		Stations: []uint16{station}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(world.Close)
	if _, err := world.Arrive(16); err != nil {
		t.Fatal(err)
	}
	c := &cell{t: t, world: world, robot: world.Robot()}
	c.proxy = workertest.NewProxy(t, c.robot.Address())
	c.driver = c.newDriver()
	return c
}

func (c *cell) newDriver() robot.Driver { return c.newDriverBy(wallClock{}) }

func (c *cell) newDriverBy(clock workers.Clock) robot.Driver {
	config := term.DriverConfig{Address: c.proxy.Address(), Unit: 1, Command: 0, Status: 100,
		Poll: term.Duration(10 * time.Millisecond), Stale: term.Duration(time.Second), Timeout: term.Duration(500 * time.Millisecond)}
	d, err := robot.New(handshake.Options{Config: config, Clock: clock, Confirm: func(context.Context) error {
		if c.over.Load() {
			return errors.New("this process life is over")
		}
		return nil
	}}, modbus.New(config))
	if err != nil {
		c.t.Fatal(err)
	}
	return d
}

// watched runs a driver until the test ends, and gives what to await a reading with.
func (c *cell) watched(d robot.Driver) (await func(is func(term.Reading) bool) term.Reading) {
	var mu sync.Mutex
	last, change := term.Reading{}, make(chan struct{})
	ctx, cancel := context.WithCancel(context.Background())
	var ended sync.WaitGroup
	ended.Go(func() {
		d.Run(ctx, func(r term.Reading) {
			mu.Lock()
			defer mu.Unlock()
			last = r
			close(change)
			change = make(chan struct{})
		})
	})
	c.t.Cleanup(func() { cancel(); ended.Wait() })
	return func(is func(term.Reading) bool) term.Reading {
		c.t.Helper()
		giveUp := time.After(time.Minute)
		for {
			mu.Lock()
			r, next := last, change
			mu.Unlock()
			if is(r) {
				return r
			}
			select {
			case <-next:
			case <-giveUp:
				c.t.Fatalf("the last reading is %+v", r)
			}
		}
	}
}

func reached(r term.Reading) bool { return r.Reached }

func move(n uint32) workers.Task {
	now := time.Now()
	return workers.Task{StartedAt: now, Perform: plant.Perform{
		TaskID: term.TaskID(fmt.Sprint("task-", n)), Type: term.TaskMove, EquipmentID: "robot", ActionNo: n,
		From: firstFrom + int(n) - 1, To: firstTo + int(n) - 1, FencedAt: now.Round(0), Bound: 30 * time.Second,
	}}
}

// raises tells whether a request raises go.
func raises(r workertest.Request) bool {
	return r.Address <= goAt && r.Address+len(r.Values) > goAt && r.Values[goAt-r.Address] != 0
}

// nextGo sets the fate of the next request that raises go.
func (c *cell) nextGo(fate workertest.Fate) {
	var struck atomic.Bool
	c.proxy.Judge(func(r workertest.Request) workertest.Fate {
		if raises(r) && struck.CompareAndSwap(false, true) {
			return fate
		}
		return workertest.Fate{}
	})
}

func (c *cell) next(f workertest.Fault) bool {
	switch f {
	case workertest.Refused:
		c.robot.SetFaults(line.RobotFaults{RefuseBegin: 1, Strikes: 1})
	case workertest.Held:
		c.robot.SetFaults(line.RobotFaults{StickBeforeEnd: 1, Strikes: 1})
	case workertest.LostAnswer:
		c.nextGo(workertest.Fate{Silent: true})
	case workertest.LateAnswer:
		c.nextGo(workertest.Fate{Late: lateGo})
	case workertest.SlowStart:
		c.nextGo(workertest.Fate{Hold: 200 * time.Millisecond})
	case workertest.DoubledAnswer:
		c.proxy.Judge(func(workertest.Request) workertest.Fate { return workertest.Fate{Doubled: true} })
	}
	return true
}

// free lets a robot go on that was held; it has begun, and gets stuck some time after that.
func (c *cell) free() {
	for !c.robot.Stuck() {
		runtime.Gosched()
	}
	c.robot.Free()
}

func count(t line.Truth) (n int) {
	for _, times := range t.Executed {
		n += times
	}
	return n
}

func (c *cell) awaitBegun(n int) {
	_ = c.world.Wait(context.Background(), func(t line.Truth) bool { return count(t) >= n })
}

func (c *cell) harm() (harm []string) {
	for _, v := range c.world.Truth().Violations {
		harm = append(harm, v.String())
	}
	return harm
}

func TestRobotKeepsTheDriversContract(t *testing.T) {
	workertest.Drivers(t, func(t *testing.T) workertest.Equipment {
		c := open(t)
		return workertest.Equipment{
			Driver: c.driver, Task: move, Done: workers.Happened(term.PartAtTo),
			Next: c.next, Free: c.free, Begun: func() int { return count(c.world.Truth()) }, AwaitBegun: c.awaitBegun, Writes: c.proxy.Writes,
			Cut: c.proxy.Cut, Heal: c.proxy.Heal, Forget: func() { c.over.Store(true) },
			Restart: func() {
				if err := c.robot.Restart(); err != nil {
					t.Error(err)
				}
			},
			StopHeartbeat: c.robot.Freeze, StartHeartbeat: c.robot.Thaw, Harm: c.harm,
		}
	})
}

func TestHowAnActionEnds(t *testing.T) {
	present := func(t *workers.Task) { t.Present, t.To = true, station }
	for _, c := range []struct {
		name   string
		faults line.RobotFaults
		change func(*workers.Task)
		want   workers.Ending
		why    string
	}{
		{"present", line.RobotFaults{}, present, workers.Happened(term.PartGripper), ""},
		{"error before the pick", line.RobotFaults{FailBeforePick: 1}, nil, workers.Ending{Outcome: term.NotDone, PartAt: term.PartAtFrom}, "error 7"},
		{"error after the pick", line.RobotFaults{FailAfterPick: 1}, nil, workers.Ending{Outcome: term.NotDone, PartAt: term.PartGripper}, "error 7"},
		{"the part is lost", line.RobotFaults{LosePart: 1}, nil, workers.Ending{Outcome: term.Unknown}, "does not know where"},
		{"slow", line.RobotFaults{Slow: 1}, nil, workers.Happened(term.PartAtTo), ""},
		{"stuck", line.RobotFaults{StickAfterPick: 1}, func(t *workers.Task) { t.Bound = 300 * time.Millisecond },
			workers.Ending{Outcome: term.Unknown}, "has not ended"},
		{"no place", line.RobotFaults{}, func(t *workers.Task) { t.To = 0 }, workers.Ending{Outcome: term.NotDone, PartAt: term.PartAtFrom}, "numbers of places"},
		{"no code for it", line.RobotFaults{}, func(t *workers.Task) { t.Present, t.FromGripper = true, true },
			workers.Ending{Outcome: term.NotDone, PartAt: term.PartGripper}, "no code"},
		{"not a robot's", line.RobotFaults{}, func(t *workers.Task) { t.Type = term.TaskStartMachine }, workers.Ending{Outcome: term.NotDone}, "cannot do"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			cell := open(t)
			cell.watched(cell.driver)(reached)
			cell.robot.SetFaults(c.faults)
			task := move(1)
			if c.change != nil {
				c.change(&task)
			}
			got := cell.driver.Perform(t.Context(), task)
			if !strings.Contains(got.Error, c.why) || (c.why == "") != (got.Error == "") {
				t.Errorf("the reason is %q, want %q", got.Error, c.why)
			}
			if got.Error = ""; got != c.want {
				t.Errorf("ended %+v, want %+v", got, c.want)
			}
		})
	}
}

func TestPresentedPartIsPlaced(t *testing.T) {
	c := open(t)
	await := c.watched(c.driver)
	await(reached)
	task := move(1)
	task.Present, task.To = true, station
	if e := c.driver.Perform(t.Context(), task); e != workers.Happened(term.PartGripper) {
		t.Fatalf("present ended %+v", e)
	}
	await(func(r term.Reading) bool { return r.Gripper && r.Position == station && !r.Go && !r.Ended })
	task = move(2)
	task.FromGripper = true
	if e := c.driver.Perform(t.Context(), task); e != workers.Happened(term.PartAtTo) {
		t.Fatalf("place ended %+v", e)
	}
	await(func(r term.Reading) bool { return !r.Gripper && r.Position == firstTo+1 })
	if harm := c.harm(); harm != nil {
		t.Error(harm)
	}
}

// A controller that shows 0 has begun none yet: it begins any number, also one of the upper half.
func TestAnyNumberIsNewerThanNone(t *testing.T) {
	t.Parallel()
	c := open(t)
	c.watched(c.driver)
	task := move(1)
	task.ActionNo = 1<<31 + 5
	if e := c.driver.Perform(context.Background(), task); e != workers.Happened(term.PartAtTo) {
		t.Errorf("ended %+v", e)
	}
}
