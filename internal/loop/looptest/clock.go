package looptest

import (
	"slices"
	"sync"
	"time"

	"surehand/internal/loop"
)

// Clock is time that only Advance moves. Its methods may be called from any goroutine.
type Clock struct {
	mu     sync.Mutex
	more   sync.Cond
	now    time.Time
	timers []*timer // by due time, then by registration
}

type timer struct {
	at time.Time
	c  chan time.Time
}

var _ loop.Clock = (*Clock)(nil)

// NewClock starts at the given time.
func NewClock(at time.Time) *Clock {
	c := &Clock{now: at}
	c.more.L = &c.mu
	return c
}

// Now is the virtual time.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// After delivers once when Advance has passed d; at once when d is not positive.
func (c *Clock) After(d time.Duration) (<-chan time.Time, func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := &timer{at: c.now.Add(d), c: make(chan time.Time, 1)}
	if d <= 0 {
		t.c <- c.now
		return t.c, func() {}
	}
	at, _ := slices.BinarySearchFunc(c.timers, t, func(have, t *timer) int {
		if have.at.After(t.at) {
			return 1
		}
		return -1
	})
	c.timers = slices.Insert(c.timers, at, t)
	c.more.Broadcast()
	return t.c, func() { c.drop(t) }
}

func (c *Clock) drop(t *timer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if at := slices.Index(c.timers, t); at >= 0 {
		c.timers = slices.Delete(c.timers, at, at+1)
	}
}

// Advance moves time on and fires the timers that run out, in order, each at its own time.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	end := c.now.Add(d)
	for len(c.timers) > 0 && !c.timers[0].at.After(end) {
		t := c.timers[0]
		c.timers = c.timers[1:]
		c.now = t.at
		t.c <- t.at
	}
	c.now = end
}

// Step sets the time without firing anything, as a wall clock that is corrected does; it may go back.
func (c *Clock) Step(to time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	shift := to.Sub(c.now)
	for _, t := range c.timers { // what is left of each wait stays the same
		t.at = t.at.Add(shift)
	}
	c.now = to
}

// Next is when the next timer runs out.
func (c *Clock) Next() (time.Time, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.timers) == 0 {
		return time.Time{}, false
	}
	return c.timers[0].at, true
}

// AwaitTimers returns once at least n timers are waiting: the loop has come to rest, without a sleep.
func (c *Clock) AwaitTimers(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.timers) < n {
		c.more.Wait()
	}
}
