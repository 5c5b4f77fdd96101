package robotrpc_test

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

	"surehand/internal/embedded/embeddedtest"
	"surehand/internal/plant"
	"surehand/internal/simulator/line"
	"surehand/internal/term"
	"surehand/internal/workers"
	"surehand/internal/workers/robotrpc"
	"surehand/internal/workers/workertest"
)

type wallClock struct{}

func (wallClock) Now() time.Time { return time.Now() }

const (
	firstFrom = 1
	firstTo   = 101
	station   = 200
	lateBy    = 700 * time.Millisecond
	topic     = "plant/equipment/robot"
	patience  = time.Minute
)

// broker is a mosquitto for one test and its parts, each of which has topics of its own.
func broker(t *testing.T) string { return embeddedtest.Broker(t).Address() }

func newPipe(t *testing.T, address string) *workertest.Pipe { return workertest.NewPipe(t, address) }

// cell is the robot of a simulated cell, with sixteen parts at one row and room for them at another. The driver, the
// robot and their broker are joined by pipes.
type cell struct {
	t           *testing.T
	world       *line.World
	robot       *line.Robot
	topic       string
	pipe        *workertest.Pipe // of the driver
	robots      *workertest.Pipe
	driver      *robotrpc.Driver
	over        atomic.Bool // the process life
	rejected    sync.Map    // counts by reason
	forgetsEcho bool
}

var cells atomic.Int64

func open(t *testing.T, address string, change ...func(*line.MQTTOptions)) *cell {
	t.Helper()
	c := &cell{t: t, topic: fmt.Sprintf("%s-%d", topic, cells.Add(1))}
	c.pipe, c.robots = newPipe(t, address), newPipe(t, address)
	o := &line.MQTTOptions{BrokerURL: "mqtt://" + c.robots.Address(), Topic: c.topic, StateEvery: 50 * time.Millisecond}
	for _, f := range change {
		f(o)
	}
	world, err := line.Start(line.Options{Dock: line.Row{First: firstFrom, Count: 16}, Buffer: line.Row{First: firstTo, Count: 16},
		Stations: []uint16{station}, Robot: line.RobotOptions{MQTT: o}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(world.Close)
	if _, err := world.Arrive(16); err != nil {
		t.Fatal(err)
	}
	c.world, c.robot = world, world.Robot()
	c.driver = c.newDriver()
	return c
}

func (c *cell) options() robotrpc.Options {
	return robotrpc.Options{Equipment: term.EquipmentID(strings.ReplaceAll(c.topic, "/", "-")), URL: "mqtt://" + c.pipe.Address(), Clock: wallClock{},
		Installation: func() string { return "plant-1" },
		Config:       term.DriverConfig{Topic: c.topic, Poll: term.Duration(10 * time.Millisecond), Stale: term.Duration(time.Second)},
		Count: func(name, label string) {
			n, _ := c.rejected.LoadOrStore(label, new(atomic.Int64))
			n.(*atomic.Int64).Add(1)
		},
		Confirm: func(context.Context) error {
			if c.over.Load() {
				return errors.New("this process life is over")
			}
			return nil
		}}
}

func (c *cell) newDriver(change ...func(*robotrpc.Options)) *robotrpc.Driver {
	o := c.options()
	for _, f := range change {
		f(&o)
	}
	d, err := robotrpc.New(o)
	if err != nil {
		c.t.Fatal(err)
	}
	return d
}

// run runs a driver until stop or the end of the test, and gives what to await a reading with.
func (c *cell) run(d *robotrpc.Driver) (await func(is func(term.Reading) bool) term.Reading, stop func()) {
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
	stop = func() { cancel(); ended.Wait() }
	c.t.Cleanup(stop)
	return func(is func(term.Reading) bool) term.Reading {
		c.t.Helper()
		giveUp := time.After(patience)
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
	}, stop
}

// watched runs a driver until the test ends.
func (c *cell) watched(d *robotrpc.Driver) (await func(is func(term.Reading) bool) term.Reading) {
	await, _ = c.run(d)
	return await
}

func reached(r term.Reading) bool { return r.Reached }

func move(n uint32) workers.Task {
	now := time.Now()
	return workers.Task{StartedAt: now, Perform: plant.Perform{
		TaskID: term.TaskID(fmt.Sprint("task-", n)), Type: term.TaskMove, EquipmentID: "robot", ActionNo: n,
		From: firstFrom + int(n) - 1, To: firstTo + int(n) - 1, FencedAt: now.Round(0), Bound: 30 * time.Second,
	}}
}

func (c *cell) next(f workertest.Fault) bool {
	switch f {
	case workertest.Refused:
		c.robot.SetFaults(line.RobotFaults{RefuseBegin: 1, Strikes: 1})
	case workertest.Held:
		c.robot.SetFaults(line.RobotFaults{StickBeforeEnd: 1, Strikes: 1})
	case workertest.LostAnswer:
		c.robot.SetMQTTFaults(line.MQTTFaults{SilentAfterBegin: 1, Strikes: 1})
	case workertest.LateAnswer:
		c.robot.SetMQTTFaults(line.MQTTFaults{LateState: 0.5, LateBy: lateBy})
	case workertest.SlowStart:
		c.robot.SetMQTTFaults(line.MQTTFaults{LateAction: 1, Strikes: 1})
	case workertest.DoubledAnswer:
		c.robot.SetMQTTFaults(line.MQTTFaults{DoubleRequest: 1, DoubleState: 1})
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

// harm is what should never have happened, a number that was begun twice among it.
func (c *cell) harm() (harm []string) {
	for _, v := range c.world.Truth().Violations {
		harm = append(harm, v.String())
	}
	return harm
}

func (c *cell) restart() {
	var forget []line.Memory
	if c.forgetsEcho {
		forget = append(forget, line.ForgetEcho)
	}
	if err := c.robot.Restart(forget...); err != nil {
		c.t.Error(err)
	}
}

// The contract holds over a real broker: with a robot that does all it can, and with one whose clock is wrong and that
// loses its number with the power.
func TestRobotKeepsTheDriversContract(t *testing.T) {
	address := broker(t)
	for name, worse := range map[string]bool{"a good robot": false, "a wrong clock and no memory": true} {
		t.Run(name, func(t *testing.T) {
			workertest.Drivers(t, func(t *testing.T) workertest.Equipment {
				c := open(t, address, func(o *line.MQTTOptions) { o.WrongClock = worse })
				c.forgetsEcho = worse
				return workertest.Equipment{
					Driver: c.driver, Task: move, Done: workers.Happened(term.PartAtTo),
					Next: c.next, Free: c.free, Begun: func() int { return count(c.world.Truth()) }, AwaitBegun: c.awaitBegun, Writes: c.robot.Requests,
					Cut: c.pipe.Cut, Heal: c.pipe.Heal, Forget: func() { c.over.Store(true) }, Restart: c.restart,
					StopHeartbeat: c.robot.Freeze, StartHeartbeat: c.robot.Thaw, Harm: c.harm,
				}
			})
		})
	}
}

func TestHowAnActionEnds(t *testing.T) {
	address := broker(t)
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
		{"refused", line.RobotFaults{RefuseBegin: 1}, nil, workers.Ending{Outcome: term.NotDone, PartAt: term.PartAtFrom}, "did not begin it: refused"},
		{"a place that the robot does not know", line.RobotFaults{}, func(t *workers.Task) { t.To = 999 },
			workers.Ending{Outcome: term.NotDone, PartAt: term.PartAtFrom}, "error 25"},
		{"no place", line.RobotFaults{}, func(t *workers.Task) { t.To = 0 }, workers.Ending{Outcome: term.NotDone, PartAt: term.PartAtFrom}, "numbers of places"},
		{"no method for it", line.RobotFaults{}, func(t *workers.Task) { t.Present, t.FromGripper = true, true },
			workers.Ending{Outcome: term.NotDone, PartAt: term.PartGripper}, "no method"},
		{"not a robot's", line.RobotFaults{}, func(t *workers.Task) { t.Type = term.TaskStartMachine }, workers.Ending{Outcome: term.NotDone}, "cannot do"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			cell := open(t, address)
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
	c := open(t, broker(t))
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
