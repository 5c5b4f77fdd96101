package scheduler

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"surehand/internal/term"
)

// build makes a cell from words. Machines: "A" one slot, "B2" two slots, "C2*" a batch machine of two; each is its
// own group. Routes: one order each, "3:AB" are three parts that go to A and then B; "s" is the scanner's step.
func build(places, budget int, machines, routes string) *world {
	w := &world{budget: budget}
	w.c = Cell{Now: modelNow, Places: places, Robot: Robot{ID: "robot"}, Tools: []Tool{{ID: "scanner", Does: term.StepScan, Group: "scanner"}}}
	w.c.RefillAt, w.c.RefillBy = term.CellOptions{}.Refill(places)
	for _, name := range strings.Fields(machines) {
		m := Machine{ID: term.EquipmentID(name[:1]), Group: name[:1], Batch: strings.HasSuffix(name, "*"), MaxWait: 10 * 60e9, Latch: term.LatchNone}
		slots := 1
		if len(name) > 1 {
			slots = int(name[1] - '0')
		}
		for n := 1; n <= slots; n++ {
			m.Slots = append(m.Slots, Slot{Number: n, State: term.SlotEmpty})
		}
		w.c.Machines = append(w.c.Machines, m)
	}
	for o, route := range strings.Fields(routes) {
		n, way, _ := strings.Cut(route, ":")
		var steps []term.Step
		for _, g := range way {
			s := term.Step{Kind: term.StepMachine, Group: string(g), Program: 7}
			switch {
			case g == 's':
				s = term.Step{Kind: term.StepScan, Group: "scanner"}
			case g >= 'a': // the same machine, another program
				s.Group, s.Program = strings.ToUpper(s.Group), 8
			}
			steps = append(steps, s)
		}
		order := term.OrderID(fmt.Sprintf("WO-%d", o+1))
		for i := 1; i <= int(n[0]-'0'); i++ {
			w.parts = append(w.parts, modelPart{order: o, away: true, Part: Part{Job: term.NewJobID(order, i), Number: i, Order: order, Created: modelNow,
				OrderState: term.OrderRunning, State: term.NotArrived, Place: term.Place{Type: term.Nowhere}, Steps: steps, Disposition: term.DispositionNone}})
		}
		w.paused = append(w.paused, false)
	}
	return w
}

// graph is everything that can be reached. A state is a decision carried out; its edges are events.
type graph struct {
	states   int
	progress [][]int32 // what happens by itself
	wrong    []string  // why nothing more must not be the end here; empty: it may
	path     func(i int) string
}

func (w *world) explore(t *testing.T, limit int) graph {
	var g graph
	type origin struct {
		from int32
		name string
	}
	known := map[string]int32{}
	var came []origin
	var queue []*world
	g.path = func(i int) string {
		var names []string
		for at := int32(i); at > 0; at = came[at].from {
			names = append([]string{came[at].name}, names...)
		}
		return strings.Join(names, " → ")
	}
	visit := func(n *world, from int32, name string) int32 {
		if err := n.decide(); err != nil {
			t.Fatalf("after %s → %s: %v\n%+v", g.path(int(from)), name, err, n.view())
		}
		key := n.key()
		id, seen := known[key]
		if !seen {
			id = int32(len(queue))
			known[key] = id
			queue, came = append(queue, n), append(came, origin{from, name})
			g.wrong, g.progress = append(g.wrong, n.mustGoOn()), append(g.progress, nil)
		}
		return id
	}
	visit(w.clone(), 0, "begin")
	for i := 0; i < len(queue); i++ {
		require.Less(t, i, limit, "the cell is too large for this test")
		at := queue[i]
		queue[i] = nil
		for _, e := range at.events() {
			n := at.clone()
			e.do(n)
			if e.costs {
				n.budget--
			}
			if id := visit(n, int32(i), e.name); e.progress {
				g.progress[i] = append(g.progress[i], id)
			}
		}
	}
	g.states = len(queue)
	return g
}

// ends checks that what happens by itself comes to an end from every state: no circle (livelock), and no end where it
// must go on (deadlock).
func (g graph) ends(t *testing.T) {
	t.Helper()
	if i := g.standstill(); i >= 0 {
		t.Fatalf("stands still (%s) after %s", g.wrong[i], g.path(i))
	}
	before := make([]int, g.states)
	for i := range g.progress {
		for _, to := range g.progress[i] {
			before[to]++
		}
	}
	var ready []int
	for i, n := range before {
		if n == 0 {
			ready = append(ready, i)
		}
	}
	sorted := 0
	for ; len(ready) > 0; sorted++ {
		i := ready[len(ready)-1]
		ready = ready[:len(ready)-1]
		for _, to := range g.progress[i] {
			if before[to]--; before[to] == 0 {
				ready = append(ready, int(to))
			}
		}
	}
	if sorted < g.states {
		for i, n := range before {
			if n > 0 {
				t.Fatalf("goes round in circles after %s", g.path(i))
			}
		}
	}
}

// standstill is a state in which nothing happens by itself, though it must; -1: there is none.
func (g graph) standstill() int {
	for i := range g.progress {
		if len(g.progress[i]) == 0 && g.wrong[i] != "" {
			return i
		}
	}
	return -1
}
