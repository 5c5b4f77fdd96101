package line

import "time"

// A fault of type float64 is the rate, 0 to 1, at which it strikes each time it could; 1 is always. Faults replace those
// set before. With Strikes above 0, that many faults of the set strike and then none any more.

// LinkFaults are how the connections of a robot or machine misbehave. A write that is executed has its effect whether
// or not the client hears of it.
type LinkFaults struct {
	DropRequest     float64       // any request is neither executed nor answered: a link that is up but silent
	DropWrite       float64       // the same, of writes only
	LateWrite       float64       // a write is executed, and answered, LateWriteBy after it came, even if the client has gone
	LateWriteBy     time.Duration // 200 ms
	Busy            float64       // any request is not executed, and answered with exception 6
	LoseAnswer      float64       // any request is executed, but not answered
	LoseWriteAnswer float64       // the same, of writes only
	LoseGoAnswer    float64       // the same, of writes that raise go
	LateAnswer      float64       // any request is executed, and answered LateAnswerBy later; others may overtake it
	LateAnswerBy    time.Duration // 200 ms
	HangUp          float64       // any request is executed, but instead of an answer the connection is closed
	Strikes         int
}

// MQTTFaults are how the MQTT wire of the robot misbehaves. Actions are the requests that begin one.
type MQTTFaults struct {
	LoseRequest, LoseAction float64       // never reaches the program
	LateRequest, LateAction float64       // reaches it LateBy later; others may overtake it
	DoubleRequest           float64       // reaches it twice
	LoseState               float64       // a state is not sent
	LateState               float64       // is sent LateBy later; others may overtake it
	DoubleState             float64       // is sent twice
	LateBy                  time.Duration // 200 ms
	SilentAfterBegin        float64       // once an action has begun, no state is sent for SilentFor
	SilentFor               time.Duration // 500 ms
	Strikes                 int
}

// RobotFaults are how the robot misbehaves in an action. Chance is thrown when the action begins.
type RobotFaults struct {
	RefuseBegin    float64       // the rising edge of go begins nothing
	FailBeforePick float64       // ends with ErrorCode; the part is still at from (place: in the gripper)
	FailAfterPick  float64       // ends with ErrorCode; the part is in the gripper
	LosePart       float64       // the part falls to the floor, after the pick or at the place; ends with ErrorCode, part_at 0
	ErrorCode      uint16        // 7
	Slow           float64       // each half of the action takes SlowBy longer
	SlowBy         time.Duration // 200 ms
	// It stops, busy, until Free is called: before the pick (place: before the part is put down), with the part in the
	// gripper, or at the end, when all has physically happened but nothing of it is shown.
	StickBeforePick, StickAfterPick, StickBeforeEnd float64
	Strikes                                         int
}

// MachineFaults are how a machine misbehaves. Chance about a cycle is thrown when it starts.
type MachineFaults struct {
	LoseStart    float64       // the rising edge of go does nothing
	RefuseStart  float64       // start_result 2
	Slow         float64       // the cycle takes SlowBy longer
	SlowBy       time.Duration // 200 ms
	NeverFinish  float64       // the cycle ends only by Finish
	FaultInCycle float64       // the cycle ends in fault FaultCode instead of with done
	FaultCode    uint16        // 9
	FailPart     float64       // a machine that inspects judges fail, whatever the part is
	DoubleDone   float64       // done rises a second time for the cycle after it was acknowledged; same cycle counter
	FlickerDone  float64       // done rises, falls without an acknowledgement, rises again; same cycle counter
	FlickerAfter time.Duration // 10 ms
	StuckCounter float64       // the cycle counter does not count this cycle

	StaleDone        bool   // done stays 1 although it was acknowledged
	HeartbeatStopped bool   // while the program goes on
	OccupiedInverted uint16 // bits of occupied that show the opposite
	OccupiedFlaps    uint16 // bits of occupied that show the opposite in every second reading
	Strikes          int    // of those with a rate
}

// ScannerFaults are how a scanner misbehaves. One reading has one fault, the first in this order that strikes.
type ScannerFaults struct {
	Silent      float64 // no answer
	NoRead      float64 // NOREAD, although there is a part
	WrongFormat float64 // answers WrongLine
	WrongLine   string  // "?!#"
	TooLong     float64 // a line of 1 000 bytes
	Doubled     float64 // answers the line twice
	HangUp      float64 // closes the connection instead of an answer
	// Late may come with each of the others: answers LateBy later.
	Late    float64
	LateBy  time.Duration // 200 ms
	Strikes int
}

// MarkerFaults are how a marker misbehaves. Chance is thrown for each request; the first in this order that strikes it,
// and the first that strikes its answer, are the ones that it has.
type MarkerFaults struct {
	Silent     float64       // any request is neither executed nor answered
	LoseMark   float64       // the same, of MARK only
	LateMark   float64       // MARK is executed LateMarkBy after it came, even if the client has gone
	LateMarkBy time.Duration // 200 ms
	Refuse     float64       // MARK ends with FAIL at once
	Fail       float64       // a mark that has begun ends with FAIL
	Stick      float64       // a mark that has begun ends only by Free

	LoseAnswer   float64       // MARK is executed, but not answered
	DropAnswers  float64       // any request is executed, but not answered
	LateAnswer   float64       // MARK is executed, and answered LateAnswerBy later
	LateAnswerBy time.Duration // 200 ms
	Doubled      float64       // any answer comes twice
	Garble       float64       // any answer is a line that means nothing
	HangUp       float64       // any request is executed, but instead of an answer the connection is closed
	Strikes      int
}

func (f MarkerFaults) withDefaults() MarkerFaults {
	setDefault(&f.LateMarkBy, 200*time.Millisecond)
	setDefault(&f.LateAnswerBy, 200*time.Millisecond)
	return f
}

func (f LinkFaults) withDefaults() LinkFaults {
	setDefault(&f.LateWriteBy, 200*time.Millisecond)
	setDefault(&f.LateAnswerBy, 200*time.Millisecond)
	return f
}

func (f MQTTFaults) withDefaults() MQTTFaults {
	setDefault(&f.LateBy, 200*time.Millisecond)
	setDefault(&f.SilentFor, 500*time.Millisecond)
	return f
}

func (f RobotFaults) withDefaults() RobotFaults {
	setDefault(&f.ErrorCode, 7)
	setDefault(&f.SlowBy, 200*time.Millisecond)
	return f
}

func (f MachineFaults) withDefaults() MachineFaults {
	setDefault(&f.SlowBy, 200*time.Millisecond)
	setDefault(&f.FaultCode, 9)
	setDefault(&f.FlickerAfter, 10*time.Millisecond)
	return f
}

func (f ScannerFaults) withDefaults() ScannerFaults {
	setDefault(&f.WrongLine, "?!#")
	setDefault(&f.LateBy, 200*time.Millisecond)
	return f
}

// robotPlan is everything that chance decides about one action, thrown in one fixed order when it begins.
type robotPlan struct {
	failBeforePick, failAfterPick, losePart         bool
	stickBeforePick, stickAfterPick, stickBeforeEnd bool
	extra                                           time.Duration
}

// A place picks nothing: it must not use up the strike of a fault that waits for a pick.
func (r *Robot) throwPlan(code uint16) robotPlan {
	f, c := r.faults, r.chance
	p := robotPlan{
		failBeforePick: c.strikes("fail_before_pick", f.FailBeforePick), failAfterPick: c.strikes("fail_after_pick", f.FailAfterPick),
		losePart:        c.strikes("lose_part", f.LosePart),
		stickBeforePick: c.strikes("stick_before_pick", f.StickBeforePick),
		stickAfterPick:  code != codePlace && c.strikes("stick_after_pick", f.StickAfterPick),
		stickBeforeEnd:  c.strikes("stick_before_end", f.StickBeforeEnd),
	}
	if c.strikes("slow", f.Slow) {
		p.extra = f.SlowBy
	}
	return p
}

// cyclePlan is the same for one cycle of a machine.
type cyclePlan struct {
	never, fault, failPart, double, flicker, stuckCounter bool
	extra                                                 time.Duration
}

func (m *Machine) throwPlan() cyclePlan {
	f, c := m.faults, m.chance
	p := cyclePlan{
		never: c.strikes("never_finish", f.NeverFinish), fault: c.strikes("fault_in_cycle", f.FaultInCycle),
		failPart: c.strikes("fail_part", f.FailPart), double: c.strikes("double_done", f.DoubleDone),
		flicker: c.strikes("flicker_done", f.FlickerDone), stuckCounter: c.strikes("stuck_counter", f.StuckCounter),
	}
	if c.strikes("slow", f.Slow) {
		p.extra = f.SlowBy
	}
	return p
}
