// Package modbus is what the drivers of machines and robots have in common: one connection with a command block and
// a status block of registers, the handshake that begins an action under a number, and how its outcome is found when
// an answer is lost (docs/drivers.md).
//
// It owns the client library (client.go, nothing else imports it), redialling, polling, staleness and the order of
// writes. plc and robot add what their registers mean.
//
// It must never raise go for a number that is not newer than the echo, raise it twice for one action, or take a write
// without an answer for one that did not happen. It must never write when the process life is not confirmed.
//
// Start reading at handshake.go; settle.go says what is done in doubt; link.go is the goroutine that owns the
// connection.
package modbus
