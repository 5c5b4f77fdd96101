package read_test

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"surehand/internal/dbstate"
	"surehand/internal/dbstate/migrate"
	"surehand/internal/dbstate/read"
	"surehand/internal/embedded/embeddedtest"
	"surehand/internal/plant"
	"surehand/internal/term"
)

var t0 = time.Date(2026, 11, 30, 8, 0, 0, 0, time.UTC)

func at(seconds int) time.Time { return t0.Add(time.Duration(seconds) * time.Second) }

// id is a time-ordered id, as the loop makes them.
func id(seconds int, what string) string { return plant.DerivedID(at(seconds), what) }

type plantStory struct {
	*read.Reader
	t     *testing.T
	url   string
	store *dbstate.Store
	fence plant.Fence
}

// story is a database, a store that fills it and a reader of it.
func story(t *testing.T) *plantStory {
	t.Helper()
	url := embeddedtest.DatabaseLike(t, "migrated", func(url string) error {
		return migrate.Up(context.Background(), url, slog.New(slog.DiscardHandler))
	})
	r, err := read.Open(t.Context(), url)
	require.NoError(t, err)
	t.Cleanup(r.Close)
	_, err = r.Fence(t.Context())
	require.ErrorIs(t, err, read.ErrNotFound)
	s, err := dbstate.Connect(t.Context(), dbstate.Options{URL: url, AllowUnsafe: true})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	state, err := s.Open(t.Context(), id(0, "life"))
	require.NoError(t, err)
	return &plantStory{Reader: r, t: t, url: url, store: s, fence: state.Fence()}
}

func (p *plantStory) insert(rows ...plant.Row) {
	p.t.Helper()
	var changes []plant.Change
	for _, r := range rows {
		changes = append(changes, plant.Change{Move: "Insert", After: r})
	}
	p.commit(nil, changes)
}

func (p *plantStory) commit(entries []plant.Entry, changes []plant.Change) {
	p.t.Helper()
	after := p.fence
	after.Turn++
	for n := range entries {
		after.Seq++
		entries[n].Seq = after.Seq
	}
	require.NoError(p.t, p.store.Commit(p.t.Context(), plant.Batch{Before: p.fence, After: after, Entries: entries, Changes: changes}))
	p.fence = after
}

// pages reads a whole list page by page.
func pages[T any](t *testing.T, page func(cursor string) (read.Page[T], error)) []T {
	t.Helper()
	var all []T
	for cursor := ""; ; {
		p, err := page(cursor)
		require.NoError(t, err)
		all = append(all, p.Items...)
		if p.Next == "" {
			return all
		}
		cursor = p.Next
	}
}

func command(n int, state term.CommandState) *plant.Intent {
	i := &plant.Intent{ID: term.IntentID(id(n, fmt.Sprint("intent", n))), Version: 1, ExecutionID: term.ExecutionID(id(n, "execution")), RuleID: "rule",
		FarmID: "farm", DeviceID: "fan", EndpointID: term.EndpointID(fmt.Sprintf("fan/%d", n)), Serial: "F", Method: "set", Params: "{}",
		TargetValue: term.Bool(true), Action: term.ActionAbsolute, IdempotencyKey: fmt.Sprint(n), Fingerprint: "f", State: state, MaxAttempts: 3,
		DueAt: at(n + 5), DeadlineAt: at(n + 300), CreatedAt: at(n), UpdatedAt: at(n)}
	switch state {
	case term.Failed:
		i.EndedAt, i.ClosedAt, i.DueAt = at(n+1), at(n+1), time.Time{}
	case term.Dispatched:
		i.HoldsEndpoint, i.CommandID, i.AttemptCount, i.AttemptNumber = true, term.CommandID(fmt.Sprint("c", n)), 1, 1
	}
	return i
}

func TestCommandsInPages(t *testing.T) {
	p := story(t)
	var want []*plant.Intent // newest first
	for n := range 25 {
		state := []term.CommandState{term.PendingDispatch, term.Failed, term.Dispatched}[n%3]
		i := command(n, state)
		p.insert(i)
		want = append([]*plant.Intent{i}, want...)
	}
	filter := func(f read.CommandFilter) []*plant.Intent {
		f.Limit = 4
		return pages(t, func(c string) (read.Page[*plant.Intent], error) { f.Cursor = c; return p.Commands(t.Context(), f) })
	}
	only := func(keep func(*plant.Intent) bool) []*plant.Intent {
		var list []*plant.Intent
		for _, i := range want {
			if keep(i) {
				list = append(list, i)
			}
		}
		return list
	}
	require.Equal(t, want, filter(read.CommandFilter{}))
	require.Equal(t, want, filter(read.CommandFilter{Device: "fan", Rule: "rule", Farm: "farm"}))
	require.Empty(t, filter(read.CommandFilter{Device: "other"}))
	require.Equal(t, only(func(i *plant.Intent) bool { return i.State == term.Failed }), filter(read.CommandFilter{States: []term.CommandState{term.Failed}}))
	require.Equal(t, only((*plant.Intent).Open), filter(read.CommandFilter{States: []term.CommandState{term.PendingDispatch, term.Dispatched}}))
	require.Equal(t, only(func(i *plant.Intent) bool { return i.HoldsEndpoint }), filter(read.CommandFilter{OnlyHolding: true}))
	require.Equal(t, want[:1], filter(read.CommandFilter{Endpoint: want[0].EndpointID}))

	got, err := p.Command(t.Context(), want[3].ID)
	require.NoError(t, err)
	require.Equal(t, want[3], got)
	for _, unknown := range []term.IntentID{"", "x", "'; --", term.IntentID(id(1, "no"))} {
		_, err = p.Command(t.Context(), unknown)
		require.ErrorIs(t, err, read.ErrNotFound)
	}
	for _, cursor := range []string{"!", "eA", "AAAA"} {
		_, err = p.Commands(t.Context(), read.CommandFilter{Cursor: cursor})
		require.ErrorIs(t, err, read.ErrCursor)
	}
	counts, err := p.Counts(t.Context(), at(10))
	require.NoError(t, err)
	require.Equal(t, map[term.CommandState]int64{term.PendingDispatch: 9, term.Dispatched: 8, term.Failed: 5}, counts)
}

func TestStoryOfACommand(t *testing.T) {
	p := story(t)
	i := command(10, term.Dispatched)
	e := &plant.Event{ID: term.EventID(id(9, "event")), Version: 1, DeviceID: "sensor", EndpointID: "sensor/t", At: at(9), ReceivedAt: at(10),
		Value: term.Float(1e6), Status: term.EventProcessed}
	i.EventID = e.ID
	x := &plant.Execution{ID: i.ExecutionID, Version: 1, Source: term.SourceRule, RuleID: "rule", EventID: e.ID, Outcome: term.ExecutionFired, IntentID: i.ID,
		Count: 1, FirstAt: at(10), LastAt: at(10), IsOpen: true}
	a := &plant.Attempt{ID: term.AttemptID(id(10, "attempt")), Version: 1, IntentID: i.ID, CommandID: i.CommandID, Number: 1, Epoch: 1, FencedAt: at(10),
		DeadlineAt: at(15), Topic: "topic", Payload: "{}", Outcome: term.AttemptSent, EndedAt: at(11)}
	r := &plant.Receipt{ID: term.ReceiptID(id(12, "receipt")), IntentID: i.ID, DeviceID: "fan", Type: term.ReceiptTimeout, Correlation: term.CorrelationNone,
		Payload: []byte{0xff}, ReceivedAt: at(12)}
	note := func(move, from, to string) []plant.Note {
		return []plant.Note{{Kind: plant.KindIntent, Key: string(i.ID), Move: move, From: from, To: to}, {Kind: plant.KindAttempt, Key: "x", Move: "y"}}
	}
	var changes []plant.Change
	for _, row := range []plant.Row{i, e, x, a, r} {
		changes = append(changes, plant.Change{Move: "Insert", After: row})
	}
	entry := func(seconds int, subject string, notes []plant.Note) plant.Entry {
		return plant.Entry{MessageID: term.MessageID(id(seconds, subject)), Type: "T", Source: "device", At: at(seconds), Outcome: "accepted", Subject: subject, Notes: notes}
	}
	p.commit([]plant.Entry{
		entry(10, "device:sensor", note("CreateIntent", "", "pending_dispatch")),
		entry(11, "intent:"+string(i.ID), note("MarkDispatched", "pending_dispatch", "dispatched")),
		entry(11, "device:fan", nil),
		entry(13, "", note("PostponeWindow", "dispatched", "dispatched")),
		entry(14, "device:fan", []plant.Note{{Kind: plant.KindIntent, Key: id(1, "another"), Move: "MarkFailed"}}),
	}, changes)

	got, err := p.ExecutionTimeline(t.Context(), x.ID)
	require.NoError(t, err)
	require.Equal(t, []any{x, e, i}, []any{got.Execution, got.Event, got.Command})
	var lines []string
	for _, item := range got.Timeline {
		lines = append(lines, fmt.Sprintf("%d %s %s %s→%s #%d", int(item.At.Sub(t0).Seconds()), item.Kind, item.Text, item.From, item.To, item.Seq))
	}
	require.Equal(t, []string{
		"10 decided set →pending_dispatch #0",
		"10 move CreateIntent →pending_dispatch #1",
		"10 attempt topic → #0",
		"11 attempt_ended sent → #0",
		"11 move MarkDispatched pending_dispatch→dispatched #2",
		"12 receipt timeout_mark → #0",
		"13 move PostponeWindow dispatched→dispatched #4",
	}, lines)
	require.Contains(t, string(got.Timeline[5].Detail), "hex:ff")

	top, err := p.TopTimeouts(t.Context(), at(0), 5)
	require.NoError(t, err)
	require.Equal(t, []read.Timeouts{{DeviceID: "fan", EndpointID: i.EndpointID, Count: 1, LastAt: at(12)}}, top)
}

func TestLogIsExact(t *testing.T) {
	p := story(t)
	var want []plant.Entry
	for n := range 7 {
		p.commit([]plant.Entry{{MessageID: term.MessageID(id(n, "m")), Type: "T", Source: "s", At: at(n), Outcome: "accepted", Subject: "device:a"}}, nil)
		want = append(want, plant.Entry{Seq: int64(n + 1), MessageID: term.MessageID(id(n, "m")), Type: "T", Source: "s", At: at(n), Outcome: "accepted", Subject: "device:a"})
	}
	generation := p.fence.Generation
	got, fence, err := p.LogAfter(t.Context(), generation, 0, 5)
	require.NoError(t, err)
	require.Equal(t, want[:5], got)
	require.Equal(t, p.fence, fence)
	got, _, err = p.LogAfter(t.Context(), generation, 5, 5)
	require.NoError(t, err)
	require.Equal(t, want[5:], got)
	got, _, err = p.LogAfter(t.Context(), generation, 7, 5)
	require.NoError(t, err)
	require.Empty(t, got)
	for _, seq := range []int64{8, -1} {
		_, fence, err = p.LogAfter(t.Context(), generation, seq, 5)
		require.ErrorIs(t, err, read.ErrReset)
		require.Equal(t, p.fence, fence)
	}
	_, _, err = p.LogAfter(t.Context(), id(1, "other"), 1, 5)
	require.ErrorIs(t, err, read.ErrReset)

	all := pages(t, func(c string) (read.Page[*plant.Entry], error) {
		return p.LogPage(t.Context(), read.LogFilter{Subject: "device:a", Type: "T", Outcome: "accepted", Cursor: c, Limit: 3})
	})
	require.Len(t, all, 7)
	require.Equal(t, int64(7), all[0].Seq)
}

func TestEventsInATimeRange(t *testing.T) {
	p := story(t)
	var rows []plant.Row
	for n := range 40 {
		rows = append(rows, &plant.Event{ID: term.EventID(id(n, fmt.Sprint(n))), Version: 1, DeviceID: "sensor", EndpointID: term.EndpointID(fmt.Sprintf("sensor/%d", n%2)),
			At: at(n), ReceivedAt: at(n), Value: term.Int(int64(n)), Status: term.EventProcessed})
	}
	p.insert(rows...)
	list := pages(t, func(c string) (read.Page[*plant.Event], error) {
		return p.Events(t.Context(), read.EventFilter{Device: "sensor", Endpoint: "sensor/1", Status: term.EventProcessed, From: at(10), To: at(20), Cursor: c, Limit: 2})
	})
	var got []int
	for _, e := range list {
		got = append(got, int(e.At.Sub(t0).Seconds()))
	}
	require.Equal(t, []int{19, 17, 15, 13, 11}, got)
	day, err := p.Events(t.Context(), read.EventFilter{Now: at(39)})
	require.NoError(t, err)
	require.Len(t, day.Items, 40)
	one, err := p.Event(t.Context(), term.EventID(rows[3].Key()))
	require.NoError(t, err)
	require.Equal(t, rows[3], one)
}

func TestConfigurationAndRecords(t *testing.T) {
	p := story(t)
	ctx := t.Context()
	o := &plant.Organisation{ID: "o", Version: 1, Name: "O"}
	f := &plant.Farm{ID: "f", Version: 1, OrganisationID: "o", Name: "F"}
	pr := &plant.Profile{ID: "p", Version: 1, Class: term.ClassA}
	e := &plant.Endpoint{ID: "d1/k", Version: 1, DeviceID: "d1", EndpKey: "k", Mark: term.Mark{Seq: -1}}
	ru := &plant.Rule{ID: "r", Version: 1, FarmID: "f", Trigger: "d1/k", Target: "d1/k", TargetValue: term.Int(1)}
	h := &plant.Hold{ID: term.HoldID(id(1, "h")), Version: 1, Subject: "device:d1", Reason: term.HoldQuarantine, At: at(1)}
	x := &plant.Execution{ID: term.ExecutionID(id(2, "x")), Version: 1, Source: term.SourceRule, RuleID: "r", FarmID: "f", Outcome: term.ExecutionFalse, Count: 1, FirstAt: at(2), LastAt: at(2)}
	rejected := &plant.Receipt{ID: term.ReceiptID(id(3, "r")), Type: term.ReceiptRejected, Correlation: term.CorrelationNone, Payload: []byte{1}, ReceivedAt: at(3)}
	rows := []plant.Row{o, f, pr, e, ru, h, x, rejected}
	var devices []*plant.Device
	for n := range 5 {
		d := &plant.Device{ID: term.DeviceID(fmt.Sprintf("d%d", n)), Version: 1, FarmID: "f", ProfileID: "p", Serial: fmt.Sprintf("S%d", n), Name: "100% Fan", Status: term.DeviceActive, Class: term.ClassA}
		devices = append(devices, d)
		rows = append(rows, d, &plant.Parked{ID: term.MessageID(id(9-n, "m")), Type: "T", Source: "s", Raw: []byte{1}, At: at(n)})
	}
	p.insert(rows...)

	organisations, err := p.Organisations(ctx)
	require.NoError(t, err)
	farms, err := p.Farms(ctx)
	require.NoError(t, err)
	profiles, err := p.Profiles(ctx)
	require.NoError(t, err)
	endpoints, err := p.EndpointsOf(ctx, "d1")
	require.NoError(t, err)
	holds, err := p.Holds(ctx)
	require.NoError(t, err)
	rules, err := p.Rules(ctx, read.RuleFilter{Farm: "f"})
	require.NoError(t, err)
	executions, err := p.Executions(ctx, read.ExecutionFilter{Rule: "r", Farm: "f", Outcome: term.ExecutionFalse})
	require.NoError(t, err)
	refused, err := p.Rejected(ctx, "", 10)
	require.NoError(t, err)
	require.Equal(t, []any{[]*plant.Organisation{o}, []*plant.Farm{f}, []*plant.Profile{pr}, []*plant.Endpoint{e}, []*plant.Hold{h}, []*plant.Rule{ru},
		[]*plant.Execution{x}, []*plant.Receipt{rejected}},
		[]any{organisations, farms, profiles, endpoints, holds, rules.Items, executions.Items, refused.Items})

	list := func(f read.DeviceFilter) []*plant.Device {
		f.Limit = 2
		return pages(t, func(c string) (read.Page[*plant.Device], error) { f.Cursor = c; return p.Devices(ctx, f) })
	}
	require.Equal(t, devices, list(read.DeviceFilter{Farm: "f", Profile: "p", Status: term.DeviceActive}))
	require.Equal(t, devices[2:3], list(read.DeviceFilter{Search: "s2"}))
	require.Equal(t, devices, list(read.DeviceFilter{Search: "100% f"}))
	require.Empty(t, list(read.DeviceFilter{Search: "'; --"}))
	parked := pages(t, func(c string) (read.Page[*plant.Parked], error) { return p.Parked(ctx, c, 2) })
	require.Len(t, parked, 5)
	require.Equal(t, at(4), parked[0].At)
	_, err = p.Device(ctx, "nobody")
	require.ErrorIs(t, err, read.ErrNotFound)
}
