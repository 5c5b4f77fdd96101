package robot_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"surehand/internal/simulator/line"
	"surehand/internal/term"
	"surehand/internal/workers"
	"surehand/internal/workers/workertest"
)

// A write of go that arrives long after it was given up begins nothing: it was withdrawn with its number.
func TestLateGoBeginsNothing(t *testing.T) {
	t.Parallel()
	c := open(t)
	await := c.watched(c.driver)
	await(reached)
	c.nextGo(workertest.Fate{Hold: 3 * time.Second})
	if e := c.driver.Perform(t.Context(), move(1)); e.Outcome != term.NotDone || e.PartAt != term.PartAtFrom {
		t.Fatalf("ended %+v", e)
	}
	if err := c.world.Wait(context.Background(), func(truth line.Truth) bool { return len(truth.Ignored) > 0 || count(truth) > 0 }); err != nil {
		t.Fatal(err)
	}
	await(func(r term.Reading) bool { return r.Reached && !r.Go })
	if n := count(c.world.Truth()); n != 0 {
		t.Errorf("%d actions have begun", n)
	}
	inTheEnd(t, c, 2)
	if harm := c.harm(); harm != nil {
		t.Error(harm)
	}
}

// A write of go that never arrived is withdrawn and surely not done.
func TestLostGoIsNotDone(t *testing.T) {
	t.Parallel()
	c := open(t)
	c.watched(c.driver)(reached)
	c.nextGo(workertest.Fate{Drop: true})
	if e := c.driver.Perform(t.Context(), move(1)); e.Outcome != term.NotDone {
		t.Fatalf("ended %+v", e)
	}
	inTheEnd(t, c, 2)
	if n := count(c.world.Truth()); n != 1 {
		t.Errorf("%d actions have begun", n)
	}
}

// Nothing can be said of an action when the controller has forgotten everything meanwhile, even its last number.
func TestForgottenNumberIsUnknown(t *testing.T) {
	for name, fate := range map[string]workertest.Fate{"it was begun": {Silent: true}, "it was not begun": {Drop: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := open(t)
			await := c.watched(c.driver)
			await(reached)
			c.robot.SetFaults(line.RobotFaults{StickBeforePick: 1})
			cut := make(chan struct{})
			c.proxy.Judge(func(r workertest.Request) workertest.Fate {
				if raises(r) {
					close(cut)
					return fate
				}
				return workertest.Fate{}
			})
			ended := make(chan workers.Ending, 1)
			go func() { ended <- c.driver.Perform(context.Background(), move(1)) }()
			<-cut
			if !fate.Drop {
				c.awaitBegun(1)
			}
			c.proxy.Cut()
			if err := c.robot.Restart(line.ForgetEcho); err != nil {
				t.Fatal(err)
			}
			c.proxy.Heal()
			if e := <-ended; e.Outcome != term.Unknown {
				t.Errorf("ended %+v", e)
			}
		})
	}
}

// "Not begun" is said of a program that runs only: what a frozen one shows may be old.
func TestFrozenProgramIsUnknown(t *testing.T) {
	t.Parallel()
	c := open(t)
	c.watched(c.driver)(reached)
	c.proxy.Judge(func(r workertest.Request) workertest.Fate {
		if raises(r) {
			c.robot.Freeze()
			return workertest.Fate{Drop: true}
		}
		return workertest.Fate{}
	})
	if e := c.driver.Perform(t.Context(), move(1)); e.Outcome != term.Unknown {
		t.Errorf("ended %+v", e)
	}
	c.robot.Thaw()
	if n := count(c.world.Truth()); n != 0 {
		t.Errorf("%d actions have begun", n)
	}
}

// steppedClock can be put forward.
type steppedClock struct{ by atomic.Int64 }

func (c *steppedClock) Now() time.Time { return time.Now().Add(time.Duration(c.by.Load())) }

// The last look at the clock is right before go.
func TestLateBetweenParametersAndGo(t *testing.T) {
	t.Parallel()
	c := open(t)
	clock := &steppedClock{}
	d := c.newDriverBy(clock)
	c.watched(d)(reached)
	c.proxy.Judge(func(r workertest.Request) workertest.Fate {
		if len(r.Values) > 1 {
			clock.by.Store(int64(3 * time.Second))
		}
		return workertest.Fate{}
	})
	if e := d.Perform(t.Context(), move(1)); e.Outcome != term.NotDone || !strings.Contains(e.Error, "late") {
		t.Errorf("ended %+v", e)
	}
	if n := count(c.world.Truth()); n != 0 {
		t.Errorf("%d actions have begun", n)
	}
}

// A robot that lost power in the middle is not waited for until the bound.
func TestAbandonedActionIsUnknown(t *testing.T) {
	t.Parallel()
	c := open(t)
	c.watched(c.driver)(reached)
	c.robot.SetFaults(line.RobotFaults{StickAfterPick: 1, Strikes: 1})
	ended := make(chan workers.Ending, 1)
	task := move(1)
	task.Bound = time.Hour
	go func() { ended <- c.driver.Perform(context.Background(), task) }()
	c.awaitBegun(1)
	if err := c.robot.Restart(); err != nil {
		t.Fatal(err)
	}
	if e := <-ended; e.Outcome != term.Unknown {
		t.Errorf("ended %+v", e)
	}
}

// A robot that is not ready is not asked.
func TestNotReadyIsNotAsked(t *testing.T) {
	t.Parallel()
	c := open(t)
	await := c.watched(c.driver)
	c.robot.SetReady(false)
	await(func(r term.Reading) bool { return r.Reached && !r.Ready })
	if e := c.driver.Perform(t.Context(), move(1)); e.Outcome != term.NotDone || c.proxy.Writes() != 0 {
		t.Errorf("ended %+v after %d writes", e, c.proxy.Writes())
	}
}

// What an earlier process life left up and was never begun is withdrawn at the next connection.
func TestLeftoverGoIsWithdrawn(t *testing.T) {
	t.Parallel()
	c := open(t)
	c.robot.SetFaults(line.RobotFaults{RefuseBegin: 1, Strikes: 1})
	ctx, cancel := context.WithCancel(context.Background())
	c.proxy.Judge(func(r workertest.Request) workertest.Fate {
		if raises(r) { // the process dies right after it
			cancel()
		}
		return workertest.Fate{}
	})
	before := c.newDriver()
	ran := make(chan struct{})
	go func() { before.Run(ctx, func(term.Reading) {}); close(ran) }()
	if e := before.Perform(ctx, move(1)); e.Outcome != term.Unknown {
		t.Fatalf("ended %+v", e)
	}
	<-ran
	if err := c.world.Wait(context.Background(), func(truth line.Truth) bool { return len(truth.Ignored) > 0 }); err != nil {
		t.Fatal(err)
	}
	c.watched(c.driver)(func(r term.Reading) bool { return r.Reached && !r.Go })
	inTheEnd(t, c, 2)
	if n := count(c.world.Truth()); n != 1 {
		t.Errorf("%d actions have begun", n)
	}
}

// A process that was forgotten while an action of its own was under way does not touch the robot any more.
func TestForgottenWhileItMovesWritesNothing(t *testing.T) {
	t.Parallel()
	c := open(t)
	await := c.watched(c.driver)
	await(reached)
	c.robot.SetFaults(line.RobotFaults{StickBeforeEnd: 1, Strikes: 1})
	ended := make(chan workers.Ending, 1)
	go func() { ended <- c.driver.Perform(context.Background(), move(1)) }()
	c.awaitBegun(1)
	c.over.Store(true)
	await(func(r term.Reading) bool { return r.Busy && r.Go })
	writes := c.proxy.Writes()
	old := time.NewTimer(2100 * time.Millisecond) // the last confirmation must be too old to count
	<-old.C
	c.free()
	if e := <-ended; e != workers.Happened(term.PartAtTo) {
		t.Errorf("ended %+v", e)
	}
	if n := c.proxy.Writes(); n != writes {
		t.Errorf("%d writes of a forgotten process", n-writes)
	}
}

func inTheEnd(t *testing.T, c *cell, n uint32) {
	t.Helper()
	for ; n <= 16; n++ {
		switch e := c.driver.Perform(t.Context(), move(n)); e.Outcome {
		case term.Done:
			return
		case term.Unknown:
			t.Fatalf("in the end: %+v", e)
		}
	}
	t.Fatal("nothing was done in the end")
}
