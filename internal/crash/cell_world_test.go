package crash

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"surehand/internal/dbstate/read"
	"surehand/internal/plant"
	"surehand/internal/simulator/line"
	"surehand/internal/term"
)

// cell is a site with a production cell: the simulated plant lives on while the product is killed.
type cell struct {
	*world
	plant  *line.World
	mqtt   bool // the robot is on MQTT
	reader *read.Reader
	order  string
	parts  int
	asked  map[string]bool // questions seen, by id
}

// Numbers of the places on the wire.
const (
	dockFirst, bufferFirst, exitPlace = 1, 21, 99
	robotAt                           = 80 // the scanner's station
)

var slotsFirst = map[string]int{"lathe": 41, "mill": 51, "oven": 61}

// newCell starts database, broker, plant and product, imports the plant file and confirms the first comparison.
func newCell(t *testing.T, change ...func(*line.Options)) *cell {
	t.Helper()
	c := &cell{world: newWorld(t), asked: map[string]bool{}}
	o := line.Options{
		Dock: line.Row{First: dockFirst, Count: 12}, Buffer: line.Row{First: bufferFirst, Count: 8}, Exit: exitPlace,
		Robot: line.RobotOptions{MoveTime: 60 * time.Millisecond},
		Machines: []line.MachineOptions{{Name: "lathe", First: 41, CycleTime: 80 * time.Millisecond}, {Name: "mill", First: 51, Slots: 2, CycleTime: 120 * time.Millisecond},
			{Name: "oven", First: 61, Slots: 4, Batch: true, CycleTime: 200 * time.Millisecond}},
		Scanners: []line.ScannerOptions{{Name: "scanner", Place: robotAt}},
		PartCode: func(pallet, place int) string { return fmt.Sprintf("HS-%d-%02d", pallet, place) },
	}
	for _, f := range change {
		f(&o)
	}
	if m := o.Robot.MQTT; m != nil {
		c.mqtt, m.BrokerURL, m.Topic = true, c.broker.URL(), robotTopic
	}
	var err error
	c.plant, err = line.Start(o)
	require.NoError(t, err)
	t.Cleanup(c.plant.Close)
	c.reader, err = read.Open(context.Background(), c.url)
	require.NoError(t, err)
	t.Cleanup(c.reader.Close)
	c.start().Ready(30 * time.Second)
	status, body := c.process.Post(context.Background(), "/api/v1/plant", "text/yaml", []byte(c.yaml()))
	require.Equal(t, http.StatusOK, status, string(body))
	c.confirm(30 * time.Second)
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(c.describe())
		}
	})
	return c
}

// yaml is the plant file of the simulated cell.
func (c *cell) yaml() string {
	modbus := func(kind, address string) string {
		return fmt.Sprintf(`{type: modbus-%s, address: "%s", unit: 1, command: 0, status: 100, poll: 20ms, stale: 1s, timeout: 300ms}`, kind, address)
	}
	b := &strings.Builder{}
	fmt.Fprintf(b, "cell:\n  name: cell-1\n  dock: {places: 12, first: %d}\n  buffer: {places: 8, first: %d}\n  exit: %d\nequipment:\n", dockFirst, bufferFirst, exitPlace)
	for _, m := range []struct {
		id    string
		slots int
		batch bool
	}{{"lathe", 1, false}, {"mill", 2, false}, {"oven", 4, true}} {
		batch := ""
		if m.batch {
			batch = "batch: true, maxWait: 20s, "
		}
		fmt.Fprintf(b, "  - {id: %s, kind: machine, slots: %d, %sfirst: %d, actionTime: 5s, driver: %s}\n", m.id, m.slots, batch,
			slotsFirst[m.id], modbus("machine", c.plant.Machine(m.id).Address()))
	}
	robot := "{type: mqtt-robot, stale: 2s}"
	if !c.mqtt {
		robot = modbus("robot", c.plant.Robot().Address())
	}
	fmt.Fprintf(b, "  - {id: robot, kind: robot, actionTime: 5s, driver: %s}\n", robot)
	fmt.Fprintf(b, "  - {id: scanner, kind: scanner, first: %d, actionTime: 5s, driver: {type: tcp-scanner, address: %q, format: '^HS-[0-9-]+$', timeout: 1s}}\n",
		robotAt, c.plant.Scanner("scanner").Address())
	b.WriteString("routes:\n  - {id: housing, steps: [{machine: lathe, program: 1, timeout: 1m}, {machine: mill, program: 2, timeout: 1m}, {machine: oven, program: 3, timeout: 2m}, {scan: scanner}]}\n")
	return b.String()
}

// post sends a command of a person and returns status and body.
func (c *cell) post(path string, body map[string]any) (int, map[string]any) {
	raw, err := json.Marshal(body)
	require.NoError(c.t, err)
	status, answer := c.process.Post(context.Background(), "/api/v1"+path, "application/json", raw)
	var decoded map[string]any
	_ = json.Unmarshal(answer, &decoded) // an answer without a body is told by its status
	return status, decoded
}

func (c *cell) accept(path string, body map[string]any) {
	c.t.Helper()
	status, answer := c.post(path, body)
	require.Equal(c.t, http.StatusOK, status, "%s: %v", path, answer)
}

// begin creates an order, brings its pallet and starts it.
func (c *cell) begin(order string, parts int) {
	c.t.Helper()
	c.order, c.parts = order, parts
	c.accept("/orders", map[string]any{"id": order, "product": "housing", "route": "housing", "quantity": parts})
	_, err := c.plant.Arrive(parts)
	require.NoError(c.t, err)
	c.accept("/orders/"+order+"/pallets", map[string]any{"pallet": "pallet-1", "quantity": parts})
	c.accept("/orders/"+order+"/start", map[string]any{})
}

// confirm waits until everything has been compared, and ends the recovery: nothing may have been found.
func (c *cell) confirm(within time.Duration) {
	c.t.Helper()
	until(c.t, within, "the recovery is confirmed", func() bool {
		status, _ := c.post("/recovery/confirm", map[string]any{"reason": "I looked"})
		return status == http.StatusOK
	})
}

// compared waits until a restart has been compared with the machines: the confirmation is then refused for open
// questions, or taken.
func (c *cell) compared() {
	c.t.Helper()
	until(c.t, 30*time.Second, "the machines have been compared", func() bool {
		status, answer := c.post("/recovery/confirm", map[string]any{"reason": "I looked"})
		return status == http.StatusOK || status == http.StatusConflict && answer["code"] != "comparing"
	})
}

func (c *cell) questions() []*plant.Question {
	c.t.Helper()
	page, err := c.reader.Questions(context.Background(), read.QuestionFilter{OnlyOpen: true, Limit: 200})
	require.NoError(c.t, err)
	for _, q := range page.Items {
		c.asked[string(q.ID)] = true
	}
	return page.Items
}

// part of a job in the plant: job n is the part that came on place n of the first pallet.
func (c *cell) part(job term.JobID) string {
	return "1." + string(job)[strings.LastIndexByte(string(job), '.')+1:]
}

func wireNumber(p term.Place) line.Place {
	switch p.Type {
	case term.OnDock:
		return line.Place(dockFirst + p.Number() - 1)
	case term.OnBuffer:
		return line.Place(bufferFirst + p.Number() - 1)
	case term.OnEquipment:
		id, n := p.Slot()
		return line.Place(slotsFirst[string(id)] + n - 1)
	case term.Out:
		return exitPlace
	}
	return line.Gripper
}

// honest is what somebody says who goes and looks; empty: nothing can be said yet.
func (c *cell) honest(q *plant.Question) string {
	truth := c.plant.Truth()
	if n := len(truth.Actions); n > 0 && truth.Actions[n-1].Ended.IsZero() {
		return "" // the robot is moving
	}
	at := c.plant.Snapshot()[c.part(q.JobID)]
	switch q.Finding {
	case term.FindTaskUnknown:
		task, err := c.reader.Task(context.Background(), q.TaskID)
		require.NoError(c.t, err)
		switch {
		case task.Type == term.TaskStartMachine && truth.Started[string(task.EquipmentID)][task.ActionNo] > 0:
			return term.AnswerDone
		case task.Type == term.TaskStartMachine, task.Type == term.TaskScan:
			return term.AnswerNotDone
		case at == line.Floor:
			return term.AnswerRemoved
		case at == line.Gripper && task.From.Type == term.OnRobot && task.To.Type != term.OnRobot:
			return term.AnswerNotDone
		case at == line.Gripper && task.To.Type != term.OnRobot:
			return term.AnswerGripper
		case at == wireNumber(task.To):
			return term.AnswerDone
		case at == wireNumber(task.From):
			return term.AnswerNotDone
		}
		c.t.Fatalf("%s is at %d, neither on %s nor on %s", q.JobID, at, task.From, task.To)
	case term.FindLateSuccess:
		if at == wireNumber(q.Place) && q.Offers(term.AnswerDone) {
			return term.AnswerDone
		}
		return term.AnswerDismiss
	case term.FindActionFailed:
		return term.AnswerRetry
	case term.FindUnreachable, term.FindFlapping, term.FindFault:
		return "" // closes by itself
	}
	c.t.Fatalf("nobody would know why this is asked: %s %s: %s; %s", q.Finding, q.Subject, q.Record, q.Machine)
	return ""
}

// operate answers what is asked, once, as an honest operator does, and confirms a recovery.
func (c *cell) operate() {
	c.t.Helper()
	for _, q := range c.questions() {
		word := c.honest(q)
		if word == "" || !q.Offers(word) { // what the machines say has not arrived yet
			continue
		}
		status, answer := c.post("/manual-actions/"+string(q.ID)+"/answer", map[string]any{"version": q.Version, "hash": q.Hash, "answer": word, "reason": "I looked"})
		known := status == http.StatusOK || status == http.StatusNotFound || status == http.StatusConflict &&
			slices.Contains([]any{"changed", "unsteady", "working"}, answer["code"])
		require.True(c.t, known || status == 0 || status == http.StatusServiceUnavailable, "%s to %s: %d %v", word, q.Finding, status, answer)
	}
	if c.number("SELECT count(*) FROM holds WHERE is_open AND subject = 'cell' AND reason = 'recovery'") > 0 {
		c.post("/recovery/confirm", map[string]any{"reason": "I looked"})
	}
}

func (c *cell) ended() bool {
	return c.number("SELECT count(*) FROM work_orders WHERE id = $1 AND ended_at IS NOT NULL", c.order) == 1
}

// operateUntilEnded lets the honest operator work until the order has ended.
func (c *cell) operateUntilEnded(within time.Duration) {
	c.t.Helper()
	over := time.Now().Add(within)
	for !c.ended() {
		if time.Now().After(over) {
			c.t.Fatalf("the order has not ended within %s", within)
		}
		c.operate()
		<-time.After(50 * time.Millisecond)
	}
}

// checkCell holds the record against what really happened in the plant: every part has gone its whole route once, is
// out, was read as itself, and nothing happened twice.
func (c *cell) checkCell() {
	c.t.Helper()
	truth := c.plant.Truth()
	require.Empty(c.t, truth.Violations)
	for no, n := range truth.Executed {
		require.Equal(c.t, 1, n, "action %d was begun %d times", no, n)
	}
	for machine, starts := range truth.Started {
		for no, n := range starts {
			require.Equal(c.t, 1, n, "start %d of %s was begun %d times", no, machine, n)
		}
	}
	require.Equal(c.t, [][]string{{"completed", strconv.Itoa(c.parts), "0", "0"}}, c.rows("SELECT state, completed::text, scrapped::text, cancelled::text FROM work_orders WHERE id = $1", c.order))
	for n := 1; n <= c.parts; n++ {
		part := truth.Parts[fmt.Sprintf("1.%d", n)]
		require.Equal(c.t, line.Place(exitPlace), part.At, "part %s is at %d", part.ID, part.At)
		var worked []string
		for _, s := range part.Steps {
			if s.Worked {
				worked = append(worked, fmt.Sprintf("%s program %d", s.By, s.Program))
			}
		}
		require.Equal(c.t, []string{"lathe program 1", "mill program 2", "oven program 3"}, worked, "part %s", part.ID)
		require.Equal(c.t, [][]string{{"COMPLETED", part.Code}}, c.rows("SELECT state, context->>'code' FROM jobs WHERE id = $1", fmt.Sprintf("%s.%d", c.order, n)))
	}
	c.checkDatabase()
}

func (c *cell) describe() string {
	b := &strings.Builder{}
	for _, sql := range []string{
		"SELECT id, state, position_type, coalesce(position_ref_id, ''), coalesce(temp_slot_no::text, ''), step_index::text FROM jobs WHERE is_open ORDER BY number",
		"SELECT id::text, type, state, coalesce(job_id, ''), action_no::text, coalesce(error, '') FROM tasks WHERE is_open",
		"SELECT id, status, done_latch FROM equipment", "SELECT id, state, coalesce(current_job_id, ''), coalesce(started_at::text, '') FROM equipment_slots",
		"SELECT finding, subject, record, machine FROM manual_actions WHERE state = 'OPEN'", "SELECT subject, reason, why FROM holds WHERE is_open",
		"SELECT coalesce(waiting_for, '') FROM cells",
	} {
		rows, err := c.query(sql)
		fmt.Fprintf(b, "%s: %v\n", sql, err)
		for _, r := range rows {
			fmt.Fprintln(b, "   ", strings.Join(r, " | "))
		}
	}
	return b.String() + c.plant.Describe()
}
