package api

import (
	"net/http"
	"unicode/utf8"

	"surehand/internal/message"
)

func (s *server) listRoutes(w http.ResponseWriter, r *http.Request) error {
	return whole(s, w, r, s.o.Reader.Routes, routeJSON)
}

// showPlant gives the plant file as it was imported.
func (s *server) showPlant(w http.ResponseWriter, r *http.Request) error {
	if err := queryOnly(r); err != nil {
		return err
	}
	c, err := s.o.Reader.Cell(r.Context())
	if err != nil {
		return err
	}
	s.answer(w, r, http.StatusOK, Plant{Name: c.Name, Revision: c.Revision, File: c.File})
	return nil
}

// importPlant applies a plant file (YAML) as a whole or not at all. With check=true it is only read: what a look at
// the file alone can find is told, and nothing is posted.
func (s *server) importPlant(w http.ResponseWriter, r *http.Request) error {
	q := queryOf(r, "check")
	onlyCheck := q.flag("check")
	if q.fault != nil {
		return q.fault
	}
	if s.o.ParsePlant == nil {
		return problem(http.StatusNotImplemented, "no_plant_files", "This server does not take plant files.")
	}
	data, _, err := body(w, r, maxImport, false, "application/yaml", "text/yaml")
	if err != nil {
		return err
	}
	if !utf8.Valid(data) {
		return problem(http.StatusBadRequest, "malformed", "The file is not UTF-8.")
	}
	in, problems := s.o.ParsePlant(data)
	if len(problems) > 0 {
		return faultsOfFile(problems)
	}
	if onlyCheck {
		s.answer(w, r, http.StatusOK, PlantCheck{Name: in.Cell.Name, Equipment: len(in.Equipment), Routes: len(in.Routes)})
		return nil
	}
	return s.change(w, r, in, Root+"/plant")
}

// faultsOfFile is the answer to a file that could not be read.
func faultsOfFile(problems []message.Problem) *Problem {
	p := problem(http.StatusUnprocessableEntity, "invalid", "The file has %d faults; nothing was applied.", len(problems))
	p.Problems = problems
	return p
}
