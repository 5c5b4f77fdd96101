package api

import (
	"context"
	"crypto/rand"
	"net"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"
)

type contextKey int

const requestIDKey contextKey = iota

func requestID(r *http.Request) string {
	id, _ := r.Context().Value(requestIDKey).(string)
	return id
}

// identify gives every request an id of our own making: one from outside could forge lines in a log.
func identify(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := rand.Text()
		w.Header().Set("X-Request-Id", id)
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), requestIDKey, id)))
	})
}

// harden sets what every answer carries: JSON is never sniffed, framed or kept.
func harden(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "no-referrer")
		next.ServeHTTP(w, r)
	})
}

// survive turns a panic of one request into one failed request.
func (s *server) survive(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			p := recover()
			if p == nil {
				return
			}
			if p == http.ErrAbortHandler {
				panic(p)
			}
			s.log.Error("a request panicked", "requestId", requestID(r), "method", r.Method, "path", r.URL.Path, "panic", p, "stack", string(debug.Stack()))
			s.fail(w, r, problem(http.StatusInternalServerError, "internal", "Something went wrong here. The log has it under the request id."))
		}()
		next.ServeHTTP(w, r)
	})
}

// sameMachine refuses a request for any other name than this machine's own: without users yet, a web page that
// rebinds its own name to 127.0.0.1 must not reach us.
func (s *server) sameMachine(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !s.knownHost(r.Host) {
			s.fail(w, r, problem(http.StatusMisdirectedRequest, "unknown_host", "This server answers to localhost only. Open it as http://localhost or http://127.0.0.1."))
			return
		}
		next.ServeHTTP(w, r)
	})
}

func (s *server) knownHost(host string) bool {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	name = strings.ToLower(strings.TrimSuffix(strings.TrimSuffix(strings.TrimPrefix(name, "["), "]"), "."))
	if name == "localhost" || slices.Contains(s.o.Hosts, name) {
		return true
	}
	ip := net.ParseIP(name)
	return ip != nil && ip.IsLoopback()
}

// sameSite refuses writes that a browser makes for another site's page.
func (s *server) sameSite(next http.Handler) http.Handler {
	protection := http.NewCrossOriginProtection()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := protection.Check(r); err != nil {
			p := problem(http.StatusForbidden, "cross_origin", "A page of another site may not write here.")
			p.cause = err
			s.fail(w, r, p)
			return
		}
		next.ServeHTTP(w, r)
	})
}
