package tool

import (
	"testing"

	"surehand/internal/term"
)

// Only a line that is wholly understood says something about a number.
func TestAnswersOfAMarker(t *testing.T) {
	for line, want := range map[string]answer{
		"NONE": {state: stateNone}, "DONE 7": {state: stateDone, no: 7}, "BUSY 4294967295": {state: stateBusy, no: 4294967295}, "VOID 1": {state: stateVoid, no: 1},
		"OLD 7": {state: stateOld, no: 7}, "UNKNOWN 0": {state: stateUnknown}, "UNKNOWN 7": {state: stateUnknown, no: 7},
		"FAIL 7": {state: stateFailed, no: 7}, "FAIL 7 no contact, twice": {state: stateFailed, no: 7, reason: "no contact, twice"},
	} {
		if got, err := parse(line); err != nil || got != want {
			t.Errorf("%q: %+v, %v", line, got, err)
		}
	}
	for _, line := range []string{"", " ", "DONE", "DONE ", "DONE 0", "DONE x", "DONE +7", "DONE -7", "DONE 4294967296", "DONE 7 A", "DONE  7", "done 7", " DONE 7", "NONE 0",
		"UNKNOWN", "BUSY 0", "VOID 0", "FAIL 0 x", "FAIL", "7", "DONE 0x7", "DONE 7\r"} {
		if got, err := parse(line); err == nil {
			t.Errorf("%q: %+v", line, got)
		}
	}
}

// Numbers are compared as serial numbers, and 0 is before all of them.
func TestWhatAMarkerStillMayBegin(t *testing.T) {
	const last = 4294967295
	for _, c := range []struct {
		has, no         uint32
		before, forgets bool // may no begin; does a marker that shows has know less than one that showed no
	}{
		{0, 1, true, true}, {0, last, true, true}, {0, 1 << 31, true, true}, {6, 7, true, true}, {last, 1, true, true},
		{7, 7, false, false}, {8, 7, false, false}, {1, last, false, false},
	} {
		a := answer{state: stateDone, no: c.has}
		if a.before(c.no) != c.before || a.forgets(c.no) != c.forgets {
			t.Errorf("%d then %d: before %t, forgets %t", c.has, c.no, a.before(c.no), a.forgets(c.no))
		}
	}
	if (answer{}).forgets(0) {
		t.Error("a marker that showed nothing has forgotten something")
	}
}

func TestReadingsOfAMarker(t *testing.T) {
	for line, want := range map[string]term.Reading{
		"NONE": {}, "DONE 7": {Echo: 7, Ended: true}, "FAIL 7 x": {Echo: 7, Failed: true}, "VOID 7": {Echo: 7, Void: true}, "BUSY 7": {Echo: 7, Busy: true}, "UNKNOWN 7": {Echo: 7},
	} {
		a, err := parse(line)
		want.Reached, want.Ready = true, true
		if got := a.reading(); err != nil || got != want {
			t.Errorf("%q reads %+v", line, got)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, line := range []string{"NONE", "DONE 7", "FAIL 7 no contact", "UNKNOWN 0", "BUSY", "VOID 07", "\xff"} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		a, err := parse(line)
		if err == nil && (a.no == 0 && a.state != stateNone && a.state != stateUnknown || a.reason != "" && a.state != stateFailed) {
			t.Errorf("%q means %+v", line, a)
		}
		if err != nil && a != (answer{}) {
			t.Errorf("%q means nothing, and %+v", line, a)
		}
	})
}
