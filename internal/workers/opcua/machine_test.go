package opcua_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"surehand/internal/plant"
	"surehand/internal/term"
	"surehand/internal/workers"
	"surehand/internal/workers/handshake"
	"surehand/internal/workers/opcua"
	"surehand/internal/workers/plc"
	"surehand/internal/workers/workertest"
)

type wallClock struct{}

func (wallClock) Now() time.Time { return time.Now() }

// cell is one machine of another author, with a part in each of its sixteen slots, behind a proxy.
type cell struct {
	*machine
	proxy  *proxy
	driver plc.Driver
	over   atomic.Bool // the process life
}

func open(t *testing.T, own bool, shapes map[string]any) *cell {
	t.Helper()
	return drive(t, openMachine(t, own, shapes))
}

// drive makes a driver for a machine.
func drive(t *testing.T, m *machine) *cell {
	t.Helper()
	c := &cell{machine: m, proxy: newProxy(t, m.address)}
	config := c.config()
	var err error
	c.driver, err = plc.New(handshake.Options{Config: config, Clock: wallClock{}, Confirm: func(context.Context) error {
		if c.over.Load() {
			return errors.New("this process life is over")
		}
		return nil
	}}, opcua.New(config))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func (c *cell) config() term.DriverConfig {
	return term.DriverConfig{Address: "opc.tcp://" + c.proxy.address() + "/machines", Namespace: c.uri, Node: c.name,
		Poll: term.Duration(20 * time.Millisecond), Stale: term.Duration(2 * time.Second), Timeout: term.Duration(time.Second)}
}

func start(n uint32) workers.Task {
	now := time.Now()
	return workers.Task{StartedAt: now, Perform: plant.Perform{
		TaskID: term.TaskID(fmt.Sprint("task-", n)), Type: term.TaskStartMachine, EquipmentID: "mill", ActionNo: n, Slot: int(n), Program: 7,
		FencedAt: now.Round(0), Bound: 30 * time.Second,
	}}
}

// next sets what becomes of the next go = 1.
func (c *cell) next(fault string) { c.do("next", map[string]any{"fault": fault}) }

// proves C-13
func TestMachineKeepsTheDriversContract(t *testing.T) {
	workertest.Drivers(t, func(t *testing.T) workertest.Equipment {
		c := open(t, strings.Contains(t.Name(), "restart"), nil)
		return workertest.Equipment{
			Driver: c.driver, Task: start, Done: workers.Happened(""),
			Next: func(f workertest.Fault) bool {
				if f == workertest.DoubledAnswer { // a channel numbers its messages
					return false
				}
				c.next(string(f))
				return true
			},
			Free:       func() { c.do("free", nil) },
			Begun:      func() int { return len(c.truth().Begun) },
			AwaitBegun: func(count int) { c.awaitBegun(t.Context(), count) },
			Writes:     func() int { return c.truth().Writes },
			Cut:        c.proxy.cut, Heal: c.proxy.heal, Restart: func() { c.do("restart", nil) },
			StopHeartbeat:  func() { c.do("program", map[string]any{"runs": false}) },
			StartHeartbeat: func() { c.do("program", map[string]any{"runs": true}) },
			Forget:         func() { c.over.Store(true) },
			Harm:           c.harm,
		}
	})
}

func (c *cell) harm() []string {
	truth := c.truth()
	return append(slices.Clone(truth.Violations), doubly(truth.Begun)...)
}

func doubly(all []begun) (harm []string) {
	seen := map[uint32]bool{}
	for _, b := range all {
		if seen[b.Number] {
			harm = append(harm, fmt.Sprintf("number %d was begun twice", b.Number))
		}
		if seen[b.Number] = true; b.Program != 7 || b.Slot != int(b.Number&0xffff) {
			harm = append(harm, fmt.Sprintf("number %d was begun as slot %d with program %d", b.Number, b.Slot, b.Program))
		}
	}
	return harm
}

// readings are those of a driver that runs until the test ends.
type readings struct {
	t      *testing.T
	mu     sync.Mutex
	last   term.Reading
	number int
	errors map[string]bool // all that were told
	change chan struct{}
}

func watched(t *testing.T, c *cell) *readings {
	r := &readings{t: t, errors: map[string]bool{}, change: make(chan struct{})}
	ctx, cancel := context.WithCancel(context.Background())
	var ended sync.WaitGroup
	ended.Go(func() {
		c.driver.Run(ctx, func(now term.Reading) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.last = now
			if r.number++; now.Error != "" {
				r.errors[now.Error] = true
			}
			close(r.change)
			r.change = make(chan struct{})
		})
	})
	t.Cleanup(func() { cancel(); ended.Wait() })
	return r
}

// await calls is with the lock held.
func (r *readings) await(is func(term.Reading) bool) term.Reading {
	r.t.Helper()
	giveUp := time.After(patience)
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

func (r *readings) awaitReached() { r.t.Helper(); r.await(reached) }

func (r *readings) awaitError(words string) {
	r.t.Helper()
	r.await(func(now term.Reading) bool { return !now.Reached && strings.Contains(now.Error, words) })
}

// more waits for some readings more.
func (r *readings) more(count int) term.Reading {
	r.t.Helper()
	r.mu.Lock()
	until := r.number + count
	r.mu.Unlock()
	return r.await(func(term.Reading) bool { return r.number >= until })
}

func reached(r term.Reading) bool { return r.Reached }

func inTheEnd(t *testing.T, c *cell, n uint32) {
	t.Helper()
	for ; n <= 16; n++ {
		switch e := c.driver.Perform(t.Context(), start(n)); e.Outcome {
		case term.Done:
			return
		case term.Unknown:
			t.Fatalf("in the end: %+v", e)
		}
	}
	t.Fatal("nothing was done in the end")
}
