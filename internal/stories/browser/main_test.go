package browser

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"surehand/internal/embedded"
	"surehand/internal/service/processtest"
)

// patience bounds every wait for something that must happen. It is for a loaded machine: nothing here waits for it to
// end.
const patience = 60 * time.Second

// chrome is the one browser of this test process; each test has a tab of its own.
var chrome struct {
	ctx    context.Context
	cancel []context.CancelFunc
	folder string
	err    error
}

func TestMain(m *testing.M) {
	code := run(m)
	os.Exit(code)
}

func run(m *testing.M) int {
	defer processtest.RemoveBinary()
	defer closeChrome()
	if chrome.err = openChrome(); chrome.err != nil {
		fmt.Fprintf(os.Stderr, "************************************************************************\n"+
			"*** NO BROWSER: the page is not tried: %v\n************************************************************************\n", chrome.err)
		if os.Getenv("CI") == "true" || !errors.Is(chrome.err, embedded.ErrNoChromium) {
			return 1
		}
	}
	return m.Run()
}

func openChrome() error {
	bringing, cancel := context.WithTimeout(context.Background(), 10*time.Minute) // a fresh machine installs it first
	defer cancel()
	program, err := embedded.Chromium(bringing, nil)
	if err != nil {
		return err
	}
	if chrome.folder, err = os.MkdirTemp("", "surehand-browser-"); err != nil {
		return err
	}
	flags := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(program.Path), chromedp.UserDataDir(chrome.folder), chromedp.Headless, chromedp.NoSandbox, chromedp.NoFirstRun, chromedp.DisableGPU,
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-component-update", true),
		chromedp.Flag("disable-sync", true), chromedp.WindowSize(1280, 800))
	ctx, end := chromedp.NewExecAllocator(context.Background(), flags...)
	chrome.cancel = append(chrome.cancel, end)
	if chrome.ctx, end = chromedp.NewContext(ctx); true {
		chrome.cancel = append(chrome.cancel, end)
	}
	return chromedp.Do(chrome.ctx) // starts it
}

func closeChrome() {
	for i := len(chrome.cancel) - 1; i >= 0; i-- {
		chrome.cancel[i]()
	}
	if chrome.folder != "" {
		_ = os.RemoveAll(chrome.folder)
	}
}

// until waits for a condition that is read from outside, such as a state over HTTP.
func until(t testing.TB, what string, met func() bool) {
	t.Helper()
	late := time.NewTimer(patience)
	defer late.Stop()
	look := time.NewTicker(25 * time.Millisecond)
	defer look.Stop()
	for !met() {
		select {
		case <-look.C:
		case <-late.C:
			require.FailNow(t, "not within "+patience.String()+": "+what)
		}
	}
}
