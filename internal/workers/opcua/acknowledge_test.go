package opcua_test

import (
	"sync"
	"testing"

	"surehand/internal/term"
	"surehand/internal/workers"
)

// finish starts slots and ends them, and gives the done that is shown first.
func (c *cell) finish(t *testing.T, r *readings, first uint32, count int) workers.DoneCycle {
	t.Helper()
	for n := range count {
		if e := c.driver.Perform(t.Context(), start(first+uint32(n))); e.Outcome != term.Done {
			t.Fatalf("start %d ended %+v", first+uint32(n), e)
		}
	}
	for n := range count {
		c.do("finish", map[string]any{"slot": int(first) + n})
	}
	done, _ := workers.DoneOf(r.await(shows(int(first))))
	return done
}

func shows(slot int) func(term.Reading) bool {
	return func(now term.Reading) bool { return now.Reached && now.Done && now.DoneSlot == slot }
}

func (c *cell) acknowledge(t *testing.T, done workers.DoneCycle) {
	t.Helper()
	told := 0
	if err := c.driver.Acknowledge(t.Context(), done, func() { told++ }); err != nil || told != 1 {
		t.Errorf("acknowledged %d times: %v", told, err)
	}
}

// Each done is acknowledged by itself; asked again for an old one, nothing happens to the one that is shown.
func TestAcknowledgeIsForOneDone(t *testing.T) {
	t.Parallel()
	c := open(t, false, nil)
	r := watched(t, c)
	r.awaitReached()
	first := c.finish(t, r, 1, 3)
	for range 3 {
		c.acknowledge(t, first)
		r.await(shows(2))
		if now := r.more(5); !shows(2)(now) {
			t.Fatalf("slot 2 is not shown any more: %+v", now)
		}
	}
	second, _ := workers.DoneOf(r.await(shows(2)))
	c.acknowledge(t, second)
	r.await(shows(3))
	if second.Cycle != first.Cycle+1 {
		t.Errorf("cycles %d and %d", first.Cycle, second.Cycle)
	}
}

// The same while answers and writes are lost, and while the link goes in between.
func TestAcknowledgeThroughFaults(t *testing.T) {
	for name, fault := range map[string]func(*cell){
		"every second answer to a write is lost": func(c *cell) { c.do("lose", map[string]any{"what": "answers"}) },
		"every second write is lost":             func(c *cell) { c.do("lose", map[string]any{"what": "writes"}) },
		"the link is cut meanwhile": func(c *cell) {
			var once sync.Once
			go once.Do(func() { c.proxy.cut(); c.proxy.heal() })
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := open(t, false, nil)
			r := watched(t, c)
			r.awaitReached()
			first := c.finish(t, r, 1, 2)
			fault(c)
			for told := 0; told == 0; {
				_ = c.driver.Acknowledge(t.Context(), first, func() { told++ })
			}
			r.await(shows(2))
			if now := r.more(20); !shows(2)(now) {
				t.Errorf("slot 2 is not shown any more: %+v", now)
			}
			c.do("free", nil)
			second, _ := workers.DoneOf(r.await(shows(2)))
			c.acknowledge(t, second)
			r.await(func(now term.Reading) bool { return now.Reached && !now.Done })
			for slot, times := range c.truth().Raised {
				if times != 1 {
					t.Errorf("done rose %d times for slot %d", times, slot)
				}
			}
		})
	}
}

func TestDoneThatStaysIsAnError(t *testing.T) {
	t.Parallel()
	c := open(t, false, nil)
	r := watched(t, c)
	r.awaitReached()
	c.do("keepDone", nil)
	first := c.finish(t, r, 1, 1)
	told := 0
	if err := c.driver.Acknowledge(t.Context(), first, func() { told++ }); err == nil || told != 1 {
		t.Errorf("acknowledged %d times: %v", told, err)
	}
}

func TestAcknowledgeWithoutALinkIsAnError(t *testing.T) {
	t.Parallel()
	c := open(t, false, nil)
	r := watched(t, c)
	r.awaitReached()
	first := c.finish(t, r, 1, 1)
	c.proxy.cut()
	r.await(func(now term.Reading) bool { return !now.Reached })
	if err := c.driver.Acknowledge(t.Context(), first, func() { t.Error("acknowledged") }); err == nil {
		t.Error("no error")
	}
}

// done_ack that was left up must not take away the next done.
func TestLeftoverDoneAckIsLowered(t *testing.T) {
	t.Parallel()
	c := open(t, false, nil)
	r := watched(t, c)
	r.awaitReached()
	first := c.finish(t, r, 1, 1)
	c.do("lose", map[string]any{"what": "lowering"})
	_ = c.driver.Acknowledge(t.Context(), first, func() {})
	r.await(func(now term.Reading) bool { return now.Reached && !now.Done })
	c.do("free", nil)
	second := c.finish(t, r, 2, 1)
	if now := r.more(5); !shows(2)(now) || second.Slot != 2 {
		t.Errorf("slot 2 is not shown any more: %+v", now)
	}
}

// The whole of a reading, with a number that needs both of its words.
func TestStartOfOneSlotWhileAnotherRuns(t *testing.T) {
	t.Parallel()
	c := open(t, false, nil)
	r := watched(t, c)
	r.awaitReached()
	for n := range uint32(3) {
		task := start(n + 1)
		task.ActionNo += 5 << 16
		if e := c.driver.Perform(t.Context(), task); e.Outcome != term.Done {
			t.Fatalf("start %d ended %+v", n+1, e)
		}
	}
	again := start(4)
	again.ActionNo, again.Slot = 6<<16, 2
	if e := c.driver.Perform(t.Context(), again); e.Outcome != term.NotDone || e.Unsent {
		t.Errorf("a slot that runs: %+v", e)
	}
	now := r.await(func(now term.Reading) bool { return now.Running == 0b111 && !now.Go })
	want := term.Reading{Reached: true, Ready: true, Echo: 5<<16 + 3, State: term.MachineRunning, Running: 0b111, Occupied: 1<<16 - 1,
		ReadySlots: 1<<16 - 1 - 0b111, StartResult: term.StartRunning}
	if now != want {
		t.Errorf("read %+v, want %+v", now, want)
	}
	if harm := c.harm(); len(harm) > 0 {
		t.Error(harm)
	}
}
