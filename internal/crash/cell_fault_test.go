package crash

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"surehand/internal/plant"
	"surehand/internal/simulator/line"
	"surehand/internal/term"
)

// asks waits until a question of a finding is open.
func (c *cell) asks(f term.Finding) *plant.Question {
	c.t.Helper()
	var found *plant.Question
	until(c.t, 40*time.Second, string(f)+" is asked about", func() bool {
		for _, q := range c.questions() {
			if q.Finding == f {
				found = q
			}
		}
		return found != nil
	})
	return found
}

// says answers a question as it is now, again when it changes meanwhile.
func (c *cell) says(f term.Finding, word string) {
	c.t.Helper()
	until(c.t, 40*time.Second, string(f)+" is answered with "+word, func() bool {
		for _, q := range c.questions() {
			if q.Finding == f && q.Offers(word) {
				status, _ := c.post("/manual-actions/"+string(q.ID)+"/answer", map[string]any{"version": q.Version, "hash": q.Hash, "answer": word, "reason": "I looked"})
				return status == http.StatusOK
			}
		}
		return false
	})
}

func (c *cell) waitFor(what string, so func(line.Truth) bool) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 40*time.Second)
	defer cancel()
	require.NoError(c.t, c.plant.Wait(ctx, so), what)
}

// A PLC whose link is cut for a while is offline, alarmed, compared when it returns, and used again.
func TestCellGoesOnAfterALinkWasCut(t *testing.T) {
	t.Parallel()
	c := newCell(t)
	c.begin("WO-1", 6)
	c.waitFor("the mill works", func(truth line.Truth) bool { return len(truth.Started["mill"]) > 0 })
	c.plant.Machine("mill").Cut()
	until(t, 20*time.Second, "the mill is offline", func() bool {
		return c.number("SELECT count(*) FROM equipment WHERE id = 'mill' AND status = 'OFFLINE'") == 1
	})
	require.NoError(t, c.plant.Machine("mill").Restore())
	c.operateUntilEnded(2 * time.Minute)
	c.checkCell()
	require.Equal(t, 1, c.number("SELECT count(*) FROM alarms WHERE type = 'equipment_offline' AND subject = 'equipment:mill'"))
}

// A robot that freezes in the middle of a move and goes on later: its late success counts before a person has answered,
// and stops the cell for another question afterwards.
func TestCellWithAFrozenRobot(t *testing.T) {
	t.Parallel()
	frozen := func(t *testing.T) *cell {
		c := newCell(t)
		c.plant.Robot().SetFaults(line.RobotFaults{StickAfterPick: 1, Strikes: 1})
		c.begin("WO-1", 3)
		c.waitFor("the robot holds the part", func(truth line.Truth) bool { return truth.Parts["1.1"].At == line.Gripper })
		c.plant.Robot().Freeze()
		c.asks(term.FindTaskUnknown)
		return c
	}
	t.Run("late success before the answer", func(t *testing.T) {
		t.Parallel()
		c := frozen(t)
		c.plant.Robot().Thaw()
		c.free()
		until(t, 20*time.Second, "its own result resolves it", func() bool {
			return c.number("SELECT count(*) FROM manual_actions WHERE finding = 'action_unknown' AND answer = 'evidence' AND answered_by = 'surehand'") == 1
		})
		c.operateUntilEnded(2 * time.Minute)
		c.checkCell()
	})
	t.Run("late success after the answer", func(t *testing.T) {
		t.Parallel()
		c := frozen(t)
		c.says(term.FindTaskUnknown, term.AnswerGripper)
		c.plant.Robot().Thaw()
		c.free()
		c.asks(term.FindLateSuccess)
		require.Positive(t, c.number("SELECT count(*) FROM alarms WHERE type = 'late_success' AND is_open"))
		c.operateUntilEnded(2 * time.Minute)
		c.checkCell()
	})
}

// A done that stays set after its acknowledgement is not taken for the next cycle's; a doubled one counts once.
func TestCellWithAStaleOrDoubledDone(t *testing.T) {
	t.Parallel()
	for _, f := range []struct {
		name   string
		faults line.MachineFaults
	}{{"flickering", line.MachineFaults{FlickerDone: 1, FlickerAfter: 50 * time.Millisecond}}, {"doubled", line.MachineFaults{DoubleDone: 1}}} {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			c := newCell(t)
			c.plant.Machine("lathe").SetFaults(f.faults)
			c.plant.Machine("mill").SetFaults(f.faults)
			c.begin("WO-1", 4)
			c.operateUntilEnded(2 * time.Minute)
			c.checkCell()
		})
	}
	t.Run("still set from the last cycle", func(t *testing.T) {
		t.Parallel()
		c := newCell(t)
		c.plant.Machine("lathe").SetFaults(line.MachineFaults{StaleDone: true})
		c.begin("WO-1", 3)
		c.waitFor("the lathe has worked once", func(truth line.Truth) bool { return len(truth.Cycles) > 0 && !truth.Cycles[0].Ended.IsZero() })
		until(t, 20*time.Second, "the second part waits: done is still set", func() bool {
			return c.number("SELECT count(*) FROM equipment WHERE id = 'lathe' AND done_latch = 'acked'") == 1
		})
		<-time.After(2 * time.Second) // as long as it is set, nothing is loaded and nothing is finished again
		require.Len(t, c.plant.Truth().Started["lathe"], 1)
		require.Equal(t, 1, c.number("SELECT count(*) FROM jobs WHERE step_index > 0"))
		c.plant.Machine("lathe").SetFaults(line.MachineFaults{})
		c.operateUntilEnded(2 * time.Minute)
		c.checkCell()
	})
}

// What the operator saw has changed: the answer is refused with the new question.
func TestCellAnswerToWhatHasChanged(t *testing.T) {
	t.Parallel()
	c := newCell(t)
	c.plant.Robot().SetFaults(line.RobotFaults{StickAfterPick: 1, Strikes: 1})
	c.begin("WO-1", 2)
	c.waitFor("the robot holds the part", func(truth line.Truth) bool { return truth.Parts["1.1"].At == line.Gripper })
	c.process.Kill()
	require.NoError(t, c.plant.Robot().Restart()) // it stands still with the part
	c.start().Ready(30 * time.Second)
	seen := c.asks(term.FindTaskUnknown)
	until(t, 20*time.Second, "the question says what the robot holds", func() bool { seen = c.asks(term.FindTaskUnknown); return seen.Offers(term.AnswerGripper) })
	require.NoError(t, c.plant.Move(line.Gripper, line.Place(dockFirst))) // somebody puts it back
	until(t, 20*time.Second, "the question has changed", func() bool { return c.asks(term.FindTaskUnknown).Version > seen.Version })
	status, answer := c.post("/manual-actions/"+string(seen.ID)+"/answer", map[string]any{"version": seen.Version, "hash": seen.Hash, "answer": term.AnswerGripper, "reason": "I looked"})
	require.Equal(t, http.StatusConflict, status)
	require.Equal(t, "changed", answer["code"], "%v", answer)
	require.NotEmpty(t, answer["current"], "the answer carries the question as it is now: %v", answer)
	c.operateUntilEnded(2 * time.Minute)
	c.checkCell()
}

// A machine that is dead after a restart: the operator lets the cell run without it, and takes it back later.
func TestCellWithoutADeadMachine(t *testing.T) {
	t.Parallel()
	c := newCell(t)
	c.begin("WO-1", 4)
	c.waitFor("the oven is empty and the lathe works", func(truth line.Truth) bool { return len(truth.Started["lathe"]) > 0 })
	c.process.Kill()
	c.plant.Machine("oven").PowerOff()
	c.start().Ready(30 * time.Second)
	c.asks(term.FindUnreachable)
	c.says(term.FindUnreachable, term.AnswerWithout)
	until(t, time.Minute, "the parts go as far as they can", func() bool {
		c.operate()
		return c.number("SELECT count(*) FROM jobs WHERE step_index = 2 AND position_type = 'ON_BUFFER'") == 4
	})
	require.NoError(t, c.plant.Machine("oven").PowerOn())
	c.accept("/equipment/oven/enable", map[string]any{"reason": "repaired"})
	c.operateUntilEnded(2 * time.Minute)
	c.checkCell()
}

// A robot that loses a part says so and shows its error until that is taken back: the part is answered for, and the cell
// goes on, also when the process was killed in between.
func TestCellGoesOnAfterALostPart(t *testing.T) {
	t.Parallel()
	for _, killed := range []bool{false, true} {
		name := "in the same process life"
		if killed {
			name = "after a restart"
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCell(t)
			c.plant.Robot().SetFaults(line.RobotFaults{LosePart: 1, Strikes: 1})
			c.begin("WO-1", 3)
			c.waitFor("the part is on the floor", func(truth line.Truth) bool { return truth.Parts["1.1"].At == line.Floor })
			if killed {
				c.process.Kill()
				c.start().Ready(30 * time.Second)
			}
			c.operateUntilEnded(2 * time.Minute)
			require.Equal(t, [][]string{{"completed", "2", "1", "0"}}, c.rows("SELECT state, completed::text, scrapped::text, cancelled::text FROM work_orders WHERE id = 'WO-1'"))
			require.Empty(t, c.plant.Truth().Violations)
			c.checkDatabase()
		})
	}
}
