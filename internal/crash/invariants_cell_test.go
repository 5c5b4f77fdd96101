package crash

import (
	"context"
	"log/slog"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"surehand/internal/dbstate/migrate"
	"surehand/internal/embedded/embeddedtest"
)

const (
	jobEnds  = "('COMPLETED','SCRAPPED','CANCELLED')"
	taskEnds = "('SUCCEEDED','FAILED','CANCELLED')"
)

// cellInvariants are those of the production half, told from the rows and not from the indexes that keep them. Unlike
// those of the devices they hold at every commit, not only at rest.
var cellInvariants = []struct {
	number int
	says   string
	broken string
	spoils string // breaks it in a database that has lost its constraints; for the test of the queries
}{
	{6, "what has ended is out of the cell and owns nothing", `
		SELECT id, state, position_type FROM jobs WHERE state IN ` + jobEnds + ` AND (position_type NOT IN ('NONE','OUT') OR temp_slot_no IS NOT NULL OR ended_at IS NULL)
		UNION ALL SELECT id, state, position_type FROM jobs WHERE state NOT IN ` + jobEnds + ` AND (position_type = 'OUT' OR ended_at IS NOT NULL)`,
		"UPDATE jobs SET state = 'COMPLETED' WHERE id = 'WO-1.1'"},
	{8, "a place has one part", `
		SELECT position_type, position_ref_id FROM jobs WHERE position_type NOT IN ('NONE','OUT') GROUP BY 1, 2 HAVING count(*) > 1`,
		"UPDATE jobs SET position_type = 'ON_BUFFER', position_ref_id = '1' WHERE id IN ('WO-1.2', 'WO-1.3')"},
	{8, "a part that is on a machine is in the slot's row, and a part in a slot's row is there", `
		SELECT j.id, s.id FROM jobs j LEFT JOIN equipment_slots s ON s.id = j.position_ref_id
			WHERE j.position_type = 'ON_EQUIPMENT' AND s.current_job_id IS DISTINCT FROM j.id
		UNION ALL SELECT j.id, s.id FROM equipment_slots s LEFT JOIN jobs j ON j.id = s.current_job_id
			WHERE s.current_job_id IS NOT NULL AND (j.position_type IS DISTINCT FROM 'ON_EQUIPMENT' OR j.position_ref_id IS DISTINCT FROM s.id)`,
		"UPDATE jobs SET position_type = 'ON_BUFFER', position_ref_id = '1' WHERE id = 'WO-1.1'"},
	{8, "no part is in two slots", `
		SELECT current_job_id FROM equipment_slots WHERE current_job_id IS NOT NULL GROUP BY 1 HAVING count(*) > 1`,
		"UPDATE equipment_slots SET current_job_id = 'WO-1.1'"},
	{8, "each part owns a buffer place of its own, which exists", `
		SELECT temp_slot_no::text, min(id) FROM jobs WHERE temp_slot_no IS NOT NULL GROUP BY 1 HAVING count(*) > 1
		UNION ALL SELECT j.temp_slot_no::text, j.id FROM jobs j, cells c WHERE j.temp_slot_no NOT BETWEEN 1 AND (c.config->'buffer'->>'count')::int
		UNION ALL SELECT j.temp_slot_no::text, j.id FROM jobs j WHERE j.position_type = 'ON_BUFFER' AND j.position_ref_id IS DISTINCT FROM j.temp_slot_no::text`,
		"UPDATE jobs SET temp_slot_no = 9 WHERE id = 'WO-1.1'"},
	{8, "the robot carries at most one part, and only what it carries is presented to a tool", `
		SELECT position_type, count(*)::text FROM jobs WHERE position_type = 'ON_ROBOT' GROUP BY 1 HAVING count(*) > 1
		UNION ALL SELECT id, presented_to FROM jobs WHERE presented_to IS NOT NULL AND position_type <> 'ON_ROBOT'`,
		"UPDATE jobs SET presented_to = 'scanner' WHERE id = 'WO-1.1'"},
	{9, "an open question says what it holds, its subject among it", `
		SELECT id::text, finding FROM manual_actions WHERE state = 'OPEN' AND NOT coalesce(touches ? subject, false)`,
		"UPDATE manual_actions SET touches = '[]'"},
	{10, "at most one action of the robot and one start of a machine may be under way", `
		SELECT 'robot', count(*)::text FROM tasks WHERE state NOT IN ` + taskEnds + ` AND type <> 'START_MACHINE' HAVING count(*) > 1
		UNION ALL SELECT equipment_id, count(*)::text FROM tasks WHERE state NOT IN ` + taskEnds + ` AND type = 'START_MACHINE' GROUP BY 1 HAVING count(*) > 1`,
		"UPDATE tasks SET state = 'UNKNOWN'"},
	{10, "a number on the wire is used once, and was drawn from the cell", `
		SELECT action_no::text, min(id::text) FROM tasks GROUP BY 1 HAVING count(*) > 1
		UNION ALL SELECT t.action_no::text, t.id::text FROM tasks t LEFT JOIN cells c ON true WHERE t.action_no > coalesce(c.last_action_no, 0)`,
		"UPDATE tasks SET action_no = 7"},
	{10, "nothing of an earlier life runs without doubt", `
		SELECT id::text, epoch::text FROM tasks WHERE state IN ('PENDING','RUNNING') AND epoch <> (SELECT epoch FROM loop_state)`,
		"UPDATE tasks SET state = 'RUNNING', epoch = 1"},
	{10, "a part that moves has an action, or is in the gripper or asked about", `
		SELECT j.id FROM jobs j WHERE j.state = 'MOVING' AND j.position_type <> 'ON_ROBOT'
			AND NOT EXISTS (SELECT FROM tasks t WHERE t.job_id = j.id AND t.state NOT IN ` + taskEnds + `)
			AND NOT EXISTS (SELECT FROM manual_actions q WHERE q.state = 'OPEN' AND (q.job_id = j.id OR q.touches ? ('job:' || j.id)))`,
		"UPDATE jobs SET state = 'MOVING' WHERE id = 'WO-1.2'"},
	{11, "the counters of an order are the ends of its parts, and each planned part is there", `
		SELECT o.id, o.completed::text, o.scrapped::text, o.cancelled::text, n.* FROM work_orders o
		LEFT JOIN LATERAL (SELECT count(*) AS all, count(*) FILTER (WHERE state = 'COMPLETED') AS completed, count(*) FILTER (WHERE state = 'SCRAPPED') AS scrapped,
			count(*) FILTER (WHERE state = 'CANCELLED') AS cancelled FROM jobs WHERE order_id = o.id) n ON true
		WHERE n.completed <> o.completed OR n.scrapped <> o.scrapped OR n.cancelled <> o.cancelled OR n.all <> o.planned`,
		"UPDATE work_orders SET scrapped = 1"},
	{11, "an order has ended when its last part has, and not before", `
		SELECT o.id, j.id FROM work_orders o JOIN jobs j ON j.order_id = o.id WHERE o.state IN ('completed','cancelled') AND j.state NOT IN ` + jobEnds + `
		UNION ALL SELECT o.id, NULL FROM work_orders o WHERE o.state NOT IN ('completed','cancelled')
			AND NOT EXISTS (SELECT FROM jobs j WHERE j.order_id = o.id AND j.state NOT IN ` + jobEnds + `)`,
		"UPDATE work_orders SET state = 'completed'"},
	{13, "references of the cell are whole", `
		SELECT 'job ' || j.id FROM jobs j LEFT JOIN work_orders o ON o.id = j.order_id WHERE o.id IS NULL
		UNION ALL SELECT 'slot ' || s.id FROM equipment_slots s LEFT JOIN equipment e ON e.id = s.equipment_id WHERE e.id IS NULL
		UNION ALL SELECT 'task ' || t.id FROM tasks t LEFT JOIN equipment e ON e.id = t.equipment_id LEFT JOIN jobs j ON j.id = t.job_id
			WHERE e.id IS NULL OR t.job_id IS NOT NULL AND j.order_id IS DISTINCT FROM t.order_id
		UNION ALL SELECT 'pallet ' || p.id FROM pallets p LEFT JOIN work_orders o ON o.id = p.order_id WHERE o.id IS NULL
		UNION ALL SELECT 'question ' || q.id FROM manual_actions q LEFT JOIN tasks t ON t.id = q.task_id LEFT JOIN jobs j ON j.id = q.job_id
			WHERE q.task_id IS NOT NULL AND t.id IS NULL OR q.job_id IS NOT NULL AND j.id IS NULL`,
		"DELETE FROM equipment WHERE id = 'mill'"},
	{18, "what failed or is in doubt says why, and an answer says who gave it", `
		SELECT 'task ' || id FROM tasks WHERE state IN ('FAILED','UNKNOWN','CANCELLED') AND coalesce(error, '') = ''
		UNION ALL SELECT 'question ' || id FROM manual_actions WHERE state = 'RESOLVED' AND (coalesce(answer, '') = '' OR coalesce(answered_by, '') = '')
		UNION ALL SELECT 'hold ' || subject FROM holds WHERE is_open AND coalesce(by, '') = ''`,
		"UPDATE tasks SET error = ''"},
}

// aCell is lawful: a part in a slot, one on its way, one not here; an action that runs, one in doubt, a question.
const aCell = `
	INSERT INTO loop_state VALUES (1, gen_random_uuid(), gen_random_uuid(), 0, 0, 3, gen_random_uuid(), false, false, now());
	INSERT INTO cells VALUES ('cell', 1, 'c', 1, '', '{"buffer":{"count":8,"first":1}}', 12, false, false, NULL, NULL, NULL);
	INSERT INTO equipment SELECT e, 1, e, CASE e WHEN 'robot' THEN 'robot' ELSE 'machine' END, '{}', 'IDLE', 'none', 0, false FROM unnest(ARRAY['robot', 'mill']) e;
	INSERT INTO work_orders VALUES ('WO-1', 1, 'p', 'r', 1, NULL, 0, 'running', NULL, 4, 1, 0, 0, 'mai', now(), now(), NULL, true);
	INSERT INTO jobs VALUES
		('WO-1.1', 1, 'WO-1', 1, 'PROCESSING', 'ON_EQUIPMENT', 'mill:1', 1, 0, 'none', NULL, '{}', now(), NULL, true, true),
		('WO-1.2', 1, 'WO-1', 2, 'QUEUED', 'ON_DOCK', '2', NULL, 0, 'none', NULL, '{}', now(), NULL, true, true),
		('WO-1.3', 1, 'WO-1', 3, 'MOVING', 'ON_DOCK', '3', 3, 0, 'none', NULL, '{}', now(), NULL, true, true),
		('WO-1.4', 1, 'WO-1', 4, 'COMPLETED', 'OUT', 'exit', NULL, 1, 'none', NULL, '{}', now(), now(), false, false);
	INSERT INTO equipment_slots VALUES ('mill:1', 1, 'mill', 1, 'OCCUPIED', 'WO-1.1', now(), NULL, NULL), ('mill:2', 1, 'mill', 2, 'EMPTY', NULL, NULL, NULL, NULL);
	INSERT INTO pallets VALUES ('P-1', 1, 'WO-1', 4, now(), NULL, true);
	INSERT INTO tasks VALUES
		(gen_random_uuid(), 1, 'MOVE', 'WO-1.4', 'WO-1', 'robot', NULL, NULL, NULL, NULL, 0, NULL, 0, 'SUCCEEDED', 10, 1, 2, 'to', NULL, NULL, NULL, now(), now(), false, false, false),
		(gen_random_uuid(), 1, 'MOVE', 'WO-1.3', 'WO-1', 'robot', NULL, NULL, NULL, NULL, 0, NULL, 0, 'RUNNING', 11, 1, 3, NULL, NULL, NULL, now(), now(), NULL, true, true, false),
		(gen_random_uuid(), 1, 'START_MACHINE', NULL, NULL, 'mill', NULL, NULL, NULL, NULL, 0, NULL, 0, 'UNKNOWN', 12, 1, 2, NULL, 'x', NULL, NULL, now(), NULL, true, false, true);
	INSERT INTO manual_actions (id, version, state, finding, subject, touches, record, machine, hash, answers, opened_at, is_open)
		VALUES (gen_random_uuid(), 1, 'OPEN', 'unreachable', 'equipment:mill', '["equipment:mill"]', '', '', '', '[{}]', now(), true);
	INSERT INTO holds VALUES (gen_random_uuid(), 1, 'cell', 'recovery', 'surehand', 'x', now(), NULL, NULL, NULL, true)`

// Each query finds nothing in a lawful cell, and something in a spoilt one.
func TestCellInvariantsAreSeen(t *testing.T) {
	url := embeddedtest.DatabaseLike(t, "migrated", func(url string) error {
		return migrate.Up(context.Background(), url, slog.New(slog.DiscardHandler))
	})
	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	exec := func(sql string) {
		t.Helper()
		_, err := conn.Exec(t.Context(), sql, pgx.QueryExecModeSimpleProtocol)
		require.NoError(t, err, sql)
	}
	found := func(sql string) int {
		t.Helper()
		rows, err := conn.Query(t.Context(), sql, pgx.QueryExecModeSimpleProtocol)
		require.NoError(t, err, sql)
		n := 0
		for rows.Next() {
			n++
		}
		require.NoError(t, rows.Err(), sql)
		return n
	}
	exec(aCell)
	exec(`DO $$ DECLARE r record; BEGIN
		FOR r IN SELECT conrelid::regclass AS t, conname FROM pg_constraint WHERE contype = 'c' AND connamespace = 'public'::regnamespace LOOP
			EXECUTE format('ALTER TABLE %s DROP CONSTRAINT %I', r.t, r.conname); END LOOP;
		FOR r IN SELECT indexrelid::regclass AS i FROM pg_index WHERE indisunique AND NOT indisprimary AND indrelid::regclass::text IN ('jobs', 'tasks', 'equipment_slots') LOOP
			EXECUTE format('DROP INDEX %s', r.i); END LOOP; END $$`)
	for _, i := range cellInvariants {
		require.Zero(t, found(i.broken), "invariant %d: %s", i.number, i.says)
	}
	for _, i := range cellInvariants {
		exec("BEGIN")
		exec(i.spoils)
		require.NotZero(t, found(i.broken), "invariant %d: %s", i.number, i.says)
		exec("ROLLBACK")
	}
}
