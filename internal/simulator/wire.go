package simulator

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"
)

// The wire contract, version 1, written down here from its text alone.

const methodResolve = "resolve"

// Statuses and result codes of an answer.
const (
	statusAccepted  = "accepted"
	statusRejected  = "rejected"
	statusSucceeded = "succeeded"
	statusFailed    = "failed"

	codeOK            = "ok"
	codeBusy          = "busy"
	codeInvalidParam  = "invalid_param"
	codeHardwareFault = "hardware_fault"
	codeNotSupported  = "not_supported"
)

// Topic kinds below {prefix}/{serial}/.
const (
	kindTelemetry = "telemetry"
	kindRequest   = "rpc/request"
	kindResponse  = "rpc/response"
	kindState     = "state"
	kindStatus    = "status"
)

type requestBody struct {
	CommandID  string                     `json:"commandId"`
	ResolveID  string                     `json:"resolveId"`
	Method     string                     `json:"method"`
	Params     map[string]json.RawMessage `json:"params"`
	DeadlineAt string                     `json:"deadlineAt"`
	Attempt    *int                       `json:"attempt"`
}

type responseBody struct {
	CommandID  string `json:"commandId"`
	Status     string `json:"status"`
	ResultCode string `json:"resultCode"`
	Message    string `json:"message"`
	Attempt    *int   `json:"attempt,omitempty"`
}

type resolveBody struct {
	ResolveID string         `json:"resolveId"`
	CommandID string         `json:"commandId"`
	Outcome   string         `json:"outcome"`
	Result    *resolveResult `json:"result,omitempty"`
}

type resolveResult struct {
	Status        string         `json:"status"`
	ResultCode    string         `json:"resultCode"`
	Message       string         `json:"message,omitempty"`
	ReportedState map[string]any `json:"reportedState,omitempty"`
	AppliedAt     string         `json:"appliedAt,omitempty"`
}

type stateBody struct {
	CommandID     string         `json:"commandId,omitempty"`
	ReportedState map[string]any `json:"reportedState"`
	AppliedAt     string         `json:"appliedAt"`
	Seq           int64          `json:"seq,omitempty"`
	BootID        string         `json:"bootId,omitempty"`
}

type telemetryBody struct {
	TS     any            `json:"ts,omitempty"`
	Values map[string]any `json:"values"`
	Seq    int64          `json:"seq,omitempty"`
	BootID string         `json:"bootId,omitempty"`
}

type statusBody struct {
	Online        bool     `json:"online"`
	BootID        string   `json:"bootId"`
	Capabilities  []string `json:"capabilities"`
	LastCommandID string   `json:"lastCommandId,omitempty"`
}

// request is one copy of a command as it came off the wire.
type request struct {
	requestBody
	deadline    time.Time // zero: none
	answerTopic string
	correlation []byte
	retained    bool
}

func parseRequest(payload []byte) (request, error) {
	var r request
	if err := json.Unmarshal(payload, &r.requestBody); err != nil {
		return r, err
	}
	if r.CommandID == "" || r.Method == "" {
		return r, errors.New("commandId or method missing")
	}
	if r.DeadlineAt != "" {
		t, err := time.Parse(time.RFC3339Nano, r.DeadlineAt)
		if err != nil {
			return r, fmt.Errorf("deadlineAt: %w", err)
		}
		r.deadline = t
	}
	return r, nil
}

// encode marshals our own bodies, which hold nothing that json could refuse: values passed accept, where NaN and
// infinities end.
func encode(body any) []byte {
	b, err := json.Marshal(body)
	if err != nil {
		panic("simulator: cannot encode its own message: " + err.Error())
	}
	return b
}

// accept turns a value from JSON, or from the program, into the endpoint's own type, or says why not.
func (e *Endpoint) accept(value any) (any, error) {
	if raw, ok := value.(json.RawMessage); ok {
		if err := json.Unmarshal(raw, &value); err != nil {
			return nil, err
		}
	}
	switch e.Type {
	case Bool:
		if b, ok := value.(bool); ok {
			return b, nil
		}
	case String:
		if s, ok := value.(string); ok {
			if e.Allowed != nil && !slices.Contains(e.Allowed, s) {
				return nil, fmt.Errorf("%q is not an allowed value", s)
			}
			return s, nil
		}
	case Int, Float:
		f, ok := number(value)
		if !ok || math.IsNaN(f) || math.IsInf(f, 0) {
			break
		}
		if e.Min != nil && f < *e.Min || e.Max != nil && f > *e.Max {
			return nil, fmt.Errorf("%v is outside the limits", f)
		}
		if e.Type == Float {
			return f, nil
		}
		// Beyond 2^53 a JSON number no longer names one integer.
		if f == math.Trunc(f) && math.Abs(f) <= 1<<53 {
			return int64(f), nil
		}
	default:
		return nil, fmt.Errorf("unknown value type %q", e.Type)
	}
	return nil, fmt.Errorf("%w: %T where %s is wanted", errWrongType, value, e.Type)
}

func number(value any) (float64, bool) {
	switch n := value.(type) {
	case float64:
		return n, true
	case float32:
		return float64(n), true
	case int:
		return float64(n), true
	case int64:
		return float64(n), true
	default:
		return 0, false
	}
}

// another returns a value of the endpoint's type that differs from the given one: what a contradicting device says.
func (e *Endpoint) another(value any) any {
	switch v := value.(type) {
	case bool:
		return !v
	case int64:
		return v + 1
	case float64:
		return v + 1
	case string:
		for _, a := range e.Allowed {
			if a != v {
				return a
			}
		}
		return v + "-other"
	default:
		return value
	}
}
