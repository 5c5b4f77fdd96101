package robot

import (
	"context"
	"errors"
	"fmt"
	"time"

	"surehand/internal/term"
	"surehand/internal/workers"
	"surehand/internal/workers/handshake"
)

// Offsets of the command block: action_no at 0, code 2, from 3, to 4.
const (
	commandSize = 6
	goAt        = 5
	statusSize  = 10
)

// Codes of actions.
const (
	codeMove    = 1
	codePresent = 2
	codePlace   = 3
)

// Driver is a workers.Driver of a robot.
type Driver struct{ *handshake.Driver }

var _ workers.Driver = Driver{}

// New makes a driver. It connects when it runs.
func New(o handshake.Options, t handshake.Transport) (Driver, error) {
	d, err := handshake.New(o, t, arm{})
	return Driver{d}, err
}

// freeWithin is how long an acknowledgement waits for the connection, which may follow an action.
const freeWithin = 5 * time.Second

// Acknowledge takes go back from an action that has ended and whose end the record knows: done and error go with it,
// echo and part_at stay. A robot that moves is left alone.
func (d Driver) Acknowledge(ctx context.Context, _ workers.DoneCycle, acknowledged func()) error {
	err := errors.New("the robot could not be read")
	if begun := d.Do(ctx, freeWithin, func(ctx context.Context, s *handshake.Session) {
		for until := s.Now().Add(freeWithin); s.Now().Before(until) && ctx.Err() == nil; s.Pause(ctx) {
			if s.Connected(ctx, until) != nil {
				continue
			}
			r, failed := s.Read()
			switch {
			case failed != nil:
				continue
			case r.Busy:
				err = errors.New("the robot is moving")
			case s.Command()[goAt] == 0, s.Write(ctx, goAt, 0) == nil:
				acknowledged()
				err = nil
			default:
				continue
			}
			return
		}
	}); begun != nil {
		return begun
	}
	return err
}

// arm is what the words mean.
type arm struct{}

func (arm) Blocks() handshake.Blocks {
	return handshake.Blocks{Command: commandSize, Status: statusSize, GoAt: goAt}
}

func (arm) Read(command, status []uint16, o handshake.Order) (r term.Reading, heartbeat uint16) {
	r = term.Reading{
		Echo: o.Number(status[0:2]), Go: command[goAt] != 0,
		Busy: status[2] != 0, Ended: status[3] != 0, Fault: int(status[4]), Gripper: status[6] != 0, Position: int(status[7]),
		Ready: status[9] != 0,
	}
	switch status[5] {
	case 1:
		r.PartAt = term.PartAtFrom
	case 2:
		r.PartAt = term.PartGripper
	case 3:
		r.PartAt = term.PartAtTo
	}
	return r, status[8]
}

func (arm) Command(t workers.Task) ([]uint16, error) {
	const last = 1<<16 - 1
	switch {
	case t.Type != term.TaskMove:
		return nil, fmt.Errorf("a robot cannot do %s", t.Type)
	case t.Present && t.FromGripper:
		return nil, errors.New("no code of the robot presents a part that it holds already")
	case t.To < 1 || t.To > last || !t.FromGripper && (t.From < 1 || t.From > last):
		return nil, fmt.Errorf("from %d to %d: numbers of places are 1 to %d", t.From, t.To, last)
	case t.FromGripper:
		return []uint16{codePlace, 0, uint16(t.To)}, nil
	case t.Present:
		return []uint16{codePresent, uint16(t.From), uint16(t.To)}, nil
	}
	return []uint16{codeMove, uint16(t.From), uint16(t.To)}, nil
}

func (arm) Refuses(r term.Reading, _ workers.Task) string {
	switch {
	case r.Busy:
		return fmt.Sprintf("the robot is busy with number %d", r.Echo)
	case !r.Ready:
		return "the robot is not ready"
	}
	return ""
}

// AtRest: done and error are taken back when go is 0.
func (arm) AtRest(r term.Reading) bool { return !r.Ended && r.Fault == 0 }

func (arm) Still(r term.Reading, _ workers.Task) bool { return !r.Busy }

func (a arm) Abandoned(r term.Reading) bool { return !r.Busy && a.AtRest(r) }

// Leftover: an end that is shown stays until it is acknowledged or the next action begins; it is evidence.
func (a arm) Leftover(command []uint16, r term.Reading, _ handshake.Order) []int {
	if command[goAt] != 0 && a.Abandoned(r) {
		return []int{goAt}
	}
	return nil
}
