package loop_test

import (
	"fmt"
	"math/rand/v2"
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

// withMarker is the cell with a marker beside the scanner, and a route of these steps.
func withMarker(steps ...term.Step) message.ImportPlant {
	p := theCell()
	p.Equipment = append(p.Equipment, message.ImportEquipment{ID: "marker", Kind: term.KindMarker, Config: term.EquipmentConfig{First: 91,
		ActionTime: term.Duration(10 * time.Second), Driver: term.DriverConfig{Type: "tcp-marker", Address: "127.0.0.1:4"}}})
	p.Routes[0].Steps = nil
	for _, s := range steps {
		p.Routes[0].Steps = append(p.Routes[0].Steps, message.ImportStep{Step: s})
	}
	return p
}

// onlyMarked is the cell with a route of one mark, which the first time ends as the test wants it. Its order of one part
// is started.
func onlyMarked(t *testing.T, m looptest.Mishap) *cellRig {
	r := newCellRig(t, withMarker(term.Step{Kind: term.StepMark, Group: "marker", Text: "{order}/{job}"}))
	struck := false
	r.line.Strike = func(p plant.Perform) looptest.Mishap {
		if p.Type != term.TaskMark || struck {
			return looptest.Fine
		}
		struck = true
		return m
	}
	r.confirm()
	r.order("A", 1)
	return r
}

// marking steps until the mark was handed out.
func (r *cellRig) marking() *plant.Task {
	r.t.Helper()
	r.until("it is marked", 10*time.Minute, func() bool { t, busy := r.loop.State().RobotTask(); return busy && t.Type == term.TaskMark })
	t, _ := r.loop.State().RobotTask()
	return t
}

// unknown steps until it is asked what became of a mark.
func (r *cellRig) unknown(id term.TaskID) *plant.Question {
	r.t.Helper()
	subject := plant.TaskSubject(id)
	r.until("the mark is in doubt", time.Minute, func() bool { _, open := r.loop.State().QuestionOf(term.FindTaskUnknown, subject); return open })
	return r.question(term.FindTaskUnknown, subject)
}

func (r *cellRig) task(id term.TaskID) *plant.Task {
	row, ok := r.db.Row(plant.KindTask, string(id))
	require.True(r.t, ok)
	return row.(*plant.Task)
}

// markedOnce: the order has ended, and its part bears its text once.
func (r *cellRig) markedOnce() {
	r.t.Helper()
	r.until("the order has ended", 10*time.Minute, func() bool { return r.ended("A") })
	require.Equal(r.t, 1, r.orderRow("A").Completed, "%s", r.describe())
	require.Equal(r.t, []string{"A/A.1"}, r.line.Marks["A.1"])
	results := r.jobRow("A.1").Context.Results
	require.Equal(r.t, "A/A.1", results[len(results)-1].Data)
	require.Empty(r.t, r.loop.State().Questions())
	r.truth()
}

// proves C-7 C-18: what the marker says of a number is proof, whenever it comes; nobody is asked, and nothing is marked
// twice.
func TestAMarkInDoubtIsResolvedByTheMarkersOwnWord(t *testing.T) {
	for _, c := range []struct {
		name   string
		mishap looptest.Mishap
		first  term.TaskState // of the mark that was in doubt
		tries  int            // numbers that were given to the marker and begun
	}{
		{"done", looptest.Fine, term.TaskSucceeded, 1},
		{"done, and the answer was lost", looptest.Silent, term.TaskSucceeded, 1},
		{"done, and told late", looptest.AnswersLate, term.TaskSucceeded, 1},
		{"it never came to the marker", looptest.SilentBefore, term.TaskFailed, 1},
		{"it came when it was withdrawn", looptest.ArrivesLate, term.TaskFailed, 1},
		{"not even tried", looptest.Unsent, term.TaskFailed, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := onlyMarked(t, c.mishap)
			first := r.marking().ID
			r.markedOnce()
			require.Equal(t, c.first, r.task(first).State)
			n := 0
			for _, no := range keys(r.line.Executed) {
				if _, marked := r.line.Marked[no]; marked {
					n++
				}
			}
			require.Equal(t, c.tries, n)
		})
	}
}

// proves C-19: after a restart as well. The marker withdraws what it has not begun, so nothing stays open.
func TestAMarkOfAnEarlierLifeIsResolvedByTheMarkersOwnWord(t *testing.T) {
	for _, c := range []struct {
		name   string
		mishap looptest.Mishap
		off    bool // the marker, while the process comes back
		first  term.TaskState
	}{
		{"the process dies while it marks", looptest.Fine, false, term.TaskSucceeded},
		{"the process dies before anything leaves", looptest.SilentBefore, false, term.TaskFailed},
		{"what it sent comes when the next life has withdrawn it", looptest.ArrivesLate, false, term.TaskFailed},
		{"the marker is off for a while", looptest.Fine, true, term.TaskSucceeded},
		{"the marker is off for a while, and nothing came to it", looptest.SilentBefore, true, term.TaskFailed},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := onlyMarked(t, c.mishap)
			first := r.marking().ID
			r.step()
			r.line.Cut("marker", c.off)
			r.crash()
			if c.off {
				r.wait(20 * time.Second)
				require.Equal(t, term.TaskUnknown, r.task(first).State)
				require.NotContains(t, words(r.unknown(first)), term.AnswerNotDone, "it may still happen")
				r.line.Cut("marker", false)
			}
			r.confirm() // nothing was found, or it has closed by itself
			r.markedOnce()
			require.Equal(t, c.first, r.task(first).State)
		})
	}
}

// What the marker does not know either is asked about. "Not done" is offered only when this number can begin no more.
func TestWhatIsAskedAboutAMark(t *testing.T) {
	hang := func(r *cellRig) { r.wait(3 * time.Second) }
	interrupted := func(r *cellRig) { r.wait(3 * time.Second); r.line.Interrupt("marker"); r.wait(3 * time.Second) }
	off := func(r *cellRig) { r.line.Cut("marker", true); r.wait(6 * time.Second) }
	newer := func(r *cellRig) { r.line.Foreign("marker", 900); r.wait(6 * time.Second) }
	const done, not, scrap = term.AnswerDone, term.AnswerNotDone, term.AnswerScrap
	for _, c := range []struct {
		name    string
		mishap  looptest.Mishap
		then    func(*cellRig)
		words   []string
		machine string
		answer  string
		refused string
		marks   []string // on the part in the end; nil: it ends as scrap
	}{
		{"it hangs", looptest.Stuck, hang, []string{done, scrap}, "is marking", scrap, "working", nil},
		{"it hangs, and a person has stopped it", looptest.Stuck, func(r *cellRig) {
			hang(r)
			r.accept(message.DisableEquipment{Equipment: "marker", Reason: "stopped by hand"})
		}, []string{done, scrap}, "is marking", scrap, "", nil},
		{"interrupted before it was on the part", looptest.Stuck, interrupted, []string{done, not, scrap}, "does not know", not, "", []string{"A/A.1"}},
		{"interrupted when it was on the part", looptest.StuckHolding, interrupted, []string{done, not, scrap}, "does not know", done, "", []string{"A/A.1"}},
		{"interrupted, half of it on the part", looptest.StuckHolding, interrupted, []string{done, not, scrap}, "does not know", scrap, "", nil},
		{"off since before it began", looptest.SilentBefore, off, []string{done, scrap}, "cannot be reached", scrap, "", nil},
		{"another number was begun since", looptest.SilentBefore, newer, []string{done, not, scrap}, "last number 900", scrap, "", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := onlyMarked(t, c.mishap)
			task := r.marking()
			r.unknown(task.ID)
			c.then(r)
			q := r.unknown(task.ID)
			require.Equal(t, c.words, words(q), "%s", r.describe())
			require.Contains(t, q.Machine, c.machine)
			require.Contains(t, q.Record, `"A/A.1"`)
			require.Empty(t, q.Suggested)
			o := r.answerWith(q, c.answer)
			if c.refused != "" {
				require.Equal(t, c.refused, o.Reason)
				return
			}
			require.Equal(t, message.Accepted, o.Code, "%+v\n%s", o, r.describe())
			r.line.Cut("marker", false)
			r.line.Interrupt("marker")
			if c.marks != nil {
				r.markedOnce()
				return
			}
			r.until("the order has ended", 10*time.Minute, func() bool { return r.ended("A") })
			require.Equal(t, 1, r.orderRow("A").Scrapped)
			require.Equal(t, r.line.Exit, r.line.At["A.1"])
		})
	}
}

// A mark that the marker says failed is asked about: whatever hindered it is still there.
func TestAFailedMarkIsAskedAbout(t *testing.T) {
	for word, marks := range map[string][]string{term.AnswerRetry: {"A/A.1"}, term.AnswerScrap: nil} {
		t.Run(word, func(t *testing.T) {
			r := onlyMarked(t, looptest.Refuses)
			r.until("asked", 10*time.Minute, func() bool { return len(r.loop.State().Questions()) == 1 })
			q := r.question(term.FindActionFailed, "job:A.1")
			require.Equal(t, []string{term.AnswerRetry, term.AnswerScrap}, words(q))
			require.Equal(t, message.Accepted, r.answerWith(q, word).Code)
			r.until("the order has ended", 10*time.Minute, func() bool { return r.ended("A") })
			require.Equal(t, marks, r.line.Marks["A.1"])
			require.Equal(t, len(marks), r.orderRow("A").Completed)
			r.truth()
		})
	}
}

// Half a mark cannot be taken back: what cannot be said as a whole is not sent, and a person is asked.
func TestACodeThatCannotBeMarked(t *testing.T) {
	for name, code := range map[string]string{"too long": strings.Repeat("x", 199), "no ASCII": "Ø10", "two lines": "A\nVOID 9"} {
		t.Run(name, func(t *testing.T) {
			r := newCellRig(t, withMarker(term.Step{Kind: term.StepScan, Group: "scanner"}, term.Step{Kind: term.StepMark, Group: "marker", Text: "X {code}"}))
			r.line.Code = func(string) string { return code }
			r.confirm()
			r.order("A", 1)
			r.until("asked", 10*time.Minute, func() bool { return len(r.loop.State().Questions()) == 1 })
			q := r.question(term.FindActionFailed, "job:A.1")
			require.Equal(t, message.Accepted, r.answerWith(q, term.AnswerScrap).Code)
			r.until("the order has ended", 10*time.Minute, func() bool { return r.ended("A") })
			require.Empty(t, r.line.Marks)
			require.Equal(t, 1, r.orderRow("A").Scrapped)
			r.truth()
		})
	}
}

// proves C-7 C-19: whatever goes wrong at the marker, with its link and with the process, in any order: each number is
// begun once, and each part leaves with its text on it once.
func TestAShiftOfMishapsAtTheMarker(t *testing.T) {
	seeds := uint64(60)
	if testing.Short() {
		seeds = 6
	}
	total := map[string]int{}
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			c := &chaos{cellRig: newCellRig(t, withMarker(term.Step{Kind: term.StepMark, Group: "marker"})), rand: rand.New(rand.NewPCG(seed, 2)),
				counts: total, cut: map[term.EquipmentID]bool{}}
			c.sparse = true
			c.line.Strike = func(p plant.Perform) looptest.Mishap {
				if p.Type != term.TaskMark || c.pick(2) {
					return looptest.Fine
				}
				m := looptest.Mishap(1 + c.rand.IntN(int(looptest.ArrivesLate)))
				total[fmt.Sprint("mishap ", m)]++
				return m
			}
			c.confirm()
			c.order("A", 4)
			c.until("the order has ended", 2*time.Hour, func() bool {
				if c.pick(25) {
					c.cut["marker"] = !c.cut["marker"]
					c.line.Cut("marker", c.cut["marker"])
					total["cut"]++
				}
				if c.pick(40) {
					c.crash()
					total["crash"]++
				}
				if c.pick(20) {
					c.line.Interrupt("marker")
				}
				if c.pick(3) {
					c.answer()
				}
				return c.ended("A")
			})
			c.truth()
			require.Equal(t, 4, c.orderRow("A").Completed)
			for n := 1; n <= 4; n++ {
				part := fmt.Sprintf("A.%d", n)
				require.Equal(t, []string{part}, c.line.Marks[part])
				require.Equal(t, c.line.Exit, c.line.At[part])
			}
		})
	}
	for m := looptest.Unsent; m <= looptest.ArrivesLate && !testing.Short(); m++ {
		require.Positive(t, total[fmt.Sprint("mishap ", m)], "mishap %d never struck", m)
	}
	for _, k := range slices.Sorted(maps(total)) {
		t.Logf("%6d %s", total[k], k)
	}
}
