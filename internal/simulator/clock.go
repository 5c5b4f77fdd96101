package simulator

import (
	"sort"
	"sync"
	"time"
)

// Clock is the time a device lives by. WakeAt takes an absolute time, so that a wake-up asked for while the clock is
// being advanced can never be set too late.
type Clock interface {
	Now() time.Time
	// WakeAt calls wake once, from any goroutine, when the clock has reached t; stop withdraws it.
	WakeAt(t time.Time, wake func()) (stop func())
}

// SystemClock is the machine's clock.
func SystemClock() Clock { return systemClock{} }

type systemClock struct{}

func (systemClock) Now() time.Time { return time.Now() }

func (systemClock) WakeAt(t time.Time, wake func()) func() {
	timer := time.AfterFunc(time.Until(t), wake)
	return func() { timer.Stop() }
}

// ManualClock stands still until it is advanced.
type ManualClock struct {
	mu      sync.Mutex
	now     time.Time
	waiting map[int]manualWake
	nextID  int
}

type manualWake struct {
	id   int
	at   time.Time
	wake func()
}

// NewManualClock returns a clock that shows start.
func NewManualClock(start time.Time) *ManualClock {
	return &ManualClock{now: start, waiting: map[int]manualWake{}}
}

// Now returns the time shown.
func (c *ManualClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// WakeAt implements Clock.
func (c *ManualClock) WakeAt(t time.Time, wake func()) func() {
	c.mu.Lock()
	if !t.After(c.now) {
		c.mu.Unlock()
		wake()
		return func() {}
	}
	c.nextID++
	id := c.nextID
	c.waiting[id] = manualWake{id: id, at: t, wake: wake}
	c.mu.Unlock()
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.waiting, id)
	}
}

// Advance moves the clock on and wakes everything that is due, the earliest first.
func (c *ManualClock) Advance(by time.Duration) {
	c.mu.Lock()
	c.now = c.now.Add(by)
	var due []manualWake
	for id, w := range c.waiting {
		if !w.at.After(c.now) {
			due = append(due, w)
			delete(c.waiting, id)
		}
	}
	c.mu.Unlock()
	sort.Slice(due, func(i, j int) bool {
		if !due[i].at.Equal(due[j].at) {
			return due[i].at.Before(due[j].at)
		}
		return due[i].id < due[j].id
	})
	for _, w := range due {
		w.wake()
	}
}
