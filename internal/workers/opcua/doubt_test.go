package opcua_test

import (
	"strings"
	"testing"

	"surehand/internal/term"
	"surehand/internal/workers"
	"surehand/internal/workers/handshake"
	"surehand/internal/workers/opcua"
	"surehand/internal/workers/plc"
)

// A write of go that arrives long after it was given up begins nothing: it was withdrawn with its number.
func TestLateGoBeginsNothing(t *testing.T) {
	t.Parallel()
	c := open(t, false, nil)
	r := watched(t, c)
	r.awaitReached()
	c.next("late write")
	if e := c.driver.Perform(t.Context(), start(1)); e.Outcome != term.NotDone || e.Unsent {
		t.Fatalf("ended %+v", e)
	}
	r.await(func(now term.Reading) bool { return now.Go })
	r.await(func(now term.Reading) bool { return now.Reached && !now.Go })
	inTheEnd(t, c, 2)
	if all := c.truth().Begun; len(all) != 1 || all[0].Number == 1 {
		t.Errorf("begun: %+v", all)
	}
}

// A write of go that never arrived is withdrawn and surely not done.
func TestLostGoIsNotDone(t *testing.T) {
	t.Parallel()
	c := open(t, false, nil)
	watched(t, c).awaitReached()
	c.next("lost write")
	if e := c.driver.Perform(t.Context(), start(1)); e.Outcome != term.NotDone || e.Unsent {
		t.Fatalf("ended %+v", e)
	}
	inTheEnd(t, c, 2)
	if all := c.truth().Begun; len(all) != 1 || all[0].Number == 1 {
		t.Errorf("begun: %+v", all)
	}
}

// "Not begun" is said of a program that runs only: what a server shows of one that stands may be old.
func TestFrozenProgramIsUnknown(t *testing.T) {
	t.Parallel()
	c := open(t, false, nil)
	watched(t, c).awaitReached()
	c.next("lost write, and the program stops")
	if e := c.driver.Perform(t.Context(), start(1)); e.Outcome != term.Unknown {
		t.Errorf("ended %+v", e)
	}
	c.do("program", map[string]any{"runs": true})
	if all := c.truth().Begun; len(all) != 0 {
		t.Errorf("begun: %+v", all)
	}
}

// After a restart the namespace may have another index: old node ids would be somebody else's nodes, or none.
func TestNamespaceMovesOverARestart(t *testing.T) {
	t.Parallel()
	c := open(t, true, nil)
	r := watched(t, c)
	r.awaitReached()
	if e := c.driver.Perform(t.Context(), start(1)); e.Outcome != term.Done {
		t.Fatalf("ended %+v", e)
	}
	c.do("restart", map[string]any{"before": []string{"urn:example:newer", "urn:example:newest"}})
	inTheEnd(t, c, 2)
	now := r.await(func(now term.Reading) bool { return now.Reached && !now.Go })
	if all := c.truth().Begun; len(all) != 2 || all[1].Number != now.Echo {
		t.Errorf("begun: %+v, read: %+v", all, now)
	}
}

// A server that takes connections and says nothing: from the start, or from some moment on for good.
func TestSilentServerIsLeft(t *testing.T) {
	for name, from := range map[string]func(*cell, *readings){
		"from the start": func(c *cell, r *readings) {},
		"while it works": func(c *cell, r *readings) {
			c.proxy.speak()
			r.awaitReached()
			c.proxy.hush()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := open(t, false, nil)
			c.proxy.hush()
			r := watched(t, c)
			from(c, r)
			r.await(func(now term.Reading) bool { return !now.Reached && now.Error != "" })
			if e := c.driver.Perform(t.Context(), start(1)); e.Outcome != term.NotDone || !e.Unsent {
				t.Errorf("ended %+v", e)
			}
			c.proxy.awaitConnections(t, c.proxy.connections()+1) // it tries again
			c.proxy.speak()
			r.awaitReached() // the silent ones stay so
			inTheEnd(t, c, 2)
		})
	}
}

// A heartbeat that stands still is looked at from a new session too: the old one may be the one that stands. It is told
// in the same words each time, and no session is left behind.
func TestStillHeartbeatGetsANewSession(t *testing.T) {
	t.Parallel()
	c := open(t, true, nil)
	r := watched(t, c)
	r.awaitReached()
	before := c.proxy.connections()
	c.do("program", map[string]any{"runs": false})
	c.proxy.awaitConnections(t, before+1)
	r.more(3)
	r.awaitError("stands still")
	r.mu.Lock()
	if len(r.errors) != 1 {
		t.Errorf("one thing was said in these ways: %v", r.errors)
	}
	r.mu.Unlock()
	c.do("program", map[string]any{"runs": true})
	r.awaitReached()
	inTheEnd(t, c, 1)
	r.await(func(term.Reading) bool { return c.truth().Sessions == 1 })
}

func TestWhatCannotBeWorkedWithIsSaid(t *testing.T) {
	for _, c := range []struct {
		name   string
		shapes map[string]any
		change func(*term.DriverConfig)
		want   string
	}{
		{"no status", map[string]any{"status": map[string]any{"missing": true}}, nil, ".status: the server says StatusBadNodeIDUnknown"},
		{"a short status", map[string]any{"status": map[string]any{"words": 13}}, nil, ".status: has 13 words; it must be UInt16[14]"},
		{"a status of another type", map[string]any{"status": map[string]any{"type": "Float"}}, nil, ".status: is Float as an array; it must be UInt16[14]"},
		{"a status that is no array", map[string]any{"status": map[string]any{"words": 0, "type": "UInt32"}}, nil, ".status: is Uint32; it must be UInt16[14]"},
		{"a short command", map[string]any{"command": map[string]any{"words": 3}}, nil, ".command: has 3 words; it must be UInt16[4]"},
		{"a long command", map[string]any{"command": map[string]any{"words": 5}}, nil, ".command: has 5 words; it must be UInt16[4]"},
		{"go is no word", map[string]any{"go": map[string]any{"type": "Boolean"}}, nil, ".go: is Boolean; it must be UInt16"},
		{"done_ack is many", map[string]any{"done_ack": map[string]any{"words": 2}}, nil, ".done_ack: is Uint16 as an array; it must be UInt16"},
		{"no such node", nil, func(d *term.DriverConfig) { d.Node += "x" }, "StatusBadNodeIDUnknown"},
		{"no such namespace", nil, func(d *term.DriverConfig) { d.Namespace = "urn:else" }, `no namespace "urn:else"`},
		{"nobody there", nil, func(d *term.DriverConfig) { d.Address = "opc.tcp://127.0.0.1:1" }, "connection refused"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			cell := open(t, false, c.shapes)
			config := cell.config()
			if c.change != nil {
				c.change(&config)
			}
			var err error
			if cell.driver, err = plc.New(handshake.Options{Config: config, Clock: wallClock{}}, opcua.New(config)); err != nil {
				t.Fatal(err)
			}
			r := watched(t, cell)
			r.awaitError(c.want)
			if e := cell.driver.Perform(t.Context(), start(1)); e.Outcome != term.NotDone || !e.Unsent {
				t.Errorf("ended %+v", e)
			}
			if writes := cell.truth().Writes; writes != 0 {
				t.Errorf("%d writes", writes)
			}
		})
	}
}

func TestServerThatWantsANameIsSaid(t *testing.T) {
	t.Parallel()
	m := openNamed(t, t.Name(), map[string]any{"locked": true})
	watched(t, drive(t, m)).awaitError("allow policy None with anonymous users")
}

// Some servers make their ids of quoted names.
func TestQuotedIds(t *testing.T) {
	t.Parallel()
	c := drive(t, openNamed(t, `"quoted"`, nil))
	watched(t, c).awaitReached()
	if e := c.driver.Perform(t.Context(), start(1)); e != workers.Happened("") {
		t.Errorf("ended %+v", e)
	}
}

// More words than today's are somebody's extension.
func TestLongerStatusIsRead(t *testing.T) {
	t.Parallel()
	c := open(t, false, map[string]any{"status": map[string]any{"words": 20}})
	watched(t, c).awaitReached()
	if e := c.driver.Perform(t.Context(), start(1)); e != workers.Happened("") {
		t.Errorf("ended %+v", e)
	}
}

// The last value that a server had of a machine that is gone is not a reading, until it is good again.
func TestUncertainValueIsNoReading(t *testing.T) {
	t.Parallel()
	c := open(t, false, nil)
	r := watched(t, c)
	r.awaitReached()
	for _, status := range []string{"UncertainLastUsableValue", "BadNotConnected"} {
		c.do("quality", map[string]any{"status": status})
		r.awaitError("Status" + status)
		if e := c.driver.Perform(t.Context(), start(1)); e.Outcome != term.NotDone || !e.Unsent {
			t.Errorf("ended %+v", e)
		}
		c.do("quality", map[string]any{"status": "Good"})
		r.awaitReached()
	}
	inTheEnd(t, c, 1)
}

func TestConfigurationIsChecked(t *testing.T) {
	right := term.DriverConfig{Address: "opc.tcp://h:4840", Namespace: "urn:x", Node: "M"}
	for want, change := range map[string]func(*term.DriverConfig){
		"must begin with opc.tcp://": func(d *term.DriverConfig) { d.Address = "h:4840" },
		"has no address":             func(d *term.DriverConfig) { d.Address = "" },
		"namespace and node":         func(d *term.DriverConfig) { d.Node = "" },
		"there is no wordOrder":      func(d *term.DriverConfig) { d.WordOrder = "low" },
	} {
		config := right
		change(&config)
		if _, err := plc.New(handshake.Options{Config: config, Clock: wallClock{}}, opcua.New(config)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
	if _, err := plc.New(handshake.Options{Config: right, Clock: wallClock{}}, opcua.New(right)); err != nil {
		t.Error(err)
	}
}
