package plc

import (
	"errors"
	"fmt"

	"surehand/internal/plant"
	"surehand/internal/term"
	"surehand/internal/workers"
	"surehand/internal/workers/handshake"
)

// Offsets of the command block: start_no at 0, slot 2, program 3.
const (
	commandSize = 6
	goAt        = 4
	ackAt       = 5
	statusSize  = 14
)

// Driver is a workers.Driver of a machine.
type Driver struct{ *handshake.Driver }

var _ workers.Driver = Driver{}

// New makes a driver. It connects when it runs.
func New(o handshake.Options, t handshake.Transport) (Driver, error) {
	d, err := handshake.New(o, t, machine{})
	return Driver{d}, err
}

// machine is what the words mean.
type machine struct{}

func (machine) Blocks() handshake.Blocks {
	return handshake.Blocks{Command: commandSize, Status: statusSize, GoAt: goAt}
}

func (machine) Read(command, status []uint16, o handshake.Order) (r term.Reading, heartbeat uint16) {
	r = term.Reading{
		Echo: o.Number(status[0:2]), Go: command[goAt] != 0,
		Running: term.Slots(status[3]), Done: status[4] != 0, DoneSlot: int(status[5]), Cycle: o.Number(status[6:8]),
		Occupied: term.Slots(status[8]), Fault: int(status[9]), StartResult: int(status[12]), ReadySlots: term.Slots(status[13]),
	}
	states := []term.MachineState{term.MachineNotReady, term.MachineIdle, term.MachineRunning, term.MachineDone, term.MachineFault}
	r.State = term.MachineNotReady // what is not in the contract cannot be worked with
	if int(status[2]) < len(states) {
		r.State = states[status[2]]
	}
	r.Ready = r.State != term.MachineNotReady
	switch status[11] {
	case 1:
		r.Pass = "pass"
	case 2:
		r.Pass = "fail"
	}
	return r, status[10]
}

func (machine) Command(t workers.Task) ([]uint16, error) {
	switch {
	case t.Type != term.TaskStartMachine:
		return nil, fmt.Errorf("a machine cannot do %s", t.Type)
	case t.Slot < 0 || t.Slot > plant.MaxSlots || t.Program < 0 || t.Program > 1<<16-1:
		return nil, errors.New("slot or program does not fit its word")
	}
	return []uint16{uint16(t.Slot), uint16(t.Program)}, nil
}

func (m machine) Refuses(r term.Reading, t workers.Task) string {
	switch {
	case r.State == term.MachineFault || r.Fault != 0:
		return fmt.Sprintf("the machine is in fault %d", r.Fault)
	case !r.Ready:
		return "the machine is not ready"
	case !m.Still(r, t):
		return fmt.Sprintf("slot %d is running", t.Slot)
	}
	return ""
}

// AtRest: a machine shows nothing that go = 0 takes back.
func (machine) AtRest(term.Reading) bool { return true }

// Still: no slot that the start would run is running. Others may.
func (machine) Still(r term.Reading, t workers.Task) bool {
	if t.Slot == 0 {
		return r.Running == 0
	}
	return !r.Running.Has(t.Slot)
}

// Abandoned: start_result comes with the echo, so there is nothing in between.
func (machine) Abandoned(r term.Reading) bool { return r.StartResult == 0 }

func (machine) Leftover(command []uint16, r term.Reading, _ handshake.Order) (offsets []int) {
	if command[goAt] != 0 {
		offsets = append(offsets, goAt)
	}
	if command[ackAt] != 0 && !r.Done {
		offsets = append(offsets, ackAt)
	}
	return offsets
}
