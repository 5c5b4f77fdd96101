// Package workers is the contract between the loop and whoever drives the outside world.
//
// A request goes in, exactly one result comes out: sent, not_sent (surely: nothing left this process), or
// unknown (it may have left). Unknown is never a failure and never a permission to repeat; a driver never
// tries again by itself, because only the loop may decide that, and it writes the decision down first.
//
// An action may leave only until plant.SendBefore after its commit. Right before the write a driver asks
// Order.Late, which looks at the monotonic clock (the wall clock may be stepped) and at the wall clock (the
// monotonic one stands still while a machine sleeps): a process that was paused and wakes up publishes nothing.
//
// Hands is what the loop starts actions with: Crew publishes to devices, Line works the equipment of the cell. Start
// never waits, an action key is handed out once, a driver that hangs or panics is answered for, and a result is kept
// until the inbox takes it. Line also watches: it hands on what each equipment says, a machine's done until it is
// acknowledged, and one late result after an unknown outcome. It acknowledges no done that the loop has not answered.
//
// Nothing here decides, and nothing here touches the database.
package workers
