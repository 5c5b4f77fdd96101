package browser

import (
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"surehand/internal/lab"
	"surehand/internal/message"
)

// The demo's panel: a fault is switched on the page, and back, also while the service cannot decide. One that ends the
// service has no answer, and is not offered again: the plant knows no keys, it would happen twice.
func TestTheLabPanel(t *testing.T) {
	s := newSite(t)
	plant, err := lab.Start(lab.Options{Speed: 1, Line: &message.ImportPlant{}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, plant.Close()) })
	plant.Add(lab.Fault{ID: "cut:database", Group: "Database", Label: "Cannot be reached", Kind: lab.Switch}, func(on bool) error {
		s.database.Refuse(on)
		if on {
			s.database.Cut()
		}
		return nil
	})
	var kills atomic.Int32
	plant.Add(lab.Fault{ID: "kill:surehand", Group: "Surehand", Label: "kill -9", Kind: lab.Once}, func(bool) error {
		kills.Add(1)
		s.Kill()
		return nil
	})
	demo := httptest.NewServer(withLab(s, plant))
	t.Cleanup(demo.Close)

	p := s.openAt(strings.TrimPrefix(demo.URL, "http://"), "lab")
	p.live()
	p.taps("[data-fault='cut:database']", "Switch on")
	p.until("the page says it", `document.querySelector("#database").dataset.state === "away"`)
	p.reads("#banner", "Only the switches of this panel work")
	p.sees("[data-fault='cut:database'][data-on='true']")
	p.goes("cell")
	p.dead("DATABASE AWAY")
	p.goes("lab")
	p.taps("[data-fault='cut:database']", "Switch off")
	p.live()
	p.sees("[data-fault='cut:database'][data-on='false']")

	p.tapsTwice("[data-fault='kill:surehand']", "Do it once")
	p.is("lost")
	p.sees("#notices [data-outcome='unknown'], #notices [data-outcome='refused'], #notices [data-outcome='accepted']")
	require.NotContains(t, p.text("#notices"), "Ask what became of it")
	s.start(s.Listen)
	p.live()
	require.EqualValues(t, 1, kills.Load())
}

// withLab is what the demo's Surehand shows: the product, with the plant's faults below /lab.
func withLab(s *site, plant *lab.Plant) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/lab/", http.StripPrefix("/lab", plant.Handler()))
	mux.Handle("/", &httputil.ReverseProxy{ErrorLog: log.New(io.Discard, "", 0), Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(&url.URL{Scheme: "http", Host: s.Listen}) }})
	return mux
}
