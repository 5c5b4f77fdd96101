package looptest_test

import (
	"strings"
	"testing"
	"time"

	"surehand/internal/loop/looptest"
	"surehand/internal/plant"
	"surehand/internal/term"
)

// play runs steps, one commit each, against a farm with one fan.
func play(t *testing.T, db *looptest.Database, steps ...func(*plant.Tx)) {
	t.Helper()
	l := newLife(t, db, "a")
	farm := func(tx *plant.Tx) {
		tx.ConfigureOrganisation(plant.Organisation{ID: "o"})
		tx.ConfigureFarm(plant.Farm{ID: "f", OrganisationID: "o"})
		tx.ConfigureProfile(plant.Profile{ID: "p", Class: term.ClassC})
		tx.ConfigureDevice(plant.Device{ID: "d", FarmID: "f", ProfileID: "p", Serial: "S", Status: term.DeviceActive, Class: term.ClassC})
		tx.ConfigureEndpoint(plant.Endpoint{ID: "d/on", DeviceID: "d", EndpKey: "on", Enabled: true})
	}
	for n, s := range append([]func(*plant.Tx){farm}, steps...) {
		l.now = l.now.Add(time.Second)
		w := l.state.Begin(l.now, l.mint, plant.NewSession(), db.Intents(), nil)
		tx := w.Tx()
		s(tx)
		w.Keep(tx, plant.Entry{MessageID: term.MessageID(l.mint.ID(l.now)), Outcome: "accepted"})
		b := w.Batch()
		if err := l.store.Commit(t.Context(), b); err != nil {
			t.Fatalf("step %d: %v", n, err)
		}
		w.Accept(b)
	}
}

const intentID = "00000000-0000-7000-8000-000000000001"

func want(tx *plant.Tx) {
	e := plant.Execution{ID: "e", Source: term.SourceHand, FarmID: "f", TargetID: "d/on", Outcome: term.ExecutionFired, IntentID: intentID}
	tx.RecordExecution(e, time.Time{})
	tx.CreateIntent(plant.Intent{ID: intentID, ExecutionID: "e", FarmID: "f", DeviceID: "d", EndpointID: "d/on", Serial: "S", Params: "{}",
		TargetValue: term.Bool(true), Action: term.ActionAbsolute, IdempotencyKey: "k", MaxAttempts: 2, DeadlineAt: tx.Now().Add(time.Hour)})
}

func current(tx *plant.Tx) *plant.Intent {
	i, ok := tx.FindIntent(intentID)
	if !ok {
		panic("no intent")
	}
	return i
}

func send(hash string) func(*plant.Tx) {
	return func(tx *plant.Tx) {
		tx.FenceIfFree(current(tx), plant.Send{CommandID: "c", Topic: "t", Payload: "{}", Hash: hash, AckAfter: 5 * time.Second, LapseFor: time.Second})
	}
}

func retry(tx *plant.Tx)  { tx.MarkRetrying(current(tx), tx.Now(), "x") }
func doubt(tx *plant.Tx)  { tx.MarkUncertain(current(tx), "x") }
func refuse(tx *plant.Tx) { tx.MarkFailed(current(tx), "x") }
func prove(tx *plant.Tx) {
	tx.MarkApplied(current(tx), tx.RecordReceipt(plant.Receipt{IntentID: intentID, Type: term.ReceiptStateReport, Correlation: term.CorrelationTimely}))
}

// What the moves of the law allow and a decider may still get wrong must be seen.
func TestInvariantsAreSeen(t *testing.T) {
	type steps = []func(*plant.Tx)
	tests := []struct {
		name  string
		steps steps
		want  string // part of the only finding; empty: all is well
	}{
		{"a proven command", steps{want, send("h"), prove}, ""},
		{"an attempt that was surely not sent does not count", steps{want, send("h"), func(tx *plant.Tx) { tx.MarkNotSent(current(tx), tx.Now(), "x") }, send("h"), prove}, ""},
		{"two attempts to a class C device", steps{want, send("h"), retry, send("h")}, "invariant 1: intent " + intentID + ": 2 attempts may have left to a class C device"},
		{"another hash", steps{want, send("h"), func(tx *plant.Tx) { tx.MarkNotSent(current(tx), tx.Now(), "x") }, send("other")}, "invariant 2"},
		{"applied without a receipt", steps{want, send("h"), func(tx *plant.Tx) { tx.MarkApplied(current(tx), "none") }}, "invariant 4"},
		{"applied by the evidence of nothing", steps{want, send("h"), func(tx *plant.Tx) {
			tx.MarkApplied(current(tx), tx.RecordReceipt(plant.Receipt{Type: term.ReceiptStateReport, Correlation: term.CorrelationNone}))
		}}, "invariant 4"},
		{"applied without a fence", steps{want, prove}, "invariant 4"},
		{"applied by older evidence", steps{want, func(tx *plant.Tx) {
			tx.RecordReceipt(plant.Receipt{IntentID: intentID, Type: term.ReceiptTelemetry, Correlation: term.CorrelationNone})
		}, send("h"), func(tx *plant.Tx) { tx.MarkApplied(current(tx), "") }}, ""}, // replaced below: the id is minted
		{"uncertain left with a receipt", steps{want, send("h"), doubt, prove}, ""},
		{"uncertain left without one", steps{want, send("h"), doubt, refuse}, "invariant 6"},
		{"a refused verdict without a reason", steps{func(tx *plant.Tx) {
			tx.RecordExecution(plant.Execution{ID: "e", Source: term.SourceHand, FarmID: "f", TargetID: "d/on", Outcome: term.ExecutionRefused}, time.Time{})
		}}, "invariant 18"},
		{"an endpoint of no device", steps{func(tx *plant.Tx) { tx.ConfigureEndpoint(plant.Endpoint{ID: "x/on", DeviceID: "x", EndpKey: "on"}) }}, "invariant 0"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			db := looptest.NewDatabase()
			if tt.name == "applied by older evidence" {
				var evidence term.ReceiptID
				tt.steps[1] = func(tx *plant.Tx) {
					evidence = tx.RecordReceipt(plant.Receipt{IntentID: intentID, Type: term.ReceiptTelemetry, Correlation: term.CorrelationNone})
				}
				tt.steps[3] = func(tx *plant.Tx) { tx.MarkApplied(current(tx), evidence) }
				tt.want = "received before the fence"
			}
			play(t, db, tt.steps...)
			for since, found := range map[int][]string{-1: looptest.Invariants(db), 0: looptest.InvariantsSince(db, 0), len(tt.steps): looptest.InvariantsSince(db, len(tt.steps))} {
				switch {
				case tt.want == "" && len(found) > 0, tt.want != "" && (len(found) != 1 || !strings.Contains(found[0], tt.want)):
					t.Errorf("since %d: found %q, want %q", since, found, tt.want)
				}
			}
		})
	}
}

func TestInvariantsOfTheLog(t *testing.T) {
	db := looptest.NewDatabase()
	l := newLife(t, db, "a")
	for _, e := range []plant.Entry{{MessageID: "m", Outcome: "refused"}, {MessageID: "m", Outcome: "parked", Reason: "x"}} {
		w := l.state.Begin(start, l.mint, plant.NewSession(), nil, nil)
		w.Keep(w.Tx(), e)
		b := w.Batch()
		if err := l.store.Commit(t.Context(), b); err != nil {
			t.Fatal(err)
		}
		w.Accept(b)
	}
	found := strings.Join(looptest.Invariants(db), "\n")
	if !strings.Contains(found, "invariant 18: log row 1") || !strings.Contains(found, "invariant 12: message m has log rows 1 and 2") {
		t.Errorf("found %q", found)
	}
}

func TestHandsAnswerByScript(t *testing.T) {
	h := &looptest.Hands{}
	h.Script(term.AttemptSent, term.AttemptOpen, term.AttemptUnknown)
	for _, id := range []term.AttemptID{"1", "2", "3", "4"} {
		h.Start(plant.Publish{AttemptID: id, IntentID: "i"})
	}
	r := h.Results()
	if len(r) != 2 || r[0].AttemptID != "1" || r[0].Outcome != term.AttemptSent || r[0].Error != "" || r[1].AttemptID != "3" || r[1].Error == "" {
		t.Errorf("results: %+v", r)
	}
	if len(h.Take()) != 4 || len(h.Take()) != 0 || len(h.Started()) != 4 || len(h.Results()) != 0 {
		t.Error("actions or results are handed over twice")
	}
}

func TestFeedAndStop(t *testing.T) {
	f := &looptest.Feed{}
	f.Show(plant.Committed{At: start})
	if s := f.Shown(); len(s) != 1 || !s[0].At.Equal(start) {
		t.Errorf("shown: %+v", s)
	}
	db := looptest.NewDatabase()
	l := newLife(t, db, "a")
	b, _ := l.batch()
	if err := l.store.Stop(t.Context(), true); err != nil || !db.Drained() {
		t.Errorf("stop: %v, drained %t", err, db.Drained())
	}
	if err := l.store.Commit(t.Context(), b); plant.FaultOf(err) != plant.FaultFenced {
		t.Errorf("a stopped process commits: %v", err)
	}
	if newLife(t, db, "b"); db.Drained() {
		t.Error("a running process counts as drained")
	}
}
