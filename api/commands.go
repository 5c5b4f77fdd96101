package api

import (
	"net/http"
	"net/url"
	"slices"

	"github.com/go-chi/chi/v5"

	"surehand/internal/dbstate/read"
	"surehand/internal/message"
	"surehand/internal/term"
)

func (s *server) listCommands(w http.ResponseWriter, r *http.Request) error {
	q := queryOf(r, "state", "device", "endpoint", "rule", "farm", "holding", "cursor", "limit")
	f := read.CommandFilter{States: words[term.CommandState](q, "state"), Device: term.DeviceID(q.text("device")), Endpoint: term.EndpointID(q.text("endpoint")),
		Rule: term.RuleID(q.text("rule")), Farm: term.FarmID(q.text("farm")), OnlyHolding: q.flag("holding"), Cursor: q.text("cursor"), Limit: q.limit()}
	if q.fault != nil {
		return q.fault
	}
	page, err := s.o.Reader.Commands(r.Context(), f)
	if err != nil {
		return err
	}
	s.answer(w, r, http.StatusOK, listOf(page, commandJSON))
	return nil
}

// uuidParam is the id in the path.
func uuidParam(r *http.Request) (string, error) {
	if id := chi.URLParam(r, "id"); uuid(id) {
		return id, nil
	}
	return "", read.ErrNotFound
}

func (s *server) showCommand(w http.ResponseWriter, r *http.Request) error {
	id, err := uuidParam(r)
	if err != nil {
		return err
	}
	command, err := s.o.Reader.Command(r.Context(), term.IntentID(id))
	if err != nil {
		return err
	}
	s.answer(w, r, http.StatusOK, commandJSON(command))
	return nil
}

func (s *server) commandTimeline(w http.ResponseWriter, r *http.Request) error {
	id, err := uuidParam(r)
	if err != nil {
		return err
	}
	items, err := s.o.Reader.CommandTimeline(r.Context(), term.IntentID(id))
	if err != nil {
		return err
	}
	s.answer(w, r, http.StatusOK, CommandTimeline{Items: convert(items, timelineJSON)})
	return nil
}

// sendCommand is a hand command. Whether the value fits the endpoint is the loop's to say.
func (s *server) sendCommand(w http.ResponseWriter, r *http.Request) error {
	var in CommandRequest
	if err := s.readJSON(w, r, false, &in); err != nil {
		return err
	}
	if in.Endpoint == "" {
		return invalid("/endpoint", "say which endpoint, as device/key")
	}
	value, err := term.ParseValue(string(in.Value))
	if err != nil || value.IsZero() {
		return invalid("/value", "true, false, a number or a text")
	}
	if err := shortText("/reason", in.Reason); err != nil {
		return err
	}
	return s.change(w, r, message.SendCommand{Endpoint: in.Endpoint, Value: value, Reason: in.Reason, Reassert: in.Reassert}, "")
}

func (s *server) cancelCommand(w http.ResponseWriter, r *http.Request) error {
	id, err := uuidParam(r)
	if err != nil {
		return err
	}
	reason, err := s.reasonIn(w, r, false)
	if err != nil {
		return err
	}
	return s.change(w, r, message.CancelCommand{IntentID: term.IntentID(id), Reason: reason}, commandPath(term.IntentID(id)))
}

// verdicts are what a person may say of a command that is uncertain.
var verdicts = []term.Verdict{term.VerdictApplied, term.VerdictFailed}

func (s *server) judgeCommand(w http.ResponseWriter, r *http.Request) error {
	id, err := uuidParam(r)
	if err != nil {
		return err
	}
	var in VerdictRequest
	if err := s.readJSON(w, r, false, &in); err != nil {
		return err
	}
	if !slices.Contains(verdicts, in.Verdict) {
		return invalid("/verdict", "applied or failed")
	}
	if err := reasonGiven(in.Reason); err != nil {
		return err
	}
	return s.change(w, r, message.JudgeCommand{IntentID: term.IntentID(id), Verdict: in.Verdict, Reason: in.Reason}, commandPath(term.IntentID(id)))
}

func commandPath(id term.IntentID) string { return Root + "/commands/" + url.PathEscape(string(id)) }

// readJSON reads the body of a write. Everything that is said stands in the body: a parameter in the address would be
// passed over without a word, and an order cancelled by another rule than the person named.
func (s *server) readJSON(w http.ResponseWriter, r *http.Request, allowEmpty bool, into any) error {
	if err := queryOnly(r); err != nil {
		return err
	}
	data, _, err := body(w, r, maxBody, allowEmpty, "application/json")
	if err != nil || len(data) == 0 && allowEmpty {
		return err
	}
	return decode(data, into)
}

// maxReason bounds a reason, which stays in the record for ever.
const maxReason = 1000

func shortText(at, text string) error {
	if len(text) > maxReason {
		return invalid(at, "%d bytes at most", maxReason)
	}
	return nil
}

func reasonGiven(reason string) error {
	if reason == "" {
		return invalid("/reason", "say how you know; it stays in the record")
	}
	return shortText("/reason", reason)
}
