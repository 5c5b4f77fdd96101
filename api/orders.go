package api

import (
	"context"
	"net/http"
	"net/url"
	"slices"

	"github.com/go-chi/chi/v5"

	"surehand/internal/dbstate/read"
	"surehand/internal/message"
	"surehand/internal/plant"
	"surehand/internal/term"
)

// stops reads what stops anything: the holds, and every open question.
func (s *server) stops(ctx context.Context) (stops, error) {
	holds, err := s.o.Reader.Holds(ctx)
	if err != nil {
		return stops{}, err
	}
	questions, err := s.openQuestions(ctx)
	return newStops(holds, questions), err
}

// nameParam is the name in the path that a person chose.
func nameParam(r *http.Request) (string, error) {
	if id := chi.URLParam(r, "id"); term.ValidName(id) {
		return id, nil
	}
	return "", read.ErrNotFound
}

func orderPath(id term.OrderID) string { return Root + "/orders/" + url.PathEscape(string(id)) }

func (s *server) listOrders(w http.ResponseWriter, r *http.Request) error {
	q := queryOf(r, "state", "cursor", "limit")
	f := read.OrderFilter{States: words[term.OrderState](q, "state"), Cursor: q.text("cursor"), Limit: q.limit()}
	if q.fault != nil {
		return q.fault
	}
	page, err := s.o.Reader.Orders(r.Context(), f)
	if err != nil {
		return err
	}
	stops, err := s.stops(r.Context())
	if err != nil {
		return err
	}
	s.answer(w, r, http.StatusOK, listOf(page, stops.orderJSON))
	return nil
}

func (s *server) showOrder(w http.ResponseWriter, r *http.Request) error {
	id, err := nameParam(r)
	if err != nil {
		return err
	}
	o, err := s.o.Reader.Order(r.Context(), term.OrderID(id))
	if err != nil {
		return err
	}
	stops, err := s.stops(r.Context())
	if err != nil {
		return err
	}
	s.answer(w, r, http.StatusOK, stops.orderJSON(o))
	return nil
}

func (s *server) orderTimeline(w http.ResponseWriter, r *http.Request) error {
	id, err := nameParam(r)
	if err != nil {
		return err
	}
	items, err := s.o.Reader.OrderTimeline(r.Context(), term.OrderID(id))
	if err != nil {
		return err
	}
	s.answer(w, r, http.StatusOK, Timeline{Items: convert(items, timelineJSON)})
	return nil
}

// createOrder stores a draft. Whether its route exists is the loop's to say.
func (s *server) createOrder(w http.ResponseWriter, r *http.Request) error {
	var in OrderRequest
	if err := s.readJSON(w, r, false, &in); err != nil {
		return err
	}
	switch {
	case in.ID != "" && !term.ValidName(string(in.ID)):
		return invalid("/id", term.NoName, in.ID)
	case !term.ValidName(string(in.Route)):
		return invalid("/route", term.NoName, in.Route)
	case in.Quantity < 1 || in.Quantity > plant.MaxParts:
		return invalid("/quantity", "1 to %d parts", plant.MaxParts)
	case in.Priority < -maxPriority || in.Priority > maxPriority:
		return invalid("/priority", "-%d to %d; higher goes first", maxPriority, maxPriority)
	}
	if err := shortText("/product", in.Product); err != nil {
		return err
	}
	location := ""
	if in.ID != "" {
		location = orderPath(in.ID)
	}
	return s.change(w, r, message.CreateOrder{ID: in.ID, Product: in.Product, Route: in.Route, Quantity: in.Quantity, Priority: in.Priority}, location)
}

const maxPriority = 100

// reasonIn reads a body that has nothing but a reason, or has none.
func (s *server) reasonIn(w http.ResponseWriter, r *http.Request, needed bool) (string, error) {
	var in ReasonRequest
	if err := s.readJSON(w, r, !needed, &in); err != nil {
		return "", err
	}
	if needed {
		return in.Reason, reasonGiven(in.Reason)
	}
	return in.Reason, shortText("/reason", in.Reason)
}

// ofOrder posts a message about the order in the path, made from an optional reason.
func (s *server) ofOrder(says func(term.OrderID, string) message.Payload) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		id, err := nameParam(r)
		if err != nil {
			return err
		}
		reason, err := s.reasonIn(w, r, false)
		if err != nil {
			return err
		}
		return s.change(w, r, says(term.OrderID(id), reason), orderPath(term.OrderID(id)))
	}
}

func startOrder(id term.OrderID, _ string) message.Payload { return message.StartOrder{Order: id} }
func pauseOrder(id term.OrderID, why string) message.Payload {
	return message.PauseOrder{Order: id, Reason: why}
}
func resumeOrder(id term.OrderID, why string) message.Payload {
	return message.ResumeOrder{Order: id, Reason: why}
}

func (s *server) cancelOrder(w http.ResponseWriter, r *http.Request) error {
	id, err := nameParam(r)
	if err != nil {
		return err
	}
	var in CancelOrderRequest
	if err := s.readJSON(w, r, true, &in); err != nil {
		return err
	}
	if in.Inside != "" && !slices.Contains(in.Inside.Values(), string(in.Inside)) {
		return invalid("/inside", "retire or finish")
	}
	if err := shortText("/reason", in.Reason); err != nil {
		return err
	}
	return s.change(w, r, message.CancelOrder{Order: term.OrderID(id), Inside: in.Inside, Reason: in.Reason}, orderPath(term.OrderID(id)))
}

// palletArrived: parts 1 to quantity of a pallet stand at the dock, for the next parts of the order in the path.
func (s *server) palletArrived(w http.ResponseWriter, r *http.Request) error {
	id, err := nameParam(r)
	if err != nil {
		return err
	}
	var in PalletRequest
	if err := s.readJSON(w, r, false, &in); err != nil {
		return err
	}
	switch {
	case !term.ValidName(string(in.Pallet)):
		return invalid("/pallet", term.NoName, in.Pallet)
	case in.Quantity < 1 || in.Quantity > plant.MaxPlaces:
		return invalid("/quantity", "1 to %d parts", plant.MaxPlaces)
	}
	return s.change(w, r, message.PalletArrived{Pallet: in.Pallet, Order: term.OrderID(id), Quantity: in.Quantity}, Root+"/cell")
}

func (s *server) palletLeft(w http.ResponseWriter, r *http.Request) error {
	id, err := nameParam(r)
	if err != nil {
		return err
	}
	if err := s.readJSON(w, r, true, &struct{}{}); err != nil {
		return err
	}
	return s.change(w, r, message.PalletLeft{Pallet: term.PalletID(id)}, Root+"/cell")
}
