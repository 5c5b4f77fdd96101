package scheduler

import (
	"flag"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

var large = flag.Bool("large", false, "search larger cells too: minutes")

// proves C-11, C-16, C-17 and C-18 on small cells: from every state that can be reached in any order of events, the
// run ends with all parts out once nothing is held; and while something is, the gripper gets empty and the parts that
// it does not concern go on. decide checks on the way that no part is set onto another, that a part keeps its own
// place, that no more parts are in the cell than it has places, and that each goes its route.
func TestNoDeadlock(t *testing.T) {
	var total atomic.Int64
	t.Cleanup(func() { t.Logf("%d states in all", total.Load()) })
	for _, c := range []struct {
		places, budget   int
		machines, routes string
		large            bool
	}{
		// Nothing disturbs.
		{1, 0, "A B", "2:AB 2:BA", false},
		{2, 0, "A B", "2:AB 2:BA", false},
		{3, 0, "A B", "2:AB 2:BA", false},
		{3, 0, "A", "4:A", false},
		{2, 0, "A B2 C2*", "1:ABC 1:CBA", false},
		{3, 0, "A B2 C2*", "2:ABC 1:CBA", true},
		{3, 0, "A B2 C2*", "2:ABC 2:CBA", true},
		{3, 0, "A2*", "4:A", false},
		{2, 0, "A2* B2*", "2:AB 2:BA", false},
		{3, 0, "A2* B2*", "2:AB 2:BA", true},
		{2, 0, "A2* B2*", "1:AB 1:BA 1:aB 1:bA", true},
		{3, 0, "A B", "2:sAsB 1:BsA", false},
		{3, 0, "A B", "2:sAsB 2:BsA", true},
		{2, 0, "A", "2:AA 1:A", false},
		// One disturbance, whichever and whenever.
		{1, 1, "A", "2:A", false},
		{1, 1, "A B", "1:AB 1:BA", false},
		{2, 1, "A B", "1:AB 1:BA", false},
		{2, 1, "A B", "2:AB 1:BA", true},
		{2, 1, "A B2", "2:AB 1:BA", true},
		{3, 1, "A B", "2:AB 1:BA", true},
		{2, 1, "A2*", "3:A", false},
		{2, 1, "A2* B", "1:AB 1:A", false},
		{3, 1, "A3*", "2:A 1:a", false},
		{4, 1, "A3*", "2:A 1:a 1:A", true},
		{3, 1, "A2* B", "2:AB 1:BA", true},
		{2, 1, "A2* B2*", "1:AB 1:BA", true},
		{2, 1, "A", "2:sAs", false},
		{3, 1, "A B2 C2*", "1:ABC 1:CBA", true},
		{3, 1, "A B", "2:AB 2:BA", true},
		// Two, and three.
		{1, 2, "A", "2:A", false},
		{2, 2, "A", "2:A", false},
		{2, 2, "A", "2:sA", true},
		{2, 2, "A B", "1:AB 1:BA", true},
		{2, 2, "A2*", "2:A", false},
		{2, 2, "A2* B", "1:AB 1:BA", true},
		{3, 3, "A", "2:A", true},
	} {
		if c.large && !*large {
			continue
		}
		t.Run(fmt.Sprintf("%d places, %s, %s, %d upsets", c.places, c.machines, c.routes, c.budget), func(t *testing.T) {
			t.Parallel()
			states := 0
			for _, at := range []int{1, c.places} { // a refill at every free place, and only into a free buffer
				w := build(c.places, c.budget, c.machines, c.routes)
				w.c.RefillAt = at
				g := w.explore(t, 2_000_000)
				g.ends(t)
				states += g.states
			}
			total.Add(int64(states))
			t.Logf("%d states", states)
		})
	}
}

// proves C-16: a batch that nobody can come to begins at once. With no clock at all, the run ends.
func TestBatchesBeginWithoutTheClock(t *testing.T) {
	for _, c := range [][2]string{
		{"A2*", "3:A"}, {"A3*", "4:A"}, {"A2* B", "3:AB"}, {"A2* B", "2:AB 2:BA"}, {"A2* B2*", "3:AB"},
		{"A2* B2*", "1:AB 1:BA"}, {"A2* B2*", "2:AB 2:BA"}, {"A2* B2*", "3:AB 1:BA"}, {"A2* B3*", "2:ABA 1:BAB"},
	} {
		for places := 1; places <= 3; places++ {
			t.Run(fmt.Sprint(c, places), func(t *testing.T) {
				w := build(places, 0, c[0], c[1])
				w.c.RefillAt, w.never = 1, true
				g := w.explore(t, 200_000)
				g.ends(t)
				t.Logf("%d states", g.states)
			})
		}
	}
}

// proves C-16: two batch machines that wait for each other's parts, which cannot come in because of their program, are
// set going by the longest wait, and by nothing else.
func TestOnlyTheLongestWaitBreaksACircleOfBatches(t *testing.T) {
	w := build(4, 0, "A2* B2*", "1:AB 1:BA 1:bA 1:aB")
	w.c.RefillAt, w.never = 1, true
	for o := range w.paused {
		w.pallet(o)
	}
	g := w.explore(t, 200_000)
	i := g.standstill()
	require.Positive(t, i, "the cell never gets into the circle")
	t.Logf("stands still after %s", g.path(i))

	w.never = false
	g = w.explore(t, 200_000)
	g.ends(t)
	t.Logf("%d states", g.states)
}
