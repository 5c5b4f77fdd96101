package dbstate_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"surehand/internal/dbstate"
	"surehand/internal/dbstate/migrate"
	"surehand/internal/embedded/embeddedtest"
	"surehand/internal/plant"
	"surehand/internal/term"
)

// database gives the URL of a migrated, empty database.
func database(t testing.TB) string {
	t.Helper()
	return embeddedtest.DatabaseLike(t, "migrated", func(url string) error {
		return migrate.Up(context.Background(), url, slog.New(slog.DiscardHandler))
	})
}

func connect(t testing.TB, url string, change ...func(*dbstate.Options)) *dbstate.Store {
	t.Helper()
	o := dbstate.Options{URL: url, AllowUnsafe: true}
	for _, c := range change {
		c(&o)
	}
	s, err := dbstate.Connect(t.Context(), o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

// opened is a store with its first picture.
func opened(t testing.TB, url string, change ...func(*dbstate.Options)) (*dbstate.Store, *plant.State) {
	t.Helper()
	s := connect(t, url, change...)
	state, err := s.Open(t.Context(), uid(900))
	require.NoError(t, err)
	return s, state
}

// session is a plain connection beside the store's.
func session(t testing.TB, url string) *pgx.Conn {
	t.Helper()
	c, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close(context.Background()) })
	return c
}

func requireFault(t testing.TB, want plant.FaultKind, err error) {
	t.Helper()
	require.Error(t, err)
	require.Equal(t, want.String(), plant.FaultOf(err).String(), "%v", err)
}

// uid is a UUID that a reader can tell from others.
func uid(n int) string { return fmt.Sprintf("00000000-0000-7000-8000-%012d", n) }

var t0 = time.Date(2026, 11, 30, 8, 0, 0, 123456000, time.UTC)

func at(seconds int) time.Time { return t0.Add(time.Duration(seconds) * time.Second) }

// turns commits changes on a store, keeping the fence.
type turns struct {
	t     testing.TB
	store *dbstate.Store
	fence plant.Fence
}

func newTurns(t testing.TB, s *dbstate.Store, state *plant.State) *turns {
	return &turns{t: t, store: s, fence: state.Fence()}
}

func (w *turns) batch(changes ...plant.Change) plant.Batch {
	after := w.fence
	after.Turn++
	return plant.Batch{Now: t0, Before: w.fence, After: after, Changes: changes}
}

func (w *turns) try(changes ...plant.Change) error {
	b := w.batch(changes...)
	err := w.store.Commit(w.t.Context(), b)
	if err == nil {
		w.fence = b.After
	}
	return err
}

func (w *turns) must(changes ...plant.Change) {
	w.t.Helper()
	require.NoError(w.t, w.try(changes...))
}

func insert(rows ...plant.Row) []plant.Change {
	cs := make([]plant.Change, len(rows))
	for i, r := range rows {
		cs[i] = plant.Change{Move: "Insert", After: r}
	}
	return cs
}

func update(before, after plant.Row) plant.Change {
	return plant.Change{Move: "Update", Before: before, After: after}
}

// with copies a row and changes the copy.
func with[R any](r *R, change func(*R)) *R {
	n := *r
	change(&n)
	return &n
}

// Rows of one small farm; every field set, extremes included.

func anOrganisation(n int) *plant.Organisation {
	return &plant.Organisation{ID: term.OrganisationID(fmt.Sprintf("org-%d", n)), Version: 1, Name: "Công ty 农场 \"x\" \\ ☂"}
}

func aFarm(n int) *plant.Farm {
	return &plant.Farm{ID: term.FarmID(fmt.Sprintf("farm-%d", n)), Version: 1, OrganisationID: "org-0", Name: ""}
}

func aProfile(n int) *plant.Profile {
	low, high := -1e21, math.MaxFloat64
	return &plant.Profile{
		ID: term.ProfileID(fmt.Sprintf("profile-%d", n)), Version: 1, Name: "Lüfter", Class: term.ClassB,
		Timing: term.Timing{AckTimeout: term.Duration(time.Millisecond), Backoff: []term.Duration{1, 2}, MaxAttempts: 10},
		Endpoints: []term.EndpointSpec{{
			Key: "speed", Kind: term.Actuator, Type: term.TypeFloat, Unit: "m³/h", Writable: true, Action: term.ActionAbsolute,
			Binding:     term.Binding{Method: "set", Param: "speed"},
			Constraints: term.Constraints{Min: &low, Max: &high, Allowed: []term.Value{term.Float(1e6), term.Int(1000000), term.Text("1e6")}},
			Tolerance:   0.1, Freshness: term.Duration(math.MaxInt64),
		}},
	}
}

func aDevice(n int) *plant.Device {
	return &plant.Device{
		ID: term.DeviceID(fmt.Sprintf("device-%d", n)), Version: 1, FarmID: "farm-0", ProfileID: "profile-0",
		Serial: fmt.Sprintf("SN_%d", n), Name: "Gerät", Status: term.DeviceActive, Class: term.ClassA,
		BootID: "boot-2", Boots: []string{"boot-0", "boot-1"},
	}
}

func anEndpoint(n int) *plant.Endpoint {
	tolerance := 0.0
	return &plant.Endpoint{
		ID: term.NewEndpointID(term.DeviceID(fmt.Sprintf("device-%d", n)), "speed"), Version: 1,
		DeviceID: term.DeviceID(fmt.Sprintf("device-%d", n)), EndpKey: "speed", Enabled: true,
		Overrides: term.Overrides{Constraints: &term.Constraints{Allowed: []term.Value{term.Float(1e6)}}, Tolerance: &tolerance},
		Value:     term.Float(1e6), SampledAt: at(-1), ReceivedAt: at(0),
		Mark: term.Mark{BootID: "boot-2", Seq: math.MaxInt64, At: math.MaxInt64, Hashes: []string{"a", "b"}},
	}
}

func aRule(n int) *plant.Rule {
	return &plant.Rule{
		ID: term.RuleID(fmt.Sprintf("rule-%d", n)), Version: 1, FarmID: "farm-0", Name: "r", Active: true, Revision: math.MaxInt64,
		Trigger: "device-0/speed", Target: "device-1/speed", TargetValue: term.Float(3e8), HoldOff: term.Duration(90 * time.Second),
		Condition: term.Condition{Any: []term.Condition{
			{Endpoint: "device-0/speed", Op: term.OpGe, Value: term.Float(2e7)},
			{Not: &term.Condition{Endpoint: "device-0/speed", Op: term.OpIn, Values: []term.Value{term.Int(math.MinInt64), term.Bool(false)}}},
		}},
		HoldUntil: at(60), ExecutionID: term.ExecutionID(uid(400 + n)),
	}
}

func aReading(n int) *plant.Telemetry {
	return &plant.Telemetry{ID: term.TelemetryID(uid(100000 + n)), DeviceID: "device-0", SampledAt: at(-1), ReceivedAt: at(0), BootID: "b",
		Seq: -1, Body: `{"s":"\u0000","n":1e400}`}
}

func anEvent(n int) *plant.Event {
	return &plant.Event{ID: term.EventID(uid(200000 + n)), Version: 1, OrganisationID: "org-0", FarmID: "farm-0", DeviceID: "device-0",
		EndpointID: "device-0/speed", TelemetryID: term.TelemetryID(uid(100000 + n)), At: at(-1), ReceivedAt: at(0),
		Value: term.Text("sương 霧 \"\\"), Snapshot: `{"speed":1e6}`, Status: term.EventPending}
}

func anExecution(n int) *plant.Execution {
	return &plant.Execution{ID: term.ExecutionID(uid(300000 + n)), Version: 1, Source: term.SourceRule, RuleID: "rule-0", RuleRevision: 3,
		EventID: term.EventID(uid(200000 + n)), LastEventID: term.EventID(uid(200000 + n)), FarmID: "farm-0", TargetID: "device-1/speed",
		Outcome: term.ExecutionFired, Reason: "because",
		Leaves:   []term.Leaf{{Endpoint: "device-0/speed", Op: term.OpGe, Operands: []term.Value{term.Float(2e7)}, Actual: term.Float(5e9), AgeMS: 3, Result: "true"}},
		Gates:    []term.GateInput{{Gate: term.GateFarm, Fact: "same", Pass: true}},
		IntentID: term.IntentID(uid(500000 + n)), Count: 1, FirstAt: at(0), LastAt: at(0), IsOpen: true}
}

// anIntent is a new command on its own endpoint.
func anIntent(n int) *plant.Intent {
	return &plant.Intent{ID: term.IntentID(uid(500000 + n)), Version: 1, ExecutionID: term.ExecutionID(uid(300000 + n)), RuleID: "rule-0",
		RuleRevision: 3, EventID: term.EventID(uid(200000 + n)), Actor: "", FarmID: "farm-0", DeviceID: "device-1",
		EndpointID: term.NewEndpointID("device-1", fmt.Sprintf("key-%d", n)), Serial: "SN_1", Method: "set", Params: `{"speed":3e8}`,
		TargetValue: term.Float(3e8), Action: term.ActionAbsolute, IdempotencyKey: fmt.Sprintf("key-%d", n), Fingerprint: "f",
		State: term.PendingDispatch, WaitingFor: term.GateLinkDown, MaxAttempts: 3, DueAt: at(300), DeadlineAt: at(300),
		CreatedAt: at(0), UpdatedAt: at(0)}
}

// fenced is the command after its first fence, with its open attempt.
func fenced(i *plant.Intent, n int) (*plant.Intent, *plant.Attempt) {
	a := anAttempt(n)
	a.IntentID = i.ID
	return with(i, func(r *plant.Intent) {
		r.Version++
		r.WaitingFor = term.GateNone
		r.CommandID, r.AttemptCount, r.AttemptNumber = a.CommandID, 1, 1
		r.MQTTRequestID, r.HoldsEndpoint, r.FencedAt, r.LapseAt = string(a.ID), true, at(1), at(95)
		r.DueAt, r.BootID, r.UpdatedAt = at(6), "boot-2", at(1)
	}), a
}

func anAttempt(n int) *plant.Attempt {
	return &plant.Attempt{ID: term.AttemptID(uid(600000 + n)), Version: 1, IntentID: term.IntentID(uid(500000 + n)),
		CommandID: term.CommandID(fmt.Sprintf("command-%d", n)), Number: 1, Epoch: 1, FencedAt: at(1), DeadlineAt: at(6),
		Topic: "surehand/v1/SN_1/rpc/request", QoS: 1, Payload: `{"commandId":"x"}`, Hash: "h", Outcome: term.AttemptOpen}
}

func aReceipt(n int) *plant.Receipt {
	return &plant.Receipt{ID: term.ReceiptID(uid(700000 + n)), IntentID: term.IntentID(uid(500000 + n)), DeviceID: "device-1", Serial: "SN_1",
		Type: term.ReceiptResult, Correlation: term.CorrelationTimely, CorrelationKey: "k", Reason: "r", Payload: []byte{0, 255, '{'}, ReceivedAt: at(2)}
}

func aHold(n int) *plant.Hold {
	return &plant.Hold{ID: term.HoldID(uid(800000 + n)), Version: 1, Subject: fmt.Sprintf("device:device-%d", n), Reason: term.HoldQuarantine,
		By: "anna", Why: "knows more than we do", At: at(0)}
}

func aKey(n int) *plant.MessageKey {
	return &plant.MessageKey{ID: uid(810000 + n), BodyHash: "b", Outcome: `{"code":"accepted"}`, At: at(0)}
}

func aParked(n int) *plant.Parked {
	return &plant.Parked{ID: term.MessageID(uid(820000 + n)), Type: "TelemetryReceived", Source: "telemetry", Raw: []byte{0, 1, 254}, Reason: "panic", At: at(0)}
}

func anEntry(seq int64) plant.Entry {
	return plant.Entry{Seq: seq, MessageID: term.MessageID(uid(830000 + int(seq))), Type: "TelemetryReceived", Source: "telemetry", Actor: "a",
		CorrelationID: "c", CausationID: "d", At: at(1), CreatedAt: at(0), Outcome: "accepted", Reason: "r", Subject: "device:device-0",
		Notes: []plant.Note{{Kind: plant.KindIntent, Key: uid(500000), Move: "CreateIntent", To: "pending_dispatch"}}, NotesLeftOut: 2}
}

// jsonOf a whole table, so that two ways of writing can be compared column by column.
func jsonOf(t testing.TB, url, table, order string) []map[string]any {
	t.Helper()
	var text string
	require.NoError(t, session(t, url).QueryRow(t.Context(),
		fmt.Sprintf("SELECT coalesce(json_agg(t ORDER BY %s), '[]')::text FROM %s t", order, table)).Scan(&text))
	var rows []map[string]any
	require.NoError(t, json.Unmarshal([]byte(text), &rows))
	return rows
}
