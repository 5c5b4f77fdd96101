package main

import (
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"surehand/api"
	"surehand/internal/message"
	"surehand/internal/term"
)

const alarmID = "0190f3a0-0000-7000-8000-0000a1a2a3a4"

// cellOf is a cell that is paused, with a dead robot and a mill that kim has disabled.
func cellOf(at time.Time) api.Cell {
	row := func(n int, jobs ...api.Job) []api.CellPlace {
		places := make([]api.CellPlace, n)
		for i := range places {
			places[i].Number = i + 1
		}
		places[1].Jobs = jobs
		return places
	}
	return api.Cell{Name: "cell-1", Revision: 2, WaitingFor: "waiting for lathe (WO-1.1)", ManualActions: 1, Alarms: 2, UnseenAlarms: 1,
		Holds: []api.Hold{{Hold: term.HoldPaused, By: "anna", Why: "lunch", At: at}},
		Equipment: []api.Equipment{
			{ID: "robot", Kind: term.KindRobot, Status: term.Offline},
			{ID: "mill", Kind: term.KindMachine, Status: term.EquipmentIdle, Holds: []api.Hold{{Hold: term.HoldDisabled, By: "kim", Why: "link dead"}},
				Slots: []api.Slot{{Number: 1}, {Number: 2, CurrentJobID: "WO-1.3"}}},
			{ID: "lathe", Kind: term.KindMachine, Status: term.EquipmentRunning}},
		Gripper: &api.Job{ID: "WO-1.2"}, Pallets: []api.Pallet{{ID: "P7", OrderID: "WO-1"}},
		RobotTask: &api.Task{Type: term.TaskMove, EquipmentID: "robot", JobID: "WO-1.2", ActionNo: 18, State: term.TaskUnknown,
			From: &term.Place{Type: term.OnDock, Ref: "2"}, To: &term.Place{Type: term.OnEquipment, Ref: "mill:1"}},
		Starts: []api.Task{{Type: term.TaskStartMachine, EquipmentID: "lathe", ActionNo: 17, State: term.TaskRunning}},
		Dock:   row(2), Buffer: row(3, api.Job{ID: "WO-1.2", PositionType: term.OnRobot})}
}

func TestWhyTheCellStandsEndsEveryLookAtIt(t *testing.T) {
	at := time.Date(2026, 1, 31, 20, 31, 0, 0, time.Local)
	cell := cellOf(at)
	require.Equal(t, `The cell is paused by anna since 20:31 (lunch): 'surehand cell release' lets it go on.
Waiting for: lathe (WO-1.1)
Not well: robot OFFLINE, mill disabled by kim (link dead)
`, why(&cell, true, at.Add(time.Hour)))
	require.Contains(t, why(&cell, true, at.Add(24*time.Hour)), "since 2026-01-31 20:31 (lunch)")
	cell.Holds = []api.Hold{{Hold: term.HoldRecovery}, {Hold: term.HoldParked, By: "surehand", Why: "x"}}
	cell.WaitingFor = "cell is not compared with the machines yet"
	cell.Equipment = []api.Equipment{{ID: "mill", Status: term.EquipmentFault, Holds: []api.Hold{{Hold: term.HoldRecovery, Why: "its link was lost"}}}}
	require.Equal(t, `The cell is held for the recovery: 'surehand recovery list' says what it needs.
The cell is held, parked by surehand (x).
Not well: mill FAULT and not compared yet (its link was lost)
`, why(&cell, true, at))
	require.Equal(t, "Nothing to do\n", why(&api.Cell{WaitingFor: "nothing to do"}, true, at))
	require.Equal(t, "Waiting for: robot is OFFLINE\n", why(&api.Cell{WaitingFor: "robot is OFFLINE"}, true, at))
	require.Empty(t, why(&api.Cell{Equipment: []api.Equipment{{ID: "mill", Status: term.EquipmentIdle}}}, true, at))

	s := &server{t: t, answers: map[string]any{"GET /cell": cellOf(at), "GET /recovery": api.Recovery{},
		"GET /orders?limit=500&state=draft,ready,running,stopping": api.List[api.Order]{}, "GET /orders/WO-1": api.Order{ID: "WO-1"},
		"GET /jobs?limit=500&order=WO-1&cursor=": api.List[api.Job]{}}}
	for _, args := range []string{"order list", "order show WO-1", "recovery list", "cell show"} {
		out, err := s.surehand("", strings.Fields(args)...)
		require.NoError(t, err, args)
		require.True(t, strings.HasSuffix(out, "Waiting for: lathe (WO-1.1)\nNot well: robot OFFLINE, mill disabled by kim (link dead)\n"), out)
		require.Contains(t, out, "paused by anna", args)
	}
	out, err := s.surehand("", "order", "show", "WO-1", "--json")
	require.NoError(t, err)
	require.NotContains(t, out, "Waiting for")
}

func TestTheCellIsShown(t *testing.T) {
	s := &server{t: t, answers: map[string]any{"GET /cell": cellOf(time.Now())}}
	out, err := s.surehand("", "cell", "show")
	require.NoError(t, err)
	require.Contains(t, out, "Cell cell-1, revision 2 of the plant file.\n")
	require.Regexp(t, `mill +machine +IDLE +2 +2 WO-1\.3 +disabled by kim \(link dead\)`, out)
	require.Contains(t, out, "Dock, 2 places: empty\nBuffer, 3 places: 2 WO-1.2 (kept for it)\nGripper: WO-1.2\nPallet at the dock: P7 of order WO-1\n")
	require.Contains(t, out, "Under way: robot brings WO-1.2 from dock:2 to mill:1 (action 18, which may have happened)\nUnder way: lathe is started (action 17)\n")
	require.Contains(t, out, "1 question: 'surehand recovery list' shows what is asked.\n2 alarms, 1 not acknowledged: 'surehand alarm list'.\n")
	out, err = s.surehand("", "cell", "show", "--json")
	require.NoError(t, err)
	require.Contains(t, out, `"waitingFor":"waiting for lathe (WO-1.1)"`)
	delete(s.answers, "GET /cell")
	_, err = s.surehand("", "cell", "show")
	require.ErrorContains(t, err, "no cell yet")
}

func TestWhatIsSaidToTheCell(t *testing.T) {
	ok := map[string]any{"id": questionID}
	alarms := api.List[api.Alarm]{Items: []api.Alarm{{ID: alarmID, Text: "mill cannot be reached"}}}
	for _, c := range []struct{ args, key, body, out string }{
		{"cell pause --reason door", "POST /cell/pause", `{"reason":"door"}`, "is paused"},
		{"cell release", "POST /cell/release", `{"reason":""}`, "goes on"},
		{"cell compare", "POST /cell/compare", `{}`, "recovery list"},
		{"cell refill", "POST /cell/refill", `{}`, "from the dock"},
		{"part suspend WO-1.3", "POST /jobs/WO-1.3/suspend", `{"reason":""}`, "is suspended"},
		{"part resume WO-1.3 --reason fine", "POST /jobs/WO-1.3/resume", `{"reason":"fine"}`, "goes on"},
		{"part rework WO-1.3 2 --reason burr", "POST /jobs/WO-1.3/rework", `{"step":2,"reason":"burr"}`, "step 2"},
		{"part scrap WO-1.3 --reason cracked", "POST /jobs/WO-1.3/scrap", `{"reason":"cracked"}`, "scrap"},
		{"part report WO-1.3 buffer:4 --reason seen", "POST /jobs/WO-1.3/report", `{"place":{"type":"ON_BUFFER","ref":"4"},"reason":"seen"}`,
			`surehand recovery answer deadbeef accept --reason "how you know"`},
		{"part report WO-1.3 dock:2 --reason seen", "POST /jobs/WO-1.3/report", `{"place":{"type":"ON_DOCK","ref":"2"},"reason":"seen"}`, "Nothing has changed yet"},
		{"part report WO-1.3 mill:1 --reason seen", "POST /jobs/WO-1.3/report", `{"place":{"type":"ON_EQUIPMENT","ref":"mill:1"},"reason":"seen"}`, ""},
		{"part report WO-1.3 gripper --reason seen", "POST /jobs/WO-1.3/report", `{"place":{"type":"ON_ROBOT","ref":"1"},"reason":"seen"}`, ""},
		{"part report WO-1.3 out --reason seen", "POST /jobs/WO-1.3/report", `{"place":{"type":"OUT","ref":"removed"},"reason":"seen"}`, ""},
		{"equipment enable mill --reason repaired", "POST /equipment/mill/enable", `{"reason":"repaired"}`, "mill is compared"},
		{"equipment disable mill --reason dead", "POST /equipment/mill/disable", `{"reason":"dead"}`, "without mill"},
		{"alarm ack a1a2a3a4", "POST /alarms/" + alarmID + "/acknowledge", `{}`, "Acknowledged: mill cannot be reached"},
		{"alarm shelve a1a2a3a4 30m --reason known", "POST /alarms/" + alarmID + "/shelve", `{"for":"30m0s","reason":"known"}`, "Shelved for 30m0s: mill"},
	} {
		s := &server{t: t, answers: map[string]any{c.key: ok, "GET /alarms?limit=500&all=false&cursor=": alarms}}
		out, err := s.surehand("", strings.Fields(c.args)...)
		require.NoError(t, err, c.args)
		require.Contains(t, out, c.out, c.args)
		require.JSONEq(t, c.body, strings.TrimPrefix(s.posted[c.key], "application/json "), c.args)
	}
	s := &server{t: t, answers: map[string]any{"POST /cell/release": map[string]any{"state": "recovery"}, "GET /alarms?limit=500&all=false&cursor=": alarms}}
	out, err := s.surehand("", "cell", "release")
	require.NoError(t, err)
	require.Contains(t, out, "still held: recovery")
	for args, want := range map[string]string{
		"part report WO-1.3 mill --reason x":    `"mill" is no place: buffer:4, dock:2, mill:1 (slot 1 of the mill), gripper or out`,
		"part report WO-1.3 buffer: --reason x": "is no place",
		"part scrap WO-9.3 --reason x":          "There is no part WO-9.3.",
		"equipment disable mil --reason x":      "There is no equipment mil.",
		"order start WO-2":                      "There is no order WO-2.",
		"pallet arrived P WO-2 1":               "There is no order WO-2.",
		"pallet left P":                         "There is no pallet P.",
		"part list --order WO-2":                "There is no order WO-2.",
		"alarm ack cafe":                        "no open alarm has the id cafe",
	} {
		_, err := s.surehand("", strings.Fields(args)...)
		require.ErrorContains(t, err, want, args)
		require.NotContains(t, err.Error(), "\n", args)
	}
}

func TestAMissingReasonIsOneLineWithTheCommand(t *testing.T) {
	s := &server{t: t}
	for args, want := range map[string]string{
		"recovery confirm":                  `surehand recovery confirm --reason "what you looked at"`,
		"recovery answer deadbeef done":     `surehand recovery answer deadbeef done --reason "how you know"`,
		"part rework WO-1.3 2":              `surehand part rework WO-1.3 2 --reason "what is wrong with it"`,
		"part scrap WO-1.3":                 `surehand part scrap WO-1.3 --reason "what is wrong with it"`,
		"part report WO-1.3 buffer:4":       `surehand part report WO-1.3 buffer:4 --reason "how you know"`,
		"equipment enable mill":             `surehand equipment enable mill --reason "why it may be used again"`,
		"equipment disable mill":            `surehand equipment disable mill --reason "what is wrong with it"`,
		"alarm shelve a1a2a3a4 1h30m":       `surehand alarm shelve a1a2a3a4 1h30m0s --reason "why it may wait"`,
		"part scrap WO-1.3 --reason=\u00a0": `surehand part scrap WO-1.3 --reason "what is wrong with it"`,
	} {
		_, err := s.surehand("", strings.Split(args, " ")...)
		require.EqualError(t, err, "a reason is missing: "+want)
		require.Empty(t, s.posted)
	}
}

func TestListsOfTheCell(t *testing.T) {
	now := time.Now()
	s := &server{t: t, answers: map[string]any{
		"GET /orders/WO-1": api.Order{ID: "WO-1"},
		"GET /jobs?limit=500&order=WO-1&open=true&cursor=": api.List[api.Job]{Items: []api.Job{
			{ID: "WO-1.1", State: term.Waiting, ShownState: "WAITING", PositionType: term.OnBuffer, PositionRefID: "3", TempSlotNo: 3, StepIndex: 1}}, Next: "n"},
		"GET /jobs?limit=500&order=WO-1&open=true&cursor=n": api.List[api.Job]{Items: []api.Job{
			{ID: "WO-1.2", State: term.Moving, ShownState: "ERROR", PositionType: term.OnRobot, PositionRefID: "scanner", TempSlotNo: 4, ManualActions: []term.QuestionID{"q"}}}},
		"GET /jobs?limit=500&cursor=":             api.List[api.Job]{Items: []api.Job{{ID: "WO-1.9", State: term.Completed, ShownState: "COMPLETED", PositionType: term.Out, PositionRefID: "exit"}}},
		"GET /jobs?limit=500&open=true&cursor=":   api.List[api.Job]{},
		"GET /equipment":                          api.List[api.Equipment]{Items: cellOf(now).Equipment},
		"GET /alarms?limit=500&all=false&cursor=": api.List[api.Alarm]{Items: []api.Alarm{{ID: alarmID, Kind: term.AlarmOffline, Subject: "equipment:mill", State: term.AlarmUnacknowledged, RaisedAt: now, Count: 3, Text: "mill cannot be reached"}}},
		"GET /alarms?limit=500&all=true&cursor=":  api.List[api.Alarm]{},
	}}
	for args, want := range map[string]string{
		"part list --order WO-1": `WO-1\.1 +WAITING +buffer:3 +3 +2 *\nWO-1\.2 +ERROR +gripper, at scanner +4 +1 +1 open question\n`,
		"part list --all":        `WO-1\.9 +COMPLETED +out \(exit\) +done`,
		"part list --json":       `^\{"items":\[\]\}\n$`,
		"equipment list":         `robot +robot +OFFLINE`,
		"equipment list --json":  `"items":\[\{"id":"robot"`,
		"alarm list":             `a1a2a3a4 +equipment_offline +mill +unacknowledged +\d\d:\d\d +3 +mill cannot be reached`,
		"alarm list --all":       `^ALARM.*\n$`,
		"alarm list --json":      `"id":"` + alarmID,
	} {
		out, err := s.surehand("", strings.Fields(args)...)
		require.NoError(t, err, args)
		require.Regexp(t, want, out, args)
	}
}

func TestAProblemIsOneLine(t *testing.T) {
	for want, body := range map[string]map[string]any{
		`route: there is no route "pump"`: {"title": "Unprocessable Entity", "code": "invalid", "problems": []any{map[string]any{"pointer": "/route", "detail": `there is no route "pump"`}}},
		"Order WO-1 is running.":          {"title": "Conflict", "detail": "Order WO-1 is running.", "code": "order_state"},
		"2 faults; nothing was applied.\n  line 3: cell/exit: is missing\n  so": {"title": "Unprocessable Entity", "detail": "2 faults; nothing was applied.",
			"problems": []any{map[string]any{"pointer": "/cell/exit", "line": 3, "detail": "is missing"}, map[string]any{"detail": "so"}}},
		"Conflict": {"title": "Conflict"},
	} {
		s := &server{t: t, answers: map[string]any{"POST /orders/WO-1/start": withStatus(http.StatusConflict, body)}}
		_, err := s.surehand("", "order", "start", "WO-1")
		require.EqualError(t, err, want)
	}
}

func TestAConfirmationOfAPausedCellNamesTheRelease(t *testing.T) {
	cell := cellOf(time.Now())
	s := &server{t: t, answers: map[string]any{"GET /cell": cell, "POST /recovery/confirm": withStatus(http.StatusConflict,
		map[string]any{"title": "Conflict", "code": "not_in_recovery", "state": "paused", "detail": "The cell is not in recovery."})}}
	_, err := s.surehand("", "recovery", "confirm", "--reason", "looked")
	require.ErrorContains(t, err, "The cell is not in recovery. The cell is paused by anna since ")
	require.ErrorContains(t, err, "(lunch): 'surehand cell release' lets it go on.")
	cell.Holds = nil
	s.answers["GET /cell"] = cell
	_, err = s.surehand("", "recovery", "confirm", "--reason", "looked")
	require.EqualError(t, err, "The cell is not in recovery.")
}

// proves C-19
func TestNobodyIsInvitedToConfirmWhatWasNotCompared(t *testing.T) {
	const comparing = "No question is open. The machines are being compared; ask again in a few seconds.\n"
	now := time.Now()
	held := func(at time.Time) api.Recovery {
		return api.Recovery{Held: true, Confirmable: true, Holds: []api.Hold{{Subject: "cell", Hold: term.HoldRecovery, At: at}}}
	}
	starts := "GET /log?limit=1&type=" + message.ProcessStarted{}.Type()
	started := func(at time.Time) api.List[api.LogEntry] {
		return api.List[api.LogEntry]{Items: []api.LogEntry{{At: at}}}
	}
	mill := func(holds ...term.HoldReason) api.Cell {
		e := api.Equipment{ID: "mill", Status: term.EquipmentIdle}
		for _, h := range holds {
			e.Holds = append(e.Holds, api.Hold{Hold: h})
		}
		return api.Cell{Equipment: []api.Equipment{e}}
	}
	for name, c := range map[string]struct {
		recovery api.Recovery
		cell     api.Cell
		started  time.Time
		want     string
	}{
		"the hold is new":              {held(now), mill(), now.Add(-time.Hour), comparing},
		"the start is new":             {held(now.Add(-time.Hour)), mill(), now, comparing},
		"a machine is to be compared":  {held(now.Add(-time.Hour)), mill(term.HoldRecovery), now.Add(-time.Hour), "the recovery cannot be confirmed yet."},
		"that machine is disabled":     {held(now.Add(-time.Hour)), mill(term.HoldRecovery, term.HoldDisabled), now.Add(-time.Hour), confirmLine},
		"everything has been compared": {held(now.Add(-time.Hour)), mill(), now.Add(-time.Hour), confirmLine},
		"there is nothing to wait for": {api.Recovery{}, mill(), now, "No question is open.\n"},
	} {
		s := &server{t: t, answers: map[string]any{"GET /recovery": c.recovery, "GET /cell": c.cell, starts: started(c.started)}}
		out, err := s.surehand("", "recovery", "list")
		require.NoError(t, err, name)
		require.Contains(t, out, c.want, name)
		require.Equal(t, c.want == confirmLine, strings.Contains(out, "recovery confirm"), name)
	}
}

func TestWhatAQuestionIsAbout(t *testing.T) {
	start := &api.Task{EquipmentID: "mill", ActionNo: 7}
	for want, c := range map[string]struct {
		q api.ManualAction
		t *api.Task
	}{
		"WO-1.2, action 18": {api.ManualAction{Subject: "task:t", JobID: "WO-1.2"}, &api.Task{EquipmentID: "robot", ActionNo: 18}},
		"mill, action 7":    {api.ManualAction{Subject: "task:t"}, start},
		"WO-1.3":            {api.ManualAction{Subject: "job:WO-1.3"}, nil},
		"robot":             {api.ManualAction{Subject: "equipment:robot"}, nil},
		"slot mill:1":       {api.ManualAction{Subject: "slot:mill:1"}, nil},
		"order WO-1":        {api.ManualAction{Subject: "order:WO-1"}, nil},
		"the cell":          {api.ManualAction{Subject: "cell"}, nil},
	} {
		require.Equal(t, want, aboutText(c.q, c.t))
	}
	judge := api.ManualAction{Kind: term.FindJudgement, Answers: []term.Answer{{Word: "good"}, {Word: "scrap"}}}
	require.NotContains(t, questionText(judge, nil, time.Now()), "Another answer", "there is no other")
	q := question()
	q.TaskID = questionID
	s := &server{t: t, answers: map[string]any{"GET /recovery": api.Recovery{Findings: []api.ManualAction{q}}, "GET /tasks/" + questionID: api.Task{ActionNo: 18}}}
	out, err := s.surehand("", "recovery", "list")
	require.NoError(t, err)
	require.Contains(t, out, "about WO-1.2, action 18, asked")
}

func TestADrainIsWatched(t *testing.T) {
	drained := map[string]any{"state": "draining"}
	s := &server{t: t, answers: map[string]any{"GET /system": api.System{Epoch: 4}, "POST /system/stop": drained, "GET /cell": cellOf(time.Now()),
		"GET /commands?limit=500&state=dispatched,acknowledged,retrying&cursor=": api.List[api.Command]{Items: []api.Command{{}}}}}
	_, err := s.surehand("", "stop", "--drain", "--wait=10ms")
	require.EqualError(t, err, "it still drains after 10ms, and goes on with it; it waits for robot brings WO-1.2 from dock:2 to mill:1 (action 18, which may have happened), "+
		"lathe is started (action 17), 1 command to devices")

	epoch := int64(4)
	s.answers["GET /system"] = func(w http.ResponseWriter) {
		withStatus(http.StatusOK, api.System{Epoch: epoch})(w)
		epoch++
	}
	out, err := s.surehand("", "stop", "--drain")
	require.NoError(t, err)
	require.Equal(t, "Stopped, and started again by something else.\n", out)

	asked := make(chan struct{})
	h := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte(`{"epoch":4}`))
		if r.Method == http.MethodPost {
			close(asked)
		}
	}))
	h.Config.SetKeepAlivesEnabled(false)
	h.Start()
	go func() { <-asked; h.Close() }()
	t.Setenv("SUREHAND_HTTP_LISTEN", h.Listener.Addr().(*net.TCPAddr).String())
	var said strings.Builder
	c := commands{out: &said}
	k, err := c.parser().Parse([]string{"stop", "--drain"})
	require.NoError(t, err)
	require.NoError(t, k.Run(&c))
	require.Equal(t, "Stopped.\n", said.String())
}
