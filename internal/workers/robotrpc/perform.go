package robotrpc

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/eclipse/paho.golang/packets"

	"surehand/internal/plant"
	"surehand/internal/term"
	"surehand/internal/workers"
	"surehand/internal/workers/mqttconn"
)

const (
	// beginWithin is how long a robot may take to begin; then its number is made void.
	beginWithin = 5 * time.Second
	// restWithin is how long it may take to release the end of the last action.
	restWithin = time.Second
	// abandonedAfter states, one a second at least, in which an action neither goes on nor shows an end.
	abandonedAfter = 3
)

// action is one action on the wire. What changes is under the driver's mu: states are looked at as they come, so that
// none that told the end is missed.
type action struct {
	task workers.Task
	q    request
	echo uint32 // before the action
	boot string

	begun   bool
	refused string // the robot has looked at it and not begun it
	gone    int    // states in which it was abandoned
	over    bool
	ending  workers.Ending
	why     string // it is to be made void
}

// Perform does one action, once. Everything before the publish ends as "not begun".
func (d *Driver) Perform(ctx context.Context, t workers.Task) workers.Ending {
	q, err := command(t)
	if err != nil {
		return workers.NotBegun(t, err.Error())
	}
	if err := d.takeTurn(ctx, t.NotAfter()); err != nil {
		return workers.NotTried(t, err.Error())
	}
	defer d.leaveTurn()
	q.Token = rand.Text()
	a := &action{task: t, q: q}
	until := d.now().Add(t.Within())
	c, err := d.prepare(ctx, a)
	if refusal := (refused{}); errors.As(err, &refusal) {
		return workers.NotBegun(t, err.Error())
	}
	if err != nil {
		return workers.NotTried(t, err.Error())
	}
	if r := d.publish(ctx, c, a); r.Outcome == term.AttemptNotSent {
		pause(ctx, t.NotAfter().Sub(d.now()))
		return workers.NotTried(t, r.Why)
	}
	e := d.follow(ctx, a, until)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.doing = nil
	switch {
	case d.owed != nil && d.owed.no == t.ActionNo: // given up, and it may still begin
		d.owed.loose = true
		d.hurry()
	case e.Outcome != term.Unknown && d.seen.echo == t.ActionNo && d.seen.shown():
		d.release(t.ActionNo)
	}
	return e
}

// refused: the robot, or what it shows, forbids the action. A person has to know; else nothing was tried.
type refused struct{ why string }

func (r refused) Error() string { return r.why }

// prepare waits until the robot is reached and can begin nothing of before, as long as the action may begin, and
// until it shows no end any more. It gives the connection on which all that was seen.
func (d *Driver) prepare(ctx context.Context, a *action) (c *mqttconn.Connection, err error) {
	why, no := "", a.task.ActionNo
	var forbids error
	rest := d.now().Add(restWithin)
	err = d.await(ctx, a.task.NotAfter(), func() bool {
		if why = d.unreached(); why == "" && d.owed != nil {
			why = fmt.Sprintf("number %d may still begin", d.owed.no)
		}
		if why != "" {
			rest = d.now().Add(restWithin)
			return a.task.Late(d.now())
		}
		s := d.seen
		switch {
		case !term.MayBegin(s.echo, no):
			forbids = refused{fmt.Sprintf("number %d is not newer than the last one begun, %d", no, s.echo)}
		case s.busy:
			forbids = refused{fmt.Sprintf("the robot is busy with number %d", s.echo)}
		case !s.ready:
			forbids = refused{"the robot is not ready"}
		case s.shown():
			d.release(s.echo)
			why = "the last action's result stays although it was released"
			return d.now().After(rest) || a.task.Late(d.now())
		}
		c, a.echo, a.boot = d.conn, s.echo, s.boot
		return true
	})
	switch {
	case forbids != nil:
		return nil, forbids
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case why != "" && a.task.Late(d.now()):
		return nil, fmt.Errorf("late: not reached in time: %s", why)
	case why != "":
		return nil, errors.New(why)
	}
	return c, err
}

// publish lets the action leave, once. From here on its number may begin until a state says otherwise.
func (d *Driver) publish(ctx context.Context, c *mqttconn.Connection, a *action) workers.Result {
	no := a.task.ActionNo
	r := d.send(ctx, c, func() (*packets.Publish, string) {
		now := d.now()
		if a.task.Late(now) {
			return nil, fmt.Sprintf("late: it may not begin later than %s after its commit", plant.SendBefore)
		}
		a.q.NotAfter = untilText(a.task.NotAfter())
		expiry := uint32((a.task.NotAfter().Sub(now) + time.Second - 1) / time.Second)
		d.mu.Lock()
		defer d.mu.Unlock()
		d.doing, d.last, d.owed = a, no, &owed{no: no, boot: a.boot}
		return d.packet(a.q, max(1, expiry)), ""
	})
	if r.Outcome == term.AttemptNotSent {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.doing = nil
		if d.owed != nil && d.owed.no == no {
			d.owed = nil
		}
	}
	return r
}

// follow waits until the number has begun, and then for its end.
func (d *Driver) follow(ctx context.Context, a *action, until time.Time) workers.Ending {
	beginBy := d.now().Add(beginWithin)
	if beginBy.After(until) {
		beginBy = until
	}
	why := ""
	err := d.await(ctx, beginBy, func() bool { why = a.refused; return a.over || a.begun || why != "" })
	if !d.known(a) {
		switch {
		case ctx.Err() != nil:
			return workers.InDoubt("given up: " + context.Cause(ctx).Error())
		case err != nil:
			why = "it did not begin in time"
		}
		if e, over := d.settle(ctx, a, why); over {
			return e
		}
	}
	err = d.await(ctx, until, func() bool { return a.over })
	switch {
	case err == nil:
		return a.ending
	case ctx.Err() != nil:
		return workers.InDoubt("given up: " + context.Cause(ctx).Error())
	}
	return workers.InDoubt(fmt.Sprintf("it was begun and has not ended within %s", a.task.Within()))
}

// known tells whether a state has shown that the number was begun, or that it is over.
func (d *Driver) known(a *action) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return a.over || a.begun
}

// settle makes the number void and waits until the echo is the number. over is false when it was begun after all.
func (d *Driver) settle(ctx context.Context, a *action, why string) (e workers.Ending, over bool) {
	d.mu.Lock()
	a.why = why
	if d.owed != nil && d.owed.no == a.task.ActionNo {
		d.owed.loose = true
	}
	d.hurry()
	d.mu.Unlock()
	err := d.await(ctx, d.now().Add(workers.SettleFor), func() bool { return a.over || a.begun })
	switch {
	case ctx.Err() != nil && !d.known(a):
		return workers.InDoubt("given up: " + why), true
	case err != nil:
		return workers.InDoubt(why + ", and whether it was begun cannot be told: the robot has not made its number void"), true
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return a.ending, a.over
}

// see takes what a state says about the number; the caller holds mu.
func (a *action) see(s state) {
	if a.over {
		return
	}
	no := a.task.ActionNo
	switch {
	case s.echo == no && s.result == resultVoid && s.boot == a.boot && !a.begun:
		why := a.why
		if why == "" {
			why = "its number was made void"
		}
		a.end(workers.NotBegun(a.task, why))
	case s.echo == no && s.result == resultVoid:
		a.end(workers.InDoubt("the robot was restarted, and what it had begun before is not known"))
	case s.echo == no:
		a.begun = true
		a.follow(s)
	case s.boot != a.boot:
		a.end(workers.InDoubt(fmt.Sprintf("the robot was restarted; the last number that it knows is %d", s.echo)))
	case a.begun || s.echo != a.echo:
		a.end(workers.InDoubt(fmt.Sprintf("the last number begun is %d now", s.echo)))
	case s.answers.Token == a.q.Token:
		a.refused = "the robot did not begin it"
		if s.answers.Refused != "" {
			a.refused += ": " + words(s.answers.Refused)
		}
	}
}

// follow looks for the end in a state of the action under way.
func (a *action) follow(s state) {
	var r term.Reading
	s.fill(&r)
	if e, over := workers.Concluded(a.task.Perform, r); over {
		a.end(e)
		return
	}
	if s.busy || s.result != resultNone {
		a.gone = 0
		return
	}
	if a.gone++; a.gone >= abandonedAfter {
		a.end(workers.InDoubt("it was begun, and how it ended is not said"))
	}
}

func (a *action) end(e workers.Ending) { a.over, a.ending = true, e }
