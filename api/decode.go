package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const (
	maxBody   = 64 << 10
	maxImport = 1 << 20
	// bodyWithin is how long a client may take to send its body.
	bodyWithin = 10 * time.Second
)

// body reads a bounded body of one of the given media types and tells which. With allowEmpty a request without
// a body needs no type.
func body(w http.ResponseWriter, r *http.Request, limit int64, allowEmpty bool, types ...string) (data []byte, mediaType string, err error) {
	control := http.NewResponseController(w)
	if err := control.SetReadDeadline(time.Now().Add(bodyWithin)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return nil, "", err
	}
	data, err = io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return nil, "", problem(http.StatusRequestEntityTooLarge, "body_too_large", "The body may have %d bytes at most.", limit)
	case err != nil:
		p := problem(http.StatusBadRequest, "body_unreadable", "The body could not be read.")
		p.cause = err
		return nil, "", p
	}
	// The deadline was for the body: left standing it would end the request, and with it the wait, as if the
	// client had gone.
	if err := control.SetReadDeadline(time.Time{}); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return nil, "", err
	}
	if len(data) == 0 && allowEmpty {
		return data, "", nil
	}
	given := r.Header.Get("Content-Type")
	mediaType, parameters, err := mime.ParseMediaType(given)
	charset := strings.ToLower(parameters["charset"])
	if err == nil && (charset == "" || charset == "utf-8") {
		for _, t := range types {
			if mediaType == t {
				return data, mediaType, nil
			}
		}
	}
	return nil, "", problem(http.StatusUnsupportedMediaType, "unsupported_media_type", "Send Content-Type: %s.", strings.Join(types, " or "))
}

// decode reads exactly one JSON object without unknown fields.
func decode(data []byte, into any) error {
	if bytes.Equal(bytes.TrimSpace(data), []byte("null")) { // it would be taken as a body that says nothing
		return invalid("", "a JSON null does not fit here")
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return decodeProblem(err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return problem(http.StatusBadRequest, "malformed", "The body is more than one JSON value.")
	}
	return nil
}

func decodeProblem(err error) *Problem {
	var syntax *json.SyntaxError
	var wrongType *json.UnmarshalTypeError
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return problem(http.StatusBadRequest, "malformed", "The body is not complete JSON.")
	case errors.As(err, &syntax):
		return problem(http.StatusBadRequest, "malformed", "The body is not JSON: %s at byte %d.", syntax.Error(), syntax.Offset)
	case errors.As(err, &wrongType):
		return invalid(pointer(strings.Split(wrongType.Field, ".")...), "a JSON %s does not fit here", wrongType.Value)
	}
	if name, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		if unquoted, err := strconv.Unquote(name); err == nil {
			name = unquoted
		}
		return invalid(pointer(name), "there is no such field")
	}
	return invalid("", "%s", err.Error()) // a value's own word, such as of a duration
}

// pointer is a JSON pointer (RFC 6901); no parts point to the whole document.
func pointer(parts ...string) string {
	var b strings.Builder
	for _, p := range parts {
		if p != "" {
			b.WriteString("/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(p))
		}
	}
	return b.String()
}

// hasNUL tells whether a text somewhere in a JSON document has a NUL character.
func hasNUL(document string) bool {
	d := json.NewDecoder(strings.NewReader(document))
	for {
		token, err := d.Token()
		if err != nil {
			return false // the end: the document is our own and valid
		}
		if text, ok := token.(string); ok && strings.ContainsRune(text, 0) {
			return true
		}
	}
}

// uuid tells whether s is one, in the only form that we write. What is none names nothing, and must not reach
// the database as a broken value.
func uuid(s string) bool {
	if len(s) != 36 {
		return false
	}
	for i := range len(s) {
		switch c := s[i]; {
		case i == 8 || i == 13 || i == 18 || i == 23:
			if c != '-' {
				return false
			}
		case c < '0' || c > '9' && c < 'a' || c > 'f':
			return false
		}
	}
	return true
}
