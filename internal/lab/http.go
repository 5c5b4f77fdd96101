package lab

import (
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
)

// Handler lets faults be seen and switched: GET /faults, POST /faults/{id} with {"on": true}, and GET /world, which tells
// where everything really is. Errors are problem documents, as those of Surehand.
func (p *Plant) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /faults", func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusOK, p.Faults()) })
	mux.HandleFunc("POST /faults/{id}", p.setFault)
	mux.HandleFunc("GET /world", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = io.WriteString(w, p.World.Describe())
	})
	return sameMachine(http.NewCrossOriginProtection().Handler(mux))
}

// sameMachine refuses a request for any other name than this machine's own, as Surehand does: a web page that rebinds its
// own name to 127.0.0.1 must not reach the faults.
func sameMachine(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		at := url.URL{Host: r.Host}
		if ip := net.ParseIP(at.Hostname()); at.Hostname() != "localhost" && (ip == nil || !ip.IsLoopback()) {
			refuse(w, http.StatusMisdirectedRequest, "The faults answer to localhost only.")
			return
		}
		next.ServeHTTP(w, r)
	})
}

func (p *Plant) setFault(w http.ResponseWriter, r *http.Request) {
	var in struct {
		On *bool `json:"on"`
	}
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<10)).Decode(&in); err != nil || in.On == nil {
		refuse(w, http.StatusUnprocessableEntity, `The body must be {"on": true} or {"on": false}.`)
		return
	}
	switch err := p.Set(r.PathValue("id"), *in.On); {
	case errors.Is(err, ErrNoFault):
		refuse(w, http.StatusNotFound, err.Error())
	case err != nil:
		refuse(w, http.StatusConflict, err.Error())
	default:
		answer(w, http.StatusOK, p.Faults())
	}
}

func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

func refuse(w http.ResponseWriter, status int, detail string) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"title": http.StatusText(status), "status": status, "detail": detail})
}
