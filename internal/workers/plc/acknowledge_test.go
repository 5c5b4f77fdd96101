package plc_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"surehand/internal/simulator/line"
	"surehand/internal/term"
	"surehand/internal/workers"
	"surehand/internal/workers/workertest"
)

// readings are those of a driver that runs until the test ends.
type readings struct {
	t      *testing.T
	mu     sync.Mutex
	last   term.Reading
	number int
	change chan struct{}
}

func watched(t *testing.T, c *cell) *readings {
	r := &readings{t: t, change: make(chan struct{})}
	ctx, cancel := context.WithCancel(context.Background())
	var ended sync.WaitGroup
	ended.Go(func() {
		c.driver.Run(ctx, func(now term.Reading) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.last = now
			r.number++
			close(r.change)
			r.change = make(chan struct{})
		})
	})
	t.Cleanup(func() { cancel(); ended.Wait() })
	r.await(func(now term.Reading) bool { return now.Reached })
	return r
}

// await calls is with the lock held.
func (r *readings) await(is func(term.Reading) bool) term.Reading {
	r.t.Helper()
	giveUp := time.After(time.Minute)
	for {
		r.mu.Lock()
		now, change, ok := r.last, r.change, is(r.last)
		r.mu.Unlock()
		if ok {
			return now
		}
		select {
		case <-change:
		case <-giveUp:
			r.t.Fatalf("the last reading is %+v", now)
		}
	}
}

// more waits for some readings more.
func (r *readings) more(count int) term.Reading {
	r.t.Helper()
	r.mu.Lock()
	until := r.number + count
	r.mu.Unlock()
	return r.await(func(term.Reading) bool { return r.number >= until })
}

// finish starts slots and ends them, and gives the done that is shown first.
func (c *cell) finish(t *testing.T, r *readings, first uint32, count int) workers.DoneCycle {
	t.Helper()
	for n := range count {
		if e := c.driver.Perform(t.Context(), start(first+uint32(n))); e.Outcome != term.Done {
			t.Fatalf("start %d ended %+v", first+uint32(n), e)
		}
	}
	for n := range count {
		if !c.machine.Finish(int(first) + n) {
			t.Fatalf("slot %d does not run", int(first)+n)
		}
	}
	done, _ := workers.DoneOf(r.await(func(now term.Reading) bool { return now.Done && now.DoneSlot == int(first) }))
	return done
}

func shows(slot int) func(term.Reading) bool {
	return func(now term.Reading) bool { return now.Done && now.DoneSlot == slot }
}

// Each done is acknowledged by itself; asked again for an old one, nothing happens to the one that is shown.
func TestAcknowledgeIsForOneDone(t *testing.T) {
	c := open(t, false)
	r := watched(t, c)
	first := c.finish(t, r, 1, 3)
	for again := range 3 {
		told := 0
		if err := c.driver.Acknowledge(t.Context(), first, func() { told++ }); err != nil || told != 1 {
			t.Errorf("%d: acknowledged %d times: %v", again, told, err)
		}
		r.await(shows(2))
		if now := r.more(5); !shows(2)(now) {
			t.Fatalf("%d: slot 2 is not shown any more: %+v", again, now)
		}
	}
	second, _ := workers.DoneOf(r.await(shows(2)))
	if err := c.driver.Acknowledge(t.Context(), second, func() {}); err != nil {
		t.Error(err)
	}
	r.await(shows(3))
}

// The same while answers are lost, and while the link goes in between.
func TestAcknowledgeThroughFaults(t *testing.T) {
	for name, judge := range map[string]func(*cell) func(workertest.Request) workertest.Fate{
		"every second answer to a write is lost": func(*cell) func(workertest.Request) workertest.Fate {
			var n atomic.Int32
			return func(r workertest.Request) workertest.Fate {
				return workertest.Fate{Silent: r.Values != nil && n.Add(1)%2 == 1}
			}
		},
		"every second write is lost": func(*cell) func(workertest.Request) workertest.Fate {
			var n atomic.Int32
			return func(r workertest.Request) workertest.Fate {
				return workertest.Fate{Drop: r.Values != nil && n.Add(1)%2 == 1}
			}
		},
		"the link is cut after the first write": func(c *cell) func(workertest.Request) workertest.Fate {
			var once sync.Once
			return func(r workertest.Request) workertest.Fate {
				if r.Values != nil {
					once.Do(func() {
						time.AfterFunc(5*time.Millisecond, func() { c.proxy.Cut(); c.proxy.Heal() })
					})
				}
				return workertest.Fate{}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := open(t, false)
			r := watched(t, c)
			first := c.finish(t, r, 1, 2)
			c.proxy.Judge(judge(c))
			for told := 0; told == 0; {
				_ = c.driver.Acknowledge(t.Context(), first, func() { told++ })
			}
			r.await(shows(2))
			if now := r.more(20); !shows(2)(now) {
				t.Errorf("slot 2 is not shown any more: %+v", now)
			}
			c.proxy.Judge(nil)
			second, _ := workers.DoneOf(r.await(shows(2)))
			if err := c.driver.Acknowledge(t.Context(), second, func() {}); err != nil {
				t.Error(err)
			}
			r.await(func(now term.Reading) bool { return now.Reached && !now.Done })
			for _, cycle := range c.world.Truth().Cycles {
				if cycle.Raised != 1 {
					t.Errorf("done rose %d times for slot %d", cycle.Raised, cycle.Slot)
				}
			}
		})
	}
}

func TestDoneThatStaysIsAnError(t *testing.T) {
	c := open(t, false)
	r := watched(t, c)
	c.machine.SetFaults(line.MachineFaults{StaleDone: true})
	first := c.finish(t, r, 1, 1)
	told := 0
	if err := c.driver.Acknowledge(t.Context(), first, func() { told++ }); err == nil || told != 1 {
		t.Errorf("acknowledged %d times: %v", told, err)
	}
}

func TestAcknowledgeWithoutALinkIsAnError(t *testing.T) {
	c := open(t, false)
	r := watched(t, c)
	first := c.finish(t, r, 1, 1)
	c.proxy.Cut()
	r.await(func(now term.Reading) bool { return !now.Reached })
	if err := c.driver.Acknowledge(t.Context(), first, func() { t.Error("acknowledged") }); err == nil {
		t.Error("no error")
	}
}

// done_ack that an ended process left up must not take away the next done.
func TestLeftoverDoneAckIsLowered(t *testing.T) {
	c := open(t, false)
	r := watched(t, c)
	first := c.finish(t, r, 1, 1)
	var raised atomic.Bool
	c.proxy.Judge(func(q workertest.Request) workertest.Fate { // lowering it is lost
		up := len(q.Values) == 1 && q.Values[0] == 1
		return workertest.Fate{Drop: q.Values != nil && !up && raised.Load() || up && raised.Swap(true)}
	})
	_ = c.driver.Acknowledge(t.Context(), first, func() {})
	r.await(func(now term.Reading) bool { return now.Reached && !now.Done })
	c.proxy.Judge(nil)
	r.more(5)
	second := c.finish(t, r, 2, 1)
	if now := r.more(5); !shows(2)(now) || second.Slot != 2 {
		t.Errorf("slot 2 is not shown any more: %+v", now)
	}
}

func TestStartOfOneSlotWhileAnotherRuns(t *testing.T) {
	for _, low := range []bool{false, true} {
		c := open(t, low)
		r := watched(t, c)
		for n := range uint32(3) {
			task := start(n + 1)
			task.ActionNo += 5 << 16
			if e := c.driver.Perform(t.Context(), task); e.Outcome != term.Done {
				t.Fatalf("start %d ended %+v", n+1, e)
			}
		}
		again := start(4)
		again.ActionNo, again.Slot = 6<<16, 2
		if e := c.driver.Perform(t.Context(), again); e.Outcome != term.NotDone {
			t.Errorf("a slot that runs: %+v", e)
		}
		now := r.await(func(now term.Reading) bool { return now.Running == 0b111 })
		if now.Echo != 5<<16+3 || now.StartResult != 1 || now.State != term.MachineRunning || now.Occupied != 1<<slots-1 || now.Go {
			t.Errorf("reading %+v", now)
		}
		for _, cycle := range c.world.Truth().Cycles {
			if cycle.Program != 7 || int(cycle.No-5<<16) != cycle.Slot {
				t.Errorf("cycle %+v", cycle)
			}
		}
	}
}
