// Package api is the face of Surehand over HTTP: JSON resources under /api/v1, the event stream, health and
// readiness.
//
// It reads through the read-only side of the database and writes in one way only: it posts a message to the
// loop and shows the loop's answer. It never touches a row, never decides, and never says that something is
// done before the loop has said so; when the loop's word does not come within the wait, the answer is "in
// progress", and the same Idempotency-Key asks again without a second effect.
//
// JSON types are its own (types.go), so that a change of the law is not a change of the contract. Outcomes and
// errors become status codes in one place (problem.go). Every body, list, wait and client has a bound.
//
// The stream (stream.go, hub.go) shows every row of the event log once and in order: what a client missed is
// read again from the database, never remembered here. A client that does not read is cut, never waited for.
//
// Until there are users, it serves this machine only: a request for another host name, or from another site's
// page, is refused (guard.go).
package api
