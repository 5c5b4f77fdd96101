package simulator

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// What one command leads to under one fault at rate 1: answers, reports and real executions.
func TestCommandFaults(t *testing.T) {
	for _, c := range []struct {
		name     string
		faults   Faults
		answers  []string // status/code
		reports  []any    // reported count
		executed int
		struck   string
	}{
		{"none", Faults{}, []string{"accepted/ok"}, []any{1}, 1, ""},
		{"drop request", Faults{DropRequest: 1}, nil, nil, 0, "drop_request"},
		{"drop ack", Faults{DropAck: 1}, nil, []any{1}, 1, "drop_ack"},
		{"double ack", Faults{DoubleAck: 1}, []string{"accepted/ok", "accepted/ok"}, []any{1}, 1, "double_ack"},
		{"drop report", Faults{DropReport: 1}, []string{"accepted/ok"}, nil, 1, "drop_report"},
		{"double report", Faults{DoubleReport: 1}, []string{"accepted/ok"}, []any{1, 1}, 1, "double_report"},
		{"contradict", Faults{Contradict: 1}, []string{"accepted/ok"}, []any{2}, 1, "contradict"},
		{"lie", Faults{Lie: 1}, []string{"accepted/ok"}, []any{1}, 0, "lie"},
		{"silent", Faults{Silent: 1}, nil, nil, 1, "silent"},
		{"ack without apply", Faults{AckWithoutApply: 1}, []string{"accepted/ok"}, nil, 0, "ack_without_apply"},
		{"hardware fault", Faults{HardwareFault: 1}, []string{"accepted/ok", "failed/hardware_fault"}, nil, 0, "hardware_fault"},
		{"reject", Faults{Reject: 1}, []string{"rejected/hardware_fault"}, nil, 0, "reject"},
		{"reject as told", Faults{Reject: 1, RejectCode: "not_supported"}, []string{"rejected/not_supported"}, nil, 0, "reject"},
		{"busy", Faults{BusyTimes: 2}, []string{"rejected/busy"}, nil, 0, "busy"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d, p := start(t, valve(func(o *Options) { o.Faults, o.QuietChanges = c.faults, true }))
			p.call(call{id: "c-1", method: "kick"})
			awaitTruth(t, d, func(x Truth) bool {
				got := x.Commands["c-1"]
				return got.Received == 1 && got.Executed == c.executed && (c.struck == "" || x.Faults[c.struck] > 0)
			})
			barrier(t, d, p)
			answers := []string(nil)
			for p.unread("rpc/response") > 0 {
				a := p.nextObject("rpc/response")
				answers = append(answers, fmt.Sprintf("%s/%s", a["status"], a["resultCode"]))
			}
			equal(t, "answers", answers, c.answers)
			reports := []any(nil)
			for p.unread("state") > 0 {
				s := p.nextObject("state")
				equal(t, "report of", s["commandId"], "c-1")
				reports = append(reports, s["reportedState"].(object)["count"])
			}
			equal(t, "reports", reports, c.reports)
			equal(t, "executed", d.Value("count"), c.executed)
			if got := d.Truth().Commands["c-1"]; got.Answers != len(c.answers) || got.Reports != len(c.reports) {
				t.Fatalf("truth counts %d answers and %d reports", got.Answers, got.Reports)
			}
		})
	}
}

func TestBusyThenOK(t *testing.T) {
	d, p := start(t, valve(func(o *Options) { o.Faults.BusyTimes = 2 }))
	for i, want := range []string{"busy", "busy", "ok", "ok"} {
		p.call(call{id: "c-1", method: "kick", attempt: i + 1})
		a := p.nextObject("rpc/response")
		equal(t, "answer", []any{a["resultCode"], a["attempt"]}, []any{want, i + 1})
	}
	equal(t, "executed", d.Truth().Commands["c-1"].Executed, 1)
}

func TestForgetDedupe(t *testing.T) {
	d, p := start(t, valve(nil))
	p.call(call{id: "c-1", method: "kick"})
	p.next("state")
	d.SetFaults(Faults{ForgetDedupe: 1})
	p.call(call{id: "c-1", method: "kick"})
	p.next("state")
	truth := d.Truth()
	equal(t, "executed twice", []any{truth.Commands["c-1"].Executed, truth.Faults["forget_dedupe"]}, []any{2, 1})
}

func TestDelays(t *testing.T) {
	clock := NewManualClock(time.Now())
	d, p := start(t, valve(func(o *Options) {
		o.Clock, o.QuietChanges = clock, true
		o.Faults = Faults{DelayAck: 1, AckDelay: 2 * time.Second, DelayReport: 1, ReportDelay: time.Second}
	}))
	p.call(call{id: "c-1", method: "kick"})
	awaitTruth(t, d, func(x Truth) bool { return x.Faults["delay_report"] == 1 && x.Faults["delay_ack"] == 1 })
	barrier(t, d, p)
	equal(t, "nothing yet", []int{p.unread("state"), p.unread("rpc/response")}, []int{0, 0})
	clock.Advance(time.Second)
	p.next("state")
	equal(t, "no answer yet", p.unread("rpc/response"), 0)
	clock.Advance(time.Second)
	equal(t, "answer", p.nextObject("rpc/response")["status"], "accepted")
}

func TestLateBeyondTheDeadline(t *testing.T) {
	now := time.Now()
	clock := NewManualClock(now)
	d, p := start(t, valve(func(o *Options) { o.Clock, o.Faults = clock, Faults{Late: 1, LateBy: time.Second} }))
	p.call(call{id: "c-1", method: "kick", deadline: now.Add(5 * time.Second)})
	awaitTruth(t, d, func(x Truth) bool { return x.Faults["late"] == 1 })
	clock.Advance(5 * time.Second)
	barrier(t, d, p)
	equal(t, "nothing by the deadline", []int{p.unread("state"), p.unread("rpc/response")}, []int{0, 0})
	clock.Advance(time.Second)
	equal(t, "answer", p.nextObject("rpc/response")["status"], "accepted")
	p.next("state")
	equal(t, "executed after the deadline", d.Truth().Commands["c-1"].LastExecuted.Equal(now.Add(6*time.Second)), true)
}

// Power lost around the effect: the first copy and one more after the reboot, for each class.
func TestRebootsAroundTheEffect(t *testing.T) {
	faults := map[string]Faults{"before": {RebootBeforeApply: 1}, "after": {RebootAfterApply: 1}, "unanswered": {RebootBeforeAnswer: 1}}
	for _, c := range []struct {
		class         Class
		power         string
		first, second int // executions by then
		answered      int
	}{
		{ClassA, "before", 0, 1, 1}, {ClassB, "before", 0, 1, 1}, {ClassC, "before", 0, 1, 1},
		{ClassA, "after", 1, 1, 1}, {ClassB, "after", 1, 2, 1}, {ClassC, "after", 1, 2, 1},
		{ClassA, "unanswered", 1, 1, 0}, {ClassB, "unanswered", 1, 2, 0}, {ClassC, "unanswered", 1, 2, 0},
	} {
		t.Run(string(c.class)+" "+c.power, func(t *testing.T) {
			d, p := start(t, valve(func(o *Options) {
				o.Class, o.Faults, o.BootID = c.class, faults[c.power], "b"
			}))
			// At QoS 0: at QoS 1 the broker would repeat a request whose PUBACK was lost with the power.
			p.call(call{id: "c-1", method: "kick", attempt: 1, atMostOnce: true})
			truth := awaitTruth(t, d, func(x Truth) bool { return x.Boots == 2 })
			await(t, d.Connected)
			equal(t, "executed", truth.Commands["c-1"].Executed, c.first)
			equal(t, "reported", truth.Commands["c-1"].Reports, 0)
			equal(t, "answered", truth.Commands["c-1"].Answers, c.answered)
			d.SetFaults(Faults{})
			p.call(call{id: "c-1", method: "kick", attempt: 2, atMostOnce: true})
			p.until("rpc/response", func(o object) bool { return o["attempt"] == 2.0 })
			barrier(t, d, p)
			truth = d.Truth()
			equal(t, "executed after all", truth.Commands["c-1"].Executed, c.second)
		})
	}
}

func TestWrongCommandID(t *testing.T) {
	_, p := start(t, valve(func(o *Options) { o.Faults.WrongCommandID = 1 }))
	p.call(call{id: "c-1", method: "kick"})
	equal(t, "answer", p.nextObject("rpc/response")["commandId"], "not-c-1")
}

func TestForeignSerial(t *testing.T) {
	d, p := start(t, valve(nil))
	d.SetFaults(Faults{ForeignSerial: 1, ForeignTarget: "victim"})
	p.call(call{id: "c-1", method: "kick"})
	for _, kind := range []string{"rpc/response", "state", "telemetry"} {
		p.nextOf("victim", kind)
		equal(t, kind, p.unread(kind), 0)
	}
	equal(t, "truth", d.Truth().Readings[0].Fault, "foreign_serial")
}

func TestBrokenPayloads(t *testing.T) {
	for name, c := range map[string]struct {
		faults Faults
		broken func(payload []byte) bool
	}{
		"malformed_json": {Faults{MalformedJSON: 1}, func(b []byte) bool { return !json.Valid(b) && len(b) > 10 }},
		"oversize":       {Faults{Oversize: 1}, func(b []byte) bool { return json.Valid(b) && len(b) > 1<<20 }},
		"nul_bytes": {Faults{NULBytes: 1}, func(b []byte) bool {
			return bytes.Contains(b, []byte("a\x00b")) != bytes.Contains(b, []byte(`a\u0000b`))
		}},
		"nan":          {Faults{NaN: 1}, func(b []byte) bool { return !json.Valid(b) && bytes.Contains(b, []byte(":NaN")) }},
		"deep_nesting": {Faults{DeepNesting: 1}, func(b []byte) bool { return bytes.Contains(b, []byte(strings.Repeat("[", deepLevels))) }},
		"wrong_type":   {Faults{WrongType: 1}, func(b []byte) bool { return json.Valid(b) && bytes.Contains(b, []byte(`:["neither`)) }},
	} {
		t.Run(name, func(t *testing.T) {
			d, p := start(t, valve(nil))
			d.SetFaults(c.faults)
			p.call(call{id: "c-1", method: "kick"})
			for _, kind := range []string{"rpc/response", "state", "telemetry"} {
				if m := p.next(kind); !c.broken(m.Payload) {
					t.Fatalf("%s: %.300q", kind, m.Payload)
				}
			}
			// The status is never broken, and the device lives on.
			p.nextObject("status")
			truth := awaitTruth(t, d, func(x Truth) bool { return len(x.Readings) == 1 && x.Readings[0].Acked })
			equal(t, "truth", []any{truth.Readings[0].Fault, truth.Faults[name]}, []any{name, 3})
			d.SetFaults(Faults{})
			barrier(t, d, p.skip("telemetry"))
		})
	}
}

// skip forgets what has come of a kind.
func (p *peer) skip(kind string) *peer {
	for p.unread(kind) > 0 {
		p.next(kind)
	}
	return p
}

func TestTelemetryFaults(t *testing.T) {
	now := time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)
	d, p := start(t, valve(func(o *Options) { o.Clock = NewManualClock(now) }))
	publish := func(f Faults, n int) {
		t.Helper()
		d.SetFaults(f)
		for range n {
			if err := d.PublishTelemetry(); err != nil {
				t.Fatal(err)
			}
		}
	}
	seqs := func(n int) []int64 {
		t.Helper()
		var got []int64
		for range n {
			got = append(got, int64(p.nextObject("telemetry")["seq"].(float64)))
		}
		return got
	}
	publish(Faults{DuplicateTelemetry: 1}, 1)
	equal(t, "duplicate", seqs(2), []int64{2, 2})
	publish(Faults{ReorderTelemetry: 1}, 2)
	equal(t, "reordered", seqs(2), []int64{4, 3})
	publish(Faults{DropTelemetry: 1}, 1)
	publish(Faults{}, 1)
	equal(t, "gap", seqs(1), []int64{6})
	publish(Faults{StaleTelemetry: 1, StaleBy: time.Minute}, 1)
	equal(t, "stale", p.nextObject("telemetry")["ts"], "2026-03-01T07:59:00Z")
	publish(Faults{RetainTelemetry: 1}, 1)
	if m := p.next("telemetry"); !m.Retain {
		t.Fatal("not retained")
	}
	truth := awaitTruth(t, d, func(x Truth) bool { return x.Readings[len(x.Readings)-1].Acked })
	var lost []int64
	for _, r := range truth.Readings {
		if r.Lost != "" {
			lost = append(lost, r.Seq)
		}
	}
	equal(t, "lost", lost, []int64{5})
}

func TestOfflineReadings(t *testing.T) {
	for _, keeps := range []bool{true, false} {
		t.Run(fmt.Sprint(keeps), func(t *testing.T) {
			d, p := start(t, valve(func(o *Options) { o.Faults.OfflineBatch = keeps }))
			if err := d.GoOffline(); err != nil {
				t.Fatal(err)
			}
			awaitDown(t, d)
			for range 3 {
				if err := d.PublishTelemetry(); err != nil {
					t.Fatal(err)
				}
			}
			if err := d.GoOnline(); err != nil {
				t.Fatal(err)
			}
			await(t, d.Connected)
			if !keeps {
				for _, r := range d.Truth().Readings {
					equal(t, "lost", r.Lost, "offline")
				}
				return
			}
			var batch []struct{ Seq int64 }
			m := p.next("telemetry")
			if err := json.Unmarshal(m.Payload, &batch); err != nil || len(batch) != 3 {
				t.Fatalf("%v: %s", err, m.Payload)
			}
			if !slices.IsSortedFunc(batch, func(a, b struct{ Seq int64 }) int { return int(a.Seq - b.Seq) }) {
				t.Fatalf("out of order: %s", m.Payload)
			}
			awaitTruth(t, d, func(x Truth) bool { return x.Readings[0].Acked && x.Readings[2].Acked })
		})
	}
}

// The same seed chooses the same; another fault's rate does not shift a choice.
func TestChanceIsSeeded(t *testing.T) {
	falls := func(seed uint64, other float64) string {
		dice := newDice(seed, "v-1")
		var b strings.Builder
		for range 64 {
			dice.roll("lie", other)
			fmt.Fprint(&b, map[bool]int{true: 1}[dice.roll("drop_ack", 0.5)])
		}
		return b.String()
	}
	equal(t, "same seed", falls(1, 0), falls(1, 1))
	if falls(1, 0) == falls(2, 0) {
		t.Fatal("another seed falls the same way")
	}
	dice := newDice(1, "v-1")
	for range 1000 {
		if dice.roll("never", 0) || !dice.roll("always", 1) {
			t.Fatal("rate 0 is never and rate 1 is always")
		}
	}
}
