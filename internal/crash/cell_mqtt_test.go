package crash

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"surehand/internal/simulator/line"
	"surehand/internal/term"
)

// robotTopic is what the plant file leaves to the default: the prefix of all topics, "equipment" and the id.
const robotTopic = "surehand/v1/equipment/robot"

// proves C-19 C-7 X-2: the robot is on MQTT and the process dies while its action is under way, shown by nobody, lost on
// its way, or still on its way. Its question is answered, nothing begins twice, and the order ends as planned.
func TestCellKilledWithARobotOnMQTT(t *testing.T) {
	t.Parallel()
	struck := func(fault string) func(line.Truth) bool {
		return func(truth line.Truth) bool { return truth.Faults["robot/mqtt/"+fault] > 0 }
	}
	for _, b := range []struct {
		name    string
		robot   line.RobotFaults
		wire    line.MQTTFaults
		await   func(line.Truth) bool
		held    bool
		inDoubt bool // nothing has begun: its number is void after the restart
	}{
		{name: "the robot holds the part", robot: line.RobotFaults{StickAfterPick: 1, Strikes: 1}, held: true,
			await: func(truth line.Truth) bool { return truth.Parts["1.1"].At == line.Gripper }},
		{name: "it has placed and not said so", robot: line.RobotFaults{StickBeforeEnd: 1, Strikes: 1}, held: true,
			await: func(truth line.Truth) bool { return truth.Parts["1.1"].At == bufferFirst }},
		{name: "it ended with an error", robot: line.RobotFaults{FailBeforePick: 1, Strikes: 1},
			await: func(truth line.Truth) bool { return len(truth.Actions) > 0 && !truth.Actions[0].Ended.IsZero() }},
		{name: "the request is lost", wire: line.MQTTFaults{LoseAction: 1, Strikes: 1}, await: struck("lose_action"), inDoubt: true},
		// Longer than a restart takes, so that it arrives at a robot whose clock is wrong when the new process has asked.
		{name: "the request is late", wire: line.MQTTFaults{LateAction: 1, LateBy: 6 * time.Second, Strikes: 1}, await: struck("late_action")},
		{name: "the request comes twice", wire: line.MQTTFaults{DoubleRequest: 1, DoubleState: 1}, robot: line.RobotFaults{StickBeforePick: 1, Strikes: 1},
			held: true, await: func(truth line.Truth) bool { return len(truth.Actions) > 0 }},
	} {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			c := newCell(t, func(o *line.Options) { o.Robot.MQTT = &line.MQTTOptions{WrongClock: true} })
			c.plant.Robot().SetFaults(b.robot)
			c.plant.Robot().SetMQTTFaults(b.wire)
			c.begin("WO-1", 3)
			ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
			defer cancel()
			require.NoError(t, c.plant.Wait(ctx, b.await))
			c.process.Kill()
			if b.held {
				c.free()
			}
			c.killAndCompare()
			if b.inDoubt {
				until(t, 10*time.Second, "the question says that its number is void", func() bool {
					for _, q := range c.questions() {
						if q.Finding == term.FindTaskUnknown {
							task, err := c.reader.Task(context.Background(), q.TaskID)
							require.NoError(t, err)
							return q.Offers(term.AnswerNotDone) && strings.Contains(q.Machine, fmt.Sprintf("last number %d, standing still", task.ActionNo))
						}
					}
					return false
				})
				require.Empty(t, c.plant.Truth().Actions)
			}
			c.operateUntilEnded(2 * time.Minute)
			c.checkCell()
		})
	}
}

// An order runs over a broker that is killed and started again in its middle: it holds nothing that matters.
func TestCellGoesOnWhenTheRobotsBrokerWasKilled(t *testing.T) {
	t.Parallel()
	c := newCell(t, func(o *line.Options) { o.Robot.MQTT = &line.MQTTOptions{WrongClock: true} })
	c.begin("WO-1", 4)
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	require.NoError(t, c.plant.Wait(ctx, func(truth line.Truth) bool { return len(truth.Actions) > 2 }))
	require.NoError(t, c.broker.Kill())
	require.NoError(t, c.broker.Restart(ctx))
	c.operateUntilEnded(2 * time.Minute)
	c.checkCell()
}
