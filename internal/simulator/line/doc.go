// Package line plays one production cell on the real wire: a robot and machines over Modbus TCP, scanners and markers
// over TCP lines, if wanted the robot over MQTT instead (docs/drivers.md), all of them moving the same physical parts, each able to
// misbehave in the ways cells do.
//
// It owns the other side of the truth: where every part is, what the robot and the machines really did and under which
// number, and every violation of physics (a part set on another, a pick from an empty place, a number executed twice).
// These are written down at the moment they happen, before anything about them can be read on the wire.
//
// It must never import another package of this module: a shared register table would let one mistake cancel out the
// other. It must never decide for the other side: it does what it is told, even if that breaks a part, and says so in
// Truth. It talks to nobody, it is only talked to; over MQTT it shows its state to the broker.
//
// Start reading at world.go (one mutex owns the cell), then controller.go and modbus.go (what robot and machine share),
// robot.go (mqtt.go is its other wire), machine.go, scanner.go, marker.go, truth.go. Chance is seeded, with one stream for each fault of each endpoint.
package line
