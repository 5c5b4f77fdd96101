package line

import (
	"bufio"
	"io"
	"net"
	"strings"
	"testing"
	"time"
)

// say makes one request of its own connection, and gives what comes before it is closed from our side.
func say(t *testing.T, m *Marker, line string, answers int) string {
	t.Helper()
	conn, err := net.Dial("tcp", m.Address())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(patience))
	if _, err := io.WriteString(conn, line); err != nil {
		t.Fatal(err)
	}
	in := bufio.NewReader(conn)
	said := ""
	for range answers {
		line, err := in.ReadString('\n')
		if err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		said += line
	}
	_ = conn.(*net.TCPConn).CloseWrite()
	rest, err := io.ReadAll(in)
	if err != nil {
		t.Fatal(err)
	}
	return said + string(rest)
}

// markingCell is a cell with a marker at station 82 and part a held there.
func markingCell(t *testing.T, change func(*MarkerOptions)) (*World, *Marker) {
	t.Helper()
	o := MarkerOptions{Name: "marker", Place: 82, MarkTime: time.Millisecond}
	if change != nil {
		change(&o)
	}
	w := cell(t, func(all *Options) { all.Markers = []MarkerOptions{o} })
	put(t, w, "a@1")
	p := dial(t, &w.Robot().Controller, patience)
	p.command(1, 2, 1, 82)
	p.settled()
	return w, w.Marker("marker")
}

func TestMarker(t *testing.T) {
	type exchange struct{ request, answer string }
	restart := func(forget ...Memory) func(*testing.T, *World, *Marker) {
		return func(t *testing.T, _ *World, m *Marker) {
			m.SetFaults(MarkerFaults{})
			if err := m.Restart(forget...); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, c := range []struct {
		name       string
		faults     MarkerFaults
		before     []exchange
		then       func(*testing.T, *World, *Marker)
		after      []exchange
		marks      string // on the part
		violations string
	}{
		{"nothing yet", MarkerFaults{}, []exchange{{"LAST", "NONE"}}, nil, nil, "", ""},
		{"a mark", MarkerFaults{}, []exchange{{"MARK 7 A.1", "DONE 7"}, {"LAST", "DONE 7"}}, nil, nil, "A.1", ""},
		{"with spaces and a carriage return", MarkerFaults{}, []exchange{{"MARK 7 A 1\r", "DONE 7"}}, nil, nil, "A 1", ""},
		{"a number that is not newer", MarkerFaults{}, []exchange{{"MARK 7 A.1", "DONE 7"}, {"MARK 7 A.1", "OLD 7"}, {"MARK 6 B", "OLD 7"}, {"LAST", "DONE 7"}}, nil, nil, "A.1", ""},
		{"numbers go round", MarkerFaults{}, []exchange{{"MARK 4294967295 A", "DONE 4294967295"}, {"MARK 1 B", "DONE 1"}}, nil, nil, "A B", ""},
		{"withdrawn", MarkerFaults{}, []exchange{{"VOID 7", "VOID 7"}, {"MARK 7 A.1", "OLD 7"}, {"LAST", "VOID 7"}, {"MARK 8 A.1", "DONE 8"}}, nil, nil, "A.1", ""},
		{"withdrawn too late", MarkerFaults{}, []exchange{{"MARK 7 A.1", "DONE 7"}, {"VOID 7", "DONE 7"}, {"VOID 3", "DONE 7"}}, nil, nil, "A.1", ""},
		{"refused", MarkerFaults{Refuse: 1}, []exchange{{"MARK 7 A.1", "FAIL 7 refused"}, {"LAST", "FAIL 7 refused"}, {"VOID 7", "FAIL 7 refused"}}, nil, nil, "", ""},
		{"failed", MarkerFaults{Fail: 1}, []exchange{{"MARK 7 A.1", "FAIL 7 no contact"}}, nil, nil, "", ""},
		{"busy, and free at last", MarkerFaults{Stick: 1, LoseAnswer: 1}, []exchange{{"MARK 7 A.1", ""}, {"LAST", "BUSY 7"}, {"MARK 8 B", ""}, {"VOID 8", "BUSY 7"}, {"VOID 7", "BUSY 7"}},
			func(_ *testing.T, _ *World, m *Marker) { m.Free() }, []exchange{{"LAST", "DONE 7"}}, "A.1", ""},
		{"interrupted", MarkerFaults{Stick: 1, LoseAnswer: 1}, []exchange{{"MARK 7 A.1", ""}}, restart(),
			[]exchange{{"LAST", "UNKNOWN 7"}, {"VOID 7", "UNKNOWN 7"}, {"MARK 7 A.1", "OLD 7"}}, "", ""},
		{"its memory outlives a restart", MarkerFaults{}, []exchange{{"MARK 7 A.1", "DONE 7"}}, restart(), []exchange{{"LAST", "DONE 7"}}, "A.1", ""},
		{"without memory it knows nothing", MarkerFaults{}, []exchange{{"MARK 7 A.1", "DONE 7"}}, restart(ForgetEcho),
			[]exchange{{"LAST", "UNKNOWN 0"}, {"VOID 8", "UNKNOWN 8"}, {"MARK 9 B", "DONE 9"}, {"VOID 10", "VOID 10"}}, "A.1 B", ""},
		{"answered twice", MarkerFaults{Doubled: 1}, []exchange{{"LAST", "NONE\nNONE"}}, nil, nil, "", ""},
		{"hangs up", MarkerFaults{HangUp: 1}, []exchange{{"MARK 7 A.1", ""}}, nil, nil, "A.1", ""},
		{"silent", MarkerFaults{Silent: 1}, []exchange{{"MARK 7 A.1", ""}, {"LAST", ""}}, nil, nil, "", ""},
		{"garbled", MarkerFaults{Garble: 1}, []exchange{{"LAST", "?!#"}}, nil, nil, "", ""},
		{"not understood", MarkerFaults{}, []exchange{{"MARK 0 A", ""}, {"MARK 7", ""}, {"VOID x", ""}, {"PRINT", ""}, {"LAST 7", ""}, {"MARK 4294967296 A", ""}, {"LAST", "NONE"}}, nil, nil, "", ""},
		{"twice the same text", MarkerFaults{}, []exchange{{"MARK 7 A.1", "DONE 7"}, {"MARK 8 A.1", "DONE 8"}}, nil, nil, "A.1 A.1", string(MarkedTwice)},
		{"nothing is held there", MarkerFaults{}, nil, func(t *testing.T, w *World, _ *Marker) {
			if err := w.Move(Gripper, 1); err != nil {
				t.Fatal(err)
			}
		}, []exchange{{"MARK 7 A.1", "DONE 7"}}, "", string(MarkedNothing)},
		{"taken away while it is marked", MarkerFaults{Stick: 1, LoseAnswer: 1}, []exchange{{"MARK 7 A.1", ""}}, func(t *testing.T, w *World, m *Marker) {
			if err := w.Move(Gripper, 1); err != nil {
				t.Fatal(err)
			}
			m.Free()
		}, []exchange{{"LAST", "DONE 7"}}, "", string(MarkMoved)},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w, m := markingCell(t, nil)
			m.SetFaults(c.faults)
			play := func(script []exchange) {
				for _, e := range script {
					lines := 0
					if e.answer != "" {
						lines = 1
					}
					got := say(t, m, e.request+"\n", lines)
					equal(t, e.request, strings.TrimSuffix(got, "\n"), e.answer)
				}
			}
			play(c.before)
			if c.then != nil {
				c.then(t, w, m)
			}
			play(c.after)
			truth := await(t, w, "no mark is under way", func(t Truth) bool {
				return len(t.Marks) == 0 || t.Marks[len(t.Marks)-1].Outcome != Running
			})
			equal(t, "on the part", strings.Join(truth.Parts["a"].Marks, " "), c.marks)
			equal(t, "violations", violations(w), c.violations)
		})
	}
}

// A MARK that comes after its number was withdrawn, and after its client has gone, begins nothing.
func TestALateMarkBeginsNothing(t *testing.T) {
	w, m := markingCell(t, nil)
	m.SetFaults(MarkerFaults{LateMark: 1, LateMarkBy: 50 * time.Millisecond, Strikes: 1})
	equal(t, "no answer", say(t, m, "MARK 7 A.1\n", 0), "")
	equal(t, "withdrawn", say(t, m, "VOID 7\n", 1), "VOID 7\n")
	truth := await(t, w, "it came", func(t Truth) bool { return len(t.Ignored) == 1 })
	equal(t, "ignored", []any{truth.Ignored[0].No, len(truth.Marks), len(truth.Parts["a"].Marks)}, []any{uint32(7), 0, 0})
}

func TestWhatAMarkedPartWentThrough(t *testing.T) {
	w, m := markingCell(t, func(o *MarkerOptions) { o.Last = 3 })
	equal(t, "remembered", say(t, m, "LAST\n", 1), "DONE 3\n")
	equal(t, "marked", say(t, m, "MARK 7 A.1\n", 1), "DONE 7\n")
	truth := w.Truth()
	equal(t, "its route", truth.Parts["a"].Route(), "1 gripper marker=A.1")
	equal(t, "counted", truth.Started["marker"], map[uint32]int{7: 1})
	mark := truth.Marks[0]
	equal(t, "the mark", []any{mark.Marker, mark.No, mark.Text, mark.Part, mark.Outcome}, []any{"marker", uint32(7), "A.1", "a", Done})
	if !strings.Contains(w.Describe(), `mark 7 by marker: "A.1" on part "a": done`) {
		t.Error(w.Describe())
	}
}
