package api

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
)

var info = map[string]any{
	"title":   "Surehand",
	"version": "1.0.0",
	"summary": "Production cells and devices: a physical action is never fired twice, never lost, and never called done without proof.",
	"license": map[string]any{"name": "Apache-2.0", "identifier": "Apache-2.0"},
	"description": "JSON resources below `/api/v1`, an event stream, health and figures. docs/api.md in the source has the rules with examples.\n\n" +
		"- **A write is a message.** It is answered after the commit that it rests on: 200 decided and done, 202 not yet, 409 refused by state, 422 a fault of the request, " +
		"503 nothing was done, try again.\n" +
		"- **The same request twice is one effect.** Give an `Idempotency-Key` and repeat the request with it after any doubt: the stored outcome comes back.\n" +
		"- **Errors are problem documents** (RFC 9457). `code` is for machines and stays, `detail` is for people and may change.\n" +
		"- **Strict in**: an unknown field or query parameter is refused, so that a misspelt one is never passed over. Whole numbers have no point. A text has no NUL character. Bodies have 64 KiB at most, files 1 MiB.\n" +
		"- **Open out**: be ready for fields that are not described yet. What is not there is left out; a list that is empty is `[]`.\n" +
		"- Times are RFC 3339 in UTC with microseconds, durations text such as `1m30s`, names 1 to 64 letters, digits, `-`, `_` or `.`.\n" +
		"- There are no users yet: only this machine is answered, by the names localhost and 127.0.0.1, and no page of another site may write. " +
		"An unknown address is 404 with code `no_such_route`, a method that an address does not take 405 with `Allow`. Nothing is to be kept: `Cache-Control: no-store`.",
}

var tags = []tagged{
	{"Stream", "Everything as it happens, in order and without a gap."},
	{"Commands", "Commands to devices: from the wish to the proof."},
	{"Executions", "What rules decided, and why."},
	{"Devices", "Devices, their endpoints and readings."},
	{"Configuration", "Organisations, farms, profiles and rules."},
	{"Holds", "What is held: nothing is done with it until the hold ends."},
	{"Orders", "Work orders and the pallets that bring their parts."},
	{"Parts", "The parts of orders (jobs), each with its place."},
	{"Actions", "What robot, machines and tools were asked to do (tasks)."},
	{"Cell", "The cell, its equipment and its plant file."},
	{"Recovery", "Questions that only a person can answer, and the confirmation after a restart."},
	{"Alarms", "Alarms by ISA-18.2."},
	{"Log", "The event log, and what went wrong."},
	{"System", "The process itself."},
}

func headerNamed(name string) *headerDoc { return &headerDoc{Ref: shared("headers", name)} }

func sharedHeaders() map[string]*headerDoc {
	return map[string]*headerDoc{
		"RequestId":         {Required: true, Description: "Id of the request, made here. The log has it.", Schema: &schema{Type: "string"}},
		"IdempotencyKey":    {Description: "The key of the request: the one that was given, or the one that was made because there was none.", Schema: &schema{Type: "string"}},
		"PreferenceApplied": {Description: "The wait that was taken, `wait=n` in seconds.", Schema: &schema{Type: "string", Pattern: "^wait=[0-9]+$"}},
		"Location":          {Description: "Where to look for what becomes of it.", Schema: &schema{Type: "string"}},
		"RetryAfter":        {Required: true, Description: "When to try again, in seconds.", Schema: &schema{Type: "integer", Minimum: 1}},
		"Allow":             {Required: true, Description: "The methods that this address takes.", Schema: &schema{Type: "string"}},
	}
}

func sharedParameters() map[string]*parameter {
	return map[string]*parameter{
		"Cursor": {Name: "cursor", In: "query", Description: "`next` of the page before. Keep the other parameters as they were.", Schema: &schema{Type: "string"}},
		"Limit":  {Name: "limit", In: "query", Description: "Entries of a page.", Schema: &schema{Type: "integer", Minimum: 1, Maximum: maxLimit, Default: defaultLimit}},
		"IdempotencyKey": {Name: keyHeader, In: "header", Description: "A name of your own for this request, new for each thing that you want. The same key with the same body again is the same request; " +
			"with another body it is refused (`idempotency_conflict`). Left out: one is made, and the answer has it.",
			Schema: &schema{Type: "string", Pattern: "^[!-~]{1," + strconv.Itoa(maxKey) + "}$"}, Example: "order-WO-1-start"},
		"Prefer": {Name: "Prefer", In: "header", Description: "`wait=n`: how long the outcome is waited for, 0 to 30 seconds; 2 unless said. What cannot be met is passed over. " +
			"The word of the loop itself is waited for 2 s at least.", Schema: &schema{Type: "string"}, Example: "wait=10"},
	}
}

func postHeaders() map[string]*headerDoc {
	return map[string]*headerDoc{"X-Request-Id": headerNamed("RequestId"), keyHeader: headerNamed("IdempotencyKey"), "Preference-Applied": headerNamed("PreferenceApplied")}
}

// responseNames are the shared answers by their status.
var responseNames = map[int]string{
	http.StatusBadRequest: "Malformed", http.StatusForbidden: "CrossOrigin", http.StatusNotFound: "NotFound", http.StatusMethodNotAllowed: "MethodNotAllowed",
	http.StatusConflict: "Conflict", http.StatusRequestEntityTooLarge: "TooLarge", http.StatusUnsupportedMediaType: "UnsupportedMediaType",
	http.StatusMisdirectedRequest: "UnknownHost", http.StatusUnprocessableEntity: "Invalid", http.StatusInternalServerError: "Failed",
	http.StatusNotImplemented: "NotImplemented", http.StatusServiceUnavailable: "Unavailable",
}

// problems are the shared answers that are problem documents. The codes of those that the loop gives are open.
var problems = []struct {
	status   int
	what     string
	codes    string // all there are; empty: open
	afterKey bool   // it may come after the key and the preference were read
	detail   string
}{
	{http.StatusBadRequest, "The body is not complete JSON or UTF-8, or the Idempotency-Key is none.", "malformed body_unreadable bad_idempotency_key", true, "The body is not complete JSON."},
	{http.StatusForbidden, "A page of another site may not write.", "cross_origin", false, "A page of another site may not write here."},
	{http.StatusNotFound, "There is no such thing, or not any more: `not_found`, or what is unknown: `unknown_endpoint`, `unknown_command`, `not_held`, `unknown_order`, `unknown_job`, " +
		"`unknown_pallet`, `unknown_equipment`, `unknown_alarm`, `unknown_question`, `no_cell`. Of an address: `no_such_route`.", "", true, "There is no such thing, or not any more."},
	{http.StatusMethodNotAllowed, "The address does not take this method.", "method_not_allowed", false, "This address does not take DELETE."},
	{http.StatusConflict, "Refused: by the state of the thing, which `state` names, or because the key was used with another body (`idempotency_conflict`). Nothing was done.", "", true,
		"Order WO-1 is running; only a draft can be started."},
	{http.StatusRequestEntityTooLarge, "The body is too large.", "body_too_large", false, "The body may have 65536 bytes at most."},
	{http.StatusUnsupportedMediaType, "The body is of another type.", "unsupported_media_type", false, "Send Content-Type: application/json."},
	{http.StatusMisdirectedRequest, "The request names another host than this machine.", "unknown_host", false, "This server answers to localhost only. Open it as http://localhost or http://127.0.0.1."},
	{http.StatusUnprocessableEntity, "The request has faults, which `problems` points to: a JSON pointer, `?name` of a query parameter, or the line of a file. Nothing was done.", "invalid", true,
		"The request has a fault; nothing was done."},
	{http.StatusInternalServerError, "Something is wrong here: `internal`, the log has it under the request id; or `parked`, the request could not be decided and was kept for an engineer.", "", true,
		"The answer could not be made. The log has the cause under this request id."},
	{http.StatusNotImplemented, "This server does not take plant files.", "no_plant_files", false, "This server does not take plant files."},
	{http.StatusServiceUnavailable, "Not now; nothing was done. The same request may be tried again.",
		"starting database_away inbox_full database_slow database_unavailable too_many_streams stopping", true, "The database is away, so nothing can be decided. Nothing was done; try again when it is back."},
}

func sharedResponses() map[string]*response {
	all := map[string]*response{}
	for _, p := range problems {
		r := &response{Description: p.what, Headers: map[string]*headerDoc{"X-Request-Id": headerNamed("RequestId")}}
		if p.afterKey {
			r.Headers = postHeaders()
		}
		switch p.status {
		case http.StatusServiceUnavailable:
			r.Headers["Retry-After"] = headerNamed("RetryAfter")
		case http.StatusMethodNotAllowed:
			r.Headers["Allow"] = headerNamed("Allow")
		}
		codes := strings.Fields(p.codes)
		code := &schema{Enum: codes}
		if len(codes) > 0 {
			r.Description += " `code`: `" + strings.Join(codes, "`, `") + "`."
		}
		r.Content = map[string]*media{"application/problem+json": {Schema: &schema{Ref: shared("schemas", "Problem"),
			Properties: properties{{"status", &schema{Const: p.status}}, {"code", code}}}, Example: exampleProblem(p.status, p.detail, codes)}}
		all[responseNames[p.status]] = r
	}
	done := schemaNamed("Posted")
	all["Done"] = answered("Decided and stored. Of a command to a device: it has come to rest, and `state` says how.", "application/json", &media{Schema: done, Example: map[string]any{
		"code": "accepted", "state": "ready", "subject": "order:WO-1", "id": "WO-1", "seq": 42, "messageId": idA, "inProgress": false}})
	all["Done"].Headers = postHeaders()
	all["InProgress"] = answered("Not known yet, and not lost: it is decided whether or not anybody waits. Ask again with the same Idempotency-Key, or look at `Location`.", "application/json",
		&media{Schema: done, Example: map[string]any{"messageId": idA, "inProgress": true}})
	all["InProgress"].Headers = postHeaders()
	all["InProgress"].Headers["Location"] = headerNamed("Location")
	return all
}

func exampleProblem(status int, detail string, codes []string) map[string]any {
	code := map[int]string{http.StatusNotFound: "not_found", http.StatusConflict: "not_draft", http.StatusInternalServerError: "internal", http.StatusServiceUnavailable: "database_away"}[status]
	if code == "" {
		code = codes[0]
	}
	p := map[string]any{"type": "urn:surehand:problem:" + code, "title": http.StatusText(status), "status": status, "detail": detail,
		"instance": "urn:surehand:request:ABCDEFGHIJKLMNOPQRSTUVWXYZ", "requestId": "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "code": code}
	switch status {
	case http.StatusConflict:
		p["state"], p["subject"] = "running", "order:WO-1"
	case http.StatusUnprocessableEntity:
		p["problems"] = []any{map[string]any{"pointer": "/quantity", "detail": "1 to 10000 parts"}}
	}
	return p
}

// streamed are the events of the stream by their names, each with a value of its data.
var streamed = map[string]any{"snapshot": snapshotEvent{}, "resumed": resumedEvent{}, "reset": resetEvent{}, "log": LogEntry{}, "values": valuesEvent{},
	"links": linksEvent{}, "heartbeat": heartbeatEvent{}, "resync": resyncEvent{}}

// aboutEvents says when each comes, and whether it carries an id.
var aboutEvents = []struct {
	name  string
	hasID bool
	what  string
}{
	{"snapshot", true, "How things stand: the first event of a client without a position, and after a reset."},
	{"resumed", false, "The first event of a client that came back: what it missed follows."},
	{"reset", false, "What was missed cannot be shown again; a snapshot follows."},
	{"log", true, "One row of the event log: each once and in order. Its type says what happened, its notes which things changed: read those again."},
	{"values", false, "Live values that changed, the newest of each endpoint, at most four times a second. They are not kept: one may be skipped."},
	{"links", false, "The state of the broker connections has changed."},
	{"heartbeat", true, "Once a second, also when nothing happens."},
	{"resync", false, "Events without an id were skipped: read values and links again."},
}

const aboutStream = "Server-sent events. The schema has one entry for each event: its name, its `id` where it has one, and its `data`, which is JSON on one line.\n\n" +
	"Come back with `Last-Event-ID` (an EventSource does so by itself), and every row of the log that was missed is shown before the live ones, in order and without a gap. " +
	"A client that does not read is cut and may come back. `topics` narrows what is shown."

func streaming() *response {
	return &response{Description: "A stream that goes on until either side ends it.",
		Headers: map[string]*headerDoc{"X-Request-Id": headerNamed("RequestId"), "X-Accel-Buffering": {Description: "`no`: a proxy must not collect events.", Schema: &schema{Const: "no"}}},
		Content: map[string]*media{"text/event-stream": {Schema: &schema{Type: "array", Items: schemaNamed("StreamEvent")}}}}
}

func streamEvent() *schema {
	s := &schema{Description: "One event of the stream."}
	for _, e := range aboutEvents {
		data := schemaNamed(strings.ToUpper(e.name[:1]) + e.name[1:] + "Event")
		if e.name == "log" {
			data = schemaNamed("LogEntry")
		}
		one := &schema{Type: "object", Description: e.what, Required: []string{"event", "data"},
			Properties: properties{{"event", &schema{Const: e.name}}, {"data", data}}}
		if e.hasID {
			one.Properties = slices.Insert(one.Properties, 0, property{"id", &schema{Type: "string", Pattern: "^[^:]+:[0-9]+$", Description: "Position in the event log, generation:seq."}})
			one.Required = append(one.Required, "id")
		}
		s.OneOf = append(s.OneOf, one)
	}
	return s
}
