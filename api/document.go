package api

import (
	_ "embed"
	"net/http"
)

// openapi describes every route (OpenAPI 3.1). It is written by document_test.go from the JSON types of this package
// and a table of operations, and every test of this package holds requests and answers against it.
//
//go:generate go test -count=1 -run ^TestDocument$ . -update
//go:embed openapi.json
var openapi []byte

// document tells what the interface is. It is part of the program, so it is shown also while nothing else works.
func (s *server) document(w http.ResponseWriter, r *http.Request) error {
	if err := queryOnly(r); err != nil {
		return err
	}
	s.send(w, r, http.StatusOK, "application/json", openapi)
	return nil
}
