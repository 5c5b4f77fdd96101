package term

import (
	"fmt"
	"time"
)

// CellConfig is the plant file's word on the cell itself: stored as one document in the row of the cell.
type CellConfig struct {
	Dock    PlaceRow    `json:"dock"`
	Buffer  PlaceRow    `json:"buffer"`
	Exit    int         `json:"exit"`              // its number on the wire
	Options CellOptions `json:"options,omitempty"` // what the plant decides
}

// PlaceRow is a row of places: place n has the number First + n - 1 on the wire. Count is 1 to 64.
type PlaceRow struct {
	Count int `json:"count"`
	First int `json:"first"`
}

// CellOptions of a plant.
type CellOptions struct {
	// AutomaticRelease lets the cell go on after a restart without a person when nothing was found.
	AutomaticRelease bool `json:"automaticRelease,omitempty"`
	// KeepPausedInMachine leaves a paused order's parts in their machines; else they are unloaded to their own place.
	KeepPausedInMachine bool `json:"keepPausedInMachine,omitempty"`
	// RefillAt is how many buffer places must be free before parts are brought from the dock, and RefillBy how
	// many are brought then. Default 4 and 4, at most the buffer (C-17).
	RefillAt int `json:"refillAt,omitempty"`
	RefillBy int `json:"refillBy,omitempty"`
}

// Refill gives both refill numbers with their defaults, for a buffer of n places.
func (o CellOptions) Refill(n int) (at, by int) {
	at, by = o.RefillAt, o.RefillBy
	if at == 0 {
		at = 4
	}
	if by == 0 {
		by = 4
	}
	return min(at, n), min(by, n)
}

// DriverConfig says how an equipment is reached. Which fields count depends on Type.
type DriverConfig struct {
	Type    string `json:"type"`              // see DriverTypes
	Address string `json:"address,omitempty"` // host:port; of OPC UA the endpoint, opc.tcp://host:port/path; none for MQTT

	// Modbus: unit id 0 to 255, addresses of the two blocks of docs/drivers.md, order of the words of a number.
	Unit      int    `json:"unit,omitempty"`
	Command   int    `json:"command,omitempty"`
	Status    int    `json:"status,omitempty"`
	WordOrder string `json:"wordOrder,omitempty"` // high (default) or low

	// OPC UA: the URI of the namespace of the machine's nodes, and what the string ids of its nodes begin with.
	Namespace string `json:"namespace,omitempty"`
	Node      string `json:"node,omitempty"`

	// MQTT: what the topics of the equipment begin with. Default: the prefix of all topics, "/equipment/" and its id. The
	// broker is that of the process.
	Topic string `json:"topic,omitempty"`

	// Scanner: what triggers it and what an answer looks like (a regular expression).
	Trigger string `json:"trigger,omitempty"`
	Format  string `json:"format,omitempty"`

	// Poll is how often the state is read. Default 100 ms, 10 ms to 5 s.
	Poll Duration `json:"poll,omitempty"`
	// Stale is after which time without a fresh reading the equipment counts as offline. Default 3 s.
	Stale Duration `json:"stale,omitempty"`
	// Timeout of one request on the wire. Default 500 ms.
	Timeout Duration `json:"timeout,omitempty"`
}

// DriverTypes lists the drivers by the kind of equipment that they drive.
func DriverTypes(k EquipmentKind) []string {
	switch k {
	case KindMachine:
		return []string{"modbus-machine", "opcua-machine"}
	case KindRobot:
		return []string{"modbus-robot", "mqtt-robot"}
	case KindScanner:
		return []string{"tcp-scanner"}
	case KindMarker:
		return []string{"tcp-marker"}
	}
	return nil
}

// WithDefaults fills what is zero.
func (d DriverConfig) WithDefaults() DriverConfig {
	set := func(d *Duration, v time.Duration) {
		if *d == 0 {
			*d = Duration(v)
		}
	}
	set(&d.Poll, 100*time.Millisecond)
	set(&d.Stale, 3*time.Second)
	set(&d.Timeout, 500*time.Millisecond)
	if d.WordOrder == "" {
		d.WordOrder = "high"
	}
	if d.Trigger == "" {
		d.Trigger = "TRIG"
	}
	return d
}

// EquipmentConfig is the plant file's word on one equipment.
type EquipmentConfig struct {
	// Group is what routes name: any machine of the group will do. Default: the equipment's own name.
	Group string `json:"group"`
	// Slots of a machine, 1 to 16; 0 for robot and tools.
	Slots int `json:"slots,omitempty"`
	// Batch: all occupied slots are worked on together and end together.
	Batch bool `json:"batch,omitempty"`
	// MaxWait is how long a batch machine waits for more parts after the first one. Default 10 min.
	MaxWait Duration `json:"maxWait,omitempty"`
	// First is the number on the wire of slot 1, or of the tool station.
	First int `json:"first,omitempty"`
	// ActionTime is how long one action may take before it counts as unknown: a move, a scan, a start. Default 60 s.
	ActionTime Duration     `json:"actionTime,omitempty"`
	Driver     DriverConfig `json:"driver"`
}

// WithDefaults fills what is zero.
func (c EquipmentConfig) WithDefaults(id EquipmentID) EquipmentConfig {
	if c.Group == "" {
		c.Group = string(id)
	}
	if c.MaxWait == 0 {
		c.MaxWait = Duration(10 * time.Minute)
	}
	if c.ActionTime == 0 {
		c.ActionTime = Duration(time.Minute)
	}
	c.Driver = c.Driver.WithDefaults()
	return c
}

// StepKind of a route step.
type StepKind string

const (
	StepMachine    StepKind = "machine"
	StepInspection StepKind = "inspection"
	StepScan       StepKind = "scan"
	StepMark       StepKind = "mark"
)

func (StepKind) Values() []string { return []string{"machine", "inspection", "scan", "mark"} }

// InMachine tells whether the step is done in a slot, else at a tool with the part in the gripper.
func (k StepKind) InMachine() bool { return k == StepMachine || k == StepInspection }

// Step of a route.
type Step struct {
	Kind    StepKind `json:"kind"`
	Group   string   `json:"group"`             // equipment group, or the tool's group
	Program int      `json:"program,omitempty"` // 0 to 65535, handed to the machine at its start
	// Expected is how long the step takes; the scheduler plans with it. Timeout is after which time without done a
	// person is asked; 0: never.
	Expected Duration `json:"expected,omitempty"`
	Timeout  Duration `json:"timeout,omitempty"`
	// OnFail of an inspection: scrap (default), judge, or rework from step ReworkTo (from 1) at most ReworkLimit times.
	OnFail      string `json:"onFail,omitempty"`
	ReworkTo    int    `json:"reworkTo,omitempty"`
	ReworkLimit int    `json:"reworkLimit,omitempty"`
	// Text that a mark step puts on the part; {job}, {order} and {code} (the last one read) are replaced. Default {job}.
	Text string `json:"text,omitempty"`
}

// StepResult is what one step brought for one part.
type StepResult struct {
	Step      int         `json:"step"` // from 1
	Equipment EquipmentID `json:"equipment"`
	At        time.Time   `json:"at"`
	Cycle     uint32      `json:"cycle,omitempty"` // of the machine, where it counts
	Code      string      `json:"code,omitempty"`  // read by a scanner
	Pass      string      `json:"pass,omitempty"`  // pass, fail; empty: not said
	Data      string      `json:"data,omitempty"`
	By        string      `json:"by,omitempty"` // the person who said so; empty: the machine
}

// JobContext is what is known of a part beyond where it is.
type JobContext struct {
	Code    string       `json:"code,omitempty"` // last code read
	Results []StepResult `json:"results,omitempty"`
	Reworks int          `json:"reworks,omitempty"`
	Out     string       `json:"out,omitempty"` // why it left other than finished
}

// MachineState is the state register of a machine.
type MachineState string

const (
	MachineNotReady MachineState = "not_ready"
	MachineIdle     MachineState = "idle"
	MachineRunning  MachineState = "running"
	MachineDone     MachineState = "done"
	MachineFault    MachineState = "fault"
)

// Slots is a set of slots: bit n - 1 stands for slot n.
type Slots uint32

// Has tells whether slot n (from 1) is in the set.
func (s Slots) Has(n int) bool { return n >= 1 && n <= 32 && s&(1<<(n-1)) != 0 }

// With adds slot n (1 to 32).
func (s Slots) With(n int) Slots { return s | 1<<(n-1) }

// Reading is what one poll of a machine, the robot or a tool said. Fields that its kind does not have are zero.
type Reading struct {
	// Reached: the equipment answered, and its heartbeat is alive. If not, the rest is the last that was read.
	Reached bool `json:"reached"`
	// Error says why it is not reached.
	Error string `json:"error,omitempty"`

	// Machine and robot; Echo also of a marker.
	Ready bool   `json:"ready,omitempty"` // robot: automatic mode; machine: not "not ready"
	Fault int    `json:"fault,omitempty"`
	Echo  uint32 `json:"echo,omitempty"` // number of the last start or action that was begun
	Go    bool   `json:"go,omitempty"`   // our go, read back

	// Machine.
	State       MachineState `json:"state,omitempty"`
	Running     Slots        `json:"running,omitempty"`
	Occupied    Slots        `json:"occupied,omitempty"`
	ReadySlots  Slots        `json:"readySlots,omitempty"`
	Done        bool         `json:"done,omitempty"`
	DoneSlot    int          `json:"doneSlot,omitempty"`
	Cycle       uint32       `json:"cycle,omitempty"`
	Pass        string       `json:"pass,omitempty"`        // pass, fail or empty
	StartResult int          `json:"startResult,omitempty"` // of Echo: 0 none, StartRunning or StartRefused

	// Robot; the first two also of a marker.
	Busy     bool   `json:"busy,omitempty"`
	Ended    bool   `json:"ended,omitempty"` // the action Echo has ended with success
	PartAt   PartAt `json:"partAt,omitempty"`
	Gripper  bool   `json:"gripper,omitempty"`
	Position int    `json:"position,omitempty"`

	// Marker: the mark Echo is surely not on the part, because the marker failed, or because it was withdrawn before it
	// began and can begin no more. Without these, Ended and Busy, the marker was interrupted and does not know.
	Failed bool `json:"failed,omitempty"`
	Void   bool `json:"void,omitempty"`
}

// Values of Reading.StartResult.
const (
	StartRunning = 1 // the slots of the start are being processed, or were
	StartRefused = 2
)

// Predicates is the discrete part of a reading that a finding and an answer are bound to: no ages, counters of
// cycles or analog values.
func (r Reading) Predicates() string {
	if !r.Reached {
		return "unreachable"
	}
	said := fmt.Sprintf("ready=%t fault=%d echo=%d go=%t state=%s running=%b occupied=%b done=%t/%d busy=%t ended=%t part=%s gripper=%t",
		r.Ready, r.Fault, r.Echo, r.Go, r.State, r.Running, r.Occupied, r.Done, r.DoneSlot, r.Busy, r.Ended, r.PartAt, r.Gripper)
	if r.Failed || r.Void {
		said += fmt.Sprintf(" failed=%t void=%t", r.Failed, r.Void)
	}
	return said
}

// Idle tells whether a robot or machine surely does nothing of what it was last asked, and cannot begin it: it was
// reached, is not busy, and go is off.
func (r Reading) Idle() bool { return r.Reached && !r.Busy && !r.Go && r.Running == 0 }

// NumberNewer tells whether number b is newer than a, as serial numbers of 32 bits (RFC 1982): b is 1 to 2^31 - 1 ahead
// of a. For numbers of actions, of which 0 is none, ask MayBegin.
func NumberNewer(a, b uint32) bool { return b != a && b-a < 1<<31 }

// MayBegin tells whether action number no may still begin where echo was the last one. An echo of 0 means none yet: every
// number is newer. 0 itself is no number.
func MayBegin(echo, no uint32) bool { return no != 0 && (echo == 0 || NumberNewer(echo, no)) }

// PlanCandidate is one move that the scheduler looked at.
type PlanCandidate struct {
	Generator string `json:"generator"` // place, unload, swap, transfer, load, refill, tool, retire
	Job       JobID  `json:"job"`
	From      Place  `json:"from,omitzero"`
	To        Place  `json:"to,omitzero"` // left out while none is chosen, as of a part that has to wait
	// Reason why it was rejected; empty: it could be done now.
	Reason string `json:"reason,omitempty"`
}

// Plan explains one decision of the scheduler: kept with the action that it led to, or with the cell while it waits.
type Plan struct {
	Policy     string          `json:"policy"`
	Chosen     int             `json:"chosen"` // index of the candidate; -1: wait
	Why        string          `json:"why"`
	Candidates []PlanCandidate `json:"candidates,omitempty"`
	LeftOut    int             `json:"leftOut,omitempty"` // candidates beyond the bound of the record
}
