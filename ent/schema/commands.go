package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"

	"surehand/internal/term"
)

var (
	live  = in("pending_dispatch", "dispatched", "acknowledged", "retrying")
	ended = in("applied", "failed", "expired")
)

// AutomationCommandIntent is one decided change of a device endpoint: the row that owns its whole life.
type AutomationCommandIntent struct{ ent.Schema }

func (AutomationCommandIntent) Annotations() []schema.Annotation {
	return []schema.Annotation{checks("automation_command_intents",
		"intent_state_known", known("state", term.CommandState("").Values()),
		"intent_action_known", known("action", term.ActionKind("").Values()),
		"intent_end_has_time", "(state IN "+ended+") = (ended_at IS NOT NULL)",
		"intent_applied_has_evidence", "state <> 'applied' OR evidence_id IS NOT NULL",
		"intent_sure_end_releases", "state NOT IN ('applied', 'failed') OR NOT holds_endpoint",
		"intent_expired_holds_only_if_it_may_have_run", "state <> 'expired' OR NOT holds_endpoint OR possibly_executed",
		"intent_possibly_executed_had_attempt", "NOT possibly_executed OR (state = 'expired' AND attempt_count > 0)",
		"intent_sent_holds", "state NOT IN ('dispatched', 'acknowledged', 'retrying') OR holds_endpoint",
		"intent_sent_was_attempted", "state NOT IN ('dispatched', 'acknowledged', 'uncertain') OR attempt_count > 0",
		"intent_holding_has_command_id", "NOT holds_endpoint OR command_id IS NOT NULL",
		"intent_open_while_live_or_holding", "(closed_at IS NULL) = (state IN "+live+" OR holds_endpoint)",
		"intent_live_has_timer", "state NOT IN "+live+" OR due_at IS NOT NULL",
		"intent_attempts_bounded", "attempt_count >= 0 AND attempt_count <= max_attempts AND attempt_count <= attempt_number AND max_attempts <= 10",
		"intent_relative_action_once", "action = 'absolute' OR max_attempts = 1",
		"intent_is_open", "is_open = (closed_at IS NULL)",
	)}
}

func (AutomationCommandIntent) Fields() []ent.Field {
	return []ent.Field{
		uuidKey(term.IntentID("")), version(),
		fixed.uuid("execution_id", term.ExecutionID("")),
		fixedOptional.text("rule_id", term.RuleID("")),
		field.Int64("rule_revision").Immutable(),
		fixedOptional.uuid("event_id", term.EventID("")),
		fixedOptional.text("actor", nil),
		fixed.text("farm_id", term.FarmID("")),
		fixed.text("device_id", term.DeviceID("")),
		fixed.text("endpoint_id", term.EndpointID("")),
		fixed.text("serial", nil),
		fixed.text("method", nil),
		fixed.text("params", nil),
		fixed.text("target_value", nil),
		fixed.enum("action", term.ActionAbsolute),
		fixed.text("idempotency_key", nil),
		fixed.text("fingerprint", nil),
		changing.enum("state", term.PendingDispatch),
		optional.text("waiting_for", term.GateNone),
		field.Int("attempt_count"),
		field.Int("attempt_number"),
		field.Int("max_attempts").Immutable(),
		optional.time("next_attempt_at"),
		optional.time("due_at"),
		fixed.time("deadline_at"),
		optional.text("last_error", nil),
		optional.text("mqtt_request_id", nil),
		optional.text("command_id", term.CommandID("")),
		optional.text("boot_id", nil),
		field.Bool("holds_endpoint"),
		optional.time("lapse_at"),
		field.Bool("possibly_executed"),
		optional.time("fenced_at"),
		optional.time("acked_at"),
		changing.document("ack_mark"),
		field.Int("weak_samples"),
		optional.uuid("evidence_id", term.ReceiptID("")),
		fixed.time("created_at"),
		changing.time("updated_at"),
		optional.time("ended_at"),
		optional.time("closed_at"),
		field.Bool("is_open"),
	}
}

// The state itself has no index: its changes stay within the page, and which commands are open is answered
// by is_open, which changes once in a life.
func (AutomationCommandIntent) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("idempotency_key").Unique().StorageKey("intent_once_per_wish"),
		index.Fields("command_id").Unique().StorageKey("intent_command_id_once"),
		index.Fields("endpoint_id").Unique().Annotations(entsql.IndexWhere("holds_endpoint")).StorageKey("intent_one_holder_per_endpoint"),
		index.Fields("id").Annotations(entsql.IndexWhere("is_open")).StorageKey("automation_command_intents_open"),
		index.Fields("device_id", "id").StorageKey("automation_command_intents_by_device"),
		index.Fields("rule_id", "id").StorageKey("automation_command_intents_by_rule"),
	}
}

// CommandAttempt is one try to send an intent, committed before anything leaves the process.
type CommandAttempt struct{ ent.Schema }

func (CommandAttempt) Annotations() []schema.Annotation {
	return []schema.Annotation{checks("command_attempts",
		"attempt_outcome_known", known("outcome", term.AttemptOutcome("").Values()),
		"attempt_open_has_no_end", "(outcome = 'open') = (ended_at IS NULL)",
		"attempt_number_positive", "number >= 1",
		"attempt_qos_known", "qos IN (0, 1)",
		"attempt_is_open", "is_open = (outcome = 'open')",
	)}
}

func (CommandAttempt) Fields() []ent.Field {
	return []ent.Field{
		uuidKey(term.AttemptID("")), version(),
		fixed.uuid("intent_id", term.IntentID("")),
		fixed.text("command_id", term.CommandID("")),
		field.Int("number").Immutable(),
		field.Int64("epoch").Immutable(),
		fixed.time("fenced_at"),
		fixed.time("deadline_at"),
		fixed.text("topic", nil),
		field.Int("qos").Immutable(),
		fixed.text("payload", nil),
		fixed.text("hash", nil),
		changing.enum("outcome", term.AttemptOpen),
		optional.text("error", nil),
		optional.time("ended_at"),
		field.Bool("is_open"),
	}
}

func (CommandAttempt) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("intent_id", "number").Unique().StorageKey("attempt_number_once"),
		index.Fields("intent_id").Unique().Annotations(entsql.IndexWhere("is_open")).StorageKey("attempt_one_open_per_intent"),
	}
}

// DeviceCommandReceipt is raw evidence.
type DeviceCommandReceipt struct{ ent.Schema }

func (DeviceCommandReceipt) Annotations() []schema.Annotation {
	return []schema.Annotation{checks("device_command_receipts",
		"receipt_type_known", known("type", term.ReceiptType("").Values()),
		"receipt_correlation_known", known("correlation", term.Correlation("").Values()),
	)}
}

func (DeviceCommandReceipt) Fields() []ent.Field {
	return []ent.Field{
		uuidKey(term.ReceiptID("")),
		fixedOptional.uuid("intent_id", term.IntentID("")),
		fixedOptional.text("device_id", term.DeviceID("")),
		fixedOptional.text("serial", nil),
		fixed.enum("type", term.ReceiptAck),
		fixed.enum("correlation", term.CorrelationNone),
		fixedOptional.text("correlation_key", nil),
		fixedOptional.text("reason", nil),
		field.Bytes("payload").Optional().Immutable(),
		fixed.time("received_at"),
	}
}

func (DeviceCommandReceipt) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("intent_id", "id").StorageKey("device_command_receipts_by_intent"),
		index.Fields("type", "id").StorageKey("device_command_receipts_by_type"),
	}
}
