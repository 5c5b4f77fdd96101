package robotrpc_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"surehand/internal/simulator/line"
	"surehand/internal/term"
	"surehand/internal/workers"
	"surehand/internal/workers/robotrpc"
	"surehand/internal/workers/workertest"
)

// What a driver answers is true on a wire that loses, delays, reorders and repeats, with a robot whose clock is wrong and
// links that break: done was done, and "not begun" was not begun and does not begin later either.
func TestAnswersAreTrueOnABadWire(t *testing.T) {
	t.Parallel()
	const actions = 14
	address := broker(t)
	for seed := range uint64(3) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			badWire(t, address, seed, actions)
		})
	}
}

func badWire(t *testing.T, address string, seed uint64, actions int) {
	c := &cell{t: t, topic: fmt.Sprintf("%s-%d", topic, cells.Add(1))}
	c.pipe, c.robots = workertest.NewPipe(t, address), workertest.NewPipe(t, address)
	world, err := line.Start(line.Options{Seed: seed, Dock: line.Row{First: 1, Count: 1}, Buffer: line.Row{First: 2, Count: 1},
		Robot: line.RobotOptions{MQTT: &line.MQTTOptions{BrokerURL: "mqtt://" + c.robots.Address(), Topic: c.topic, WrongClock: true, StateEvery: 50 * time.Millisecond}}})
	if err != nil {
		t.Fatal(err)
	}
	defer world.Close()
	if _, err := world.Arrive(1); err != nil {
		t.Fatal(err)
	}
	c.world, c.robot = world, world.Robot()
	c.robot.SetMQTTFaults(line.MQTTFaults{LoseRequest: 0.08, LoseAction: 0.1, LateRequest: 0.1, LateAction: 0.1, DoubleRequest: 0.15, LoseState: 0.1,
		LateState: 0.15, DoubleState: 0.1, LateBy: 600 * time.Millisecond})
	c.robot.SetFaults(line.RobotFaults{RefuseBegin: 0.1})
	d := c.newDriver(func(o *robotrpc.Options) { o.Config.Stale = term.Duration(2 * time.Second) })
	c.watched(d)(reached)
	said := map[uint32]workers.Ending{}
	for n := range uint32(actions) {
		if err := world.Wait(context.Background(), resting); err != nil {
			t.Fatal(err)
		}
		task := move(n + 1)
		task.From, task.To, task.Bound = 1, 2, 500*time.Millisecond
		if world.PartAt(2) != "" {
			task.From, task.To = 2, 1
		}
		ended := make(chan workers.Ending, 1)
		go func() { ended <- d.Perform(context.Background(), task) }()
		if n%4 == 3 {
			pipe := c.pipe
			if n%8 == 3 {
				pipe = c.robots
			}
			pipe.Cut()
			pipe.Heal()
		}
		said[n+1] = <-ended
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
