package loop_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"surehand/internal/loop/looptest"
	"surehand/internal/message"
	"surehand/internal/plant"
	"surehand/internal/term"
)

// inspectedAndMarked is a cell with a route that reads a part's code, works on it, inspects it in the mill, and marks it
// when it is good.
func inspectedAndMarked(onFail string) message.ImportPlant {
	check := term.Step{Kind: term.StepInspection, Group: "mill", Program: 2, OnFail: onFail, Timeout: term.Duration(5 * time.Minute)}
	if onFail == "rework" {
		check.ReworkTo, check.ReworkLimit = 2, 1
	}
	return withMarker(term.Step{Kind: term.StepScan, Group: "scanner"}, term.Step{Kind: term.StepMachine, Group: "lathe", Program: 1, Timeout: term.Duration(5 * time.Minute)},
		check, term.Step{Kind: term.StepMark, Group: "marker", Text: "{order}/{code}"})
}

// judges lets the mill say of each part what stands for it, one word for each of its inspections, and then pass.
func (r *cellRig) judges(verdicts map[string]string) {
	left := map[string][]string{}
	for part, said := range verdicts {
		left[part] = strings.Fields(said)
	}
	r.line.Judge = func(machine term.EquipmentID, part string) string {
		if machine != "mill" {
			return ""
		}
		if len(left[part]) == 0 {
			return "pass"
		}
		said := left[part][0]
		left[part] = left[part][1:]
		return said
	}
}

// proves C-14 C-18: the whole way of good and bad parts, by each word of a route about bad ones. Only a part that is good,
// or was found good by a person, is marked, and once.
func TestTheWayOfPartsThroughAnInspection(t *testing.T) {
	type way struct {
		verdicts string
		person   string // who judges
		visits   string
		end      term.JobState
		reworks  int
	}
	const good = "scanner lathe mill marker"
	for onFail, ways := range map[string][]way{
		"rework": {
			{"pass", "", good, term.Completed, 0},
			{"fail pass", "", "scanner lathe mill lathe mill marker", term.Completed, 1},
			{"fail fail", term.AnswerGood, "scanner lathe mill lathe mill marker", term.Completed, 1},
			{"fail fail", term.AnswerScrap, "scanner lathe mill lathe mill", term.Scrapped, 1},
		},
		"scrap": {
			{"pass", "", good, term.Completed, 0},
			{"fail", "", "scanner lathe mill", term.Scrapped, 0},
		},
		"judge": {
			{"fail", term.AnswerGood, good, term.Completed, 0},
			{"fail", term.AnswerScrap, "scanner lathe mill", term.Scrapped, 0},
			{"pass", "", good, term.Completed, 0},
		},
	} {
		t.Run(onFail, func(t *testing.T) {
			r := newCellRig(t, inspectedAndMarked(onFail))
			verdicts, persons := map[string]string{}, map[term.JobID]string{}
			for n, w := range ways {
				id := term.NewJobID("A", n+1)
				verdicts[string(id)], persons[id] = w.verdicts, w.person
			}
			r.judges(verdicts)
			r.confirm()
			r.order("A", len(ways))
			asked := 0
			r.until("the order has ended", 2*time.Hour, func() bool {
				for _, q := range r.loop.State().Questions() {
					require.Equal(t, term.FindJudgement, q.Finding, "%s", r.describe())
					require.Equal(t, []string{term.AnswerGood, term.AnswerScrap}, words(q))
					require.NotEmpty(t, persons[q.JobID], "nobody is asked about %s", q.JobID)
					require.Equal(t, message.Accepted, r.answerWith(q, persons[q.JobID]).Code)
					asked++
				}
				return r.ended("A")
			})
			r.truth()
			completed := 0
			for n, w := range ways {
				id := string(term.NewJobID("A", n+1))
				j := r.jobRow(id)
				require.Equal(t, w.end, j.State, id)
				require.Equal(t, w.visits, strings.Join(r.line.Visits[id], " "), id)
				require.Equal(t, w.reworks, j.Context.Reworks, id)
				require.Equal(t, r.line.Exit, r.line.At[id], id)
				if w.end == term.Completed {
					completed++
					require.Equal(t, []string{"A/code-" + id}, r.line.Marks[id], id)
				} else {
					require.Empty(t, r.line.Marks[id], id)
				}
				if w.person != "" {
					asked--
				}
				results := len(strings.Fields(w.visits)) // each visit, and each person's word about one
				if w.person != "" {
					results++
				}
				require.Len(t, j.Context.Results, results, "%s %+v", id, j.Context.Results)
			}
			require.Zero(t, asked, "each was asked about once")
			o := r.orderRow("A")
			require.Equal(t, []int{completed, len(ways) - completed, 0}, []int{o.Completed, o.Scrapped, o.Cancelled})
		})
	}
}

// proves C-15 C-22: several orders of two routes share one cell. The one of the higher priority goes first, each part goes
// the way of its own route, and each order counts its own.
func TestOrdersOfTwoRoutesInOneCell(t *testing.T) {
	p := inspectedAndMarked("rework")
	p.Routes = append(p.Routes, message.ImportRoute{ID: "plate", Steps: []message.ImportStep{p.Routes[0].Steps[1], {Step: term.Step{Kind: term.StepMark, Group: "marker"}}}})
	r := newCellRig(t, p)
	r.judges(map[string]string{"A.1": "fail", "A.2": "fail fail"})
	var turned []string // in the lathe, as it was started
	r.watchStarts("lathe", func() { turned = append(turned, r.line.On(41)) })
	r.confirm()
	r.accept(message.DisableEquipment{Equipment: "lathe", Reason: "not yet"})
	bring := func(id term.OrderID, route term.RouteID, priority, n int) {
		r.accept(message.CreateOrder{ID: id, Route: route, Quantity: n, Priority: priority})
		r.accept(message.PalletArrived{Pallet: "pallet-" + term.PalletID(id), Order: id, Quantity: n})
		r.line.Arrive(string(id), 1, n)
		r.accept(message.StartOrder{Order: id})
		r.until("the pallet is empty", 10*time.Minute, func() bool {
			return r.person(message.PalletLeft{Pallet: "pallet-" + term.PalletID(id)}).Code == message.Accepted
		})
	}
	bring("A", "housing", 0, 3)
	bring("B", "plate", 5, 2)
	r.accept(message.RefillRequested{}) // three places are free
	bring("C", "plate", 0, 2)
	r.until("nothing is left to do without the lathe", 10*time.Minute, func() bool {
		for _, j := range r.loop.State().Placed() {
			if j.State != term.Waiting || strings.HasPrefix(string(j.ID), "A.") && j.StepIndex == 0 {
				return false
			}
		}
		return true
	})
	require.Empty(t, turned)
	r.accept(message.EnableEquipment{Equipment: "lathe", Reason: "it is ready"})
	r.until("the urgent order has ended", time.Hour, func() bool { return r.ended("B") })
	require.False(t, r.ended("A"))
	r.accept(message.CancelOrder{Order: "C"})
	r.until("all orders have ended", 2*time.Hour, func() bool {
		for _, q := range r.loop.State().Questions() {
			require.Equal(t, term.JobID("A.2"), q.JobID)
			require.Equal(t, message.Accepted, r.answerWith(q, term.AnswerScrap).Code)
		}
		return r.ended("A") && r.ended("C")
	})
	r.truth()
	require.Equal(t, []string{"B.1", "B.2"}, turned[:2], "%v", turned)
	for id, want := range map[string][3]int{"A": {2, 1, 0}, "B": {2, 0, 0}, "C": {0, 0, 2}} {
		o := r.orderRow(id)
		require.Equal(t, want, [3]int{o.Completed, o.Scrapped, o.Cancelled}, "%s", id)
	}
	require.Equal(t, map[string][]string{"A.1": {"A/code-A.1"}, "A.3": {"A/code-A.3"}, "B.1": {"B.1"}, "B.2": {"B.2"}}, r.line.Marks)
	for id, visits := range map[string]string{"A.1": "scanner lathe mill lathe mill marker", "A.2": "scanner lathe mill lathe mill", "A.3": "scanner lathe mill marker",
		"B.1": "lathe marker", "B.2": "lathe marker"} {
		require.Equal(t, visits, strings.Join(r.line.Visits[id], " "), "%s", id)
	}
}

// watchStarts calls a function whenever a machine is started.
func (r *cellRig) watchStarts(id term.EquipmentID, do func()) {
	r.t.Helper()
	inner := r.line.Strike
	r.line.Strike = func(p plant.Perform) (m looptest.Mishap) {
		if p.Type == term.TaskStartMachine && p.EquipmentID == id {
			do()
		}
		if inner != nil {
			m = inner(p)
		}
		return m
	}
}

// proves C-14 C-19 C-7: the process dies before and after the commit of every step of a route with an inspection, a
// rework and a mark. Nobody is asked about a mark, because the marker knows, and no part bears its mark twice.
func TestACrashAtAnyStepOfAnInspectionAndAMark(t *testing.T) {
	fresh := func() *cellRig {
		r := newCellRig(t, inspectedAndMarked("rework"))
		r.judges(map[string]string{"A.1": "fail"})
		r.confirm()
		r.order("A", 2)
		return r
	}
	clean := fresh()
	first := clean.steps
	clean.until("the order has ended", time.Hour, func() bool { return clean.ended("A") })
	steps := clean.steps - first
	crashes, inMark := 0, 0
	for k := 0; k < 2*steps; k += 2**every - 1 { // odd, so that both sides of a commit come up
		crashes++
		r := fresh()
		r.crashAt = 2*r.steps + k
		r.until("the crash", time.Hour, func() bool { return r.steps > r.crashAt/2 || r.ended("A") })
		asked := 0
		for _, task := range r.loop.State().Tasks() {
			switch {
			case task.Type == term.TaskMark:
				inMark++
			case task.Type.UsesRobot():
				asked++
			}
		}
		r.until("compared", time.Minute, func() bool {
			r.step()
			o := r.person(message.ConfirmRecovery{})
			return o.Reason != "comparing" && o.Reason != "" && !r.line.Busy() || o.Code == message.Accepted
		})
		require.Len(t, r.loop.State().Questions(), asked, "crash %d\n%s", k, r.describe())
		r.withOperator("A", time.Hour)
		r.truth()
		o := r.orderRow("A")
		require.Equal(t, []int{2, 0, 0}, []int{o.Completed, o.Scrapped, o.Cancelled}, "crash %d", k)
		for n, visits := range []string{"scanner lathe mill lathe mill marker", "scanner lathe mill marker"} {
			part := fmt.Sprintf("A.%d", n+1)
			require.Equal(t, visits, strings.Join(slices.Compact(slices.Clone(r.line.Visits[part])), " "), "crash %d", k) // reading twice is harmless
			require.Equal(t, []string{"A/code-" + part}, r.line.Marks[part], "crash %d", k)
			require.Equal(t, r.line.Exit, r.line.At[part])
		}
	}
	if *every <= 4 { // with longer steps none may meet one
		require.Positive(t, inMark, "some crash met a mark")
	}
	t.Logf("%d crashes, %d of them within a mark", crashes, inMark)
}
