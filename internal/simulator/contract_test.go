package simulator

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"
)

// One command's whole story, as the contract tells it.
func TestCommandStory(t *testing.T) {
	d, p := start(t, valve(func(o *Options) { o.BootID = "boot"; o.SendSucceeded = true }))
	p.call(call{id: "c-1", params: `{"level": 40, "open": true}`, attempt: 3, topic: p.prefix + "/v-1/elsewhere",
		deadline: time.Now().Add(time.Hour)})

	m := p.next("elsewhere")
	equal(t, "correlation data", string(m.Properties.CorrelationData), "c-1#3")
	equal(t, "answer", decode(t, m), object{"commandId": "c-1", "status": "accepted", "resultCode": "ok", "message": "", "attempt": 3})
	equal(t, "result", p.nextObject("elsewhere")["status"], "succeeded")
	report := p.nextObject("state")
	equal(t, "report", report["reportedState"], object{"level": 40, "open": true})
	equal(t, "report of", report["commandId"], "c-1")
	equal(t, "boot", report["bootId"], "boot")
	if _, err := time.Parse(time.RFC3339Nano, report["appliedAt"].(string)); err != nil {
		t.Fatal(err)
	}
	equal(t, "last command", p.nextObject("status")["lastCommandId"], "c-1")
	telemetry := p.nextObject("telemetry")
	equal(t, "values", telemetry["values"], object{"level": 40, "open": true, "mode": "auto", "count": 0, "temperature": 21.5})
	if telemetry["seq"].(float64) <= report["seq"].(float64) {
		t.Fatal("one row of seq for reports and readings is wanted")
	}
	truth := awaitTruth(t, d, func(x Truth) bool { return len(x.Readings) == 1 && x.Readings[0].Acked }).Commands["c-1"]
	equal(t, "truth", []any{truth.Received, truth.Executed, truth.ByActuator, truth.Attempts, truth.Status, truth.Answers, truth.Reports},
		[]any{1, 1, object{"level": 1, "open": 1}, []int{3}, "succeeded", 2, 1})
}

func TestStatusAndWill(t *testing.T) {
	o := valve(func(o *Options) { o.BootID = "boot" })
	d, p := start(t, o)
	// Retained: a later subscriber gets it too.
	late := newPeer(t, o.BrokerURL, o.Prefix, "v-1b")
	m := late.nextOf("v-1", "status")
	if !m.Retain {
		t.Fatal("status is not retained")
	}
	equal(t, "status", decode(t, m), object{"online": true, "bootId": "boot", "capabilities": []string{"dedupe", "resolve", "clock"}})
	if err := d.Reboot(); err != nil {
		t.Fatal(err)
	}
	equal(t, "will", p.nextObject("status"), object{"online": false, "bootId": "boot", "capabilities": []string{"dedupe", "resolve", "clock"}})
	again := p.nextObject("status")
	equal(t, "new life", []any{again["online"], again["bootId"]}, []any{true, "boot-2"})
	await(t, d.Connected)
	d.Stop()
	equal(t, "goodbye", p.nextObject("status")["online"], false)
	if d.PublishTelemetry() == nil {
		t.Fatal("a stopped device must say so")
	}
}

func TestTelemetryForms(t *testing.T) {
	at := time.Date(2026, 3, 1, 8, 0, 0, 5e6, time.UTC)
	values := object{"level": 0, "open": false, "mode": "auto", "count": 0, "temperature": 21.5}
	for _, c := range []struct {
		name   string
		change func(*Options)
		want   object
	}{
		{"text", func(*Options) {}, object{"ts": "2026-03-01T08:00:00.005Z", "values": values, "seq": 2, "bootId": "b"}},
		{"millis", func(o *Options) { o.MillisTS = true }, object{"ts": at.UnixMilli(), "values": values, "seq": 2, "bootId": "b"}},
		{"skewed", func(o *Options) { o.ClockSkew = -time.Hour }, object{"ts": "2026-03-01T07:00:00.005Z", "values": values, "seq": 2, "bootId": "b"}},
		{"bare", func(o *Options) { o.OmitTS, o.OmitSeq = true, true }, object{"values": values}},
	} {
		t.Run(c.name, func(t *testing.T) {
			d, p := start(t, valve(func(o *Options) { o.BootID, o.Clock = "b", NewManualClock(at); c.change(o) }))
			if err := d.PublishTelemetry(); err != nil {
				t.Fatal(err)
			}
			m := p.next("telemetry")
			if m.Retain {
				t.Fatal("telemetry is never retained")
			}
			equal(t, "reading", decode(t, m), c.want)
		})
	}
}

func TestTelemetryPeriodFollowsTheClock(t *testing.T) {
	clock := NewManualClock(time.Unix(1_700_000_000, 0))
	d, p := start(t, valve(func(o *Options) { o.Clock, o.TelemetryPeriod = clock, time.Minute }))
	p.next("telemetry") // on connecting
	if err := d.SetValue("temperature", 30); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		clock.Advance(time.Minute)
		equal(t, "temperature", p.nextObject("telemetry")["values"].(object)["temperature"], 30)
	}
	if n := p.unread("telemetry"); n != 0 {
		t.Fatalf("%d readings too many", n)
	}
}

func TestRefusals(t *testing.T) {
	d, p := start(t, valve(nil))
	for i, c := range []struct{ method, params, code string }{
		{"set", `{"level": 101}`, "invalid_param"},
		{"set", `{"level": 1.5}`, "invalid_param"},
		{"set", `{"level": "10"}`, "invalid_param"},
		{"set", `{"open": 1}`, "invalid_param"},
		{"set", `{"open": null}`, "invalid_param"},
		{"set", `{"mode": "fast"}`, "invalid_param"},
		{"set", `{"temperature": 3}`, "invalid_param"},
		{"set", `{"open": true, "nothing": 1}`, "invalid_param"},
		{"set", `{}`, "invalid_param"},
		{"set", ``, "invalid_param"},
		{"turn", `{"level": 4}`, "invalid_param"},
		{"explode", `{}`, "not_supported"},
	} {
		id := fmt.Sprintf("c-%d", i)
		p.call(call{id: id, method: c.method, params: c.params, attempt: 1})
		a := p.nextObject("rpc/response")
		equal(t, c.params, []any{a["commandId"], a["status"], a["resultCode"], a["attempt"]}, []any{id, "rejected", c.code, 1})
	}
	truth := d.Truth()
	equal(t, "changes", len(truth.Actuators), 0)
	// A refusal is a stored result.
	p.call(call{id: "c-0", params: `{"level": 10}`, attempt: 2})
	equal(t, "replay", p.nextObject("rpc/response")["resultCode"], "invalid_param")
	equal(t, "executed", d.Truth().Commands["c-0"].Executed, 0)
}

func TestMethods(t *testing.T) {
	d, p := start(t, valve(nil))
	for i, c := range []struct {
		method, params string
		key            string
		want           any
		changes        int
	}{
		{"turn", `{"to": 12}`, "level", 12, 1},
		{"flip", ``, "open", true, 1},
		{"flip", ``, "open", false, 2},
		{"kick", ``, "count", 1, 1},
		{"kick", ``, "count", 2, 2},
		{"knock", ``, "open", false, 4},
		{"set", `{"mode": "hand"}`, "mode", "hand", 1},
		{"set", `{"mode": "hand"}`, "mode", "hand", 1}, // executed again, nothing changed
	} {
		id := fmt.Sprintf("c-%d", i)
		p.call(call{id: id, method: c.method, params: c.params})
		equal(t, c.method, p.nextObject("state")["reportedState"].(object)[c.key], c.want)
		truth := d.Truth()
		equal(t, "executed", truth.Commands[id].ByActuator[c.key], 1)
		equal(t, "changes of "+c.key, len(truth.Actuators[c.key]), c.changes)
	}
}

func TestNonsenseIsIgnored(t *testing.T) {
	d, p := start(t, valve(nil))
	for _, payload := range []string{
		``, `{`, `null`, `[]`, `7`, `{"commandId": 7}`, `{"commandId": "x"}`, `{"method": "set"}`, "\x00\xff",
		`{"commandId":"x","method":"set","params":[1]}`, `{"commandId":"x","method":"set","deadlineAt":"soon"}`,
		`{"commandId":"x","method":"set","params":` + strings.Repeat("[", 20_000) + `}`,
	} {
		p.raw([]byte(payload), 1, false, nil)
	}
	awaitTruth(t, d, func(x Truth) bool { return x.Ignored["malformed request"] == 12 })
	// Without a response topic the answer goes to the contract's own.
	p.raw([]byte(`{"commandId":"c-1","method":"set","params":{"open":true}}`), 0, false, nil)
	a := p.next("rpc/response")
	equal(t, "answer", decode(t, a), object{"commandId": "c-1", "status": "accepted", "resultCode": "ok", "message": ""})
	if len(a.Properties.CorrelationData) != 0 {
		t.Fatal("correlation data out of nowhere")
	}
}

func TestRetainedCommandNeverRuns(t *testing.T) {
	o := valve(nil)
	p := newPeer(t, o.BrokerURL, o.Prefix, o.Serial)
	p.call(call{id: "c-1", params: `{"open": true}`, retain: true})
	d, err := NewDevice(o)
	if err != nil {
		t.Fatal(err)
	}
	d.Start()
	t.Cleanup(d.Kill)
	truth := awaitTruth(t, d, func(x Truth) bool { return x.Ignored["retained request"] == 1 })
	equal(t, "executed", truth.Commands["c-1"].Executed, 0)
	p.raw(nil, 1, true, nil)
}

// A class A device never runs one commandId twice, B never within one boot, C runs every copy.
func TestClassesCountCopies(t *testing.T) {
	for _, c := range []struct {
		class         Class
		before, after int // executions before and after the reboot
		perBoot       []int
	}{
		{ClassA, 1, 1, []int{1, 0}},
		{ClassB, 1, 2, []int{1, 1}},
		{ClassC, 3, 6, []int{3, 3}},
	} {
		t.Run(string(c.class), func(t *testing.T) {
			d, p := start(t, valve(func(o *Options) { o.Class, o.BootID = c.class, "b" }))
			copies := func(first int) {
				for i := range 3 {
					p.call(call{id: "c-1", method: "kick", attempt: first + i})
					a := p.nextObject("rpc/response")
					equal(t, "attempt of the copy", a["attempt"], first+i)
					p.until("state", func(o object) bool { return o["commandId"] == "c-1" }) // a replay reports again
				}
			}
			copies(1)
			equal(t, "executed", d.Truth().Commands["c-1"].Executed, c.before)
			reboot(t, d, p)
			copies(4)
			truth := d.Truth().Commands["c-1"]
			equal(t, "executed", truth.Executed, c.after)
			equal(t, "received", truth.Received, 6)
			equal(t, "by boot", []int{truth.ExecutedByBoot["b"], truth.ExecutedByBoot["b-2"]}, c.perBoot)
			equal(t, "counter", d.Value("count"), c.after)
		})
	}
}

func reboot(t *testing.T, d *Device, p *peer) {
	t.Helper()
	if err := d.Reboot(); err != nil {
		t.Fatal(err)
	}
	await(t, d.Connected)
}

func TestReplayIsWordForWord(t *testing.T) {
	d, p := start(t, valve(func(o *Options) { o.QuietChanges = true }))
	p.call(call{id: "c-1", params: `{"level": 1}`})
	first := p.next("state")
	p.call(call{id: "c-2", params: `{"level": 2}`})
	p.next("state")
	reboot(t, d, p)
	p.next("state")
	p.call(call{id: "c-1", params: `{"level": 1}`})
	equal(t, "report", string(p.next("state").Payload), string(first.Payload))
	p.next("rpc/response")
	p.next("rpc/response")
	equal(t, "answer", p.nextObject("rpc/response")["status"], "succeeded")
	equal(t, "level", d.Value("level"), 2)
}

func TestDeadlineByTheDevicesClock(t *testing.T) {
	now := time.Now()
	for _, c := range []struct {
		name     string
		change   func(*Options)
		deadline time.Time
		runs     int
	}{
		{"in time", func(*Options) {}, now.Add(time.Second), 1},
		{"late", func(*Options) {}, now.Add(-time.Second), 0},
		{"late by a fast clock", func(o *Options) { o.ClockSkew = time.Minute }, now.Add(time.Second), 0},
		{"in time by a slow clock", func(o *Options) { o.ClockSkew = -time.Minute }, now.Add(-time.Second), 1},
		{"without clock", func(o *Options) { o.Capabilities = []string{"dedupe"} }, now.Add(-time.Second), 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			d, p := start(t, valve(func(o *Options) { o.Clock = NewManualClock(now); c.change(o) }))
			p.call(call{id: "c-1", method: "kick", deadline: c.deadline})
			a := p.nextObject("rpc/response")
			if c.runs == 0 {
				equal(t, "answer", []any{a["status"], a["resultCode"], a["message"]}, []any{"rejected", "busy", "deadline passed"})
				// The attempt was refused, not the command.
				p.call(call{id: "c-1", method: "kick", deadline: now.Add(time.Hour), attempt: 2})
				equal(t, "second attempt", p.nextObject("rpc/response")["status"], "accepted")
				c.runs = 1
			}
			p.next("state")
			equal(t, "executed", d.Truth().Commands["c-1"].Executed, c.runs)
		})
	}
}

func TestApplyDelay(t *testing.T) {
	clock := NewManualClock(time.Now())
	d, p := start(t, valve(func(o *Options) { o.Clock, o.ApplyDelay = clock, time.Minute }))
	p.call(call{id: "c-1", params: `{"open": true}`})
	equal(t, "answer", p.nextObject("rpc/response")["status"], "accepted")
	p.call(call{id: "c-1", params: `{"open": true}`, attempt: 2})
	equal(t, "copy while running", p.nextObject("rpc/response")["status"], "accepted")
	barrier(t, d, p)
	equal(t, "executed", d.Truth().Commands["c-1"].Executed, 0)
	clock.Advance(time.Minute)
	p.next("state")
	equal(t, "executed", d.Truth().Commands["c-1"].Executed, 1)
}

func TestResolve(t *testing.T) {
	clock := NewManualClock(time.Now())
	d, p := start(t, valve(func(o *Options) { o.Clock, o.ApplyDelay = clock, time.Minute }))
	resolve := func(id string) object {
		t.Helper()
		p.call(call{id: id, method: "resolve", resolveID: "r-" + id, topic: p.prefix + "/v-1/elsewhere", attempt: 9})
		m := p.next("elsewhere")
		equal(t, "correlation", string(m.Properties.CorrelationData), id+"#9")
		o := decode(t, m)
		equal(t, "ids", []any{o["resolveId"], o["commandId"]}, []any{"r-" + id, id})
		return o
	}
	equal(t, "unknown", resolve("never")["outcome"], "tombstoned")
	p.call(call{id: "never", method: "kick"})
	equal(t, "late copy", p.nextObject("rpc/response")["status"], "rejected")
	p.call(call{id: "bad", params: `{"level": 101}`})
	p.next("rpc/response")
	equal(t, "refused", resolve("bad")["outcome"], "refused")
	p.call(call{id: "good", params: `{"level": 7}`})
	p.next("rpc/response")
	equal(t, "running", resolve("good")["outcome"], "running")
	clock.Advance(time.Minute)
	p.next("state")
	done := resolve("good")
	equal(t, "done", []any{done["outcome"], done["result"].(object)["reportedState"]}, []any{"done", object{"level": 7}})

	// Tombstones and results of a class A device outlive a reboot; what only ran in memory does not.
	p.call(call{id: "lost", method: "kick"})
	p.next("rpc/response")
	rebooted := make(chan error, 1)
	go func() { rebooted <- d.Reboot() }()
	if err := <-rebooted; err != nil {
		t.Fatal(err)
	}
	clock.Advance(time.Second) // the reboot's own time
	await(t, d.Connected)
	equal(t, "unknown", resolve("never")["outcome"], "tombstoned")
	equal(t, "done", resolve("good")["outcome"], "done")
	equal(t, "lost", resolve("lost")["outcome"], "tombstoned")
	p.call(call{id: "never", method: "kick"})
	equal(t, "late copy", p.nextObject("rpc/response")["status"], "rejected")
	truth := d.Truth()
	equal(t, "never ran", []any{truth.Commands["never"].Executed, truth.Commands["never"].Tombstoned, truth.Commands["lost"].Executed}, []any{0, true, 0})
}

func TestResolveWithoutCapability(t *testing.T) {
	_, p := start(t, valve(func(o *Options) { o.Class = ClassB }))
	p.call(call{id: "c-1", method: "resolve", resolveID: "r-1"})
	equal(t, "answer", p.nextObject("rpc/response")["resultCode"], "not_supported")
}

// Requests wait in the broker while a class A device is away, unless they expire there.
func TestRequestsWaitForADeviceAway(t *testing.T) {
	d, p := start(t, valve(nil))
	if err := d.GoOffline(); err != nil {
		t.Fatal(err)
	}
	equal(t, "will", p.nextObject("status")["online"], false)
	p.call(call{id: "c-1", method: "kick"})
	p.call(call{id: "c-1", method: "kick"})
	if err := d.GoOnline(); err != nil {
		t.Fatal(err)
	}
	p.next("state")
	p.next("state")
	truth := awaitTruth(t, d, func(x Truth) bool { return x.Commands["c-1"].Received == 2 })
	equal(t, "executed", truth.Commands["c-1"].Executed, 1)
}

// A broker that was killed and came back empty: nothing the device kept is lost, and order holds.
func TestBrokerRestart(t *testing.T) {
	dir := t.TempDir()
	b, err := startBroker(dir, freePort())
	if err != nil {
		t.Fatal(err)
	}
	o := valve(func(o *Options) { o.BrokerURL = b.url; o.Faults.OfflineBatch = true })
	d, _ := start(t, o)
	b.kill()
	awaitDown(t, d)
	for range 3 {
		if err := d.PublishTelemetry(); err != nil {
			t.Fatal(err)
		}
	}
	b, err = startBroker(dir, b.port)
	if err != nil {
		t.Fatal(err)
	}
	defer b.kill()
	await(t, d.Connected)
	truth := awaitTruth(t, d, func(x Truth) bool {
		for _, r := range x.Readings {
			if !r.Acked {
				return false
			}
		}
		return len(x.Readings) == 3
	})
	equal(t, "seq", []int64{truth.Readings[0].Seq, truth.Readings[2].Seq}, []int64{2, 4})
	p := newPeer(t, o.BrokerURL, o.Prefix, o.Serial)
	p.call(call{id: "c-1", method: "kick"})
	equal(t, "answer", p.nextObject("rpc/response")["status"], "accepted")
}

// awaitDown waits until the link has noticed that the connection is gone.
func awaitDown(t *testing.T, d *Device) {
	t.Helper()
	late := time.After(patience)
	for {
		d.link.mu.Lock()
		client, up := d.link.client, closed(d.link.up)
		d.link.mu.Unlock()
		if !up {
			return
		}
		select {
		case <-client.Done():
			runtime.Gosched()
		case <-late:
			t.Fatal("the connection is still there")
		}
	}
}
