package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"

	"surehand/internal/term"
)

// Telemetry is one reading as it came. Its time-ordered key, and a BRIN index that a migration adds (ent
// cannot state its options), keep the insert rate flat while the table grows.
type Telemetry struct{ ent.Schema }

func (Telemetry) Annotations() []schema.Annotation {
	return []schema.Annotation{entsql.Annotation{Table: "telemetry"}}
}

func (Telemetry) Fields() []ent.Field {
	return []ent.Field{
		uuidKey(term.TelemetryID("")),
		fixed.text("device_id", term.DeviceID("")),
		fixed.time("sampled_at"),
		fixed.time("received_at"),
		fixedOptional.text("boot_id", nil),
		field.Int64("seq").Immutable(),
		fixed.text("body", nil),
	}
}

// AutomationEndpointEvent is one normalised value of one endpoint; its id is the dedupe key of D-3.
type AutomationEndpointEvent struct{ ent.Schema }

func (AutomationEndpointEvent) Annotations() []schema.Annotation {
	return []schema.Annotation{checks("automation_endpoint_events",
		"event_status_known", known("status", term.EventStatus("").Values()),
		"event_reason_known", known("reason", term.DiscardReason("").Values()),
		"event_discarded_has_reason", "(status = 'discarded') = (reason IS NOT NULL)",
		"event_is_open", "is_open = (status = 'pending')",
	)}
}

func (AutomationEndpointEvent) Fields() []ent.Field {
	return []ent.Field{
		uuidKey(term.EventID("")), version(),
		fixed.text("organisation_id", term.OrganisationID("")),
		fixed.text("farm_id", term.FarmID("")),
		fixed.text("device_id", term.DeviceID("")),
		fixed.text("endpoint_id", term.EndpointID("")),
		fixedOptional.uuid("telemetry_id", term.TelemetryID("")),
		fixed.time("at"),
		fixed.time("received_at"),
		fixed.text("value", nil),
		fixed.text("snapshot", nil),
		changing.enum("status", term.EventPending),
		optional.enum("reason", term.DiscardBackfill),
		field.Bool("is_open"),
	}
}

func (AutomationEndpointEvent) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("id").Annotations(entsql.IndexWhere("is_open")).StorageKey("automation_endpoint_events_open"),
	}
}

// AutomationRuleExecution is one verdict of a rule, or one hand command.
type AutomationRuleExecution struct{ ent.Schema }

func (AutomationRuleExecution) Annotations() []schema.Annotation {
	return []schema.Annotation{checks("automation_rule_executions",
		"execution_source_known", known("source", term.ExecutionSource("").Values()),
		"execution_outcome_known", known("outcome", term.ExecutionOutcome("").Values()),
		"execution_final_state_known", known("final_state", term.CommandState("").Values()),
		"execution_fired_has_intent", "(outcome = 'fired') = (intent_id IS NOT NULL)",
		"execution_counts", "count >= 1 AND last_at >= first_at",
		"execution_hand_has_no_rule", "(source = 'hand') = (rule_id IS NULL)",
	)}
}

func (AutomationRuleExecution) Fields() []ent.Field {
	return []ent.Field{
		uuidKey(term.ExecutionID("")), version(),
		fixed.enum("source", term.SourceRule),
		fixedOptional.text("rule_id", term.RuleID("")),
		field.Int64("rule_revision").Immutable(),
		fixedOptional.uuid("event_id", term.EventID("")),
		optional.uuid("last_event_id", term.EventID("")),
		fixed.text("farm_id", term.FarmID("")),
		fixed.text("target_id", term.EndpointID("")),
		changing.enum("outcome", term.ExecutionFired),
		optional.text("reason", nil),
		optional.document("leaves"),
		optional.document("gates"),
		optional.uuid("intent_id", term.IntentID("")),
		optional.enum("final_state", term.PendingDispatch),
		optional.text("final_reason", nil),
		field.Int64("count"),
		changing.time("first_at"),
		changing.time("last_at"),
		field.Bool("is_open"),
	}
}

// Count, last_at and the final state change while a verdict repeats; no index stands on them.
func (AutomationRuleExecution) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("id").Annotations(entsql.IndexWhere("is_open")).StorageKey("automation_rule_executions_open"),
		index.Fields("rule_id", "id").StorageKey("automation_rule_executions_by_rule"),
	}
}
