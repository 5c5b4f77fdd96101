package line

import (
	"bufio"
	"fmt"
	"net"
	"strings"
	"time"
)

const maxTrigger = 256 // bytes

// Scanner reads the code of the part in the gripper while the robot holds it at the scanner's station.
type Scanner struct {
	w      *World
	o      ScannerOptions
	link   *link
	faults ScannerFaults
	chance *chance
}

func newScanner(w *World, o ScannerOptions) *Scanner {
	s := &Scanner{w: w, o: o, faults: ScannerFaults{}.withDefaults(), chance: newChance(w, o.Name)}
	s.link = newLink(o.Listen, s.serve)
	return s
}

// Name is the endpoint's name in Truth.
func (s *Scanner) Name() string { return s.o.Name }

// Address is where it listens, or listened and will again: "127.0.0.1:port".
func (s *Scanner) Address() string { return s.link.Address() }

// Cut closes the port and every connection.
func (s *Scanner) Cut() { s.link.stop() }

// Restore opens the same port again.
func (s *Scanner) Restore() error { return s.link.start() }

// SetFaults sets how the scanner misbehaves from the next trigger on.
func (s *Scanner) SetFaults(f ScannerFaults) {
	s.w.lock()
	defer s.w.unlock()
	s.faults = f.withDefaults()
	s.chance.limit(f.Strikes)
}

// serve is called without the World's mutex. It takes trigger after trigger, so that a client that wrongly keeps its
// connection meets late answers, and Reading.Connection shows it.
func (s *Scanner) serve(conn net.Conn, number int) {
	out := &session{conn: conn}
	in := bufio.NewReaderSize(conn, maxTrigger)
	for {
		line, err := in.ReadSlice('\n')
		if err != nil {
			return
		}
		if trigger := strings.TrimSuffix(string(line), "\n"); trigger != s.o.Trigger {
			s.w.lock()
			s.w.ignore(s.o.Name, 0, fmt.Sprintf("trigger %q", trigger))
			s.w.unlock()
			continue
		}
		if !s.read(out, number) {
			return
		}
	}
}

// read answers one trigger and says whether the connection goes on. It is called without the World's mutex.
func (s *Scanner) read(out *session, number int) bool {
	s.w.lock()
	wait := s.w.scaled(s.o.ScanTime)
	answer, goOn := s.answer(number)
	if s.chance.strikes("late", s.faults.Late) {
		wait += s.faults.LateBy
	}
	s.w.unlock()
	switch {
	case answer == "":
	case wait > 0:
		time.AfterFunc(wait, func() { out.send([]byte(answer)) })
	default:
		out.send([]byte(answer))
	}
	return goOn
}

// answer reads what is there now and notes it, before anybody can see it.
func (s *Scanner) answer(number int) (answer string, goOn bool) {
	reading := Reading{At: time.Now(), Scanner: s.o.Name, Connection: number, Line: "NOREAD"}
	if p := s.w.gripper; p != nil && s.w.robot.position == Place(s.o.Place) {
		reading.Part, reading.Line = p.ID, p.Code
	}
	copies := 1
	goOn = true
	switch f := s.faults; {
	case s.chance.strikes("silent", f.Silent):
		copies = 0
	case s.chance.strikes("no_read", f.NoRead):
		reading.Line = "NOREAD"
	case s.chance.strikes("wrong_format", f.WrongFormat):
		reading.Line = f.WrongLine
	case s.chance.strikes("too_long", f.TooLong):
		reading.Line = strings.Repeat("x", 1000)
	case s.chance.strikes("doubled", f.Doubled):
		copies = 2
	case s.chance.strikes("hang_up", f.HangUp):
		copies, goOn = 0, false
	}
	if copies == 0 {
		reading.Line = ""
	}
	s.w.truth.Readings = append(s.w.truth.Readings, reading)
	s.w.touch()
	return strings.Repeat(reading.Line+"\n", copies), goOn
}
