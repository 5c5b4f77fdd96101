package simulator

import (
	"crypto/rand"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"time"
)

// Class says what a device remembers of the commands it has run.
type Class string

const (
	// ClassA remembers each commandId and its result over a reboot.
	ClassA Class = "A"
	// ClassB remembers them in memory: a reboot, told by a new bootId, forgets all.
	ClassB Class = "B"
	// ClassC runs every copy it receives.
	ClassC Class = "C"
)

// ValueType is the type of an endpoint's value. An enum is a String with Allowed.
type ValueType string

// The value types of endpoints.
const (
	Bool   ValueType = "bool"
	Int    ValueType = "int"
	Float  ValueType = "float"
	String ValueType = "string"
)

// Endpoint is one sensor or actuator of a device. Min, Max and Allowed refuse a command with invalid_param.
type Endpoint struct {
	Key      string    `json:"key"`
	Actuator bool      `json:"actuator,omitempty"`
	Type     ValueType `json:"type"`
	Initial  any       `json:"initial,omitempty"`
	Min      *float64  `json:"min,omitempty"`
	Max      *float64  `json:"max,omitempty"`
	Allowed  []string  `json:"allowed,omitempty"`
}

// Effect is what a method does to its actuator.
type Effect string

const (
	// Absolute moves the actuator to the value in the parameters.
	Absolute Effect = "absolute"
	// Toggle inverts a bool; two toggles undo each other.
	Toggle Effect = "toggle"
	// Pulse adds one to an int, or switches a bool on and off again at once.
	Pulse Effect = "pulse"
)

// Method maps an RPC method to what it moves. An Absolute method without Actuator takes its parameters' names as
// actuator keys; with Actuator it takes the one value from Param (default "value").
type Method struct {
	Name     string `json:"name"`
	Actuator string `json:"actuator,omitempty"`
	Param    string `json:"param,omitempty"`
	Effect   Effect `json:"effect,omitempty"`
}

// Capabilities a device may announce in its status.
const (
	CapabilityDedupe  = "dedupe"
	CapabilityResolve = "resolve"
	CapabilityClock   = "clock"
)

// Options describe one device. The zero value of each field has the default named at it.
type Options struct {
	Serial    string `json:"serial"`
	Prefix    string `json:"prefix,omitempty"` // surehand/v1
	BrokerURL string `json:"brokerUrl"`        // mqtt://127.0.0.1:1883, or mqtts://
	ClientID  string `json:"clientId,omitempty"`
	Username  string `json:"username,omitempty"`
	Password  string `json:"password,omitempty"`

	Class        Class    `json:"class,omitempty"`        // B
	Capabilities []string `json:"capabilities,omitempty"` // A: dedupe, resolve, clock; B: dedupe; C: none
	// SessionExpiry keeps the broker's session while the device is away, so that requests wait there. Class A keeps
	// it for an hour, the others not at all.
	SessionExpiry time.Duration `json:"sessionExpiry,omitempty"`
	KeepAlive     time.Duration `json:"keepAlive,omitempty"` // 10 s

	Endpoints []Endpoint `json:"endpoints"`
	Methods   []Method   `json:"methods,omitempty"` // set with parameters {actuator key: value}

	TelemetryPeriod time.Duration `json:"telemetryPeriod,omitempty"` // 0: only on a change and when asked to
	QuietChanges    bool          `json:"quietChanges,omitempty"`    // no telemetry of its own after a change
	OmitTS          bool          `json:"omitTs,omitempty"`
	MillisTS        bool          `json:"millisTs,omitempty"`
	OmitSeq         bool          `json:"omitSeq,omitempty"` // neither seq nor bootId

	ApplyDelay    time.Duration `json:"applyDelay,omitempty"` // from accepting to the physical effect
	RebootTime    time.Duration `json:"rebootTime,omitempty"` // 50 ms without power at each reboot
	SendSucceeded bool          `json:"sendSucceeded,omitempty"`
	ResetOnBoot   bool          `json:"resetOnBoot,omitempty"` // actuators fall back to their initial values
	ClockSkew     time.Duration `json:"clockSkew,omitempty"`
	BootID        string        `json:"bootId,omitempty"` // of the first boot; random, since a process start is a boot

	Seed       uint64 `json:"seed,omitempty"`
	DedupeSize int    `json:"dedupeSize,omitempty"` // commands remembered: 10,000
	TruthSize  int    `json:"truthSize,omitempty"`  // commands, readings and changes kept by Truth: 10,000 each; the log keeps all

	Faults   Faults      `json:"faults"`
	TLS      *tls.Config `json:"-"`
	Clock    Clock       `json:"-"`
	TruthLog *TruthLog   `json:"-"`
}

var serialPattern = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// withDefaults fills in the defaults and refuses what could not work.
func (o Options) withDefaults() (Options, error) {
	if !serialPattern.MatchString(o.Serial) {
		return o, fmt.Errorf("serial %q: want 1 to 64 of A-Z a-z 0-9 _ -", o.Serial)
	}
	u, err := url.Parse(o.BrokerURL)
	if err != nil || u.Host == "" {
		return o, fmt.Errorf("device %s: broker URL %q: want mqtt://host:port", o.Serial, o.BrokerURL)
	}
	switch u.Scheme {
	case "mqtt", "tcp", "mqtts", "ssl":
	default:
		return o, fmt.Errorf("device %s: broker URL scheme %q: want mqtt or mqtts", o.Serial, u.Scheme)
	}
	setDefault(&o.Prefix, "surehand/v1")
	setDefault(&o.ClientID, "device-"+o.Serial)
	setDefault(&o.Class, ClassB)
	setDefault(&o.KeepAlive, 10*time.Second)
	setDefault(&o.RebootTime, 50*time.Millisecond)
	setDefault(&o.DedupeSize, 10_000)
	setDefault(&o.TruthSize, 10_000)
	if o.BootID == "" {
		var b [6]byte
		// crypto/rand.Read never fails since Go 1.24; a seeded bootId would repeat after a restart of the process, and
		// a repeated bootId with a new seq of 1 looks like old readings.
		_, _ = rand.Read(b[:])
		o.BootID = hex.EncodeToString(b[:])
	}
	switch o.Class {
	case ClassA:
		setDefault(&o.SessionExpiry, time.Hour)
		if o.Capabilities == nil {
			o.Capabilities = []string{CapabilityDedupe, CapabilityResolve, CapabilityClock}
		}
	case ClassB:
		if o.Capabilities == nil {
			o.Capabilities = []string{CapabilityDedupe}
		}
	case ClassC:
		if o.Capabilities == nil {
			o.Capabilities = []string{}
		}
	default:
		return o, fmt.Errorf("device %s: class %q: want A, B or C", o.Serial, o.Class)
	}
	if o.Clock == nil {
		o.Clock = SystemClock()
	}
	if len(o.Methods) == 0 {
		o.Methods = []Method{{Name: "set"}}
	}
	if o.KeepAlive < time.Second || o.KeepAlive > 65535*time.Second {
		return o, fmt.Errorf("device %s: keepalive %s: want 1 s to 65535 s", o.Serial, o.KeepAlive)
	}
	return o, o.checkEndpoints()
}

func (o *Options) checkEndpoints() error {
	if len(o.Endpoints) == 0 {
		return fmt.Errorf("device %s: no endpoints", o.Serial)
	}
	// The caller's slices stay as they are: fleets are often built from one list.
	o.Endpoints = append([]Endpoint(nil), o.Endpoints...)
	o.Methods = append([]Method(nil), o.Methods...)
	seen := map[string]*Endpoint{}
	for i := range o.Endpoints {
		e := &o.Endpoints[i]
		if e.Key == "" || seen[e.Key] != nil {
			return fmt.Errorf("device %s: endpoint key %q is empty or used twice", o.Serial, e.Key)
		}
		if e.Initial == nil {
			e.Initial = zeroOf(e.Type)
		}
		v, err := e.accept(e.Initial)
		if err != nil {
			return fmt.Errorf("device %s: endpoint %s: initial value: %w", o.Serial, e.Key, err)
		}
		e.Initial = v
		seen[e.Key] = e
	}
	for i := range o.Methods {
		m := &o.Methods[i]
		setDefault(&m.Effect, Absolute)
		setDefault(&m.Param, "value")
		if m.Name == "" || m.Name == methodResolve {
			return fmt.Errorf("device %s: method name %q is reserved", o.Serial, m.Name)
		}
		if m.Actuator == "" {
			if m.Effect != Absolute {
				return fmt.Errorf("device %s: method %s: a %s needs an actuator", o.Serial, m.Name, m.Effect)
			}
			continue
		}
		e := seen[m.Actuator]
		if e == nil || !e.Actuator {
			return fmt.Errorf("device %s: method %s: no actuator %q", o.Serial, m.Name, m.Actuator)
		}
		switch {
		case m.Effect == Absolute:
		case m.Effect == Toggle && e.Type == Bool:
		case m.Effect == Pulse && (e.Type == Bool || e.Type == Int):
		default:
			return fmt.Errorf("device %s: method %s: effect %q does not fit a %s", o.Serial, m.Name, m.Effect, e.Type)
		}
	}
	return nil
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

func zeroOf(t ValueType) any {
	switch t {
	case Bool:
		return false
	case Int:
		return int64(0)
	case Float:
		return 0.0
	default:
		return ""
	}
}

var errWrongType = errors.New("wrong type")
