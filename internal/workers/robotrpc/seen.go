package robotrpc

import (
	"crypto/rand"
	"slices"
	"time"

	"github.com/eclipse/paho.golang/paho"

	"surehand/internal/term"
	"surehand/internal/workers/mqttconn"
)

const (
	maxRetired = 8
	maxTold    = 256
)

// received runs on the goroutine that reads a connection.
func (d *Driver) received(c *mqttconn.Connection, p *paho.Publish) {
	if p.Topic != d.topic+"/state" {
		return
	}
	if p.Retain { // of nobody knows when
		d.o.Count("robot_state_rejected", "retained")
		return
	}
	s, err := parse(p.Payload)
	if err != nil {
		d.o.Count("robot_state_rejected", "malformed")
		d.o.Log.Debug("a state of the robot is no state", "topic", p.Topic, "error", err)
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.conn == c {
		d.take(s)
	}
}

// take takes a state that has just come; the caller holds mu.
func (d *Driver) take(s state) {
	if d.seen != nil {
		switch {
		case slices.Contains(d.retired, s.boot):
			d.o.Count("robot_state_rejected", "old_boot")
			return
		case s.boot == d.seen.boot && s.seq <= d.seen.seq:
			d.o.Count("robot_state_rejected", "old")
			return
		case s.boot != d.seen.boot:
			d.restarted(s)
		case d.stale():
			d.ask()
		}
	}
	d.seen, d.heard, d.heardAt = &s, true, d.now()
	if s.answers.Token == d.token {
		d.token = ""
	}
	if d.lower != 0 && (s.echo != d.lower || !s.shown()) {
		d.lower = 0
	}
	d.settled(s)
	if d.doing != nil {
		d.doing.see(s)
	}
	d.change()
}

// restarted: whoever was there before says nothing any more. A robot that shows an older echo than what was published
// has lost it with the power: it gets the number back, as void, so that no copy of it can begin.
func (d *Driver) restarted(s state) {
	if len(d.retired) == maxRetired {
		d.retired = d.retired[1:]
	}
	d.retired = append(d.retired, d.seen.boot)
	if d.last != 0 && d.owed == nil && term.MayBegin(s.echo, d.last) {
		d.owed = &owed{no: d.last, boot: d.seen.boot, loose: true}
	}
	d.ask()
}

// settled: a number that is not newer than the echo can begin no more. It was surely not begun if the same life of the
// robot that it was published to says void.
func (d *Driver) settled(s state) {
	switch {
	case d.owed == nil:
		return
	case term.MayBegin(s.echo, d.owed.no):
		if d.owed.boot == "" && s.echo != 0 { // it remembers what it has begun, and has not begun this
			d.owed.boot = s.boot
		}
		return
	}
	if s.echo == d.owed.no && s.result == resultVoid && s.boot == d.owed.boot {
		d.void = d.owed.no
	}
	d.owed = nil
}

// ask lets nothing count as reached until the robot has answered a new question; the caller holds mu.
func (d *Driver) ask() {
	d.token = rand.Text()
	d.hurry()
}

// release asks for the end of a number not to be shown any more; the caller holds mu.
func (d *Driver) release(no uint32) {
	if d.lower != no {
		d.lower = no
		d.hurry()
	}
}

// hurry lets Run ask at once.
func (d *Driver) hurry() {
	select {
	case d.prompt <- struct{}{}:
	default:
	}
}

// unreached says why no state counts now; empty: the last one does. The caller holds mu.
func (d *Driver) unreached() string {
	switch {
	case d.conn == nil:
		return d.down
	case !d.heard:
		return "the robot has not shown a state yet on " + d.topic + "/state"
	case d.stale():
		return "the robot shows no state any more"
	case d.token != "":
		return "the robot has not answered yet on " + d.topic + "/request"
	}
	return ""
}

// stale: states of this connection have stopped, by either clock: the process may have been away. The caller holds mu.
func (d *Driver) stale() bool {
	now, stale := d.now(), time.Duration(d.o.Config.Stale)
	return d.heard && (now.Sub(d.heardAt) >= stale || now.Round(0).Sub(d.heardAt.Round(0)) >= stale)
}

// reading is how things stand; the caller holds mu.
func (d *Driver) reading() term.Reading {
	r := term.Reading{Error: d.unreached()}
	r.Reached = r.Error == ""
	if d.seen != nil {
		d.seen.fill(&r)
		if d.seen.result == resultVoid && d.seen.echo == d.void && d.void != 0 {
			r.PartAt = term.PartAtFrom
		}
	}
	r.Go = r.Go || d.owed != nil
	return r
}

// fill writes what a state says into a reading.
func (s state) fill(r *term.Reading) {
	r.Echo, r.Busy, r.Ready, r.Gripper, r.Position, r.PartAt = s.echo, s.busy, s.ready, s.gripper, s.position, s.partAt
	r.Ended, r.Fault, r.Go = s.result == resultDone, s.fault, s.shown()
	if s.result == resultVoid { // where an earlier action left its part says nothing of this number
		r.PartAt = term.PartUnknown
	}
}

// tell queues a reading for Run to report; the caller holds mu. None is left out in between: an end may be shown for a
// moment only.
func (d *Driver) tell() {
	if len(d.told) == maxTold {
		d.told = d.told[1:]
	}
	d.told = append(d.told, d.reading())
	select {
	case d.wake <- struct{}{}:
	default:
	}
}
