package line

import (
	"fmt"
	"time"
)

// Options describe one cell. The zero value of each field has the default named at it; a number of a place is 1 to
// 65535 and belongs to one place only.
type Options struct {
	Dock     Row
	Buffer   Row
	Exit     uint16   // takes any number of parts; 0: the cell has none
	Stations []uint16 // tool stations without a scanner of ours
	Robot    RobotOptions
	Machines []MachineOptions
	Scanners []ScannerOptions
	Markers  []MarkerOptions

	// Speed divides the durations of moves, cycles, scans and marks, not those of faults and heartbeats: 1.
	Speed float64
	Seed  uint64
	// PartCode is the readable code of a part that arrives on the n-th pallet (from 1) at a dock place (from 1):
	// "P0001-01".
	PartCode func(pallet, place int) string
	// OnViolation is told each violation once, from any goroutine; it may call the World. nil: only Truth tells.
	OnViolation func(Violation)
	// TruthSize bounds each list in Truth, and the parts remembered after they left: 10 000. The oldest are forgotten
	// once there are twice as many, except violations, of which the first stay. The counts of executed numbers are
	// never forgotten.
	TruthSize int
}

// Row is a row of places numbered First, First+1 and so on. Count 0: there is none.
type Row struct {
	First uint16
	Count int
}

// ModbusOptions are the wire of a robot or machine.
type ModbusOptions struct {
	Listen string // 127.0.0.1:0; the port of the first start is kept
	Unit   uint8  // 1; another unit is answered with exception 11
	// Command and Status are the addresses of the two blocks, from 0. With both 0 the status block is at 100.
	Command, Status uint16
	LowWordFirst    bool
	// Echo is the number that the controller remembers from before the start.
	Echo uint32
	// HeartbeatEvery is the time between two values of the heartbeat: 50 ms.
	HeartbeatEvery time.Duration
}

// RobotOptions describe the robot.
type RobotOptions struct {
	Modbus ModbusOptions
	// MQTT is its wire instead of Modbus; of ModbusOptions only Echo counts then.
	MQTT *MQTTOptions
	// MoveTime is the duration of a whole action: 20 ms. A pick happens half way.
	MoveTime time.Duration
}

// MQTTOptions are the MQTT wire of the robot.
type MQTTOptions struct {
	BrokerURL          string // mqtt://host:port
	Username, Password string
	Topic              string // what its topics begin with
	ClientID           string // "robot " and the topic
	// StateEvery is the time between two states when nothing changes: 250 ms.
	StateEvery time.Duration
	// SessionExpiry above 0 gives it a session at the broker: requests wait there for it while it is away. The contract
	// forbids that.
	SessionExpiry time.Duration
	// WrongClock: it never sees that notAfter is over.
	WrongClock bool
}

// MachineOptions describe one machine.
type MachineOptions struct {
	Name  string // not empty, used once among all endpoints
	First uint16 // place of slot 1; slot n is at First + n - 1
	Slots int    // 1 to 16: 1
	Batch bool   // one cycle for all slots
	// Inspects makes a cycle end with pass or fail; else it ends with none.
	Inspects bool
	// CycleTime is the duration of a cycle: 30 ms.
	CycleTime time.Duration
	// Programs are the durations of the only programs the machine knows. nil: it knows all, at CycleTime.
	Programs map[uint16]time.Duration
	Modbus   ModbusOptions
}

// ScannerOptions describe one scanner.
type ScannerOptions struct {
	Name     string        // not empty, used once among all endpoints
	Place    uint16        // its tool station; several scanners may share one
	Listen   string        // 127.0.0.1:0; the port of the first start is kept
	Trigger  string        // TRIG
	ScanTime time.Duration // from trigger to answer: 0
}

// MarkerOptions describe one marker.
type MarkerOptions struct {
	Name     string        // not empty, used once among all endpoints
	Place    uint16        // its tool station; it may be shared with scanners
	Listen   string        // 127.0.0.1:0; the port of the first start is kept
	MarkTime time.Duration // 20 ms
	// Last is the number that it remembers from before the start, as done.
	Last uint32
}

func (o Options) withDefaults() (Options, error) {
	setDefault(&o.Speed, 1)
	setDefault(&o.TruthSize, 10_000)
	if o.Speed < 0 || o.TruthSize < 0 {
		return o, fmt.Errorf("speed %g and truth size %d must be above 0", o.Speed, o.TruthSize)
	}
	if o.PartCode == nil {
		o.PartCode = func(pallet, place int) string { return fmt.Sprintf("P%04d-%02d", pallet, place) }
	}
	setDefault(&o.Robot.MoveTime, 20*time.Millisecond)
	if err := o.Robot.Modbus.complete(RobotName, robotStatusSize); err != nil {
		return o, err
	}
	if o.Robot.MQTT != nil {
		m := *o.Robot.MQTT // the caller's stays as it is
		setDefault(&m.ClientID, "robot "+m.Topic)
		setDefault(&m.StateEvery, 250*time.Millisecond)
		if m.BrokerURL == "" || m.Topic == "" {
			return o, fmt.Errorf("the robot's MQTT wire needs a broker and a topic")
		}
		o.Robot.MQTT = &m
	}
	names := map[string]bool{RobotName: true}
	// The caller's slices stay as they are.
	o.Machines = append([]MachineOptions(nil), o.Machines...)
	for i := range o.Machines {
		m := &o.Machines[i]
		setDefault(&m.Slots, 1)
		setDefault(&m.CycleTime, 30*time.Millisecond)
		if m.Slots < 1 || m.Slots > 16 {
			return o, fmt.Errorf("machine %s: %d slots: want 1 to 16", m.Name, m.Slots)
		}
		if m.Name == "" || names[m.Name] {
			return o, fmt.Errorf("machine name %q is empty or used twice", m.Name)
		}
		names[m.Name] = true
		if err := m.Modbus.complete(m.Name, machineStatusSize); err != nil {
			return o, err
		}
	}
	o.Scanners = append([]ScannerOptions(nil), o.Scanners...)
	for i := range o.Scanners {
		s := &o.Scanners[i]
		setDefault(&s.Listen, "127.0.0.1:0")
		setDefault(&s.Trigger, "TRIG")
		if s.Name == "" || names[s.Name] {
			return o, fmt.Errorf("scanner name %q is empty or used twice", s.Name)
		}
		names[s.Name] = true
	}
	o.Markers = append([]MarkerOptions(nil), o.Markers...)
	for i := range o.Markers {
		m := &o.Markers[i]
		setDefault(&m.Listen, "127.0.0.1:0")
		setDefault(&m.MarkTime, 20*time.Millisecond)
		if m.Name == "" || names[m.Name] {
			return o, fmt.Errorf("marker name %q is empty or used twice", m.Name)
		}
		names[m.Name] = true
	}
	return o, nil
}

func (o *ModbusOptions) complete(name string, statusSize int) error {
	setDefault(&o.Listen, "127.0.0.1:0")
	setDefault(&o.Unit, 1)
	setDefault(&o.HeartbeatEvery, 50*time.Millisecond)
	if o.Command == 0 && o.Status == 0 {
		o.Status = 100
	}
	command, status := int(o.Command), int(o.Status)
	if command < status+statusSize && status < command+commandSize {
		return fmt.Errorf("%s: command block at %d and status block at %d overlap", name, command, status)
	}
	if max(command+commandSize, status+statusSize) > 1<<16 {
		return fmt.Errorf("%s: a block ends above register 65535", name)
	}
	return nil
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}
