package simulator

import (
	"hash/fnv"
	"math/rand/v2"
	"time"
)

// Faults are the ways a device misbehaves. A float is the rate, 0 to 1, at which the fault strikes each time it could;
// 1 is always. They can be changed while the device runs.
type Faults struct {
	// Requests.
	DropRequest  float64 `json:"dropRequest,omitempty"`  // the device never sees it
	ForgetDedupe float64 `json:"forgetDedupe,omitempty"` // forgets that it knows this commandId, at each copy
	Reject       float64 `json:"reject,omitempty"`       // refuses with RejectCode
	RejectCode   string  `json:"rejectCode,omitempty"`   // hardware_fault
	BusyTimes    int     `json:"busyTimes,omitempty"`    // answers busy to the first n copies of each command

	// Answers.
	DropAck        float64       `json:"dropAck,omitempty"`
	DoubleAck      float64       `json:"doubleAck,omitempty"`
	DelayAck       float64       `json:"delayAck,omitempty"`
	AckDelay       time.Duration `json:"ackDelay,omitempty"`
	WrongCommandID float64       `json:"wrongCommandId,omitempty"` // in the answer

	// The physical effect.
	Silent             float64       `json:"silent,omitempty"`             // acts, but neither answers nor reports
	Lie                float64       `json:"lie,omitempty"`                // answers and reports the target, but does nothing
	AckWithoutApply    float64       `json:"ackWithoutApply,omitempty"`    // accepts, then never does or says anything
	HardwareFault      float64       `json:"hardwareFault,omitempty"`      // accepts, then answers failed
	Late               float64       `json:"late,omitempty"`               // answers, acts and reports LateBy after deadlineAt
	LateBy             time.Duration `json:"lateBy,omitempty"`             // 200 ms
	RebootBeforeApply  float64       `json:"rebootBeforeApply,omitempty"`  // accepted, then power is lost
	RebootAfterApply   float64       `json:"rebootAfterApply,omitempty"`   // done, then power is lost before the report
	RebootBeforeAnswer float64       `json:"rebootBeforeAnswer,omitempty"` // done at once, then power is lost before any answer

	// State reports.
	DropReport   float64       `json:"dropReport,omitempty"`
	DoubleReport float64       `json:"doubleReport,omitempty"`
	DelayReport  float64       `json:"delayReport,omitempty"`
	ReportDelay  time.Duration `json:"reportDelay,omitempty"`
	Contradict   float64       `json:"contradict,omitempty"` // reports another value than it has

	// Telemetry.
	DropTelemetry      float64       `json:"dropTelemetry,omitempty"`
	DuplicateTelemetry float64       `json:"duplicateTelemetry,omitempty"`
	ReorderTelemetry   float64       `json:"reorderTelemetry,omitempty"` // sent after the next one
	RetainTelemetry    float64       `json:"retainTelemetry,omitempty"`
	StaleTelemetry     float64       `json:"staleTelemetry,omitempty"` // carries a ts that is StaleBy old
	StaleBy            time.Duration `json:"staleBy,omitempty"`        // 1 h
	OfflineBatch       bool          `json:"offlineBatch,omitempty"`   // keeps readings while offline, sends arrays when back

	// Any message but the status.
	MalformedJSON float64 `json:"malformedJson,omitempty"`
	Oversize      float64 `json:"oversize,omitempty"` // more than 1 MiB
	NULBytes      float64 `json:"nulBytes,omitempty"` // raw and escaped, by turns of the dice
	NaN           float64 `json:"nan,omitempty"`
	DeepNesting   float64 `json:"deepNesting,omitempty"`
	WrongType     float64 `json:"wrongType,omitempty"`
	ForeignSerial float64 `json:"foreignSerial,omitempty"` // published onto ForeignTarget's topic
	ForeignTarget string  `json:"foreignTarget,omitempty"` // somebody-else
}

func (f Faults) withDefaults() Faults {
	setDefault(&f.RejectCode, codeHardwareFault)
	setDefault(&f.LateBy, 200*time.Millisecond)
	setDefault(&f.StaleBy, time.Hour)
	setDefault(&f.ForeignTarget, "somebody-else")
	return f
}

// dice hold one stream of chance for each fault of a device. A stream is drawn from at every chance the fault has, even
// at rate 0, so the n-th chance falls the same way whatever else is switched on.
type dice struct {
	seed    uint64
	serial  string
	streams map[string]*rand.Rand
}

func newDice(seed uint64, serial string) *dice {
	return &dice{seed: seed, serial: serial, streams: map[string]*rand.Rand{}}
}

func (d *dice) stream(name string) *rand.Rand {
	r := d.streams[name]
	if r == nil {
		h := fnv.New64a()
		h.Write([]byte(d.serial + "/" + name))
		r = rand.New(rand.NewPCG(d.seed, h.Sum64()))
		d.streams[name] = r
	}
	return r
}

func (d *dice) roll(name string, rate float64) bool {
	return d.stream(name).Float64() < rate
}

// plan is everything that chance decides about one accepted command, thrown in one fixed order when it is accepted.
type plan struct {
	silent, lie, ackWithoutApply, hardwareFault           bool
	late                                                  bool
	rebootBeforeApply, rebootAfterApply, rebootUnanswered bool
	dropReport, doubleReport, delayReport, contradict     bool
}

func (d *Device) throwPlan(f Faults) plan {
	return plan{
		silent:            d.dice.roll("silent", f.Silent),
		lie:               d.dice.roll("lie", f.Lie),
		ackWithoutApply:   d.dice.roll("ack_without_apply", f.AckWithoutApply),
		hardwareFault:     d.dice.roll("hardware_fault", f.HardwareFault),
		late:              d.dice.roll("late", f.Late),
		rebootBeforeApply: d.dice.roll("reboot_before_apply", f.RebootBeforeApply),
		rebootAfterApply:  d.dice.roll("reboot_after_apply", f.RebootAfterApply),
		rebootUnanswered:  d.dice.roll("reboot_before_answer", f.RebootBeforeAnswer),
		dropReport:        d.dice.roll("drop_report", f.DropReport),
		doubleReport:      d.dice.roll("double_report", f.DoubleReport),
		delayReport:       d.dice.roll("delay_report", f.DelayReport),
		contradict:        d.dice.roll("contradict", f.Contradict),
	}
}
