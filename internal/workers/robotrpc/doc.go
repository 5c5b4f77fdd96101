// Package robotrpc drives the robot of a cell by requests over MQTT 5, with the same meaning as robot on Modbus
// (docs/drivers.md). A request asks, the robot's state is the only answer: that the broker took a request says nothing.
//
// It owns the requests, what counts as a state, and one connection to the broker (mqttconn) under a client id that
// belongs to the installation and the equipment, so that a new process cuts off a forgotten one.
//
// Three things make "it can no longer begin" true, none of them a clock:
//   - The number. A robot begins a number once, and only one that is newer than its echo.
//   - void. In doubt the driver asks to void the number and waits until the echo is the number. Its result then says
//     whether it was begun; a copy that comes later is not newer than the echo and begins nothing.
//   - ask. What was published before, by this process or by an ended one that no number is known of, may still wait
//     somewhere. On each connection, and whenever states have stopped or the robot was restarted, the driver asks under a
//     fresh token, and no reading counts as reached until a state answers that token. Our CONNECT ended the connection of
//     an earlier life at the broker, so its last request went into the topic before our question or never will; the robot
//     looks at requests in the order of the topic. So an answered question means that it has looked at all of them: it has
//     begun them, as its echo says, or ignored them.
//
// A number that an earlier life has left in doubt (Options.InDoubt) is made void as well. That adds a guard, and evidence:
// the echo is the number then.
//
// Message expiry and notAfter only shorten how long a request can wait. They are the guard where the robot breaks its
// part: a session at the broker that repeats old requests, or an echo that is lost with the power.
//
// While a number of this life may still begin, Reading.Go says so; and it is up while the end of an action is shown that
// nobody has released, as go is on Modbus. So "not done" is offered only when nothing can begin or go on.
//
// It must never publish a number twice, publish anything while the process life is not confirmed, take a state of before
// for one of now, or say "not begun" of a robot that was restarted meanwhile: it may have forgotten what it began.
//
// Start reading at perform.go; seen.go says what a state changes; link.go keeps the connection.
package robotrpc
