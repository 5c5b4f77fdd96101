package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"surehand/api"
	"surehand/internal/term"
)

const (
	questionID = "0190f3a0-0000-7000-8000-0000deadbeef"
	otherID    = "0190f3a0-0000-7000-8000-00000000beef"
)

func question() api.ManualAction {
	return api.ManualAction{ID: questionID, Version: 3, Hash: "abc", State: term.QuestionOpen, Kind: term.FindTaskUnknown, Subject: "task:t", JobID: "WO-1.2",
		Record: "the robot was to carry WO-1.2 to mill:1", Machine: "idle, gripper empty", Suggested: term.AnswerNotDone,
		Answers: []term.Answer{{Word: term.AnswerDone, Effect: "WO-1.2 is in mill:1."}, {Word: term.AnswerNotDone, Effect: "WO-1.2 stands where it was."}}}
}

// server stands for the running process: it answers from a table and keeps what was posted.
type server struct {
	t       *testing.T
	answers map[string]any // by method and path with query; a func(w) writes its own
	posted  map[string]string
}

// surehand runs one command against a server.
func (s *server) surehand(stdin string, args ...string) (string, error) {
	s.t.Helper()
	s.posted = map[string]string{}
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		key := r.Method + " " + strings.TrimPrefix(r.URL.RequestURI(), api.Root)
		if r.Method == http.MethodPost {
			body, err := io.ReadAll(r.Body)
			if err != nil || r.Header.Get("Idempotency-Key") == "" {
				w.WriteHeader(http.StatusTeapot)
				return
			}
			s.posted[key] = r.Header.Get("Content-Type") + " " + string(body)
		}
		switch a := s.answers[key].(type) {
		case nil:
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, `{"title":"Not Found","code":"not_found","detail":"no `+key+`"}`)
		case func(http.ResponseWriter):
			a(w)
		default:
			_ = json.NewEncoder(w).Encode(a)
		}
	}))
	defer h.Close()
	s.t.Setenv("SUREHAND_DATABASE_URL", "postgres://surehand@localhost/surehand")
	s.t.Setenv("SUREHAND_HTTP_LISTEN", strings.TrimPrefix(h.URL, "http://"))
	var out bytes.Buffer
	c := commands{in: strings.NewReader(stdin), out: &out}
	k, err := c.parser().Parse(args)
	require.NoError(s.t, err)
	err = k.Run(&c)
	return out.String(), err
}

func withStatus(status int, body any) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) {
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(body)
	}
}

func TestOrdersAreTold(t *testing.T) {
	ok := map[string]any{"state": "ready", "id": "WO-1"}
	for _, c := range []struct {
		args      string
		key, body string
		out       string
		reply     any
	}{
		{args: "order create housing 12 --id WO-1 --priority=-3", key: "POST /orders", body: `{"id":"WO-1","product":"","route":"housing","quantity":12,"priority":-3}`,
			reply: map[string]any{"id": "WO-1", "state": "draft"}, out: "Order WO-1 is a draft"},
		{args: "order start WO-1", key: "POST /orders/WO-1/start", body: `{"reason":""}`, reply: ok, out: "Order WO-1: ready."},
		{args: "order pause WO-1 --reason lunch", key: "POST /orders/WO-1/pause", body: `{"reason":"lunch"}`, reply: ok, out: "Order WO-1"},
		{args: "order resume WO-1", key: "POST /orders/WO-1/resume", body: `{"reason":""}`, reply: ok, out: "Order WO-1"},
		{args: "order cancel WO-1 --inside finish", key: "POST /orders/WO-1/cancel", body: `{"reason":"","inside":"finish"}`, reply: ok, out: "Order WO-1"},
		{args: "pallet arrived P7 WO-1 4", key: "POST /orders/WO-1/pallets", body: `{"pallet":"P7","quantity":4}`, reply: ok, out: "P7"},
		{args: "pallet left P7", key: "POST /pallets/P7/leave", body: `{}`, reply: ok, out: "gone"},
		{args: "recovery confirm --no-release --reason looked", key: "POST /recovery/confirm", body: `{"release":false,"reason":"looked"}`, reply: map[string]any{"state": "paused"}, out: "still held: paused"},
		{args: "recovery confirm --reason looked", key: "POST /recovery/confirm", body: `{"release":true,"reason":"looked"}`, reply: map[string]any{"code": "accepted"}, out: "goes on"},
		{args: "stop --drain --wait=0s", key: "POST /system/stop", body: `{"drain":true}`, reply: ok, out: "Asked to stop"},
		{args: "stop", key: "POST /system/stop", body: `{"drain":false}`, reply: ok, out: "Asked to stop"},
	} {
		s := &server{t: t, answers: map[string]any{c.key: c.reply}}
		out, err := s.surehand("", strings.Fields(c.args)...)
		require.NoError(t, err, c.args)
		require.Contains(t, out, c.out)
		contentType, body, _ := strings.Cut(s.posted[c.key], " ")
		require.Equal(t, "application/json", contentType, c.args)
		require.JSONEq(t, c.body, body, c.args)
	}
	s := &server{t: t, answers: map[string]any{"POST /orders/WO-1/start": withStatus(409, map[string]any{"title": "Conflict", "detail": "Order WO-1 is running.",
		"problems": []any{map[string]any{"pointer": "/x", "line": 4, "detail": "so"}}})}}
	_, err := s.surehand("", "order", "start", "WO-1")
	require.EqualError(t, err, "line 4: x: so")
	s.answers["POST /orders/WO-1/start"] = withStatus(202, map[string]any{"inProgress": true})
	_, err = s.surehand("", "order", "start", "WO-1")
	require.ErrorContains(t, err, "not decided yet")
}

func TestOrdersAreShown(t *testing.T) {
	paused := []api.Hold{{Hold: term.HoldPaused, By: "anna", Why: "lunch"}}
	order := api.Order{ID: "WO-1", State: term.OrderRunning, RouteID: "housing", Planned: 3, Left: 2, Steps: make([]term.Step, 4), Holds: paused}
	s := &server{t: t, answers: map[string]any{
		"GET /orders?limit=500&state=draft,ready,running,stopping": api.List[api.Order]{Items: []api.Order{order}},
		"GET /orders?limit=500":                   api.List[api.Order]{Items: []api.Order{}},
		"GET /orders/WO-1":                        order,
		"GET /jobs?limit=500&order=WO-1&cursor=":  api.List[api.Job]{Items: []api.Job{{ID: "WO-1.1", ShownState: "SUSPENDED", PositionType: term.OnBuffer, PositionRefID: "3", TempSlotNo: 3, StepIndex: 1, Holds: paused}}, Next: "n"},
		"GET /jobs?limit=500&order=WO-1&cursor=n": api.List[api.Job]{Items: []api.Job{{ID: "WO-1.2", ShownState: "COMPLETED", PositionType: term.Out, PositionRefID: "exit", StepIndex: 4}}},
	}}
	out, err := s.surehand("", "order", "list")
	require.NoError(t, err)
	require.Regexp(t, `WO-1 +running +housing +0 +3 +0 +0 +0 +paused by anna \(lunch\)`, out)
	out, err = s.surehand("", "order", "list", "--all", "--json")
	require.NoError(t, err)
	require.JSONEq(t, `{"items":[]}`, out)
	out, err = s.surehand("", "order", "show", "WO-1")
	require.NoError(t, err)
	require.Contains(t, out, "Order WO-1: running. Route housing, 2 of 3 parts left.\nHeld: paused by anna (lunch)\n")
	require.Regexp(t, `WO-1\.1 +SUSPENDED +buffer:3 +3 +2 of 4 +paused`, out)
	require.Regexp(t, `WO-1\.2 +COMPLETED +out \(exit\) +done`, out)
	_, err = s.surehand("", "order", "show", "none")
	require.EqualError(t, err, "There is no order none.")
}

func TestAQuestionInOneBlock(t *testing.T) {
	now := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	q := question()
	q.OpenedAt = now.Add(-90 * time.Minute)
	require.NoError(t, json.Unmarshal([]byte(`[{"equipment":"robot","predicates":"echo=40 gripper=false","at":"2026-01-31T11:59:57.5Z"}]`), &q.Readings))
	require.Equal(t, `deadbeef  action_unknown  about WO-1.2, action 18, asked 1h30m ago
  record   the robot was to carry WO-1.2 to mill:1
  machine  idle, gripper empty
           robot has said the same for 2s
   done      WO-1.2 is in mill:1.
 * not_done  WO-1.2 stands where it was.
 * is what the evidence speaks for.
   Another answer appears when the machines and the place say so: reset the machine, or put the part where it belongs.
`, questionText(q, &api.Task{ActionNo: 18}, now))
	q.BlocksRecovery = true
	require.Contains(t, questionText(q, nil, now), "ago\n  blocks a recovery\n  record ")
	require.Equal(t, "0s", age(now.Add(time.Minute), now))
}

func TestRecoveryList(t *testing.T) {
	for _, c := range []struct {
		state api.Recovery
		want  string
	}{
		{api.Recovery{Held: true, Blocking: 1, Findings: []api.ManualAction{question()}},
			"1 question is open; 1 blocks the recovery. The cell is held until what blocks is answered and the recovery is confirmed."},
		{api.Recovery{Held: true, Blocking: 2, Findings: []api.ManualAction{question(), question(), question()}},
			"3 questions are open; 2 block the recovery. The cell is held until what blocks is answered and the recovery is confirmed."},
		{api.Recovery{Held: true, Confirmable: true, Findings: []api.ManualAction{question(), question()}},
			"2 questions are open; none blocks the recovery. The cell is held; this brings it back: " + confirmLine},
		{api.Recovery{Held: true, Confirmable: true},
			"No question is open. The cell is held; this brings it back: " + confirmLine},
		{api.Recovery{Findings: []api.ManualAction{question(), question()}, Truncated: true}, "More than 2 questions are open."},
	} {
		s := &server{t: t, answers: map[string]any{"GET /recovery": c.state}}
		out, err := s.surehand("", "recovery", "list")
		require.NoError(t, err)
		answer := ""
		if n := len(c.state.Findings); n > 0 {
			answer = "Answer: surehand recovery answer deadbeef WORD --reason \"how you know\"\n"
			require.Equal(t, n+1, strings.Count(out, "deadbeef"))
		}
		require.True(t, strings.HasSuffix(out, c.want+"\n"+answer), out)
	}
}

// proves X-5
func TestAnAnswerIsBoundToWhatWasShown(t *testing.T) {
	other := question()
	other.ID = otherID
	const answered = "POST /manual-actions/" + questionID + "/answer"
	s := &server{t: t, answers: map[string]any{
		"GET /manual-actions?limit=500&cursor=":  api.List[api.ManualAction]{Items: []api.ManualAction{other}, Next: "n"},
		"GET /manual-actions?limit=500&cursor=n": api.List[api.ManualAction]{Items: []api.ManualAction{question()}},
		answered:                                 map[string]any{"state": "RESOLVED"},
	}}
	for _, c := range []struct {
		stdin, args string
		fails       string
	}{
		{"yes\n", "deadbeef not_done --reason seen", ""},
		{"", questionID + " not_done --reason seen --yes", ""},
		{"no\n", "deadbeef not_done --reason seen", "nothing was done"},
		{"", "deadbeef not_done --reason seen", "--yes says that it is meant"},
		{"yes\n", "beef not_done --reason seen", "2 open questions"},
		{"yes\n", "0190f3a0 not_done --reason seen", "2 open questions"},
		{"yes\n", "only not_done --reason seen", "2 questions are open"},
		{"yes\n", "cafe not_done --reason seen", "no open question"},
		{"yes\n", "deadbeef scrap --reason seen", `"scrap" is none of its answers: done, not_done`},
	} {
		out, err := s.surehand(c.stdin, append([]string{"recovery", "answer"}, strings.Fields(c.args)...)...)
		if c.fails != "" {
			require.ErrorContains(t, err, c.fails, c.args)
			require.Empty(t, s.posted)
			continue
		}
		require.NoError(t, err, c.args)
		require.Contains(t, out, "not_done: WO-1.2 stands where it was.")
		require.Contains(t, out, "machine  idle, gripper empty")
		require.JSONEq(t, `{"version":3,"hash":"abc","answer":"not_done","reason":"seen"}`, strings.TrimPrefix(s.posted[answered], "application/json "))
	}
	changed := question()
	changed.Machine = "busy"
	s.answers[answered] = withStatus(409, map[string]any{"title": "Conflict", "detail": "It has changed.", "current": changed})
	_, err := s.surehand("yes\n", "recovery", "answer", "deadbeef", "not_done", "--reason", "seen")
	require.ErrorContains(t, err, "Nothing was done. The question is now:")
	require.ErrorContains(t, err, "machine  busy")
}

func TestTheOnlyOpenQuestion(t *testing.T) {
	const answered = "POST /manual-actions/" + questionID + "/answer"
	s := &server{t: t, answers: map[string]any{"GET /manual-actions?limit=500&cursor=": api.List[api.ManualAction]{Items: []api.ManualAction{question()}},
		answered: map[string]any{"state": "RESOLVED"}}}
	_, err := s.surehand("yes\n", "recovery", "answer", "only", "not_done", "--reason", "seen")
	require.NoError(t, err)
	require.Contains(t, s.posted, answered)
	s.answers["GET /manual-actions?limit=500&cursor="] = api.List[api.ManualAction]{}
	_, err = s.surehand("yes\n", "recovery", "answer", "only", "not_done", "--reason", "seen")
	require.ErrorContains(t, err, "0 questions are open")
}

func TestAFileGoesWhereItBelongs(t *testing.T) {
	plantFile, err := os.ReadFile("../../docs/examples/plant.yaml")
	require.NoError(t, err)
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	ok := map[string]any{"changed": 7}
	s := &server{t: t, answers: map[string]any{"POST /plant": ok, "POST /configuration/import": ok}}
	for path, key := range map[string]string{write("plant.yaml", string(plantFile)): "POST /plant", write("devices.yaml", "farms: []"): "POST /configuration/import"} {
		out, err := s.surehand("", "import", path)
		require.NoError(t, err)
		require.Equal(t, "Imported: 7 changes.\n", out)
		require.True(t, strings.HasPrefix(s.posted[key], "application/yaml "), s.posted)
	}
	out, err := s.surehand("", "check", "../../docs/examples/plant.yaml")
	require.NoError(t, err)
	require.Contains(t, out, "5 equipment, 1 route. ")
	broken := write("broken.yaml", "cell:\n  dock: {places: 2, first: 1}\n  buffer: {places: 65, first: 11}\n  exit: 90\nequipment:\n- id: robot\n  kind: robbot\n")
	_, err = s.surehand("", "check", broken)
	require.ErrorContains(t, err, broken+":3: /cell/buffer/places must be from 1 to 64")
	require.ErrorContains(t, err, broken+":7: /equipment/robot/kind")
	overlap := write("overlap.yaml", "cell:\n  name: c\n  dock: {places: 2, first: 1}\n  buffer: {places: 2, first: 2}\n  exit: 90\n")
	_, err = s.surehand("", "check", overlap)
	require.ErrorContains(t, err, "has 2 faults")
	require.ErrorContains(t, err, "exactly one robot")
	require.ErrorContains(t, err, "overlap")
	for _, command := range []string{"check", "import"} {
		_, err = s.surehand("", command, write("empty.yaml", ""))
		require.ErrorContains(t, err, "empty.yaml has 1 fault\n")
		require.ErrorContains(t, err, "neither a device file (organisations, farms, profiles, devices, rules) nor a plant file (cell, equipment, routes)")
		require.Empty(t, s.posted)
	}
}
