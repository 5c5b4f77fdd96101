package line

import (
	"bufio"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"
)

const maxRequest = 256 // bytes, with the line feed

// Marker puts text on the part in the gripper while the robot holds it at the marker's station. It keeps its last number
// and how that ended, over a restart too.
type Marker struct {
	w      *World
	o      MarkerOptions
	link   *link
	faults MarkerFaults
	chance *chance

	off    bool
	last   uint32
	ended  string // how last ended, as on the wire; empty while it is being marked
	reason string // of FAIL
	doing  *marking
}

// marking is one mark under way.
type marking struct {
	mark  *Mark
	part  *Part
	fail  bool
	stuck bool
	tell  func(line string) // who asked for it
}

// markerRequest is one line of a client.
type markerRequest struct {
	word, text string
	no         uint32
}

func newMarker(w *World, o MarkerOptions) *Marker {
	m := &Marker{w: w, o: o, faults: MarkerFaults{}.withDefaults(), chance: newChance(w, o.Name), ended: "NONE"}
	if o.Last != 0 {
		m.last, m.ended = o.Last, "DONE"
	}
	m.link = newLink(o.Listen, m.serve)
	return m
}

// Name is the endpoint's name in Truth.
func (m *Marker) Name() string { return m.o.Name }

// Address is where it listens, or listened and will again: "127.0.0.1:port".
func (m *Marker) Address() string { return m.link.Address() }

// Cut closes the port and every connection; a mark under way goes on.
func (m *Marker) Cut() { m.link.stop() }

// Restore opens the same port again.
func (m *Marker) Restore() error { return m.link.start() }

// SetFaults sets how the marker misbehaves from the next request on.
func (m *Marker) SetFaults(f MarkerFaults) {
	m.w.lock()
	defer m.w.unlock()
	m.faults = f.withDefaults()
	m.chance.limit(f.Strikes)
}

// Free lets a mark that is stuck end.
func (m *Marker) Free() {
	m.w.lock()
	defer m.w.unlock()
	if d := m.doing; d != nil && d.stuck {
		d.stuck = false
		m.end(d)
	}
}

// PowerOff ends a mark under way, which puts nothing on the part, and closes the port.
func (m *Marker) PowerOff() {
	m.w.lock()
	if d := m.doing; d != nil {
		d.mark.Outcome, d.mark.Ended = Abandoned, time.Now()
		m.doing, m.ended = nil, "UNKNOWN"
	}
	m.off = true
	m.w.touch()
	m.w.unlock()
	m.link.stop()
}

// PowerOn starts it again with its memory; with ForgetEcho it has lost that, and says so.
func (m *Marker) PowerOn(forget ...Memory) error {
	m.w.lock()
	m.off = false
	for _, memory := range forget {
		if memory == ForgetEcho {
			m.last, m.ended = 0, "UNKNOWN"
		}
	}
	m.w.touch()
	m.w.unlock()
	return m.link.start()
}

// Restart is PowerOff and PowerOn.
func (m *Marker) Restart(forget ...Memory) error {
	m.PowerOff()
	return m.PowerOn(forget...)
}

// serve is called without the World's mutex: one request, one answer, and the connection ends with its client.
func (m *Marker) serve(conn net.Conn, _ int) {
	out := &session{conn: conn}
	in := bufio.NewReaderSize(conn, maxRequest)
	line, err := in.ReadSlice('\n')
	if err != nil {
		return
	}
	m.w.lock()
	m.take(strings.TrimSuffix(strings.TrimSuffix(string(line), "\n"), "\r"), out)
	m.w.unlock()
	_, _ = in.ReadByte() // there is no second request
}

// take throws the chance of a request, and does it now or later.
func (m *Marker) take(line string, out *session) {
	r, understood := parseMarkerRequest(line)
	if !understood {
		m.w.ignore(m.o.Name, 0, fmt.Sprintf("request %q", line))
		return
	}
	f, c, mark := m.faults, m.chance, r.word == "MARK"
	strikes := func(name string, rate float64, could bool) bool { return could && c.strikes(name, rate) }
	answer := m.answerer(out, mark)
	switch {
	case strikes("silent", f.Silent, true), strikes("lose_mark", f.LoseMark, mark):
	case strikes("late_mark", f.LateMark, mark):
		m.w.after(f.LateMarkBy, func() { m.do(r, answer) })
	case strikes("refuse", f.Refuse, mark) && m.begins(r.no):
		m.last, m.ended, m.reason = r.no, "FAIL", "refused"
		answer(m.said())
	default:
		m.do(r, answer)
	}
}

// answerer sends one line, as the faults of this request want it. A line is short: sending it does not wait.
func (m *Marker) answerer(out *session, mark bool) func(string) {
	f, c := m.faults, m.chance
	strikes := func(name string, rate float64, could bool) bool { return could && c.strikes(name, rate) }
	switch {
	case strikes("lose_answer", f.LoseAnswer, mark), strikes("drop_answers", f.DropAnswers, true):
		return func(string) {}
	case strikes("late_answer", f.LateAnswer, mark):
		return func(line string) { time.AfterFunc(f.LateAnswerBy, func() { out.send([]byte(line + "\n")) }) }
	case strikes("doubled", f.Doubled, true):
		return func(line string) { out.send([]byte(line + "\n" + line + "\n")) }
	case strikes("garble", f.Garble, true):
		return func(string) { out.send([]byte("?!#\n")) }
	case strikes("hang_up", f.HangUp, true):
		return func(string) { _ = out.conn.Close() }
	}
	return func(line string) { out.send([]byte(line + "\n")) }
}

func parseMarkerRequest(line string) (r markerRequest, ok bool) {
	word, rest, _ := strings.Cut(line, " ")
	r.word = word
	if word == "LAST" {
		return r, rest == ""
	}
	digits, text, more := strings.Cut(rest, " ")
	no, err := strconv.ParseUint(digits, 10, 32)
	r.no, r.text = uint32(no), text
	return r, err == nil && no != 0 && (word == "MARK" && text != "" || word == "VOID" && !more)
}

// begins tells whether a number may begin or be withdrawn now.
func (m *Marker) begins(no uint32) bool {
	return m.doing == nil && (m.last == 0 || newer(no, m.last))
}

// do carries a request out; what it leads to is written down before anybody can see it.
func (m *Marker) do(r markerRequest, answer func(string)) {
	switch {
	case m.off:
		m.w.ignore(m.o.Name, r.no, "it is off")
	case r.word == "LAST":
		answer(m.said())
	case r.word == "VOID":
		m.withdraw(r.no)
		answer(m.said())
	case m.doing != nil:
		m.w.ignore(m.o.Name, r.no, "busy")
		answer(fmt.Sprintf("BUSY %d", m.last))
	case !m.begins(r.no):
		m.w.ignore(m.o.Name, r.no, fmt.Sprintf("not newer than %d", m.last))
		answer(fmt.Sprintf("OLD %d", m.last))
	default:
		m.begin(r, answer)
	}
}

// withdraw makes sure that a number never begins. One that has lost its memory cannot say that it has not begun.
func (m *Marker) withdraw(no uint32) {
	if !m.begins(no) {
		return
	}
	if m.last != 0 || m.ended == "NONE" {
		m.ended = "VOID"
	}
	m.last = no
	m.w.touch()
}

// said is the answer to LAST.
func (m *Marker) said() string {
	switch {
	case m.doing != nil:
		return fmt.Sprintf("BUSY %d", m.last)
	case m.ended == "NONE":
		return "NONE"
	case m.ended == "FAIL":
		return fmt.Sprintf("FAIL %d %s", m.last, m.reason)
	}
	return fmt.Sprintf("%s %d", m.ended, m.last)
}

func (m *Marker) begin(r markerRequest, answer func(string)) {
	d := &marking{mark: &Mark{Marker: m.o.Name, No: r.no, Text: r.text, Begun: time.Now(), Outcome: Running}, tell: answer}
	if p := m.w.gripper; p != nil && m.w.robot.position == Place(m.o.Place) {
		d.part, d.mark.Part = p, p.ID
	} else {
		m.violate(d, MarkedNothing)
	}
	d.fail, d.stuck = m.chance.strikes("fail", m.faults.Fail), m.chance.strikes("stick", m.faults.Stick)
	m.last, m.ended, m.doing = r.no, "", d
	started := m.w.truth.Started[m.o.Name]
	if started[r.no]++; started[r.no] > 1 {
		m.violate(d, MarkTwice)
	}
	m.w.truth.marks = append(m.w.truth.marks, d.mark)
	m.w.touch()
	if !d.stuck {
		m.w.after(m.w.scaled(m.o.MarkTime), func() { m.end(d) })
	}
}

// end puts the text on the part, unless the power was lost meanwhile.
func (m *Marker) end(d *marking) {
	if m.doing != d {
		return
	}
	m.doing, m.ended, d.mark.Ended = nil, "DONE", time.Now()
	moved := d.part != nil && (m.w.gripper != d.part || m.w.robot.position != Place(m.o.Place))
	switch {
	case d.fail:
		m.ended, m.reason = "FAIL", "no contact"
		d.mark.Outcome = Failed
	case moved:
		m.violate(d, MarkMoved)
		d.mark.Outcome = Done
	default:
		d.mark.Outcome = Done
		m.put(d)
	}
	m.w.touch()
	d.tell(m.said())
}

func (m *Marker) put(d *marking) {
	p := d.part
	if p == nil {
		return
	}
	for _, text := range p.Marks {
		if text == d.mark.Text {
			m.violate(d, MarkedTwice)
		}
	}
	p.Marks = append(p.Marks, d.mark.Text)
	p.Steps = append(p.Steps, Step{At: time.Now(), Place: p.At, By: m.o.Name, Worked: true, Text: d.mark.Text})
}

func (m *Marker) violate(d *marking, kind Kind) {
	m.w.violate(Violation{Kind: kind, Endpoint: m.o.Name, No: d.mark.No, Place: Place(m.o.Place), Part: d.mark.Part})
}

func (m *Marker) describe(b *strings.Builder) {
	state := ""
	if m.off {
		state = " off"
	}
	fmt.Fprintf(b, "%s%s: %s\n", m.o.Name, state, m.said())
}
