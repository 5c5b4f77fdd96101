package workers_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"surehand/internal/message"
	"surehand/internal/plant"
	"surehand/internal/term"
	"surehand/internal/workers"
	"surehand/internal/workers/workertest"
)

func TestEachTaskGetsExactlyOneResult(t *testing.T) {
	onLine(t, func(r *lineRig) {
		r.watch(equipment("mill", term.KindMachine), equipment("robot", term.KindRobot), equipment("scan", term.KindScanner))
		r.line.Start(task("robot", 1, term.TaskMove))
		r.line.Start(task("mill", 2, term.TaskStartMachine))
		r.line.Start(task("scan", 3, term.TaskScan))
		r.line.Start(task("lathe", 4, term.TaskStartMachine))
		other := task("robot", 5, term.TaskMove)
		other.Driver.Address = "elsewhere"
		r.line.Start(other)
		pass(time.Minute)
		want := map[term.TaskID]message.ActionEnded{
			"task-1": {Kind: term.TaskMove, Outcome: term.Done, PartAt: term.PartAtTo},
			"task-2": {Kind: term.TaskStartMachine, Outcome: term.Done},
			"task-3": {Kind: term.TaskScan, Outcome: term.Done, PartAt: term.PartGripper, Code: "CODE"},
			"task-4": {Kind: term.TaskStartMachine, Outcome: term.NotDone, Error: "nobody drives lathe"},
			"task-5": {Kind: term.TaskMove, Outcome: term.NotDone, PartAt: term.PartAtFrom, Error: "robot is driven in another way by now"},
		}
		for _, m := range r.loop.all {
			e, ok := m.Payload.(message.ActionEnded)
			if ok && (m.Source != message.FromWorker || m.CorrelationID != string(e.Task) || m.ID == "" || m.CreatedAt.IsZero()) {
				t.Errorf("posted as %+v", m)
			}
		}
		for _, got := range take[message.ActionEnded](&r.loop) {
			w := want[got.Task]
			delete(want, got.Task)
			w.Task, w.Attempt, w.Epoch = got.Task, 1, 7
			if got != w {
				t.Errorf("got %+v, want %+v", got, w)
			}
		}
		if len(want) != 0 {
			t.Errorf("no result for %v", want)
		}
	})
}

// proves invariant 10: an action key is handed out once in a process life.
func TestTheSameTaskTwiceEndsTheProcess(t *testing.T) {
	onLine(t, func(r *lineRig) {
		r.watch(equipment("robot", term.KindRobot))
		r.line.Start(task("robot", 1, term.TaskMove))
		defer func() {
			if fault := recover(); fault == nil || !strings.Contains(fmt.Sprint(fault), "invariant 10") {
				t.Errorf("the second Start gave %v", fault)
			}
		}()
		r.line.Start(task("robot", 1, term.TaskMove))
	})
}

// An unknown outcome is followed by one late result, when a reading tells.
func TestLateResultFollowsAnUnknownOne(t *testing.T) {
	for _, c := range []struct {
		name  string
		id    term.EquipmentID
		kind  term.TaskKind
		after func(*lineRig)
		want  []message.ActionEnded
	}{
		{"a move", "robot", term.TaskMove, func(*lineRig) {}, []message.ActionEnded{{Outcome: term.Done, PartAt: term.PartAtTo}}},
		{"a start", "mill", term.TaskStartMachine, func(*lineRig) {}, []message.ActionEnded{{Outcome: term.Done}}},
		{"a move that failed", "robot", term.TaskMove, func(r *lineRig) {
			r.mocks["robot"].Set(func(r *term.Reading) { r.Busy, r.Fault, r.PartAt = false, 5, term.PartGripper })
		}, []message.ActionEnded{{Outcome: term.NotDone, PartAt: term.PartGripper, Error: "the robot ended with error 5"}}},
		{"a refused start", "mill", term.TaskStartMachine, func(r *lineRig) {
			r.mocks["mill"].Set(func(r *term.Reading) { r.StartResult = 2 })
		}, []message.ActionEnded{{Outcome: term.NotDone, Error: "the machine refused the start"}}},
		{"a mark", "marker", term.TaskMark, func(*lineRig) {}, []message.ActionEnded{{Outcome: term.Done, PartAt: term.PartGripper}}},
		{"a mark that was withdrawn", "marker", term.TaskMark, func(r *lineRig) {
			r.mocks["marker"].Set(func(r *term.Reading) { r.Busy, r.Void = false, true })
		}, []message.ActionEnded{{Outcome: term.NotDone, PartAt: term.PartGripper, Unsent: true, Error: "it was withdrawn before the marker began it"}}},
		{"a move that lost the part", "robot", term.TaskMove, func(r *lineRig) {
			r.mocks["robot"].Set(func(r *term.Reading) { r.Fault, r.PartAt = 5, term.PartUnknown })
			r.mocks["robot"].Set(func(r *term.Reading) { r.Echo = 2 })
		}, nil},
		{"a newer number was begun", "robot", term.TaskMove, func(r *lineRig) {
			r.mocks["robot"].Set(func(r *term.Reading) { r.Echo = 2 })
			pass(time.Second)
			r.mocks["robot"].Set(func(r *term.Reading) { r.Echo = 1 })
		}, nil},
		{"the driver was replaced", "robot", term.TaskMove, func(r *lineRig) {
			e := equipment("robot", term.KindRobot)
			e.Config.Driver.Unit = 3
			r.watch(e)
		}, nil},
		{"while the link is down nothing counts", "robot", term.TaskMove, func(r *lineRig) { r.mocks["robot"].Cut() }, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			onLine(t, func(r *lineRig) {
				r.watch(equipment("marker", term.KindMarker), equipment("mill", term.KindMachine), equipment("robot", term.KindRobot))
				r.mocks[c.id].Next(workertest.Held)
				r.line.Start(task(c.id, 1, c.kind))
				pass(11 * time.Second)
				if got := take[message.ActionEnded](&r.loop); len(got) != 1 || got[0].Outcome != term.Unknown || got[0].Late {
					t.Fatalf("first %+v", got)
				}
				c.after(r)
				pass(time.Second)
				r.mocks[c.id].Free()
				pass(time.Minute)
				got := take[message.ActionEnded](&r.loop)
				for i := range c.want {
					c.want[i].Task, c.want[i].Kind, c.want[i].Attempt, c.want[i].Epoch, c.want[i].Late = "task-1", c.kind, 1, 7, true
				}
				if fmt.Sprint(got) != fmt.Sprint(c.want) {
					t.Errorf("then %+v, want %+v", got, c.want)
				}
			})
		})
	}
}

// An end that was read before the unknown outcome was told is not lost.
func TestEndSeenBeforeTheUnknownOutcome(t *testing.T) {
	onLine(t, func(r *lineRig) {
		driver := make(chan workers.Ending)
		r.wrap = func(d workers.Driver) workers.Driver {
			return wrapped{d, func(context.Context, workers.Task) workers.Ending { return <-driver }}
		}
		r.watch(equipment("robot", term.KindRobot))
		r.line.Start(task("robot", 1, term.TaskMove))
		r.mocks["robot"].Set(func(r *term.Reading) { r.Echo, r.Ended, r.PartAt = 1, true, term.PartAtTo })
		pass(time.Second)
		r.mocks["robot"].Set(func(r *term.Reading) { r.Ended = false })
		pass(time.Second)
		driver <- workers.InDoubt("lost")
		pass(time.Second)
		got := take[message.ActionEnded](&r.loop)
		if len(got) != 2 || got[0].Outcome != term.Unknown || got[1].Outcome != term.Done || !got[1].Late {
			t.Errorf("got %+v", got)
		}
	})
}

type wrapped struct {
	workers.Driver
	perform func(context.Context, workers.Task) workers.Ending
}

func (w wrapped) Perform(ctx context.Context, t workers.Task) workers.Ending {
	return w.perform(ctx, t)
}

func TestDriversThatHangOrBreak(t *testing.T) {
	for name, c := range map[string]struct {
		perform func(context.Context, workers.Task) workers.Ending
		why     string
	}{
		"hangs": {func(context.Context, workers.Task) workers.Ending {
			<-time.After(time.Minute)
			return workers.Happened("")
		}, "in time"},
		"panics":           {func(context.Context, workers.Task) workers.Ending { panic("boom") }, "boom"},
		"answers nonsense": {func(context.Context, workers.Task) workers.Ending { return workers.Ending{} }, "answered"},
		"minds its context": {func(ctx context.Context, _ workers.Task) workers.Ending {
			<-ctx.Done()
			return workers.InDoubt("given up")
		}, "given up"},
	} {
		t.Run(name, func(t *testing.T) {
			onLine(t, func(r *lineRig) {
				r.wrap = func(d workers.Driver) workers.Driver { return wrapped{d, c.perform} }
				r.watch(equipment("robot", term.KindRobot))
				r.line.Start(task("robot", 1, term.TaskMove))
				pass(10*time.Second + workers.SettleFor + 2*time.Second)
				got := take[message.ActionEnded](&r.loop)
				if len(got) != 1 || got[0].Outcome != term.Unknown || !strings.Contains(got[0].Error, c.why) {
					t.Errorf("got %+v", got)
				}
				pass(2 * time.Minute)
				if got := take[message.ActionEnded](&r.loop); got != nil {
					t.Errorf("then %+v", got)
				}
			})
		})
	}
}

// Stuck actions are bounded too.
func TestNoRoomIsNotDone(t *testing.T) {
	onLine(t, func(r *lineRig) {
		release := make(chan struct{})
		r.wrap = func(d workers.Driver) workers.Driver {
			return wrapped{d, func(_ context.Context, t workers.Task) workers.Ending {
				<-release
				return workers.NotBegun(t, "released")
			}}
		}
		r.watch(equipment("robot", term.KindRobot))
		for n := range uint32(2*plant.MaxSlots + 3) {
			r.line.Start(task("robot", n+1, term.TaskMove))
		}
		synctest.Wait()
		got := take[message.ActionEnded](&r.loop)
		if len(got) != 3 || got[0].Outcome != term.NotDone || !strings.Contains(got[0].Error, "no room") {
			t.Errorf("got %+v", got)
		}
		close(release)
	})
}

// What is under way when the line ends is answered at once.
func TestCloseLetsGoAtOnce(t *testing.T) {
	onLine(t, func(r *lineRig) {
		r.watch(equipment("robot", term.KindRobot))
		r.mocks["robot"].Next(workertest.Held)
		r.line.Start(task("robot", 1, term.TaskMove))
		synctest.Wait()
		began := time.Now()
		if err := r.line.Close(r.t.Context()); err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took > time.Second { // of the bubble's clock
			t.Errorf("took %s", took)
		}
		if got := take[message.ActionEnded](&r.loop); len(got) != 1 || got[0].Outcome != term.Unknown {
			t.Errorf("got %+v", got)
		}
	})
}

func TestHandsGiveToEachItsOwn(t *testing.T) {
	onLine(t, func(r *lineRig) {
		var b inbox
		hands := workers.Hands{Line: r.line, Crew: newCrew(func(context.Context, workers.Order) workers.Result { return workers.Sent() }, &b)}
		hands.Start(plant.Watch{Epoch: 7, Equipment: []plant.WatchedEquipment{equipment("robot", term.KindRobot)}})
		hands.Start(task("robot", 1, term.TaskMove))
		hands.Start(plant.Acknowledge{EquipmentID: "robot", MessageID: "1"})
		hands.Start(action(1))
		synctest.Wait()
		if got := take[message.ActionEnded](&r.loop); len(got) != 1 || got[0].Outcome != term.Done {
			t.Errorf("the line did %+v", got)
		}
		if got := b.results(t); len(got) != 1 {
			t.Errorf("the crew did %+v", got)
		}
		if err := hands.Close(r.t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// A mark in doubt of an earlier process life is the driver's affair once: a later list of the same equipment keeps it.
func TestADoubtOfAnEarlierLifeReplacesNoDriver(t *testing.T) {
	onLine(t, func(r *lineRig) {
		doubted := equipment("marker", term.KindMarker)
		doubted.InDoubt = 7
		r.watch(doubted)
		r.watch(equipment("marker", term.KindMarker))
		doubted.InDoubt = 8
		r.watch(doubted)
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.made["marker"] != 1 {
			t.Errorf("%d drivers were made", r.made["marker"])
		}
	})
}

// What a plant file changes beside the driver, such as how long an action may take, leaves an action under way alone.
func TestAnotherPlantFileWithTheSameDriverEndsNoAction(t *testing.T) {
	onLine(t, func(r *lineRig) {
		robot := equipment("robot", term.KindRobot)
		r.watch(robot)
		r.mocks["robot"].Next(workertest.Held)
		r.line.Start(task("robot", 1, term.TaskMove))
		synctest.Wait()
		robot.Config.ActionTime, robot.Config.First = term.Duration(time.Hour), 9
		r.watch(robot)
		r.mocks["robot"].Free()
		pass(time.Second)
		if got := take[message.ActionEnded](&r.loop); len(got) != 1 || got[0].Outcome != term.Done || r.made["robot"] != 1 {
			t.Errorf("ended %+v with %d drivers", got, r.made["robot"])
		}
	})
}
