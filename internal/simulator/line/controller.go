package line

import (
	"net"
	"time"
)

const commandSize = 6 // registers of every command block

// Controller is what the robot and every machine share: two blocks of registers, power, and a link. The blocks are kept
// by the part of a controller that communicates; a frozen program neither sees what is written meanwhile nor shows
// anything new, and takes the command block as it is then when it goes on.
type Controller struct {
	w       *World
	name    string
	o       ModbusOptions
	link    endpoint
	program program
	goAt    int // offset of go in the command block
	size    int // registers of the status block

	command    [commandSize]uint16
	seenGo     bool // go, as the program last saw it
	echo       uint32
	ready      bool
	frozen     bool
	off        bool
	image      []uint16 // the status block, while frozen
	power      int      // counts the times power came
	poweredAt  time.Time
	linkFaults LinkFaults
	linkChance *chance
}

// endpoint is how a robot or machine is reached. It is never called with the World's mutex held.
type endpoint interface {
	Address() string
	start() error
	stop()
	close()
}

// program is what a controller is for.
type program interface {
	scan()            // takes the command block as it is now
	status() []uint16 // the status block as it is now
	resume()          // goes on with what waited while held
	halt()            // power is lost
	forget(Memory)    // at power on
}

// Memory is something that a controller may forget when power is lost.
type Memory int

// What can be forgotten. Command blocks and heartbeats always are.
const (
	ForgetEcho    Memory = iota // start_echo and start_result, or echo and part_at
	ForgetDone                  // of a machine: a done not yet acknowledged
	ForgetCounter               // of a machine: the cycle counter
)

func newController(w *World, name string, o ModbusOptions, goAt, size int) Controller {
	return Controller{
		w: w, name: name, o: o, goAt: goAt, size: size, echo: o.Echo, ready: true, poweredAt: time.Now(),
		linkChance: newChance(w, name+"/link"),
	}
}

// connect ends the making of a controller: the link serves the one that is used, not a copy of it.
func (c *Controller) connect(p program) {
	c.program = p
	c.link = newLink(c.o.Listen, func(conn net.Conn, _ int) { c.serve(conn) })
}

// Name is the endpoint's name in Truth.
func (c *Controller) Name() string { return c.name }

// Address is where it listens, or listened and will again: "127.0.0.1:port".
func (c *Controller) Address() string { return c.link.Address() }

// Cut closes the port and every connection; the program goes on. When it returns, no request is executed any
// more, except a late write that came before.
func (c *Controller) Cut() { c.link.stop() }

// Restore opens the same port again.
func (c *Controller) Restore() error { return c.link.start() }

// SetLinkFaults sets how the connections misbehave from the next request on.
func (c *Controller) SetLinkFaults(f LinkFaults) {
	c.w.lock()
	defer c.w.unlock()
	c.linkFaults = f.withDefaults()
	c.linkChance.limit(f.Strikes)
}

// Freeze stops the program: connections stay and registers can be read and written, but the heartbeat stops, edges of
// go are not seen, and what moves stops.
func (c *Controller) Freeze() {
	c.w.lock()
	defer c.w.unlock()
	if c.off || c.frozen {
		return
	}
	c.image = c.program.status()
	c.frozen = true
	c.w.touch()
}

// Thaw lets a frozen program go on where it stopped: what moved ends late, and a go that is 1 by now is a rising edge.
func (c *Controller) Thaw() {
	c.w.lock()
	defer c.w.unlock()
	if !c.frozen {
		return
	}
	c.frozen, c.image = false, nil
	c.w.touch()
	c.program.resume()
	c.program.scan()
}

// SetReady switches automatic mode. A machine that is not ready refuses starts; a robot that is not ready begins
// nothing and stops where it is, until it is ready again.
func (c *Controller) SetReady(ready bool) {
	c.w.lock()
	defer c.w.unlock()
	c.ready = ready
	c.w.touch()
	if ready && !c.held() {
		c.program.resume()
	}
}

// PowerOff ends the program in the middle of what it does: an action or cycle under way is abandoned, parts stay where
// they are, the port is closed.
func (c *Controller) PowerOff() {
	c.w.lock()
	if !c.off {
		c.off = true
		c.frozen, c.image = false, nil
		c.command, c.seenGo = [commandSize]uint16{}, false
		c.program.halt()
		c.w.touch()
	}
	c.w.unlock()
	c.link.stop()
}

// PowerOn starts the program again, on the same port, with all its memory but what is named.
func (c *Controller) PowerOn(forget ...Memory) error {
	c.w.lock()
	if c.off {
		c.off = false
		c.power++
		c.poweredAt = time.Now()
		for _, memory := range forget {
			c.program.forget(memory)
		}
		c.program.scan()
		c.w.touch()
	}
	c.w.unlock()
	return c.link.start()
}

// Restart is PowerOff and PowerOn.
func (c *Controller) Restart(forget ...Memory) error {
	c.PowerOff()
	return c.PowerOn(forget...)
}

// held says that the program does not go on.
func (c *Controller) held() bool { return c.frozen || c.off }

// risingGo takes go as it is now, and says whether it rose since it was last taken.
func (c *Controller) risingGo() bool {
	up := c.command[c.goAt] != 0
	rising := up && !c.seenGo
	c.seenGo = up
	return rising
}

func (c *Controller) heartbeat() uint16 {
	return uint16(time.Since(c.poweredAt) / c.o.HeartbeatEvery)
}

// commandNumber is the number at offset 0 of the command block.
func (c *Controller) commandNumber() uint32 {
	high, low := c.command[0], c.command[1]
	if c.o.LowWordFirst {
		high, low = low, high
	}
	return uint32(high)<<16 | uint32(low)
}

// words puts a number into two registers.
func (c *Controller) words(n uint32) (first, second uint16) {
	if c.o.LowWordFirst {
		return uint16(n), uint16(n >> 16)
	}
	return uint16(n >> 16), uint16(n)
}

// newer compares numbers that may wrap around. 0 is none yet: every number is newer.
func newer(b, a uint32) bool { return b != 0 && (a == 0 || int32(b-a) > 0) }

func bit(on bool) uint16 {
	if on {
		return 1
	}
	return 0
}
