package line

import (
	"bufio"
	"io"
	"net"
	"strings"
	"testing"
	"time"
)

func scan(t *testing.T, s *Scanner, trigger string) (net.Conn, *bufio.Reader) {
	t.Helper()
	conn, err := net.Dial("tcp", s.Address())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(patience))
	if _, err := io.WriteString(conn, trigger); err != nil {
		t.Fatal(err)
	}
	return conn, bufio.NewReader(conn)
}

func TestScanner(t *testing.T) {
	for _, c := range []struct {
		name, scanner, trigger string
		faults                 ScannerFaults
		away                   bool // the robot is not at the station
		answer                 string
		line, part             string // in Truth
	}{
		{"code", "scanner", "TRIG\n", ScannerFaults{}, false, "code-a\n", "code-a", "a"},
		{"another at the same station", "second", "GO\n", ScannerFaults{}, false, "code-a\n", "code-a", "a"},
		{"robot elsewhere", "scanner", "TRIG\n", ScannerFaults{}, true, "NOREAD\n", "NOREAD", ""},
		{"not read", "scanner", "TRIG\n", ScannerFaults{NoRead: 1}, false, "NOREAD\n", "NOREAD", "a"},
		{"wrong format", "scanner", "TRIG\n", ScannerFaults{WrongFormat: 1}, false, "?!#\n", "?!#", "a"},
		{"too long", "scanner", "TRIG\n", ScannerFaults{TooLong: 1}, false, strings.Repeat("x", 1000) + "\n", strings.Repeat("x", 1000), "a"},
		{"doubled", "scanner", "TRIG\n", ScannerFaults{Doubled: 1}, false, "code-a\ncode-a\n", "code-a", "a"},
		{"late", "scanner", "TRIG\n", ScannerFaults{Late: 1, LateBy: time.Millisecond}, false, "code-a\n", "code-a", "a"},
		{"two triggers, the first unanswered", "scanner", "TRIG\nTRIG\n", ScannerFaults{Silent: 1, Strikes: 1}, false, "code-a\n", "", "a"},
		{"hangs up", "scanner", "TRIG\n", ScannerFaults{HangUp: 1}, false, "", "", "a"},
		{"not its trigger", "second", "TRIG\nGO\n", ScannerFaults{}, false, "code-a\n", "code-a", "a"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := cell(t, nil)
			put(t, w, "a@1")
			p := dial(t, &w.Robot().Controller, patience)
			to := uint16(80)
			if c.away {
				to = 81
			}
			p.command(1, 2, 1, to)
			p.settled()
			s := w.Scanner(c.scanner)
			s.SetFaults(c.faults)
			conn, in := scan(t, s, c.trigger)
			got := make([]byte, len(c.answer))
			if _, err := io.ReadFull(in, got); err != nil {
				t.Fatal(err)
			}
			_ = conn.(*net.TCPConn).CloseWrite()
			rest, err := io.ReadAll(in)
			equal(t, "answer, and nothing more", []any{string(got), string(rest), err}, []any{c.answer, "", nil})
			r := w.Truth().Readings[0]
			equal(t, "truth", []any{r.Scanner, r.Connection, r.Part, r.Line}, []any{c.scanner, 1, c.part, c.line})
		})
	}
}

func TestScannerCut(t *testing.T) {
	w := cell(t, nil)
	s := w.Scanner("scanner")
	s.Cut()
	if conn, err := net.Dial("tcp", s.Address()); err == nil {
		conn.Close()
		t.Fatal("connected")
	}
	if err := s.Restore(); err != nil {
		t.Fatal(err)
	}
	_, in := scan(t, s, "TRIG\n")
	line, err := in.ReadString('\n')
	equal(t, "answer", []any{line, err}, []any{"NOREAD\n", nil})
}
