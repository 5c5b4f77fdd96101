package line

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"math"
	"time"
)

// The robot's other wire: requests and states over MQTT instead of registers. What the program does with them is here;
// mqttlink.go carries them.

const (
	maxInbox     = 64 // requests that wait for a frozen program
	maxStates    = 256
	requestsName = "request"
	statesName   = "state"
)

// methods that begin an action, and their codes.
var methods = map[string]uint16{"move": codeMove, "present": codePresent, "place": codePlace}

// robotRequest is what the other side asks for.
type robotRequest struct {
	Method   string    `json:"method"`
	ActionNo uint32    `json:"actionNo"`
	From     int       `json:"from"`
	To       int       `json:"to"`
	NotAfter time.Time `json:"notAfter"`
	Token    string    `json:"token"`
}

// robotState is everything that the robot shows, taken in one moment.
type robotState struct {
	Echo     uint32       `json:"echo"`
	Busy     bool         `json:"busy"`
	Result   string       `json:"result"`
	Error    uint16       `json:"error"`
	PartAt   string       `json:"partAt"`
	Gripper  bool         `json:"gripper"`
	Position int          `json:"position"`
	Ready    bool         `json:"ready"`
	Answers  robotAnswers `json:"answers,omitzero"`
	Seq      uint64       `json:"seq"`
	BootID   string       `json:"bootId"`
}

// robotAnswers names the last request that the program has looked at.
type robotAnswers struct {
	Token    string `json:"token"`
	Method   string `json:"method"`
	ActionNo uint32 `json:"actionNo,omitempty"`
	Refused  string `json:"refused,omitempty"` // why it had no effect
}

// mqttWire is the program's side of the MQTT wire; the World's mutex owns it.
type mqttWire struct {
	robot  *Robot
	o      MQTTOptions
	faults MQTTFaults
	chance *chance
	boot   string

	answers robotAnswers
	inbox   []robotRequest
	last    robotState   // shown last
	queue   []robotState // to be sent
	wake    chan struct{}
	silent  time.Time // no state is sent before
	seq     uint64
}

func newMQTTWire(r *Robot, o MQTTOptions) *mqttWire {
	return &mqttWire{robot: r, o: o, faults: MQTTFaults{}.withDefaults(), chance: newChance(r.w, RobotName+"/mqtt"), boot: rand.Text(),
		wake: make(chan struct{}, 1)}
}

// SetMQTTFaults sets how the MQTT wire misbehaves from the next message on. The robot must have one.
func (r *Robot) SetMQTTFaults(f MQTTFaults) {
	r.w.lock()
	defer r.w.unlock()
	r.mqtt.faults = f.withDefaults()
	r.mqtt.chance.limit(f.Strikes)
}

// Requests counts the requests that came and could have had an effect: all but ask.
func (r *Robot) Requests() int {
	r.w.lock()
	defer r.w.unlock()
	return r.requests
}

// receive lets a request meet its faults. It is called without the World's mutex.
func (m *mqttWire) receive(payload []byte) {
	var q robotRequest
	w := m.robot.w
	w.lock()
	defer w.unlock()
	if err := json.Unmarshal(payload, &q); err != nil {
		w.ignore(RobotName, 0, "not understood: "+err.Error())
		return
	}
	if q.Method != "ask" {
		m.robot.requests++
	}
	f := m.faults
	copies := 1
	if m.chance.strikes("double_request", f.DoubleRequest) {
		copies = 2
	}
	switch {
	case m.chance.strikes("lose_request", f.LoseRequest), methods[q.Method] != 0 && m.chance.strikes("lose_action", f.LoseAction):
		return
	case m.chance.strikes("late_request", f.LateRequest), methods[q.Method] != 0 && m.chance.strikes("late_action", f.LateAction):
		power := m.robot.power
		w.after(f.LateBy, func() {
			if m.robot.power == power {
				m.deliver(q, copies)
			}
		})
	default:
		m.deliver(q, copies)
	}
}

// deliver hands a request to the program, or keeps it until a frozen one goes on.
func (m *mqttWire) deliver(q robotRequest, copies int) {
	for range copies {
		switch {
		case m.robot.off:
		case !m.robot.frozen:
			m.take(q)
		case len(m.inbox) < maxInbox:
			m.inbox = append(m.inbox, q)
			m.robot.w.touch()
		}
	}
}

// drain takes what came while the program stood still.
func (m *mqttWire) drain() {
	waiting := m.inbox
	m.inbox = nil
	for _, q := range waiting {
		m.take(q)
	}
}

// take carries out one request, or says why not.
func (m *mqttWire) take(q robotRequest) {
	r := m.robot
	m.answers = robotAnswers{Token: q.Token, Method: q.Method, ActionNo: q.ActionNo}
	r.w.touch()
	switch q.Method {
	case "ask":
		return
	case "release":
		if r.echo == q.ActionNo && r.doing == nil {
			r.done, r.err = false, 0
		}
		return
	}
	if why := m.refuses(q); why != "" {
		m.answers.Refused = why
		r.w.ignore(r.name, q.ActionNo, why)
		return
	}
	if q.Method == "void" {
		r.echo, r.voided, r.done, r.err, r.partAt = q.ActionNo, true, false, 0, partUnknown
		return
	}
	code, from, to := methods[q.Method], q.From, q.To
	if from < 0 || from > math.MaxUint16 || to < 0 || to > math.MaxUint16 {
		code, from, to = 0, 0, 0
	}
	if m.chance.strikes("silent_after_begin", m.faults.SilentAfterBegin) {
		m.silent = time.Now().Add(m.faults.SilentFor)
	}
	r.begin(q.ActionNo, code, uint16(from), uint16(to))
}

// refuses says why a request has no effect, or nothing. Ready or not, a number can be made void.
func (m *mqttWire) refuses(q robotRequest) string {
	r := m.robot
	switch {
	case !newer(q.ActionNo, r.echo):
		return fmt.Sprintf("not newer than %d", r.echo)
	case r.doing != nil:
		return "busy"
	case q.Method == "void":
		return ""
	case !m.o.WrongClock && !q.NotAfter.IsZero() && time.Now().After(q.NotAfter):
		return "late"
	case !r.ready:
		return "not ready"
	case r.chance.strikes("refuse_begin", r.faults.RefuseBegin):
		return "refused"
	}
	return ""
}

// powerLost forgets what a controller does not keep.
func (m *mqttWire) powerLost() {
	m.answers, m.inbox, m.queue, m.seq, m.last, m.silent = robotAnswers{}, nil, nil, 0, robotState{}, time.Time{}
}

// show queues the state when it has changed, or anyway. A program that stands still shows nothing.
func (m *mqttWire) show(anyway bool) {
	r := m.robot
	if r.held() || r.w.closed {
		return
	}
	s := m.state()
	same := m.last
	same.Seq = s.Seq
	if s == same && !anyway {
		return
	}
	m.seq++
	s.Seq = m.seq
	m.last = s
	if time.Now().Before(m.silent) {
		return
	}
	if len(m.queue) == maxStates {
		m.queue = m.queue[1:]
	}
	m.queue = append(m.queue, s)
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

func (m *mqttWire) state() robotState {
	r := m.robot
	s := robotState{Echo: r.echo, Busy: r.doing != nil, Result: "none", Error: r.err, Gripper: r.w.gripper != nil,
		PartAt: [...]string{"unknown", "from", "gripper", "to"}[r.partAt], Position: int(r.position), Ready: r.ready, Answers: m.answers,
		BootID: fmt.Sprintf("%s-%d", m.boot, r.power)}
	switch {
	case r.err != 0:
		s.Result = "error"
	case r.done:
		s.Result = "done"
	case r.voided:
		s.Result = "void"
	}
	return s
}

// next are the states to be sent now, each with its fate.
func (m *mqttWire) next() (states []fatedState) {
	for _, s := range m.queue {
		f, c := m.faults, m.chance
		fate := fatedState{state: s, copies: 1}
		if c.strikes("double_state", f.DoubleState) {
			fate.copies = 2
		}
		if c.strikes("late_state", f.LateState) {
			fate.late = f.LateBy
		}
		if !c.strikes("lose_state", f.LoseState) {
			states = append(states, fate)
		}
	}
	m.queue = nil
	return states
}

type fatedState struct {
	state  robotState
	copies int
	late   time.Duration
}
