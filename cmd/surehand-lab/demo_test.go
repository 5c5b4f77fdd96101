package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"surehand/internal/lab"
	"surehand/internal/service/processtest"
)

// run is the demo as "make run" starts it, as a process.
type run struct {
	t            *testing.T
	process      *exec.Cmd
	out          *lockedBuffer
	ended        chan error
	surehand, at string // addresses of Surehand and of the faults
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func startDemo(t *testing.T, binary, state string) *run {
	t.Helper()
	r := &run{t: t, out: &lockedBuffer{}, ended: make(chan error, 1), surehand: processtest.FreeAddress(t), at: processtest.FreeAddress(t)}
	r.process = exec.Command(binary, "demo", "--state", state, "--listen", r.surehand, "--lab", r.at, "--speed", "100", "--houses", "1")
	r.process.Stdout, r.process.Stderr = r.out, r.out
	r.process.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	for _, e := range os.Environ() { // a database or broker of the tests is not the demo's
		if !strings.HasPrefix(e, "SUREHAND_") {
			r.process.Env = append(r.process.Env, e)
		}
	}
	require.NoError(t, r.process.Start())
	go func() { r.ended <- r.process.Wait() }()
	t.Cleanup(func() {
		if r.process.ProcessState == nil {
			_ = r.process.Process.Signal(syscall.SIGTERM)
			<-r.ended
		}
		if t.Failed() {
			said := r.out.String()
			t.Log(said[max(0, len(said)-4000):])
		}
	})
	return r
}

// until waits for something to be so.
func (r *run) until(what string, so func() bool) {
	r.t.Helper()
	giveUp := time.Now().Add(3 * time.Minute)
	for !so() {
		if time.Now().After(giveUp) {
			r.t.Fatalf("never: %s\n%s", what, r.get("/api/v1/cell", nil))
		}
		select {
		case err := <-r.ended:
			r.t.Fatalf("the demo has ended: %v\n%s", err, r.out)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// get reads JSON into out where the answer is 200, and returns its text.
func (r *run) get(path string, out any) string {
	response, err := http.Get("http://" + r.surehand + path)
	if err != nil {
		return err.Error()
	}
	defer func() { _ = response.Body.Close() }()
	data, err := io.ReadAll(response.Body)
	require.NoError(r.t, err)
	if response.StatusCode >= 400 && response.StatusCode < 500 && response.StatusCode != http.StatusNotFound {
		r.t.Fatalf("%s: %s", path, data)
	}
	if response.StatusCode == http.StatusOK && out != nil {
		require.NoError(r.t, json.Unmarshal(data, out), "%s", data)
	}
	return string(data)
}

func (r *run) post(path string, in any) (status int, said string) {
	r.t.Helper()
	body, err := json.Marshal(in)
	require.NoError(r.t, err)
	request, err := http.NewRequest(http.MethodPost, "http://"+r.surehand+path, bytes.NewReader(body))
	require.NoError(r.t, err)
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Idempotency-Key", fmt.Sprint(time.Now().UnixNano()))
	response, err := http.DefaultClient.Do(request)
	require.NoError(r.t, err)
	defer func() { _ = response.Body.Close() }()
	data, err := io.ReadAll(response.Body)
	require.NoError(r.t, err)
	return response.StatusCode, string(data)
}

func (r *run) fault(binary, id, state string) {
	r.t.Helper()
	out, err := exec.Command(binary, "fault", "--lab", r.at, id, state).CombinedOutput()
	require.NoError(r.t, err, "%s", out)
}

func (r *run) world(binary string) string {
	out, err := exec.Command(binary, "world", "--lab", r.at).CombinedOutput()
	require.NoError(r.t, err, "%s", out)
	return string(out)
}

// completed counts the parts that have left good.
func (r *run) completed() (n int) {
	var orders struct{ Items []struct{ Completed int } }
	r.get("/api/v1/orders?limit=500", &orders)
	for _, o := range orders.Items {
		n += o.Completed
	}
	return n
}

var between = regexp.MustCompile(`from (.+) to .+`)

// looked is what a person says who goes and looks where the parts are; empty: nothing yet.
func looked(kind, record, world string, offered map[string]bool) string {
	var words []string
	switch kind {
	case "action_unknown":
		words = []string{"done"}
		if m := between.FindStringSubmatch(record); m != nil && standsAt(m[1], world) {
			words = []string{"not_done"}
		} else if strings.Contains(world, " gripper: ") {
			words = []string{"in_gripper", "done"}
		}
	case "machine_not_running": // what stood in a machine when it lost its power was not finished
		words = []string{"restart"}
	case "step_overdue":
		words = []string{"wait"}
	case "action_failed":
		words = []string{"retry"}
	case "judgement":
		words = []string{"scrap"}
	}
	for _, w := range words {
		if offered[w] {
			return w
		}
	}
	return ""
}

// standsAt tells whether the world shows a part at a place of the record: "buffer place 3" is "buffer 3 (23)" there, "mill:2" "mill slot 2 (42)".
func standsAt(place, world string) bool {
	name := strings.NewReplacer(" place ", " ", ":", " slot ").Replace(place)
	return strings.Contains(world, " "+name+" (")
}

// operate answers what is asked, by what the machines suggest and what a look shows, and confirms a recovery, until parts are completed again.
func (r *run) operate(binary string) {
	r.t.Helper()
	target := r.completed() + 6
	r.until("parts are completed again", func() bool {
		var asked struct {
			Items []struct {
				ID, Hash, Kind, Suggested, Record string
				Version                           int64
				Answers                           []struct{ Word string }
			}
		}
		r.get("/api/v1/manual-actions", &asked)
		for _, q := range asked.Items {
			offered := map[string]bool{}
			for _, a := range q.Answers {
				offered[a.Word] = true
			}
			word := q.Suggested
			if word == "" {
				word = looked(q.Kind, q.Record, r.world(binary), offered)
			}
			if word == "" { // it closes by itself, or a later look tells
				continue
			}
			r.post("/api/v1/manual-actions/"+q.ID+"/answer", map[string]any{"version": q.Version, "hash": q.Hash, "answer": word, "reason": "looked"})
		}
		var recovery struct{ Confirmable bool }
		if r.get("/api/v1/recovery", &recovery); recovery.Confirmable {
			r.post("/api/v1/recovery/confirm", map[string]any{"reason": "looked"})
		}
		return r.completed() >= target
	})
	require.NotContains(r.t, r.world(binary), "VIOLATION")
}

// proves K-5, D-24: the demo as a newcomer meets it. Orders go through the line and devices are switched with proof; Surehand is
// killed with a part in the gripper, a question is asked and answered, the line goes on; ended and started again, the plant
// stands as it stood.
func TestDemo(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	binary := filepath.Join(dir, "surehand-lab")
	out, err := exec.Command("go", "build", "-o", binary, ".").CombinedOutput()
	require.NoError(t, err, "%s", out)
	state := filepath.Join(dir, "state")

	r := startDemo(t, binary, state)
	r.until("an order is completed", func() bool { return r.completed() >= 6 })
	require.Contains(t, r.out.String(), "surehand-lab fault --lab "+r.at+" kill:surehand", "what it prints can be typed")
	r.until("a device was switched with proof", func() bool {
		var commands struct{ Items []struct{ State string } }
		r.get("/api/v1/commands?state=applied", &commands)
		return len(commands.Items) > 0
	})
	require.Contains(t, r.get("/", nil), "<html", "the page")
	var faults []lab.Fault
	r.get("/lab/faults", &faults)
	require.NotEmpty(t, faults, "the page's faults")

	r.fault(binary, "stick:robot", "on")
	r.until("the robot hangs with a part", func() bool { return strings.Contains(r.world(binary), "stuck in action") })
	r.fault(binary, "kill:surehand", "on")
	type asked struct{ Items []struct{ Kind string } }
	r.until("what became of the action is asked", func() bool {
		var q asked
		r.get("/api/v1/manual-actions", &q)
		return len(q.Items) == 1 && q.Items[0].Kind == "action_unknown"
	})
	status, said := r.post("/api/v1/recovery/confirm", map[string]any{})
	require.Equal(t, http.StatusConflict, status, "%s", said)
	r.fault(binary, "stick:robot", "off")
	r.operate(binary)

	require.NoError(t, r.process.Process.Signal(os.Interrupt))
	require.NoError(t, <-r.ended, "%s", r.out)

	r = startDemo(t, binary, state)
	r.until("Surehand is back", func() bool { return strings.Contains(r.get("/readyz", nil), `"ready":true`) })
	r.operate(binary)
	require.NoError(t, r.process.Process.Signal(os.Interrupt))
	require.NoError(t, <-r.ended, "%s", r.out)
}
