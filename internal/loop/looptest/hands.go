package looptest

import (
	"slices"
	"sync"

	"surehand/internal/loop"
	"surehand/internal/message"
	"surehand/internal/plant"
	"surehand/internal/term"
)

// Hands records every action that was handed out. A scripted action gets its result at once, which waits in
// Results until the test or the simulation posts it; one that is not scripted is never answered.
type Hands struct {
	mu      sync.Mutex
	started []plant.Action
	taken   int
	script  []term.AttemptOutcome
	results []message.AttemptEnded
}

// Feed records what was shown.
type Feed struct {
	mu    sync.Mutex
	shown []plant.Committed
}

var (
	_ loop.Hands = (*Hands)(nil)
	_ loop.Feed  = (*Feed)(nil)
)

// Script queues the outcomes of the next publishes, one each. term.AttemptOpen stands for no answer.
func (h *Hands) Script(outcomes ...term.AttemptOutcome) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.script = append(h.script, outcomes...)
}

// Start records an action and makes its scripted result.
func (h *Hands) Start(a plant.Action) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.started = append(h.started, a)
	p, ok := a.(plant.Publish)
	if !ok || len(h.script) == 0 {
		return
	}
	outcome := h.script[0]
	h.script = h.script[1:]
	if outcome == term.AttemptOpen {
		return
	}
	why := ""
	if outcome != term.AttemptSent {
		why = "scripted"
	}
	h.results = append(h.results, message.AttemptEnded{AttemptID: p.AttemptID, IntentID: p.IntentID, Outcome: outcome, Error: why})
}

// Started is every action handed out so far.
func (h *Hands) Started() []plant.Action {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.started)
}

// Take is what was handed out since the last Take.
func (h *Hands) Take() []plant.Action {
	h.mu.Lock()
	defer h.mu.Unlock()
	fresh := slices.Clone(h.started[h.taken:])
	h.taken = len(h.started)
	return fresh
}

// Results hands over the scripted results that are not yet taken.
func (h *Hands) Results() []message.AttemptEnded {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := h.results
	h.results = nil
	return out
}

// Show records what was committed.
func (f *Feed) Show(c plant.Committed) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.shown = append(f.shown, c)
}

// Shown is everything shown so far.
func (f *Feed) Shown() []plant.Committed {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.shown)
}
