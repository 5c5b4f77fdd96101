// Package simulator plays MQTT devices on the real wire: MQTT 5 over TCP, wire contract version 1, each device able to
// misbehave in every way the field has taught us to fear.
//
// It owns the other side of the truth. A Device counts its own physical effects, one per commandId and actuator, and
// writes them down before anything about them leaves it, so that "never fired twice, never lost, never called done
// without proof" is judged by what the device did and not by what our log says about it.
//
// It must never import another package of this module: shared wire types would let one encoding fault cancel out the
// other. It must never use our database, and it opens no port: it only dials the broker it was given.
//
// Start reading at device.go (one goroutine owns a device), then command.go (a request's way to its physical effect),
// telemetry.go, faults.go, truth.go. Choices are seeded: each fault has its own stream, so switching one on never
// shifts the choices of another.
package simulator
