package line

import (
	"fmt"
	"time"
)

const (
	robotStatusSize = 10
	robotGo         = 5 // offset of go in the command block
)

// Codes of robot actions.
const (
	codeMove    = 1
	codePresent = 2
	codePlace   = 3
)

// What part_at says.
const (
	partUnknown   = 0
	partAtFrom    = 1
	partInGripper = 2
	partAtTo      = 3
)

// Errors the robot ends an action with by itself. RobotFaults.ErrorCode is another.
const (
	ErrorNothingPicked uint16 = 21 // from was empty
	ErrorGripperFull   uint16 = 22 // before the pick
	ErrorOccupied      uint16 = 23 // there is a part at to
	ErrorGripperEmpty  uint16 = 24 // before the place
	ErrorBadCommand    uint16 = 25 // no such code or place
)

// Robot is the one robot of the cell, with one gripper.
type Robot struct {
	Controller
	faults RobotFaults
	chance *chance

	doing    *doing
	done     bool
	err      uint16
	partAt   uint16
	position Place // 0: elsewhere

	mqtt     *mqttWire // nil: Modbus
	voided   bool      // the number echo was made void
	requests int       // that came by MQTT and could have had an effect
}

// doing is the action under way: steps, each of which may move a part, start a wait, or end the action.
type doing struct {
	action  *Action
	plan    robotPlan
	steps   []func(*doing)
	waiting bool // for the end of a travel
	stuck   bool // until Free
}

func newRobot(w *World) *Robot {
	r := &Robot{
		Controller: newController(w, RobotName, w.o.Robot.Modbus, robotGo, robotStatusSize),
		faults:     RobotFaults{}.withDefaults(), chance: newChance(w, RobotName),
	}
	if o := w.o.Robot.MQTT; o != nil {
		r.mqtt = newMQTTWire(r, *o)
		r.program, r.link = r, &mqttLink{wire: r.mqtt}
		return r
	}
	r.connect(r)
	return r
}

// SetFaults sets how the robot misbehaves from the next action on.
func (r *Robot) SetFaults(f RobotFaults) {
	r.w.lock()
	defer r.w.unlock()
	r.faults = f.withDefaults()
	r.chance.limit(f.Strikes)
}

// Free lets a robot that is stuck go on.
func (r *Robot) Free() {
	r.w.lock()
	defer r.w.unlock()
	if r.doing != nil {
		r.doing.stuck = false
		r.resume()
	}
}

// Stuck says whether the robot waits for Free.
func (r *Robot) Stuck() bool {
	r.w.lock()
	defer r.w.unlock()
	return r.doing != nil && r.doing.stuck
}

func (r *Robot) scan() {
	if r.mqtt != nil {
		r.mqtt.drain()
		return
	}
	rising := r.risingGo()
	if !r.seenGo {
		r.done, r.err = false, 0
	}
	if !rising {
		return
	}
	no := r.commandNumber()
	switch {
	case !r.ready:
		r.w.ignore(r.name, no, "not ready")
	case r.doing != nil:
		r.w.ignore(r.name, no, "busy")
	case !newer(no, r.echo):
		r.w.ignore(r.name, no, fmt.Sprintf("not newer than %d", r.echo))
	case r.chance.strikes("refuse_begin", r.faults.RefuseBegin):
		r.w.ignore(r.name, no, "refused")
	default:
		r.begin(no, r.command[2], r.command[3], r.command[4])
	}
}

func (r *Robot) begin(no uint32, code, from, to uint16) {
	r.echo, r.partAt, r.position = no, partUnknown, 0
	r.done, r.err, r.voided = false, 0, false
	a := &Action{No: no, Code: code, From: from, To: to, Begun: time.Now(), Outcome: Running}
	r.w.truth.actions = append(r.w.truth.actions, a)
	r.w.truth.Executed[no]++
	r.w.touch()
	if r.w.truth.Executed[no] > 1 {
		r.violate(a, ActionTwice, 0, nil)
	}
	d := &doing{action: a, plan: r.throwPlan(code)}
	r.doing = d
	switch {
	case r.meansNothing(a):
		d.steps = []func(*doing){r.refuse}
	case a.Code == codeMove:
		d.steps = []func(*doing){r.travelHalf, r.stickBeforePick, r.pick, r.stickAfterPick, r.travelHalf, r.putDown, r.stickBeforeEnd, r.succeedAtTo}
	case a.Code == codePresent:
		d.steps = []func(*doing){r.travelHalf, r.stickBeforePick, r.pick, r.stickAfterPick, r.travelHalf, r.present, r.stickBeforeEnd, r.succeedHolding}
	case a.Code == codePlace:
		d.steps = []func(*doing){r.travelHalf, r.travelHalf, r.stickBeforePick, r.putDown, r.stickBeforeEnd, r.succeedAtTo}
	}
	r.advance(d)
}

func (r *Robot) meansNothing(a *Action) bool {
	noFrom, noTo := r.w.spots[Place(a.From)] == nil, r.w.spots[Place(a.To)] == nil
	switch a.Code {
	case codeMove, codePresent:
		return noFrom || noTo || a.From == a.To
	case codePlace:
		return a.From != 0 || noTo
	}
	return true
}

// stopped says that the arm stands still, whatever it does.
func (r *Robot) stopped() bool { return r.held() || !r.ready }

// advance takes steps until one of them waits, or the action has ended.
func (r *Robot) advance(d *doing) {
	for r.doing == d && !d.waiting && !d.stuck && !r.stopped() {
		step := d.steps[0]
		d.steps = d.steps[1:]
		step(d)
	}
}

func (r *Robot) resume() {
	if r.doing != nil {
		r.advance(r.doing)
	}
}

func (r *Robot) halt() {
	if d := r.doing; d != nil {
		d.action.Outcome, d.action.Ended = Abandoned, time.Now()
		r.doing = nil
	}
	r.done, r.err, r.position = false, 0, 0
	if r.mqtt != nil {
		r.mqtt.powerLost()
	}
}

func (r *Robot) forget(memory Memory) {
	if memory == ForgetEcho {
		r.echo, r.partAt, r.voided = 0, partUnknown, false
	}
}

func (r *Robot) status() []uint16 {
	first, second := r.words(r.echo)
	return []uint16{
		first, second, bit(r.doing != nil), bit(r.done), r.err, r.partAt, bit(r.w.gripper != nil), uint16(r.position),
		r.heartbeat(), bit(r.ready),
	}
}

// end shows how the action ended: part_at, then done or error, then busy. On Modbus done and error last no longer than go.
func (r *Robot) end(d *doing, err, partAt uint16) {
	r.doing, r.partAt, r.err, r.done = nil, partAt, err, err == 0
	if r.mqtt == nil && !r.seenGo {
		r.done, r.err = false, 0
	}
	d.action.Ended, d.action.Error, d.action.PartAt, d.action.Outcome = time.Now(), err, partAt, Done
	if err != 0 {
		d.action.Outcome = Failed
	}
	r.w.touch()
}

func (r *Robot) violate(a *Action, kind Kind, at Place, p *Part) {
	v := Violation{Kind: kind, Endpoint: r.name, No: a.No, Place: at}
	if p != nil {
		v.Part = p.ID
	}
	r.w.violate(v)
}
