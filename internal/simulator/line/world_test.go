package line

import (
	"context"
	"errors"
	"net"
	"slices"
	"strings"
	"testing"
	"time"
)

// One part through the cell: pallet, scanner, mill, gauge, exit; and another that is left on the pallet.
func TestOnePartThroughTheCell(t *testing.T) {
	w := cell(t, func(o *Options) { o.Speed = 2 })
	ids, err := w.Arrive(2)
	equal(t, "arrived", []any{ids, err}, []any{[]string{"1.1", "1.2"}, nil})
	robot := dial(t, &w.Robot().Controller, patience)
	act := func(no uint32, code, from, to uint16) {
		robot.command(no, code, from, to)
		robot.settled()
		robot.release()
	}
	work := func(name string, no uint32, program uint16) {
		p := dial(t, &w.Machine(name).Controller, patience)
		p.command(no, 1, program)
		p.untilDone()
		p.write(4, 0)
		p.acknowledge()
	}
	act(1, 2, 1, 80)
	_, in := scan(t, w.Scanner("scanner"), "TRIG\n")
	code, err := in.ReadString('\n')
	equal(t, "code", []any{code, err}, []any{"P0001-01\n", nil})
	act(2, 3, 0, 40)
	work("mill", 1, 7)
	act(3, 1, 40, 70)
	work("gauge", 2, 3)
	act(4, 1, 70, 90)
	equal(t, "left on the pallet", w.Depart(), []string{"1.2"})
	truth := w.Truth()
	equal(t, "routes", []string{truth.Parts["1.1"].Route(), truth.Parts["1.2"].Route()},
		[]string{"1 gripper 40 mill:7 gripper 70 gauge:3 gripper 90", "2 away"})
	var by []string
	for _, s := range truth.Parts["1.1"].Steps {
		by = append(by, s.By)
	}
	equal(t, "by", by, []string{"pallet", "robot 1", "robot 2", "mill", "robot 3", "robot 3", "gauge", "robot 4", "robot 4"})
	equal(t, "executed", truth.Executed, map[uint32]int{1: 1, 2: 1, 3: 1, 4: 1})
	equal(t, "violations", violations(w), "")
	for _, want := range []string{"exit (90): 1.1", "left: 1.1 1.2", "action 4: code 1 from 70 to 90", "cycle 2 of gauge"} {
		if !strings.Contains(w.String(), want) {
			t.Errorf("%q is missing in\n%s", want, w)
		}
	}
	ids, err = w.Arrive(4)
	equal(t, "the next pallet", []any{ids, err}, []any{[]string{"2.1", "2.2", "2.3", "2.4"}, nil})
}

func TestHands(t *testing.T) {
	w := cell(t, nil)
	put(t, w, "a@1 b@0 c@40")
	for _, c := range []struct {
		name string
		err  error
		want string // part of the error; empty: none
	}{
		{"pallet onto a part", second(w.Arrive(1)), "dock 1 (1) holds a"},
		{"pallet too big", second(w.Arrive(5)), "the dock has 4 places"},
		{"onto a part", w.Move(1, 40), "mill slot 1 (40) holds c"},
		{"into a full gripper", w.Move(1, Gripper), "the gripper holds b"},
		{"from nothing", w.Move(2, 3), "no part at dock 2 (2)"},
		{"no such place", w.Move(1, 99), "no place has number 99"},
		{"no such part", w.MoveID("z", 2), "no part z"},
		{"same id", w.Put(2, "a", ""), "used already"},
		{"nothing to remove", second(w.Remove(2)), "no part at dock 2 (2)"},
		{"mark nothing", w.MarkBad("z", true), "no part z"},
		{"to the exit", w.Move(1, 90), ""},
		{"onto the floor", w.Move(40, Floor), ""},
		{"up again", w.MoveID("c", 40), ""},
		{"where it is", w.MoveID("c", 40), ""},
		{"away", second(w.Remove(Gripper)), ""},
	} {
		if (c.err == nil) != (c.want == "") || c.err != nil && !strings.Contains(c.err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, c.err, c.want)
		}
	}
	equal(t, "parts", where(w), "a@90 b@away c@40")
	equal(t, "part at", []string{w.PartAt(90), w.PartAt(40), w.PartAt(1)}, []string{"a", "c", ""})
	equal(t, "no violations", violations(w), "")
}

func second[T any](_ T, err error) error { return err }

func TestOptionsRefused(t *testing.T) {
	for _, c := range []struct {
		want string
		o    Options
	}{
		{"both dock 2 and buffer 1", Options{Dock: Row{1, 2}, Buffer: Row{2, 1}}},
		{"both buffer 1 and exit", Options{Buffer: Row{2, 1}, Exit: 2}},
		{"both exit and station 2", Options{Exit: 2, Stations: []uint16{2}}},
		{"both station 2 and s", Options{Stations: []uint16{2}, Scanners: []ScannerOptions{{Name: "s", Place: 2}}}},
		{"both exit and m slot 2", Options{Exit: 2, Machines: []MachineOptions{{Name: "m", First: 1, Slots: 2}}}},
		{"number 0", Options{Dock: Row{0, 1}}},
		{"number 65536", Options{Dock: Row{65535, 2}}},
		{"17 slots", Options{Machines: []MachineOptions{{Name: "m", First: 1, Slots: 17}}}},
		{"used twice", Options{Machines: []MachineOptions{{Name: RobotName, First: 1}}}},
		{"empty or", Options{Scanners: []ScannerOptions{{Place: 1}}}},
		{"overlap", Options{Robot: RobotOptions{Modbus: ModbusOptions{Command: 10, Status: 15}}}},
		{"above register 65535", Options{Robot: RobotOptions{Modbus: ModbusOptions{Command: 65531}}}},
		{"speed -1", Options{Speed: -1}},
		{"listen", Options{Robot: RobotOptions{Modbus: ModbusOptions{Listen: "no port"}}}},
	} {
		if w, err := Start(c.o); err == nil {
			w.Close()
			t.Errorf("accepted, want %q", c.want)
		} else if !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
}

// After Close nothing listens and nothing moves; the truth stays.
func TestClose(t *testing.T) {
	w := cell(t, nil)
	put(t, w, "a@1")
	w.Robot().SetFaults(RobotFaults{StickBeforePick: 1})
	p := dial(t, &w.Robot().Controller, patience)
	p.command(1, 1, 1, 40)
	w.Close()
	w.Close()
	if conn, err := net.Dial("tcp", w.Robot().Address()); err == nil {
		conn.Close()
		t.Fatal("connected")
	}
	if w.Robot().Restore() == nil {
		t.Fatal("restored a closed cell")
	}
	equal(t, "truth", w.Truth().Actions[0].Outcome, Running)
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if err := w.Wait(ctx, func(Truth) bool { return false }); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatal(err)
	}
}

// The same seed gives the same strikes, whatever other faults are on; strikes end at their limit.
func TestChance(t *testing.T) {
	throw := func(seed uint64, other float64, limit int) []bool {
		w := &World{o: Options{Seed: seed}, truth: newRecord()}
		c := newChance(w, "x")
		c.limit(limit)
		var hits []bool
		for range 64 {
			if other > 0 {
				c.strikes("other", other)
			}
			hits = append(hits, c.strikes("this", 0.5))
		}
		return hits
	}
	equal(t, "same seed", throw(1, 0.5, 0), throw(1, 0, 0))
	if slices.Equal(throw(1, 0, 0), throw(2, 0, 0)) {
		t.Fatal("another seed, the same strikes")
	}
	n := 0
	for _, hit := range throw(1, 0, 3) {
		if hit {
			n++
		}
	}
	equal(t, "strikes", n, 3)
}

// What a long run forgets, and what it never does: counts, the first violations, parts that are in the cell.
func TestTruthIsBounded(t *testing.T) {
	w := cell(t, func(o *Options) { o.TruthSize = 2 })
	put(t, w, "stays@2")
	p := dial(t, &w.Robot().Controller, patience)
	for no := uint32(1); no <= 7; no++ {
		if err := w.Put(1, string(rune('a'+no)), ""); err != nil {
			t.Fatal(err)
		}
		p.command(no, 1, 1, 90)
		p.settled()
		p.command(no, 1, 1, 90) // ignored
	}
	for range 4 {
		w.Machine("mill").Fail(1)
		w.lock()
		w.violate(Violation{Kind: BadCommand})
		w.unlock()
	}
	truth := w.Truth()
	if n := len(truth.Actions); n < 2 || n > 4 || truth.Actions[n-1].No != 7 {
		t.Fatal(truth.Actions)
	}
	if n := len(truth.Ignored); n < 2 || n > 4 {
		t.Fatal(truth.Ignored)
	}
	equal(t, "kept", []any{len(truth.Executed), len(truth.Violations), truth.Parts["stays"].At}, []any{7, 2, Place(2)})
	if n := len(truth.Parts); n > 5 || truth.Parts["h"].At != 90 {
		t.Fatal(w.Snapshot())
	}
}
