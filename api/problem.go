package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"surehand/internal/dbstate/read"
	"surehand/internal/message"
)

// Problem is an RFC 9457 problem document.
type Problem struct { // the one error type of this package
	Type      string            `json:"type"`
	Title     string            `json:"title"`
	Status    int               `json:"status"`
	Detail    string            `json:"detail,omitempty"` // for people: what is so, and what to do
	Instance  string            `json:"instance"`
	RequestID string            `json:"requestId"`
	Code      string            `json:"code"` // for machines
	State     string            `json:"state,omitempty"`
	Subject   string            `json:"subject,omitempty"`
	ID        string            `json:"id,omitempty"`
	Seq       int64             `json:"seq,omitempty"`
	Problems  []message.Problem `json:"problems,omitempty"`
	// Current is a manual action as it is now, when an answer met a changed one.
	Current *ManualAction `json:"current,omitempty"`

	retryAfter int   // seconds; 0: no such header
	cause      error // what is internal: only the log sees it
}

func (p *Problem) Error() string {
	if p.cause != nil {
		return p.Code + ": " + p.cause.Error()
	}
	return p.Code + ": " + p.Detail
}

func (p *Problem) Unwrap() error { return p.cause }

func problem(status int, code, format string, args ...any) *Problem {
	return &Problem{Status: status, Code: code, Detail: fmt.Sprintf(format, args...)}
}

// invalid points to one fault of a request.
func invalid(pointer, format string, args ...any) *Problem {
	p := problem(http.StatusUnprocessableEntity, "invalid", "The request has a fault; nothing was done.")
	p.Problems = []message.Problem{{Pointer: pointer, Detail: fmt.Sprintf(format, args...)}}
	return p
}

// busy answers what cannot be taken now and may be tried again unchanged.
func busy(code string, seconds int, detail string) *Problem {
	p := problem(http.StatusServiceUnavailable, code, "%s", detail)
	p.retryAfter = seconds
	return p
}

// problemOf brings any error into the one form.
func problemOf(err error) *Problem {
	var p *Problem
	switch {
	case errors.As(err, &p):
		copied := *p
		return &copied
	case errors.Is(err, read.ErrNotFound):
		return problem(http.StatusNotFound, "not_found", "There is no such thing, or not any more.")
	case errors.Is(err, read.ErrCursor):
		return invalid("?cursor", "this is no cursor of this list; begin again without one")
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		p = busy("database_slow", 2, "The database did not answer in time. Try again.")
	case unreachable(err):
		p = busy("database_unavailable", 2, "The database cannot be read now. Try again; what you see may be old.")
	default:
		p = problem(http.StatusInternalServerError, "internal", "The answer could not be made. The log has the cause under this request id.")
	}
	p.cause = err
	return p
}

// unreachable tells a database that is away from a fault that trying again does not mend.
func unreachable(err error) bool {
	var connecting *pgconn.ConnectError
	var answer *pgconn.PgError
	if errors.As(err, &answer) { // shutdown, resources, read-only, statement timeout
		return strings.HasPrefix(answer.Code, "57") || strings.HasPrefix(answer.Code, "53") || strings.HasPrefix(answer.Code, "08") || answer.Code == "25006"
	}
	var network net.Error
	return errors.As(err, &connecting) || errors.As(err, &network) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || pgconn.SafeToRetry(err)
}

// outcomeStatus is the one table from the loop's outcomes to status codes.
func outcomeStatus(code message.Code) int {
	switch code {
	case message.Accepted, message.Noted, message.Ignored:
		return http.StatusOK
	case message.Refused, message.Conflict:
		return http.StatusConflict
	case message.NotFound:
		return http.StatusNotFound
	case message.Invalid:
		return http.StatusUnprocessableEntity
	}
	return http.StatusInternalServerError // parked, and what nobody knows: an engineer has to look
}

// problemOfOutcome is the loop's "no" as a document. It is called for outcomes whose status is an error.
func problemOfOutcome(o message.Outcome) *Problem {
	p := &Problem{Status: outcomeStatus(o.Code), Code: o.Reason, Detail: o.Detail, State: o.State, Subject: o.Subject, ID: o.ID,
		Seq: o.Seq, Problems: o.Problems}
	switch o.Code {
	case message.Parked: // the reason is the text of a panic or of the database: not for the outside
		p.Code, p.cause = "parked", errors.New(o.Reason)
		p.Detail = "The request could not be decided and was kept for an engineer; what it is about is held. Look at /api/v1/parked."
	case message.Invalid:
		p.Code = "invalid"
	case message.Conflict:
		p.Code = "idempotency_conflict"
	}
	if p.Code == "" {
		p.Code = string(o.Code)
	}
	return p
}

// fail writes an error as a problem document and logs what is internal to it.
func (s *server) fail(w http.ResponseWriter, r *http.Request, err error) {
	p := problemOf(err)
	p.RequestID = requestID(r)
	p.Instance = "urn:surehand:request:" + p.RequestID
	p.Type = "urn:surehand:problem:" + p.Code
	p.Title = http.StatusText(p.Status)
	if p.cause != nil || p.Status >= http.StatusInternalServerError {
		level := slog.LevelError
		if r.Context().Err() != nil || p.Status == http.StatusServiceUnavailable { // the client left, or it may come again
			level = slog.LevelWarn
		}
		s.log.Log(r.Context(), level, "a request failed", "requestId", p.RequestID, "method", r.Method, "path", r.URL.Path,
			"status", p.Status, "code", p.Code, "error", p.Error())
	}
	if p.retryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(p.retryAfter))
	}
	s.write(w, r, p.Status, "application/problem+json", p)
}

func (s *server) answer(w http.ResponseWriter, r *http.Request, status int, body any) {
	s.write(w, r, status, "application/json", body)
}

func (s *server) write(w http.ResponseWriter, r *http.Request, status int, contentType string, body any) {
	b, err := json.Marshal(body)
	if err != nil { // our own plain types always marshal
		s.log.Error("an answer does not marshal", "requestId", requestID(r), "error", err)
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	s.send(w, r, status, contentType, append(b, '\n'))
}

func (s *server) send(w http.ResponseWriter, r *http.Request, status int, contentType string, body []byte) {
	h := w.Header()
	h.Set("Content-Type", contentType)
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	if _, err := w.Write(body); err != nil {
		s.log.Debug("a client left before its answer", "requestId", requestID(r), "error", err)
	}
}
