package api

import (
	"context"
	"net/http"
	"time"

	"surehand/internal/dbstate/read"
	"surehand/internal/message"
	"surehand/internal/plant"
)

// turnsWithin is how recent a turn of the loop has to be; it turns each second at least.
const turnsWithin = 5 * time.Second

// pingWithin bounds the question whether the database answers.
const pingWithin = 2 * time.Second

func (s *server) turning(h Health) bool { return h.Opened && s.o.Now().Sub(h.LastTurn) <= turnsWithin }

// healthz: the loop is alive, be it that it waits for the database. A process that fails this should be ended.
func (s *server) healthz(w http.ResponseWriter, r *http.Request) {
	h := s.o.Health()
	status := http.StatusOK
	if s.o.Now().Sub(h.LastTurn) > turnsWithin {
		status = http.StatusServiceUnavailable
	}
	s.answer(w, r, status, Liveness{OK: status == http.StatusOK, LastTurn: plant.Micros(h.LastTurn)})
}

// readyz: everything is there to decide and to write. A process that fails this should be waited for. A lost broker
// does not make it unready: people are answered, and commands wait; /system and the stream show the links.
func (s *server) readyz(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), pingWithin)
	defer cancel()
	h := s.o.Health()
	out := Readiness{Writing: !h.DatabaseAway, Loop: h.Opened, Turning: s.turning(h), Epoch: h.Epoch}
	if err := s.o.Reader.Ping(ctx); err != nil {
		s.log.Warn("the database cannot be read", "requestId", requestID(r), "error", err)
	} else {
		out.Database = true
	}
	out.Ready = out.Database && out.Writing && out.Loop && out.Turning
	status := http.StatusOK
	if !out.Ready {
		status = http.StatusServiceUnavailable
	}
	s.answer(w, r, status, out)
}

// system is shown also while the database is away: then most of all.
func (s *server) system(w http.ResponseWriter, r *http.Request) error {
	if err := queryOnly(r); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(r.Context(), pingWithin)
	defer cancel()
	h := s.o.Health()
	out := System{Version: s.o.Version, Epoch: h.Epoch, LastTurn: plant.Micros(h.LastTurn), Inbox: h.Inbox, Links: s.o.Hub.Links(),
		Streams: s.o.Hub.Clients(), Database: "ok"}
	fence, err := s.o.Reader.Fence(ctx)
	switch {
	case err != nil:
		s.log.Warn("the database cannot be read", "requestId", requestID(r), "error", err)
		out.Database = "unreachable"
	case h.DatabaseAway:
		out.Database = "away"
	}
	out.Generation, out.Seq = fence.Generation, fence.Seq
	s.answer(w, r, http.StatusOK, out)
	return nil
}

func (s *server) stop(w http.ResponseWriter, r *http.Request) error {
	var in StopRequest
	if err := s.readJSON(w, r, true, &in); err != nil {
		return err
	}
	return s.change(w, r, message.StopRequested{Drain: in.Drain}, Root+"/system")
}

func (s *server) listLog(w http.ResponseWriter, r *http.Request) error {
	q := queryOf(r, "subject", "type", "outcome", "actor", "cursor", "limit")
	f := read.LogFilter{Subject: q.text("subject"), Type: q.text("type"), Outcome: q.text("outcome"), Actor: q.text("actor"),
		Cursor: q.text("cursor"), Limit: q.limit()}
	if q.fault != nil {
		return q.fault
	}
	page, err := s.o.Reader.LogPage(r.Context(), f)
	if err != nil {
		return err
	}
	s.answer(w, r, http.StatusOK, listOf(page, entryJSON))
	return nil
}

func (s *server) listParked(w http.ResponseWriter, r *http.Request) error {
	q := queryOf(r, "cursor", "limit")
	limit := q.limit()
	if q.fault != nil {
		return q.fault
	}
	page, err := s.o.Reader.Parked(r.Context(), q.text("cursor"), limit)
	if err != nil {
		return err
	}
	s.answer(w, r, http.StatusOK, listOf(page, parkedJSON))
	return nil
}
