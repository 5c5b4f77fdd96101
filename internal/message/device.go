package message

import (
	"time"

	"surehand/internal/plant"
	"surehand/internal/term"
)

// Field is one key and value as a device sent it.
type Field struct {
	Key   string     `json:"key"`
	Value term.Value `json:"value"`
}

// Reading is one sample of a device: fields sorted by key, no key twice.
type Reading struct {
	Fields []Field   `json:"fields"`
	At     time.Time `json:"at,omitzero"` // the device's sample time; zero: it sent none
	Seq    int64     `json:"seq"`         // -1: none
	BootID string    `json:"bootId,omitempty"`
	// Canonical is the reading as canonical JSON: the fingerprint of a reading without seq, and the snapshot
	// that its events keep.
	Canonical string `json:"canonical"`
}

// Delivery identifies an MQTT delivery, for readings that carry neither time nor seq.
type Delivery struct {
	PacketID  uint16 `json:"packetId"` // 0 at QoS 0
	Duplicate bool   `json:"duplicate"`
	Retained  bool   `json:"retained"`
}

// TelemetryReceived: one MQTT message of readings, oldest first as the device sent them.
type TelemetryReceived struct {
	Serial   string    `json:"serial"`
	Readings []Reading `json:"readings"`
	Delivery Delivery  `json:"delivery"`
}

// DeviceResponded: an answer to an RPC. Attempt is the attempt that it answers (correlation data, else the
// echoed number); empty when it cannot be told.
type DeviceResponded struct {
	Serial      string          `json:"serial"`
	CommandID   term.CommandID  `json:"commandId"`
	Status      term.RPCStatus  `json:"status"`
	ResultCode  term.ResultCode `json:"resultCode"`
	Message     string          `json:"message,omitempty"`
	Attempt     int             `json:"attempt,omitempty"` // echoed number; 0: none
	Correlation string          `json:"correlation,omitempty"`
	Raw         []byte          `json:"raw"`
}

// StateReported: the device tells its real state, with or without naming the command that caused it.
type StateReported struct {
	Serial    string         `json:"serial"`
	CommandID term.CommandID `json:"commandId,omitempty"`
	Fields    []Field        `json:"fields"`
	AppliedAt time.Time      `json:"appliedAt,omitzero"` // stored, never trusted for order
	Seq       int64          `json:"seq"`
	BootID    string         `json:"bootId,omitempty"`
	Retained  bool           `json:"retained,omitempty"`
	Raw       []byte         `json:"raw"`
}

// DeviceStatusReported: presence, from the retained status topic with its will.
type DeviceStatusReported struct {
	Serial        string         `json:"serial"`
	Online        bool           `json:"online"`
	BootID        string         `json:"bootId,omitempty"`
	Capabilities  []string       `json:"capabilities,omitempty"`
	LastCommandID term.CommandID `json:"lastCommandId,omitempty"`
	Retained      bool           `json:"retained,omitempty"`
}

// InputRejected: something came on a device topic that is not of the contract.
type InputRejected struct {
	Serial string `json:"serial,omitempty"` // of the topic, when that is valid
	Topic  string `json:"topic"`
	Reason string `json:"reason"` // one word: malformed, oversize, too_deep, too_many, bad_topic, retained …
	Detail string `json:"detail"`
	Raw    []byte `json:"raw"`
}

// LinkChanged: a broker connection came up or was lost.
type LinkChanged struct {
	Link plant.Link `json:"link"`
	Up   bool       `json:"up"`
}

// SessionDrained: everything that had queued in a persistent session (answers or telemetry) before we
// connected has come in. Until then silence means nothing, and a reading without a time has an unknown age.
type SessionDrained struct {
	Link plant.Link `json:"link"`
}

// AttemptEnded is the worker's one answer to a Publish: sent, not_sent (surely) or unknown.
type AttemptEnded struct {
	AttemptID term.AttemptID      `json:"attemptId"`
	IntentID  term.IntentID       `json:"intentId"`
	Outcome   term.AttemptOutcome `json:"outcome"`
	Error     string              `json:"error,omitempty"`
}

// Due: a timer of a row has run out.
type Due struct {
	Due plant.Due `json:"due"`
}

// ProcessStarted is the first message of a process life.
type ProcessStarted struct {
	Epoch int64 `json:"epoch"`
}

// OutageEnded: the database is back; windows stood still meanwhile.
type OutageEnded struct {
	Since time.Time `json:"since"`
}

// DatabaseTravelled: a failover or a restore lost commits, so any device may know more than the database.
type DatabaseTravelled struct{}

// Continue: evaluate pending events and look at waiting commands, where an earlier turn stopped at its bound.
type Continue struct{}

func (TelemetryReceived) Type() string    { return "TelemetryReceived" }
func (DeviceResponded) Type() string      { return "DeviceResponded" }
func (StateReported) Type() string        { return "StateReported" }
func (DeviceStatusReported) Type() string { return "DeviceStatusReported" }
func (InputRejected) Type() string        { return "InputRejected" }
func (LinkChanged) Type() string          { return "LinkChanged" }
func (SessionDrained) Type() string       { return "SessionDrained" }
func (AttemptEnded) Type() string         { return "AttemptEnded" }
func (Due) Type() string                  { return "Due" }
func (ProcessStarted) Type() string       { return "ProcessStarted" }
func (OutageEnded) Type() string          { return "OutageEnded" }
func (DatabaseTravelled) Type() string    { return "DatabaseTravelled" }
func (Continue) Type() string             { return "Continue" }

func (TelemetryReceived) payload()    {}
func (DeviceResponded) payload()      {}
func (StateReported) payload()        {}
func (DeviceStatusReported) payload() {}
func (InputRejected) payload()        {}
func (LinkChanged) payload()          {}
func (SessionDrained) payload()       {}
func (AttemptEnded) payload()         {}
func (Due) payload()                  {}
func (ProcessStarted) payload()       {}
func (OutageEnded) payload()          {}
func (DatabaseTravelled) payload()    {}
func (Continue) payload()             {}
