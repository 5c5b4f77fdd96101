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
	orderEnded = in("completed", "cancelled")
	jobEnded   = in("COMPLETED", "SCRAPPED", "CANCELLED")
	inTheCell  = "position_type NOT IN " + in("NONE", "OUT")
)

// WorkOrder is an order for parts of one product on one route.
type WorkOrder struct{ ent.Schema }

func (WorkOrder) Annotations() []schema.Annotation {
	return []schema.Annotation{checks("work_orders",
		"order_words_known", words(known("state", term.OrderState("").Values()), known("inside", term.InsideRule("").Values())),
		"order_end_has_time", "(state IN "+orderEnded+") = (ended_at IS NOT NULL)",
		"order_end_counts_all", "(state IN "+orderEnded+") = (completed + scrapped + cancelled = planned)",
		"order_counts", "planned BETWEEN 1 AND 10000 AND completed >= 0 AND scrapped >= 0 AND cancelled >= 0 AND completed + scrapped + cancelled <= planned",
		"order_stopping_has_rule", "state <> 'stopping' OR inside IS NOT NULL",
		"order_is_open", "is_open = (state NOT IN "+orderEnded+")",
	)}
}

func (WorkOrder) Fields() []ent.Field {
	return []ent.Field{
		nameKey(term.OrderID("")), version(),
		fixed.text("product", nil),
		fixed.text("route_id", term.RouteID("")),
		field.Int64("route_revision").Immutable(),
		fixedOptional.document("steps"),
		field.Int("priority"),
		changing.text("state", term.OrderDraft),
		optional.text("inside", term.InsideRetire),
		field.Int("planned").Immutable(),
		field.Int("completed"),
		field.Int("scrapped"),
		field.Int("cancelled"),
		fixedOptional.text("actor", nil),
		fixed.time("created_at"),
		optional.time("started_at"),
		optional.time("ended_at"),
		field.Bool("is_open"),
	}
}

func (WorkOrder) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("id").Annotations(entsql.IndexWhere("is_open")).StorageKey("work_orders_open"),
		index.Fields("created_at", "id").StorageKey("work_orders_by_time"),
	}
}

// Job is one part of an order. State and position are independent: a claim changes the state, only evidence or an
// answer the position.
type Job struct{ ent.Schema }

func (Job) Annotations() []schema.Annotation {
	return []schema.Annotation{checks("jobs",
		"job_words_known", words(
			known("state", term.JobState("").Values()),
			known("position_type", term.PositionType("").Values()),
			known("disposition", term.Disposition("").Values())),
		"job_end_is_out", "(state IN "+jobEnded+") = (ended_at IS NOT NULL)"+
			" AND (state NOT IN "+jobEnded+" OR (position_type IN "+in("NONE", "OUT")+" AND temp_slot_no IS NULL))"+
			" AND (position_type <> 'OUT' OR state IN "+jobEnded+")",
		"job_not_arrived_is_nowhere", "(state <> 'NOT_ARRIVED' OR position_type = 'NONE') AND (position_type <> 'NONE' OR state = 'NOT_ARRIVED' OR state IN "+jobEnded+")",
		"job_state_fits_place", "CASE state WHEN 'QUEUED' THEN position_type = 'ON_DOCK' WHEN 'WAITING' THEN position_type = 'ON_BUFFER'"+
			" WHEN 'PROCESSING' THEN position_type = 'ON_EQUIPMENT' WHEN 'WAITING_UNLOAD' THEN position_type = 'ON_EQUIPMENT'"+
			" WHEN 'WAITING_JUDGEMENT' THEN position_type IN "+in("ON_EQUIPMENT", "ON_BUFFER")+
			" WHEN 'MOVING' THEN "+inTheCell+" ELSE true END",
		"job_on_robot_is_moving", "position_type <> 'ON_ROBOT' OR state = 'MOVING'",
		"job_presented_is_in_gripper", "presented_to IS NULL OR position_type = 'ON_ROBOT'",
		"job_place_has_ref", "(position_type = 'NONE') = (position_ref_id IS NULL)",
		"job_on_buffer_is_on_its_own_place", "(temp_slot_no IS NULL OR temp_slot_no BETWEEN 1 AND 64)"+
			" AND (position_type <> 'ON_BUFFER' OR (temp_slot_no IS NOT NULL AND position_ref_id IS NOT NULL AND position_ref_id = temp_slot_no::text))",
		"job_disposition_fits_end", "CASE state WHEN 'COMPLETED' THEN disposition = 'none' WHEN 'SCRAPPED' THEN disposition = 'scrap'"+
			" WHEN 'CANCELLED' THEN disposition = 'cancel' ELSE true END",
		"job_flags", "is_open = (state NOT IN "+jobEnded+") AND occupies = (is_open AND "+inTheCell+")",
	)}
}

func (Job) Fields() []ent.Field {
	return []ent.Field{
		nameKey(term.JobID("")), version(),
		fixed.text("order_id", term.OrderID("")),
		field.Int("number").Immutable(),
		changing.text("state", term.NotArrived),
		changing.text("position_type", term.Nowhere),
		optional.text("position_ref_id", nil),
		optional.number("temp_slot_no"),
		field.Int("step_index"),
		changing.text("disposition", term.DispositionNone),
		optional.text("presented_to", term.EquipmentID("")),
		changing.document("context"),
		optional.time("entered_at"),
		optional.time("ended_at"),
		field.Bool("is_open"),
		field.Bool("occupies"),
	}
}

// A part keeps its buffer place until it ends, wherever it is; a place in the cell has one part.
func (Job) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("order_id", "number").Unique().StorageKey("job_number_once"),
		index.Fields("position_type", "position_ref_id").Unique().Annotations(entsql.IndexWhere("occupies")).StorageKey("job_one_per_place"),
		index.Fields("temp_slot_no").Unique().Annotations(entsql.IndexWhere("is_open")).StorageKey("job_one_per_buffer_place"),
		index.Fields("order_id", "number").Annotations(entsql.IndexWhere("is_open")).StorageKey("jobs_open"),
	}
}

// Task is one physical action. Its number on the wire is never used again.
type Task struct{ ent.Schema }

var taskEnded = in("SUCCEEDED", "FAILED", "CANCELLED")

func (Task) Annotations() []schema.Annotation {
	return []schema.Annotation{checks("tasks",
		"task_words_known", words(
			known("type", term.TaskKind("").Values()),
			known("state", term.TaskState("").Values()),
			known("part_at", term.PartAt("").Values()),
			known("from_type", term.PositionType("").Values()),
			known("to_type", term.PositionType("").Values())),
		"task_end_has_time", "(state IN "+taskEnded+") = (ended_at IS NOT NULL)",
		"task_start_has_no_job", "(type = 'START_MACHINE') = (job_id IS NULL) AND (job_id IS NULL) = (order_id IS NULL)",
		"task_open_has_no_result", "state IN "+taskEnded+" OR part_at IS NULL",
		"task_running_has_timer", "(state = 'RUNNING') = (due_at IS NOT NULL)",
		"task_action_no_fits_the_wire", "action_no BETWEEN 0 AND 4294967295",
		"task_flags", "is_open = (state NOT IN "+taskEnded+") AND uses_robot = (is_open AND type <> 'START_MACHINE') AND starts_machine = (is_open AND type = 'START_MACHINE')",
	)}
}

func (Task) Fields() []ent.Field {
	return []ent.Field{
		uuidKey(term.TaskID("")), version(),
		fixed.text("type", term.TaskMove),
		fixedOptional.text("job_id", term.JobID("")),
		fixedOptional.text("order_id", term.OrderID("")),
		fixed.text("equipment_id", term.EquipmentID("")),
		fixedOptional.text("from_type", term.Nowhere),
		fixedOptional.text("from_ref_id", nil),
		fixedOptional.text("to_type", term.Nowhere),
		fixedOptional.text("to_ref_id", nil),
		field.Int("slot").Immutable(),
		fixedOptional.document("slots"),
		field.Int("program").Immutable(),
		changing.text("state", term.TaskPending),
		field.Int64("action_no").Immutable(),
		field.Int("attempt").Immutable(),
		field.Int64("epoch").Immutable(),
		optional.text("part_at", term.PartUnknown),
		optional.text("error", nil),
		fixedOptional.document("plan"),
		optional.time("due_at"),
		fixed.time("created_at"),
		optional.time("ended_at"),
		field.Bool("is_open"),
		field.Bool("uses_robot"),
		field.Bool("starts_machine"),
	}
}

// The flags of the unique indexes are true for open tasks only, so an index on a flag under itself has one row.
func (Task) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("action_no").Unique().StorageKey("task_action_no_once"),
		index.Fields("uses_robot").Unique().Annotations(entsql.IndexWhere("uses_robot")).StorageKey("task_one_open_of_the_robot"),
		index.Fields("equipment_id").Unique().Annotations(entsql.IndexWhere("starts_machine")).StorageKey("task_one_open_start_per_machine"),
		index.Fields("id").Annotations(entsql.IndexWhere("is_open")).StorageKey("tasks_open"),
		index.Fields("job_id", "id").StorageKey("tasks_by_job"),
		index.Fields("order_id", "id").StorageKey("tasks_by_order"),
	}
}
