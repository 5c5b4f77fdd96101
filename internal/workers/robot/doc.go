// Package robot drives the robot of a cell: it moves, presents and puts down parts, and reads where the
// robot is and what it holds.
//
// It owns the meaning of a robot's words (docs/drivers.md). The handshake and everything that is done in doubt are
// handshake's, the wire is a transport's.
//
// It must never take the end of another action for its own, nor say where a part is when the robot does not.
package robot
