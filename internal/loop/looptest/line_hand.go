package looptest

import "surehand/internal/term"

// What somebody does to the machines of a line by hand.

// Reset stops a machine in the middle of its cycle: it works on nothing any more and says no done.
func (l *Line) Reset(id term.EquipmentID) {
	m := l.machines[id]
	m.running, m.pending, m.done = 0, nil, false
}

// Fail lets a machine or the robot report a fault; 0: none.
func (l *Line) Fail(id term.EquipmentID, fault int) {
	if m := l.machines[id]; m != nil {
		m.fault = fault
	} else {
		l.robot.fault = fault
	}
}
