package dbstate

import (
	"time"

	"surehand/internal/dbstate/rows"
	"surehand/internal/plant"
	"surehand/internal/term"
)

type (
	cell      = *plant.Cell
	route     = *plant.Route
	equipment = *plant.Equipment
	slot      = *plant.Slot
	pallet    = *plant.Pallet
	order     = *plant.Order
	job       = *plant.Job
	task      = *plant.Task
	question  = *plant.Question
	alarm     = *plant.Alarm
)

var cells = newTable("cells", false, key[cell](), version[cell](), field[cell]{},
	text("name", func(r cell) string { return r.Name }),
	number("revision", func(r cell) int64 { return r.Revision }),
	text("file", func(r cell) string { return r.File }),
	text("config", func(r cell) string { return term.JSON(r.Config) }).as("json"),
	number("last_action_no", func(r cell) int64 { return int64(r.LastActionNo) }),
	flag("clean", func(r cell) bool { return r.Clean }),
	flag("refill_asked", func(r cell) bool { return r.RefillAsked }),
	text("waiting_for", func(r cell) string { return r.WaitingFor }).optional(),
	text("plan", func(r cell) string { return rows.Plan(r.Plan) }).optional().as("json"),
	moment("due_at", func(r cell) time.Time { return r.DueAt }).optional())

var routes = newTable("routes", false, key[route](), version[route](), field[route]{},
	number("revision", func(r route) int64 { return r.Revision }),
	text("name", func(r route) string { return r.Name }),
	text("steps", func(r route) string { return rows.List(r.Steps) }).optional().as("json"))

var equipments = newTable("equipment", false, key[equipment](), version[equipment](),
	text("done_latch", func(r equipment) term.DoneLatch { return r.Latch }),
	text("name", func(r equipment) string { return r.Name }),
	text("type", func(r equipment) term.EquipmentKind { return r.Type }),
	text("config", func(r equipment) string { return term.JSON(r.Config) }).as("json"),
	text("status", func(r equipment) term.EquipmentStatus { return r.Status }),
	text("done_latch", func(r equipment) term.DoneLatch { return r.Latch }),
	number("cycle", func(r equipment) int64 { return int64(r.Cycle) }),
	flag("has_cycle", func(r equipment) bool { return r.HasCycle }))

var slots = newTable("equipment_slots", false, key[slot](), version[slot](),
	text("state", func(r slot) term.SlotState { return r.State }),
	text("equipment_id", func(r slot) term.EquipmentID { return r.EquipmentID }).once(),
	number("number", func(r slot) int { return r.Number }).once(),
	text("state", func(r slot) term.SlotState { return r.State }),
	text("current_job_id", func(r slot) term.JobID { return r.JobID }).optional(),
	moment("entered_at", func(r slot) time.Time { return r.EnteredAt }).optional(),
	moment("started_at", func(r slot) time.Time { return r.StartedAt }).optional(),
	moment("due_at", func(r slot) time.Time { return r.DueAt }).optional())

var pallets = newTable("pallets", false, key[pallet](), version[pallet](), isOpen[pallet](),
	text("order_id", func(r pallet) term.OrderID { return r.OrderID }).once(),
	number("places", func(r pallet) int { return r.Places }).once(),
	moment("arrived_at", func(r pallet) time.Time { return r.ArrivedAt }).once(),
	moment("left_at", func(r pallet) time.Time { return r.LeftAt }).optional(),
	isOpen[pallet]())

var orders = newTable("work_orders", false, key[order](), version[order](),
	text("state", func(r order) term.OrderState { return r.State }),
	text("product", func(r order) string { return r.Product }).once(),
	text("route_id", func(r order) term.RouteID { return r.RouteID }).once(),
	number("route_revision", func(r order) int64 { return r.RouteRevision }).once(),
	text("steps", func(r order) string { return rows.List(r.Steps) }).optional().as("json").once(),
	number("priority", func(r order) int { return r.Priority }),
	text("state", func(r order) term.OrderState { return r.State }),
	text("inside", func(r order) term.InsideRule { return r.Inside }).optional(),
	number("planned", func(r order) int { return r.Planned }).once(),
	number("completed", func(r order) int { return r.Completed }),
	number("scrapped", func(r order) int { return r.Scrapped }),
	number("cancelled", func(r order) int { return r.Cancelled }),
	text("actor", func(r order) string { return r.Actor }).optional().once(),
	moment("created_at", func(r order) time.Time { return r.CreatedAt }).once(),
	moment("started_at", func(r order) time.Time { return r.StartedAt }).optional(),
	moment("ended_at", func(r order) time.Time { return r.EndedAt }).optional(),
	isOpen[order]())

var jobs = newTable("jobs", false, key[job](), version[job](),
	text("state", func(r job) term.JobState { return r.State }),
	text("order_id", func(r job) term.OrderID { return r.OrderID }).once(),
	number("number", func(r job) int { return r.Number }).once(),
	text("state", func(r job) term.JobState { return r.State }),
	text("position_type", func(r job) term.PositionType { return r.Position.Type }),
	text("position_ref_id", func(r job) string { return r.Position.Ref }).optional(),
	number("temp_slot_no", func(r job) int { return r.TempSlotNo }).optional(),
	number("step_index", func(r job) int { return r.StepIndex }),
	text("disposition", func(r job) term.Disposition { return r.Disposition }),
	text("presented_to", func(r job) term.EquipmentID { return r.Presented }).optional(),
	text("context", func(r job) string { return term.JSON(r.Context) }).as("json"),
	moment("entered_at", func(r job) time.Time { return r.EnteredAt }).optional(),
	moment("ended_at", func(r job) time.Time { return r.EndedAt }).optional(),
	isOpen[job](),
	flag("occupies", func(r job) bool { return rows.JobOccupies(r) })).
	also(text("position_type", func(r job) term.PositionType { return r.Position.Type })).
	also(text("position_ref_id", func(r job) string { return r.Position.Ref }).optional())

var tasks = newTable("tasks", false, uuidKey[task](), version[task](),
	text("state", func(r task) term.TaskState { return r.State }),
	text("type", func(r task) term.TaskKind { return r.Type }).once(),
	text("job_id", func(r task) term.JobID { return r.JobID }).optional().once(),
	text("order_id", func(r task) term.OrderID { return r.OrderID }).optional().once(),
	text("equipment_id", func(r task) term.EquipmentID { return r.EquipmentID }).once(),
	text("from_type", func(r task) term.PositionType { return r.From.Type }).optional().once(),
	text("from_ref_id", func(r task) string { return r.From.Ref }).optional().once(),
	text("to_type", func(r task) term.PositionType { return r.To.Type }).optional().once(),
	text("to_ref_id", func(r task) string { return r.To.Ref }).optional().once(),
	number("slot", func(r task) int { return r.Slot }).once(),
	text("slots", func(r task) string { return rows.List(r.Slots) }).optional().as("json").once(),
	number("program", func(r task) int { return r.Program }).once(),
	text("state", func(r task) term.TaskState { return r.State }),
	number("action_no", func(r task) int64 { return int64(r.ActionNo) }).once(),
	number("attempt", func(r task) int { return r.Attempt }).once(),
	number("epoch", func(r task) int64 { return r.Epoch }).once(),
	text("part_at", func(r task) term.PartAt { return r.PartAt }).optional(),
	text("error", func(r task) string { return r.Error }).optional(),
	text("plan", func(r task) string { return rows.Plan(r.Plan) }).optional().as("json").once(),
	moment("due_at", func(r task) time.Time { return r.DueAt }).optional(),
	moment("created_at", func(r task) time.Time { return r.CreatedAt }).once(),
	moment("ended_at", func(r task) time.Time { return r.EndedAt }).optional(),
	isOpen[task](),
	flag("uses_robot", func(r task) bool { return rows.TaskUsesRobot(r) }),
	flag("starts_machine", func(r task) bool { return rows.TaskStartsMachine(r) }))

var questions = newTable("manual_actions", false, uuidKey[question](), version[question](),
	text("state", func(r question) term.QuestionState { return r.State }),
	text("state", func(r question) term.QuestionState { return r.State }),
	text("finding", func(r question) term.Finding { return r.Finding }).once(),
	text("subject", func(r question) string { return r.Subject }).once(),
	text("touches", func(r question) string { return rows.List(r.Touches) }).optional().as("jsonb"),
	text("record", func(r question) string { return r.Record }),
	text("machine", func(r question) string { return r.Machine }),
	text("readings", func(r question) string { return rows.List(r.Readings) }).optional().as("json"),
	text("hash", func(r question) string { return r.Hash }),
	text("answers", func(r question) string { return rows.List(r.Answers) }).optional().as("json"),
	text("suggested", func(r question) string { return r.Suggested }).optional(),
	text("task_id", func(r question) term.TaskID { return r.TaskID }).optional().as("uuid"),
	text("job_id", func(r question) term.JobID { return r.JobID }).optional(),
	text("place_type", func(r question) term.PositionType { return r.Place.Type }).optional(),
	text("place_ref_id", func(r question) string { return r.Place.Ref }).optional(),
	moment("opened_at", func(r question) time.Time { return r.OpenedAt }).once(),
	text("answer", func(r question) string { return r.Answer }).optional(),
	text("answered_by", func(r question) string { return r.By }).optional(),
	text("reason", func(r question) string { return r.Reason }).optional(),
	moment("ended_at", func(r question) time.Time { return r.EndedAt }).optional(),
	isOpen[question]())

var alarms = newTable("alarms", false, uuidKey[alarm](), version[alarm](),
	text("state", func(r alarm) term.AlarmState { return r.State }),
	text("type", func(r alarm) term.AlarmKind { return r.Type }).once(),
	text("subject", func(r alarm) string { return r.Subject }).once(),
	text("state", func(r alarm) term.AlarmState { return r.State }),
	text("text", func(r alarm) string { return r.Text }),
	number("count", func(r alarm) int64 { return r.Count }),
	flag("first_out", func(r alarm) bool { return r.FirstOut }).once(),
	moment("shelved_until", func(r alarm) time.Time { return r.ShelvedUntil }).optional(),
	text("shelved_by", func(r alarm) string { return r.ShelvedBy }).optional(),
	text("shelve_reason", func(r alarm) string { return r.ShelveReason }).optional(),
	moment("raised_at", func(r alarm) time.Time { return r.RaisedAt }),
	moment("cleared_at", func(r alarm) time.Time { return r.ClearedAt }).optional(),
	text("acked_by", func(r alarm) string { return r.AckedBy }).optional(),
	moment("acked_at", func(r alarm) time.Time { return r.AckedAt }).optional(),
	moment("ended_at", func(r alarm) time.Time { return r.EndedAt }).optional(),
	isOpen[alarm]())
