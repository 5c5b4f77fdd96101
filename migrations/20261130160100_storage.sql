-- +goose Up
-- Rows that change with almost every message leave room on their page, so that an update stays on it and
-- touches no index (HOT).
ALTER TABLE "device_endpoints" SET (fillfactor = 70);
ALTER TABLE "automation_rules" SET (fillfactor = 70);
ALTER TABLE "automation_rule_executions" SET (fillfactor = 70);
ALTER TABLE "automation_command_intents" SET (fillfactor = 70);
ALTER TABLE "command_attempts" SET (fillfactor = 85);
ALTER TABLE "loop_state" SET (fillfactor = 10, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_scale_factor = 0);

-- Tables that only grow: vacuum by what came in, in absolute numbers, so that its work does not come in
-- ever larger lumps as the table grows.
ALTER TABLE "telemetry" SET (autovacuum_vacuum_insert_threshold = 200000, autovacuum_vacuum_insert_scale_factor = 0, autovacuum_analyze_threshold = 200000, autovacuum_analyze_scale_factor = 0);
ALTER TABLE "automation_endpoint_events" SET (autovacuum_vacuum_insert_threshold = 200000, autovacuum_vacuum_insert_scale_factor = 0, autovacuum_analyze_threshold = 200000, autovacuum_analyze_scale_factor = 0);
ALTER TABLE "event_log" SET (autovacuum_vacuum_insert_threshold = 200000, autovacuum_vacuum_insert_scale_factor = 0, autovacuum_analyze_threshold = 200000, autovacuum_analyze_scale_factor = 0);

-- Rows of these tables come in the order of their times: a block range index finds a time at almost no cost
-- per insert. Summaries of full ranges are made as they fill, not at the next vacuum.
CREATE INDEX "telemetry_received_at_brin" ON "telemetry" USING brin ("received_at") WITH (autosummarize = true);
CREATE INDEX "automation_endpoint_events_received_at_brin" ON "automation_endpoint_events" USING brin ("received_at") WITH (autosummarize = true);
CREATE INDEX "event_log_decided_at_brin" ON "event_log" USING brin ("decided_at") WITH (autosummarize = true);

-- +goose Down
DROP INDEX "event_log_decided_at_brin";
DROP INDEX "automation_endpoint_events_received_at_brin";
DROP INDEX "telemetry_received_at_brin";
ALTER TABLE "event_log" RESET (autovacuum_vacuum_insert_threshold, autovacuum_vacuum_insert_scale_factor, autovacuum_analyze_threshold, autovacuum_analyze_scale_factor);
ALTER TABLE "automation_endpoint_events" RESET (autovacuum_vacuum_insert_threshold, autovacuum_vacuum_insert_scale_factor, autovacuum_analyze_threshold, autovacuum_analyze_scale_factor);
ALTER TABLE "telemetry" RESET (autovacuum_vacuum_insert_threshold, autovacuum_vacuum_insert_scale_factor, autovacuum_analyze_threshold, autovacuum_analyze_scale_factor);
ALTER TABLE "loop_state" RESET (fillfactor, autovacuum_vacuum_threshold, autovacuum_vacuum_scale_factor);
ALTER TABLE "command_attempts" RESET (fillfactor);
ALTER TABLE "automation_command_intents" RESET (fillfactor);
ALTER TABLE "automation_rule_executions" RESET (fillfactor);
ALTER TABLE "automation_rules" RESET (fillfactor);
ALTER TABLE "device_endpoints" RESET (fillfactor);
