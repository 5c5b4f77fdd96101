package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"

	"surehand/internal/term"
)

// Hold stops a subject for a reason.
type Hold struct{ ent.Schema }

func (Hold) Annotations() []schema.Annotation {
	return []schema.Annotation{checks("holds",
		"hold_reason_known", known("reason", term.HoldReason("").Values()),
		"hold_end_has_actor", "(ended_at IS NULL) = (ended_by IS NULL)",
		"hold_is_open", "is_open = (ended_at IS NULL)",
	)}
}

func (Hold) Fields() []ent.Field {
	return []ent.Field{
		uuidKey(term.HoldID("")), version(),
		fixed.text("subject", nil),
		fixed.enum("reason", term.HoldQuarantine),
		fixedOptional.text("by", nil),
		fixedOptional.text("why", nil),
		fixed.time("at"),
		optional.time("ended_at"),
		optional.text("ended_by", nil),
		optional.text("end_why", nil),
		field.Bool("is_open"),
	}
}

func (Hold) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("subject", "reason").Unique().Annotations(entsql.IndexWhere("is_open")).StorageKey("hold_one_open_per_subject_and_reason"),
	}
}

// MessageKey remembers a message of a person, or a delivery without identity of its own.
type MessageKey struct{ ent.Schema }

func (MessageKey) Annotations() []schema.Annotation {
	return []schema.Annotation{entsql.Annotation{Table: "message_keys"}}
}

func (MessageKey) Fields() []ent.Field {
	return []ent.Field{
		uuidKey(""),
		fixedOptional.text("body_hash", nil),
		fixedOptional.document("outcome"),
		fixed.time("at"),
	}
}

// ParkedMessage is a message that could not be decided.
type ParkedMessage struct{ ent.Schema }

func (ParkedMessage) Annotations() []schema.Annotation {
	return []schema.Annotation{entsql.Annotation{Table: "parked_messages"}}
}

func (ParkedMessage) Fields() []ent.Field {
	return []ent.Field{
		uuidKey(term.MessageID("")),
		fixed.text("type", nil),
		fixed.text("source", nil),
		field.Bytes("raw").Optional().Immutable(),
		fixedOptional.text("reason", nil),
		fixed.time("at"),
	}
}

// EventLog has one row per message that decided something. Its key is the gapless seq: the loop assigns it,
// and a new generation goes on counting, so no seq is ever used by two rows.
type EventLog struct{ ent.Schema }

func (EventLog) Annotations() []schema.Annotation {
	return []schema.Annotation{checks("event_log",
		"event_log_seq_positive", "seq >= 1",
		"event_log_left_out_counted", "notes_left_out >= 0",
	)}
}

func (EventLog) Fields() []ent.Field {
	own := false
	return []ent.Field{
		field.Int64("id").StorageKey("seq").Immutable().Annotations(entsql.Annotation{Incremental: &own}),
		fixed.uuid("generation", nil),
		fixed.uuid("message_id", term.MessageID("")),
		fixed.text("type", nil),
		fixed.text("source", nil),
		fixedOptional.text("actor", nil),
		fixedOptional.text("correlation_id", nil),
		fixedOptional.text("causation_id", nil),
		fixedOptional.time("created_at"),
		fixed.time("decided_at"),
		fixed.text("outcome", nil),
		fixedOptional.text("reason", nil),
		fixedOptional.text("subject", nil),
		fixedOptional.list("notes"),
		field.Int("notes_left_out").Immutable(),
	}
}

func (EventLog) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("subject", "decided_at").StorageKey("event_log_by_subject"),
	}
}

// LoopState is the one row that every commit moves forward conditionally.
type LoopState struct{ ent.Schema }

func (LoopState) Annotations() []schema.Annotation {
	return []schema.Annotation{checks("loop_state",
		"loop_state_is_one_row", "id = 1",
		"loop_state_counts_up", "seq >= 0 AND turn >= 0 AND epoch >= 1",
	)}
}

func (LoopState) Fields() []ent.Field {
	own := false
	return []ent.Field{
		field.Int("id").Immutable().Annotations(entsql.Annotation{Incremental: &own}),
		fixed.uuid("installation", nil),
		changing.uuid("generation", nil),
		field.Int64("seq"),
		field.Int64("turn"),
		field.Int64("epoch"),
		changing.uuid("life", nil),
		field.Bool("stopped_cleanly"),
		field.Bool("drained"),
		changing.time("started_at"),
	}
}
