package robot_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"surehand/internal/simulator/line"
	"surehand/internal/term"
	"surehand/internal/workers"
	"surehand/internal/workers/handshake"
	"surehand/internal/workers/modbus"
	"surehand/internal/workers/robot"
)

// What a driver answers is true on a link that loses, delays and repeats: done was done, and "not begun" was not begun
// and does not begin later either, however late a write arrives.
func TestAnswersAreTrueOnABadLink(t *testing.T) {
	const actions = 12
	for seed := range uint64(2) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			badLink(t, seed, actions)
		})
	}
}

func badLink(t *testing.T, seed uint64, actions int) {
	world, err := line.Start(line.Options{Seed: seed, Dock: line.Row{First: 1, Count: 1}, Buffer: line.Row{First: 2, Count: 1}})
	if err != nil {
		t.Fatal(err)
	}
	defer world.Close()
	if _, err := world.Arrive(1); err != nil {
		t.Fatal(err)
	}
	// Late writes come within the time that a driver waits for in doubt: time-out and one second.
	world.Robot().SetLinkFaults(line.LinkFaults{DropRequest: 0.01, DropWrite: 0.04, LateWrite: 0.08, LateWriteBy: 250 * time.Millisecond, Busy: 0.02,
		LoseAnswer: 0.01, LoseWriteAnswer: 0.04, LoseGoAnswer: 0.1, LateAnswer: 0.02, LateAnswerBy: 250 * time.Millisecond, HangUp: 0.01})
	config := term.DriverConfig{Address: world.Robot().Address(), Unit: 1, Status: 100,
		Poll: term.Duration(10 * time.Millisecond), Stale: term.Duration(time.Second), Timeout: term.Duration(100 * time.Millisecond)}
	d, err := robot.New(handshake.Options{Clock: wallClock{}, Config: config}, modbus.New(config))
	if err != nil {
		t.Fatal(err)
	}
	c := &cell{t: t, world: world, robot: world.Robot()}
	c.watched(d)(reached)
	said := map[uint32]workers.Ending{}
	for n := range uint32(actions) {
		if err := world.Wait(context.Background(), resting); err != nil {
			t.Fatal(err)
		}
		task := move(n + 1)
		task.From, task.To, task.Bound = 1, 2, 3*time.Second
		if world.PartAt(2) != "" {
			task.From, task.To = 2, 1
		}
		said[n+1] = d.Perform(context.Background(), task)
	}
	late, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = world.Wait(late, func(line.Truth) bool { return false }) // what is on its way may still come
	truth := world.Truth()
	count := map[term.Outcome]int{}
	for n, e := range said {
		count[e.Outcome]++
		switch times := truth.Executed[n]; {
		case times > 1, e.Outcome == term.Done && times != 1, e.Outcome == term.NotDone && times != 0:
			t.Errorf("number %d was done %d times, and the answer was %+v", n, times, e)
		}
	}
	for _, v := range truth.Violations {
		t.Error(v)
	}
	t.Log(count, truth.Faults)
	if count[term.Done] == 0 {
		t.Error("nothing was done")
	}
}

func resting(t line.Truth) bool {
	return len(t.Actions) == 0 || t.Actions[len(t.Actions)-1].Outcome != line.Running
}
