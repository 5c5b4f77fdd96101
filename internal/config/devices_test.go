package config

import (
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"surehand/internal/message"
	"surehand/internal/term"
)

func example(t testing.TB) []byte {
	t.Helper()
	data, err := os.ReadFile("testdata/devices.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestDevicesReadsEverything(t *testing.T) {
	d, problems := Devices(example(t))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	sec := term.Duration(time.Second)
	f := func(v float64) *float64 { return &v }
	no := false
	want := message.ImportDevices{
		Organisations: []message.ImportOrganisation{{ID: "acme", Name: "Acme Greens", Line: 2}},
		Farms:         []message.ImportFarm{{ID: "house-1", Organisation: "acme", Name: "House 1", Line: 3}},
		Profiles: []message.ImportProfile{
			{ID: "climate-sensor", Name: "Climate sensor", Class: "B", Timing: term.Timing{Freshness: 30 * sec}, Line: 5,
				Endpoints: []term.EndpointSpec{{Key: "temperature", Kind: term.Sensor, Type: term.TypeFloat, Unit: "°C"}}},
			{ID: "fan", Class: "A", Line: 11, Timing: term.Timing{AckTimeout: 5 * sec, Backoff: []term.Duration{5 * sec, 15 * sec, 45 * sec}, Jitter: f(0.2),
				MaxAttempts: 3, ReconciliationWindow: 30 * sec, CommandDeadline: 300 * sec, KeepAlive: 60 * sec},
				Endpoints: []term.EndpointSpec{
					{Key: "on", Kind: term.Actuator, Type: term.TypeBool, Writable: true, Action: term.ActionAbsolute,
						Binding: term.Binding{Method: "set", Param: "on", Telemetry: "relay"}},
					{Key: "speed", Kind: term.Actuator, Type: term.TypeInt, Unit: "%", Writable: true, Binding: term.Binding{Method: "set", Param: "speed"},
						Constraints: term.Constraints{Min: f(0), Max: f(100), Step: f(10)}, Tolerance: 0.5, Freshness: 10 * sec},
					{Key: "mode", Kind: term.Sensor, Type: term.TypeEnum,
						Constraints: term.Constraints{Allowed: []term.Value{term.Text("off"), term.Text("low"), term.Text("high")}}},
				}},
		},
		Devices: []message.ImportDevice{
			{ID: "climate-1", Farm: "house-1", Profile: "climate-sensor", Serial: "GH-CLIMATE-1", Name: "温室 1", Line: 24},
			{ID: "fan-1", Farm: "house-1", Profile: "fan", Serial: "0042", Status: term.DeviceMaintenance, Class: term.ClassC, Line: 25,
				Endpoints: []message.ImportEndpoint{{Key: "on", Enabled: &no},
					{Key: "speed", Overrides: term.Overrides{Constraints: &term.Constraints{Max: f(80)}, Tolerance: f(1)}}}},
		},
		Rules: []message.ImportRule{
			{ID: "cool-down", Farm: "house-1", Name: "Fan on above 28 °C", Trigger: "climate-1/temperature", Target: "fan-1/on",
				TargetValue: term.Bool(true), HoldOff: 30 * sec, Line: 35, Condition: term.Condition{All: []term.Condition{
					{Endpoint: "climate-1/temperature", Op: term.OpGt, Value: term.Int(28)},
					{Not: &term.Condition{Endpoint: "fan-1/on", Op: term.OpEq, Value: term.Bool(true)}}}}},
			{ID: "mode-check", Farm: "house-1", Active: &no, Trigger: "fan-1/mode", Target: "fan-1/speed", TargetValue: term.Int(20), Line: 42,
				Condition: term.Condition{Any: []term.Condition{
					{Endpoint: "climate-1/temperature", Op: term.OpBetween, Values: []term.Value{term.Float(10.5), term.Int(20)}},
					{Endpoint: "fan-1/mode", Op: term.OpIn, Values: []term.Value{term.Text("off"), term.Text("low")}},
					{Endpoint: "fan-1/mode", Op: term.OpNe, Value: term.Text("high")}}}},
		},
	}
	if !reflect.DeepEqual(d, want) {
		t.Errorf("got\n%s\nwant\n%s", term.JSON(d), term.JSON(want))
	}
}

// ruleWith is a file whose only rule has the given condition, in line 1.
func ruleWith(when string) string {
	return "rules: [{id: r, farm: f, trigger: a/b, set: {endpoint: a/b, value: 1}, when: " + when + "}]"
}

func TestDevicesProblems(t *testing.T) {
	deep := strings.Repeat("{not: ", 8) + "{endpoint: a/b, eq: 1}" + strings.Repeat("}", 8)
	wide := "{any: [" + strings.Repeat("{endpoint: a/b, eq: 1}, ", 65) + "]}"
	tests := []struct {
		name, file string
		line       int
		pointer    string
		detail     string
	}{
		{"no YAML", "farms: [\n  {id: a", 0, "", ""},
		{"not UTF-8", "farms: \xff", 0, "", "UTF-8"},
		{"a list at the top", "- a\n- b", 1, "", "must be a mapping"},
		{"an unknown key at the top", "\nfarm: []", 2, "/farm", "is no key here"},
		{"an unknown key inside", "farms:\n  - id: a\n    organisation: o\n    nmae: x", 4, "/farms/a/nmae", "known are id, organisation, name"},
		{"a key twice", "farms:\n  - id: a\n    id: b", 3, "", "id"},
		{"an id twice", "organisations:\n  - {id: a}\n  - {id: b}\n  - {id: a}", 4, "/organisations/a/id", "stands in line 2 already"},
		{"no id", "organisations:\n  - {name: a}", 2, "/organisations/0/id", "is missing"},
		{"no mapping", "organisations: [acme]", 1, "/organisations/0", "must be a mapping"},
		{"no list", "organisations: {id: a}", 1, "/organisations", "must be a list"},
		{"a serial twice", "devices:\n- {id: a, farm: f, profile: p, serial: S}\n- {id: b, farm: f, profile: p, serial: S}", 3, "/devices/b/serial", "of a in line 2"},
		{"a device without farm", "devices: [{id: a, profile: p, serial: S}]", 1, "/devices/a/farm", "is missing"},
		{"an unknown class", "profiles:\n  - id: p\n    class: D", 3, "/profiles/p/class", "none of A, B, C"},
		{"an unknown status", "devices: [{id: a, farm: f, profile: p, serial: S, status: broken}]", 1, "/devices/a/status", "none of active"},
		{"a duration without a unit", "profiles: [{id: p, class: A, timing: {ackTimeout: 5}}]", 1, "/profiles/p/timing/ackTimeout", "with its unit"},
		{"a negative duration", "profiles: [{id: p, class: A, timing: {backoff: [5s, -1s]}}]", 1, "/profiles/p/timing/backoff", "negative"},
		{"a word for a number", "profiles: [{id: p, class: A, timing: {jitter: much}}]", 1, "/profiles/p/timing/jitter", "must be a number"},
		{"a fraction of an attempt", "profiles: [{id: p, class: A, timing: {maxAttempts: 1.5}}]", 1, "/profiles/p/timing/maxAttempts", "whole number"},
		{"an endpoint key twice", "profiles: [{id: p, class: A, endpoints: [{key: on, kind: sensor, type: bool}, {key: \"on\", kind: sensor, type: bool}]}]", 1, "/profiles/p/endpoints/on/key", "already"},
		{"an unknown type", "profiles: [{id: p, class: A, endpoints: [{key: a, kind: sensor, type: double}]}]", 1, "/profiles/p/endpoints/a/type", "none of bool"},
		{"yes for a boolean", "rules: [{id: r, farm: f, active: yes, trigger: a/b, set: {endpoint: a/b, value: 1}, when: {endpoint: a/b, eq: 1}}]", 1, "/rules/r/active", "true or false"},
		{"a bare on for a value", ruleWith("{endpoint: a/b, eq: on}"), 1, "/rules/r/when/eq", "put it in quotes"},
		{"a hexadecimal value", ruleWith("{endpoint: a/b, eq: 0x10}"), 1, "/rules/r/when/eq", "no number"},
		{"an infinite value", ruleWith("{endpoint: a/b, eq: .inf}"), 1, "/rules/r/when/eq", "no number"},
		{"no operator", ruleWith("{endpoint: a/b}"), 1, "/rules/r/when/endpoint", "needs an operator"},
		{"two operators", ruleWith("{endpoint: a/b, gt: 1, lt: 2}"), 1, "/rules/r/when/lt", "one operator"},
		{"an unknown operator", ruleWith("{endpoint: a/b, above: 1}"), 1, "/rules/r/when/above", "is no key here"},
		{"two forms", ruleWith("{endpoint: a/b, not: {endpoint: a/b, eq: 1}}"), 1, "/rules/r/when", "exactly one"},
		{"not beside an operator", ruleWith("{not: {endpoint: a/b, eq: 1}, eq: 1}"), 1, "/rules/r/when", "stands alone"},
		{"an empty all", ruleWith("{all: []}"), 1, "/rules/r/when/all", "at least one"},
		{"between one value", ruleWith("{endpoint: a/b, between: [1]}"), 1, "/rules/r/when/between", "two values"},
		{"too deep", ruleWith(deep), 1, "/rules/r/when/not/not/not/not/not/not/not/not", "deeper than 8"},
		{"too many leaves", ruleWith(wide), 1, "/rules/r/when", "at most 64"},
		{"no condition", "rules: [{id: r, farm: f, trigger: a/b, set: {endpoint: a/b, value: 1}}]", 1, "/rules/r/when", "is missing"},
		{"no value to set", "rules: [{id: r, farm: f, trigger: a/b, set: {endpoint: a/b}, when: {endpoint: a/b, eq: 1}}]", 1, "/rules/r/set/value", "is missing"},
		{"an anchor", "farms: &a []", 1, "", "not supported"},
		{"an alias", "farms: *a", 1, "", "not supported"},
		{"a tag", "farms: !!seq []", 1, "", "not supported"},
		{"a merge key", "farms:\n  - <<: {id: a}", 2, "", "not supported"},
		{"two documents", "farms: []\n---\nrules: []", 3, "", "second document"},
		{"nested without end", "farms: " + strings.Repeat("[", 100000), 1, "", "deeper"},
		{"nested in blocks without end", strings.Repeat("- ", 100000), 1, "", "deeper"},
		{"nested in keys without end", strings.Repeat("a: ", 100000), 1, "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, problems := Devices([]byte(tt.file))
			if len(problems) == 0 {
				t.Fatal("no problem found")
			}
			p := problems[0]
			if p.Pointer != tt.pointer || tt.line > 0 && p.Line != tt.line || !strings.Contains(p.Detail, tt.detail) {
				t.Errorf("got %+v (of %d), want line %d, %q, %q", p, len(problems), tt.line, tt.pointer, tt.detail)
			}
		})
	}
}

// On is a key like any other, however it is written.
func TestOnIsAKey(t *testing.T) {
	for _, key := range []string{`on`, `"on"`, `'on'`} {
		for _, file := range []string{
			"profiles: [{id: p, class: A, endpoints: [{key: " + key + ", kind: actuator, type: bool, binding: {param: " + key + "}}]}]",
			"profiles:\n- id: p\n  class: A\n  endpoints:\n  - key: " + key + "\n    kind: actuator\n    type: bool\n    binding:\n      param: " + key,
		} {
			d, problems := Devices([]byte(file))
			if len(problems) > 0 || d.Profiles[0].Endpoints[0].Key != "on" || d.Profiles[0].Endpoints[0].Binding.Param != "on" {
				t.Errorf("%s: %+v %v", key, d, problems)
			}
		}
	}
	// As the key of a mapping it is a word too, here an unknown one.
	for _, key := range []string{`on`, `"on"`, `yes`, `true`, `1`, `null`} {
		_, problems := Devices([]byte(key + ": 1"))
		if want := "/" + strings.Trim(key, `"`); len(problems) != 1 || problems[0].Pointer != want && key != "null" {
			t.Errorf("key %s: %v", key, problems)
		}
	}
}

// withoutLines takes the line numbers out.
func withoutLines(d message.ImportDevices) message.ImportDevices {
	for i := range d.Organisations {
		d.Organisations[i].Line = 0
	}
	for i := range d.Farms {
		d.Farms[i].Line = 0
	}
	for i := range d.Profiles {
		d.Profiles[i].Line = 0
	}
	for i := range d.Devices {
		d.Devices[i].Line = 0
	}
	for i := range d.Rules {
		d.Rules[i].Line = 0
	}
	return d
}

// roundTrip prints and reads back; twice printed is the same text.
func roundTrip(t *testing.T, d message.ImportDevices) []byte {
	t.Helper()
	out, err := Print(d)
	if err != nil {
		t.Fatalf("print: %v", err)
	}
	back, problems := Devices(out)
	if len(problems) > 0 || !reflect.DeepEqual(withoutLines(back), withoutLines(d)) {
		t.Fatalf("printed as\n%s\nreads back with %v as\n%s\nnot\n%s", out, problems, term.JSON(back), term.JSON(d))
	}
	if again, err := Print(back); err != nil || string(again) != string(out) {
		t.Fatalf("printed again (%v):\n%s\nfirst:\n%s", err, again, out)
	}
	return out
}

func TestPrintRoundTrip(t *testing.T) {
	d, problems := Devices(example(t))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	out := roundTrip(t, d)
	want, err := os.ReadFile("testdata/printed.yaml")
	if err != nil || string(out) != string(want) {
		t.Errorf("testdata/printed.yaml (%v) should be:\n%s", err, out)
	}
	roundTrip(t, message.ImportDevices{})
	texts := []string{"on", "off", "true", "NULL", "~", "12", "1.5", "-", "- a", "a: b", "a #b", " a", "a ", "a  b", "\"", "'", "\\", "[a]", "{a}", "%a", "@a", "`a`", "!a", "&a", "*a", "|", ">", "?", "a\nb", "a\tb",
		"a\r\nb", "\x01", "\u0085", "\u2028", "\ufeff", "😀", "0x10", "1e5", ".5", "<<", "---", "...", strings.Repeat("long ", 60), "a,b", "a]", "=", "ĐÃ XONG", "http://x", "12:30", "2026-01-01", "</script>&"}
	for _, s := range texts {
		roundTrip(t, message.ImportDevices{
			Organisations: []message.ImportOrganisation{{ID: "a", Name: s}},
			Rules: []message.ImportRule{{ID: "r", Farm: "f", Name: s, Trigger: "a/b", Target: "a/b", TargetValue: term.Text(s),
				Condition: term.Condition{Endpoint: "a/b", Op: term.OpIn, Values: []term.Value{term.Text(s), term.Text("")}}}},
		})
	}
	for _, v := range []term.Value{term.Int(-1), term.Int(1 << 62), term.Float(1), term.Float(-0.5), term.Float(1e300), term.Float(5e-324), term.Float(1e21), term.Bool(false)} {
		roundTrip(t, message.ImportDevices{Rules: []message.ImportRule{{ID: "r", Farm: "f", Trigger: "a/b", Target: "a/b", TargetValue: v,
			Condition: term.Condition{Endpoint: "a/b", Op: term.OpEq, Value: v}}}})
	}
}

func TestPrintRefusesWhatHasNoForm(t *testing.T) {
	for name, d := range map[string]message.ImportDevices{
		"an unknown class":    {Profiles: []message.ImportProfile{{ID: "p", Class: "D"}}},
		"a rule without when": {Rules: []message.ImportRule{{ID: "r", Farm: "f", Trigger: "a/b", Target: "a/b", TargetValue: term.Int(1)}}},
		"a text with NUL":     {Organisations: []message.ImportOrganisation{{ID: "a", Name: "a\x00b"}}},
	} {
		if out, err := Print(d); err == nil {
			t.Errorf("%s was printed:\n%s", name, out)
		}
	}
}

func FuzzDevices(f *testing.F) {
	f.Add(example(f))
	for _, s := range []string{"", "{}", "farms: [{id: a, organisation: b}]", ruleWith("{endpoint: a/b, between: [1, 2.5]}"), ruleWith("{not: {endpoint: 'a', in: [\"on\", true, 1e5]}}"),
		"- a", "a: &x 1\nb: *x", "organisations:\n- id: |\n    a\n  name: >-\n    b\n    c", "organisations: [{id: a, name: \"\\u2028\\x41\"}]", "\"a\": 'b''c'", "? a\n: b", "a: b: c", "%YAML 1.2\n---\n{}"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		d, problems := Devices(data)
		if len(problems) == 0 {
			roundTrip(t, d)
		}
	})
}
