package dbstate

import (
	"time"

	"surehand/internal/dbstate/rows"
	"surehand/internal/plant"
	"surehand/internal/term"
)

// tables are the set-based writers of all kinds. The columns are those of ent/schema; a test writes every
// kind both ways and compares what is stored.
var tables = map[plant.Kind]writer{
	plant.KindOrganisation: organisations, plant.KindFarm: farms, plant.KindProfile: profiles, plant.KindDevice: devices,
	plant.KindEndpoint: endpoints, plant.KindRule: rules, plant.KindTelemetry: telemetry, plant.KindEvent: events,
	plant.KindExecution: executions, plant.KindIntent: intents, plant.KindAttempt: attempts, plant.KindReceipt: receipts,
	plant.KindCell: cells, plant.KindRoute: routes, plant.KindEquipment: equipments, plant.KindPallet: pallets, plant.KindOrder: orders,
	plant.KindSlot: slots, plant.KindJob: jobs, plant.KindTask: tasks, plant.KindQuestion: questions, plant.KindAlarm: alarms,
	plant.KindHold: holds, plant.KindKey: keys, plant.KindParked: parked, kindEntry: eventLog,
}

func key[R plant.Row]() field[R]     { return text("id", func(r R) string { return r.Key() }).once() }
func uuidKey[R plant.Row]() field[R] { return key[R]().as("uuid") }
func version[R plant.Row]() field[R] { return number("version", func(r R) int64 { return r.Ver() }) }
func isOpen[R plant.Row]() field[R]  { return flag("is_open", func(r R) bool { return r.Open() }) }

type (
	organisation = *plant.Organisation
	farm         = *plant.Farm
	profile      = *plant.Profile
	device       = *plant.Device
	endpoint     = *plant.Endpoint
	rule         = *plant.Rule
	reading      = *plant.Telemetry
	event        = *plant.Event
	execution    = *plant.Execution
	intent       = *plant.Intent
	attempt      = *plant.Attempt
	receipt      = *plant.Receipt
	hold         = *plant.Hold
	messageKey   = *plant.MessageKey
	parkedOne    = *plant.Parked
)

var organisations = newTable("organisations", false, key[organisation](), version[organisation](), field[organisation]{},
	text("name", func(r organisation) string { return r.Name }))

var farms = newTable("farms", false, key[farm](), version[farm](), field[farm]{},
	text("organisation_id", func(r farm) term.OrganisationID { return r.OrganisationID }),
	text("name", func(r farm) string { return r.Name }))

var profiles = newTable("device_profiles", false, key[profile](), version[profile](), field[profile]{},
	text("name", func(r profile) string { return r.Name }),
	text("class", func(r profile) term.DeviceClass { return r.Class }),
	text("timing", func(r profile) string { return term.JSON(r.Timing) }).as("json"),
	text("endpoints", func(r profile) string { return rows.List(r.Endpoints) }).optional().as("json"))

var devices = newTable("devices", false, key[device](), version[device](), field[device]{},
	text("farm_id", func(r device) term.FarmID { return r.FarmID }),
	text("profile_id", func(r device) term.ProfileID { return r.ProfileID }),
	text("serial", func(r device) string { return r.Serial }),
	text("name", func(r device) string { return r.Name }),
	text("status", func(r device) term.DeviceStatus { return r.Status }),
	text("class", func(r device) term.DeviceClass { return r.Class }),
	text("boot_id", func(r device) string { return r.BootID }).optional(),
	text("boots", func(r device) string { return rows.List(r.Boots) }).optional().as("jsonb"))

var endpoints = newTable("device_endpoints", false, key[endpoint](), version[endpoint](), field[endpoint]{},
	text("device_id", func(r endpoint) term.DeviceID { return r.DeviceID }).once(),
	text("endpoint_key", func(r endpoint) string { return r.EndpKey }).once(),
	flag("enabled", func(r endpoint) bool { return r.Enabled }),
	text("overrides", func(r endpoint) string { return term.JSON(r.Overrides) }).as("json"),
	text("value", func(r endpoint) string { return rows.Value(r.Value) }).optional(),
	moment("sampled_at", func(r endpoint) time.Time { return r.SampledAt }).optional(),
	moment("received_at", func(r endpoint) time.Time { return r.ReceivedAt }).optional(),
	text("mark", func(r endpoint) string { return term.JSON(r.Mark) }).as("json"))

var rules = newTable("automation_rules", false, key[rule](), version[rule](), field[rule]{},
	text("farm_id", func(r rule) term.FarmID { return r.FarmID }),
	text("name", func(r rule) string { return r.Name }),
	flag("active", func(r rule) bool { return r.Active }),
	number("revision", func(r rule) int64 { return r.Revision }),
	text("trigger_id", func(r rule) term.EndpointID { return r.Trigger }),
	text("condition", func(r rule) string { return term.JSON(r.Condition) }).as("json"),
	text("target_id", func(r rule) term.EndpointID { return r.Target }),
	text("target_value", func(r rule) string { return r.TargetValue.String() }),
	number("hold_off_ns", func(r rule) int64 { return int64(r.HoldOff) }),
	moment("hold_until", func(r rule) time.Time { return r.HoldUntil }).optional(),
	text("execution_id", func(r rule) term.ExecutionID { return r.ExecutionID }).optional().as("uuid"))

var telemetry = newTable("telemetry", true, uuidKey[reading](), field[reading]{}, field[reading]{},
	text("device_id", func(r reading) term.DeviceID { return r.DeviceID }),
	moment("sampled_at", func(r reading) time.Time { return r.SampledAt }),
	moment("received_at", func(r reading) time.Time { return r.ReceivedAt }),
	text("boot_id", func(r reading) string { return r.BootID }).optional(),
	number("seq", func(r reading) int64 { return r.Seq }),
	text("body", func(r reading) string { return r.Body }))

var events = newTable("automation_endpoint_events", true, uuidKey[event](), version[event](),
	text("status", func(r event) term.EventStatus { return r.Status }),
	text("organisation_id", func(r event) term.OrganisationID { return r.OrganisationID }).once(),
	text("farm_id", func(r event) term.FarmID { return r.FarmID }).once(),
	text("device_id", func(r event) term.DeviceID { return r.DeviceID }).once(),
	text("endpoint_id", func(r event) term.EndpointID { return r.EndpointID }).once(),
	text("telemetry_id", func(r event) term.TelemetryID { return r.TelemetryID }).optional().as("uuid").once(),
	moment("at", func(r event) time.Time { return r.At }).once(),
	moment("received_at", func(r event) time.Time { return r.ReceivedAt }).once(),
	text("value", func(r event) string { return r.Value.String() }).once(),
	text("snapshot", func(r event) string { return r.Snapshot }).once(),
	text("status", func(r event) term.EventStatus { return r.Status }),
	text("reason", func(r event) term.DiscardReason { return r.Reason }).optional(),
	isOpen[event]())

var executions = newTable("automation_rule_executions", false, uuidKey[execution](), version[execution](), field[execution]{},
	text("source", func(r execution) term.ExecutionSource { return r.Source }).once(),
	text("rule_id", func(r execution) term.RuleID { return r.RuleID }).optional().once(),
	number("rule_revision", func(r execution) int64 { return r.RuleRevision }).once(),
	text("event_id", func(r execution) term.EventID { return r.EventID }).optional().as("uuid").once(),
	text("last_event_id", func(r execution) term.EventID { return r.LastEventID }).optional().as("uuid"),
	text("farm_id", func(r execution) term.FarmID { return r.FarmID }).once(),
	text("target_id", func(r execution) term.EndpointID { return r.TargetID }).once(),
	text("outcome", func(r execution) term.ExecutionOutcome { return r.Outcome }),
	text("reason", func(r execution) string { return r.Reason }).optional(),
	text("leaves", func(r execution) string { return rows.List(r.Leaves) }).optional().as("json"),
	text("gates", func(r execution) string { return rows.List(r.Gates) }).optional().as("json"),
	text("intent_id", func(r execution) term.IntentID { return r.IntentID }).optional().as("uuid"),
	text("final_state", func(r execution) term.CommandState { return r.FinalState }).optional(),
	text("final_reason", func(r execution) string { return r.FinalReason }).optional(),
	number("count", func(r execution) int64 { return r.Count }),
	moment("first_at", func(r execution) time.Time { return r.FirstAt }),
	moment("last_at", func(r execution) time.Time { return r.LastAt }),
	isOpen[execution]())

var intents = newTable("automation_command_intents", false, uuidKey[intent](), version[intent](),
	text("state", func(r intent) term.CommandState { return r.State }),
	text("execution_id", func(r intent) term.ExecutionID { return r.ExecutionID }).as("uuid").once(),
	text("rule_id", func(r intent) term.RuleID { return r.RuleID }).optional().once(),
	number("rule_revision", func(r intent) int64 { return r.RuleRevision }).once(),
	text("event_id", func(r intent) term.EventID { return r.EventID }).optional().as("uuid").once(),
	text("actor", func(r intent) string { return r.Actor }).optional().once(),
	text("farm_id", func(r intent) term.FarmID { return r.FarmID }).once(),
	text("device_id", func(r intent) term.DeviceID { return r.DeviceID }).once(),
	text("endpoint_id", func(r intent) term.EndpointID { return r.EndpointID }).once(),
	text("serial", func(r intent) string { return r.Serial }).once(),
	text("method", func(r intent) string { return r.Method }).once(),
	text("params", func(r intent) string { return r.Params }).once(),
	text("target_value", func(r intent) string { return r.TargetValue.String() }).once(),
	text("action", func(r intent) term.ActionKind { return r.Action }).once(),
	text("idempotency_key", func(r intent) string { return r.IdempotencyKey }).once(),
	text("fingerprint", func(r intent) string { return r.Fingerprint }).once(),
	text("state", func(r intent) term.CommandState { return r.State }),
	text("waiting_for", func(r intent) term.Gate { return r.WaitingFor }).optional(),
	number("attempt_count", func(r intent) int { return r.AttemptCount }),
	number("attempt_number", func(r intent) int { return r.AttemptNumber }),
	number("max_attempts", func(r intent) int { return r.MaxAttempts }).once(),
	moment("next_attempt_at", func(r intent) time.Time { return r.NextAttemptAt }).optional(),
	moment("due_at", func(r intent) time.Time { return r.DueAt }).optional(),
	moment("deadline_at", func(r intent) time.Time { return r.DeadlineAt }).once(),
	text("last_error", func(r intent) string { return r.LastError }).optional(),
	text("mqtt_request_id", func(r intent) string { return r.MQTTRequestID }).optional(),
	text("command_id", func(r intent) term.CommandID { return r.CommandID }).optional(),
	text("boot_id", func(r intent) string { return r.BootID }).optional(),
	flag("holds_endpoint", func(r intent) bool { return r.HoldsEndpoint }),
	moment("lapse_at", func(r intent) time.Time { return r.LapseAt }).optional(),
	flag("possibly_executed", func(r intent) bool { return r.PossiblyExecuted }),
	moment("fenced_at", func(r intent) time.Time { return r.FencedAt }).optional(),
	moment("acked_at", func(r intent) time.Time { return r.AckedAt }).optional(),
	text("ack_mark", func(r intent) string { return term.JSON(r.AckMark) }).as("json"),
	number("weak_samples", func(r intent) int { return r.WeakSamples }),
	text("evidence_id", func(r intent) term.ReceiptID { return r.EvidenceID }).optional().as("uuid"),
	moment("created_at", func(r intent) time.Time { return r.CreatedAt }).once(),
	moment("updated_at", func(r intent) time.Time { return r.UpdatedAt }),
	moment("ended_at", func(r intent) time.Time { return r.EndedAt }).optional(),
	moment("closed_at", func(r intent) time.Time { return r.ClosedAt }).optional(),
	isOpen[intent]())

var attempts = newTable("command_attempts", false, uuidKey[attempt](), version[attempt](),
	text("outcome", func(r attempt) term.AttemptOutcome { return r.Outcome }),
	text("intent_id", func(r attempt) term.IntentID { return r.IntentID }).as("uuid").once(),
	text("command_id", func(r attempt) term.CommandID { return r.CommandID }).once(),
	number("number", func(r attempt) int { return r.Number }).once(),
	number("epoch", func(r attempt) int64 { return r.Epoch }).once(),
	moment("fenced_at", func(r attempt) time.Time { return r.FencedAt }).once(),
	moment("deadline_at", func(r attempt) time.Time { return r.DeadlineAt }).once(),
	text("topic", func(r attempt) string { return r.Topic }).once(),
	number("qos", func(r attempt) int { return r.QoS }).once(),
	text("payload", func(r attempt) string { return r.Payload }).once(),
	text("hash", func(r attempt) string { return r.Hash }).once(),
	text("outcome", func(r attempt) term.AttemptOutcome { return r.Outcome }),
	text("error", func(r attempt) string { return r.Error }).optional(),
	moment("ended_at", func(r attempt) time.Time { return r.EndedAt }).optional(),
	isOpen[attempt]())

var receipts = newTable("device_command_receipts", false, uuidKey[receipt](), field[receipt]{}, field[receipt]{},
	text("intent_id", func(r receipt) term.IntentID { return r.IntentID }).optional().as("uuid"),
	text("device_id", func(r receipt) term.DeviceID { return r.DeviceID }).optional(),
	text("serial", func(r receipt) string { return r.Serial }).optional(),
	text("type", func(r receipt) term.ReceiptType { return r.Type }),
	text("correlation", func(r receipt) term.Correlation { return r.Correlation }),
	text("correlation_key", func(r receipt) string { return r.CorrelationKey }).optional(),
	text("reason", func(r receipt) string { return r.Reason }).optional(),
	raw("payload", func(r receipt) []byte { return r.Payload }),
	moment("received_at", func(r receipt) time.Time { return r.ReceivedAt }))

var holds = newTable("holds", false, uuidKey[hold](), version[hold](), isOpen[hold](),
	text("subject", func(r hold) string { return r.Subject }).once(),
	text("reason", func(r hold) term.HoldReason { return r.Reason }).once(),
	text("by", func(r hold) string { return r.By }).optional().once(),
	text("why", func(r hold) string { return r.Why }).optional().once(),
	moment("at", func(r hold) time.Time { return r.At }).once(),
	moment("ended_at", func(r hold) time.Time { return r.EndedAt }).optional(),
	text("ended_by", func(r hold) string { return r.EndedBy }).optional(),
	text("end_why", func(r hold) string { return r.EndWhy }).optional(),
	isOpen[hold]())

var keys = newTable("message_keys", false, uuidKey[messageKey](), field[messageKey]{}, field[messageKey]{},
	text("body_hash", func(r messageKey) string { return r.BodyHash }).optional(),
	text("outcome", func(r messageKey) string { return r.Outcome }).optional().as("json"),
	moment("at", func(r messageKey) time.Time { return r.At }))

var parked = newTable("parked_messages", false, uuidKey[parkedOne](), field[parkedOne]{}, field[parkedOne]{},
	text("type", func(r parkedOne) string { return r.Type }),
	text("source", func(r parkedOne) string { return r.Source }),
	raw("raw", func(r parkedOne) []byte { return r.Raw }),
	text("reason", func(r parkedOne) string { return r.Reason }).optional(),
	moment("at", func(r parkedOne) time.Time { return r.At }))

// entry is a log entry on its way into the event log: not a row of the picture, but written like one.
type entry struct {
	plant.Entry
	generation string
}

const kindEntry plant.Kind = "event_log"

func (*entry) Kind() plant.Kind { return kindEntry }
func (e *entry) Key() string    { return string(e.MessageID) }
func (*entry) Ver() int64       { return 1 }
func (*entry) Open() bool       { return false }

var eventLog = newTable("event_log", false, number("seq", func(r *entry) int64 { return r.Seq }), field[*entry]{}, field[*entry]{},
	text("generation", func(r *entry) string { return r.generation }).as("uuid"),
	text("message_id", func(r *entry) term.MessageID { return r.MessageID }).as("uuid"),
	text("type", func(r *entry) string { return r.Type }),
	text("source", func(r *entry) string { return r.Source }),
	text("actor", func(r *entry) string { return r.Actor }).optional(),
	text("correlation_id", func(r *entry) string { return r.CorrelationID }).optional(),
	text("causation_id", func(r *entry) string { return r.CausationID }).optional(),
	moment("created_at", func(r *entry) time.Time { return r.CreatedAt }).optional(),
	moment("decided_at", func(r *entry) time.Time { return r.At }),
	text("outcome", func(r *entry) string { return r.Outcome }),
	text("reason", func(r *entry) string { return r.Reason }).optional(),
	text("subject", func(r *entry) string { return r.Subject }).optional(),
	text("notes", func(r *entry) string { return rows.List(r.Notes) }).optional().as("jsonb"),
	number("notes_left_out", func(r *entry) int { return r.NotesLeftOut }))
