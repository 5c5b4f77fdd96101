package scheduler

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"surehand/internal/term"
)

// proves C-17: buffer places are reserved in one go: all when the buffer is free, later refillBy when refillAt are free.
func TestRefill(t *testing.T) {
	// One of those in the cell is in the lathe, which works: the cell is not idle.
	for _, c := range []struct {
		name           string
		places, at, by int
		taken          []int
		queued         int
		asked          bool
		want           []int
		done           bool
		edit           func(*Part) // of those on the dock
		halt           string
	}{
		{name: "a free buffer is filled", places: 8, queued: 20, want: []int{1, 2, 3, 4, 5, 6, 7, 8}},
		{name: "with what there is", places: 8, queued: 3, want: []int{1, 2, 3}},
		{name: "a small buffer too", places: 2, queued: 5, want: []int{1, 2}},
		{name: "one free: not yet", places: 8, taken: []int{1, 2, 3, 4, 5, 6, 7}, queued: 9},
		{name: "three free: not yet", places: 8, taken: []int{1, 2, 3, 4, 5}, queued: 9},
		{name: "four free: four", places: 8, taken: []int{2, 3, 5, 8}, queued: 9, want: []int{1, 4, 6, 7}},
		{name: "six free: four", places: 8, taken: []int{3, 4}, queued: 9, want: []int{1, 2, 5, 6}},
		{name: "parts left", places: 8, taken: []int{1}, queued: 2, want: []int{2, 3}},
		{name: "none left", places: 8, taken: []int{1}},
		{name: "the plant's numbers: from two on, three", places: 8, at: 2, by: 3, taken: []int{1, 2, 3, 4, 5, 6}, queued: 9, want: []int{7, 8}},
		{name: "and not below", places: 8, at: 2, by: 3, taken: []int{1, 2, 3, 4, 5, 6, 7}, queued: 9},
		{name: "numbers above the buffer count as the buffer", places: 3, at: 5, by: 9, taken: []int{1}, queued: 9},
		{name: "asked: at once", places: 8, taken: []int{1, 2, 3, 4, 5, 6, 7}, queued: 9, asked: true, want: []int{8}, done: true},
		{name: "asked: four at most", places: 8, taken: []int{1}, queued: 9, asked: true, want: []int{2, 3, 4, 5}, done: true},
		{name: "asked, all taken: with the first free one", places: 2, taken: []int{1, 2}, queued: 9, asked: true},
		{name: "asked, nothing there", places: 8, taken: []int{1}, asked: true, done: true},
		{name: "not of an order that is paused", places: 8, queued: 3, edit: asideOf},
		{name: "not of an order that ends", places: 8, queued: 3, edit: inOrder(term.OrderStopping)},
		{name: "not of a draft", places: 8, queued: 3, edit: inOrder(term.OrderDraft)},
		{name: "of an order that is ready", places: 8, queued: 1, edit: inOrder(term.OrderReady), want: []int{1}},
		{name: "not while the cell is paused", places: 8, queued: 3, halt: "cell is paused", asked: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			cell := scene()
			cell.Places, cell.RefillAsked, cell.Halt = c.places, c.asked, c.halt
			cell.RefillAt, cell.RefillBy = term.CellOptions{RefillAt: c.at, RefillBy: c.by}.Refill(c.places)
			for i, n := range c.taken {
				where := "buffer"
				if i == 0 {
					where = "lathe:1 started"
				}
				add(n, where, turning)(&cell)
			}
			for i := range c.queued {
				add(21+i, "dock", turning, homeless)(&cell)
				if p := &cell.Parts[len(cell.Parts)-1]; c.edit != nil {
					c.edit(p)
				}
			}
			d := Plan(cell)
			var want []Reservation
			for i, n := range c.want {
				want = append(want, Reservation{Job: term.NewJobID("WO-1", 21+i), Place: n})
			}
			require.Equal(t, want, d.Reserve)
			require.Equal(t, c.done, d.RefillDone)
			if len(want) > 0 {
				require.NotNil(t, d.Move)
				require.Equal(t, Move{Generator: "refill", Job: want[0].Job, Kind: term.TaskMove, By: "robot", To: term.BufferPlace(c.want[0])}, *d.Move)
			}
		})
	}
}

// proves C-17: the reserved places are the whole truth: what is on its way counts as taken.
func TestRefillGoesOnWithoutAFlag(t *testing.T) {
	cell := scene(add(1, "lathe:1 started", turning))
	for i := 2; i <= 12; i++ {
		add(i, "dock", turning, homeless)(&cell)
	}
	first := Plan(cell)
	require.Len(t, first.Reserve, 4)
	for _, r := range first.Reserve {
		cell.job(r.Job).Home = r.Place
	}
	second := Plan(cell)
	require.Empty(t, second.Reserve, "three are free and four on their way")
	require.Equal(t, first.Move, second.Move)
}

// A cell in which nothing is under way and nothing can move takes in what fits, though fewer places are free than
// refillAt: else parts that are put aside would keep all others out.
func TestAnIdleCellRefillsBelowTheThreshold(t *testing.T) {
	var edits []func(*Cell)
	for n := 1; n <= 6; n++ {
		edits = append(edits, add(n, "buffer", turning, asideOf))
	}
	edits = append(edits, add(20, "dock", turning, homeless), add(21, "dock", turning, homeless), add(22, "dock", turning, homeless))
	for _, c := range []struct {
		name string
		edit func(*Cell)
		want int
	}{
		{"idle", func(*Cell) {}, 2},
		{"a machine works", add(7, "mill-1:1 started", milling), 0},
		{"a start is open", func(c *Cell) { add(7, "mill-1:1 loaded", milling)(c); starting("mill-1")(c) }, 0},
		{"the robot works", busy, 0},
		{"the robot is out", broken("robot", "robot is OFFLINE"), 0},
		{"the cell is paused", halted("cell is paused", true), 0},
		{"a door is about to open", func(c *Cell) { c.find("lathe").Slots[0].Closed = true }, 0},
		{"a handshake is about to end", latched("lathe"), 0},
		{"a part can move", add(7, "buffer", turning), 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := Plan(scene(append(edits, c.edit)...))
			require.Len(t, d.Reserve, c.want, fmt.Sprint(d.Explain))
			if c.want > 0 {
				require.NotNil(t, d.Move)
				require.Equal(t, "refill", d.Move.Generator)
			}
		})
	}
}
