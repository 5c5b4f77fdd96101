package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"

	"surehand/internal/term"
)

// Cell is the one production cell. Its row changes with every action, so nothing else is kept in it that grows.
type Cell struct{ ent.Schema }

func (Cell) Annotations() []schema.Annotation {
	return []schema.Annotation{checks("cells",
		"cell_is_one_row", "id = 'cell'",
		"cell_action_no_fits_the_wire", "last_action_no BETWEEN 0 AND 4294967295",
	)}
}

func (Cell) Fields() []ent.Field {
	return []ent.Field{
		nameKey(""), version(),
		changing.text("name", nil),
		field.Int64("revision"),
		changing.text("file", nil),
		changing.document("config"),
		field.Int64("last_action_no"),
		field.Bool("clean"),
		field.Bool("refill_asked"),
		optional.text("waiting_for", nil),
		optional.document("plan"),
		optional.time("due_at"),
	}
}

// Route is the way of a part through the cell.
type Route struct{ ent.Schema }

func (Route) Annotations() []schema.Annotation {
	return []schema.Annotation{entsql.Annotation{Table: "routes"}}
}

func (Route) Fields() []ent.Field {
	return []ent.Field{
		nameKey(term.RouteID("")), version(),
		field.Int64("revision"),
		changing.text("name", nil),
		optional.document("steps"),
	}
}

// Equipment is a machine, the robot or a tool.
type Equipment struct{ ent.Schema }

func (Equipment) Annotations() []schema.Annotation {
	return []schema.Annotation{checks("equipment",
		"equipment_words_known", words(
			known("type", term.EquipmentKind("").Values()),
			known("status", term.EquipmentStatus("").Values()),
			known("done_latch", term.DoneLatch("").Values())),
		"equipment_latch_only_of_machines", "done_latch = 'none' OR type = 'machine'",
	)}
}

func (Equipment) Fields() []ent.Field {
	return []ent.Field{
		nameKey(term.EquipmentID("")), version(),
		changing.text("name", nil),
		changing.text("type", term.KindMachine),
		changing.document("config"),
		changing.text("status", term.Offline),
		changing.text("done_latch", term.LatchNone),
		field.Int64("cycle"),
		field.Bool("has_cycle"),
	}
}

// EquipmentSlot is one slot of a machine.
type EquipmentSlot struct{ ent.Schema }

func (EquipmentSlot) Annotations() []schema.Annotation {
	return []schema.Annotation{checks("equipment_slots",
		"slot_words_known", known("state", term.SlotState("").Values()),
		"slot_empty_has_no_job", "(state = 'EMPTY') = (current_job_id IS NULL)",
		"slot_times_fit", "(state = 'EMPTY') = (entered_at IS NULL) AND (state <> 'EMPTY' OR started_at IS NULL) AND (due_at IS NULL OR state = 'OCCUPIED')",
	)}
}

func (EquipmentSlot) Fields() []ent.Field {
	return []ent.Field{
		nameKey(term.SlotID("")), version(),
		fixed.text("equipment_id", term.EquipmentID("")),
		field.Int("number").Immutable(),
		changing.text("state", term.SlotEmpty),
		optional.text("current_job_id", term.JobID("")),
		optional.time("entered_at"),
		optional.time("started_at"),
		optional.time("due_at"),
	}
}

func (EquipmentSlot) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("current_job_id").Unique().StorageKey("slot_one_per_job"),
		index.Fields("equipment_id", "number").Unique().StorageKey("slot_number_once"),
	}
}

// Pallet at the dock.
type Pallet struct{ ent.Schema }

func (Pallet) Annotations() []schema.Annotation {
	return []schema.Annotation{checks("pallets", "pallet_is_open", "is_open = (left_at IS NULL)")}
}

func (Pallet) Fields() []ent.Field {
	return []ent.Field{
		nameKey(term.PalletID("")), version(),
		fixed.text("order_id", term.OrderID("")),
		field.Int("places").Immutable(),
		fixed.time("arrived_at"),
		optional.time("left_at"),
		field.Bool("is_open"),
	}
}

func (Pallet) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("id").Annotations(entsql.IndexWhere("is_open")).StorageKey("pallets_open"),
		index.Fields("order_id", "id").StorageKey("pallets_by_order"),
	}
}
