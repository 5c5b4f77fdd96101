package api

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
)

// The page stands behind the same guards as everything else, and beside the API, not over it.
func TestConsole(t *testing.T) {
	page := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "page "+r.URL.Path) })
	ask := func(o Options, method, target, host string) *httptest.ResponseRecorder {
		o.Health = func() Health { return Health{} }
		r := httptest.NewRequest(method, target, nil)
		r.Host = host
		w := httptest.NewRecorder()
		New(o).ServeHTTP(w, r)
		return w
	}
	with := Options{Console: page}
	for _, target := range []string{"/", "/assets/main.js"} {
		require.Equal(t, "page "+target, ask(with, http.MethodGet, target, "localhost").Body.String())
		require.Equal(t, http.StatusMisdirectedRequest, ask(with, http.MethodGet, target, "elsewhere.example").Code, "another host")
		require.Equal(t, http.StatusMethodNotAllowed, ask(with, http.MethodPost, target, "localhost").Code)
		require.Equal(t, http.StatusNotFound, ask(Options{}, http.MethodGet, target, "localhost").Code, "without a page nothing is there")
	}
	require.Equal(t, "application/problem+json", ask(with, http.MethodGet, "/api/v1/nothing", "localhost").Header().Get("Content-Type"))
}
