package browser

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// tab is one page that is open in the browser.
type tab struct {
	t   testing.TB
	ctx context.Context

	mu     sync.Mutex
	faults []string // what its console said that it should not
	read   sync.WaitGroup
}

// open opens the page of a site and listens to its console from its first word on.
func (s *site) open(hash string) *tab {
	s.t.Helper()
	return s.openAt(s.Listen, hash)
}

// openAt opens the page at another address of the site.
func (s *site) openAt(address, hash string) *tab {
	s.t.Helper()
	if chrome.err != nil {
		s.t.Skip("NO BROWSER: ", chrome.err)
	}
	ctx, end := chromedp.NewContext(chrome.ctx)
	p := &tab{t: s.t, ctx: ctx}
	messages := chromedp.Console(ctx)
	p.read.Go(func() {
		for m, err := range messages {
			if err != nil {
				return
			}
			p.hear(m)
		}
	})
	s.t.Cleanup(func() {
		if s.t.Failed() {
			p.picture(strings.ReplaceAll(s.t.Name(), "/", "-"))
		}
		end()
		p.read.Wait()
		require.Empty(s.t, p.faults, "the page's console")
	})
	require.NoError(s.t, chromedp.Do(ctx, chromedp.EmulateViewport(1280, 800), chromedp.Navigate("http://"+address+"/#"+hash)))
	return p
}

// hear keeps what a page without a fault does not say. That a request failed is no fault of the page: services are
// killed here, and /lab/faults is asked for on purpose.
func (p *tab) hear(m chromedp.ConsoleMessage) {
	if m.Source == "network" {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.faults = append(p.faults, fmt.Sprintf("%s (%s:%d)", m, m.URL, m.Line))
}

// picture keeps what the page looked like when the test failed.
func (p *tab) picture(name string) {
	png, err := chromedp.Run(p.ctx, chromedp.CaptureScreenshot())
	if err != nil {
		p.t.Log("no picture of the page: ", err)
		return
	}
	file := filepath.Join(os.TempDir(), "surehand-page-"+name+".png")
	if err := os.WriteFile(file, png, 0o600); err == nil {
		p.t.Log("the page when it failed: ", file)
	}
}

// value evaluates an expression on the page.
func value[T any](p *tab, expression string) T {
	p.t.Helper()
	v, err := chromedp.Run(p.ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	require.NoError(p.t, err, expression)
	return v
}

// quote is a text as JavaScript takes it.
func quote(text string) string {
	b, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// until waits until an expression on the page is true.
func (p *tab) until(what, expression string) {
	p.t.Helper()
	until(p.t, what+": "+expression, func() bool { return value[bool](p, "Boolean("+expression+")") })
}

// sees waits until an element is there.
func (p *tab) sees(selector string) {
	p.t.Helper()
	p.until("the page has it", "document.querySelector("+quote(selector)+")")
}

// reads waits until an element shows a text.
func (p *tab) reads(selector, text string) {
	p.t.Helper()
	p.until("the page says it", "document.querySelector("+quote(selector)+")?.textContent.includes("+quote(text)+")")
}

func (p *tab) text(selector string) string {
	p.t.Helper()
	return value[string](p, "document.querySelector("+quote(selector)+")?.textContent ?? ''")
}

// goes follows a link of the page's own to a section.
func (p *tab) goes(hash string) {
	p.t.Helper()
	value[chromedp.Void](p, "void (location.hash = "+quote(hash)+")")
	section, _, _ := strings.Cut(hash, "/")
	p.sees(".section-" + section)
}

// taps taps a control by its words, as a finger does: where it is on the screen, and only when it works.
func (p *tab) taps(within, words string) {
	p.t.Helper()
	find := fmt.Sprintf(`[...document.querySelectorAll(%s)].find((b) => b.textContent.includes(%s) && !b.disabled)`, quote(within+" button, "+within+" a"), quote(words))
	p.until("the control works", find)
	// The mark lets one be found whose words are not of its own; it is taken off with the next tap.
	value[chromedp.Void](p, `void (document.querySelectorAll("[data-tap]").forEach((b) => b.removeAttribute("data-tap")), `+find+`.setAttribute("data-tap", ""))`)
	require.NoError(p.t, chromedp.Do(p.ctx, chromedp.Click(chromedp.CSS("[data-tap]"), chromedp.NodeVisible)))
}

// tapsTwice taps a control a second time before the page can have drawn what the first tap did.
func (p *tab) tapsTwice(within, words string) {
	p.t.Helper()
	find := fmt.Sprintf(`[...document.querySelectorAll(%s)].find((b) => b.textContent.includes(%s) && !b.disabled)`, quote(within+" button"), quote(words))
	p.until("the control works", find)
	value[chromedp.Void](p, `void ((b) => { b.click(); b.click(); })(`+find+`)`)
}

// types types into the first input within an element.
func (p *tab) types(within, text string) {
	p.t.Helper()
	require.NoError(p.t, chromedp.Do(p.ctx, chromedp.SendKeys(chromedp.CSS(within+" input"), text, chromedp.NodeVisible)))
}

// is waits for a state of the link.
func (p *tab) is(state string) {
	p.t.Helper()
	p.until("the link is "+state, "document.body.dataset.link === "+quote(state))
}

// live waits until the page is live and its controls work.
func (p *tab) live() {
	p.t.Helper()
	p.until("the page is live", `document.body.dataset.live === "true"`)
}

// dead demands what everything that is not live has to be: a banner, marked content, and no control that works.
func (p *tab) dead(words ...string) {
	p.t.Helper()
	p.until("nothing looks live", `document.body.dataset.live === "false" && document.querySelector("[data-banner]")`)
	banner := p.text("#banner")
	require.True(p.t, slices.ContainsFunc(words, func(w string) bool { return strings.Contains(banner, w) }), "the banner says %q, not one of %q", banner, words)
	require.Zero(p.t, value[int](p, `document.querySelectorAll("button.control:not(:disabled)").length`), "controls that work")
	require.Positive(p.t, value[int](p, `document.querySelectorAll("button.control:disabled").length`), "controls that are there")
	require.Contains(p.t, value[string](p, `getComputedStyle(document.querySelector("#main .section")).filter`), "grayscale(1)")
}
