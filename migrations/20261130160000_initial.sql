-- +goose Up
-- create "automation_command_intents" table
CREATE TABLE "automation_command_intents" ("id" uuid NOT NULL, "version" bigint NOT NULL, "execution_id" uuid NOT NULL, "rule_id" text NULL, "rule_revision" bigint NOT NULL, "event_id" uuid NULL, "actor" text NULL, "farm_id" text NOT NULL, "device_id" text NOT NULL, "endpoint_id" text NOT NULL, "serial" text NOT NULL, "method" text NOT NULL, "params" text NOT NULL, "target_value" text NOT NULL, "action" character varying NOT NULL, "idempotency_key" text NOT NULL, "fingerprint" text NOT NULL, "state" character varying NOT NULL, "waiting_for" text NULL, "attempt_count" bigint NOT NULL, "attempt_number" bigint NOT NULL, "max_attempts" bigint NOT NULL, "next_attempt_at" timestamptz NULL, "due_at" timestamptz NULL, "deadline_at" timestamptz NOT NULL, "last_error" text NULL, "mqtt_request_id" text NULL, "command_id" text NULL, "boot_id" text NULL, "holds_endpoint" boolean NOT NULL, "lapse_at" timestamptz NULL, "possibly_executed" boolean NOT NULL, "fenced_at" timestamptz NULL, "acked_at" timestamptz NULL, "ack_mark" json NOT NULL, "weak_samples" bigint NOT NULL, "evidence_id" uuid NULL, "created_at" timestamptz NOT NULL, "updated_at" timestamptz NOT NULL, "ended_at" timestamptz NULL, "closed_at" timestamptz NULL, "is_open" boolean NOT NULL, PRIMARY KEY ("id"), CONSTRAINT "intent_action_known" CHECK ((action)::text = ANY ((ARRAY['absolute'::character varying, 'toggle'::character varying, 'pulse'::character varying])::text[])), CONSTRAINT "intent_applied_has_evidence" CHECK (((state)::text <> 'applied'::text) OR (evidence_id IS NOT NULL)), CONSTRAINT "intent_attempts_bounded" CHECK ((attempt_count >= 0) AND (attempt_count <= max_attempts) AND (attempt_count <= attempt_number) AND (max_attempts <= 10)), CONSTRAINT "intent_end_has_time" CHECK (((state)::text = ANY ((ARRAY['applied'::character varying, 'failed'::character varying, 'expired'::character varying])::text[])) = (ended_at IS NOT NULL)), CONSTRAINT "intent_expired_holds_only_if_it_may_have_run" CHECK (((state)::text <> 'expired'::text) OR (NOT holds_endpoint) OR possibly_executed), CONSTRAINT "intent_holding_has_command_id" CHECK ((NOT holds_endpoint) OR (command_id IS NOT NULL)), CONSTRAINT "intent_is_open" CHECK (is_open = (closed_at IS NULL)), CONSTRAINT "intent_live_has_timer" CHECK (((state)::text <> ALL ((ARRAY['pending_dispatch'::character varying, 'dispatched'::character varying, 'acknowledged'::character varying, 'retrying'::character varying])::text[])) OR (due_at IS NOT NULL)), CONSTRAINT "intent_open_while_live_or_holding" CHECK ((closed_at IS NULL) = (((state)::text = ANY ((ARRAY['pending_dispatch'::character varying, 'dispatched'::character varying, 'acknowledged'::character varying, 'retrying'::character varying])::text[])) OR holds_endpoint)), CONSTRAINT "intent_possibly_executed_had_attempt" CHECK ((NOT possibly_executed) OR (((state)::text = 'expired'::text) AND (attempt_count > 0))), CONSTRAINT "intent_relative_action_once" CHECK (((action)::text = 'absolute'::text) OR (max_attempts = 1)), CONSTRAINT "intent_sent_holds" CHECK (((state)::text <> ALL ((ARRAY['dispatched'::character varying, 'acknowledged'::character varying, 'retrying'::character varying])::text[])) OR holds_endpoint), CONSTRAINT "intent_sent_was_attempted" CHECK (((state)::text <> ALL ((ARRAY['dispatched'::character varying, 'acknowledged'::character varying, 'uncertain'::character varying])::text[])) OR (attempt_count > 0)), CONSTRAINT "intent_state_known" CHECK ((state)::text = ANY ((ARRAY['pending_dispatch'::character varying, 'dispatched'::character varying, 'acknowledged'::character varying, 'retrying'::character varying, 'applied'::character varying, 'failed'::character varying, 'expired'::character varying, 'uncertain'::character varying])::text[])), CONSTRAINT "intent_sure_end_releases" CHECK (((state)::text <> ALL ((ARRAY['applied'::character varying, 'failed'::character varying])::text[])) OR (NOT holds_endpoint)));
-- create index "automation_command_intents_by_device" to table: "automation_command_intents"
CREATE INDEX "automation_command_intents_by_device" ON "automation_command_intents" ("device_id", "id");
-- create index "automation_command_intents_by_rule" to table: "automation_command_intents"
CREATE INDEX "automation_command_intents_by_rule" ON "automation_command_intents" ("rule_id", "id");
-- create index "automation_command_intents_open" to table: "automation_command_intents"
CREATE INDEX "automation_command_intents_open" ON "automation_command_intents" ("id") WHERE is_open;
-- create index "intent_command_id_once" to table: "automation_command_intents"
CREATE UNIQUE INDEX "intent_command_id_once" ON "automation_command_intents" ("command_id");
-- create index "intent_once_per_wish" to table: "automation_command_intents"
CREATE UNIQUE INDEX "intent_once_per_wish" ON "automation_command_intents" ("idempotency_key");
-- create index "intent_one_holder_per_endpoint" to table: "automation_command_intents"
CREATE UNIQUE INDEX "intent_one_holder_per_endpoint" ON "automation_command_intents" ("endpoint_id") WHERE holds_endpoint;
-- create "automation_endpoint_events" table
CREATE TABLE "automation_endpoint_events" ("id" uuid NOT NULL, "version" bigint NOT NULL, "organisation_id" text NOT NULL, "farm_id" text NOT NULL, "device_id" text NOT NULL, "endpoint_id" text NOT NULL, "telemetry_id" uuid NULL, "at" timestamptz NOT NULL, "received_at" timestamptz NOT NULL, "value" text NOT NULL, "snapshot" text NOT NULL, "status" character varying NOT NULL, "reason" character varying NULL, "is_open" boolean NOT NULL, PRIMARY KEY ("id"), CONSTRAINT "event_discarded_has_reason" CHECK (((status)::text = 'discarded'::text) = (reason IS NOT NULL)), CONSTRAINT "event_is_open" CHECK (is_open = ((status)::text = 'pending'::text)), CONSTRAINT "event_reason_known" CHECK ((reason)::text = ANY ((ARRAY['backfill'::character varying, 'older'::character varying, 'disabled'::character varying, 'device'::character varying])::text[])), CONSTRAINT "event_status_known" CHECK ((status)::text = ANY ((ARRAY['pending'::character varying, 'processed'::character varying, 'discarded'::character varying, 'failed'::character varying])::text[])));
-- create index "automation_endpoint_events_open" to table: "automation_endpoint_events"
CREATE INDEX "automation_endpoint_events_open" ON "automation_endpoint_events" ("id") WHERE is_open;
-- create "automation_rules" table
CREATE TABLE "automation_rules" ("id" text NOT NULL, "version" bigint NOT NULL, "farm_id" text NOT NULL, "name" text NOT NULL, "active" boolean NOT NULL, "revision" bigint NOT NULL, "trigger_id" text NOT NULL, "condition" json NOT NULL, "target_id" text NOT NULL, "target_value" text NOT NULL, "hold_off_ns" bigint NOT NULL, "hold_until" timestamptz NULL, "execution_id" uuid NULL, PRIMARY KEY ("id"));
-- create "automation_rule_executions" table
CREATE TABLE "automation_rule_executions" ("id" uuid NOT NULL, "version" bigint NOT NULL, "source" character varying NOT NULL, "rule_id" text NULL, "rule_revision" bigint NOT NULL, "event_id" uuid NULL, "last_event_id" uuid NULL, "farm_id" text NOT NULL, "target_id" text NOT NULL, "outcome" character varying NOT NULL, "reason" text NULL, "leaves" json NULL, "gates" json NULL, "intent_id" uuid NULL, "final_state" character varying NULL, "final_reason" text NULL, "count" bigint NOT NULL, "first_at" timestamptz NOT NULL, "last_at" timestamptz NOT NULL, "is_open" boolean NOT NULL, PRIMARY KEY ("id"), CONSTRAINT "execution_counts" CHECK ((count >= 1) AND (last_at >= first_at)), CONSTRAINT "execution_final_state_known" CHECK ((final_state)::text = ANY ((ARRAY['pending_dispatch'::character varying, 'dispatched'::character varying, 'acknowledged'::character varying, 'retrying'::character varying, 'applied'::character varying, 'failed'::character varying, 'expired'::character varying, 'uncertain'::character varying])::text[])), CONSTRAINT "execution_fired_has_intent" CHECK (((outcome)::text = 'fired'::text) = (intent_id IS NOT NULL)), CONSTRAINT "execution_hand_has_no_rule" CHECK (((source)::text = 'hand'::text) = (rule_id IS NULL)), CONSTRAINT "execution_outcome_known" CHECK ((outcome)::text = ANY ((ARRAY['fired'::character varying, 'false'::character varying, 'unknown'::character varying, 'already_true'::character varying, 'in_flight'::character varying, 'refused'::character varying, 'failed'::character varying])::text[])), CONSTRAINT "execution_source_known" CHECK ((source)::text = ANY ((ARRAY['rule'::character varying, 'hand'::character varying])::text[])));
-- create index "automation_rule_executions_by_rule" to table: "automation_rule_executions"
CREATE INDEX "automation_rule_executions_by_rule" ON "automation_rule_executions" ("rule_id", "id");
-- create index "automation_rule_executions_open" to table: "automation_rule_executions"
CREATE INDEX "automation_rule_executions_open" ON "automation_rule_executions" ("id") WHERE is_open;
-- create "command_attempts" table
CREATE TABLE "command_attempts" ("id" uuid NOT NULL, "version" bigint NOT NULL, "intent_id" uuid NOT NULL, "command_id" text NOT NULL, "number" bigint NOT NULL, "epoch" bigint NOT NULL, "fenced_at" timestamptz NOT NULL, "deadline_at" timestamptz NOT NULL, "topic" text NOT NULL, "qos" bigint NOT NULL, "payload" text NOT NULL, "hash" text NOT NULL, "outcome" character varying NOT NULL, "error" text NULL, "ended_at" timestamptz NULL, "is_open" boolean NOT NULL, PRIMARY KEY ("id"), CONSTRAINT "attempt_is_open" CHECK (is_open = ((outcome)::text = 'open'::text)), CONSTRAINT "attempt_number_positive" CHECK (number >= 1), CONSTRAINT "attempt_open_has_no_end" CHECK (((outcome)::text = 'open'::text) = (ended_at IS NULL)), CONSTRAINT "attempt_outcome_known" CHECK ((outcome)::text = ANY ((ARRAY['open'::character varying, 'sent'::character varying, 'not_sent'::character varying, 'unknown'::character varying])::text[])), CONSTRAINT "attempt_qos_known" CHECK (qos = ANY (ARRAY[(0)::bigint, (1)::bigint])));
-- create index "attempt_number_once" to table: "command_attempts"
CREATE UNIQUE INDEX "attempt_number_once" ON "command_attempts" ("intent_id", "number");
-- create index "attempt_one_open_per_intent" to table: "command_attempts"
CREATE UNIQUE INDEX "attempt_one_open_per_intent" ON "command_attempts" ("intent_id") WHERE is_open;
-- create "devices" table
CREATE TABLE "devices" ("id" text NOT NULL, "version" bigint NOT NULL, "farm_id" text NOT NULL, "profile_id" text NOT NULL, "serial" text NOT NULL, "name" text NOT NULL, "status" character varying NOT NULL, "class" character varying NOT NULL, "boot_id" text NULL, "boots" jsonb NULL, PRIMARY KEY ("id"), CONSTRAINT "device_class_known" CHECK ((class)::text = ANY ((ARRAY['A'::character varying, 'B'::character varying, 'C'::character varying])::text[])), CONSTRAINT "device_serial_valid" CHECK (serial ~ '^[A-Za-z0-9_-]{1,64}$'::text), CONSTRAINT "device_status_known" CHECK ((status)::text = ANY ((ARRAY['active'::character varying, 'maintenance'::character varying, 'retired'::character varying])::text[])));
-- create index "devices_serial_key" to table: "devices"
CREATE UNIQUE INDEX "devices_serial_key" ON "devices" ("serial");
-- create "device_command_receipts" table
CREATE TABLE "device_command_receipts" ("id" uuid NOT NULL, "intent_id" uuid NULL, "device_id" text NULL, "serial" text NULL, "type" character varying NOT NULL, "correlation" character varying NOT NULL, "correlation_key" text NULL, "reason" text NULL, "payload" bytea NULL, "received_at" timestamptz NOT NULL, PRIMARY KEY ("id"), CONSTRAINT "receipt_correlation_known" CHECK ((correlation)::text = ANY ((ARRAY['timely'::character varying, 'duplicate'::character varying, 'late'::character varying, 'foreign'::character varying, 'contradiction'::character varying, 'earlier'::character varying, 'none'::character varying])::text[])), CONSTRAINT "receipt_type_known" CHECK ((type)::text = ANY ((ARRAY['rpc_ack'::character varying, 'rpc_result'::character varying, 'state_report'::character varying, 'telemetry'::character varying, 'timeout_mark'::character varying, 'retry_mark'::character varying, 'publish_mark'::character varying, 'operator_verdict'::character varying, 'rejected'::character varying])::text[])));
-- create index "device_command_receipts_by_intent" to table: "device_command_receipts"
CREATE INDEX "device_command_receipts_by_intent" ON "device_command_receipts" ("intent_id", "id");
-- create index "device_command_receipts_by_type" to table: "device_command_receipts"
CREATE INDEX "device_command_receipts_by_type" ON "device_command_receipts" ("type", "id");
-- create "device_endpoints" table
CREATE TABLE "device_endpoints" ("id" text NOT NULL, "version" bigint NOT NULL, "device_id" text NOT NULL, "endpoint_key" text NOT NULL, "enabled" boolean NOT NULL, "overrides" json NOT NULL, "value" text NULL, "sampled_at" timestamptz NULL, "received_at" timestamptz NULL, "mark" json NOT NULL, PRIMARY KEY ("id"));
-- create "device_profiles" table
CREATE TABLE "device_profiles" ("id" text NOT NULL, "version" bigint NOT NULL, "name" text NOT NULL, "class" character varying NOT NULL, "timing" json NOT NULL, "endpoints" json NULL, PRIMARY KEY ("id"), CONSTRAINT "device_profile_class_known" CHECK ((class)::text = ANY ((ARRAY['A'::character varying, 'B'::character varying, 'C'::character varying])::text[])));
-- create "event_log" table
CREATE TABLE "event_log" ("seq" bigint NOT NULL, "generation" uuid NOT NULL, "message_id" uuid NOT NULL, "type" text NOT NULL, "source" text NOT NULL, "actor" text NULL, "correlation_id" text NULL, "causation_id" text NULL, "created_at" timestamptz NULL, "decided_at" timestamptz NOT NULL, "outcome" text NOT NULL, "reason" text NULL, "subject" text NULL, "notes" jsonb NULL, "notes_left_out" bigint NOT NULL, PRIMARY KEY ("seq"), CONSTRAINT "event_log_left_out_counted" CHECK (notes_left_out >= 0), CONSTRAINT "event_log_seq_positive" CHECK (seq >= 1));
-- create index "event_log_by_subject" to table: "event_log"
CREATE INDEX "event_log_by_subject" ON "event_log" ("subject", "decided_at");
-- create "farms" table
CREATE TABLE "farms" ("id" text NOT NULL, "version" bigint NOT NULL, "organisation_id" text NOT NULL, "name" text NOT NULL, PRIMARY KEY ("id"));
-- create "holds" table
CREATE TABLE "holds" ("id" uuid NOT NULL, "version" bigint NOT NULL, "subject" text NOT NULL, "reason" character varying NOT NULL, "by" text NULL, "why" text NULL, "at" timestamptz NOT NULL, "ended_at" timestamptz NULL, "ended_by" text NULL, "end_why" text NULL, "is_open" boolean NOT NULL, PRIMARY KEY ("id"), CONSTRAINT "hold_end_has_actor" CHECK ((ended_at IS NULL) = (ended_by IS NULL)), CONSTRAINT "hold_is_open" CHECK (is_open = (ended_at IS NULL)), CONSTRAINT "hold_reason_known" CHECK ((reason)::text = ANY ((ARRAY['quarantine'::character varying, 'parked'::character varying])::text[])));
-- create index "hold_one_open_per_subject_and_reason" to table: "holds"
CREATE UNIQUE INDEX "hold_one_open_per_subject_and_reason" ON "holds" ("subject", "reason") WHERE is_open;
-- create "loop_state" table
CREATE TABLE "loop_state" ("id" bigint NOT NULL, "installation" uuid NOT NULL, "generation" uuid NOT NULL, "seq" bigint NOT NULL, "turn" bigint NOT NULL, "epoch" bigint NOT NULL, "life" uuid NOT NULL, "stopped_cleanly" boolean NOT NULL, "drained" boolean NOT NULL, "started_at" timestamptz NOT NULL, PRIMARY KEY ("id"), CONSTRAINT "loop_state_counts_up" CHECK ((seq >= 0) AND (turn >= 0) AND (epoch >= 1)), CONSTRAINT "loop_state_is_one_row" CHECK (id = 1));
-- create "message_keys" table
CREATE TABLE "message_keys" ("id" uuid NOT NULL, "body_hash" text NULL, "outcome" json NULL, "at" timestamptz NOT NULL, PRIMARY KEY ("id"));
-- create "organisations" table
CREATE TABLE "organisations" ("id" text NOT NULL, "version" bigint NOT NULL, "name" text NOT NULL, PRIMARY KEY ("id"));
-- create "parked_messages" table
CREATE TABLE "parked_messages" ("id" uuid NOT NULL, "type" text NOT NULL, "source" text NOT NULL, "raw" bytea NULL, "reason" text NULL, "at" timestamptz NOT NULL, PRIMARY KEY ("id"));
-- create "telemetry" table
CREATE TABLE "telemetry" ("id" uuid NOT NULL, "device_id" text NOT NULL, "sampled_at" timestamptz NOT NULL, "received_at" timestamptz NOT NULL, "boot_id" text NULL, "seq" bigint NOT NULL, "body" text NOT NULL, PRIMARY KEY ("id"));

-- +goose Down
-- reverse: create "telemetry" table
DROP TABLE "telemetry";
-- reverse: create "parked_messages" table
DROP TABLE "parked_messages";
-- reverse: create "organisations" table
DROP TABLE "organisations";
-- reverse: create "message_keys" table
DROP TABLE "message_keys";
-- reverse: create "loop_state" table
DROP TABLE "loop_state";
-- reverse: create index "hold_one_open_per_subject_and_reason" to table: "holds"
DROP INDEX "hold_one_open_per_subject_and_reason";
-- reverse: create "holds" table
DROP TABLE "holds";
-- reverse: create "farms" table
DROP TABLE "farms";
-- reverse: create index "event_log_by_subject" to table: "event_log"
DROP INDEX "event_log_by_subject";
-- reverse: create "event_log" table
DROP TABLE "event_log";
-- reverse: create "device_profiles" table
DROP TABLE "device_profiles";
-- reverse: create "device_endpoints" table
DROP TABLE "device_endpoints";
-- reverse: create index "device_command_receipts_by_type" to table: "device_command_receipts"
DROP INDEX "device_command_receipts_by_type";
-- reverse: create index "device_command_receipts_by_intent" to table: "device_command_receipts"
DROP INDEX "device_command_receipts_by_intent";
-- reverse: create "device_command_receipts" table
DROP TABLE "device_command_receipts";
-- reverse: create index "devices_serial_key" to table: "devices"
DROP INDEX "devices_serial_key";
-- reverse: create "devices" table
DROP TABLE "devices";
-- reverse: create index "attempt_one_open_per_intent" to table: "command_attempts"
DROP INDEX "attempt_one_open_per_intent";
-- reverse: create index "attempt_number_once" to table: "command_attempts"
DROP INDEX "attempt_number_once";
-- reverse: create "command_attempts" table
DROP TABLE "command_attempts";
-- reverse: create index "automation_rule_executions_open" to table: "automation_rule_executions"
DROP INDEX "automation_rule_executions_open";
-- reverse: create index "automation_rule_executions_by_rule" to table: "automation_rule_executions"
DROP INDEX "automation_rule_executions_by_rule";
-- reverse: create "automation_rule_executions" table
DROP TABLE "automation_rule_executions";
-- reverse: create "automation_rules" table
DROP TABLE "automation_rules";
-- reverse: create index "automation_endpoint_events_open" to table: "automation_endpoint_events"
DROP INDEX "automation_endpoint_events_open";
-- reverse: create "automation_endpoint_events" table
DROP TABLE "automation_endpoint_events";
-- reverse: create index "intent_one_holder_per_endpoint" to table: "automation_command_intents"
DROP INDEX "intent_one_holder_per_endpoint";
-- reverse: create index "intent_once_per_wish" to table: "automation_command_intents"
DROP INDEX "intent_once_per_wish";
-- reverse: create index "intent_command_id_once" to table: "automation_command_intents"
DROP INDEX "intent_command_id_once";
-- reverse: create index "automation_command_intents_open" to table: "automation_command_intents"
DROP INDEX "automation_command_intents_open";
-- reverse: create index "automation_command_intents_by_rule" to table: "automation_command_intents"
DROP INDEX "automation_command_intents_by_rule";
-- reverse: create index "automation_command_intents_by_device" to table: "automation_command_intents"
DROP INDEX "automation_command_intents_by_device";
-- reverse: create "automation_command_intents" table
DROP TABLE "automation_command_intents";
