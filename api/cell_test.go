package api

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"surehand/internal/dbstate/read"
	"surehand/internal/message"
	"surehand/internal/plant"
	"surehand/internal/term"
)

// cellReads and cellWrites are the routes of the production half, as reads and writes are of the rest.
var cellReads = map[string]string{
	"/api/v1/orders":               "/api/v1/orders?state=ready,running&cursor=c&limit=7",
	"/api/v1/orders/{id}":          "/api/v1/orders/WO-1",
	"/api/v1/orders/{id}/timeline": "/api/v1/orders/WO-1/timeline",
	"/api/v1/jobs":                 "/api/v1/jobs?order=WO-1&state=WAITING,MOVING&open=true",
	"/api/v1/jobs/{id}":            "/api/v1/jobs/WO-1.1",
	"/api/v1/jobs/{id}/timeline":   "/api/v1/jobs/WO-1.1/timeline",
	"/api/v1/tasks":                "/api/v1/tasks?state=RUNNING&order=WO-1&job=WO-1.2&equipment=robot&open=true",
	"/api/v1/tasks/{id}":           "/api/v1/tasks/" + idA,
	"/api/v1/cell":                 "/api/v1/cell",
	"/api/v1/equipment":            "/api/v1/equipment",
	"/api/v1/equipment/{id}":       "/api/v1/equipment/mill",
	"/api/v1/manual-actions":       "/api/v1/manual-actions?all=true&subject=job:WO-1.2&job=WO-1.2",
	"/api/v1/manual-actions/{id}":  "/api/v1/manual-actions/" + idB,
	"/api/v1/recovery":             "/api/v1/recovery",
	"/api/v1/alarms":               "/api/v1/alarms?all=false&subject=equipment:mill",
	"/api/v1/routes":               "/api/v1/routes",
	"/api/v1/plant":                "/api/v1/plant",
}

var no = false

var cellWrites = []write{
	{"/api/v1/orders", "/api/v1/orders", `{"route":"housing","quantity":12}`, message.CreateOrder{Route: "housing", Quantity: 12}},
	{"/api/v1/orders", "/api/v1/orders", `{"id":"WO-7","product":"P","route":"housing","quantity":1,"priority":-3}`,
		message.CreateOrder{ID: "WO-7", Product: "P", Route: "housing", Quantity: 1, Priority: -3}},
	{"/api/v1/orders/{id}/start", "/api/v1/orders/WO-1/start", ``, message.StartOrder{Order: "WO-1"}},
	{"/api/v1/orders/{id}/pause", "/api/v1/orders/WO-1/pause", `{"reason":"lunch"}`, message.PauseOrder{Order: "WO-1", Reason: "lunch"}},
	{"/api/v1/orders/{id}/resume", "/api/v1/orders/WO-1/resume", ``, message.ResumeOrder{Order: "WO-1"}},
	{"/api/v1/orders/{id}/cancel", "/api/v1/orders/WO-1/cancel", `{"inside":"finish","reason":"x"}`,
		message.CancelOrder{Order: "WO-1", Inside: term.InsideFinish, Reason: "x"}},
	{"/api/v1/orders/{id}/cancel", "/api/v1/orders/WO-1/cancel", ``, message.CancelOrder{Order: "WO-1"}},
	{"/api/v1/orders/{id}/pallets", "/api/v1/orders/WO-1/pallets", `{"pallet":"P7","quantity":4}`,
		message.PalletArrived{Pallet: "P7", Order: "WO-1", Quantity: 4}},
	{"/api/v1/pallets/{id}/leave", "/api/v1/pallets/P7/leave", ``, message.PalletLeft{Pallet: "P7"}},
	{"/api/v1/jobs/{id}/suspend", "/api/v1/jobs/WO-1.3/suspend", ``, message.SuspendJob{Job: "WO-1.3"}},
	{"/api/v1/jobs/{id}/resume", "/api/v1/jobs/WO-1.3/resume", `{"reason":"fine"}`, message.ResumeJob{Job: "WO-1.3", Reason: "fine"}},
	{"/api/v1/jobs/{id}/rework", "/api/v1/jobs/WO-1.3/rework", `{"step":2,"reason":"burr"}`, message.ReworkJob{Job: "WO-1.3", Step: 2, Reason: "burr"}},
	{"/api/v1/jobs/{id}/scrap", "/api/v1/jobs/WO-1.3/scrap", `{"reason":"cracked"}`, message.ScrapJob{Job: "WO-1.3", Reason: "cracked"}},
	{"/api/v1/jobs/{id}/report", "/api/v1/jobs/WO-1.3/report", `{"place":{"type":"ON_EQUIPMENT","ref":"mill:1"},"reason":"seen"}`,
		message.ReportPart{Job: "WO-1.3", Place: term.SlotPlace("mill:1"), Reason: "seen"}},
	{"/api/v1/jobs/{id}/report", "/api/v1/jobs/WO-1.3/report", `{"place":{"type":"OUT"},"reason":"in the bin"}`,
		message.ReportPart{Job: "WO-1.3", Place: term.OutPlace(term.OutRemoved), Reason: "in the bin"}},
	{"/api/v1/jobs/{id}/report", "/api/v1/jobs/WO-1.3/report", `{"place":{"type":"ON_ROBOT"},"reason":"seen"}`,
		message.ReportPart{Job: "WO-1.3", Place: term.GripperPlace(), Reason: "seen"}},
	{"/api/v1/jobs/{id}/report", "/api/v1/jobs/WO-1.3/report", `{"place":{"type":"ON_BUFFER","ref":"2"},"reason":"seen"}`,
		message.ReportPart{Job: "WO-1.3", Place: term.BufferPlace(2), Reason: "seen"}},
	{"/api/v1/cell/pause", "/api/v1/cell/pause", `{"reason":"door"}`, message.PauseCell{Reason: "door"}},
	{"/api/v1/cell/release", "/api/v1/cell/release", ``, message.ReleaseCell{}},
	{"/api/v1/cell/refill", "/api/v1/cell/refill", `{}`, message.RefillRequested{}},
	{"/api/v1/cell/compare", "/api/v1/cell/compare", ``, message.CompareCell{}},
	{"/api/v1/equipment/{id}/enable", "/api/v1/equipment/mill/enable", `{"reason":"repaired"}`, message.EnableEquipment{Equipment: "mill", Reason: "repaired"}},
	{"/api/v1/equipment/{id}/disable", "/api/v1/equipment/mill/disable", `{"reason":"broken"}`, message.DisableEquipment{Equipment: "mill", Reason: "broken"}},
	{"/api/v1/manual-actions/{id}/answer", "/api/v1/manual-actions/" + idB + "/answer", `{"version":3,"hash":"abc","answer":"wait","reason":"seen"}`,
		message.ResolveManualAction{Question: idB, Version: 3, Hash: "abc", Answer: "wait", Reason: "seen"}},
	{"/api/v1/recovery/confirm", "/api/v1/recovery/confirm", ``, message.ConfirmRecovery{}},
	{"/api/v1/recovery/confirm", "/api/v1/recovery/confirm", `{"release":false,"reason":"looked"}`, message.ConfirmRecovery{Release: &no, Reason: "looked"}},
	{"/api/v1/alarms/{id}/acknowledge", "/api/v1/alarms/" + idA + "/acknowledge", ``, message.AckAlarm{Alarm: idA}},
	{"/api/v1/alarms/{id}/shelve", "/api/v1/alarms/" + idA + "/shelve", `{"for":"1h30m","reason":"known"}`,
		message.ShelveAlarm{Alarm: idA, For: term.Duration(90 * time.Minute), Reason: "known"}},
}

func yamlBody(r *http.Request) { r.Header.Set("Content-Type", "application/yaml") }

// proves C-3, C-8
func TestFaultsOfWhatIsSaidToTheCell(t *testing.T) {
	b := newBench(t)
	for _, c := range []struct{ path, body, pointer string }{
		{"orders", `{"route":"housing"}`, "/quantity"},
		{"orders", `{"route":"housing","quantity":10001}`, "/quantity"},
		{"orders", `{"route":"a b","quantity":1}`, "/route"},
		{"orders", `{"id":"a/b","route":"housing","quantity":1}`, "/id"},
		{"orders", `{"route":"housing","quantity":1,"priority":101}`, "/priority"},
		{"orders", `{"route":"housing","quantity":1,"state":"running"}`, "/state"},
		{"orders", `{"route":"housing","quantity":1,"product":"` + strings.Repeat("x", maxReason+1) + `"}`, "/product"},
		{"orders/WO-1/cancel", `{"inside":"leave"}`, "/inside"},
		{"orders/WO-1/pallets", `{"quantity":1}`, "/pallet"},
		{"orders/WO-1/pallets", `{"pallet":"P","quantity":65}`, "/quantity"},
		{"orders/WO-1/pause", `{"reason":"` + strings.Repeat("x", maxReason+1) + `"}`, "/reason"},
		{"jobs/WO-1.1/rework", `{"reason":"x"}`, "/step"},
		{"jobs/WO-1.1/rework", `{"step":1}`, "/reason"},
		{"jobs/WO-1.1/scrap", `{}`, "/reason"},
		{"jobs/WO-1.1/report", `{"reason":"x"}`, "/place/type"},
		{"jobs/WO-1.1/report", `{"place":{"type":"NONE"},"reason":"x"}`, "/place/type"},
		{"jobs/WO-1.1/report", `{"place":{"type":"ON_BUFFER","ref":"0"},"reason":"x"}`, "/place/ref"},
		{"jobs/WO-1.1/report", `{"place":{"type":"ON_DOCK","ref":"01"},"reason":"x"}`, "/place/ref"},
		{"jobs/WO-1.1/report", `{"place":{"type":"ON_EQUIPMENT","ref":"mill"},"reason":"x"}`, "/place/ref"},
		{"jobs/WO-1.1/report", `{"place":{"type":"ON_ROBOT","ref":"scanner"},"reason":"x"}`, "/place/ref"},
		{"jobs/WO-1.1/report", `{"place":{"type":"OUT","ref":"exit"},"reason":"x"}`, "/place/ref"},
		{"jobs/WO-1.1/report", `{"place":{"type":"OUT"}}`, "/reason"},
		{"cell/refill", `{"now":true}`, "/now"},
		{"equipment/mill/enable", `{"reason":""}`, "/reason"},
		{"manual-actions/" + idB + "/answer", `{"hash":"a","answer":"wait","reason":"x"}`, "/version"},
		{"manual-actions/" + idB + "/answer", `{"version":1,"answer":"wait","reason":"x"}`, "/hash"},
		{"manual-actions/" + idB + "/answer", `{"version":1,"hash":"a","reason":"x"}`, "/answer"},
		{"manual-actions/" + idB + "/answer", `{"version":1,"hash":"a","answer":"wait"}`, "/reason"},
		{"alarms/" + idA + "/shelve", `{"for":"59s","reason":"x"}`, "/for"},
		{"alarms/" + idA + "/shelve", `{"for":"25h","reason":"x"}`, "/for"},
		{"alarms/" + idA + "/shelve", `{"for":"1h"}`, "/reason"},
	} {
		p := requireProblem(t, b.ask(http.MethodPost, "/api/v1/"+c.path, c.body), http.StatusUnprocessableEntity, "invalid")
		require.Equal(t, c.pointer, p.Problems[0].Pointer, c.path+" "+c.body)
	}
	for _, path := range []string{"orders/a%20b/start", "jobs/WO-1/suspend", "jobs/WO-1.0/suspend", "jobs/WO-1.01/suspend", "jobs/.1/suspend", "jobs/WO-1.99999/suspend",
		"pallets/%00/leave", "manual-actions/x/answer", "alarms/x/acknowledge"} {
		requireProblem(t, b.ask(http.MethodPost, "/api/v1/"+path, ``), http.StatusNotFound, "not_found")
	}
	for _, path := range []string{"orders/none", "jobs/WO-1.9", "jobs/WO-1", "tasks/x", "equipment/none", "manual-actions/" + "0190f3a0-0000-8000-8000-00000000000c"} {
		requireProblem(t, b.ask(http.MethodGet, "/api/v1/"+path, ""), http.StatusNotFound, "not_found")
	}
	for _, path := range []string{"orders?state=held", "jobs?state=SUSPENDED", "tasks?state=open", "manual-actions?state=OPEN", "alarms?all=yes", "cell?x=1", "plant?check=1"} {
		requireProblem(t, b.ask(http.MethodGet, "/api/v1/"+path, ""), http.StatusUnprocessableEntity, "invalid")
	}
	require.Empty(t, b.loop.posted)
}

// proves C-19
func TestARecoveryCannotBeLiftedAsAHold(t *testing.T) {
	b := newBench(t)
	for _, hold := range []term.HoldReason{term.HoldRecovery, term.HoldPaused, term.HoldSuspended, term.HoldDisabled} {
		w := b.ask(http.MethodPost, "/api/v1/holds/release", `{"subject":"cell","hold":"`+string(hold)+`","reason":"x"}`)
		require.Equal(t, "/hold", requireProblem(t, w, http.StatusUnprocessableEntity, "invalid").Problems[0].Pointer)
	}
	require.Empty(t, b.loop.posted)
}

func TestListsOfTheCellPassTheirFiltersOn(t *testing.T) {
	for route, want := range map[string]any{
		"/api/v1/tasks":          read.TaskFilter{States: []term.TaskState{term.TaskRunning}, Order: "WO-1", Job: "WO-1.2", Equipment: "robot", OnlyOpen: true, Limit: 100},
		"/api/v1/manual-actions": read.QuestionFilter{Subject: "job:WO-1.2", Job: "WO-1.2", Limit: 100},
		"/api/v1/alarms":         read.AlarmFilter{OnlyOpen: true, Subject: "equipment:mill", Limit: 100},
	} {
		b := newBench(t)
		b.ask(http.MethodGet, cellReads[route], "")
		require.Equal(t, want, b.reader.filter)
	}
	b := newBench(t)
	b.ask(http.MethodGet, cellReads["/api/v1/jobs"], "")
	require.Equal(t, read.JobFilter{Order: "WO-1", States: []term.JobState{term.Waiting, term.Moving}, OnlyOpen: true, Limit: 100}, b.reader.cell.asked)
}

// proves C-12
func TestCellShowsWhereEveryPartIs(t *testing.T) {
	b := newBench(t)
	c := decoded[Cell](t, b.ask(http.MethodGet, "/api/v1/cell", "").Body)
	require.Equal(t, "the robot moves", c.WaitingFor)
	require.EqualValues(t, idA, c.RobotTask.ID)
	require.EqualValues(t, idB, c.Starts[0].ID)
	require.EqualValues(t, "WO-1.2", c.Gripper.ID)
	require.Equal(t, 1, c.ManualActions)

	require.Len(t, c.Equipment, 2)
	mill := c.Equipment[0]
	require.Equal(t, term.EquipmentRunning, mill.Status)
	require.EqualValues(t, 8, *mill.Cycle)
	require.Equal(t, "mill", mill.Config.Group, "defaults are shown")
	require.Equal(t, []term.QuestionID{idB}, mill.ManualActions)
	require.Len(t, mill.Slots, 2)
	require.Equal(t, Slot{ID: "mill:2", Version: 5, Number: 2, State: term.SlotOccupied, CurrentJobID: "WO-1.1", EnteredAt: noon}, mill.Slots[1])

	where := func(places []CellPlace) (list []string) {
		for _, p := range places {
			text := ""
			for _, j := range p.Jobs {
				text += string(j.ID) + " " + string(j.PositionType)
			}
			require.Equal(t, text != "", p.Taken)
			list = append(list, text)
		}
		return list
	}
	require.Equal(t, []string{"WO-1.1 ON_EQUIPMENT", "WO-1.2 ON_ROBOT", "WO-1.3 ON_BUFFER"}, where(c.Buffer), "a part keeps its place")
	require.Equal(t, []string{"", "", "", "WO-1.4 ON_DOCK"}, where(c.Dock))
	require.Equal(t, 23, c.Buffer[2].WireNumber)
	require.EqualValues(t, "P7", c.Pallets[0].ID)

	b.reader.cell.absent = true
	requireProblem(t, b.ask(http.MethodGet, "/api/v1/cell", ""), http.StatusNotFound, "not_found")
	requireProblem(t, b.ask(http.MethodGet, "/api/v1/plant", ""), http.StatusNotFound, "not_found")
}

func TestEveryFindingSaysWhetherThePlaceIsInDoubt(t *testing.T) {
	require.Len(t, placeInDoubt, len(term.Finding("").Values()))
	for _, f := range term.Finding("").Values() {
		require.Contains(t, placeInDoubt, term.Finding(f))
	}
}

// proves C-19, C-20
func TestWhatStopsAPartIsShownBesideItsState(t *testing.T) {
	for name, c := range map[string]struct {
		stop func(*fakeCell)
		want string
	}{
		"nothing":                 {func(*fakeCell) {}, "WAITING"},
		"suspended":               {func(c *fakeCell) { c.hold(term.HoldSuspended, "job:WO-1.3") }, "SUSPENDED"},
		"its order is paused":     {func(c *fakeCell) { c.hold(term.HoldPaused, "order:WO-1") }, "SUSPENDED"},
		"the cell is paused":      {func(c *fakeCell) { c.hold(term.HoldPaused, "cell") }, "WAITING"},
		"another part":            {func(c *fakeCell) { c.hold(term.HoldSuspended, "job:WO-1.4") }, "WAITING"},
		"a question":              {func(c *fakeCell) { c.ask(term.FindJudgement, "job:WO-1.3") }, "SUSPENDED"},
		"a question of its place": {func(c *fakeCell) { c.ask(term.FindTaskUnknown, "job:WO-1.3") }, "ERROR"},
		"both":                    {func(c *fakeCell) { c.hold(term.HoldPaused, "order:WO-1"); c.ask(term.FindSharedPlace, "job:WO-1.3") }, "ERROR"},
		"it has ended all the same": {func(c *fakeCell) {
			c.hold(term.HoldPaused, "order:WO-1")
			c.jobs[2].State, c.jobs[2].Position, c.jobs[2].TempSlotNo, c.jobs[2].EndedAt = term.Completed, term.OutPlace(term.OutExit), 0, noon
		}, "COMPLETED"},
	} {
		b := newBench(t)
		c.stop(b.reader.cell)
		j := decoded[Job](t, b.ask(http.MethodGet, "/api/v1/jobs/WO-1.3", "").Body)
		require.Equal(t, c.want, j.ShownState, name)
		require.Equal(t, b.reader.cell.jobs[2].State, j.State, name)
	}
	b := newBench(t)
	b.reader.cell.hold(term.HoldPaused, "order:WO-1")
	o := decoded[List[Order]](t, b.ask(http.MethodGet, "/api/v1/orders", "").Body).Items[0]
	require.Equal(t, 5, o.Left)
	require.Equal(t, term.HoldPaused, o.Holds[0].Hold)
}

// proves C-19
func TestRecoveryTellsWhetherItCanBeConfirmed(t *testing.T) {
	b := newBench(t)
	r := decoded[Recovery](t, b.ask(http.MethodGet, "/api/v1/recovery", "").Body)
	require.False(t, r.Held)
	require.False(t, r.Confirmable)
	require.Len(t, r.Findings, 1)
	require.Equal(t, "abc", r.Findings[0].Hash)
	require.Zero(t, r.Blocking, "the cell may go on while a step is overdue")

	b.reader.cell.hold(term.HoldRecovery, "cell")
	b.reader.cell.hold(term.HoldRecovery, "equipment:mill")
	b.reader.cell.hold(term.HoldPaused, "cell")
	r = decoded[Recovery](t, b.ask(http.MethodGet, "/api/v1/recovery", "").Body)
	require.True(t, r.Held && r.Confirmable)
	require.Len(t, r.Holds, 2)
	require.Len(t, r.Findings, 1)
	require.False(t, r.Findings[0].BlocksRecovery)

	b.reader.cell.ask(term.FindPartMissing, "job:WO-1.1")
	b.reader.cell.ask(term.FindLateSuccess, "task:"+idA)
	r = decoded[Recovery](t, b.ask(http.MethodGet, "/api/v1/recovery", "").Body)
	require.True(t, r.Held)
	require.False(t, r.Confirmable)
	require.Equal(t, 2, r.Blocking)
	require.Equal(t, []bool{true, true, false}, []bool{r.Findings[0].BlocksRecovery, r.Findings[1].BlocksRecovery, r.Findings[2].BlocksRecovery})
}

// proves X-5
func TestAnAnswerToAChangedQuestionShowsTheNewOne(t *testing.T) {
	b := newBench(t)
	body := `{"version":2,"hash":"old","answer":"wait","reason":"seen"}`
	b.loop.answer = func(message.Message) *message.Outcome {
		return &message.Outcome{Code: message.Refused, Reason: "changed", State: "OPEN", Subject: plant.QuestionSubject(idB)}
	}
	p := requireProblem(t, b.ask(http.MethodPost, "/api/v1/manual-actions/"+idA+"/answer", body), http.StatusConflict, "changed")
	require.NotNil(t, p.Current)
	require.EqualValues(t, idB, p.Current.ID, "the question that the loop names")
	require.EqualValues(t, 3, p.Current.Version)
	require.Equal(t, "abc", p.Current.Hash)

	b.reader.set(func(f *fakeReader) { f.err = http.ErrServerClosed })
	p = requireProblem(t, b.ask(http.MethodPost, "/api/v1/manual-actions/"+idB+"/answer", body), http.StatusConflict, "changed")
	require.Nil(t, p.Current, "that it cannot be shown is no reason to call the refusal something else")

	b.reader.set(func(f *fakeReader) { f.err = nil })
	b.loop.answer = func(message.Message) *message.Outcome {
		return &message.Outcome{Code: message.Refused, Reason: "not_an_answer", Subject: plant.QuestionSubject(idB)}
	}
	require.Nil(t, requireProblem(t, b.ask(http.MethodPost, "/api/v1/manual-actions/"+idB+"/answer", body), http.StatusConflict, "not_an_answer").Current)
}

func TestPlantFileIsPostedOrOnlyChecked(t *testing.T) {
	b := newBench(t)
	w := b.ask(http.MethodPost, "/api/v1/plant?check=true", "cell: x", yamlBody)
	require.Equal(t, http.StatusOK, w.Code, w.Body.String())
	require.Equal(t, PlantCheck{Name: "cell: x", Equipment: 1}, decoded[PlantCheck](t, w.Body))
	require.Empty(t, b.loop.posted)

	p := requireProblem(t, b.ask(http.MethodPost, "/api/v1/plant", "bad", yamlBody), http.StatusUnprocessableEntity, "invalid")
	require.Equal(t, []message.Problem{{Pointer: "/cell", Line: 3, Detail: "no"}}, p.Problems)
	requireProblem(t, b.ask(http.MethodPost, "/api/v1/plant", "\xff", yamlBody), http.StatusBadRequest, "malformed")
	requireProblem(t, b.ask(http.MethodPost, "/api/v1/plant", "{}"), http.StatusUnsupportedMediaType, "unsupported_media_type")
	require.Empty(t, b.loop.posted)

	w = b.ask(http.MethodPost, "/api/v1/plant", "cell: x", yamlBody)
	require.Equal(t, http.StatusOK, w.Code, w.Body.String())
	require.Equal(t, "cell: x", b.loop.last(t).Payload.(message.ImportPlant).File)
	require.Equal(t, Plant{Name: "Cell 1", Revision: 2, File: "cell: {}\n"}, decoded[Plant](t, b.ask(http.MethodGet, "/api/v1/plant", "").Body))

	b.o.ParsePlant = nil
	requireProblem(t, b.ask(http.MethodPost, "/api/v1/plant", "cell: x", yamlBody), http.StatusNotImplemented, "no_plant_files")
}

func TestNoWordAboutAnOrderSaysWhereToLook(t *testing.T) {
	b := newBench(t)
	b.decideWithin = 0
	b.loop.answer = nil
	for path, location := range map[string]string{"orders/WO-1/start": "orders/WO-1", "jobs/WO-1.1/suspend": "jobs/WO-1.1", "cell/pause": "cell", "recovery/confirm": "recovery",
		"cell/compare": "recovery", "pallets/P7/leave": "cell", "alarms/" + idA + "/acknowledge": "alarms"} {
		w := b.ask(http.MethodPost, "/api/v1/"+path, "", header("Prefer", "wait=0"))
		require.Equal(t, http.StatusAccepted, w.Code, path)
		require.Equal(t, "/api/v1/"+location, w.Header().Get("Location"))
	}
}

// proves X-8
func TestASnapshotHasWhatItsTopicsWant(t *testing.T) {
	b := newBench(t)
	s := serve(t, b)
	first := func(query string) (snapshot map[string]json.RawMessage) {
		e := s.open(t, "", query).want(t, "snapshot", "gen-1:0")
		require.NoError(t, json.Unmarshal([]byte(e.data), &snapshot))
		return snapshot
	}
	all := first("")
	for _, key := range []string{"cell", "openOrders", "manualActions", "alarms"} {
		require.Contains(t, all, key)
		require.NotContains(t, first("?topics=devices"), key)
	}
	require.Contains(t, first("?topics=alarms"), "alarms")
	require.NotContains(t, first("?topics=alarms"), "cell")

	b.reader.set(func(f *fakeReader) { f.cell.absent = true })
	empty := first("?topics=cell")
	require.NotContains(t, empty, "cell", "no plant file was imported")
	require.JSONEq(t, "[]", string(empty["openOrders"]))
}
