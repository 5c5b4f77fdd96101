package plc_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"surehand/internal/plant"
	"surehand/internal/simulator/line"
	"surehand/internal/term"
	"surehand/internal/workers"
	"surehand/internal/workers/handshake"
	"surehand/internal/workers/modbus"
	"surehand/internal/workers/plc"
	"surehand/internal/workers/workertest"
)

type wallClock struct{}

func (wallClock) Now() time.Time { return time.Now() }

const (
	slots     = 16
	firstSlot = 10
	goAt      = 4
)

// cell is one machine of a simulated cell, with a part in each slot, behind a proxy.
type cell struct {
	world   *line.World
	machine *line.Machine
	proxy   *workertest.Proxy
	driver  plc.Driver
	over    atomic.Bool // the process life
}

func open(t *testing.T, low bool) *cell {
	t.Helper()
	world, err := line.Start(line.Options{Machines: []line.MachineOptions{{
		Name: "mill", First: firstSlot, Slots: slots, CycleTime: time.Hour,
		Modbus: line.ModbusOptions{Unit: 3, Command: 20, Status: 40, LowWordFirst: low},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(world.Close)
	for n := range slots {
		if err := world.Put(line.Place(firstSlot+n), fmt.Sprint("part-", n), fmt.Sprint("code-", n)); err != nil {
			t.Fatal(err)
		}
	}
	c := &cell{world: world, machine: world.Machine("mill")}
	c.proxy = workertest.NewProxy(t, c.machine.Address())
	config := term.DriverConfig{Address: c.proxy.Address(), Unit: 3, Command: 20, Status: 40,
		Poll: term.Duration(10 * time.Millisecond), Stale: term.Duration(time.Second), Timeout: term.Duration(500 * time.Millisecond)}
	if low {
		config.WordOrder = "low"
	}
	c.driver, err = plc.New(handshake.Options{Config: config, Clock: wallClock{}, Confirm: func(context.Context) error {
		if c.over.Load() {
			return errors.New("this process life is over")
		}
		return nil
	}}, modbus.New(config))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func start(n uint32) workers.Task {
	now := time.Now()
	return workers.Task{StartedAt: now, Perform: plant.Perform{
		TaskID: term.TaskID(fmt.Sprint("task-", n)), Type: term.TaskStartMachine, EquipmentID: "mill", ActionNo: n, Slot: int(n), Program: 7,
		FencedAt: now.Round(0), Bound: 30 * time.Second,
	}}
}

// raises tells whether a request raises go.
func raises(r workertest.Request) bool {
	return len(r.Values) > 0 && r.Address <= 20+goAt && r.Address+len(r.Values) > 20+goAt && r.Values[20+goAt-r.Address] != 0
}

// next sets a fault.
func (c *cell) next(f workertest.Fault) bool {
	var struck atomic.Bool
	switch f {
	case workertest.Refused:
		c.machine.SetFaults(line.MachineFaults{RefuseStart: 1, Strikes: 1})
	case workertest.LostAnswer, workertest.LateAnswer, workertest.SlowStart:
		c.proxy.Judge(func(r workertest.Request) (fate workertest.Fate) {
			if !raises(r) || !struck.CompareAndSwap(false, true) {
				return fate
			}
			switch f {
			case workertest.LostAnswer:
				fate.Silent = true
			case workertest.LateAnswer:
				fate.Late = 700 * time.Millisecond
			default:
				fate.Hold = 200 * time.Millisecond
			}
			return fate
		})
	case workertest.Held:
		c.proxy.Judge(func(r workertest.Request) workertest.Fate {
			if raises(r) {
				struck.Store(true)
			}
			return workertest.Fate{Silent: struck.Load()}
		})
	case workertest.DoubledAnswer:
		c.proxy.Judge(func(workertest.Request) workertest.Fate { return workertest.Fate{Doubled: true} })
	}
	return true
}

func (c *cell) begun() int { return count(c.world.Truth()) }

func count(t line.Truth) (n int) {
	for _, times := range t.Started["mill"] {
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

func TestMachineKeepsTheDriversContract(t *testing.T) {
	workertest.Drivers(t, func(t *testing.T) workertest.Equipment {
		c := open(t, false)
		return workertest.Equipment{
			Driver: c.driver, Task: start, Done: workers.Happened(""),
			Next: c.next, Free: func() { c.proxy.Judge(nil) }, Begun: c.begun, AwaitBegun: c.awaitBegun, Writes: c.proxy.Writes,
			Cut: c.proxy.Cut, Heal: c.proxy.Heal, Forget: func() { c.over.Store(true) },
			Restart: func() {
				if err := c.machine.Restart(); err != nil {
					t.Error(err)
				}
			},
			StopHeartbeat:  func() { c.machine.SetFaults(line.MachineFaults{HeartbeatStopped: true}) },
			StartHeartbeat: func() { c.machine.SetFaults(line.MachineFaults{}) },
			Harm:           c.harm,
		}
	})
}
