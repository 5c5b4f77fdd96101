package scheduler

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"surehand/internal/plant"
	"surehand/internal/term"
)

// crowd is a cell of six machines with a full buffer and twenty parts on the dock, in all kinds of states.
func crowd() Cell {
	c := scene(func(c *Cell) {
		lathe := machine("lathe-2", "turning", 2)
		oven := machine("oven-2", "heat", 4)
		oven.Batch, oven.MaxWait = true, time.Minute
		c.Machines = append(c.Machines, lathe, oven)
	}, add(1, "lathe:1 started", turning), add(2, "lathe-2:1", scan), add(3, "lathe-2:2 loaded", turning), add(4, "mill-1:1", heat),
		add(5, "oven:2 loaded", heat), add(6, "oven-2:1 started", heat), add(7, "buffer", milling, asideOf), add(8, "buffer", turning))
	for i := 9; i <= 28; i++ {
		add(i, "dock", turning, homeless)(&c)
	}
	return c
}

// proves X-7: the same cell gives the same decision, however it was listed, and Plan leaves its argument alone.
func TestPlanIsDeterministic(t *testing.T) {
	cells := []Cell{crowd(), scene(), scene(busy, add(1, "dock", turning, homeless)),
		scene(add(1, "buffer", done), add(2, "buffer", done), add(3, "buffer", done, urgent), add(4, "lathe:1", done))}
	random := rand.New(rand.NewPCG(1, 2))
	for _, c := range cells {
		want := Plan(c)
		for range 200 {
			n := c.Clone()
			random.Shuffle(len(n.Parts), func(i, j int) { n.Parts[i], n.Parts[j] = n.Parts[j], n.Parts[i] })
			random.Shuffle(len(n.Tools), func(i, j int) { n.Tools[i], n.Tools[j] = n.Tools[j], n.Tools[i] })
			random.Shuffle(len(n.Machines), func(i, j int) { n.Machines[i], n.Machines[j] = n.Machines[j], n.Machines[i] })
			for k := range n.Machines {
				s := n.Machines[k].Slots
				random.Shuffle(len(s), func(i, j int) { s[i], s[j] = s[j], s[i] })
			}
			before := n.Clone()
			require.Equal(t, want, Plan(n))
			require.Equal(t, before, n)
		}
	}
}

// proves X-7: every move that was looked at is kept with its reason, within a bound; the chosen one always.
func TestExplanationIsBounded(t *testing.T) {
	var c Cell
	for _, halt := range []string{"", "cell is paused"} {
		c = scene(halted(halt, halt != ""))
		c.Places = 100
		for i := 1; i <= 100; i++ {
			add(i, "buffer", turning, held("x"))(&c)
		}
		add(200, "dock", turning, func(p *Part) { p.Home = 90 })(&c)
		c.Parts[89].Place, c.Parts[89].Home = term.DockPlace(90), 0
		d := Plan(c)
		require.Len(t, d.Explain.Candidates, plant.MaxCandidates)
		require.Equal(t, 101-plant.MaxCandidates, d.Explain.LeftOut)
		if halt == "" {
			require.Equal(t, plant.MaxCandidates-1, d.Explain.Chosen)
			require.Equal(t, term.JobID("WO-1.200"), d.Explain.Candidates[d.Explain.Chosen].Job)
		}
	}
	require.Empty(t, slices.DeleteFunc(Plan(c).Explain.Candidates, func(k term.PlanCandidate) bool { return k.Reason == "cell is paused" }))
}

// proves X-7: the sentence for the panel.
func TestWait(t *testing.T) {
	for _, c := range []struct {
		cell Cell
		want string
	}{
		{scene(), "nothing to do"},
		{scene(func(c *Cell) { c.NotArrived = 12 }), "waiting for a pallet (12 parts have not arrived)"},
		{scene(broken("robot", "robot is OFFLINE"), add(1, "lathe:1 started", turning)), "robot is OFFLINE"},
		{scene(busy, add(1, "lathe:1 started", turning)), "robot is busy with WO-9.1"},
		{scene(halted("cell is paused", true), busy), "cell is paused"},
		{scene(add(1, "lathe:1 started", turning), add(2, "mill-1:1 started", milling)), "waiting for lathe (WO-1.1) and mill-1 (WO-1.2)"},
		{scene(add(1, "oven:1 loaded", heat), add(2, "buffer", milling), broken("mill-1", "mill-1 is OFFLINE"), broken("mill-2", "x")), "oven waits for more parts (1 of 4 are in it)"},
		{scene(add(1, "buffer", turning), broken("lathe", "lathe is OFFLINE")), "WO-1.1: lathe is OFFLINE"},
		{scene(add(1, "buffer", turning, asideOf)), "WO-1.1 is suspended"},
		{scene(add(1, "oven:1", heat, func(p *Part) { p.State = term.WaitingJudgement })), "WO-1.1 waits for a judgement"},
	} {
		d := Plan(c.cell)
		require.Equal(t, c.want, d.Wait)
		require.Equal(t, c.want, d.Explain.Why)
		later := c.cell.Clone()
		later.Now = later.Now.Add(time.Second)
		require.Equal(t, c.want, Plan(later).Wait, "time alone changes no words")
	}
}

func BenchmarkPlan(b *testing.B) {
	c := crowd()
	b.ReportAllocs()
	took := make([]time.Duration, 0, 1<<16)
	for b.Loop() {
		begin := time.Now()
		Plan(c)
		if len(took) < cap(took) {
			took = append(took, time.Since(begin))
		}
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
}
