package tool

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"regexp"
	"strings"
	"time"

	"surehand/internal/term"
	"surehand/internal/workers"
)

const (
	noRead = "NOREAD"
	// tellEvery is how often a scanner that is not looked after is reported.
	tellEvery = time.Second
)

// Options of a scanner. Clock is required.
type Options struct {
	Config term.DriverConfig
	Clock  workers.Clock
	// Confirm is asked before each connection whether this process still owns the database. nil: always.
	Confirm func(context.Context) error
	// ProbeEvery is how often the scanner is looked after by a connection without a trigger. Default 2 s; below 0:
	// never, for scanners that take such a connection amiss. Then the last scan tells whether it is reached.
	ProbeEvery time.Duration
}

// Driver is a workers.Driver of a scanner.
type Driver struct {
	wire
	probeEvery time.Duration
	format     *regexp.Regexp
	// turn is held while there is a connection: some scanners take one only.
	turn    seat
	reached chan error // what the last scan found, for Run
}

var _ workers.Driver = (*Driver)(nil)

// New makes a driver. It connects for each reading.
func New(o Options) (*Driver, error) {
	w, err := newWire(o.Config, o.Clock, o.Confirm)
	if err != nil {
		return nil, err
	}
	if o.ProbeEvery == 0 {
		o.ProbeEvery = 2 * time.Second
	}
	if strings.ContainsAny(w.config.Trigger, "\r\n") {
		return nil, fmt.Errorf("the trigger %q must be one line", w.config.Trigger)
	}
	format := w.config.Format
	if format == "" {
		format = ".+"
	}
	if _, err := regexp.Compile(format); err != nil { // alone: it must not close our parenthesis
		return nil, fmt.Errorf("the format of an answer: %w", err)
	}
	whole, err := regexp.Compile("^(?:" + format + ")$")
	if err != nil {
		return nil, fmt.Errorf("the format of an answer: %w", err)
	}
	return &Driver{wire: w, probeEvery: o.ProbeEvery, format: whole, turn: newSeat(), reached: make(chan error, 1)}, nil
}

// Run reports whether the scanner can be reached.
func (d *Driver) Run(ctx context.Context, report func(term.Reading)) {
	probe := d.probeEvery > 0
	now := reading(nil)
	if probe {
		now = d.look(ctx)
	}
	for ctx.Err() == nil {
		report(now)
		wait := tellEvery
		if probe {
			wait = d.probeEvery
			if !now.Reached {
				wait = min(wait, time.Second)
			}
		}
		timer := time.NewTimer(wait)
		select {
		case err := <-d.reached:
			now = reading(err)
		case <-timer.C:
			if probe {
				now = d.look(ctx)
			}
		case <-ctx.Done():
		}
		timer.Stop()
	}
}

func reading(err error) term.Reading {
	if err != nil {
		return term.Reading{Error: workers.Plain(err).Error()}
	}
	return term.Reading{Reached: true, Ready: true}
}

// look connects and asks for nothing.
func (d *Driver) look(ctx context.Context) term.Reading {
	if err := d.turn.take(ctx); err != nil {
		return reading(err)
	}
	defer d.turn.release()
	c, err := d.connect(ctx)
	if err == nil {
		_ = c.Close() // nothing was sent
	}
	return reading(err)
}

// Acknowledge is for machines.
func (*Driver) Acknowledge(context.Context, workers.DoneCycle, func()) error {
	return errors.New("a scanner has no done to acknowledge")
}

// Perform triggers one reading. Until the trigger is sent nothing was tried; from then on the scan was, and did not
// succeed.
func (d *Driver) Perform(ctx context.Context, t workers.Task) workers.Ending {
	if t.Type != term.TaskScan {
		return workers.NotBegun(t, fmt.Sprintf("a scanner cannot do %s", t.Type))
	}
	c, err := reach(ctx, d.clock, t, func(starting context.Context) (held, error) { return d.reachOnce(starting, t) })
	if err != nil {
		return workers.NotTried(t, workers.Plain(err).Error())
	}
	defer func() { _ = c.Close() }() // it has answered, or never will
	code, err := d.scan(ctx, c.Conn, t)
	if err != nil {
		return workers.NotBegun(t, workers.Plain(err).Error())
	}
	e := workers.Happened(term.PartGripper)
	e.Code = code
	return e
}

// reachOnce holds the turn only while there is a connection, so that Run can look in between.
func (d *Driver) reachOnce(starting context.Context, t workers.Task) (held, error) {
	if err := d.turn.take(starting); err != nil {
		return held{}, err
	}
	c, err := d.connect(starting)
	if err == nil {
		if err = c.SetDeadline(time.Now().Add(t.Within())); err != nil {
			_ = c.Close()
		}
	}
	if err != nil {
		d.turn.release()
	}
	if starting.Err() == nil { // that the time is over says nothing of the scanner
		d.found(err)
	}
	return held{c, d.turn}, err
}

func (d *Driver) scan(ctx context.Context, c net.Conn, t workers.Task) (string, error) {
	defer context.AfterFunc(ctx, func() { _ = c.Close() })() // nobody waits for it any more
	if _, err := io.WriteString(c, d.config.Trigger+"\n"); err != nil {
		return "", fmt.Errorf("send the trigger: %w", err)
	}
	code, err := readLine(c)
	switch {
	case ctx.Err() != nil:
		return "", fmt.Errorf("given up: %w", context.Cause(ctx))
	case err != nil:
		return "", err
	case code == noRead:
		return "", errors.New("the scanner read nothing")
	case !d.format.MatchString(code):
		return "", fmt.Errorf("the answer %q is not in the format %s", code, d.config.Format)
	}
	return code, nil
}

// found tells Run whether the scanner was reached.
func (d *Driver) found(err error) {
	select {
	case d.reached <- err:
	default:
	}
}
