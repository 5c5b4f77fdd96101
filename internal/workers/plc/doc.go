// Package plc drives a machine: it starts slots, acknowledges done, and reads what the machine says.
//
// It owns the meaning of a machine's words (docs/drivers.md). The handshake and everything that is done in doubt are
// handshake's, the wire is a transport's.
//
// It must never acknowledge another done than the one it was asked to: that one is not stored yet. It must never leave
// done_ack up, which would acknowledge the next done.
package plc
