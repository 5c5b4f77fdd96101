package robotrpc_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"surehand/internal/simulator/line"
	"surehand/internal/term"
	"surehand/internal/workers"
	"surehand/internal/workers/robotrpc"
)

// soon is an action that is made void after a moment.
func soon(n uint32) workers.Task {
	t := move(n)
	t.Bound = 300 * time.Millisecond
	return t
}

func wrongClock(o *line.MQTTOptions) { o.WrongClock = true }

func (c *cell) awaitIgnored(reason string) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := c.world.Wait(ctx, func(t line.Truth) bool {
		for _, i := range t.Ignored {
			if strings.Contains(i.Reason, reason) {
				return true
			}
		}
		return false
	}); err != nil {
		c.t.Fatalf("nothing was ignored as %s: %+v", reason, c.world.Truth().Ignored)
	}
}

func (c *cell) begun(want int) {
	c.t.Helper()
	if n := count(c.world.Truth()); n != want {
		c.t.Errorf("%d actions have begun, want %d", n, want)
	}
	for no, times := range c.world.Truth().Executed {
		if times != 1 {
			c.t.Errorf("number %d was begun %d times", no, times)
		}
	}
}

// A request that arrives long after it was given up begins nothing, whatever the robot's clock says: its number is void.
func TestLateRequestBeginsNothing(t *testing.T) {
	t.Parallel()
	c := open(t, broker(t), wrongClock)
	await := c.watched(c.driver)
	await(reached)
	c.robot.SetMQTTFaults(line.MQTTFaults{LateAction: 1, LateBy: 1500 * time.Millisecond, Strikes: 1})
	if e := c.driver.Perform(t.Context(), soon(1)); e.Outcome != term.NotDone || e.PartAt != term.PartAtFrom {
		t.Fatalf("ended %+v", e)
	}
	await(func(r term.Reading) bool { return r.Reached && r.Echo == 1 && !r.Go && !r.Ended })
	c.awaitIgnored("not newer")
	c.begun(0)
	inTheEnd(c, c.driver, 2)
	c.begun(1)
}

// A request that never arrived is made void and surely not done.
func TestLostRequestIsNotDone(t *testing.T) {
	t.Parallel()
	c := open(t, broker(t))
	c.watched(c.driver)(reached)
	c.robot.SetMQTTFaults(line.MQTTFaults{LoseAction: 1, Strikes: 1})
	if e := c.driver.Perform(t.Context(), soon(1)); e.Outcome != term.NotDone {
		t.Fatalf("ended %+v", e)
	}
	inTheEnd(c, c.driver, 2)
	c.begun(1)
}

// Nothing can be said of an action when the robot has forgotten everything meanwhile, even its last number; and it gets
// the number back, so that no copy can begin.
func TestForgottenNumberIsUnknown(t *testing.T) {
	t.Parallel()
	address := broker(t)
	for name, begins := range map[string]bool{"it was begun": true, "it was not begun": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := open(t, address)
			await := c.watched(c.driver)
			await(reached)
			c.robot.SetFaults(line.RobotFaults{StickBeforePick: 1})
			c.robot.SetMQTTFaults(line.MQTTFaults{SilentAfterBegin: 1, SilentFor: time.Hour})
			if !begins {
				c.robot.SetMQTTFaults(line.MQTTFaults{LoseAction: 1})
			}
			before := c.robot.Requests()
			ended := make(chan workers.Ending, 1)
			go func() { ended <- c.driver.Perform(context.Background(), move(1)) }()
			if begins {
				c.awaitBegun(1)
			}
			for c.robot.Requests() == before {
				await(func(term.Reading) bool { return true })
			}
			c.robot.SetFaults(line.RobotFaults{})
			c.robot.SetMQTTFaults(line.MQTTFaults{})
			if err := c.robot.Restart(line.ForgetEcho); err != nil {
				t.Fatal(err)
			}
			if e := <-ended; e.Outcome != term.Unknown || !strings.Contains(e.Error, "restarted") {
				t.Errorf("ended %+v", e)
			}
			await(func(r term.Reading) bool {
				return r.Reached && r.Echo == 1 && r.PartAt == term.PartUnknown && !r.Go && !r.Busy
			})
			inTheEnd(c, c.driver, 2)
		})
	}
}

// A robot that has lost its number while nothing was under way gets it back.
func TestLostEchoIsGivenBack(t *testing.T) {
	t.Parallel()
	c := open(t, broker(t))
	await := c.watched(c.driver)
	inTheEnd(c, c.driver, 7)
	if err := c.robot.Restart(line.ForgetEcho); err != nil {
		t.Fatal(err)
	}
	await(func(r term.Reading) bool {
		return r.Reached && r.Echo == 7 && !r.Go && !r.Ended && r.PartAt == term.PartUnknown
	})
	c.begun(1)
}

// "Not begun" is said of a robot that answers only. One that stands still may begin yet: while its number is in doubt
// no reading says that nothing can begin, and what it does in the end is what the reading says then.
func TestFrozenRobotIsUnknown(t *testing.T) {
	t.Parallel()
	address := broker(t)
	for name, clock := range map[string]bool{"wrong clock": true, "right clock": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := open(t, address, func(o *line.MQTTOptions) { o.WrongClock = clock })
			await := c.watched(c.driver)
			await(reached)
			c.robot.Freeze()
			if e := c.driver.Perform(t.Context(), soon(1)); e.Outcome != term.Unknown {
				t.Fatalf("ended %+v", e)
			}
			c.begun(0)
			c.robot.Thaw()
			r := await(func(r term.Reading) bool { return r.Reached && !r.Busy && (!r.Go || r.Ended) })
			begun := count(c.world.Truth())
			if r.Echo != 1 || r.Ended != (begun == 1) || !r.Ended && r.PartAt != term.PartAtFrom {
				t.Errorf("reading %+v when %d have begun", r, begun)
			}
			if clock != (begun == 1) {
				t.Errorf("%d have begun", begun)
			}
			inTheEnd(c, c.driver, 2)
			c.begun(begun + 1)
		})
	}
}

// What could not be settled while the link was down is settled when it returns.
func TestDoubtIsSettledLater(t *testing.T) {
	t.Parallel()
	c := open(t, broker(t), wrongClock)
	await := c.watched(c.driver)
	await(reached)
	c.robot.SetMQTTFaults(line.MQTTFaults{LoseAction: 1, Strikes: 1})
	before := c.robot.Requests()
	ended := make(chan workers.Ending, 1)
	go func() { ended <- c.driver.Perform(context.Background(), move(1)) }()
	for c.robot.Requests() == before {
		await(func(term.Reading) bool { return true })
	}
	c.pipe.Cut()
	e := <-ended
	if e.Outcome != term.Unknown {
		t.Fatalf("ended %+v", e)
	}
	await(func(r term.Reading) bool { return !r.Reached && r.Go })
	c.pipe.Heal()
	await(func(r term.Reading) bool { return r.Reached && r.Echo == 1 && !r.Go && r.PartAt == term.PartAtFrom })
	c.begun(0)
}

// The last request of a process that was killed waits at the broker for a robot that is away. A new process knows nothing
// of it, and reports no reading as reached before the robot has looked at it.
func TestRequestOfAnEndedLife(t *testing.T) {
	t.Parallel()
	address := broker(t)
	for name, wait := range map[string]time.Duration{"it is delivered": 0, "it has expired": 4 * time.Second} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := open(t, address, func(o *line.MQTTOptions) { o.WrongClock, o.SessionExpiry = true, time.Minute })
			await, kill := c.run(c.driver)
			await(reached)
			c.robots.Cut()
			ctx, cancel := context.WithCancel(context.Background())
			ended := make(chan workers.Ending, 1)
			go func() { ended <- c.driver.Perform(ctx, move(1)) }()
			await(func(r term.Reading) bool { return r.Go }) // it has left
			kill()
			cancel()
			if e := <-ended; e.Outcome != term.Unknown {
				t.Fatalf("ended %+v", e)
			}
			over := time.NewTimer(wait)
			<-over.C // the time of its expiry at the broker

			next := c.newDriver()
			await = c.watched(next)
			c.robots.Heal()
			first := await(reached)
			begun := count(c.world.Truth())
			if begun > 1 || (first.Echo == 1) != (begun == 1) {
				t.Errorf("the first reading is %+v when %d have begun", first, begun)
			}
			await(func(r term.Reading) bool { return r.Reached && !r.Busy })
			inTheEnd(c, next, 2)
			c.begun(begun + 1)
			t.Log(begun, "had begun")
		})
	}
}

// What an ended life has left in doubt is made void when the new one knows its number, and left alone when it was begun.
func TestNumberInDoubtIsMadeVoid(t *testing.T) {
	t.Parallel()
	address := broker(t)
	for name, begins := range map[string]bool{"it was begun": true, "it was not begun": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := open(t, address)
			_, kill := c.run(c.driver)
			inTheEnd(c, c.driver, 1)
			before := c.robot.Requests()
			if begins {
				c.robot.SetFaults(line.RobotFaults{StickBeforeEnd: 1, Strikes: 1})
			} else {
				c.robot.SetMQTTFaults(line.MQTTFaults{LoseAction: 1, Strikes: 1})
			}
			ctx, cancel := context.WithCancel(context.Background())
			ended := make(chan workers.Ending, 1)
			go func() { ended <- c.driver.Perform(ctx, move(2)) }()
			if err := c.world.Wait(context.Background(), func(truth line.Truth) bool {
				return truth.Executed[2] == 1 || truth.Faults["robot/mqtt/lose_action"] == 1
			}); err != nil {
				t.Fatal(err)
			}
			kill()
			cancel()
			<-ended
			next := c.newDriver(func(o *robotrpc.Options) { o.InDoubt = 2 })
			await := c.watched(next)
			if begins {
				await(func(r term.Reading) bool { return r.Reached && r.Busy && r.Echo == 2 && !r.Go })
				c.free()
				await(func(r term.Reading) bool { return r.Reached && r.Ended && r.Echo == 2 && r.PartAt == term.PartAtTo })
			} else {
				await(func(r term.Reading) bool {
					return r.Reached && r.Echo == 2 && !r.Ended && !r.Go && r.PartAt == term.PartAtFrom
				})
			}
			if c.robot.Requests() == before {
				t.Error("nothing was asked for")
			}
			begun := count(c.world.Truth())
			inTheEnd(c, next, 3)
			c.begun(begun + 1)
		})
	}
}

// An end that nobody waited for any more stays shown until it is acknowledged, or until the next action.
func TestEndStaysShown(t *testing.T) {
	t.Parallel()
	address := broker(t)
	for name, acknowledges := range map[string]bool{"acknowledged": true, "next action": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := open(t, address)
			await := c.watched(c.driver)
			await(reached)
			c.robot.SetFaults(line.RobotFaults{StickBeforeEnd: 1, Strikes: 1})
			if e := c.driver.Perform(t.Context(), soon(1)); e.Outcome != term.Unknown {
				t.Fatalf("ended %+v", e)
			}
			if err := c.driver.Acknowledge(t.Context(), workers.DoneCycle{}, func() { t.Error("acknowledged while it moves") }); err == nil {
				t.Error("a robot that moves was acknowledged")
			}
			c.free()
			await(func(r term.Reading) bool { return r.Reached && r.Ended && r.Go && r.PartAt == term.PartAtTo })
			told := 0
			if acknowledges {
				if err := c.driver.Acknowledge(t.Context(), workers.DoneCycle{}, func() { told++ }); err != nil || told != 1 {
					t.Errorf("acknowledged %d times: %v", told, err)
				}
				await(func(r term.Reading) bool {
					return r.Reached && !r.Ended && !r.Go && r.Echo == 1 && r.PartAt == term.PartAtTo
				})
			}
			inTheEnd(c, c.driver, 2)
			c.begun(2)
		})
	}
}

// A process with the same ids cuts off a forgotten one, which says so and does not fight for the robot.
func TestForgottenProcessIsCutOff(t *testing.T) {
	t.Parallel()
	c := open(t, broker(t))
	await := c.watched(c.driver)
	await(reached)
	c.over.Store(true) // for the first; the second is confirmed
	second := c.newDriver(func(o *robotrpc.Options) { o.Confirm = nil })
	c.watched(second)(reached)
	await(func(r term.Reading) bool { return !r.Reached && strings.Contains(r.Error, "this process life is over") })
	if e := c.driver.Perform(t.Context(), move(1)); e.Outcome != term.NotDone || !e.Unsent {
		t.Errorf("ended %+v", e)
	}
	inTheEnd(c, second, 2)
	c.begun(1)
}

// A process that was forgotten while an action of its own was under way asks for nothing any more.
func TestForgottenWhileItMovesAsksNothing(t *testing.T) {
	t.Parallel()
	c := open(t, broker(t))
	var clock steppedClock
	d := c.newDriver(func(o *robotrpc.Options) { o.Clock = &clock })
	await := c.watched(d)
	await(reached)
	c.robot.SetFaults(line.RobotFaults{StickBeforeEnd: 1, Strikes: 1})
	ended := make(chan workers.Ending, 1)
	go func() { ended <- d.Perform(context.Background(), move(1)) }()
	c.awaitBegun(1)
	await(func(r term.Reading) bool { return r.Busy })
	c.over.Store(true)
	clock.step(3 * time.Second) // the last confirmation is too old to count
	requests := c.robot.Requests()
	c.free()
	if e := <-ended; e != workers.Happened(term.PartAtTo) {
		t.Errorf("ended %+v", e)
	}
	if e := d.Perform(t.Context(), move(2)); e.Outcome != term.NotDone || !e.Unsent {
		t.Errorf("the next ended %+v", e)
	}
	if n := c.robot.Requests(); n != requests {
		t.Errorf("%d requests of a forgotten process", n-requests)
	}
}

// steppedClock can be put forward.
type steppedClock struct {
	mu sync.Mutex
	by time.Duration
}

func (c *steppedClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.by)
}

func (c *steppedClock) step(by time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.by += by
}

// inTheEnd tries with new numbers while surely nothing begins.
func inTheEnd(c *cell, d *robotrpc.Driver, n uint32) {
	c.t.Helper()
	var e workers.Ending
	for ; n <= 16; n++ {
		switch e = d.Perform(context.Background(), move(n)); e.Outcome {
		case term.Done:
			return
		case term.Unknown:
			c.t.Fatalf("in the end: %+v", e)
		}
	}
	c.t.Fatalf("nothing was done in the end: %+v", e)
}

// A robot that shows 0 has begun none yet, or has lost its memory: it may begin any number, also one of the upper half. So
// one in doubt is made void, and until it is nothing says that it can begin no more.
func TestAnyNumberIsNewerThanNone(t *testing.T) {
	t.Parallel()
	const high = 1<<31 + 5
	c := open(t, broker(t))
	c.robot.SetMQTTFaults(line.MQTTFaults{LoseRequest: 1})
	await := c.watched(c.newDriver(func(o *robotrpc.Options) { o.InDoubt = high }))
	await(func(r term.Reading) bool { return strings.Contains(r.Error, "has not answered yet") && r.Go })
	c.robot.SetMQTTFaults(line.MQTTFaults{})
	await(func(r term.Reading) bool { return r.Reached && r.Echo == high && !r.Go })

	c = open(t, broker(t))
	c.watched(c.driver)
	task := move(1)
	task.ActionNo = high
	if e := c.driver.Perform(context.Background(), task); e != workers.Happened(term.PartAtTo) {
		t.Errorf("ended %+v", e)
	}
	c.begun(1)
}

// A robot may go on showing where an earlier action left its part when it makes a number void. That is no evidence about
// this number, which it may have begun and forgotten.
func TestVoidSaysNothingOfThePart(t *testing.T) {
	t.Parallel()
	address := broker(t)
	c := &cell{t: t, topic: fmt.Sprintf("%s-%d", topic, cells.Add(1))}
	c.pipe = newPipe(t, address)
	await := c.watched(c.newDriver(func(o *robotrpc.Options) { o.InDoubt = 4 }))
	robot := newScripted(t, address, c.topic)
	robot.show(nil)
	await(func(r term.Reading) bool { return r.Echo == 3 && r.PartAt == term.PartAtTo && r.Go })
	robot.show(map[string]any{"bootId": "second", "echo": 4, "result": "void"}) // it has lost its power since
	if r := await(func(r term.Reading) bool { return r.Reached && r.Echo == 4 && !r.Go }); r.PartAt != term.PartUnknown {
		t.Errorf("the part is said to be at %q", r.PartAt)
	}
}
