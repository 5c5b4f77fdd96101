package workertest_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"surehand/internal/plant"
	"surehand/internal/term"
	"surehand/internal/workers"
	"surehand/internal/workers/workertest"
)

type wallClock struct{}

func (wallClock) Now() time.Time { return time.Now() }

func TestMocksAreDrivers(t *testing.T) {
	for kind, c := range map[term.EquipmentKind]struct {
		task term.TaskKind
		done workers.Ending
	}{
		term.KindRobot:   {term.TaskMove, workers.Happened(term.PartAtTo)},
		term.KindMachine: {term.TaskStartMachine, workers.Happened("")},
		term.KindMarker:  {term.TaskMark, workers.Happened(term.PartGripper)},
		term.KindScanner: {term.TaskScan, workers.Ending{Outcome: term.Done, PartAt: term.PartGripper, Code: "CODE"}},
	} {
		t.Run(string(kind), func(t *testing.T) {
			workertest.Drivers(t, func(t *testing.T) workertest.Equipment { return mocked(kind, c.task, c.done) })
		})
	}
}

func mocked(kind term.EquipmentKind, task term.TaskKind, done workers.Ending) workertest.Equipment {
	m := workertest.NewMock(kind, wallClock{})
	e := workertest.Equipment{
		Driver: m, Done: done, Harmless: kind == term.KindScanner,
		Task: func(n uint32) workers.Task {
			now := time.Now()
			return workers.Task{StartedAt: now, Perform: plant.Perform{
				TaskID: term.TaskID(fmt.Sprint("task-", n)), Type: task, EquipmentID: "e", ActionNo: n, From: 1, To: 2, Slot: 1,
				FencedAt: now.Round(0), Bound: time.Minute,
			}}
		},
		Next: m.Next, Free: m.Free, Begun: func() int { return len(m.Begun()) }, Writes: func() int { return len(m.Begun()) },
		Cut: m.Cut, Heal: m.Heal, Restart: func() { m.Cut(); m.Heal() }, Forget: m.Forget, AwaitBegun: m.AwaitBegun,
		Harm: func() []string {
			if begun := m.Begun(); kind != term.KindScanner && len(slices.Compact(slices.Sorted(slices.Values(begun)))) != len(begun) {
				return []string{fmt.Sprintf("a number was begun twice: %v", begun)}
			}
			return nil
		},
	}
	if kind != term.KindScanner {
		e.StopHeartbeat, e.StartHeartbeat = m.StopHeartbeat, m.StartHeartbeat
	}
	return e
}
