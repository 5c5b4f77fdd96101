// Package robot drives the robot of a cell over Modbus TCP: it moves, presents and puts down parts, and reads where the
// robot is and what it holds.
//
// It owns the meaning of a robot's registers (docs/drivers.md). The connection, the handshake and everything that is
// done in doubt are modbus's.
//
// It must never take the end of another action for its own, nor say where a part is when the robot does not.
package robot
