package browser

import (
	"testing"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"surehand/internal/simulator/line"
)

// doubt leaves one question: the process died while the robot was stuck with a part in its gripper, and still is.
func (s *site) doubt(t *testing.T) *tab {
	t.Helper()
	s.plant.Robot().SetFaults(line.RobotFaults{StickAfterPick: 1, Strikes: 1})
	s.begin("WO-1", 1)
	until(t, "the robot holds the part", s.plant.Robot().Stuck)
	s.Kill()
	s.start(s.Listen)
	p := s.open("questions")
	p.live()
	p.sees("[data-kind='action_unknown']")
	return p
}

// The question changes between choosing and confirming: what was chosen is void, the reason is kept.
func TestAQuestionThatChangesIsAskedAgain(t *testing.T) {
	s := newSite(t)
	p := s.doubt(t)
	p.taps("[data-answer='removed']", "taken out")
	p.types(".confirmation", "it is on the bench")
	s.plant.Robot().Free() // it puts the part where it was to go
	p.reads("[data-kind='action_unknown']", "has changed since you looked")
	p.sees("[data-answer='done']")
	require.Zero(t, value[int](p, `document.querySelectorAll(".answer.pressed").length`))
	p.taps("[data-answer='done']", "It happened")
	require.Equal(t, "it is on the bench", value[string](p, `document.querySelector(".confirmation input").value`), "the reason is kept")
	require.Zero(t, s.logged("ResolveManualAction"), "nothing was answered")
}

// The page has not heard of the change yet: the service refuses the answer (409) and sends the question as it is now.
func TestAnAnswerToAnOldQuestionIsRefusedWithTheNewOne(t *testing.T) {
	s := newSite(t)
	p := s.doubt(t)
	require.NotContains(t, p.text("[data-kind='action_unknown']"), "It happened")
	p.taps("[data-answer='removed']", "taken out")
	p.types(".confirmation", "it is on the bench")
	// From here on the page cannot read what is open; what it writes goes through.
	_, err := chromedp.Call(p.ctx, network.Enable, network.EnableParams{})
	require.NoError(t, err)
	block(t, p, true)
	s.plant.Robot().Free()
	until(t, "the question has changed", func() bool {
		var recovery struct {
			Findings []struct{ Answers []struct{ Word string } }
		}
		s.JSON("/api/v1/recovery", &recovery)
		return len(recovery.Findings) == 1 && len(recovery.Findings[0].Answers) > 0 && recovery.Findings[0].Answers[0].Word == "done"
	})
	p.taps(".confirmation", "Confirm: The part was taken out")
	p.reads("#notices [data-outcome='refused']", "Refused")
	p.reads("[data-kind='action_unknown']", "has changed since you looked")
	p.sees("[data-answer='done']")
	p.taps("[data-answer='done']", "It happened")
	require.Equal(t, "it is on the bench", value[string](p, `document.querySelector(".confirmation input").value`), "the reason is kept")
	block(t, p, false)
	p.taps(".confirmation", "Confirm: It happened")
	p.reads("#open-questions", "0 questions")
}

// A part failed its inspection: a person says what it is, and it goes on or out.
func TestAPartThatFailedIsJudged(t *testing.T) {
	s := newSite(t)
	p := s.open("questions")
	p.live()
	s.plant.Machine("mill").SetFaults(line.MachineFaults{FailPart: 1, Strikes: 2})
	s.begin("WO-1", 2)
	for _, one := range []struct{ answer, words string }{{"good", "The part is good"}, {"scrap", "Scrap the part"}} {
		p.sees("[data-kind='judgement']")
		p.reads("[data-kind='judgement'] h2", "failed its inspection")
		id := value[string](p, `document.querySelector("[data-kind='judgement']").dataset.question`)
		card := "[data-question='" + id + "']"
		p.taps(card+" [data-answer='"+one.answer+"']", one.words)
		p.taps(card+" .confirmation .choices", "I looked")
		p.taps(card+" .confirmation", "Confirm: "+one.words)
		p.until("it is answered", `!document.querySelector(`+quote(card)+`)`)
	}
	p.goes("orders/WO-1")
	p.reads("[data-order='WO-1']", "1 good of 2 · 1 scrap")
}

// block lets the browser refuse what is open, or no more, as a network does that loses some of what passes.
func block(t *testing.T, p *tab, refused bool) {
	t.Helper()
	_, err := chromedp.Call(p.ctx, network.SetBlockedURLs, network.SetBlockedURLsParams{URLPatterns: []*network.BlockPattern{{URLPattern: "http://*:*/api/v1/recovery", Block: refused}}})
	require.NoError(t, err)
}
