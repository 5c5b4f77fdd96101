package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"
)

// asked holds the request against the document: what the document calls a fault must not be taken, and what it calls
// right must not be refused for its form.
func (x *exchange) asked() {
	if x.operation == nil {
		return
	}
	err := x.wellFormed()
	taken := x.status < http.StatusMultipleChoices
	switch {
	case taken && err != nil:
		x.fault("was taken, and the document calls it a fault: %v\n%s", err, x.body.Bytes())
	case !taken && err == nil && x.refusedForItsForm():
		x.fault("was refused, and the document calls it right: %d %s\n%s", x.status, x.answer.Bytes(), x.body.Bytes())
	}
}

// beyondForm are faults that no schema can tell, by where the answer points to.
var beyondForm = map[string]string{
	"?cursor": "a cursor is of the list that made it",
	"/for":    "the length of a duration is not seen in its text",
}

// refusedForItsForm tells whether the handler itself found a fault, and not the loop or the reader of a file.
func (x *exchange) refusedForItsForm() bool {
	switch x.status {
	case http.StatusBadRequest, http.StatusUnsupportedMediaType:
		return true
	case http.StatusUnprocessableEntity:
	default:
		return false
	}
	if x.Header().Get(keyHeader) != "" {
		return false // it was posted: the loop looks at what things there are
	}
	var p Problem
	if json.Unmarshal(x.answer.Bytes(), &p) != nil || len(p.Problems) == 0 {
		return true
	}
	_, beyond := beyondForm[p.Problems[0].Pointer]
	return !beyond && p.Problems[0].Line == 0
}

func (x *exchange) wellFormed() error {
	known := []string{}
	list, _ := x.operation["parameters"].([]any)
	for i, node := range list {
		p, at := x.checked.resolved(node, fmt.Sprintf("%s/parameters/%d", x.at, i))
		name, _ := p["name"].(string)
		var values []string
		switch p["in"] {
		case "path":
			values = []string{x.id}
		case "query":
			known, values = append(known, name), x.request.URL.Query()[name]
			if len(values) == 1 && values[0] == "" {
				continue // the same as left out
			}
		case "header":
			values = x.request.Header.Values(name)
			if name != keyHeader && len(values) > 1 {
				values = []string{strings.Join(values, ", ")}
			}
		}
		if len(values) > 1 {
			return fmt.Errorf("%s comes more than once", name)
		}
		for _, text := range values {
			if err := x.checked.valid(at+"/schema", typed(object(p["schema"]), text)); err != nil {
				return err
			}
			if strings.ContainsRune(text, 0) || !utf8.ValidString(text) {
				return errors.New(name + " is no text")
			}
		}
	}
	for name := range x.request.URL.Query() {
		if !slices.Contains(known, name) {
			return errors.New("there is no parameter " + name)
		}
	}
	return x.wellFormedBody()
}

func (x *exchange) wellFormedBody() error {
	described, at := x.checked.resolved(x.operation["requestBody"], x.at+"/requestBody")
	if described == nil {
		return nil
	}
	data := x.body.Bytes()
	if len(data) == 0 {
		if described["required"] == true {
			return errors.New("there is no body")
		}
		return nil
	}
	mediaType, parameters, err := mime.ParseMediaType(x.request.Header.Get("Content-Type"))
	if err != nil || object(described["content"])[mediaType] == nil {
		return errors.New("the body has no type that is described")
	}
	if charset := strings.ToLower(parameters["charset"]); charset != "" && charset != "utf-8" || !utf8.Valid(data) {
		return errors.New("the body is not UTF-8")
	}
	if strings.Contains(string(data), "\x00") || strings.Contains(string(data), `\u0000`) {
		return errors.New("the body has a NUL character")
	}
	if mediaType != "application/json" {
		return nil // a file: its reader judges it, line by line
	}
	return x.checked.validJSON(at+strings.TrimPrefix(pointed("content", mediaType, "schema"), "#"), data)
}
