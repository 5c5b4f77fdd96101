-- +goose Up
-- The words of holds grew with the production half. ent does not compare the text of a constraint.
ALTER TABLE "holds" DROP CONSTRAINT "hold_reason_known";
ALTER TABLE "holds" ADD CONSTRAINT "hold_reason_known" CHECK ((reason)::text = ANY ((ARRAY['quarantine'::character varying, 'parked'::character varying, 'paused'::character varying, 'suspended'::character varying, 'recovery'::character varying, 'disabled'::character varying])::text[]));

-- Rows that change with almost every action leave room on their page, so that an update stays on it and touches
-- no index (HOT). The one row of the cell changes with each of them.
ALTER TABLE "cells" SET (fillfactor = 10, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_scale_factor = 0);
ALTER TABLE "equipment" SET (fillfactor = 70);
ALTER TABLE "equipment_slots" SET (fillfactor = 70);
ALTER TABLE "work_orders" SET (fillfactor = 70);
ALTER TABLE "jobs" SET (fillfactor = 85);

-- The story of a part or an order is what the notes of the log say about it. Messages of the cell are few beside
-- readings of devices, so only theirs are in this index; package read asks with the same condition.
CREATE INDEX "event_log_notes_of_the_cell" ON "event_log" USING gin ("notes" jsonb_path_ops)
    WHERE coalesce(split_part(subject, ':', 1), '') IN ('', 'alarm', 'cell', 'equipment', 'job', 'loop', 'order', 'pallet', 'question', 'slot', 'task');

-- +goose Down
DROP INDEX "event_log_notes_of_the_cell";
ALTER TABLE "jobs" RESET (fillfactor);
ALTER TABLE "work_orders" RESET (fillfactor);
ALTER TABLE "equipment_slots" RESET (fillfactor);
ALTER TABLE "equipment" RESET (fillfactor);
ALTER TABLE "cells" RESET (fillfactor, autovacuum_vacuum_threshold, autovacuum_vacuum_scale_factor);
-- Holds with the new words stay as history; the older constraint holds for what is written from here on.
ALTER TABLE "holds" DROP CONSTRAINT "hold_reason_known";
ALTER TABLE "holds" ADD CONSTRAINT "hold_reason_known" CHECK ((reason)::text = ANY ((ARRAY['quarantine'::character varying, 'parked'::character varying])::text[])) NOT VALID;
