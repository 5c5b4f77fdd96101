package crash

import (
	"context"
	"flag"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"surehand/internal/simulator/line"
	"surehand/internal/term"
)

var cellKills = flag.Int("cellkills", 6, "how often TestCellKill kills the process within one order")

// proves C-19 C-7 X-2: an order of twelve parts on real wires; the process is killed at random moments, an honest
// operator answers what is asked after each restart, and the plant counts no action twice and no part lost.
func TestCellKill(t *testing.T) {
	t.Parallel()
	slower := time.Duration(1 + *cellKills/25) // so that the order lasts for all of them
	c := newCell(t, func(o *line.Options) { o.Robot.MoveTime *= slower })
	c.begin("WO-1", 12)
	killed, inDoubt, asked := 0, 0, 0
	for range *cellKills {
		c.moment(10*time.Millisecond, 350*time.Millisecond)
		if c.ended() {
			break
		}
		n, m := c.killAndCompare()
		killed++
		inDoubt, asked = inDoubt+n, asked+m
		until(t, 60*time.Second, "the cell goes on", func() bool {
			c.operate()
			return c.ended() || c.number("SELECT count(*) FROM holds WHERE is_open AND subject = 'cell'") == 0
		})
	}
	c.operateUntilEnded(3 * time.Minute)
	c.checkCell()
	t.Logf("%d kills, %d actions in doubt, %d questions", killed, inDoubt, asked)
}

// killAndCompare kills the process, starts it again and demands that exactly the robot's actions that were under way
// are asked about.
func (c *cell) killAndCompare() (inDoubt, asked int) {
	c.t.Helper()
	c.process.Kill()
	const others = "SELECT count(*) FROM manual_actions WHERE state = 'OPEN' AND (finding <> 'action_unknown' OR job_id IS NULL)"
	before := c.number(others)
	c.start().Ready(30 * time.Second) // the database may still have taken what the dead process had sent
	open := c.rows("SELECT id::text FROM tasks WHERE is_open AND type <> 'START_MACHINE'")
	c.compared()
	var about []string
	for _, q := range c.questions() {
		if q.Finding == term.FindTaskUnknown && q.JobID != "" {
			about = append(about, string(q.TaskID))
		}
	}
	var want []string
	for _, row := range open {
		want = append(want, row[0])
	}
	require.Equal(c.t, want, about, "the questions after the restart")
	require.Equal(c.t, before, c.number(others), "other questions")
	return len(want), len(about)
}

// free lets a robot go on that a fault holds somewhere in its action, as soon as it is there.
func (c *cell) free() {
	until(c.t, 20*time.Second, "the robot is held", c.plant.Robot().Stuck)
	c.plant.Robot().Free()
}

// The boundaries of an action on the wire: the process dies while the robot or a machine is held exactly there.
func TestCellKilledAtEveryBoundary(t *testing.T) {
	t.Parallel()
	begun := func(n int) func(line.Truth) bool {
		return func(truth line.Truth) bool { return len(truth.Actions) >= n }
	}
	for _, b := range []struct {
		name  string
		hold  func(c *cell) // before the order is started
		await func(c *cell, ctx context.Context) error
		letGo func(c *cell) // after the process is dead
	}{
		{"the robot has begun and not picked", func(c *cell) { c.plant.Robot().SetFaults(line.RobotFaults{StickBeforePick: 1, Strikes: 1}) },
			func(c *cell, ctx context.Context) error { return c.plant.Wait(ctx, begun(1)) }, (*cell).free},
		{"the robot holds the part", func(c *cell) { c.plant.Robot().SetFaults(line.RobotFaults{StickAfterPick: 1, Strikes: 1}) },
			func(c *cell, ctx context.Context) error {
				return c.plant.Wait(ctx, func(truth line.Truth) bool { return truth.Parts["1.1"].At == line.Gripper })
			}, (*cell).free},
		{"the robot holds the part and its controller is restarted", func(c *cell) { c.plant.Robot().SetFaults(line.RobotFaults{StickAfterPick: 1, Strikes: 1}) },
			func(c *cell, ctx context.Context) error {
				return c.plant.Wait(ctx, func(truth line.Truth) bool { return truth.Parts["1.1"].At == line.Gripper })
			}, func(c *cell) { require.NoError(c.t, c.plant.Robot().Restart()) }},
		{"the robot has placed and not said so", func(c *cell) { c.plant.Robot().SetFaults(line.RobotFaults{StickBeforeEnd: 1, Strikes: 1}) },
			func(c *cell, ctx context.Context) error {
				return c.plant.Wait(ctx, func(truth line.Truth) bool { return truth.Parts["1.1"].At == bufferFirst })
			}, (*cell).free},
		{"the action's go was written and its answer lost", func(c *cell) { c.plant.Robot().SetLinkFaults(line.LinkFaults{LoseGoAnswer: 1, Strikes: 1}) },
			func(c *cell, ctx context.Context) error { return c.plant.Wait(ctx, begun(1)) }, func(*cell) {}},
		{"the machine works", func(c *cell) { c.plant.Machine("lathe").SetFaults(line.MachineFaults{NeverFinish: 1, Strikes: 1}) },
			func(c *cell, ctx context.Context) error {
				return c.plant.Wait(ctx, func(truth line.Truth) bool { return len(truth.Cycles) > 0 })
			}, func(c *cell) { c.plant.Machine("lathe").Finish(1) }},
		{"the machine was started and its answer lost", func(c *cell) { c.plant.Machine("lathe").SetLinkFaults(line.LinkFaults{LoseGoAnswer: 1, Strikes: 1}) },
			func(c *cell, ctx context.Context) error {
				return c.plant.Wait(ctx, func(truth line.Truth) bool { return len(truth.Cycles) > 0 })
			}, func(*cell) {}},
		{"the machine has taken its done back and nobody stored that", func(c *cell) { c.plant.Machine("lathe").SetFaults(line.MachineFaults{StaleDone: true}) },
			func(c *cell, ctx context.Context) error {
				until(c.t, 20*time.Second, "the done is stored", func() bool {
					return c.number("SELECT count(*) FROM equipment WHERE id = 'lathe' AND done_latch <> 'none'") == 1
				})
				return ctx.Err()
			}, func(c *cell) { c.plant.Machine("lathe").SetFaults(line.MachineFaults{}) }},
		{"the robot ended with an error", func(c *cell) { c.plant.Robot().SetFaults(line.RobotFaults{FailBeforePick: 1, Strikes: 1}) },
			func(c *cell, ctx context.Context) error {
				return c.plant.Wait(ctx, func(truth line.Truth) bool { return len(truth.Actions) > 0 && !truth.Actions[0].Ended.IsZero() })
			}, func(*cell) {}},
		{"the machine's done was doubled", func(c *cell) { c.plant.Machine("lathe").SetFaults(line.MachineFaults{DoubleDone: 1, Strikes: 1}) },
			func(c *cell, ctx context.Context) error {
				return c.plant.Wait(ctx, func(truth line.Truth) bool { return len(truth.Cycles) > 0 && !truth.Cycles[0].Ended.IsZero() })
			}, func(*cell) {}},
	} {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			c := newCell(t)
			b.hold(c)
			c.begin("WO-1", 3)
			ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
			defer cancel()
			require.NoError(t, b.await(c, ctx))
			c.process.Kill()
			b.letGo(c)
			c.killAndCompare()
			c.operateUntilEnded(2 * time.Minute)
			c.checkCell()
		})
	}
}
