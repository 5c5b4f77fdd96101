package simulator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// The log read back is the truth, whatever happened, and it is whole at every moment: nothing is buffered.
func TestTruthLogIsTheTruth(t *testing.T) {
	path := filepath.Join(t.TempDir(), "truth.jsonl")
	log, err := OpenTruthLog(path)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	d, p := start(t, valve(func(o *Options) {
		o.TruthLog, o.Class = log, ClassB
		o.Faults = Faults{DropAck: 0.3, DoubleReport: 0.3, Lie: 0.2, DuplicateTelemetry: 0.3, NaN: 0.2, Reject: 0.2}
	}))
	for i := range 20 {
		p.call(call{id: fmt.Sprintf("c-%d", i), params: fmt.Sprintf(`{"level": %d, "mode": "hand"}`, i), attempt: i})
		if i == 10 {
			reboot(t, d, p)
		}
	}
	p.raw([]byte("{"), 1, false, nil)
	awaitTruth(t, d, func(x Truth) bool { return x.Ignored["malformed request"] == 1 })
	d.Kill()
	read, err := ReadTruthLog(path)
	if err != nil {
		t.Fatal(err)
	}
	truth := d.Truth()
	equal(t, "log", read["v-1"], truth)
	if len(truth.Faults) < 4 || len(truth.Commands) == 0 || truth.Boots != 2 {
		t.Fatalf("too little happened: %s", encode(truth))
	}
	var again Truth
	if err := json.Unmarshal(encode(truth), &again); err != nil {
		t.Fatal(err)
	}
	equal(t, "JSON", again, truth)
}

func TestTornTruthLog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "truth.jsonl")
	write := func(events ...Event) {
		log, err := OpenTruthLog(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range events {
			log.append(e)
		}
		if err := log.Close(); err != nil {
			t.Fatal(err)
		}
		log.append(Event{}) // after Close: silent
		if !errors.Is(log.Err(), os.ErrClosed) {
			t.Fatal(log.Err())
		}
	}
	write(Event{Serial: "d", Kind: eventExecuted, CommandID: "c", BootID: "b", Actuators: []string{"x"}})
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, append(whole, whole[:len(whole)/2]...), 0o644); err != nil {
		t.Fatal(err)
	}
	write(Event{Serial: "d", Kind: eventExecuted, CommandID: "c", BootID: "b", Actuators: []string{"x"}})
	read, err := ReadTruthLog(path)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "executed", read["d"].Commands["c"].Executed, 2)
	if err := os.WriteFile(path, make([]byte, 100), 0o644); err != nil {
		t.Fatal(err)
	}
	if read, err := ReadTruthLog(path); err != nil || len(read) != 0 {
		t.Fatal(read, err)
	}
	if _, err := ReadTruthLog(path + "-not-there"); err == nil {
		t.Fatal("a missing log is an error")
	}
}

func TestTruthIsBounded(t *testing.T) {
	r := newRecorder("d", 10, nil)
	for i := range 1000 {
		id := fmt.Sprintf("c-%d", i)
		r.record(Event{Kind: eventReceived, CommandID: id})
		r.record(Event{Kind: eventFault, Name: "lie", CommandID: id})
		r.record(Event{Kind: eventReading, Seq: int64(i)})
		r.record(Event{Kind: eventAcked, Seq: int64(i)})
		r.record(Event{Kind: eventChanged, Actuators: []string{"x"}, From: i, To: i + 1, CommandID: id})
	}
	truth, _ := r.snapshot()
	for what, n := range map[string]int{"commands": len(truth.Commands), "readings": len(truth.Readings),
		"changes": len(truth.Actuators["x"]), "order": len(r.order)} {
		if n < 10 || n > 20 {
			t.Fatalf("%d %s are kept", n, what)
		}
	}
	if truth.Commands["c-999"].Received != 1 || !truth.Readings[len(truth.Readings)-1].Acked {
		t.Fatal("the newest must be kept")
	}
	if want := 3000 - len(truth.Commands) - len(truth.Readings) - len(truth.Actuators["x"]); truth.Forgotten != want {
		t.Fatalf("%d forgotten, want %d", truth.Forgotten, want)
	}
}

// A snapshot does not change when the device goes on.
func TestTruthIsASnapshot(t *testing.T) {
	r := newRecorder("d", 10, nil)
	event := Event{Kind: eventExecuted, CommandID: "c", BootID: "b", Actuators: []string{"x"}}
	r.record(event)
	truth, _ := r.snapshot()
	r.record(event)
	equal(t, "by actuator", truth.Commands["c"].ByActuator["x"], 1)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := r.wait(ctx, func(Truth) bool { return false }); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
}

func TestMemoryIsBounded(t *testing.T) {
	m := newMemory(3, true)
	for _, id := range []string{"a", "b", "c", "b", "d"} {
		m.put(id, &record{running: id == "d"})
	}
	if m.get("a") != nil || m.get("b") == nil || len(m.order) != 3 {
		t.Fatalf("%v", m.order)
	}
	m.forget("b")
	m.forget("not there")
	m.reboot()
	equal(t, "after the reboot", m.order, []string{"c"})
}

func TestOptionsAreChecked(t *testing.T) {
	for name, change := range map[string]func(*Options){
		"serial":            func(o *Options) { o.Serial = "a/b" },
		"long serial":       func(o *Options) { o.Serial = string(make([]byte, 65)) },
		"broker":            func(o *Options) { o.BrokerURL = "127.0.0.1:1883" },
		"scheme":            func(o *Options) { o.BrokerURL = "http://127.0.0.1:1883" },
		"class":             func(o *Options) { o.Class = "D" },
		"no endpoints":      func(o *Options) { o.Endpoints = nil },
		"twice":             func(o *Options) { o.Endpoints = append(o.Endpoints, o.Endpoints[0]) },
		"initial":           func(o *Options) { o.Endpoints = []Endpoint{{Key: "x", Type: Int, Initial: "3"}} },
		"type":              func(o *Options) { o.Endpoints = []Endpoint{{Key: "x", Type: "decimal"}} },
		"reserved method":   func(o *Options) { o.Methods = []Method{{Name: "resolve"}} },
		"toggle of nothing": func(o *Options) { o.Methods = []Method{{Name: "flip", Effect: Toggle}} },
		"toggle of an int":  func(o *Options) { o.Methods = []Method{{Name: "flip", Actuator: "level", Effect: Toggle}} },
		"sensor as target":  func(o *Options) { o.Methods = []Method{{Name: "x", Actuator: "temperature"}} },
		"keepalive":         func(o *Options) { o.KeepAlive = time.Millisecond },
	} {
		if _, err := NewDevice(valve(change)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, err := NewFleet([]Options{valve(nil), valve(nil)}); err == nil {
		t.Error("two devices of one serial")
	}
	d, err := NewDevice(valve(nil))
	if err != nil {
		t.Fatal(err)
	}
	if err := d.SetValue("level", 1000); err == nil {
		t.Error("a value outside the limits")
	}
	if err := d.SetValue("nothing", 1); err == nil {
		t.Error("an unknown endpoint")
	}
	if err := d.Reboot(); !errors.Is(err, ErrStopped) {
		t.Error(err)
	}
	d.Stop() // never started
	d.Start()
	if err := d.Connected(context.Background()); !errors.Is(err, ErrStopped) {
		t.Error(err)
	}
}
