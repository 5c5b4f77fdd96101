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

// Foreign lets a marker take a number that somebody else gave it, as done.
func (l *Line) Foreign(id term.EquipmentID, no uint32) {
	t := l.tools[id]
	t.take(no)
	t.ended = true
}

// Interrupt ends what a marker does, as a loss of its power would: it does not know then whether the mark is on the part.
func (l *Line) Interrupt(id term.EquipmentID) { l.tools[id].busy = false }
