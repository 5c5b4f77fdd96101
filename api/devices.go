package api

import (
	"net/http"

	"github.com/go-chi/chi/v5"

	"surehand/internal/dbstate/read"
	"surehand/internal/plant"
	"surehand/internal/term"
)

// deviceParam is the device in the path.
func deviceParam(r *http.Request) (term.DeviceID, error) {
	if id := chi.URLParam(r, "id"); term.ValidName(id) {
		return term.DeviceID(id), nil
	}
	return "", read.ErrNotFound
}

func (s *server) listDevices(w http.ResponseWriter, r *http.Request) error {
	q := queryOf(r, "farm", "profile", "status", "search", "cursor", "limit")
	f := read.DeviceFilter{Farm: term.FarmID(q.text("farm")), Profile: term.ProfileID(q.text("profile")), Status: word[term.DeviceStatus](q, "status"),
		Search: q.text("search"), Cursor: q.text("cursor"), Limit: q.limit()}
	if q.fault != nil {
		return q.fault
	}
	page, err := s.o.Reader.Devices(r.Context(), f)
	if err != nil {
		return err
	}
	s.answer(w, r, http.StatusOK, listOf(page, deviceJSON))
	return nil
}

// showDevice shows a device with its endpoints, what was last observed of each, and what holds it.
func (s *server) showDevice(w http.ResponseWriter, r *http.Request) error {
	ctx := r.Context()
	id, err := deviceParam(r)
	if err != nil {
		return err
	}
	d, err := s.o.Reader.Device(ctx, id)
	if err != nil {
		return err
	}
	profile, err := s.o.Reader.Profile(ctx, d.ProfileID)
	if err != nil {
		return err
	}
	endpoints, err := s.o.Reader.EndpointsOf(ctx, id)
	if err != nil {
		return err
	}
	holding, err := s.o.Reader.Commands(ctx, read.CommandFilter{Device: id, OnlyHolding: true, Limit: maxLimit})
	if err != nil {
		return err
	}
	holds, err := s.o.Reader.Holds(ctx)
	if err != nil {
		return err
	}
	holders := map[term.EndpointID]*plant.Intent{}
	for _, i := range holding.Items {
		holders[i.EndpointID] = i
	}
	detail := DeviceDetail{Device: deviceJSON(d), Holds: []Hold{}, Endpoints: convert(endpoints, func(e *plant.Endpoint) Endpoint {
		return endpointJSON(e, profile, holders[e.ID])
	})}
	for _, h := range holds {
		if h.Subject == plant.DeviceSubject(id) || h.Subject == plant.DevicesSubject {
			detail.Holds = append(detail.Holds, holdJSON(h))
		}
	}
	s.answer(w, r, http.StatusOK, detail)
	return nil
}

func (s *server) deviceEvents(w http.ResponseWriter, r *http.Request) error {
	id, err := deviceParam(r)
	if err != nil {
		return err
	}
	return s.events(w, r, queryOf(r, "endpoint", "status", "from", "to", "cursor", "limit"), id)
}

func (s *server) listEvents(w http.ResponseWriter, r *http.Request) error {
	q := queryOf(r, "device", "endpoint", "status", "from", "to", "cursor", "limit")
	return s.events(w, r, q, term.DeviceID(q.text("device")))
}

func (s *server) events(w http.ResponseWriter, r *http.Request, q *query, device term.DeviceID) error {
	f := read.EventFilter{Device: device, Endpoint: term.EndpointID(q.text("endpoint")), Status: word[term.EventStatus](q, "status"),
		From: q.time("from"), To: q.time("to"), Now: s.o.Now(), Cursor: q.text("cursor"), Limit: q.limit()}
	if q.fault != nil {
		return q.fault
	}
	page, err := s.o.Reader.Events(r.Context(), f)
	if err != nil {
		return err
	}
	s.answer(w, r, http.StatusOK, listOf(page, eventJSON))
	return nil
}
