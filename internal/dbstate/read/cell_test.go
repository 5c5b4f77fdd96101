package read_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"surehand/internal/dbstate/read"
	"surehand/internal/plant"
	"surehand/internal/term"
)

func order(n int, state term.OrderState) *plant.Order {
	o := &plant.Order{ID: term.OrderID(fmt.Sprintf("WO-%02d", 50-n)), Version: 1, RouteID: "r", State: state, Planned: 3, Actor: "mai", CreatedAt: at(n / 2)}
	if state.Ended() {
		o.Completed, o.EndedAt = 3, at(n+60)
	}
	return o
}

func part(o term.OrderID, n int, state term.JobState, p term.Place) *plant.Job {
	j := &plant.Job{ID: term.NewJobID(o, n), Version: 1, OrderID: o, Number: n, State: state, Position: p, Disposition: term.DispositionNone}
	if state == term.Completed {
		j.EndedAt = at(50)
	}
	return j
}

func action(n int, j *plant.Job, state term.TaskState) *plant.Task {
	t := &plant.Task{ID: term.TaskID(id(n, "task")), Version: 1, Type: term.TaskMove, JobID: j.ID, OrderID: j.OrderID, EquipmentID: "robot", From: term.DockPlace(1),
		To: term.BufferPlace(1), State: state, ActionNo: uint32(n), Attempt: 1, Epoch: 1, CreatedAt: at(n)}
	switch state {
	case term.TaskRunning:
		t.DueAt = at(n + 60)
	case term.TaskSucceeded:
		t.PartAt, t.EndedAt = term.PartAtTo, at(n+1)
	}
	return t
}

func question(n int, f term.Finding, subject string, j term.JobID) *plant.Question {
	return &plant.Question{ID: term.QuestionID(id(n, "question")), Version: 1, State: term.QuestionOpen, Finding: f, Subject: subject, Touches: []string{subject},
		Answers: []term.Answer{{Word: "done"}}, JobID: j, OpenedAt: at(n)}
}

func keys[R plant.Row](rows []R) (list []string) {
	for _, r := range rows {
		list = append(list, r.Key())
	}
	return list
}

func TestOrdersPartsAndActionsInPages(t *testing.T) {
	p := story(t)
	ctx := t.Context()
	var newest []string
	for n := range 9 {
		state := []term.OrderState{term.OrderReady, term.OrderCompleted, term.OrderDraft}[n%3]
		o := order(n, state)
		p.insert(o)
		newest = append([]string{string(o.ID)}, newest...)
	}
	// Two orders of one time come by their ids, which here fall with time.
	for n := 0; n+1 < len(newest); n++ {
		if a, b := newest[n], newest[n+1]; n%2 == 1 {
			newest[n], newest[n+1] = b, a
		}
	}
	orders := func(f read.OrderFilter) []string {
		f.Limit = 2
		return keys(pages(t, func(c string) (read.Page[*plant.Order], error) { f.Cursor = c; return p.Orders(ctx, f) }))
	}
	require.Equal(t, newest, orders(read.OrderFilter{}))
	require.Len(t, orders(read.OrderFilter{States: []term.OrderState{term.OrderReady, term.OrderDraft}}), 6)
	require.Len(t, orders(read.OrderFilter{States: []term.OrderState{term.OrderCompleted}}), 3)
	for _, cursor := range []string{"!", "eA", "MQ", "eCB5"} {
		_, err := p.Orders(ctx, read.OrderFilter{Cursor: cursor})
		require.ErrorIs(t, err, read.ErrCursor)
		_, err = p.Jobs(ctx, read.JobFilter{Cursor: cursor})
		require.ErrorIs(t, err, read.ErrCursor)
		_, err = p.Tasks(ctx, read.TaskFilter{Cursor: cursor})
		require.ErrorIs(t, err, read.ErrCursor)
	}

	var inserted []plant.Row
	var parts, of48 []string
	for _, o := range []term.OrderID{"WO-42", "WO-48", "WO-50"} {
		for n := 1; n <= 12; n++ {
			j := part(o, n, term.NotArrived, term.Place{Type: term.Nowhere})
			switch {
			case o == "WO-48" && n == 3:
				j = part(o, n, term.Queued, term.DockPlace(7))
			case o == "WO-48" && n == 4:
				j = part(o, n, term.Completed, term.OutPlace(term.OutExit))
			}
			inserted = append(inserted, j)
			if parts = append(parts, string(j.ID)); o == "WO-48" {
				of48 = append(of48, string(j.ID))
			}
		}
	}
	p.insert(inserted...)
	jobs := func(f read.JobFilter) []string {
		f.Limit = 5
		return keys(pages(t, func(c string) (read.Page[*plant.Job], error) { f.Cursor = c; return p.Jobs(ctx, f) }))
	}
	require.Equal(t, parts, jobs(read.JobFilter{}))
	require.Equal(t, of48, jobs(read.JobFilter{Order: "WO-48"}))
	require.Equal(t, []string{"WO-48.4"}, jobs(read.JobFilter{States: []term.JobState{term.Completed}}))
	require.Equal(t, []string{"WO-48.3"}, jobs(read.JobFilter{States: []term.JobState{term.Queued}}))
	require.Len(t, jobs(read.JobFilter{OnlyOpen: true}), 35)
	j, err := p.Job(ctx, "WO-48.3")
	require.NoError(t, err)
	require.Equal(t, inserted[14], j)

	var newestFirst []string
	for n := range 7 {
		state := term.TaskSucceeded
		if n == 6 {
			state = term.TaskRunning
		}
		task := action(n, inserted[n%2*12].(*plant.Job), state)
		p.insert(task)
		newestFirst = append([]string{task.Key()}, newestFirst...)
	}
	tasks := func(f read.TaskFilter) []string {
		f.Limit = 2
		return keys(pages(t, func(c string) (read.Page[*plant.Task], error) { f.Cursor = c; return p.Tasks(ctx, f) }))
	}
	require.Equal(t, newestFirst, tasks(read.TaskFilter{Equipment: "robot"}))
	require.Equal(t, newestFirst[:1], tasks(read.TaskFilter{OnlyOpen: true}))
	require.Equal(t, newestFirst[:1], tasks(read.TaskFilter{States: []term.TaskState{term.TaskRunning}}))
	require.Len(t, tasks(read.TaskFilter{Job: "WO-42.1"}), 4)
	require.Len(t, tasks(read.TaskFilter{Order: "WO-48"}), 3)
	one, err := p.Task(ctx, term.TaskID(newestFirst[0]))
	require.NoError(t, err)
	require.Equal(t, term.TaskRunning, one.State)
	for _, missing := range []func() error{
		func() error { _, err := p.Order(ctx, "nobody"); return err },
		func() error { _, err := p.Job(ctx, "nobody"); return err },
		func() error { _, err := p.Task(ctx, "x"); return err },
		func() error { _, err := p.Question(ctx, term.QuestionID(id(1, "no"))); return err },
		func() error { _, err := p.Cell(ctx); return err },
		func() error { _, err := p.JobTimeline(ctx, "no"); return err },
		func() error { _, err := p.OrderTimeline(ctx, "no"); return err },
	} {
		require.ErrorIs(t, missing(), read.ErrNotFound)
	}
}

func TestOverviewOfTheCell(t *testing.T) {
	p := story(t)
	ctx := t.Context()
	o, err := p.Overview(ctx)
	require.NoError(t, err)
	require.Equal(t, read.CellOverview{Fence: p.fence}, o)

	cell := &plant.Cell{Version: 1, Name: "c", Revision: 1, WaitingFor: "x"}
	wo := order(1, term.OrderRunning)
	robot := &plant.Equipment{ID: "robot", Version: 1, Type: term.KindRobot, Status: term.EquipmentIdle, Latch: term.LatchNone}
	mill := &plant.Equipment{ID: "mill", Version: 1, Type: term.KindMachine, Status: term.Offline, Latch: term.LatchNone, Config: term.EquipmentConfig{Slots: 2}}
	var slots []*plant.Slot
	for n := 1; n <= 2; n++ {
		slots = append(slots, &plant.Slot{ID: term.NewSlotID("mill", n), Version: 1, EquipmentID: "mill", Number: n, State: term.SlotEmpty})
	}
	here := part(wo.ID, 1, term.Moving, term.DockPlace(1))
	pallet := &plant.Pallet{ID: "P-1", Version: 1, OrderID: wo.ID, Places: 3, ArrivedAt: at(1)}
	gone := &plant.Pallet{ID: "P-0", Version: 1, OrderID: wo.ID, Places: 3, ArrivedAt: at(1), LeftAt: at(2)}
	moving := action(5, here, term.TaskRunning)
	start := &plant.Task{ID: term.TaskID(id(6, "start")), Version: 1, Type: term.TaskStartMachine, EquipmentID: "mill", State: term.TaskUnknown, ActionNo: 99, CreatedAt: at(6)}
	paused := &plant.Hold{ID: term.HoldID(id(3, "h")), Version: 1, Subject: plant.CellSubject, Reason: term.HoldPaused, By: "mai", At: at(3)}
	asked := question(7, term.FindTaskUnknown, plant.TaskSubject(start.ID), "")
	answered := question(8, term.FindUnreachable, "equipment:mill", "")
	answered.State, answered.Answer, answered.By, answered.EndedAt = term.QuestionResolved, "retry", "mai", at(9)
	seen := &plant.Alarm{ID: term.AlarmID(id(4, "a")), Version: 1, Type: term.AlarmOffline, Subject: "equipment:mill", State: term.AlarmAcknowledged, AckedBy: "mai", Count: 1, RaisedAt: at(4)}
	unseen := &plant.Alarm{ID: term.AlarmID(id(5, "b")), Version: 1, Type: term.AlarmTaskUnknown, Subject: asked.Subject, State: term.AlarmReturned, Count: 2, RaisedAt: at(5)}
	over := &plant.Alarm{ID: term.AlarmID(id(6, "c")), Version: 1, Type: term.AlarmFault, Subject: "equipment:mill", State: term.AlarmNormal, Count: 1, RaisedAt: at(5), EndedAt: at(6)}
	route := &plant.Route{ID: "r", Version: 1, Revision: 1, Steps: []term.Step{{Kind: term.StepMachine, Group: "mill"}}}
	p.insert(cell, wo, order(3, term.OrderCompleted), robot, mill, slots[1], slots[0], here, part(wo.ID, 2, term.NotArrived, term.Place{Type: term.Nowhere}), pallet, gone,
		moving, start, paused, asked, answered, seen, unseen, over, route)
	o, err = p.Overview(ctx)
	require.NoError(t, err)
	require.Equal(t, read.CellOverview{Fence: p.fence, Cell: cell, Holds: []*plant.Hold{paused},
		Equipment: []read.EquipmentView{{Equipment: mill, Slots: slots}, {Equipment: robot}}, Pallets: []*plant.Pallet{pallet}, Orders: []*plant.Order{wo},
		Placed: []*plant.Job{here}, RobotTask: moving, Starts: []*plant.Task{start}, Questions: 1, Alarms: 2, Unseen: 1}, o)

	routes, err := p.Routes(ctx)
	require.NoError(t, err)
	equipment, err := p.Equipment(ctx)
	require.NoError(t, err)
	all, err := p.Slots(ctx)
	require.NoError(t, err)
	require.Equal(t, []any{[]*plant.Route{route}, []*plant.Equipment{mill, robot}, slots}, []any{routes, equipment, all})
	questions := func(f read.QuestionFilter) []string {
		f.Limit = 1
		return keys(pages(t, func(c string) (read.Page[*plant.Question], error) { f.Cursor = c; return p.Questions(ctx, f) }))
	}
	require.Equal(t, keys([]*plant.Question{answered, asked}), questions(read.QuestionFilter{}))
	require.Equal(t, keys([]*plant.Question{asked}), questions(read.QuestionFilter{OnlyOpen: true}))
	require.Equal(t, keys([]*plant.Question{answered}), questions(read.QuestionFilter{Subject: "equipment:mill"}))
	require.Empty(t, questions(read.QuestionFilter{Job: "x"}))
	alarms := func(f read.AlarmFilter) []string {
		f.Limit = 1
		return keys(pages(t, func(c string) (read.Page[*plant.Alarm], error) { f.Cursor = c; return p.Alarms(ctx, f) }))
	}
	require.Equal(t, keys([]*plant.Alarm{over, unseen, seen}), alarms(read.AlarmFilter{}))
	require.Equal(t, keys([]*plant.Alarm{unseen, seen}), alarms(read.AlarmFilter{OnlyOpen: true}))
	require.Equal(t, keys([]*plant.Alarm{over, seen}), alarms(read.AlarmFilter{Subject: "equipment:mill"}))
	q, err := p.Question(ctx, asked.ID)
	require.NoError(t, err)
	require.Equal(t, asked, q)
}

func TestStoryOfAPart(t *testing.T) {
	p := story(t)
	o := order(0, term.OrderRunning)
	j := part(o.ID, 1, term.Completed, term.OutPlace(term.OutExit))
	j.Context.Code = "C-1"
	task := action(20, j, term.TaskSucceeded)
	q := question(30, term.FindReportedPart, plant.JobSubject(j.ID), j.ID)
	q.State, q.Answer, q.By, q.EndedAt = term.QuestionResolved, "mistaken", "mai", at(31)
	about := question(33, term.FindCounters, plant.OrderSubject(o.ID), "")
	h := &plant.Hold{ID: term.HoldID(id(25, "h")), Version: 1, Subject: plant.JobSubject(j.ID), Reason: term.HoldSuspended, By: "mai", At: at(25), EndedAt: at(26), EndedBy: "an"}
	var changes []plant.Change
	for _, r := range []plant.Row{o, j, task, q, about, h} {
		changes = append(changes, plant.Change{Move: "Insert", After: r})
	}
	note := func(kind plant.Kind, key, move, from, to string) plant.Note {
		return plant.Note{Kind: kind, Key: key, Move: move, From: from, To: to}
	}
	entry := func(seconds int, subject string, notes ...plant.Note) plant.Entry {
		return plant.Entry{MessageID: term.MessageID(id(seconds, subject)), Type: "T", Source: "person", Actor: "mai", At: at(seconds), Outcome: "accepted", Subject: subject, Notes: notes}
	}
	p.commit([]plant.Entry{
		entry(0, "order:"+string(o.ID), note(plant.KindOrder, string(o.ID), "CreateOrder", "", "draft"), note(plant.KindJob, string(j.ID), "CreateJob", "", "NOT_ARRIVED")),
		entry(10, "pallet:P-1", note(plant.KindJob, string(j.ID), "ArriveOnPallet", "NOT_ARRIVED", "QUEUED"), note(plant.KindJob, string(o.ID)+".2", "ArriveOnPallet", "NOT_ARRIVED", "QUEUED")),
		entry(20, "task:"+string(task.ID), note(plant.KindJob, string(j.ID), "ClaimJobForAction", "QUEUED", "MOVING"), note(plant.KindOrder, string(o.ID), "BeginOrderIfReady", "ready", "running")),
		entry(21, "", note(plant.KindJob, string(j.ID), "MoveJobToBuffer", "MOVING", "WAITING")),
		entry(40, "device:fan", note(plant.KindJob, string(j.ID), "NotOfTheCell", "", "")),
	}, changes)

	lines := func(items []read.TimelineItem, err error) (list []string) {
		require.NoError(t, err)
		for _, i := range items {
			list = append(list, strings.TrimSpace(fmt.Sprintf("%d %s %s %s→%s #%d", int(i.At.Sub(t0).Seconds()), i.Kind, i.Text, i.From, i.To, i.Seq)))
		}
		return list
	}
	require.Equal(t, []string{
		"0 decided WO-50 →NOT_ARRIVED #0",
		"0 move CreateJob →NOT_ARRIVED #1",
		"10 move ArriveOnPallet NOT_ARRIVED→QUEUED #2",
		"20 move ClaimJobForAction QUEUED→MOVING #3",
		"20 action MOVE dock place 1→buffer place 1 #0",
		"21 action_ended SUCCEEDED →to #0",
		"21 move MoveJobToBuffer MOVING→WAITING #4",
		"25 held suspended → #0",
		"26 lifted suspended → #0",
		"30 question part_reported → #0",
		"31 answer mistaken → #0",
		"50 ended exit →COMPLETED #0",
	}, lines(p.JobTimeline(t.Context(), j.ID)))
	require.Equal(t, []string{
		"0 decided  →draft #0",
		"0 move CreateOrder →draft #1",
		"20 move BeginOrderIfReady ready→running #3",
		"33 question counters_wrong → #0",
	}, lines(p.OrderTimeline(t.Context(), o.ID)))
}

// The moves of a part are found through their index, however long the log is.
func TestStoryHasAnIndex(t *testing.T) {
	p := story(t)
	conn, err := pgx.Connect(t.Context(), p.url)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	_, err = conn.Exec(t.Context(), `INSERT INTO event_log (seq, generation, message_id, type, source, decided_at, outcome, subject, notes, notes_left_out)
		SELECT n, gen_random_uuid(), gen_random_uuid(), 'T', 's', now(), 'accepted', CASE WHEN n % 50 = 0 THEN 'task:x' ELSE 'device:d' END,
		json_build_array(json_build_object('kind', 'job', 'key', 'WO.' || n, 'move', 'M'))::jsonb, 0 FROM generate_series(1, 20000) n`)
	require.NoError(t, err)
	_, err = conn.Exec(t.Context(), "ANALYZE event_log")
	require.NoError(t, err)
	found, err := conn.Query(t.Context(), "EXPLAIN "+read.NotesQuery, `[{"kind":"job","key":"WO.100"}]`, 10)
	require.NoError(t, err)
	lines, err := pgx.CollectRows(found, pgx.RowTo[string])
	require.NoError(t, err)
	require.Contains(t, strings.Join(lines, "\n"), "event_log_notes_of_the_cell")
	rows, err := conn.Query(t.Context(), read.NotesQuery, `[{"kind":"job","key":"WO.100"}]`, 10)
	require.NoError(t, err)
	n := 0
	for rows.Next() {
		n++
	}
	require.NoError(t, rows.Err())
	require.Equal(t, 1, n)
}
