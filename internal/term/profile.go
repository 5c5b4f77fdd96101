package term

import (
	"encoding/json"
	"fmt"
	"time"
)

// Duration is a time.Duration written as text ("1m30s") in JSON and YAML.
type Duration time.Duration

func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

func (d *Duration) UnmarshalText(b []byte) error {
	v, err := time.ParseDuration(string(b))
	if err != nil {
		return fmt.Errorf("%q is not a duration such as 5s or 1m30s", string(b))
	}
	*d = Duration(v)
	return nil
}

// EndpointKind tells a sensor from an actuator.
type EndpointKind string

const (
	Sensor   EndpointKind = "sensor"
	Actuator EndpointKind = "actuator"
)

func (EndpointKind) Values() []string { return []string{"sensor", "actuator"} }

// Binding says how an endpoint appears on the wire: the RPC method and parameter that set it, and the
// telemetry key that reads it back (the endpoint's own key when empty).
type Binding struct {
	Method    string `json:"method,omitempty"`
	Param     string `json:"param,omitempty"`
	Telemetry string `json:"telemetry,omitempty"`
}

// Constraints bound the values that may be commanded. Min, Max and Step are for numbers.
type Constraints struct {
	Min     *float64 `json:"min,omitempty"`
	Max     *float64 `json:"max,omitempty"`
	Step    *float64 `json:"step,omitempty"`
	Allowed []Value  `json:"allowed,omitempty"`
}

// EndpointSpec is one entry of a profile's endpoint catalogue.
type EndpointSpec struct {
	Key         string       `json:"key"`
	Kind        EndpointKind `json:"kind"`
	Type        ValueType    `json:"type"`
	Unit        string       `json:"unit,omitempty"`
	Writable    bool         `json:"writable,omitempty"`
	Action      ActionKind   `json:"action,omitempty"`
	Binding     Binding      `json:"binding"`
	Constraints Constraints  `json:"constraints"`
	// Tolerance (>= 0, in the endpoint's unit) is how far a reading may be from the target and still prove it.
	Tolerance float64 `json:"tolerance,omitempty"`
	// Freshness overrides the profile's freshness window for this endpoint.
	Freshness Duration `json:"freshness,omitempty"`
}

// TelemetryKey is the key under which this endpoint is read back.
func (s EndpointSpec) TelemetryKey() string {
	if s.Binding.Telemetry != "" {
		return s.Binding.Telemetry
	}
	return s.Key
}

// Overrides change a catalogue entry for one endpoint instance.
type Overrides struct {
	Constraints *Constraints `json:"constraints,omitempty"`
	Tolerance   *float64     `json:"tolerance,omitempty"`
}

// Timing holds a profile's times. Zero means the default.
type Timing struct {
	// AckTimeout of one attempt; it is also deadlineAt and the message expiry. Default 5 s.
	AckTimeout Duration `json:"ackTimeout,omitempty"`
	// Backoff waits after attempts 1, 2, 3 …; the last repeats. Default 5 s, 15 s, 45 s.
	Backoff []Duration `json:"backoff,omitempty"`
	// Jitter is the largest share by which a wait is lengthened, 0 to 1. Default 0.2.
	Jitter *float64 `json:"jitter,omitempty"`
	// MaxAttempts that may have left. Default 3, at most 10.
	MaxAttempts int `json:"maxAttempts,omitempty"`
	// ReconciliationWindow is how long after an ack evidence is waited for. Default 30 s.
	ReconciliationWindow Duration `json:"reconciliationWindow,omitempty"`
	// CommandDeadline of a whole command. Default 5 min.
	CommandDeadline Duration `json:"commandDeadline,omitempty"`
	// Freshness: a device not heard for longer is not fresh; an older reading is backfill. Default 2 min.
	Freshness Duration `json:"freshness,omitempty"`
	// KeepAlive of the device's MQTT connection; a copy lapses 1.5 of it after its expiry. Default 60 s.
	KeepAlive Duration `json:"keepAlive,omitempty"`
}

// WithDefaults fills what is zero.
func (t Timing) WithDefaults() Timing {
	set := func(d *Duration, v time.Duration) {
		if *d == 0 {
			*d = Duration(v)
		}
	}
	set(&t.AckTimeout, 5*time.Second)
	set(&t.ReconciliationWindow, 30*time.Second)
	set(&t.CommandDeadline, 5*time.Minute)
	set(&t.Freshness, 2*time.Minute)
	set(&t.KeepAlive, time.Minute)
	if len(t.Backoff) == 0 {
		t.Backoff = []Duration{Duration(5 * time.Second), Duration(15 * time.Second), Duration(45 * time.Second)}
	}
	if t.Jitter == nil {
		j := 0.2
		t.Jitter = &j
	}
	if t.MaxAttempts == 0 {
		t.MaxAttempts = 3
	}
	return t
}

// Operator of a leaf of a condition.
type Operator string

const (
	OpEq      Operator = "eq"
	OpNe      Operator = "ne"
	OpGt      Operator = "gt"
	OpGe      Operator = "ge"
	OpLt      Operator = "lt"
	OpLe      Operator = "le"
	OpBetween Operator = "between"
	OpIn      Operator = "in"
)

func (Operator) Values() []string {
	return []string{"eq", "ne", "gt", "ge", "lt", "le", "between", "in"}
}

// Condition is a typed tree: exactly one of All, Any, Not, or a leaf (Endpoint, Op and its operands).
// Depth is at most 8 and a tree has at most 64 leaves.
type Condition struct {
	All []Condition `json:"all,omitempty"`
	Any []Condition `json:"any,omitempty"`
	Not *Condition  `json:"not,omitempty"`

	Endpoint EndpointID `json:"endpoint,omitempty"`
	Op       Operator   `json:"op,omitempty"`
	Value    Value      `json:"value,omitzero"`
	// Values are the operands of between (low, high; both inclusive) and in.
	Values []Value `json:"values,omitempty"`
}

// Leaf is one evaluated comparison, kept with a rule's execution so that a person sees why.
type Leaf struct {
	Endpoint EndpointID `json:"endpoint"`
	Op       Operator   `json:"op"`
	Operands []Value    `json:"operands"`
	Actual   Value      `json:"actual"`
	// AgeMS of the value when it was used, in milliseconds.
	AgeMS int64 `json:"ageMs"`
	// Result is "true", "false" or "unknown" (no value yet).
	Result string `json:"result"`
}

// GateInput is one fact a gate looked at, kept with the verdict.
type GateInput struct {
	Gate Gate   `json:"gate"`
	Fact string `json:"fact"`
	Pass bool   `json:"pass"`
}

// Mark is the high-water mark of an endpoint's readings: what "newer" is measured against.
type Mark struct {
	BootID string `json:"bootId,omitempty"`
	// Seq is the device's sequence number within BootID; -1 when it sends none.
	Seq int64 `json:"seq"`
	// At is the sample time used for order, in microseconds since 1970 UTC.
	At int64 `json:"at"`
	// Hashes of the readings at exactly At, at most 16.
	Hashes []string `json:"hashes,omitempty"`
}

// JSON marshals a stored structure; all of them always marshal.
func JSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("stored structure does not marshal: %v", err))
	}
	return string(b)
}
