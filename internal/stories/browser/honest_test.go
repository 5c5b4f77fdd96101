package browser

import (
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"surehand/internal/simulator/line"
)

// The service is killed in the middle of a move and started again. The page says that it is lost, comes back without
// being loaded again, shows the question, and the order goes on after it was answered by tapping alone.
func TestKilledInTheMiddleOfAMove(t *testing.T) {
	s := newSite(t)
	p := s.open("cell")
	p.live()
	value[chromedp.Void](p, `void (window.loadedOnce = true)`)
	s.plant.Robot().SetFaults(line.RobotFaults{StickAfterPick: 1, Strikes: 1})
	s.begin("WO-1", 2)
	until(t, "the robot holds the part", s.plant.Robot().Stuck)
	p.reads("[data-equipment='robot'] .move", "WO-1.1")

	s.Kill()
	p.is("lost")
	p.dead("LOST")

	s.plant.Robot().Free() // the plant goes on by itself: the part arrives, and nobody has told the record
	s.start(s.Listen)
	p.is("live")
	p.live()
	require.True(t, value[bool](p, `window.loadedOnce === true`), "the page was loaded again")
	p.reads("#life", "2")
	p.reads("#open-questions", "1 question")
	p.reads(".recovery", "must be answered")

	p.taps("#header", "1 question")
	p.sees("[data-kind='action_unknown']")
	require.Zero(t, value[int](p, `document.querySelectorAll(".answer.pressed").length`), "nothing is chosen before a person does")
	p.reads("[data-answer='done']", "what the evidence speaks for")
	p.taps("[data-answer='done']", "It happened")
	require.True(t, value[bool](p, `document.querySelector(".confirmation .main").disabled`), "a reason is needed first")
	p.taps(".confirmation .choices", "I looked")
	p.taps(".confirmation", "Confirm: It happened")
	p.reads("#open-questions", "0 questions")

	p.goes("cell")
	p.taps(".recovery", "Confirm recovery")
	p.taps("#sheet .choices", "I looked at every machine")
	p.taps("#sheet .buttons", "Confirm recovery")
	p.until("nothing holds the cell", `!document.querySelector("[data-hold='recovery']")`)
	p.until("the order is completed", `document.querySelector("[data-place='OUT:exit'] .big")?.textContent === "2 of 2"`)
	require.Equal(t, 2, s.completed("WO-1"))
	require.Empty(t, s.plant.Truth().Violations)
}

// The connection stands and the service does not move: nothing tells the page but silence. What is tapped then is not
// sent, not even when the service comes back.
func TestFrozenServiceIsStaleAndNothingTappedIsSent(t *testing.T) {
	s := newSite(t)
	p := s.open("cell")
	p.live()
	p.sees(".controls .control")
	s.Pause()
	p.is("stale")
	p.dead("STALE")

	// A finger on the button, a script on it, and the page's own way of sending: nothing leaves.
	value[chromedp.Void](p, `void [...document.querySelectorAll("button.control")].forEach((b) => { b.click(); b.dispatchEvent(new MouseEvent("click", {bubbles: true})); })`)
	require.False(t, value[bool](p, `document.getElementById("sheet").open`))
	require.Equal(t, "not_sent", value[string](p, `import("/assets/requests.js").then((r) => r.send("/cell/pause", {reason: "tapped while stale"})).then((o) => o.kind)`))

	s.Resume()
	p.is("live")
	p.live()
	require.Zero(t, s.logged("PauseCell"), "what was tapped while stale was sent")
	p.taps(".controls", "Pause cell")
	p.taps("#sheet", "Pause cell")
	p.sees("[data-hold='paused']")
	require.Equal(t, 1, s.logged("PauseCell"))
}

// A sheet that was opened while the page was live cannot be confirmed once it is not, and keeps what was typed.
func TestASheetThatIsOpenWhenThePageGoesStale(t *testing.T) {
	s := newSite(t)
	p := s.open("cell")
	p.live()
	p.taps(".controls", "Pause cell")
	p.types("#sheet", "before the silence")
	s.Pause()
	p.is("stale")
	p.until("it cannot be confirmed", `document.querySelector("#sheet .main").disabled`)
	value[chromedp.Void](p, `void document.querySelector("#sheet .main").click()`)
	s.Resume()
	p.live()
	require.Zero(t, s.logged("PauseCell"))
	require.Equal(t, "before the silence", value[string](p, `document.querySelector("#sheet input").value`))
	p.taps("#sheet", "Pause cell")
	p.reads("[data-hold='paused']", "before the silence")
	require.Equal(t, 1, s.logged("PauseCell"))
}

// HTTP answers and the stream beats, but nothing can be decided.
func TestDatabaseAway(t *testing.T) {
	s := newSite(t)
	p := s.open("cell")
	p.live()
	p.sees(".controls .control")
	s.accepts("/cell/pause", "application/json", `{"reason":"so that something has an age"}`)
	p.sees(".hold[data-hold='paused']")
	s.database.Refuse(true)
	s.database.Cut()
	p.until("the page says it", `document.querySelector("#database").dataset.state === "away"`)
	p.dead("DATABASE AWAY")
	age := p.text(".hold[data-hold='paused']")
	p.until("time has passed", `/\(([3-9]|\d\d) s\)/.test(document.querySelector("#banner").textContent)`)
	require.Equal(t, age, p.text(".hold[data-hold='paused']"), "what is not live does not grow older: it would look alive")
	s.database.Refuse(false)
	p.live()
	require.Equal(t, "live", value[string](p, `document.body.dataset.link`))
	p.until("the banner is gone", `!document.querySelector("[data-banner]")`)
}
