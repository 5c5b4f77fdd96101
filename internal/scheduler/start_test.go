package scheduler

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"surehand/internal/term"
)

// since lets a part stand in its slot for some time.
func since(place string, d time.Duration) func(*Cell) {
	return func(c *Cell) {
		id, n := slotOf(place).Slot()
		c.find(id).Slots[n-1].Entered = modelNow.Add(-d)
	}
}

func twin(c *Cell) { c.Machines = append(c.Machines, machine("twin", "turning", 2)) }

// proves C-16: when machines begin, and why they do not.
func TestStarts(t *testing.T) {
	one := []Start{{Machine: "lathe", Slot: 1, Slots: []int{1}, Program: 1}}
	oven := func(slots ...int) []Start { return []Start{{Machine: "oven", Slots: slots, Program: 3}} }
	min := func(n int) time.Time { return modelNow.Add(time.Duration(n) * time.Minute) }
	onTheWay := func(c *Cell) {
		c.Robot.Busy, c.Robot.Job, c.Robot.To = true, "WO-1.2", slotOf("oven:2")
	}
	for _, c := range []struct {
		name string
		cell Cell
		want []Start
		wake time.Time
		wait string
	}{
		{name: "a loaded slot begins", cell: scene(add(1, "lathe:1 loaded", turning)), want: one, wait: "waiting for lathe (WO-1.1)"},
		{name: "also while the robot is busy", cell: scene(add(1, "lathe:1 loaded", turning), busy), want: one, wait: "robot is busy with WO-9.1"},
		{name: "once", cell: scene(add(1, "lathe:1 loaded", turning), starting("lathe")), wait: "waiting for lathe (WO-1.1)"},
		{name: "it works", cell: scene(add(1, "lathe:1 started", turning)), wait: "waiting for lathe (WO-1.1)"},
		{name: "the handshake is not over", cell: scene(add(1, "lathe:1 loaded", turning), latched("lathe")), wait: "done of the last cycle not over at lathe"},
		{name: "the machine is out", cell: scene(add(1, "lathe:1 loaded", turning), broken("lathe", "lathe is OFFLINE")), wait: "lathe is OFFLINE"},
		{name: "the cell is paused", cell: scene(add(1, "lathe:1 loaded", turning), halted("cell is paused", true)), wait: "cell is paused"},
		{name: "the part is put aside", cell: scene(add(1, "lathe:1 loaded", turning, asideOf)), wait: "lathe is not started: WO-1.1 is suspended"},
		{name: "a question about the part", cell: scene(add(1, "lathe:1 loaded", turning, held("question open about job:WO-1.1"))), wait: "lathe is not started: question open about job:WO-1.1"},
		{name: "a scrapped part can leave only after the cycle", cell: scene(add(1, "lathe:1 loaded", turning, scrapped)), want: one, wait: "waiting for lathe (WO-1.1)"},
		{name: "a part that does not belong there", cell: scene(add(1, "lathe:1 loaded", heat)), wait: "WO-1.1 has no step to do in lathe"},
		{name: "waits for a judgement", cell: scene(add(1, "lathe:1 loaded", turning, func(p *Part) { p.State = term.WaitingJudgement })), wait: "lathe is not started: WO-1.1 is WAITING_JUDGEMENT"},
		{name: "of two slots the one that was loaded first", cell: scene(twin, add(1, "twin:1 loaded", turning), add(2, "twin:2 loaded", turning), since("twin:2", time.Minute)),
			want: []Start{{Machine: "twin", Slot: 2, Slots: []int{2}, Program: 1}}, wait: "waiting for twin (WO-1.1, WO-1.2)"},
		{name: "a slot beside one that works", cell: scene(twin, add(1, "twin:1 started", turning), add(2, "twin:2 loaded", turning)),
			want: []Start{{Machine: "twin", Slot: 2, Slots: []int{2}, Program: 1}}, wait: "waiting for twin (WO-1.1, WO-1.2)"},
		{name: "a slot beside one that is held", cell: scene(twin, add(1, "twin:1 loaded", turning, asideOf), add(2, "twin:2 loaded", turning)),
			want: []Start{{Machine: "twin", Slot: 2, Slots: []int{2}, Program: 1}}, wait: "waiting for twin (WO-1.1, WO-1.2)"},

		{name: "a full batch", cell: scene(add(1, "oven:1 loaded", heat), add(2, "oven:2 loaded", heat), add(3, "oven:3 loaded", heat), add(4, "oven:4 loaded", heat)), want: oven(1, 2, 3, 4)},
		{name: "nobody else can come", cell: scene(add(1, "oven:1 loaded", heat), add(2, "oven:3 loaded", heat)), want: oven(1, 3)},
		{name: "one comes from a machine", cell: scene(add(1, "oven:1 loaded", heat), add(2, "mill-1:1 started", milling)), wake: min(10), wait: "waiting for mill-1 (WO-1.2)"},
		{name: "one comes from another batch that runs", cell: scene(kiln, add(1, "oven:1 loaded", heat), add(2, "kiln:1 started", turning)), wake: min(10), wait: "waiting for kiln (WO-1.2)"},
		{name: "who is in another batch that has not begun does not count", cell: scene(kiln, add(1, "oven:1 loaded", heat), add(2, "kiln:1 loaded", turning)),
			want: []Start{{Machine: "kiln", Slots: []int{1}, Program: 1}}, wake: min(10), wait: "waiting for kiln (WO-1.2)"},
		{name: "one comes from the dock", cell: scene(add(1, "oven:1 loaded", heat), add(2, "dock", turning), busy), wake: min(10)},
		{name: "who has no place yet does not count", cell: scene(add(1, "oven:1 loaded", heat), add(2, "dock", turning, homeless), busy, func(c *Cell) { c.RefillAt = 8 }), want: oven(1)},
		{name: "who is put aside does not count", cell: scene(add(1, "oven:1 loaded", heat), add(2, "buffer", heat, asideOf)), want: oven(1)},
		{name: "who is to leave does not count", cell: scene(add(1, "oven:1 loaded", heat), add(2, "buffer", heat, scrapped)), want: oven(1)},
		{name: "who has been there does not count", cell: scene(add(1, "oven:1 loaded", heat), add(2, "buffer", done)), want: oven(1)},
		{name: "who needs another program does not count", cell: scene(add(1, "oven:1 loaded", heat), add(2, "buffer", heat, otherProgram)), want: oven(1)},
		{name: "a machine that is out for a moment does not make it begin", cell: scene(add(1, "oven:1 loaded", heat), add(2, "buffer", milling), broken("mill-1", "mill-1 is OFFLINE"), broken("mill-2", "mill-2 is OFFLINE")),
			wake: min(10), wait: "oven waits for more parts (1 of 4 are in it)"},
		{name: "the first part has waited long enough", cell: scene(add(1, "oven:1 loaded", heat), add(2, "oven:2 loaded", heat), add(3, "buffer", milling), since("oven:2", 10*time.Minute)), want: oven(1, 2)},
		{name: "a moment before", cell: scene(add(1, "oven:1 loaded", heat), add(2, "oven:2 loaded", heat), add(3, "mill-1:1 started", milling), since("oven:2", 9*time.Minute)), wake: min(1)},
		{name: "not while the robot sets one in", cell: scene(add(1, "oven:1 loaded", heat), since("oven:1", time.Hour), add(2, "buffer", heat, func(p *Part) { p.State = term.Moving }), onTheWay)},
		{name: "not with a held part inside, even if full", cell: scene(add(1, "oven:1 loaded", heat), add(2, "oven:2 loaded", heat, asideOf), add(3, "oven:3 loaded", heat), add(4, "oven:4 loaded", heat)),
			wait: "oven is not started: WO-1.2 is suspended"},
		{name: "not with a held part inside, nor when the wait is over", cell: scene(add(1, "oven:1 loaded", heat, asideOf), since("oven:1", time.Hour)), wait: "oven is not started: WO-1.1 is suspended"},
		{name: "not beside finished parts", cell: scene(add(1, "oven:1", done, held("x")), add(2, "oven:2 loaded", heat)), wait: "oven still holds finished parts"},
		{name: "not with different programs", cell: scene(add(1, "oven:1 loaded", heat), add(2, "oven:2 loaded", heat, otherProgram)), wait: "oven holds parts for different programs"},
		{name: "it works, with all of them", cell: scene(add(1, "oven:1 started", heat), add(2, "oven:2 started", heat)), wait: "waiting for oven (WO-1.1, WO-1.2)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := Plan(c.cell)
			require.Equal(t, c.want, d.Starts)
			require.Equal(t, c.wake, d.WakeAt)
			if c.wait != "" {
				require.Equal(t, c.wait, d.Wait)
			}
		})
	}
}

func kiln(c *Cell) {
	m := machine("kiln", "turning", 2)
	m.Batch, m.MaxWait = true, time.Hour
	c.Machines = append(c.Machines, m)
}

// proves C-16: a batch that begins is not loaded by the same decision.
func TestAStartingBatchIsNotLoaded(t *testing.T) {
	d := Plan(scene(add(1, "oven:1 loaded", heat), since("oven:1", time.Hour), add(2, "buffer", heat)))
	require.Len(t, d.Starts, 1)
	require.Nil(t, d.Move)
	require.Equal(t, "batch machine oven is being started", d.Explain.Candidates[0].Reason)
}

// proves C-16: of several ovens the fullest is loaded.
func TestTheFullestBatchIsLoadedFirst(t *testing.T) {
	other := func(c *Cell) {
		m := machine("aga", "heat", 4)
		m.Batch, m.MaxWait = true, time.Hour
		c.Machines = append(c.Machines, m)
	}
	d := Plan(scene(other, add(1, "oven:1 loaded", heat), add(2, "buffer", heat)))
	require.Equal(t, slotOf("oven:2"), d.Move.To)
	d = Plan(scene(other, add(2, "buffer", heat)))
	require.Equal(t, slotOf("aga:1"), d.Move.To)
}
