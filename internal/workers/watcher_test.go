package workers_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"surehand/internal/message"
	"surehand/internal/plant"
	"surehand/internal/term"
	"surehand/internal/workers"
)

func TestReadingsAreToldAtChangesAndOnceASecond(t *testing.T) {
	onLine(t, func(r *lineRig) {
		r.watch(equipment("robot", term.KindRobot))
		first := take[message.EquipmentStatusChanged](&r.loop)
		if len(first) != 1 || first[0].Equipment != "robot" || first[0].Epoch != 7 || !first[0].Reading.Reached {
			t.Fatalf("first %+v", first)
		}
		pass(10 * time.Second)
		if n := len(take[message.EquipmentStatusChanged](&r.loop)); n < 9 || n > 11 {
			t.Errorf("%d readings in ten quiet seconds", n)
		}
		for n := range 5 {
			r.mocks["robot"].Set(func(r *term.Reading) { r.Fault = n + 1 })
			synctest.Wait()
			got := take[message.EquipmentStatusChanged](&r.loop)
			if len(got) != 1 || got[0].Reading.Fault != n+1 {
				t.Errorf("change %d gave %+v", n, got)
			}
		}
		r.mocks["robot"].Set(func(r *term.Reading) { r.Position = 4 }) // not a predicate
		synctest.Wait()
		if got := take[message.EquipmentStatusChanged](&r.loop); got != nil {
			t.Errorf("a position gave %+v", got)
		}
		r.mocks["robot"].Cut()
		synctest.Wait()
		if got := take[message.EquipmentStatusChanged](&r.loop); len(got) != 1 || got[0].Reading.Reached || got[0].Reading.Error == "" || got[0].Reading.Position != 4 {
			t.Errorf("a cut gave %+v", got)
		}
	})
}

// There is one reading with the loop at a time; meanwhile only the latest is kept.
func TestReadingsAreConflatedWhileTheLoopIsBusy(t *testing.T) {
	for name, busy := range map[string]struct {
		begin, end func(*loopStub)
		with       int // readings with the loop meanwhile
	}{
		"no answer":  {func(l *loopStub) { l.silent = true }, func(l *loopStub) { l.silent = false }, 1},
		"full inbox": {func(l *loopStub) { l.full = true }, func(l *loopStub) { l.full = false }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			onLine(t, func(r *lineRig) {
				r.watch(equipment("robot", term.KindRobot))
				take[message.EquipmentStatusChanged](&r.loop)
				r.loop.set(func() { busy.begin(&r.loop) })
				for n := range 100 {
					r.mocks["robot"].Set(func(r *term.Reading) { r.Fault = n + 1 })
					pass(100 * time.Millisecond)
				}
				if got := r.loop.all; len(got) != busy.with {
					t.Fatalf("%d messages meanwhile", len(got))
				}
				r.loop.set(func() { busy.end(&r.loop) })
				if busy.with > 0 {
					r.loop.answerLast()
				}
				take[message.EquipmentStatusChanged](&r.loop)
				pass(100 * time.Millisecond)
				if got := take[message.EquipmentStatusChanged](&r.loop); len(got) != 1 || got[0].Reading.Fault != 100 {
					t.Errorf("then %+v", got)
				}
			})
		})
	}
}

func TestDoneIsToldUntilItIsGone(t *testing.T) {
	onLine(t, func(r *lineRig) {
		r.watch(equipment("mill", term.KindMachine))
		mill := r.mocks["mill"]
		mill.Raise(2, "fail")
		synctest.Wait()
		want := message.MachineDone{Machine: "mill", SlotNo: 2, Exact: true, Pass: "fail", Cycle: 1, Counted: true}
		if got := take[message.MachineDone](&r.loop); len(got) != 1 || got[0] != want {
			t.Fatalf("first %+v", got)
		}
		pass(4900 * time.Millisecond)
		if got := take[message.MachineDone](&r.loop); got != nil {
			t.Errorf("too early %+v", got)
		}
		pass(10*time.Second + 200*time.Millisecond)
		if got := take[message.MachineDone](&r.loop); len(got) != 3 || got[2] != want {
			t.Errorf("again %+v", got)
		}
		mill.Raise(1, "pass") // another cycle, although done never fell
		synctest.Wait()
		want = message.MachineDone{Machine: "mill", SlotNo: 1, Exact: true, Pass: "pass", Cycle: 2, Counted: true}
		if got := take[message.MachineDone](&r.loop); len(got) != 1 || got[0] != want {
			t.Errorf("next %+v", got)
		}
		mill.Set(func(r *term.Reading) { r.Done = false })
		pass(time.Minute)
		if got := take[message.MachineDone](&r.loop); got != nil {
			t.Errorf("gone %+v", got)
		}
		mill.Set(func(r *term.Reading) { r.Done, r.Cycle = true, 0 })
		synctest.Wait()
		if got := take[message.MachineDone](&r.loop); len(got) != 1 || got[0].Counted {
			t.Errorf("uncounted %+v", got)
		}
	})
}

func acknowledge(n string) plant.Acknowledge {
	return plant.Acknowledge{EquipmentID: "mill", Driver: term.DriverConfig{Address: "mill"}, MessageID: n}
}

func TestAcknowledgeTakesDoneBack(t *testing.T) {
	onLine(t, func(r *lineRig) {
		r.watch(equipment("mill", term.KindMachine), equipment("robot", term.KindRobot))
		mill := r.mocks["mill"]
		mill.Raise(1, "")
		synctest.Wait()
		take[message.MachineDone](&r.loop)
		r.line.Start(acknowledge("1"))
		synctest.Wait()
		if got := take[message.DoneAcknowledged](&r.loop); len(got) != 1 || got[0].Machine != "mill" || mill.Acknowledged() != 1 {
			t.Errorf("acknowledged %+v, taken back %d times", got, mill.Acknowledged())
		}
		r.line.Start(acknowledge("2")) // again: it is gone already
		synctest.Wait()
		if got := take[message.DoneAcknowledged](&r.loop); len(got) != 1 || mill.Acknowledged() != 1 {
			t.Errorf("again %+v, taken back %d times", got, mill.Acknowledged())
		}
	})
}

// A done that the loop has not answered yet is never acknowledged: it may not be stored.
func TestUnansweredDoneIsNotAcknowledged(t *testing.T) {
	onLine(t, func(r *lineRig) {
		r.watch(equipment("mill", term.KindMachine))
		mill := r.mocks["mill"]
		r.loop.set(func() { r.loop.silent = true })
		mill.Raise(1, "")
		synctest.Wait()
		r.line.Start(acknowledge("1"))
		pass(time.Second)
		if mill.Acknowledged() != 0 {
			t.Fatal("acknowledged without an answer")
		}
		r.loop.set(func() { r.loop.silent = false })
		r.loop.answerLast()
		synctest.Wait()
		if mill.Acknowledged() != 1 {
			t.Error("not acknowledged after the answer")
		}
		// The acknowledgement of the last done comes once more, when the next one is shown and not answered.
		r.loop.set(func() { r.loop.full = true })
		mill.Raise(2, "")
		r.line.Start(acknowledge("2"))
		pass(time.Second)
		if mill.Acknowledged() != 1 {
			t.Error("the next done was acknowledged")
		}
	})
}

func TestWatchKeepsReplacesAndEnds(t *testing.T) {
	onLine(t, func(r *lineRig) {
		var running, most atomic.Int32
		r.wrap = func(d workers.Driver) workers.Driver { return counted{d, &running, &most} }
		robot, mill := equipment("robot", term.KindRobot), equipment("mill", term.KindMachine)
		r.watch(mill, robot)
		robot.Config = robot.Config.WithDefaults("robot") // says the same
		r.watch(mill, robot)
		if r.made["robot"] != 1 || r.made["mill"] != 1 || running.Load() != 2 {
			t.Errorf("unchanged: made %v, running %d", r.made, running.Load())
		}
		robot.Config.Driver.Address = "robot2"
		r.watch(robot)
		pass(5 * time.Second)
		if r.made["robot"] != 2 || r.made["mill"] != 1 || running.Load() != 1 {
			t.Errorf("changed: made %v, running %d", r.made, running.Load())
		}
		take[message.EquipmentStatusChanged](&r.loop)
		r.line.Start(task("mill", 1, term.TaskStartMachine))
		pass(2 * time.Second)
		if got := take[message.ActionEnded](&r.loop); len(got) != 1 || got[0].Outcome != term.NotDone {
			t.Errorf("let go: %+v", got)
		}
		robot.Config.Driver.Address = "robot3"
		r.watch(robot)
		robot.Config.Driver.Address = "robot4"
		r.watch(robot, mill)
		pass(5 * time.Second)
		if running.Load() != 2 || most.Load() > 2 {
			t.Errorf("changed twice: running %d, at most %d", running.Load(), most.Load())
		}
	})
}

// counted takes a second to let go.
type counted struct {
	workers.Driver
	running, most *atomic.Int32
}

func (c counted) Run(ctx context.Context, report func(term.Reading)) {
	c.most.Store(max(c.most.Load(), c.running.Add(1)))
	defer c.running.Add(-1)
	c.Driver.Run(ctx, report)
	pass := time.NewTimer(time.Second)
	<-pass.C
}

func TestEquipmentWithoutADriverIsNotReached(t *testing.T) {
	onLine(t, func(r *lineRig) {
		r.watch(equipment("undriven", term.KindMachine))
		got := take[message.EquipmentStatusChanged](&r.loop)
		if len(got) != 1 || got[0].Reading.Reached || got[0].Reading.Error != "no driver for it" {
			t.Errorf("reading %+v", got)
		}
		r.line.Start(task("undriven", 1, term.TaskMark))
		pass(time.Second)
		if got := take[message.ActionEnded](&r.loop); len(got) != 1 || got[0].Outcome != term.NotDone {
			t.Errorf("ended %+v", got)
		}
	})
}

// A driver that breaks while it watches is run again.
func TestBrokenWatcherRunsAgain(t *testing.T) {
	onLine(t, func(r *lineRig) {
		var broke atomic.Bool
		r.wrap = func(d workers.Driver) workers.Driver { return breaks{d, &broke} }
		r.watch(equipment("robot", term.KindRobot))
		if got := take[message.EquipmentStatusChanged](&r.loop); len(got) != 1 || got[0].Reading.Reached {
			t.Errorf("reading %+v", got)
		}
		pass(2 * time.Second)
		if got := take[message.EquipmentStatusChanged](&r.loop); len(got) == 0 || !got[0].Reading.Reached {
			t.Errorf("then %+v", got)
		}
	})
}

type breaks struct {
	workers.Driver
	broke *atomic.Bool
}

func (b breaks) Run(ctx context.Context, report func(term.Reading)) {
	if b.broke.CompareAndSwap(false, true) {
		panic("boom")
	}
	b.Driver.Run(ctx, report)
}
