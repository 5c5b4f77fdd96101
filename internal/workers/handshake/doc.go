// Package handshake is what the drivers of machines and robots have in common, whatever wire they are on: a command block
// and a status block of 16 bit words, the handshake that begins an action under a number, and how its outcome is found
// when an answer is lost (docs/drivers.md).
//
// It owns redialling, polling, staleness and the order of writes. A Transport (modbus, opcua) carries the words, a Program
// (plc, robot) says what they mean.
//
// It must never raise go for a number that is not newer than the echo, raise it twice for one action, or take a write
// without an answer for one that did not happen. It must never write when the process life is not confirmed.
//
// Start reading at perform.go; settle.go says what is done in doubt; link.go is the goroutine that owns the connection;
// transport.go is what a new wire has to bring.
package handshake
