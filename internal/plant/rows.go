package plant

import (
	"strings"
	"time"

	"surehand/internal/term"
)

// Kind names a table.
type Kind string

const (
	KindOrganisation Kind = "organisation"
	KindFarm         Kind = "farm"
	KindProfile      Kind = "device_profile"
	KindDevice       Kind = "device"
	KindEndpoint     Kind = "device_endpoint"
	KindRule         Kind = "automation_rule"
	KindTelemetry    Kind = "telemetry"
	KindEvent        Kind = "automation_endpoint_event"
	KindExecution    Kind = "automation_rule_execution"
	KindIntent       Kind = "automation_command_intent"
	KindAttempt      Kind = "command_attempt"
	KindReceipt      Kind = "device_command_receipt"
	KindHold         Kind = "hold"
	KindKey          Kind = "message_key"
	KindParked       Kind = "parked_message"
)

// Kinds lists the tables in the order in which a batch writes them.
func Kinds() []Kind {
	return []Kind{KindOrganisation, KindFarm, KindProfile, KindDevice, KindEndpoint, KindRule, KindTelemetry, KindEvent,
		KindExecution, KindIntent, KindAttempt, KindReceipt,
		KindCell, KindRoute, KindEquipment, KindPallet, KindOrder, KindSlot, KindJob, KindTask, KindQuestion, KindAlarm,
		KindHold, KindKey, KindParked}
}

// Row is one immutable row version. A row whose Open is false has left the picture, or never enters it.
type Row interface {
	Kind() Kind
	Key() string
	// Ver counts up by one with every write, from 1. Append-only rows stay at 1.
	Ver() int64
	Open() bool
}

// Organisation owns farms.
type Organisation struct {
	ID      term.OrganisationID
	Version int64
	Name    string
}

// Farm is the scope of rules: a rule sees and drives only devices of its farm.
type Farm struct {
	ID             term.FarmID
	Version        int64
	OrganisationID term.OrganisationID
	Name           string
}

// Profile is a kind of device with its endpoint catalogue. The catalogue is one document in the row: it
// is always read, checked and replaced as a whole.
type Profile struct {
	ID        term.ProfileID
	Version   int64
	Name      string
	Class     term.DeviceClass
	Timing    term.Timing
	Endpoints []term.EndpointSpec // sorted by key
}

// Device is one device on a farm. Serial is its identity in topics, unique among devices.
type Device struct {
	ID        term.DeviceID
	Version   int64
	FarmID    term.FarmID
	ProfileID term.ProfileID
	Serial    string
	Name      string
	Status    term.DeviceStatus
	Class     term.DeviceClass
	// BootID last heard; Boots are the ones before it, newest last, at most MaxBoots: a reading from one
	// of them is old, not a reboot.
	BootID string
	Boots  []string
}

// Endpoint is one sensor or actuator of a device with what was last observed of it.
type Endpoint struct {
	ID        term.EndpointID
	Version   int64
	DeviceID  term.DeviceID
	EndpKey   string
	Enabled   bool
	Overrides term.Overrides

	Value      term.Value
	SampledAt  time.Time // the device's time of the value, or our receive time if it sent none
	ReceivedAt time.Time
	Mark       term.Mark
}

// Rule drives one target endpoint from one triggering endpoint of the same farm.
type Rule struct {
	ID          term.RuleID
	Version     int64
	FarmID      term.FarmID
	Name        string
	Active      bool
	Revision    int64
	Trigger     term.EndpointID
	Condition   term.Condition
	Target      term.EndpointID
	TargetValue term.Value
	HoldOff     term.Duration

	// Memory of the rule, so that it survives a restart.
	HoldUntil   time.Time        // no new command before this; zero: none
	ExecutionID term.ExecutionID // the execution that holds the current verdict; empty: never evaluated
}

// Telemetry is one reading as it came. Append-only.
type Telemetry struct {
	ID         term.TelemetryID
	DeviceID   term.DeviceID
	SampledAt  time.Time
	ReceivedAt time.Time
	BootID     string
	Seq        int64 // -1: none
	Body       string
}

// Event is one normalised value of one endpoint. Its id is derived from the dedupe key of D-3 (device,
// endpoint, event time, value, fingerprint), time-ordered, so the id is the dedupe key.
type Event struct {
	ID             term.EventID
	Version        int64
	OrganisationID term.OrganisationID
	FarmID         term.FarmID
	DeviceID       term.DeviceID
	EndpointID     term.EndpointID
	TelemetryID    term.TelemetryID
	At             time.Time
	ReceivedAt     time.Time
	Value          term.Value
	Snapshot       string // the reading it came from, canonical JSON, for audit and replay
	Status         term.EventStatus
	Reason         term.DiscardReason
}

// Execution is one verdict of a rule, or one hand command: written when verdict or reason changes, with a
// count and the last time while it stays the same.
type Execution struct {
	ID           term.ExecutionID
	Version      int64
	Source       term.ExecutionSource
	RuleID       term.RuleID // empty for a hand command
	RuleRevision int64
	EventID      term.EventID // the event that first brought this verdict; empty for a hand command
	LastEventID  term.EventID
	FarmID       term.FarmID
	TargetID     term.EndpointID
	Outcome      term.ExecutionOutcome
	Reason       string
	Leaves       []term.Leaf
	Gates        []term.GateInput
	IntentID     term.IntentID     // empty: no command
	FinalState   term.CommandState // of the command, once it has ended or is uncertain
	FinalReason  string
	Count        int64
	FirstAt      time.Time
	LastAt       time.Time
	IsOpen       bool // the current verdict of its rule, or its command is open
}

// Intent is one decided change of a device endpoint: the row that owns its whole life.
type Intent struct {
	ID             term.IntentID
	Version        int64
	ExecutionID    term.ExecutionID
	RuleID         term.RuleID // empty for a hand command
	RuleRevision   int64
	EventID        term.EventID // empty for a hand command
	Actor          string       // who asked, for a hand command
	FarmID         term.FarmID
	DeviceID       term.DeviceID
	EndpointID     term.EndpointID
	Serial         string
	Method         string
	Params         string // canonical JSON object
	TargetValue    term.Value
	Action         term.ActionKind
	IdempotencyKey string // D-9: rule + target endpoint + target value + triggering event, hashed; unique
	Fingerprint    string // of the desired state: hash of endpoint, method and params
	State          term.CommandState
	WaitingFor     term.Gate // while pending or retrying: the waiting gate that stops it
	AttemptCount   int       // attempts that may have left
	AttemptNumber  int       // number of the last attempt, those surely not sent included
	MaxAttempts    int
	NextAttemptAt  time.Time
	DueAt          time.Time // when a timer has to look at it; zero: never
	DeadlineAt     time.Time // of the whole command
	LastError      string
	MQTTRequestID  string // correlation data of the last attempt
	CommandID      term.CommandID
	// BootID of the device at the first fence: a class B device's memory is void after another one.
	BootID           string
	HoldsEndpoint    bool
	LapseAt          time.Time // no copy can still arrive after this; zero: nothing left
	PossiblyExecuted bool
	FencedAt         time.Time // of the last attempt
	AckedAt          time.Time
	AckMark          term.Mark // the endpoint's mark when the ack came: newer readings are evidence
	WeakSamples      int       // equal samples since the ack that only weakly prove the target
	EvidenceID       term.ReceiptID
	CreatedAt        time.Time
	UpdatedAt        time.Time
	EndedAt          time.Time // when it became applied, failed or expired
	ClosedAt         time.Time // when it left the picture
}

// Attempt is one try to send an intent. Its row is committed before anything leaves the process.
type Attempt struct {
	ID         term.AttemptID
	Version    int64
	IntentID   term.IntentID
	CommandID  term.CommandID
	Number     int
	Epoch      int64
	FencedAt   time.Time
	DeadlineAt time.Time // = deadlineAt on the wire = message expiry
	Topic      string
	QoS        int
	Payload    string // frozen: exactly these bytes are published
	Hash       string // of commandId, method and params: equal for all attempts of a command
	Outcome    term.AttemptOutcome
	Error      string
	EndedAt    time.Time
}

// Receipt is raw evidence. Append-only.
type Receipt struct {
	ID             term.ReceiptID
	IntentID       term.IntentID // empty: matches no command of ours
	DeviceID       term.DeviceID // empty: unknown device
	Serial         string
	Type           term.ReceiptType
	Correlation    term.Correlation
	CorrelationKey string
	Reason         string
	Payload        []byte
	ReceivedAt     time.Time
}

// Hold stops a subject ("device:ID") for a reason. One open hold per subject and reason.
type Hold struct {
	ID      term.HoldID
	Version int64
	Subject string
	Reason  term.HoldReason
	By      string
	Why     string
	At      time.Time
	EndedAt time.Time
	EndedBy string
	EndWhy  string
}

// MessageKey remembers a message of a person, or a delivery without identity of its own, so that a
// repetition gets the stored outcome. Append-only.
type MessageKey struct {
	ID       string // UUID
	BodyHash string // of the request; another body under the same key is a conflict
	Outcome  string // JSON of message.Outcome
	At       time.Time
}

// Parked is a message that could not be decided. Append-only.
type Parked struct {
	ID     term.MessageID
	Type   string
	Source string
	Raw    []byte
	Reason string
	At     time.Time
}

func (*Organisation) Kind() Kind { return KindOrganisation }
func (*Farm) Kind() Kind         { return KindFarm }
func (*Profile) Kind() Kind      { return KindProfile }
func (*Device) Kind() Kind       { return KindDevice }
func (*Endpoint) Kind() Kind     { return KindEndpoint }
func (*Rule) Kind() Kind         { return KindRule }
func (*Telemetry) Kind() Kind    { return KindTelemetry }
func (*Event) Kind() Kind        { return KindEvent }
func (*Execution) Kind() Kind    { return KindExecution }
func (*Intent) Kind() Kind       { return KindIntent }
func (*Attempt) Kind() Kind      { return KindAttempt }
func (*Receipt) Kind() Kind      { return KindReceipt }
func (*Hold) Kind() Kind         { return KindHold }
func (*MessageKey) Kind() Kind   { return KindKey }
func (*Parked) Kind() Kind       { return KindParked }

func (r *Organisation) Key() string { return string(r.ID) }
func (r *Farm) Key() string         { return string(r.ID) }
func (r *Profile) Key() string      { return string(r.ID) }
func (r *Device) Key() string       { return string(r.ID) }
func (r *Endpoint) Key() string     { return string(r.ID) }
func (r *Rule) Key() string         { return string(r.ID) }
func (r *Telemetry) Key() string    { return string(r.ID) }
func (r *Event) Key() string        { return string(r.ID) }
func (r *Execution) Key() string    { return string(r.ID) }
func (r *Intent) Key() string       { return string(r.ID) }
func (r *Attempt) Key() string      { return string(r.ID) }
func (r *Receipt) Key() string      { return string(r.ID) }
func (r *Hold) Key() string         { return string(r.ID) }
func (r *MessageKey) Key() string   { return r.ID }
func (r *Parked) Key() string       { return string(r.ID) }

func (r *Organisation) Ver() int64 { return r.Version }
func (r *Farm) Ver() int64         { return r.Version }
func (r *Profile) Ver() int64      { return r.Version }
func (r *Device) Ver() int64       { return r.Version }
func (r *Endpoint) Ver() int64     { return r.Version }
func (r *Rule) Ver() int64         { return r.Version }
func (*Telemetry) Ver() int64      { return 1 }
func (r *Event) Ver() int64        { return r.Version }
func (r *Execution) Ver() int64    { return r.Version }
func (r *Intent) Ver() int64       { return r.Version }
func (r *Attempt) Ver() int64      { return r.Version }
func (*Receipt) Ver() int64        { return 1 }
func (r *Hold) Ver() int64         { return r.Version }
func (*MessageKey) Ver() int64     { return 1 }
func (*Parked) Ver() int64         { return 1 }

func (*Organisation) Open() bool { return true }
func (*Farm) Open() bool         { return true }
func (*Profile) Open() bool      { return true }
func (*Device) Open() bool       { return true }
func (*Endpoint) Open() bool     { return true }
func (*Rule) Open() bool         { return true }
func (*Telemetry) Open() bool    { return false }
func (r *Event) Open() bool      { return r.Status == term.EventPending }
func (r *Execution) Open() bool  { return r.IsOpen }

// Open: every state that may still move by itself, and every command that still holds its endpoint.
func (r *Intent) Open() bool   { return r.ClosedAt.IsZero() }
func (r *Attempt) Open() bool  { return r.Outcome == term.AttemptOpen }
func (*Receipt) Open() bool    { return false }
func (r *Hold) Open() bool     { return r.EndedAt.IsZero() }
func (*MessageKey) Open() bool { return false }
func (*Parked) Open() bool     { return false }

// DevicesSubject is the whole device half in a Hold.
const DevicesSubject = "devices"

// TravelledHold is the hold of the whole device half that a store places together with a new generation, in the
// same transaction: a process that dies right after it must not forget that every device may know more than the
// database. The loop puts a hold on each device in its place.
func TravelledHold(id term.HoldID, at time.Time) *Hold {
	return &Hold{ID: id, Version: 1, Subject: DevicesSubject, Reason: term.HoldQuarantine, By: "surehand", At: Micros(at),
		Why: "the database went back in time: commits were lost by a failover or a restore"}
}

// DeviceSubject names a device in a Hold.
func DeviceSubject(id term.DeviceID) string { return "device:" + string(id) }

// MaxTextBytes bounds the free text of a row.
const MaxTextBytes = 1024

// Printable is the only form in which text from outside enters a row: valid UTF-8 without NUL, bounded, so
// that no input can make the database refuse a row.
func Printable(s string) string {
	s = strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
	if len(s) > MaxTextBytes {
		s = strings.ToValidUTF8(s[:MaxTextBytes], "")
	}
	return s
}

// Micros is the only form in which times enter a row: UTC, whole microseconds, no monotonic part, so that
// a row read back equals the row written.
func Micros(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return time.UnixMicro(t.UnixMicro()).UTC()
}
