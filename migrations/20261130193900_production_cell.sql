-- +goose Up
-- create "alarms" table
CREATE TABLE "alarms" ("id" uuid NOT NULL, "version" bigint NOT NULL, "type" text NOT NULL, "subject" text NOT NULL, "state" text NOT NULL, "text" text NOT NULL, "count" bigint NOT NULL, "first_out" boolean NOT NULL, "shelved_until" timestamptz NULL, "shelved_by" text NULL, "shelve_reason" text NULL, "raised_at" timestamptz NOT NULL, "cleared_at" timestamptz NULL, "acked_by" text NULL, "acked_at" timestamptz NULL, "ended_at" timestamptz NULL, "is_open" boolean NOT NULL, PRIMARY KEY ("id"), CONSTRAINT "alarm_acknowledged_has_actor" CHECK (((state <> 'acknowledged'::text) OR (acked_by IS NOT NULL)) AND ((state <> 'unacknowledged'::text) OR (acked_by IS NULL))), CONSTRAINT "alarm_counts" CHECK (count >= 1), CONSTRAINT "alarm_is_open" CHECK (is_open = (state <> 'normal'::text)), CONSTRAINT "alarm_normal_has_time" CHECK ((state = 'normal'::text) = (ended_at IS NOT NULL)), CONSTRAINT "alarm_shelved_has_reason" CHECK (((shelved_until IS NULL) = (shelved_by IS NULL)) AND ((shelved_until IS NULL) = (shelve_reason IS NULL)) AND ((shelved_until IS NULL) OR (type = ANY (ARRAY['equipment_offline'::text, 'equipment_fault'::text, 'step_overdue'::text, 'action_failed'::text, 'unexpected_signal'::text])))), CONSTRAINT "alarm_words_known" CHECK ((state = ANY (ARRAY['unacknowledged'::text, 'acknowledged'::text, 'returned_unacknowledged'::text, 'normal'::text])) AND (type = ANY (ARRAY['equipment_offline'::text, 'equipment_fault'::text, 'step_overdue'::text, 'action_failed'::text, 'action_unknown'::text, 'job_mismatch'::text, 'unexpected_signal'::text, 'part_in_doubt'::text, 'recovery'::text, 'message_parked'::text, 'late_success'::text]))));
-- create index "alarm_one_open_per_type_and_subject" to table: "alarms"
CREATE UNIQUE INDEX "alarm_one_open_per_type_and_subject" ON "alarms" ("type", "subject") WHERE is_open;
-- create index "alarms_open" to table: "alarms"
CREATE INDEX "alarms_open" ON "alarms" ("id") WHERE is_open;
-- create "cells" table
CREATE TABLE "cells" ("id" text NOT NULL, "version" bigint NOT NULL, "name" text NOT NULL, "revision" bigint NOT NULL, "file" text NOT NULL, "config" json NOT NULL, "last_action_no" bigint NOT NULL, "clean" boolean NOT NULL, "refill_asked" boolean NOT NULL, "waiting_for" text NULL, "plan" json NULL, "due_at" timestamptz NULL, PRIMARY KEY ("id"), CONSTRAINT "cell_action_no_fits_the_wire" CHECK ((last_action_no >= 0) AND (last_action_no <= '4294967295'::bigint)), CONSTRAINT "cell_is_one_row" CHECK (id = 'cell'::text));
-- create "equipment" table
CREATE TABLE "equipment" ("id" text NOT NULL, "version" bigint NOT NULL, "name" text NOT NULL, "type" text NOT NULL, "config" json NOT NULL, "status" text NOT NULL, "done_latch" text NOT NULL, "cycle" bigint NOT NULL, "has_cycle" boolean NOT NULL, PRIMARY KEY ("id"), CONSTRAINT "equipment_latch_only_of_machines" CHECK ((done_latch = 'none'::text) OR (type = 'machine'::text)), CONSTRAINT "equipment_words_known" CHECK ((type = ANY (ARRAY['machine'::text, 'robot'::text, 'scanner'::text, 'marker'::text])) AND (status = ANY (ARRAY['OFFLINE'::text, 'IDLE'::text, 'RUNNING'::text, 'DONE'::text, 'FAULT'::text])) AND (done_latch = ANY (ARRAY['none'::text, 'seen'::text, 'acked'::text]))));
-- create "equipment_slots" table
CREATE TABLE "equipment_slots" ("id" text NOT NULL, "version" bigint NOT NULL, "equipment_id" text NOT NULL, "number" bigint NOT NULL, "state" text NOT NULL, "current_job_id" text NULL, "entered_at" timestamptz NULL, "started_at" timestamptz NULL, "due_at" timestamptz NULL, PRIMARY KEY ("id"), CONSTRAINT "slot_empty_has_no_job" CHECK ((state = 'EMPTY'::text) = (current_job_id IS NULL)), CONSTRAINT "slot_times_fit" CHECK (((state = 'EMPTY'::text) = (entered_at IS NULL)) AND ((state <> 'EMPTY'::text) OR (started_at IS NULL)) AND ((due_at IS NULL) OR (state = 'OCCUPIED'::text))), CONSTRAINT "slot_words_known" CHECK (state = ANY (ARRAY['EMPTY'::text, 'OCCUPIED'::text, 'DONE'::text])));
-- create index "slot_number_once" to table: "equipment_slots"
CREATE UNIQUE INDEX "slot_number_once" ON "equipment_slots" ("equipment_id", "number");
-- create index "slot_one_per_job" to table: "equipment_slots"
CREATE UNIQUE INDEX "slot_one_per_job" ON "equipment_slots" ("current_job_id");
-- create "jobs" table
CREATE TABLE "jobs" ("id" text NOT NULL, "version" bigint NOT NULL, "order_id" text NOT NULL, "number" bigint NOT NULL, "state" text NOT NULL, "position_type" text NOT NULL, "position_ref_id" text NULL, "temp_slot_no" bigint NULL, "step_index" bigint NOT NULL, "disposition" text NOT NULL, "presented_to" text NULL, "context" json NOT NULL, "entered_at" timestamptz NULL, "ended_at" timestamptz NULL, "is_open" boolean NOT NULL, "occupies" boolean NOT NULL, PRIMARY KEY ("id"), CONSTRAINT "job_disposition_fits_end" CHECK (
CASE state
    WHEN 'COMPLETED'::text THEN (disposition = 'none'::text)
    WHEN 'SCRAPPED'::text THEN (disposition = 'scrap'::text)
    WHEN 'CANCELLED'::text THEN (disposition = 'cancel'::text)
    ELSE true
END), CONSTRAINT "job_end_is_out" CHECK (((state = ANY (ARRAY['COMPLETED'::text, 'SCRAPPED'::text, 'CANCELLED'::text])) = (ended_at IS NOT NULL)) AND ((state <> ALL (ARRAY['COMPLETED'::text, 'SCRAPPED'::text, 'CANCELLED'::text])) OR ((position_type = ANY (ARRAY['NONE'::text, 'OUT'::text])) AND (temp_slot_no IS NULL))) AND ((position_type <> 'OUT'::text) OR (state = ANY (ARRAY['COMPLETED'::text, 'SCRAPPED'::text, 'CANCELLED'::text])))), CONSTRAINT "job_flags" CHECK ((is_open = (state <> ALL (ARRAY['COMPLETED'::text, 'SCRAPPED'::text, 'CANCELLED'::text]))) AND (occupies = (is_open AND (position_type <> ALL (ARRAY['NONE'::text, 'OUT'::text]))))), CONSTRAINT "job_not_arrived_is_nowhere" CHECK (((state <> 'NOT_ARRIVED'::text) OR (position_type = 'NONE'::text)) AND ((position_type <> 'NONE'::text) OR (state = 'NOT_ARRIVED'::text) OR (state = ANY (ARRAY['COMPLETED'::text, 'SCRAPPED'::text, 'CANCELLED'::text])))), CONSTRAINT "job_on_buffer_is_on_its_own_place" CHECK (((temp_slot_no IS NULL) OR ((temp_slot_no >= 1) AND (temp_slot_no <= 64))) AND ((position_type <> 'ON_BUFFER'::text) OR ((temp_slot_no IS NOT NULL) AND (position_ref_id IS NOT NULL) AND (position_ref_id = (temp_slot_no)::text)))), CONSTRAINT "job_on_robot_is_moving" CHECK ((position_type <> 'ON_ROBOT'::text) OR (state = 'MOVING'::text)), CONSTRAINT "job_place_has_ref" CHECK ((position_type = 'NONE'::text) = (position_ref_id IS NULL)), CONSTRAINT "job_presented_is_in_gripper" CHECK ((presented_to IS NULL) OR (position_type = 'ON_ROBOT'::text)), CONSTRAINT "job_state_fits_place" CHECK (
CASE state
    WHEN 'QUEUED'::text THEN (position_type = 'ON_DOCK'::text)
    WHEN 'WAITING'::text THEN (position_type = 'ON_BUFFER'::text)
    WHEN 'PROCESSING'::text THEN (position_type = 'ON_EQUIPMENT'::text)
    WHEN 'WAITING_UNLOAD'::text THEN (position_type = 'ON_EQUIPMENT'::text)
    WHEN 'WAITING_JUDGEMENT'::text THEN (position_type = ANY (ARRAY['ON_EQUIPMENT'::text, 'ON_BUFFER'::text]))
    WHEN 'MOVING'::text THEN (position_type <> ALL (ARRAY['NONE'::text, 'OUT'::text]))
    ELSE true
END), CONSTRAINT "job_words_known" CHECK ((state = ANY (ARRAY['NOT_ARRIVED'::text, 'QUEUED'::text, 'WAITING'::text, 'MOVING'::text, 'PROCESSING'::text, 'WAITING_UNLOAD'::text, 'WAITING_JUDGEMENT'::text, 'COMPLETED'::text, 'SCRAPPED'::text, 'CANCELLED'::text])) AND (position_type = ANY (ARRAY['NONE'::text, 'ON_DOCK'::text, 'ON_BUFFER'::text, 'ON_EQUIPMENT'::text, 'ON_ROBOT'::text, 'OUT'::text])) AND (disposition = ANY (ARRAY['none'::text, 'scrap'::text, 'cancel'::text]))));
-- create index "job_number_once" to table: "jobs"
CREATE UNIQUE INDEX "job_number_once" ON "jobs" ("order_id", "number");
-- create index "job_one_per_buffer_place" to table: "jobs"
CREATE UNIQUE INDEX "job_one_per_buffer_place" ON "jobs" ("temp_slot_no") WHERE is_open;
-- create index "job_one_per_place" to table: "jobs"
CREATE UNIQUE INDEX "job_one_per_place" ON "jobs" ("position_type", "position_ref_id") WHERE occupies;
-- create index "jobs_open" to table: "jobs"
CREATE INDEX "jobs_open" ON "jobs" ("order_id", "number") WHERE is_open;
-- create "manual_actions" table
CREATE TABLE "manual_actions" ("id" uuid NOT NULL, "version" bigint NOT NULL, "state" text NOT NULL, "finding" text NOT NULL, "subject" text NOT NULL, "touches" jsonb NULL, "record" text NOT NULL, "machine" text NOT NULL, "readings" json NULL, "hash" text NOT NULL, "answers" json NULL, "suggested" text NULL, "task_id" uuid NULL, "job_id" text NULL, "place_type" text NULL, "place_ref_id" text NULL, "opened_at" timestamptz NOT NULL, "answer" text NULL, "answered_by" text NULL, "reason" text NULL, "ended_at" timestamptz NULL, "is_open" boolean NOT NULL, PRIMARY KEY ("id"), CONSTRAINT "question_end_has_answer" CHECK (((state = 'OPEN'::text) = (ended_at IS NULL)) AND ((state = 'OPEN'::text) = (answer IS NULL)) AND ((state = 'OPEN'::text) = (answered_by IS NULL))), CONSTRAINT "question_has_answers" CHECK ((answers IS NOT NULL) AND (touches IS NOT NULL) AND (json_array_length(answers) > 0) AND (jsonb_array_length(touches) > 0)), CONSTRAINT "question_is_open" CHECK (is_open = (state = 'OPEN'::text)), CONSTRAINT "question_words_known" CHECK ((state = ANY (ARRAY['OPEN'::text, 'RESOLVED'::text])) AND (finding = ANY (ARRAY['job_slot_mismatch'::text, 'slot_without_job'::text, 'shared_buffer_place'::text, 'buffer_place_range'::text, 'job_in_two_places'::text, 'counters_wrong'::text, 'machine_not_running'::text, 'part_missing'::text, 'part_unknown'::text, 'gripper_part_unknown'::text, 'gripper_empty'::text, 'action_unknown'::text, 'echo_unknown'::text, 'unreachable'::text, 'equipment_fault'::text, 'signal_flapping'::text, 'action_failed'::text, 'done_for_other_job'::text, 'done_not_expected'::text, 'step_overdue'::text, 'judgement'::text, 'part_reported'::text, 'late_success'::text, 'message_parked'::text]))));
-- create index "manual_actions_by_job" to table: "manual_actions"
CREATE INDEX "manual_actions_by_job" ON "manual_actions" ("job_id", "id");
-- create index "manual_actions_open" to table: "manual_actions"
CREATE INDEX "manual_actions_open" ON "manual_actions" ("id") WHERE is_open;
-- create index "question_one_open_per_finding_and_subject" to table: "manual_actions"
CREATE UNIQUE INDEX "question_one_open_per_finding_and_subject" ON "manual_actions" ("finding", "subject") WHERE is_open;
-- create "pallets" table
CREATE TABLE "pallets" ("id" text NOT NULL, "version" bigint NOT NULL, "order_id" text NOT NULL, "places" bigint NOT NULL, "arrived_at" timestamptz NOT NULL, "left_at" timestamptz NULL, "is_open" boolean NOT NULL, PRIMARY KEY ("id"), CONSTRAINT "pallet_is_open" CHECK (is_open = (left_at IS NULL)));
-- create index "pallets_by_order" to table: "pallets"
CREATE INDEX "pallets_by_order" ON "pallets" ("order_id", "id");
-- create index "pallets_open" to table: "pallets"
CREATE INDEX "pallets_open" ON "pallets" ("id") WHERE is_open;
-- create "routes" table
CREATE TABLE "routes" ("id" text NOT NULL, "version" bigint NOT NULL, "revision" bigint NOT NULL, "name" text NOT NULL, "steps" json NULL, PRIMARY KEY ("id"));
-- create "tasks" table
CREATE TABLE "tasks" ("id" uuid NOT NULL, "version" bigint NOT NULL, "type" text NOT NULL, "job_id" text NULL, "order_id" text NULL, "equipment_id" text NOT NULL, "from_type" text NULL, "from_ref_id" text NULL, "to_type" text NULL, "to_ref_id" text NULL, "slot" bigint NOT NULL, "slots" json NULL, "program" bigint NOT NULL, "state" text NOT NULL, "action_no" bigint NOT NULL, "attempt" bigint NOT NULL, "epoch" bigint NOT NULL, "part_at" text NULL, "error" text NULL, "plan" json NULL, "due_at" timestamptz NULL, "created_at" timestamptz NOT NULL, "ended_at" timestamptz NULL, "is_open" boolean NOT NULL, "uses_robot" boolean NOT NULL, "starts_machine" boolean NOT NULL, PRIMARY KEY ("id"), CONSTRAINT "task_action_no_fits_the_wire" CHECK ((action_no >= 0) AND (action_no <= '4294967295'::bigint)), CONSTRAINT "task_end_has_time" CHECK ((state = ANY (ARRAY['SUCCEEDED'::text, 'FAILED'::text, 'CANCELLED'::text])) = (ended_at IS NOT NULL)), CONSTRAINT "task_flags" CHECK ((is_open = (state <> ALL (ARRAY['SUCCEEDED'::text, 'FAILED'::text, 'CANCELLED'::text]))) AND (uses_robot = (is_open AND (type <> 'START_MACHINE'::text))) AND (starts_machine = (is_open AND (type = 'START_MACHINE'::text)))), CONSTRAINT "task_open_has_no_result" CHECK ((state = ANY (ARRAY['SUCCEEDED'::text, 'FAILED'::text, 'CANCELLED'::text])) OR (part_at IS NULL)), CONSTRAINT "task_running_has_timer" CHECK ((state = 'RUNNING'::text) = (due_at IS NOT NULL)), CONSTRAINT "task_start_has_no_job" CHECK (((type = 'START_MACHINE'::text) = (job_id IS NULL)) AND ((job_id IS NULL) = (order_id IS NULL))), CONSTRAINT "task_words_known" CHECK ((type = ANY (ARRAY['MOVE'::text, 'SCAN'::text, 'MARK'::text, 'START_MACHINE'::text])) AND (state = ANY (ARRAY['PENDING'::text, 'RUNNING'::text, 'UNKNOWN'::text, 'SUCCEEDED'::text, 'FAILED'::text, 'CANCELLED'::text])) AND (part_at = ANY (ARRAY['from'::text, 'gripper'::text, 'to'::text])) AND (from_type = ANY (ARRAY['NONE'::text, 'ON_DOCK'::text, 'ON_BUFFER'::text, 'ON_EQUIPMENT'::text, 'ON_ROBOT'::text, 'OUT'::text])) AND (to_type = ANY (ARRAY['NONE'::text, 'ON_DOCK'::text, 'ON_BUFFER'::text, 'ON_EQUIPMENT'::text, 'ON_ROBOT'::text, 'OUT'::text]))));
-- create index "task_action_no_once" to table: "tasks"
CREATE UNIQUE INDEX "task_action_no_once" ON "tasks" ("action_no");
-- create index "task_one_open_of_the_robot" to table: "tasks"
CREATE UNIQUE INDEX "task_one_open_of_the_robot" ON "tasks" ("uses_robot") WHERE uses_robot;
-- create index "task_one_open_start_per_machine" to table: "tasks"
CREATE UNIQUE INDEX "task_one_open_start_per_machine" ON "tasks" ("equipment_id") WHERE starts_machine;
-- create index "tasks_by_job" to table: "tasks"
CREATE INDEX "tasks_by_job" ON "tasks" ("job_id", "id");
-- create index "tasks_by_order" to table: "tasks"
CREATE INDEX "tasks_by_order" ON "tasks" ("order_id", "id");
-- create index "tasks_open" to table: "tasks"
CREATE INDEX "tasks_open" ON "tasks" ("id") WHERE is_open;
-- create "work_orders" table
CREATE TABLE "work_orders" ("id" text NOT NULL, "version" bigint NOT NULL, "product" text NOT NULL, "route_id" text NOT NULL, "route_revision" bigint NOT NULL, "steps" json NULL, "priority" bigint NOT NULL, "state" text NOT NULL, "inside" text NULL, "planned" bigint NOT NULL, "completed" bigint NOT NULL, "scrapped" bigint NOT NULL, "cancelled" bigint NOT NULL, "actor" text NULL, "created_at" timestamptz NOT NULL, "started_at" timestamptz NULL, "ended_at" timestamptz NULL, "is_open" boolean NOT NULL, PRIMARY KEY ("id"), CONSTRAINT "order_counts" CHECK (((planned >= 1) AND (planned <= 10000)) AND (completed >= 0) AND (scrapped >= 0) AND (cancelled >= 0) AND (((completed + scrapped) + cancelled) <= planned)), CONSTRAINT "order_end_counts_all" CHECK ((state = ANY (ARRAY['completed'::text, 'cancelled'::text])) = (((completed + scrapped) + cancelled) = planned)), CONSTRAINT "order_end_has_time" CHECK ((state = ANY (ARRAY['completed'::text, 'cancelled'::text])) = (ended_at IS NOT NULL)), CONSTRAINT "order_is_open" CHECK (is_open = (state <> ALL (ARRAY['completed'::text, 'cancelled'::text]))), CONSTRAINT "order_stopping_has_rule" CHECK ((state <> 'stopping'::text) OR (inside IS NOT NULL)), CONSTRAINT "order_words_known" CHECK ((state = ANY (ARRAY['draft'::text, 'ready'::text, 'running'::text, 'stopping'::text, 'completed'::text, 'cancelled'::text])) AND (inside = ANY (ARRAY['retire'::text, 'finish'::text]))));
-- create index "work_orders_by_time" to table: "work_orders"
CREATE INDEX "work_orders_by_time" ON "work_orders" ("created_at", "id");
-- create index "work_orders_open" to table: "work_orders"
CREATE INDEX "work_orders_open" ON "work_orders" ("id") WHERE is_open;

-- +goose Down
-- reverse: create index "work_orders_open" to table: "work_orders"
DROP INDEX "work_orders_open";
-- reverse: create index "work_orders_by_time" to table: "work_orders"
DROP INDEX "work_orders_by_time";
-- reverse: create "work_orders" table
DROP TABLE "work_orders";
-- reverse: create index "tasks_open" to table: "tasks"
DROP INDEX "tasks_open";
-- reverse: create index "tasks_by_order" to table: "tasks"
DROP INDEX "tasks_by_order";
-- reverse: create index "tasks_by_job" to table: "tasks"
DROP INDEX "tasks_by_job";
-- reverse: create index "task_one_open_start_per_machine" to table: "tasks"
DROP INDEX "task_one_open_start_per_machine";
-- reverse: create index "task_one_open_of_the_robot" to table: "tasks"
DROP INDEX "task_one_open_of_the_robot";
-- reverse: create index "task_action_no_once" to table: "tasks"
DROP INDEX "task_action_no_once";
-- reverse: create "tasks" table
DROP TABLE "tasks";
-- reverse: create "routes" table
DROP TABLE "routes";
-- reverse: create index "pallets_open" to table: "pallets"
DROP INDEX "pallets_open";
-- reverse: create index "pallets_by_order" to table: "pallets"
DROP INDEX "pallets_by_order";
-- reverse: create "pallets" table
DROP TABLE "pallets";
-- reverse: create index "question_one_open_per_finding_and_subject" to table: "manual_actions"
DROP INDEX "question_one_open_per_finding_and_subject";
-- reverse: create index "manual_actions_open" to table: "manual_actions"
DROP INDEX "manual_actions_open";
-- reverse: create index "manual_actions_by_job" to table: "manual_actions"
DROP INDEX "manual_actions_by_job";
-- reverse: create "manual_actions" table
DROP TABLE "manual_actions";
-- reverse: create index "jobs_open" to table: "jobs"
DROP INDEX "jobs_open";
-- reverse: create index "job_one_per_place" to table: "jobs"
DROP INDEX "job_one_per_place";
-- reverse: create index "job_one_per_buffer_place" to table: "jobs"
DROP INDEX "job_one_per_buffer_place";
-- reverse: create index "job_number_once" to table: "jobs"
DROP INDEX "job_number_once";
-- reverse: create "jobs" table
DROP TABLE "jobs";
-- reverse: create index "slot_one_per_job" to table: "equipment_slots"
DROP INDEX "slot_one_per_job";
-- reverse: create index "slot_number_once" to table: "equipment_slots"
DROP INDEX "slot_number_once";
-- reverse: create "equipment_slots" table
DROP TABLE "equipment_slots";
-- reverse: create "equipment" table
DROP TABLE "equipment";
-- reverse: create "cells" table
DROP TABLE "cells";
-- reverse: create index "alarms_open" to table: "alarms"
DROP INDEX "alarms_open";
-- reverse: create index "alarm_one_open_per_type_and_subject" to table: "alarms"
DROP INDEX "alarm_one_open_per_type_and_subject";
-- reverse: create "alarms" table
DROP TABLE "alarms";
