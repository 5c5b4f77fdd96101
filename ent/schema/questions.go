package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"

	"surehand/internal/term"
)

// ManualAction is a question that only a person can answer.
type ManualAction struct{ ent.Schema }

func (ManualAction) Annotations() []schema.Annotation {
	return []schema.Annotation{checks("manual_actions",
		"question_words_known", words(known("state", term.QuestionState("").Values()), known("finding", term.Finding("").Values())),
		"question_end_has_answer", "(state = 'OPEN') = (ended_at IS NULL) AND (state = 'OPEN') = (answer IS NULL) AND (state = 'OPEN') = (answered_by IS NULL)",
		"question_has_answers", "answers IS NOT NULL AND touches IS NOT NULL AND json_array_length(answers) > 0 AND jsonb_array_length(touches) > 0",
		"question_is_open", "is_open = (state = 'OPEN')",
	)}
}

func (ManualAction) Fields() []ent.Field {
	return []ent.Field{
		uuidKey(term.QuestionID("")), version(),
		changing.text("state", term.QuestionOpen),
		fixed.text("finding", term.FindJobSlot),
		fixed.text("subject", nil),
		optional.list("touches"),
		changing.text("record", nil),
		changing.text("machine", nil),
		optional.document("readings"),
		changing.text("hash", nil),
		optional.document("answers"),
		optional.text("suggested", nil),
		optional.uuid("task_id", term.TaskID("")),
		optional.text("job_id", term.JobID("")),
		optional.text("place_type", term.Nowhere),
		optional.text("place_ref_id", nil),
		fixed.time("opened_at"),
		optional.text("answer", nil),
		optional.text("answered_by", nil),
		optional.text("reason", nil),
		optional.time("ended_at"),
		field.Bool("is_open"),
	}
}

func (ManualAction) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("finding", "subject").Unique().Annotations(entsql.IndexWhere("is_open")).StorageKey("question_one_open_per_finding_and_subject"),
		index.Fields("id").Annotations(entsql.IndexWhere("is_open")).StorageKey("manual_actions_open"),
		index.Fields("job_id", "id").StorageKey("manual_actions_by_job"),
	}
}

// Alarm by ISA-18.2.
type Alarm struct{ ent.Schema }

func (Alarm) Annotations() []schema.Annotation {
	return []schema.Annotation{checks("alarms",
		"alarm_words_known", words(known("state", term.AlarmState("").Values()), known("type", term.AlarmKind("").Values())),
		"alarm_normal_has_time", "(state = 'normal') = (ended_at IS NOT NULL)",
		"alarm_acknowledged_has_actor", "(state <> 'acknowledged' OR acked_by IS NOT NULL) AND (state <> 'unacknowledged' OR acked_by IS NULL)",
		"alarm_shelved_has_reason", "(shelved_until IS NULL) = (shelved_by IS NULL) AND (shelved_until IS NULL) = (shelve_reason IS NULL)"+
			" AND (shelved_until IS NULL OR type IN "+in(shelvable()...)+")",
		"alarm_counts", "count >= 1",
		"alarm_is_open", "is_open = (state <> 'normal')",
	)}
}

// shelvable lists the kinds that a person may put aside.
func shelvable() []string {
	var list []string
	for _, k := range term.AlarmKind("").Values() {
		if term.AlarmKind(k).Shelvable() {
			list = append(list, k)
		}
	}
	return list
}

func (Alarm) Fields() []ent.Field {
	return []ent.Field{
		uuidKey(term.AlarmID("")), version(),
		fixed.text("type", term.AlarmOffline),
		fixed.text("subject", nil),
		changing.text("state", term.AlarmUnacknowledged),
		changing.text("text", nil),
		field.Int64("count"),
		field.Bool("first_out").Immutable(),
		optional.time("shelved_until"),
		optional.text("shelved_by", nil),
		optional.text("shelve_reason", nil),
		changing.time("raised_at"),
		optional.time("cleared_at"),
		optional.text("acked_by", nil),
		optional.time("acked_at"),
		optional.time("ended_at"),
		field.Bool("is_open"),
	}
}

func (Alarm) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("type", "subject").Unique().Annotations(entsql.IndexWhere("is_open")).StorageKey("alarm_one_open_per_type_and_subject"),
		index.Fields("id").Annotations(entsql.IndexWhere("is_open")).StorageKey("alarms_open"),
	}
}
