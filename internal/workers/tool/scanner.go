package tool

import (
	"bufio"
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
	maxLine = 256 // bytes, with the line feed
	noRead  = "NOREAD"
	// tellEvery is how often a scanner that is not looked after is reported.
	tellEvery = time.Second

	firstRedial   = 20 * time.Millisecond
	longestRedial = time.Second
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
	o      Options
	format *regexp.Regexp
	// turn is held while there is a connection: some scanners take one only.
	turn    chan struct{}
	reached chan error // what the last scan found, for Run
}

var _ workers.Driver = (*Driver)(nil)

// New makes a driver. It connects for each reading.
func New(o Options) (*Driver, error) {
	o.Config = o.Config.WithDefaults()
	if o.Clock == nil {
		return nil, errors.New("tool: Clock is required")
	}
	if o.Confirm == nil {
		o.Confirm = func(context.Context) error { return nil }
	}
	if o.ProbeEvery == 0 {
		o.ProbeEvery = 2 * time.Second
	}
	if o.Config.Address == "" {
		return nil, errors.New("the driver has no address")
	}
	if strings.ContainsAny(o.Config.Trigger, "\r\n") {
		return nil, fmt.Errorf("the trigger %q must be one line", o.Config.Trigger)
	}
	format := o.Config.Format
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
	return &Driver{o: o, format: whole, turn: make(chan struct{}, 1), reached: make(chan error, 1)}, nil
}

// Run reports whether the scanner can be reached.
func (d *Driver) Run(ctx context.Context, report func(term.Reading)) {
	probe := d.o.ProbeEvery > 0
	now := reading(nil)
	if probe {
		now = d.look(ctx)
	}
	for ctx.Err() == nil {
		report(now)
		wait := tellEvery
		if probe {
			wait = d.o.ProbeEvery
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
	if err := d.take(ctx); err != nil {
		return reading(err)
	}
	defer d.release()
	c, err := d.connect(ctx)
	if err == nil {
		_ = c.Close() // nothing was sent
	}
	return reading(err)
}

func (d *Driver) take(ctx context.Context) error {
	select {
	case d.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (d *Driver) release() { <-d.turn }

func (d *Driver) connect(ctx context.Context) (net.Conn, error) {
	asking, cancel := context.WithTimeout(ctx, workers.ConfirmWithin)
	defer cancel()
	if err := d.o.Confirm(asking); err != nil {
		return nil, err
	}
	dialer := net.Dialer{Timeout: time.Duration(d.o.Config.Timeout)}
	return dialer.DialContext(ctx, "tcp", d.o.Config.Address)
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
	c, err := d.reach(ctx, t)
	if err != nil {
		return workers.NotTried(t, workers.Plain(err).Error())
	}
	defer d.release()
	defer func() { _ = c.Close() }() // it has answered, or never will
	code, err := d.scan(ctx, c, t)
	if err != nil {
		return workers.NotBegun(t, workers.Plain(err).Error())
	}
	e := workers.Happened(term.PartGripper)
	e.Code = code
	return e
}

// reach connects, as often as needed while the scan may begin: an answer that nothing was tried must not come back at
// once, or the scan would be planned anew without a pause. Without an error the turn is taken.
func (d *Driver) reach(ctx context.Context, t workers.Task) (net.Conn, error) {
	starting, cancel := context.WithDeadline(ctx, time.Now().Add(t.NotAfter().Sub(d.o.Clock.Now())))
	defer cancel()
	why := errors.New("the trigger may not be sent any more")
	for redial := firstRedial; !t.Late(d.o.Clock.Now()); redial = min(2*redial, longestRedial) {
		c, err := d.reachOnce(starting, t)
		if err == nil {
			if !t.Late(d.o.Clock.Now()) {
				return c, nil
			}
			_ = c.Close()
			d.release()
			break
		}
		why = fmt.Errorf("not reached in time: %w", err)
		wait := time.NewTimer(redial)
		select {
		case <-wait.C:
		case <-starting.Done():
		}
		wait.Stop()
		if ctx.Err() != nil {
			return nil, fmt.Errorf("given up: %w", context.Cause(ctx))
		}
	}
	return nil, fmt.Errorf("late: %w", why)
}

// reachOnce holds the turn only while there is a connection, so that Run can look in between.
func (d *Driver) reachOnce(starting context.Context, t workers.Task) (net.Conn, error) {
	if err := d.take(starting); err != nil {
		return nil, err
	}
	c, err := d.connect(starting)
	if err == nil {
		if err = c.SetDeadline(time.Now().Add(t.Within())); err != nil {
			_ = c.Close()
		}
	}
	if err != nil {
		d.release()
	}
	if starting.Err() == nil { // that the time is over says nothing of the scanner
		d.found(err)
	}
	return c, err
}

func (d *Driver) scan(ctx context.Context, c net.Conn, t workers.Task) (string, error) {
	defer context.AfterFunc(ctx, func() { _ = c.Close() })() // nobody waits for it any more
	if _, err := io.WriteString(c, d.o.Config.Trigger+"\n"); err != nil {
		return "", fmt.Errorf("send the trigger: %w", err)
	}
	line, err := bufio.NewReader(io.LimitReader(c, maxLine)).ReadString('\n')
	if ctx.Err() != nil {
		return "", fmt.Errorf("given up: %w", context.Cause(ctx))
	}
	return d.check(line, err)
}

// found tells Run whether the scanner was reached.
func (d *Driver) found(err error) {
	select {
	case d.reached <- err:
	default:
	}
}

// check takes an answer for a code, or says why it is none.
func (d *Driver) check(line string, err error) (string, error) {
	code := strings.TrimRight(line, "\r\n")
	switch {
	case err == nil && code == noRead:
		return "", errors.New("the scanner read nothing")
	case err == nil && d.format.MatchString(code):
		return code, nil
	case err == nil:
		return "", fmt.Errorf("the answer %q is not in the format %s", code, d.o.Config.Format)
	case len(line) >= maxLine:
		return "", fmt.Errorf("the answer is longer than %d bytes and begins with %q", maxLine, line[:32])
	}
	return "", fmt.Errorf("no whole line came, but %q: %w", line, err)
}
