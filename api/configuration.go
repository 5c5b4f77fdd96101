package api

import (
	"context"
	"net/http"
	"slices"
	"unicode/utf8"

	"surehand/internal/dbstate/read"
	"surehand/internal/message"
	"surehand/internal/plant"
	"surehand/internal/term"
)

// whole answers a list that is short by nature.
func whole[R, T any](s *server, w http.ResponseWriter, r *http.Request, all func(context.Context) ([]R, error), one func(R) T) error {
	if err := queryOnly(r); err != nil {
		return err
	}
	rows, err := all(r.Context())
	if err != nil {
		return err
	}
	s.answer(w, r, http.StatusOK, List[T]{Items: convert(rows, one)})
	return nil
}

func (s *server) listOrganisations(w http.ResponseWriter, r *http.Request) error {
	return whole(s, w, r, s.o.Reader.Organisations, organisationJSON)
}

func (s *server) listFarms(w http.ResponseWriter, r *http.Request) error {
	return whole(s, w, r, s.o.Reader.Farms, farmJSON)
}

func (s *server) listProfiles(w http.ResponseWriter, r *http.Request) error {
	return whole(s, w, r, s.o.Reader.Profiles, profileJSON)
}

func (s *server) listHolds(w http.ResponseWriter, r *http.Request) error {
	return whole(s, w, r, s.o.Reader.Holds, holdJSON)
}

func (s *server) listRules(w http.ResponseWriter, r *http.Request) error {
	q := queryOf(r, "farm", "cursor", "limit")
	f := read.RuleFilter{Farm: term.FarmID(q.text("farm")), Cursor: q.text("cursor"), Limit: q.limit()}
	if q.fault != nil {
		return q.fault
	}
	page, err := s.o.Reader.Rules(r.Context(), f)
	if err != nil {
		return err
	}
	s.answer(w, r, http.StatusOK, listOf(page, ruleJSON))
	return nil
}

// importConfiguration applies a device configuration as a whole or not at all. It is YAML, as people keep it in
// a file, or the same as JSON.
func (s *server) importConfiguration(w http.ResponseWriter, r *http.Request) error {
	if err := queryOnly(r); err != nil {
		return err
	}
	types := []string{"application/json"}
	if s.o.ParseDevices != nil {
		types = []string{"application/yaml", "text/yaml", "application/json"}
	}
	data, mediaType, err := body(w, r, maxImport, false, types...)
	if err != nil {
		return err
	}
	var in message.ImportDevices
	if mediaType == "application/json" {
		if err := decode(data, &in); err != nil {
			return err
		}
	} else {
		if !utf8.Valid(data) {
			return problem(http.StatusBadRequest, "malformed", "The file is not UTF-8.")
		}
		var problems []message.Problem
		if in, problems = s.o.ParseDevices(data); len(problems) > 0 {
			return faultsOfFile(problems)
		}
	}
	return s.change(w, r, in, "")
}

// releasable holds end by a person's word alone. The others have a way of their own, which checks more: a recovery is
// confirmed, a pause resumed or released, equipment enabled.
var releasable = []term.HoldReason{term.HoldQuarantine, term.HoldParked}

func (s *server) releaseHold(w http.ResponseWriter, r *http.Request) error {
	var in ReleaseHoldRequest
	if err := s.readJSON(w, r, false, &in); err != nil {
		return err
	}
	if in.Subject == "" {
		return invalid("/subject", "say what is held, such as %s or %s", plant.DeviceSubject("ID"), plant.DevicesSubject)
	}
	if !slices.Contains(releasable, in.Hold) {
		return invalid("/hold", "none of: quarantine, parked")
	}
	if err := reasonGiven(in.Reason); err != nil {
		return err
	}
	return s.change(w, r, message.ReleaseHold{Subject: in.Subject, Hold: in.Hold, Reason: in.Reason}, Root+"/holds")
}
