package main

import (
	"context"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"

	"github.com/jackc/pgx/v5"
)

// pgbench is the yardstick of the loop: "start or finish a task" as four conditional updates and one insert
// in one transaction, prepared and pipelined by one client. It is what a careful program reaches that commits
// one message at a time.
type pgbench struct {
	cluster *cluster
	script  string
}

const pgbenchTables = `
CREATE TABLE work_order (id bigint PRIMARY KEY, state text NOT NULL, done bigint NOT NULL DEFAULT 0, version bigint NOT NULL DEFAULT 1) WITH (fillfactor = 70);
CREATE TABLE job (id bigint PRIMARY KEY, work_order bigint NOT NULL, state text NOT NULL, version bigint NOT NULL DEFAULT 1, updated_at timestamptz NOT NULL DEFAULT now()) WITH (fillfactor = 70);
CREATE TABLE equipment_slot (id bigint PRIMARY KEY, state text NOT NULL, version bigint NOT NULL DEFAULT 1, updated_at timestamptz NOT NULL DEFAULT now()) WITH (fillfactor = 70);
CREATE TABLE task (id bigint PRIMARY KEY, job bigint NOT NULL, status text NOT NULL, version bigint NOT NULL DEFAULT 1, updated_at timestamptz NOT NULL DEFAULT now()) WITH (fillfactor = 70);
CREATE INDEX task_running ON task (id) WHERE status = 'RUNNING';
CREATE TABLE event_log (seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, at timestamptz NOT NULL DEFAULT now(), entity text NOT NULL, type text NOT NULL, payload jsonb NOT NULL);
CREATE INDEX event_log_entity ON event_log (entity);
INSERT INTO work_order SELECT i, 'RUNNING' FROM generate_series(1, 2000) i;
INSERT INTO job SELECT i, 1 + i % 2000, 'RUNNING' FROM generate_series(1, 10000) i;
INSERT INTO equipment_slot SELECT i, 'FREE' FROM generate_series(1, 100000) i;
INSERT INTO task SELECT i, 1 + i % 10000, 'READY' FROM generate_series(1, 100000) i;
`

const pgbenchScript = `\set t random(1, 100000)
\set j 1 + :t % 10000
\set o 1 + :j % 2000
\startpipeline
BEGIN;
UPDATE task SET status = CASE status WHEN 'READY' THEN 'RUNNING' ELSE 'READY' END, version = version + 1, updated_at = now() WHERE id = :t AND status IN ('READY', 'RUNNING');
UPDATE equipment_slot SET state = CASE state WHEN 'FREE' THEN 'TAKEN' ELSE 'FREE' END, version = version + 1, updated_at = now() WHERE id = :t AND state IN ('FREE', 'TAKEN');
UPDATE job SET version = version + 1, updated_at = now() WHERE id = :j AND state = 'RUNNING';
UPDATE work_order SET done = done + 1, version = version + 1 WHERE id = :o AND state = 'RUNNING';
INSERT INTO event_log (entity, type, payload) VALUES ('task:' || :t, 'TaskMoved', '{"task": "moved", "by": "pgbench", "notes": [{"kind": "task", "from": "READY", "to": "RUNNING"}, {"kind": "slot", "from": "FREE", "to": "TAKEN"}]}');
COMMIT;
\endpipeline
`

const pgbenchDatabase = "yardstick"

// yardstick makes the tables at the first use.
func (s *site) yardstick(ctx context.Context) (*pgbench, error) {
	if s.pgbench != nil {
		return s.pgbench, nil
	}
	if err := s.createDatabase(ctx, pgbenchDatabase); err != nil {
		return nil, err
	}
	conn, err := pgx.Connect(ctx, s.cluster.url(pgbenchDatabase))
	if err != nil {
		return nil, err
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, pgbenchTables); err != nil {
		return nil, fmt.Errorf("yardstick's tables: %w", err)
	}
	if _, err := conn.Exec(ctx, "VACUUM ANALYZE"); err != nil {
		return nil, err
	}
	p := &pgbench{cluster: s.cluster, script: filepath.Join(s.folder, "pipelined.sql")}
	if err := os.WriteFile(p.script, []byte(pgbenchScript), 0o644); err != nil {
		return nil, err
	}
	s.pgbench = p
	return p, nil
}

var tps = regexp.MustCompile(`tps = ([0-9.]+)`)

// run gives transactions a second. pgbench knows whole seconds only.
func (p *pgbench) run(ctx context.Context, seconds float64) (float64, error) {
	cmd := exec.CommandContext(ctx, filepath.Join(p.cluster.bin, "pgbench"), "-n", "-c1", "-j1", "-M", "prepared",
		"-T", strconv.Itoa(int(math.Ceil(seconds))), "-f", p.script, "-h", p.cluster.socket(), "-p", "5432", "-U", "postgres", pgbenchDatabase)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return 0, fmt.Errorf("pgbench: %w: %s", err, out)
	}
	found := tps.FindSubmatch(out)
	if found == nil {
		return 0, fmt.Errorf("pgbench said no tps: %s", out)
	}
	return strconv.ParseFloat(string(found[1]), 64)
}
