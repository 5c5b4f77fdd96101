package config

import (
	"encoding/json"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"surehand/internal/message"
	"surehand/internal/term"
)

const plantExample = "../../docs/examples/plant.yaml"

// lineOfText is the line of the first occurrence of a text.
func lineOfText(t *testing.T, data []byte, text string) int {
	t.Helper()
	before, _, found := strings.Cut(string(data), text)
	if !found {
		t.Fatalf("no %q in the file", text)
	}
	return strings.Count(before, "\n") + 1
}

func TestPlantReadsTheExample(t *testing.T) {
	data, err := os.ReadFile(plantExample)
	if err != nil {
		t.Fatal(err)
	}
	p, problems := Plant(data)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	sec, ms := term.Duration(time.Second), term.Duration(time.Millisecond)
	at := func(text string) int { return lineOfText(t, data, text) }
	modbus := func(port string) term.DriverConfig {
		return term.DriverConfig{Type: "modbus-machine", Address: "127.0.0.1:" + port, Unit: 1, Status: 100}
	}
	lathe, robot := modbus("15021"), modbus("15020")
	lathe.Unit, lathe.WordOrder, lathe.Poll, lathe.Stale, lathe.Timeout = 1, "high", 100*ms, 3*sec, 500*ms
	robot.Type = "modbus-robot"
	machine := func(group string, program int, expected, timeout term.Duration) term.Step {
		return term.Step{Kind: term.StepMachine, Group: group, Program: program, Expected: expected, Timeout: timeout}
	}
	want := message.ImportPlant{
		Cell: message.ImportCell{Name: "cell-1", Line: at("  name: cell-1"), Config: term.CellConfig{Dock: term.PlaceRow{Count: 12, First: 1},
			Buffer: term.PlaceRow{Count: 8, First: 21}, Exit: 90, Options: term.CellOptions{RefillAt: 4, RefillBy: 4}}},
		Equipment: []message.ImportEquipment{
			{ID: "lathe", Name: "Lathe", Kind: term.KindMachine, Line: at("id: lathe"),
				Config: term.EquipmentConfig{Slots: 1, First: 31, ActionTime: 30 * sec, Driver: lathe}},
			{ID: "mill", Name: "Mill", Kind: term.KindMachine, Line: at("id: mill"),
				Config: term.EquipmentConfig{Slots: 2, First: 41, Driver: modbus("15022")}},
			{ID: "oven", Name: "Oven", Kind: term.KindMachine, Line: at("id: oven"),
				Config: term.EquipmentConfig{Group: "furnace", Slots: 4, Batch: true, MaxWait: 300 * sec, First: 51, Driver: modbus("15023")}},
			{ID: "robot", Kind: term.KindRobot, Line: at("id: robot"), Config: term.EquipmentConfig{ActionTime: 60 * sec, Driver: robot}},
			{ID: "scanner", Kind: term.KindScanner, Line: at("id: scanner"), Config: term.EquipmentConfig{First: 81, ActionTime: 20 * sec,
				Driver: term.DriverConfig{Type: "tcp-scanner", Address: "127.0.0.1:15024", Trigger: "TRIG", Format: "^HS-[0-9]+$", Timeout: 2 * sec}}},
		},
		Routes: []message.ImportRoute{{ID: "housing", Name: "Pump housing", Line: at("id: housing"), Steps: []message.ImportStep{
			{Line: at("{machine: lathe"), Step: machine("lathe", 7, 90*sec, 300*sec)},
			{Line: at("{machine: mill"), Step: machine("mill", 12, 120*sec, 360*sec)},
			{Line: at("{machine: furnace"), Step: machine("furnace", 1, 600*sec, 1200*sec)},
			{Line: at("{scan: scanner"), Step: term.Step{Kind: term.StepScan, Group: "scanner", Expected: 3 * sec}},
		}}},
		File: string(data),
	}
	if !reflect.DeepEqual(p, want) {
		t.Errorf("got\n%s\nwant\n%s", term.JSON(p), term.JSON(want))
	}
	// A message is kept as JSON when it is parked, and compared by it when it is repeated.
	var back message.ImportPlant
	if err := json.Unmarshal([]byte(term.JSON(p)), &back); err != nil || !reflect.DeepEqual(back, p) {
		t.Errorf("as JSON and back (%v): %s", err, term.JSON(back))
	}
	// The file that is kept reads as what was imported.
	if again, problems := Plant([]byte(p.File)); len(problems) > 0 || !reflect.DeepEqual(again, p) {
		t.Errorf("read again: %v", problems)
	}
}

// inCell, inMachine, inDriver, inRobot, inScanner and inSteps are files that are right but for what is put into them.
func inCell(s string) string { return "cell:\n  name: c\n  dock: {places: 2, first: 1}\n" + s }

func inMachine(s string) string {
	return rightCell + "equipment:\n- id: m\n  kind: machine\n" + s
}

const (
	rightCell    = "cell: {name: c, dock: {places: 2, first: 1}, buffer: {places: 2, first: 5}, exit: 9}\n"
	rightDriver  = "  driver: {type: modbus-machine, address: 'h:502', command: 0, status: 10}\n"
	rightMachine = "  first: 20\n" + rightDriver
)

func inDriver(s string) string { return inMachine("  first: 20\n  driver: " + s) }

func inRobot(s string) string {
	return rightCell + "equipment:\n- id: r\n  kind: robot\n  driver: {type: modbus-robot, address: 'h:502', command: 0, status: 10}\n" + s
}

func inScanner(driver string) string {
	return rightCell + "equipment:\n- id: s\n  kind: scanner\n  first: 7\n  driver: " + driver
}

func inSteps(s string) string { return rightCell + "routes:\n- id: r\n  steps:\n" + s }

func opcuaDriver(node string) string {
	return "  driver: {type: opcua-machine, address: 'opc.tcp://h:4840', namespace: 'urn:x', node: " + node + "}\n"
}

func TestPlantProblems(t *testing.T) {
	tests := []struct {
		name, file string
		line       int
		pointer    string
		detail     string
	}{
		{"no YAML", "cell: {", 1, "", ""},
		{"not UTF-8", "cell: \xff", 0, "", "UTF-8"},
		{"an anchor", "cell: &a {}", 1, "", "not supported"},
		{"a device file", "farms: []", 1, "/farms", "is no key here; known are cell, equipment, routes"},
		{"a list at the top", "- a", 1, "", "must be a mapping"},
		{"nothing", "{}", 1, "/cell", "is missing"},
		{"a cell that is a word", "cell: one", 1, "/cell", "must be a mapping"},

		{"a cell without a name", "cell:\n  dock: {places: 2, first: 1}", 2, "/cell/name", "is missing"},
		{"a cell with a name of two words", "cell:\n  name: Cell 1", 2, "/cell/name", "is no name"},
		{"an unknown key of the cell", inCell("  docks: 1"), 4, "/cell/docks", "known are name, dock"},
		{"no buffer", inCell("  exit: 9"), 2, "/cell/buffer", "is missing: places and first"},
		{"a buffer without places", inCell("  buffer: {first: 3}"), 4, "/cell/buffer/places", "is missing"},
		{"too many places", inCell("  buffer:\n    places: 65\n    first: 3"), 5, "/cell/buffer/places", "from 1 to 64, not 65"},
		{"no place", inCell("  buffer: {places: 0, first: 3}"), 4, "/cell/buffer/places", "from 1 to 64, not 0"},
		{"a place number of 0", inCell("  buffer: {places: 3, first: 0}"), 4, "/cell/buffer/first", "from 1 to 65535"},
		{"places beyond the register", inCell("  buffer: {places: 3, first: 65534}"), 4, "/cell/buffer/first", "would have the number 65536"},
		{"a word for a number", inCell("  buffer: {places: many, first: 3}"), 4, "/cell/buffer/places", "whole number"},
		{"no exit", inCell("  buffer: {places: 2, first: 5}"), 2, "/cell/exit", "is missing"},
		{"an exit beyond the register", inCell("  buffer: {places: 2, first: 5}\n  exit: 65536"), 5, "/cell/exit", "from 1 to 65535"},
		{"an unknown option", inCell("  buffer: {places: 2, first: 5}\n  exit: 9\n  options: {auto: true}"), 6, "/cell/options/auto", "is no key here"},
		{"yes for an option", inCell("  buffer: {places: 2, first: 5}\n  exit: 9\n  options: {automaticRelease: yes}"), 6, "/cell/options/automaticRelease", "true or false"},
		{"a refill of nothing", inCell("  buffer: {places: 2, first: 5}\n  exit: 9\n  options: {refillBy: 0}"), 6, "/cell/options/refillBy", "from 1 to 64"},

		{"equipment that is a mapping", rightCell + "equipment: {m: {}}", 2, "/equipment", "must be a list"},
		{"no id", rightCell + "equipment:\n- kind: robot\n  driver: {type: modbus-robot, address: 'h:502', command: 0, status: 10}", 3, "/equipment/0/id", "is missing"},
		{"an id twice", inRobot("- id: r\n  kind: robot\n  driver: {type: modbus-robot, address: 'h:502', command: 0, status: 10}"), 6, "/equipment/r/id", "stands in line 3 already"},
		{"an id that is no name", rightCell + "equipment:\n- id: my mill\n  kind: machine\n" + rightMachine, 3, "/equipment/my mill/id", "is no name"},
		{"a colon in an id", rightCell + "equipment:\n- id: 'a:1'\n  kind: machine\n" + rightMachine, 3, "/equipment/a:1/id", "is no name"},
		{"no kind", rightCell + "equipment:\n- id: m\n", 3, "/equipment/m/kind", "is missing: machine, robot, scanner, marker"},
		{"an unknown kind", rightCell + "equipment:\n- id: m\n  kind: mill", 4, "/equipment/m/kind", "none of machine, robot, scanner, marker"},
		{"a marker without a driver", rightCell + "equipment:\n- id: m\n  kind: marker\n  first: 7", 3, "/equipment/m/driver", "is missing"},
		{"a marker that reads", rightCell + "equipment:\n- id: m\n  kind: marker\n  first: 7\n  driver: {type: tcp-marker, address: 'h:1', trigger: X}", 6, "/equipment/m/driver/trigger", "is no key here"},
		{"an OPC UA machine by host and port", rightCell + "equipment:\n- id: m\n  kind: machine\n  first: 7\n  driver: {type: opcua-machine, address: 'h:4840', namespace: 'urn:x', node: M}", 6, "/equipment/m/driver/address", "opc.tcp://"},
		{"an OPC UA machine without a namespace", rightCell + "equipment:\n- id: m\n  kind: machine\n  first: 7\n  driver: {type: opcua-machine, address: 'opc.tcp://h:4840', node: M}", 6, "/equipment/m/driver/namespace", "is missing"},
		{"an OPC UA machine with registers", rightCell + "equipment:\n- id: m\n  kind: machine\n  first: 7\n  driver: {type: opcua-machine, address: 'opc.tcp://h:4840', namespace: 'urn:x', node: M, unit: 1}", 6, "/equipment/m/driver/unit", "is no key here"},
		{"an MQTT robot on every topic", rightCell + "equipment:\n- id: r\n  kind: robot\n  driver: {type: mqtt-robot, topic: 'a/#'}", 5, "/equipment/r/driver/topic", "without +, #"},
		{"no slots", inMachine(rightMachine + "  slots: 0"), 7, "/equipment/m/slots", "from 1 to 16, not 0"},
		{"too many slots", inMachine(rightMachine + "  slots: 17"), 7, "/equipment/m/slots", "from 1 to 16, not 17"},
		{"slots beyond the register", inMachine(rightDriver + "  slots: 2\n  first: 65535"), 7, "/equipment/m/first", "65536"},
		{"no first", inMachine(rightDriver), 3, "/equipment/m/first", "is missing"},
		{"waiting without a batch", inMachine(rightMachine + "  maxWait: 5m"), 7, "/equipment/m/maxWait", "only a batch machine"},
		{"waiting too short", inMachine(rightMachine + "  batch: true\n  maxWait: 0s"), 8, "/equipment/m/maxWait", "from 1s to 24h, not 0s"},
		{"a group that is no name", inMachine(rightMachine + "  group: a/b"), 7, "/equipment/m/group", "is no name"},
		{"an action time without a unit", inMachine(rightMachine + "  actionTime: 30"), 7, "/equipment/m/actionTime", "with its unit"},
		{"an action time too long", inMachine(rightMachine + "  actionTime: 2h"), 7, "/equipment/m/actionTime", "from 1s to 1h, not 2h"},
		{"a robot with slots", inRobot("  slots: 2"), 6, "/equipment/r/slots", "only a machine"},
		{"a robot with a place", inRobot("  first: 2"), 6, "/equipment/r/first", "no place"},
		{"no driver", inMachine("  first: 20"), 3, "/equipment/m/driver", "is missing"},

		{"two at one address", rightCell + "equipment:\n- id: m\n  kind: machine\n" + rightMachine + "- id: n\n  kind: machine\n  first: 30\n" + rightDriver, 10, "/equipment/n/driver",
			"h:502 unit 0 is the driver's address of m already"},
		{"a driver of another kind", inDriver("{type: modbus-robot, address: 'h:1', command: 0, status: 10}"), 6, "/equipment/m/driver/type", "none of modbus-machine"},
		{"no driver type", inDriver("{address: 'h:1', command: 0, status: 10}"), 6, "/equipment/m/driver/type", "is missing: modbus-machine"},
		{"two at one node", rightCell + "equipment:\n- id: m\n  kind: machine\n  first: 7\n" + opcuaDriver("Mill") + "- id: n\n  kind: machine\n  first: 30\n" + opcuaDriver("Mill"), 10,
			"/equipment/n/driver", "opc.tcp://h:4840 node Mill is the driver's address of m already"},
		{"a key of another driver", inDriver("{type: modbus-machine, address: 'h:1', command: 0, status: 10, trigger: X}"), 6, "/equipment/m/driver/trigger", "is no key here"},
		{"no address", inDriver("{type: modbus-machine, command: 0, status: 10}"), 6, "/equipment/m/driver/address", "is missing"},
		{"an address without a port", inDriver("{type: modbus-machine, address: host, command: 0, status: 10}"), 6, "/equipment/m/driver/address", "host:port"},
		{"a port too high", inDriver("{type: modbus-machine, address: 'h:65536', command: 0, status: 10}"), 6, "/equipment/m/driver/address", "port from 1 to 65535"},
		{"port 0", inDriver("{type: modbus-machine, address: 'h:0', command: 0, status: 10}"), 6, "/equipment/m/driver/address", "port from 1 to 65535"},
		{"an address with a path", inDriver("{type: modbus-machine, address: 'tcp://h:502', command: 0, status: 10}"), 6, "/equipment/m/driver/address", "host:port"},
		{"a unit too high", inDriver("\n    type: modbus-machine\n    address: h:1\n    command: 0\n    status: 10\n    unit: 256"), 11, "/equipment/m/driver/unit", "from 0 to 255"},
		{"no command block", inDriver("{type: modbus-machine, address: 'h:1', status: 10}"), 6, "/equipment/m/driver/command", "is missing"},
		{"no status block", inDriver("{type: modbus-machine, address: 'h:1', command: 0}"), 6, "/equipment/m/driver/status", "is missing"},
		{"a command block beyond the registers", inDriver("{type: modbus-machine, address: 'h:1', command: 65531, status: 10}"), 6, "/equipment/m/driver/command", "from 0 to 65530"},
		{"a status block beyond the registers", inDriver("{type: modbus-machine, address: 'h:1', command: 0, status: 65523}"), 6, "/equipment/m/driver/status", "from 0 to 65522"},
		{"blocks that overlap", inDriver("{type: modbus-machine, address: 'h:1', command: 13, status: 0}"), 6, "/equipment/m/driver/status", "0 to 13 overlap the command block, which has 13 to 18"},
		{"an unknown word order", inDriver("{type: modbus-machine, address: 'h:1', command: 0, status: 10, wordOrder: big}"), 6, "/equipment/m/driver/wordOrder", "none of high, low"},
		{"a poll too fast", inDriver("{type: modbus-machine, address: 'h:1', command: 0, status: 10, poll: 1ms}"), 6, "/equipment/m/driver/poll", "from 10ms to 5s"},
		{"always stale", inDriver("{type: modbus-machine, address: 'h:1', command: 0, status: 10, poll: 3s}"), 6, "/equipment/m/driver/stale", "longer than poll (3s)"},
		{"a timeout too long", inDriver("{type: modbus-machine, address: 'h:1', command: 0, status: 10, timeout: 1m}"), 6, "/equipment/m/driver/timeout", "from 10ms to 30s"},
		{"no regular expression", inScanner("{type: tcp-scanner, address: 'h:1', format: '(a'}"), 6, "/equipment/s/driver/format", "missing closing )"},
		{"a trigger of two lines", inScanner("{type: tcp-scanner, address: 'h:1', trigger: \"a\\nb\"}"), 6, "/equipment/s/driver/trigger", "one line"},
		{"registers of a scanner", inScanner("{type: tcp-scanner, address: 'h:1', unit: 1}"), 6, "/equipment/s/driver/unit", "is no key here"},

		{"a route without steps", rightCell + "routes: [{id: r}]", 2, "/routes/r/steps", "at least one step"},
		{"too many steps", inSteps(strings.Repeat("  - {machine: m}\n", 33)), 4, "/routes/r/steps", "at most 32"},
		{"a step that is a word", inSteps("  - m"), 5, "/routes/r/steps/0", "must name its equipment group"},
		{"a step without a group", inSteps("  - {machine: m}\n  - {program: 1}"), 6, "/routes/r/steps/1", "must name its equipment group"},
		{"a step with an empty group", inSteps("  - {machine: }"), 5, "/routes/r/steps/0/machine", "is missing"},
		{"two kinds in a step", inSteps("  - {machine: m, scan: s}"), 5, "/routes/r/steps/0/scan", "is no key here"},
		{"a group that is no name in a step", inSteps("  - {machine: m n}"), 5, "/routes/r/steps/0/machine", "is no name"},
		{"a program of a scan", inSteps("  - {scan: s, program: 1}"), 5, "/routes/r/steps/0/program", "is no key here; known are scan, expected"},
		{"a program beyond the register", inSteps("  - machine: m\n    program: 65536"), 6, "/routes/r/steps/0/program", "from 0 to 65535"},
		{"a timeout below the expected time", inSteps("  - {machine: m, expected: 2m, timeout: 2m}"), 5, "/routes/r/steps/0/timeout", "longer than expected (2m)"},
		{"a failure of a machine step", inSteps("  - {machine: m, onFail: scrap}"), 5, "/routes/r/steps/0/onFail", "is no key here"},
		{"an unknown answer to a failure", inSteps("  - {inspection: g, onFail: retry}"), 5, "/routes/r/steps/0/onFail", "none of scrap, judge, rework"},
		{"rework without a step", inSteps("  - {inspection: g, onFail: rework, reworkLimit: 1}"), 5, "/routes/r/steps/0/reworkTo", "is missing"},
		{"rework without a limit", inSteps("  - {inspection: g, onFail: rework, reworkTo: 1}"), 5, "/routes/r/steps/0/reworkLimit", "is missing"},
		{"rework of a later step", inSteps("  - {inspection: g, onFail: rework, reworkTo: 2, reworkLimit: 1}"), 5, "/routes/r/steps/0/reworkTo", "from 1 to 1, not 2"},
		{"too many reworks", inSteps("  - {inspection: g, onFail: rework, reworkTo: 1, reworkLimit: 10}"), 5, "/routes/r/steps/0/reworkLimit", "from 1 to 9"},
		{"a limit without rework", inSteps("  - {inspection: g, onFail: judge, reworkLimit: 2}"), 5, "/routes/r/steps/0/reworkLimit", "only onFail: rework"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, problems := Plant([]byte(tt.file))
			if len(problems) == 0 {
				t.Fatal("no problem found")
			}
			p := problems[0]
			if p.Pointer != tt.pointer || tt.line > 0 && p.Line != tt.line || !strings.Contains(p.Detail, tt.detail) {
				t.Errorf("got %+v (of %d), want line %d, %q, %q", p, len(problems), tt.line, tt.pointer, tt.detail)
			}
			if tt.pointer != "" && strings.HasPrefix(tt.file, rightCell) && len(problems) > 1 {
				t.Errorf("one fault is told as %d: %v", len(problems), problems)
			}
		})
	}
}

func TestRightPlantFiles(t *testing.T) {
	for name, file := range map[string]string{
		"a cell alone":                rightCell,
		"a machine":                   inMachine(rightMachine),
		"the last registers":          inDriver("{type: modbus-machine, address: '[::1]:502', command: 65530, status: 65516, unit: 255}"),
		"blocks that touch":           inDriver("{type: modbus-machine, address: 'h:1', command: 14, status: 0}"),
		"two units of one address":    inMachine(rightMachine) + "- id: n\n  kind: machine\n  first: 30\n  driver: {type: modbus-machine, address: 'h:502', unit: 1, command: 0, status: 10}\n",
		"two machines of one server":  inMachine("  first: 20\n"+opcuaDriver("Mill")) + "- id: n\n  kind: machine\n  first: 30\n" + opcuaDriver("Lathe"),
		"a scanner with its defaults": inScanner("{type: tcp-scanner, address: 'h:1'}"),
		"a marking step":              inSteps("  - {mark: m}"),
		"an inspection":               inSteps("  - {machine: m}\n  - {inspection: g, onFail: rework, reworkTo: 1, reworkLimit: 9, timeout: 1s}"),
	} {
		if _, problems := Plant([]byte(file)); len(problems) > 0 {
			t.Errorf("%s: %v", name, problems)
		}
	}
}

func TestKindOf(t *testing.T) {
	for file, want := range map[string]Kind{rightCell: PlantFile, "routes: []": PlantFile, "farms: []": DeviceFile, "x: 1\nequipment: []": PlantFile,
		"rules: []\ncell: {}": DeviceFile} {
		if got, problem := KindOf([]byte(file)); got != want || problem != nil {
			t.Errorf("%q: %q %v", file, got, problem)
		}
	}
	for file, want := range map[string]string{"": neither, "# nothing\n": neither, "{}": neither, "cells: {}": neither, "- cell": neither, "cell": neither, "cell: {": "",
		"cell: \xff": "UTF-8"} {
		kind, problem := KindOf([]byte(file))
		if kind != "" || problem == nil || !strings.Contains(problem.Detail, want) {
			t.Errorf("%q: %q %v", file, kind, problem)
		}
	}
}

const neither = "neither a device file (organisations, farms, profiles, devices, rules) nor a plant file (cell, equipment, routes)"

func FuzzPlant(f *testing.F) {
	if data, err := os.ReadFile(plantExample); err == nil {
		f.Add(data)
	}
	for _, s := range []string{"", "{}", rightCell, inMachine(rightMachine), inScanner("{type: tcp-scanner, address: 'h:1', format: a}"), inSteps("  - {mark: m}"), inRobot("")} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		p, problems := Plant(data)
		if len(problems) > 0 {
			return
		}
		var back message.ImportPlant
		if err := json.Unmarshal([]byte(term.JSON(p)), &back); err != nil || !reflect.DeepEqual(back, p) {
			t.Fatalf("as JSON and back (%v): %s", err, term.JSON(p))
		}
	})
}
