package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"surehand/internal/message"
	"surehand/internal/plant"
	"surehand/internal/term"
)

const (
	restartOpen   = 10_000
	restartEnded  = 1_000_000
	restartQueue  = 5  // open commands of an endpoint: one under way, the others behind it
	restartModels = 50 // ended commands that the loop really made; all others are copies
	// restartStarts of a round: the p99 of so few is the slowest of them, and the result the median of the rounds'.
	restartStarts = 40
	// restartWindows: nothing that is open comes to its end by itself while the benchmark runs.
	restartWindows = 30 * 24 * time.Hour
)

// restart: from the start of the real program to the first yes of /readyz, with what a large plant has in its database.
// Each start follows a kill, as after a crash. The program is asked every millisecond or two, over HTTP; making the
// database and the kill are not in the time.
func restart(ctx context.Context, s *site) (round, error) {
	program := filepath.Join(s.folder, "surehand")
	build := exec.CommandContext(ctx, "go", "build", "-o", program, "./cmd/surehand")
	build.Dir = ".."
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build the program: %w: %s", err, out)
	}
	broker, err := startBroker(ctx, s)
	if err != nil {
		return nil, err
	}
	open, ended := s.options.scaled(restartOpen), s.options.scaled(restartEnded)
	if err := furnishRestart(ctx, s, open, ended); err != nil {
		return nil, err
	}
	p := &started{program: program, log: filepath.Join(s.folder, "restart.log"), env: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + s.folder,
		"SUREHAND_DATABASE_URL=" + s.cluster.url("restart"), "SUREHAND_MQTT_URL=mqtt://" + broker, "SUREHAND_MQTT_PREFIX=surehand/restart"}}
	s.closers = append(s.closers, p.kill)
	starts := s.options.scaled(restartStarts)
	return func(ctx context.Context) (float64, float64, error) {
		var took []time.Duration
		for range starts {
			d, err := p.start(ctx)
			if err != nil {
				return 0, 0, err
			}
			p.kill()
			took = append(took, d)
		}
		s.note("%d starts, p50 %s, slowest %s", len(took), percentile(took, 50).Round(time.Millisecond), percentile(took, 100).Round(time.Millisecond))
		return percentile(took, 99).Seconds(), 1, stillOpen(ctx, s, open)
	}, nil
}

// furnishRestart makes a database of its own: the loop makes the open commands and a few that have ended, which are
// then copied with everything that belongs to each. The schema holds the copies to its laws as it does the loop's own.
func furnishRestart(ctx context.Context, s *site, open, ended int) error {
	if err := s.createDatabase(ctx, "restart"); err != nil {
		return err
	}
	valves := max(open/restartQueue, restartModels)
	h, err := openHouse(ctx, s.cluster.url("restart"), houseSpec{valves: valves, direct: true, windows: restartWindows})
	if err != nil {
		return err
	}
	for _, c := range newCommands(restartModels) {
		if _, err := h.walk(ctx, c); err != nil {
			return err
		}
	}
	if err := h.fill(ctx, open, valves); err != nil {
		return err
	}
	if err := h.close(); err != nil {
		return err
	}
	conn, err := pgx.Connect(ctx, s.cluster.url("restart"))
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	if err := copyEnded(ctx, conn, ended); err != nil {
		return err
	}
	for _, statement := range []string{"VACUUM ANALYZE", "CHECKPOINT"} {
		if _, err := conn.Exec(ctx, statement); err != nil {
			return err
		}
	}
	return errors.Join(whole(ctx, conn, s), stillOpen(ctx, s, open))
}

// whole makes sure that every copy has what belongs to it.
func whole(ctx context.Context, conn *pgx.Conn, s *site) error {
	var ended, complete int
	err := conn.QueryRow(ctx, `SELECT (SELECT count(*) FROM automation_command_intents WHERE NOT is_open),
		(SELECT count(*) FROM automation_command_intents i JOIN device_command_receipts r ON r.id = i.evidence_id AND r.intent_id = i.id
			JOIN automation_rule_executions e ON e.id = i.execution_id AND e.intent_id = i.id JOIN command_attempts a ON a.intent_id = i.id AND a.command_id = i.command_id
			WHERE NOT i.is_open)`).Scan(&ended, &complete)
	if err == nil && complete != ended {
		err = fmt.Errorf("of %d ended commands %d have their execution, attempt and evidence", ended, complete)
	}
	s.note("%d ended commands", ended)
	return err
}

// fill wishes until so many commands are open: the first of each valve is sent, the others wait behind it.
func (h *house) fill(ctx context.Context, open, valves int) error {
	for done := 0; done < open; {
		// No more at a time than publishes may be open, so that none waits for a place.
		batch := make([]message.Message, min(open-done, plant.MaxPublishesOpen))
		for i := range batch {
			n := done + i
			batch[i] = h.person(message.SendCommand{Endpoint: valveEndpoint(n % valves), Value: term.Int(int64(n / valves)), Reassert: true})
		}
		if err := h.accepted(ctx, batch); err != nil {
			return err
		}
		done += len(batch)
		var sent []message.Message
		for _, p := range drained(h.publish) {
			sent = append(sent, h.stamp(message.FromWorker, message.AttemptEnded{AttemptID: p.AttemptID, IntentID: p.IntentID, Outcome: term.AttemptSent}))
		}
		if len(sent) > 0 {
			if err := h.accepted(ctx, sent); err != nil {
				return err
			}
		}
	}
	return nil
}

// accepted has messages decided, each of which has to be accepted.
func (h *house) accepted(ctx context.Context, batch []message.Message) error {
	outcomes, err := h.decide(ctx, batch...)
	if err != nil {
		return err
	}
	for _, o := range outcomes {
		if o.Code != message.Accepted {
			return fmt.Errorf("not accepted: %+v", o)
		}
	}
	return nil
}

// copyTables are the rows of a command and what has to be another value in each copy: ids are derived from the
// model's and the copy's number, so that the rows of one copy find each other.
var copyTables = []struct {
	table, where string
	changed      map[string]string
}{
	{"automation_command_intents", "NOT r.is_open", map[string]string{"id": "uuid(id)", "execution_id": "uuid(execution_id)", "evidence_id": "uuid(evidence_id)",
		"idempotency_key": "md5(r.idempotency_key || n)", "command_id": "text(command_id)", "mqtt_request_id": "uuid(mqtt_request_id)::text"}},
	{"automation_rule_executions", "NOT r.is_open AND r.intent_id IS NOT NULL", map[string]string{"id": "uuid(id)", "intent_id": "uuid(intent_id)"}},
	{"command_attempts", "r.intent_id IN (SELECT id FROM automation_command_intents WHERE NOT is_open)", map[string]string{"id": "uuid(id)", "intent_id": "uuid(intent_id)",
		"command_id": "text(command_id)"}},
	{"device_command_receipts", "r.id IN (SELECT evidence_id FROM automation_command_intents)", map[string]string{"id": "uuid(id)", "intent_id": "uuid(intent_id)"}},
}

// copyEnded copies the ended commands until there are so many. The tables are filled in the opposite order, so that
// what a statement copies is the loop's own work and no copy.
func copyEnded(ctx context.Context, conn *pgx.Conn, ended int) error {
	copies := ended/restartModels - 1
	for i := len(copyTables) - 1; i >= 0; i-- {
		t := copyTables[i]
		rows, err := conn.Query(ctx, "SELECT column_name FROM information_schema.columns WHERE table_schema = 'public' AND table_name = $1 ORDER BY ordinal_position", t.table)
		if err != nil {
			return err
		}
		columns, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			return err
		}
		var names, values []string
		for _, c := range columns {
			names = append(names, pgx.Identifier{c}.Sanitize())
			values = append(values, copied(c, t.changed[c]))
		}
		_, err = conn.Exec(ctx, fmt.Sprintf("INSERT INTO %s (%s) SELECT %s FROM %s r, generate_series(1, %d) n WHERE %s",
			t.table, strings.Join(names, ", "), strings.Join(values, ", "), t.table, copies, t.where))
		if err != nil {
			return fmt.Errorf("copy %s: %w", t.table, err)
		}
	}
	return nil
}

// copied is the value of a column in a copy.
func copied(column, how string) string {
	name := "r." + pgx.Identifier{column}.Sanitize()
	switch {
	case how == "":
		return name
	case strings.HasPrefix(how, "uuid("):
		return "md5(" + name + "::text || n)::uuid" + strings.TrimPrefix(how, "uuid("+column+")")
	case strings.HasPrefix(how, "text("):
		return "left(" + name + ", 37) || md5(" + name + " || n)" // cmd_, the installation, and what is the command's own
	}
	return how
}

// stillOpen makes sure that a start had to do with as many commands as it should.
func stillOpen(ctx context.Context, s *site, wanted int) error {
	conn, err := pgx.Connect(ctx, s.cluster.url("restart"))
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	var open int
	if err := conn.QueryRow(ctx, "SELECT count(*) FROM automation_command_intents WHERE is_open").Scan(&open); err != nil {
		return err
	}
	if open != wanted {
		return fmt.Errorf("%d commands are open, not %d", open, wanted)
	}
	s.note("%d open commands", open)
	return nil
}

// started is the program in a process of its own.
type started struct {
	program, log string
	env          []string
	process      *exec.Cmd
}

// start runs it, and returns when it serves.
func (p *started) start(ctx context.Context) (time.Duration, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	address := listener.Addr().String()
	if err := listener.Close(); err != nil {
		return 0, err
	}
	log, err := os.Create(p.log)
	if err != nil {
		return 0, err
	}
	defer log.Close()
	p.process = exec.CommandContext(ctx, p.program, "serve")
	p.process.Env = append([]string{"SUREHAND_HTTP_LISTEN=" + address}, p.env...)
	p.process.Stdout, p.process.Stderr = log, log
	p.process.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	began := time.Now()
	if err := p.process.Start(); err != nil {
		p.process = nil
		return 0, err
	}
	// A connection of its own each time: one that was refused must not be waited for.
	client := &http.Client{Timeout: patience, Transport: &http.Transport{DisableKeepAlives: true}}
	for time.Since(began) < patience && ctx.Err() == nil {
		response, err := client.Get("http://" + address + "/readyz")
		if err == nil {
			err = response.Body.Close()
		}
		if err == nil && response.StatusCode == http.StatusOK {
			return time.Since(began), nil
		}
		time.Sleep(time.Millisecond)
	}
	said, _ := os.ReadFile(p.log)
	return 0, errors.Join(fmt.Errorf("it did not serve within %s; it said: %s", patience, said), ctx.Err())
}

// kill ends it as a crash does.
func (p *started) kill() {
	if p.process == nil {
		return
	}
	_ = p.process.Process.Kill() // it may have ended by itself
	_ = p.process.Wait()
	p.process = nil
}
