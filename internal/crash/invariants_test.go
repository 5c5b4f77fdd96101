package crash

import (
	"github.com/stretchr/testify/assert"
)

// invariants are those that rows alone can tell, at rest. Each query names what breaks it.
var invariants = []struct {
	number int
	says   string
	broken string
}{
	{1, "a command counts the attempts that may have left, and no more than it may make", `
		SELECT i.id::text, i.attempt_count::text, i.attempt_number::text, a.all::text, a.left::text FROM automation_command_intents i
		LEFT JOIN LATERAL (SELECT count(*) AS all, count(*) FILTER (WHERE outcome <> 'not_sent') AS left, coalesce(max(number), 0) AS last
			FROM command_attempts WHERE intent_id = i.id) a ON true
		WHERE a.left <> i.attempt_count OR a.all <> i.attempt_number OR a.last <> i.attempt_number OR a.left > i.max_attempts`},
	{1, "at most one attempt may have left to a class C device, or for an action that is not absolute", `
		SELECT i.id::text, d.class, i.attempt_count::text FROM automation_command_intents i JOIN devices d ON d.id = i.device_id
		WHERE i.attempt_count > 1 AND (d.class = 'C' OR i.action <> 'absolute')`},
	{2, "all attempts of a command carry one id, one hash, one method and the same parameters", `
		SELECT i.id::text FROM automation_command_intents i JOIN command_attempts a ON a.intent_id = i.id GROUP BY i.id
		HAVING count(DISTINCT a.command_id) > 1 OR min(a.command_id) IS DISTINCT FROM i.command_id OR count(DISTINCT a.hash) > 1
		OR count(DISTINCT (a.payload::jsonb - 'sentAt' - 'deadlineAt' - 'attempt')::text) > 1`},
	{2, "an id belongs to one command", `SELECT command_id FROM command_attempts GROUP BY command_id HAVING count(DISTINCT intent_id) > 1`},
	{4, "applied has its own evidence, received after the first fence", `
		SELECT i.id::text FROM automation_command_intents i LEFT JOIN device_command_receipts r ON r.id = i.evidence_id
		LEFT JOIN LATERAL (SELECT min(fenced_at) AS first FROM command_attempts WHERE intent_id = i.id) a ON true
		WHERE i.state = 'applied' AND (r.id IS NULL OR r.intent_id IS DISTINCT FROM i.id OR a.first IS NULL OR r.received_at < a.first)`},
	{4, "expired tells whether an attempt may have left", `
		SELECT id::text, attempt_count::text FROM automation_command_intents WHERE state = 'expired' AND possibly_executed <> (attempt_count > 0)`},
	{5, "one command holds an endpoint", `
		SELECT endpoint_id FROM automation_command_intents WHERE holds_endpoint GROUP BY endpoint_id HAVING count(*) > 1`},
	{6, "what has ended without doubt holds nothing", `
		SELECT id::text FROM automation_command_intents WHERE state IN ('applied','failed') AND (holds_endpoint OR is_open OR ended_at IS NULL)`},
	{7, "nothing is under way", `SELECT id::text, state FROM automation_command_intents WHERE state IN ` + liveStates},
	{7, "no attempt is open", `SELECT id::text FROM command_attempts WHERE is_open`},
	{7, "no event waits for its rules", `SELECT id::text FROM automation_endpoint_events WHERE is_open`},
	{12, "seq is gapless from 1", `
		SELECT seq::text FROM (SELECT seq, row_number() OVER (ORDER BY seq) AS n FROM event_log) l WHERE seq <> n LIMIT 5`},
	{12, "one generation", `SELECT generation::text FROM event_log GROUP BY generation HAVING generation <> (SELECT generation FROM loop_state)`},
	{12, "the fence row has the last seq", `SELECT seq::text FROM loop_state WHERE seq <> (SELECT coalesce(max(seq), 0) FROM event_log)`},
	{12, "a message decides once", `SELECT message_id::text FROM event_log GROUP BY message_id HAVING count(*) > 1`},
	{12, "each move of a command is in the log", `
		SELECT i.id::text FROM automation_command_intents i
		WHERE NOT EXISTS (SELECT FROM event_log l WHERE l.notes::text LIKE '%' || i.id::text || '%' OR l.notes_left_out > 0)`},
	{13, "a reading and the event of each value were committed together", `
		SELECT t.id::text FROM telemetry t LEFT JOIN automation_endpoint_events e ON e.telemetry_id = t.id GROUP BY t.id HAVING count(e.id) <> 3`},
	{13, "references are whole", `
		SELECT 'attempt ' || a.id FROM command_attempts a LEFT JOIN automation_command_intents i ON i.id = a.intent_id WHERE i.id IS NULL
		UNION ALL SELECT 'receipt ' || r.id FROM device_command_receipts r LEFT JOIN automation_command_intents i ON i.id = r.intent_id WHERE r.intent_id IS NOT NULL AND i.id IS NULL
		UNION ALL SELECT 'intent ' || i.id FROM automation_command_intents i LEFT JOIN automation_rule_executions x ON x.id = i.execution_id WHERE x.id IS NULL
		UNION ALL SELECT 'execution ' || x.id FROM automation_rule_executions x LEFT JOIN automation_command_intents i ON i.id = x.intent_id WHERE x.intent_id IS NOT NULL AND i.id IS NULL
		UNION ALL SELECT 'event ' || e.id FROM automation_endpoint_events e LEFT JOIN telemetry t ON t.id = e.telemetry_id WHERE e.telemetry_id IS NOT NULL AND t.id IS NULL`},
	{3, "an event fires a rule once", `
		SELECT rule_id, event_id::text FROM automation_command_intents WHERE rule_id IS NOT NULL GROUP BY rule_id, event_id HAVING count(*) > 1`},
	{3, "a reading is stored once", `SELECT device_id, boot_id, seq::text FROM telemetry GROUP BY device_id, boot_id, seq HAVING count(*) > 1`},
	{14, "attempts were made by lives in their order", `
		SELECT a.id::text FROM command_attempts a JOIN command_attempts b ON b.intent_id = a.intent_id AND b.number > a.number WHERE b.epoch < a.epoch
		UNION ALL SELECT id::text FROM command_attempts WHERE epoch > (SELECT epoch FROM loop_state)`},
	{16, "nothing was parked, held, or refused as broken input", `
		SELECT 'parked ' || reason FROM parked_messages UNION ALL SELECT 'hold ' || subject || ' ' || why FROM holds WHERE reason IN ('parked','quarantine')
		UNION ALL SELECT 'receipt ' || coalesce(reason, '') FROM device_command_receipts WHERE type = 'rejected'`},
	{18, "what was refused, failed, expired or is uncertain says why", `
		SELECT 'execution ' || id FROM automation_rule_executions WHERE outcome IN ('refused','failed') AND coalesce(reason, '') = ''
		UNION ALL SELECT 'intent ' || id FROM automation_command_intents WHERE state IN ('failed','expired','uncertain') AND coalesce(last_error, '') = ''
		UNION ALL SELECT 'log ' || seq FROM event_log WHERE outcome IN ('refused','parked') AND coalesce(reason, '') = ''`},
}

func (w *world) checkDatabase() {
	w.t.Helper()
	for _, i := range invariants {
		found := w.rows(i.broken)
		assert.Empty(w.t, found[:min(len(found), 10)], "invariant %d: %s; %d rows break it", i.number, i.says, len(found))
	}
	for _, i := range cellInvariants {
		found := w.rows(i.broken)
		assert.Empty(w.t, found[:min(len(found), 10)], "invariant %d: %s; %d rows break it", i.number, i.says, len(found))
	}
	// Invariant 14: each life that the database confirmed has its own number.
	epoch := w.number("SELECT epoch FROM loop_state")
	assert.LessOrEqual(w.t, epoch, w.starts, "epochs and process starts")
}
