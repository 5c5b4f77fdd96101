package stories

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The register map of docs/drivers.md is enough for somebody who has nothing else. proves C-5, C-12, C-13, C-15
func TestCellOfAnotherLanguageMakesAnOrder(t *testing.T) {
	t.Parallel()
	js := world(t, npm(t, "modbus-serial@8", "cell.mjs"), "cell.mjs")
	s := prepare(t)
	s.start()
	s.tellOnFailure(js)
	s.post("plant", "application/yaml", js.plant())

	// Nothing moves before the machines were read and a person has looked; nor before the order is started.
	until(t, "the machines are compared", func() bool { return s.tries("recovery/confirm", `{"reason":"first look"}`) })
	const parts = 12
	js.asks(map[string]any{"arrive": parts})
	s.post("orders", "application/json", `{"id":"WO-1","route":"housing","quantity":12}`)
	s.post("orders/WO-1/pallets", "application/json", `{"pallet":"P-1","quantity":12}`)
	require.Empty(t, js.asks(map[string]any{"truth": true}).Commands)
	s.post("orders/WO-1/start", "application/json", ``)
	var w workOrder
	for n := 1; n <= parts; n++ {
		until(t, fmt.Sprintf("%d parts are completed", n), func() bool {
			w = ask[workOrder](s, "/api/v1/orders/WO-1")
			return w.Completed >= n
		})
	}
	require.Equal(t, workOrder{State: "completed", Planned: parts, Completed: parts}, w)

	// What the cell has seen: nothing impossible, and each part came through all of the route to the exit.
	truth := js.asks(map[string]any{"truth": true})
	require.Empty(t, truth.Violations)
	require.Len(t, truth.Parts, parts)
	for _, p := range truth.Parts {
		require.Equal(t, "exit", p.At)
		inOrder(t, p.History, "lathe 1", "lathe starts", "lathe ends", "mill starts", "mill ends", "oven starts", "oven ends", "station 1", "scan", "station 2", "mark", "exit")
		require.Equal(t, p.Code+" of WO-1", p.Mark)
	}

	// What Surehand tells is the same: every part by its code, place by place.
	jobs := ask[list[job]](s, "/api/v1/jobs?order=WO-1").Items
	require.Len(t, jobs, parts)
	for n, j := range jobs { // the first part of the order stands on the first place of the pallet
		require.Equal(t, job{ID: fmt.Sprintf("WO-1.%d", n+1), State: "COMPLETED", Context: j.Context}, j)
		require.Equal(t, truth.Parts[n].Code, j.Context.Code)
		require.Equal(t, without(truth.Parts[n].History, " starts"), s.history(j.ID))
	}

	// Each number was begun once, by the equipment that Surehand meant, and means there what it says here.
	var meant, begun []action
	for _, a := range ask[list[action]](s, "/api/v1/tasks?limit=500").Items {
		require.Equal(t, "SUCCEEDED", a.State)
		if a.Type != "SCAN" { // has no number on the wire
			meant = append(meant, action{EquipmentID: a.EquipmentID, ActionNo: a.ActionNo, Slot: a.Slot, Program: a.Program})
		}
	}
	for _, c := range truth.Commands {
		require.True(t, c.Begun, "%+v", c)
		begun = append(begun, action{EquipmentID: c.Who, ActionNo: c.Number, Slot: c.Slot, Program: c.Program})
	}
	require.ElementsMatch(t, meant, begun)
	require.Len(t, truth.Scans, parts)
}

type (
	workOrder struct {
		State                                   string
		Planned, Completed, Scrapped, Cancelled int
	}
	job struct {
		ID, State string
		Context   struct{ Code string }
	}
	action struct {
		EquipmentID, Type, State string
		ActionNo                 uint32
		Slot, Program            int
	}
)

// history is the timeline of a part as somebody would tell it who watched it: its places, the ends of its cycles, its
// scan and its mark, in the words of cell.mjs.
func (s *site) history(id string) []string {
	s.t.Helper()
	words := strings.NewReplacer("dock place ", "dock ", "buffer place ", "buffer ", ":", " ", "scanner, held by the robot", "station 1", "marker, held by the robot", "station 2", "the exit", "exit", "the gripper", "gripper")
	var told []string
	at := ""
	for _, i := range ask[list[item]](s, "/api/v1/jobs/"+id+"/timeline").Items {
		switch {
		case i.Kind == "action" && i.Text == "MOVE":
			if told == nil {
				told = append(told, words.Replace(i.From))
			}
			at = words.Replace(i.To)
			told = append(told, at)
		case i.Kind == "action" && i.Text == "SCAN":
			told = append(told, "scan")
		case i.Kind == "action" && i.Text == "MARK":
			told = append(told, "mark")
		case i.Kind == "move" && i.Text == "CompleteStepInSlot":
			machine, _, _ := strings.Cut(at, " ")
			told = append(told, machine+" ends")
		}
	}
	return told
}

func without(history []string, end string) []string {
	return slices.DeleteFunc(slices.Clone(history), func(h string) bool { return strings.HasSuffix(h, end) })
}

// tellOnFailure logs what both sides believe.
func (s *site) tellOnFailure(js *javascriptCell) {
	s.t.Cleanup(func() {
		if !s.t.Failed() {
			return
		}
		for _, path := range []string{"cell", "manual-actions", "alarms"} {
			_, answer := s.Get(context.Background(), "/api/v1/"+path)
			s.t.Logf("%s: %s", path, answer)
		}
		s.t.Logf("truth: %+v", js.asks(map[string]any{"truth": true}))
	})
}

func (s *site) post(path, kind, body string) {
	s.t.Helper()
	status, answer := s.Post(context.Background(), "/api/v1/"+path, kind, []byte(body))
	require.Equal(s.t, http.StatusOK, status, "%s: %s", path, answer)
}

// tries posts what may be refused for now.
func (s *site) tries(path, body string) bool {
	s.t.Helper()
	status, answer := s.Post(context.Background(), "/api/v1/"+path, "application/json", []byte(body))
	if status != http.StatusOK {
		require.Equal(s.t, http.StatusConflict, status, "%s: %s", path, answer)
	}
	return status == http.StatusOK
}

// javascriptCell is a running cell.mjs or line.mjs.
type javascriptCell struct {
	t       testing.TB
	script  string
	in      io.Writer
	answers chan cellLine
	ports   map[string]int
}

type (
	cellLine struct {
		Ports map[string]int
		Truth *truth
		Error string
	}
	truth struct {
		Parts []struct {
			Code, At, Mark string
			History        []string
		}
		Scans    []string
		Commands []struct {
			Who                           string
			Number                        uint32
			Begun                         bool
			Code, From, To, Slot, Program int
		}
		Links      map[string]int
		Holding    uint32 // the action in which the robot of line.mjs stands still
		Violations []string
	}
)

func world(t testing.TB, dir, script string, args ...string) *javascriptCell {
	t.Helper()
	run := exec.Command("node", append([]string{filepath.Join(dir, script)}, args...)...)
	run.Env = append(os.Environ(), "HOME="+dir, "XDG_CONFIG_HOME="+dir) // a library keeps keys below them
	run.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	var faults bytes.Buffer
	run.Stderr = &faults
	in, err := run.StdinPipe()
	require.NoError(t, err)
	out, err := run.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, run.Start())
	js := &javascriptCell{t: t, script: script, in: in, answers: make(chan cellLine, 1)}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer close(js.answers)
		for lines := json.NewDecoder(bufio.NewReader(out)); ; {
			var l cellLine
			if lines.Decode(&l) != nil {
				break
			}
			js.answers <- l
		}
		_ = run.Wait()
	}()
	t.Cleanup(func() {
		_ = in.Close()
		_ = run.Process.Kill()
		<-ended
		if t.Failed() {
			t.Logf("%s: %s", script, faults.String())
		}
	})
	js.ports = js.next().Ports
	return js
}

func (js *javascriptCell) next() cellLine {
	js.t.Helper()
	select {
	case l, more := <-js.answers:
		require.True(js.t, more, "%s ended", js.script)
		require.Empty(js.t, l.Error)
		return l
	case <-time.After(patience):
		js.t.Fatalf("%s said nothing within %s", js.script, patience)
		return cellLine{}
	}
}

func (js *javascriptCell) asks(request map[string]any) truth {
	js.t.Helper()
	require.NoError(js.t, json.NewEncoder(js.in).Encode(request))
	l := js.next()
	require.NotNil(js.t, l.Truth)
	return *l.Truth
}

// plant is the plant file with the ports of this run, in the order of its equipment.
func (js *javascriptCell) plant() string {
	js.t.Helper()
	data, err := os.ReadFile("testdata/plant.yaml")
	require.NoError(js.t, err)
	text := string(data)
	for _, id := range []string{"lathe", "mill", "oven", "robot", "scanner", "marker"} {
		text = strings.Replace(text, ":PORT", fmt.Sprintf(":%d", js.ports[id]), 1)
	}
	return text
}
