package handshake

import (
	"context"
	"errors"
	"fmt"
	"time"

	"surehand/internal/plant"
	"surehand/internal/term"
	"surehand/internal/workers"
)

const (
	firstRedial   = 20 * time.Millisecond
	longestRedial = time.Second
	// heartbeatWithin is how long a controller may take to change its heartbeat; by contract once a second.
	heartbeatWithin = 1500 * time.Millisecond
	// stillAgain is how often a heartbeat that stands still is looked at over a new connection, after the first time. A
	// machine that is switched off for the night must not cost its server a session every few seconds.
	stillAgain = time.Minute
)

// errDown: there is no connection.
var errDown = errors.New("the link is down")

// notWritten wraps why a write did not leave.
type notWritten struct{ why error }

func (e notWritten) Error() string { return "nothing was written: " + e.why.Error() }
func (e notWritten) Unwrap() error { return e.why }

// Session is the connection over all its lives. It belongs to the goroutine of Run, and to the work that this
// goroutine does.
type Session struct {
	d      *Driver
	report func(term.Reading)

	conn      Conn
	dialing   chan dialed // a dial under way; nil: none
	redialAt  time.Time
	redial    time.Duration
	confirmed time.Time // when the database was last asked, with success

	last      term.Reading
	command   []uint16  // as last read
	heardAt   time.Time // when it was read, or when the connection began
	saidDown  time.Time
	heartbeat uint16
	beats     int // changes of the heartbeat since the connection
	beatAt    time.Time
	stood     bool      // it stood still on the last connection, and has not changed since
	low       int       // the heartbeats when go was first read as 0; -1: it is not 0, or was not read yet
	seenLow   bool      // the program has looked at the command block since
	doubt     time.Time // a write without an answer may still be executed until then
}

type dialed struct {
	conn      Conn
	confirmed time.Time
	err       error
}

// Run keeps the connection, polls, and does the work of others in between.
func (d *Driver) Run(ctx context.Context, report func(term.Reading)) {
	s := &Session{d: d, report: report, redial: firstRedial, saidDown: d.o.Clock.Now()}
	defer s.drop()
	defer s.abandonDial()
	for ctx.Err() == nil {
		wait := time.Duration(d.o.Config.Poll)
		if s.conn != nil {
			if r, err := s.Read(); err == nil {
				s.tidy(ctx, r)
			}
		} else {
			s.startDial(ctx)
			s.stillDown()
			wait = min(wait, s.untilRedial())
		}
		timer := time.NewTimer(wait)
		select {
		case r := <-d.requests:
			s.work(ctx, r)
		case o := <-s.dialing:
			s.tookDial(o)
		case <-timer.C:
		case <-ctx.Done():
		}
		timer.Stop()
	}
}

// work ends soon after the driver's context as well as after its own.
func (s *Session) work(ctx context.Context, r *request) {
	defer close(r.done)
	both, cancel := context.WithCancel(r.ctx)
	defer cancel()
	defer context.AfterFunc(ctx, cancel)()
	r.work(both, s)
}

// Now is the time by the driver's clock.
func (s *Session) Now() time.Time { return s.d.o.Clock.Now() }

// Command is the command block as last read.
func (s *Session) Command() []uint16 { return s.command }

// startDial begins to connect in the background, when it is time to.
func (s *Session) startDial(ctx context.Context) {
	if s.conn != nil || s.dialing != nil || s.Now().Before(s.redialAt) {
		return
	}
	d, o, result := s.d, s.d.o, make(chan dialed, 1)
	s.dialing = result
	go func() {
		at := o.Clock.Now()
		if err := confirm(ctx, o); err != nil {
			result <- dialed{err: err}
			return
		}
		c, err := d.transport.Open(ctx, d.blocks)
		result <- dialed{c, at, err}
	}()
}

func confirm(ctx context.Context, o Options) error {
	ctx, cancel := context.WithTimeout(ctx, workers.ConfirmWithin)
	defer cancel()
	return workers.Plain(o.Confirm(ctx))
}

func (s *Session) tookDial(o dialed) {
	s.dialing = nil
	if o.err != nil {
		s.backOff()
		s.down(o.err)
		return
	}
	now := s.Now()
	s.conn, s.confirmed, s.heardAt, s.beats, s.beatAt = o.conn, o.confirmed, now, -1, now
	s.low, s.seenLow = -1, false
}

// abandonDial closes what a dial under way may still bring.
func (s *Session) abandonDial() {
	if result := s.dialing; result != nil {
		go func() {
			if o := <-result; o.conn != nil {
				o.conn.Close()
			}
		}()
	}
}

func (s *Session) untilRedial() time.Duration {
	if s.dialing != nil {
		return longestRedial
	}
	return max(s.redialAt.Sub(s.Now()), time.Millisecond)
}

// drop ends the connection. One on which nothing was ever read is no better than none: the next one waits as after a
// dial that failed, so that a controller that takes connections and serves none is not flooded with them.
func (s *Session) drop() {
	if s.conn == nil {
		return
	}
	s.conn.Close()
	s.conn = nil
	s.redialAt = s.Now()
	if s.beats < 0 {
		s.backOff()
	}
}

func (s *Session) backOff() {
	s.redialAt = s.Now().Add(s.redial)
	s.redial = min(2*s.redial, longestRedial)
}

// Connected waits until there is a connection.
func (s *Session) Connected(ctx context.Context, until time.Time) error {
	for s.conn == nil {
		if s.Now().After(until) {
			return errDown
		}
		s.startDial(ctx)
		s.stillDown()
		timer := time.NewTimer(min(s.untilRedial(), max(until.Sub(s.Now()), time.Millisecond)))
		select {
		case o := <-s.dialing:
			s.tookDial(o)
		case <-timer.C:
		case <-ctx.Done():
		}
		timer.Stop()
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	return nil
}

// down reports that there is no reading, and why.
func (s *Session) down(err error) {
	s.last.Reached, s.last.Error, s.saidDown = false, err.Error(), s.Now()
	s.report(s.last)
}

// stillDown says it again once a second.
func (s *Session) stillDown() {
	switch {
	case s.Now().Sub(s.saidDown) < longestRedial:
	case s.last.Error == "":
		s.down(errDown)
	default:
		s.down(errors.New(s.last.Error))
	}
}

// Read polls once and reports what it read.
func (s *Session) Read() (term.Reading, error) {
	if s.conn == nil {
		return s.last, errDown
	}
	// In this order: when go reads 0, the status behind it is at least as young.
	command, err := s.conn.ReadCommand()
	if err != nil {
		return s.last, s.failedRead(fmt.Errorf("read the command block: %w", err))
	}
	status, err := s.conn.ReadStatus()
	if err != nil {
		return s.last, s.failedRead(fmt.Errorf("read the status block: %w", err))
	}
	s.redial = firstRedial
	now := s.Now()
	r, beat := s.d.program.Read(command, status, s.d.order)
	if s.beats < 0 || beat != s.heartbeat {
		s.heartbeat, s.beatAt = beat, now
		s.beats++
		s.stood = s.stood && s.beats == 0
	}
	s.noteLow(command[s.d.blocks.GoAt] != 0, r)
	quiet := now.Sub(s.beatAt)
	still := quiet >= time.Duration(s.d.o.Config.Stale)
	switch {
	case s.beats == 0 && !s.stood:
		r.Error = "its heartbeat has not changed yet"
	case s.beats == 0 || still:
		r.Error = fmt.Sprintf("its heartbeat stands still at %d", beat)
	default:
		r.Reached = true
	}
	s.last, s.command, s.heardAt = r, command, now
	if s.beats > 0 || quiet >= heartbeatWithin { // before that there is nothing to say yet
		s.report(r)
	}
	if still && (!s.stood || quiet >= stillAgain) && !s.conn.Usable(ErrStill) {
		s.stood = true
		s.drop()
	}
	return r, nil
}

// noteLow keeps whether the program has seen go at 0: it has taken back what it showed of the last action, or its
// heartbeat has changed meanwhile. s.last is the reading before r.
func (s *Session) noteLow(up bool, r term.Reading) {
	takenBack := !s.d.program.AtRest(s.last) && s.d.program.AtRest(r)
	switch {
	case up:
		s.low, s.seenLow = -1, false
	case takenBack, s.low >= 0 && s.beats > s.low:
		s.seenLow = true
	case s.low < 0:
		s.low = s.beats
	}
}

// failedRead drops a connection that is lost, or has been silent for too long. A single request without an answer is
// no news, unless there was never an answer.
func (s *Session) failedRead(err error) error {
	silent := s.Now().Sub(s.heardAt) >= time.Duration(s.d.o.Config.Stale)
	if s.command == nil || silent || !s.conn.Usable(err) {
		s.down(err)
	}
	if silent || !s.conn.Usable(err) {
		s.drop()
	}
	return err
}

// Write writes words of the command block from an offset on. A notWritten error says that nothing has left; after
// any other the write may have happened, or may happen yet.
func (s *Session) Write(ctx context.Context, offset int, values ...uint16) error {
	if s.conn == nil {
		return notWritten{errDown}
	}
	if err := s.confirm(ctx); err != nil {
		return notWritten{err}
	}
	if goAt := s.d.blocks.GoAt - offset; goAt >= 0 && goAt < len(values) && values[goAt] != 0 {
		s.low, s.seenLow = -1, false
	}
	err := s.conn.Write(offset, values)
	if err == nil {
		return nil
	}
	s.doubt = s.Now().Add(doubtFor)
	if !s.conn.Usable(err) {
		s.down(err)
		s.drop()
	}
	return fmt.Errorf("a write was not confirmed: %w", err)
}

// confirm asks again when the last word is old by either clock: the process may have been away meanwhile.
func (s *Session) confirm(ctx context.Context) error {
	now := s.Now()
	if now.Sub(s.confirmed) < plant.SendBefore && now.Round(0).Sub(s.confirmed.Round(0)) < plant.SendBefore {
		return nil
	}
	if err := confirm(ctx, s.d.o); err != nil {
		return err
	}
	s.confirmed = now
	return nil
}

// Pause waits for one poll, or until the context ends.
func (s *Session) Pause(ctx context.Context) { s.wait(ctx, time.Duration(s.d.o.Config.Poll)) }

func (s *Session) wait(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
