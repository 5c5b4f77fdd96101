package term

// CommandState is the state of a command intent. Each comment answers: what is true now, who moves it
// on, what a crash leaves here.
type CommandState string

const (
	// PendingDispatch: decided and stored; nothing has left unless an attempt is open, in which case it
	// is being sent. The dispatcher, its deadline or a cancel moves it on. After a crash it is picked up
	// again; with an open attempt it may have been sent and is judged when its window is over.
	PendingDispatch CommandState = "pending_dispatch"
	// Dispatched: the broker acknowledged the publish (QoS 1) or it was written to the socket (QoS 0).
	// An answer, evidence or the ack timeout moves it on. After a crash the rest of the window is waited.
	Dispatched CommandState = "dispatched"
	// Acknowledged: the device itself accepted this command id. Evidence, a result or the end of the
	// reconciliation window moves it on. After a crash the rest of the window is waited; it is not resent.
	Acknowledged CommandState = "acknowledged"
	// Retrying: the last attempt brought nothing or was surely not sent; the next one waits for its time.
	// The due time, a late ack or evidence moves it on. After a crash the due time still stands.
	Retrying CommandState = "retrying"
	// Applied (end): the target state was proven after the fence and the evidence row exists.
	Applied CommandState = "applied"
	// Failed (end): surely no effect can still come.
	Failed CommandState = "failed"
	// Expired (end): budget or deadline over and no signal came. possibly_executed tells whether an
	// attempt had left; then the endpoint stays held until the last copy has lapsed.
	Expired CommandState = "expired"
	// Uncertain: a signal came, or it may have run, and proof is missing. Late evidence or a person moves
	// it on. A crash changes nothing. It holds the endpoint until its last copy has lapsed at least.
	Uncertain CommandState = "uncertain"
)

func (CommandState) Values() []string {
	return []string{"pending_dispatch", "dispatched", "acknowledged", "retrying", "applied", "failed", "expired", "uncertain"}
}

// CommandStates lists all states in the order a person reads them.
func CommandStates() []CommandState {
	return []CommandState{PendingDispatch, Dispatched, Acknowledged, Retrying, Applied, Failed, Expired, Uncertain}
}

// Ended tells whether the state can never change again.
func (s CommandState) Ended() bool { return s == Applied || s == Failed || s == Expired }

// Live tells whether the state still moves by itself: in time it becomes an end or uncertain.
func (s CommandState) Live() bool {
	return s == PendingDispatch || s == Dispatched || s == Acknowledged || s == Retrying
}

// DeviceClass says what recovery may do with a device. A: dedupes by command id and keeps the result
// over a reboot. B: dedupes in memory, void after a new boot id. C: plain output, every copy acts.
type DeviceClass string

const (
	ClassA DeviceClass = "A"
	ClassB DeviceClass = "B"
	ClassC DeviceClass = "C"
)

func (DeviceClass) Values() []string { return []string{"A", "B", "C"} }

// DeviceStatus is the engineer's word about a device, not its presence.
type DeviceStatus string

const (
	DeviceActive      DeviceStatus = "active"
	DeviceMaintenance DeviceStatus = "maintenance"
	DeviceRetired     DeviceStatus = "retired"
)

func (DeviceStatus) Values() []string { return []string{"active", "maintenance", "retired"} }

// ActionKind says what repeating a command would do: absolute sets a value and may be repeated to a
// device that dedupes; toggle and pulse are never repeated without proof that the first did not run.
type ActionKind string

const (
	ActionAbsolute ActionKind = "absolute"
	ActionToggle   ActionKind = "toggle"
	ActionPulse    ActionKind = "pulse"
)

func (ActionKind) Values() []string { return []string{"absolute", "toggle", "pulse"} }

// AttemptOutcome is what became of one try to send.
type AttemptOutcome string

const (
	// AttemptOpen: fenced; from here on it may have happened.
	AttemptOpen AttemptOutcome = "open"
	// AttemptSent: PUBACK came (QoS 1) or the bytes were written to the socket (QoS 0).
	AttemptSent AttemptOutcome = "sent"
	// AttemptNotSent: surely nothing left the process; does not count as an attempt.
	AttemptNotSent AttemptOutcome = "not_sent"
	// AttemptUnknown: it may have left (timeout, lost link, crash).
	AttemptUnknown AttemptOutcome = "unknown"
)

func (AttemptOutcome) Values() []string { return []string{"open", "sent", "not_sent", "unknown"} }

// ReceiptType says what kind of raw evidence a receipt holds.
type ReceiptType string

const (
	ReceiptAck         ReceiptType = "rpc_ack"
	ReceiptResult      ReceiptType = "rpc_result"
	ReceiptStateReport ReceiptType = "state_report"
	ReceiptTelemetry   ReceiptType = "telemetry"
	ReceiptTimeout     ReceiptType = "timeout_mark"
	ReceiptRetry       ReceiptType = "retry_mark"
	ReceiptPublish     ReceiptType = "publish_mark"
	ReceiptVerdict     ReceiptType = "operator_verdict"
	ReceiptRejected    ReceiptType = "rejected"
)

func (ReceiptType) Values() []string {
	return []string{"rpc_ack", "rpc_result", "state_report", "telemetry", "timeout_mark", "retry_mark", "publish_mark", "operator_verdict", "rejected"}
}

// Correlation is how an incoming answer was matched.
type Correlation string

const (
	CorrelationTimely        Correlation = "timely"        // moved its open command
	CorrelationDuplicate     Correlation = "duplicate"     // said before; changed nothing
	CorrelationLate          Correlation = "late"          // its command had ended
	CorrelationForeign       Correlation = "foreign"       // no command of ours, or another device's
	CorrelationContradiction Correlation = "contradiction" // says the opposite of an ended command
	CorrelationEarlier       Correlation = "earlier"       // belongs to an earlier attempt
	CorrelationNone          Correlation = "none"          // not an answer
)

func (Correlation) Values() []string {
	return []string{"timely", "duplicate", "late", "foreign", "contradiction", "earlier", "none"}
}

// RPCStatus is the status word of a device's answer.
type RPCStatus string

const (
	RPCAccepted  RPCStatus = "accepted"
	RPCRejected  RPCStatus = "rejected"
	RPCSucceeded RPCStatus = "succeeded"
	RPCFailed    RPCStatus = "failed"
)

func (RPCStatus) Values() []string { return []string{"accepted", "rejected", "succeeded", "failed"} }

// ResultCode is the device's reason.
type ResultCode string

const (
	ResultOK            ResultCode = "ok"
	ResultBusy          ResultCode = "busy"
	ResultInvalidParam  ResultCode = "invalid_param"
	ResultHardwareFault ResultCode = "hardware_fault"
	ResultNotSupported  ResultCode = "not_supported"
)

func (ResultCode) Values() []string {
	return []string{"ok", "busy", "invalid_param", "hardware_fault", "not_supported"}
}

// HoldReason says why a subject may not be driven.
type HoldReason string

const (
	HoldQuarantine HoldReason = "quarantine" // the device may know more than the database
	HoldParked     HoldReason = "parked"     // a message about it could not be decided
	HoldPaused     HoldReason = "paused"     // an operator stopped the cell or an order (ISA-95: suspended)
	HoldSuspended  HoldReason = "suspended"  // an operator stopped one part
	HoldRecovery   HoldReason = "recovery"   // the cell has to be compared with the machines first
	HoldDisabled   HoldReason = "disabled"   // an operator lets the cell run without this equipment
)

func (HoldReason) Values() []string {
	return []string{"quarantine", "parked", "paused", "suspended", "recovery", "disabled"}
}

// Verdict is a person's answer to an uncertain command.
type Verdict string

const (
	VerdictApplied Verdict = "applied"
	VerdictFailed  Verdict = "failed"
)
