package loop_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"surehand/internal/loop/looptest"
	"surehand/internal/message"
	"surehand/internal/plant"
	"surehand/internal/term"
)

// chaos is one seeded shift: mishaps, crashes, cut links, and a person who pauses, suspends, reworks, scraps and
// cancels whenever it comes to mind. Afterwards the person answers everything, and the orders must end.
type chaos struct {
	*cellRig
	rand   *rand.Rand
	counts map[string]int
	cut    map[term.EquipmentID]bool
}

func (c *chaos) pick(n int) bool { return c.rand.IntN(n) == 0 }

func (c *chaos) disturb() {
	ids := []term.EquipmentID{"lathe", "mill", "oven", "robot", "scanner"}
	if c.pick(80) {
		id := ids[c.rand.IntN(len(ids))]
		c.cut[id] = !c.cut[id]
		c.line.Cut(id, c.cut[id])
		c.counts["cut"]++
	}
	for _, id := range ids {
		if c.cut[id] && c.pick(20) {
			c.cut[id] = false
			c.line.Cut(id, false)
		}
	}
	if c.pick(120) {
		c.counts["crash"]++
		c.crash()
	}
	if c.pick(12) {
		c.whim()
	}
	if c.pick(15) {
		c.hostile()
	}
}

// whim is one command of a person; most are refused, and that is fine.
func (c *chaos) whim() {
	jobs, orders := c.loop.State().Jobs(), c.loop.State().Orders()
	if len(orders) == 0 {
		return
	}
	order := orders[c.rand.IntN(len(orders))].ID
	job := jobs[c.rand.IntN(len(jobs))]
	var p message.Payload
	switch c.rand.IntN(16) {
	case 0:
		p = message.PauseOrder{Order: order}
	case 1, 2:
		p = message.ResumeOrder{Order: order}
	case 3:
		p = message.SuspendJob{Job: job.ID}
	case 4, 5:
		p = message.ResumeJob{Job: job.ID}
	case 6:
		p = message.ReworkJob{Job: job.ID, Step: 1 + c.rand.IntN(4), Reason: "again"}
	case 7:
		p = message.PauseCell{}
	case 8, 9:
		p = message.ReleaseCell{}
	case 10:
		if !c.pick(4) {
			return
		}
		p = message.ScrapJob{Job: job.ID, Reason: "a scratch"}
	case 11:
		if !c.pick(10) {
			return
		}
		p = message.CancelOrder{Order: order, Inside: []term.InsideRule{term.InsideRetire, term.InsideFinish}[c.rand.IntN(2)]}
	case 12:
		p = message.RefillRequested{}
	case 13:
		p = message.CompareCell{}
	case 14:
		for _, a := range c.loop.State().Alarms() {
			c.person(message.AckAlarm{Alarm: a.ID})
		}
		return
	case 15:
		at, in := c.line.At[string(job.ID)]
		if !in || at == looptest.Gripper || c.line.Busy() {
			return
		}
		place := placeOf(at)
		p = message.ReportPart{Job: job.ID, Place: place, Reason: "I see it there"}
	}
	o := c.person(p)
	c.counts[p.Type()+" "+string(o.Code)]++
}

// hostile is something that comes doubled, late, out of order, wrong or in the middle of something else.
func (c *chaos) hostile() {
	state := c.loop.State()
	n := c.rand.IntN(6)
	c.counts[fmt.Sprint("hostile ", n)]++
	switch jobs := state.Jobs(); {
	case n == 0 && len(c.results) > 0: // a result of some time ago, once more or turned round
		p := c.results[c.rand.IntN(len(c.results))]
		if _, open := state.Task(p.Task); open {
			return // of an open action it would be evidence
		}
		if c.pick(2) && p.Kind == term.TaskMove {
			p.Outcome = map[term.Outcome]term.Outcome{term.Done: term.NotDone, term.NotDone: term.Done, term.Unknown: term.Done}[p.Outcome]
		}
		c.post(p)
	case n == 1: // a done of a machine that works on nothing
		id := []term.EquipmentID{"lathe", "mill", "oven"}[c.rand.IntN(3)]
		for _, s := range state.SlotsOf(id) {
			if _, starting := state.StartOf(id); s.State != term.SlotEmpty || starting {
				return
			}
		}
		c.post(message.MachineDone{Machine: id, SlotNo: c.rand.IntN(5), Exact: c.pick(2), Pass: "perhaps"})
	case n == 2 && len(jobs) > 0: // a report of a place where the part is not
		c.person(message.ReportPart{Job: jobs[c.rand.IntN(len(jobs))].ID, Place: placeOf([]int{1, 22, 41, 51, 62, looptest.Gripper, looptest.Removed}[c.rand.IntN(7)]), Reason: "I think so"})
	case n == 3: // every answer twice, and once with an old version, in one turn
		var batch []message.Message
		for _, q := range state.Questions() {
			if word := c.honestly(q); word != "" && slices.Contains(words(q), word) {
				p := message.ResolveManualAction{Question: q.ID, Version: q.Version, Hash: q.Hash, Answer: word, Reason: "I looked"}
				old := p
				old.Version--
				for _, p := range []message.Payload{old, p, p} {
					batch = append(batch, message.Message{Source: message.FromPerson, Actor: "kim", Payload: p, BodyHash: fmt.Sprint(p)})
				}
			}
		}
		c.turn(batch...)
	case n == 4:
		id := state.Equipment()[c.rand.IntN(5)].ID
		c.line.Fail(id, c.rand.IntN(2))
	case n == 5:
		id := state.Equipment()[c.rand.IntN(5)].ID
		if _, disabled := state.Held(plant.EquipmentSubject(id), term.HoldDisabled); disabled {
			c.person(message.EnableEquipment{Equipment: id, Reason: "used again"})
		} else if c.pick(4) {
			c.person(message.DisableEquipment{Equipment: id, Reason: "a smell"})
		}
	}
}

func placeOf(n int) term.Place {
	switch {
	case n == looptest.Gripper:
		return term.GripperPlace()
	case n == looptest.Removed, n == 99:
		return term.OutPlace(term.OutRemoved)
	case n <= 12:
		return term.DockPlace(n)
	case n <= 28:
		return term.BufferPlace(n - 20)
	}
	return term.SlotPlace(term.NewSlotID(map[int]term.EquipmentID{4: "lathe", 5: "mill", 6: "oven"}[n/10], n%10))
}

// honestly answers from the true state, for every finding there is.
func (c *chaos) honestly(q *plant.Question) string {
	at, known := c.line.At[string(q.JobID)]
	has := func(w string) bool { return slices.Contains(words(q), w) }
	switch q.Finding {
	case term.FindTaskUnknown, term.FindLateSuccess, term.FindActionFailed:
		return c.honest(q)
	case term.FindReportedPart:
		if q.Place == placeOf(at) || q.Place.Type == term.Out && (at == 99 || at == looptest.Removed) {
			return term.AnswerAccept
		}
		return term.AnswerMistaken
	case term.FindPartMissing, term.FindGripperEmpty, term.FindJobSlot:
		j, _ := c.loop.State().Job(q.JobID)
		if known && placeOf(at) == term.BufferPlace(j.TempSlotNo) && has(term.AnswerHome) {
			return term.AnswerHome
		}
		c.line.PutBy(string(q.JobID), looptest.Removed) // takes it out by hand
		return term.AnswerRemoved
	case term.FindNotRunning:
		return term.AnswerRestart
	case term.FindOverdue:
		return term.AnswerWait
	case term.FindUnexpected, term.FindJobMismatch:
		return term.AnswerDismiss
	case term.FindEchoUnknown:
		return term.AnswerAccept
	case term.FindUnreachable, term.FindFault, term.FindFlapping, term.FindPartForeign, term.FindGripper:
		return "" // closes by itself
	}
	c.t.Fatalf("seed: nobody would know why this is asked: %s %s\n%s", q.Finding, q.Subject, c.describe())
	return ""
}

func (c *chaos) answer() {
	c.t.Helper()
	for _, q := range c.loop.State().Questions() {
		word := c.honestly(q)
		if word == "" || !slices.Contains(words(q), word) {
			continue
		}
		o := c.person(message.ResolveManualAction{Question: q.ID, Version: q.Version, Hash: q.Hash, Answer: word, Reason: "I looked"})
		c.counts["answer "+string(o.Code)+" "+o.Reason]++
		if o.Code == message.Accepted {
			c.counts["answered "+string(q.Finding)+" "+word]++
		}
	}
	if _, held := c.loop.State().Held(plant.CellSubject, term.HoldRecovery); held {
		c.person(message.ConfirmRecovery{})
	}
}

// calm ends all disturbances and brings everything to its end as a person would.
func (c *chaos) calm() {
	c.line.Strike = nil
	for _, e := range c.loop.State().Equipment() {
		c.line.Cut(e.ID, false)
		c.line.Fail(e.ID, 0)
		c.person(message.EnableEquipment{Equipment: e.ID, Reason: "used again"})
	}
	c.line.Unstick()
	c.person(message.ReleaseCell{})
	for _, h := range c.loop.State().Holds() {
		require.NotEqual(c.t, term.HoldParked, h.Reason, "%+v\n%s", h, c.describe())
	}
	for _, o := range c.loop.State().Orders() {
		if o.State == term.OrderDraft {
			c.accept(message.StartOrder{Order: o.ID})
		}
	}
}

func (c *chaos) settleDown() {
	for _, o := range c.loop.State().Orders() {
		c.person(message.ResumeOrder{Order: o.ID})
	}
	for _, j := range c.loop.State().Jobs() {
		c.person(message.ResumeJob{Job: j.ID})
	}
	c.answer()
}

func runChaos(t *testing.T, seed uint64) map[string]int {
	c := &chaos{cellRig: newCellRig(t, theCell()), rand: rand.New(rand.NewPCG(seed, 1)), counts: map[string]int{}, cut: map[term.EquipmentID]bool{}}
	c.line.Strike = func(p plant.Perform) looptest.Mishap {
		if !c.pick(8) {
			return looptest.Fine
		}
		m := looptest.Mishap(1 + c.rand.IntN(8))
		c.counts[fmt.Sprint("mishap ", m)]++
		return m
	}
	c.sparse = true
	c.line.LoseAcknowledged = func() bool { return c.pick(8) }
	c.confirm()
	c.order("A", 5)
	c.accept(message.CreateOrder{ID: "B", Route: "housing", Quantity: 2})
	for range 600 {
		c.step()
		c.disturb()
		if c.pick(4) {
			c.answer()
		}
		if c.pick(30) {
			c.line.Unstick()
		}
		if c.ended("A") {
			break
		}
	}
	c.calm()
	c.until("the first order has ended", 30*time.Minute, func() bool {
		c.settleDown()
		return c.ended("A")
	})
	if !c.ended("B") {
		c.until("the pallet may leave", time.Minute, func() bool {
			return c.person(message.PalletLeft{Pallet: "pallet-A"}).Code != message.Refused
		})
		for _, id := range []string{"A.1", "A.2", "A.3", "A.4", "A.5"} { // what was left on the pallet goes with it
			if at := c.line.At[id]; at >= 1 && at <= 12 {
				c.line.PutBy(id, looptest.Removed)
			}
		}
		if o := c.person(message.PalletArrived{Pallet: "pallet-B", Order: "B", Quantity: 2}); o.Code == message.Accepted {
			c.line.Arrive("B", 1, 2)
		}
		c.until("the second order has ended", 30*time.Minute, func() bool {
			c.settleDown()
			return c.ended("B")
		})
	}
	c.truth()
	for _, id := range []string{"A", "B"} {
		o := c.orderRow(id)
		require.Equal(t, 0, o.Left())
		completed := 0
		for n := 1; n <= o.Planned; n++ {
			j := c.jobRow(fmt.Sprintf("%s.%d", id, n))
			if j.State == term.Completed {
				completed++
				require.Equal(t, c.line.Exit, c.line.At[string(j.ID)], "%s is completed and not out", j.ID)
				visits := slices.Compact(slices.Clone(c.line.Visits[string(j.ID)]))
				require.Subset(t, visits, []string{"lathe", "mill", "oven", "scanner"}, "%s is completed and did not go its route: %v", j.ID, visits)
				require.Equal(t, "code-"+string(j.ID), j.Context.Code, "%s was taken for another part", j.ID)
			}
		}
		require.Equal(t, completed, o.Completed)
	}
	return c.counts
}

// proves C-7 C-10 C-19 C-20
func TestAShiftOfMishapsEndsWithTheRightCountersAndNoPartLost(t *testing.T) {
	seeds := uint64(40)
	if testing.Short() {
		seeds = 5
	}
	total := map[string]int{}
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			counts := runChaos(t, seed)
			for k, n := range counts {
				total[k] += n
			}
		})
	}
	for _, k := range slices.Sorted(maps(total)) {
		t.Logf("%6d %s", total[k], k)
	}
}

func maps(m map[string]int) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}
