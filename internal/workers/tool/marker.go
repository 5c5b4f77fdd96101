package tool

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"surehand/internal/plant"
	"surehand/internal/term"
	"surehand/internal/workers"
)

// MarkerOptions of a marker. Clock is required.
type MarkerOptions struct {
	Config term.DriverConfig
	Clock  workers.Clock
	// Confirm is asked before MARK and VOID whether this process still owns the database, and before LAST, which changes
	// nothing, when its last word is older than plant.SendBefore. nil: always.
	Confirm func(context.Context) error
	// InDoubt is the number of a mark of an earlier process life that is withdrawn first; 0: none.
	InDoubt uint32
}

// Marker is a workers.Driver of a marker.
type Marker struct {
	wire
	turn seat // of the mark that is under way

	mu          sync.Mutex
	confirmedAt time.Time
	last        term.Reading
	readAt      time.Time
	changed     chan struct{} // closed and renewed with each reading
	doubt       doubt
}

// doubt is a mark that may have begun, or may begin yet: it is withdrawn as soon as the marker can be asked.
type doubt struct {
	no      uint32 // 0: none
	earlier uint32 // the marker's last number before it
}

var _ workers.Driver = (*Marker)(nil)

// NewMarker makes a driver. It connects for each request.
func NewMarker(o MarkerOptions) (*Marker, error) {
	w, err := newWire(o.Config, o.Clock, o.Confirm)
	if err != nil {
		return nil, err
	}
	return &Marker{wire: w, turn: newSeat(), changed: make(chan struct{}), doubt: doubt{no: o.InDoubt}}, nil
}

// Run reads the last number and how it ended. A marker that does not answer is reported when its last answer is stale.
func (m *Marker) Run(ctx context.Context, report func(term.Reading)) {
	for ctx.Err() == nil {
		err := m.look(ctx)
		m.mu.Lock()
		r, age := m.last, time.Since(m.readAt)
		m.mu.Unlock()
		switch {
		case ctx.Err() != nil:
			return
		case err == nil:
			report(r)
		case age >= time.Duration(m.config.Stale):
			r.Reached, r.Error = false, workers.Plain(err).Error()
			report(r)
		}
		pause(ctx, time.Duration(m.config.Poll))
	}
}

// look reads the marker once, and withdraws what is in doubt.
func (m *Marker) look(ctx context.Context) error {
	a, err := m.ask(ctx, "LAST")
	if err != nil {
		return err
	}
	m.mu.Lock()
	d := m.doubt
	m.mu.Unlock()
	if d.no == 0 || a.state == stateBusy || a.forgets(d.earlier) {
		return nil
	}
	if a.before(d.no) {
		_, err = m.ask(ctx, fmt.Sprintf("VOID %d", d.no)) // what it leads to is read next time
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.doubt == d {
		m.doubt = doubt{}
	}
	return nil
}

// ask makes one request of its own connection and takes the answer for a reading.
func (m *Marker) ask(ctx context.Context, request string) (answer, error) {
	if err := m.confirmFor(ctx, request); err != nil {
		return answer{}, err
	}
	c, err := m.dial(ctx)
	if err != nil {
		return answer{}, err
	}
	defer func() { _ = c.Close() }()
	defer context.AfterFunc(ctx, func() { _ = c.Close() })()
	if err := c.SetDeadline(time.Now().Add(time.Duration(m.config.Timeout))); err != nil {
		return answer{}, err
	}
	a, err := exchange(c, request)
	if err != nil {
		return answer{}, err
	}
	if a.state == stateOld {
		return answer{}, fmt.Errorf("the answer %q belongs to MARK, not to %s", a, request)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.last, m.readAt = a.reading(), time.Now()
	close(m.changed)
	m.changed = make(chan struct{})
	return a, nil
}

func (m *Marker) confirmFor(ctx context.Context, request string) error {
	m.mu.Lock()
	fresh := time.Since(m.confirmedAt) < plant.SendBefore
	m.mu.Unlock()
	if request == "LAST" && fresh {
		return nil
	}
	asked := time.Now()
	if err := m.confirmed(ctx); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.confirmedAt = asked
	return nil
}

func exchange(c net.Conn, request string) (answer, error) {
	if _, err := io.WriteString(c, request+"\n"); err != nil {
		return answer{}, fmt.Errorf("send: %w", err)
	}
	line, err := readLine(c)
	if err != nil {
		return answer{}, err
	}
	return parse(line)
}

// Acknowledge is for machines.
func (*Marker) Acknowledge(context.Context, workers.DoneCycle, func()) error {
	return errors.New("a marker has no done to acknowledge")
}

// Perform marks the part in the gripper once. MARK is sent at most once; from its first byte on the mark may have begun,
// and what the marker says of its number decides.
func (m *Marker) Perform(ctx context.Context, t workers.Task) workers.Ending {
	over := time.Now().Add(t.Within())
	if t.Type != term.TaskMark || t.ActionNo == 0 {
		return workers.NotBegun(t, fmt.Sprintf("a marker cannot do %s with number %d", t.Type, t.ActionNo))
	}
	if why := plant.Markable(t.Text); why != "" {
		return workers.NotBegun(t, why)
	}
	var earlier uint32
	c, err := reach(ctx, m.clock, t, func(starting context.Context) (c held, err error) {
		c, earlier, err = m.open(starting, t)
		return c, err
	})
	switch {
	case errors.As(err, new(final)):
		return workers.NotBegun(t, err.Error())
	case err != nil:
		return workers.NotTried(t, workers.Plain(err).Error())
	}
	defer func() { _ = c.Close() }() // it has answered, or another connection asks
	m.setDoubt(doubt{})              // a newer number withdraws whatever was in doubt
	e, why := m.mark(ctx, c.Conn, t, over)
	if why != "" {
		e = m.settle(ctx, t, earlier, over, why)
	}
	if e.Outcome == term.Unknown {
		m.setDoubt(doubt{no: t.ActionNo, earlier: earlier})
	}
	return e
}

func (m *Marker) setDoubt(d doubt) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.doubt = d
}

// open sees that the marker can begin this number, and connects for it. Without an error the turn is taken.
func (m *Marker) open(starting context.Context, t workers.Task) (c held, earlier uint32, err error) {
	if err := m.turn.take(starting); err != nil {
		return c, 0, err
	}
	defer func() {
		if err != nil {
			m.turn.release()
		}
	}()
	a, err := m.ask(starting, "LAST")
	switch {
	case err != nil:
		return c, 0, err
	case a.state == stateBusy && a.no != t.ActionNo:
		return c, 0, fmt.Errorf("the marker is busy with number %d", a.no)
	case !a.before(t.ActionNo):
		return c, 0, final{a.older(t)}
	}
	conn, err := m.connect(starting)
	if err != nil {
		return c, 0, err
	}
	return held{conn, m.turn}, a.no, nil
}

// mark sends MARK and waits for its answer, or for a reading that says how it ended: the answer may be lost, and the
// reading before it was older. why says that neither came.
func (m *Marker) mark(ctx context.Context, c net.Conn, t workers.Task, over time.Time) (e workers.Ending, why string) {
	defer context.AfterFunc(ctx, func() { _ = c.Close() })() // nobody waits for it any more
	if err := c.SetDeadline(over); err != nil {
		return workers.NotBegun(t, err.Error()), ""
	}
	type said struct {
		answer
		err error
	}
	came := make(chan said, 1)
	go func() {
		a, err := exchange(c, fmt.Sprintf("MARK %d %s", t.ActionNo, t.Text))
		came <- said{a, err}
	}()
	for {
		m.mu.Lock()
		r, changed := m.last, m.changed
		m.mu.Unlock()
		if e, ok := workers.Concluded(t.Perform, r); ok {
			return e, ""
		}
		select {
		case s := <-came:
			if e, ok := s.own(t); ok && s.err == nil {
				return e, ""
			}
			if s.err == nil {
				s.err = fmt.Errorf("the answer to MARK %d is %q", t.ActionNo, s.answer)
			}
			return e, workers.Plain(s.err).Error()
		case <-changed:
		}
	}
}

// settle finds out what became of a mark whose answer is missing. Once the marker says VOID of this number, a MARK that
// comes even later begins nothing.
func (m *Marker) settle(ctx context.Context, t workers.Task, earlier uint32, over time.Time, why string) workers.Ending {
	giveUp := over.Add(workers.SettleFor)
	for ; ctx.Err() == nil && time.Now().Before(giveUp); pause(ctx, time.Duration(m.config.Poll)) {
		a, err := m.ask(ctx, "LAST")
		if err == nil && a.forgets(earlier) {
			return workers.InDoubt(why + "; the marker has lost its memory since")
		}
		if err == nil && a.state != stateBusy && a.before(t.ActionNo) {
			a, err = m.ask(ctx, fmt.Sprintf("VOID %d", t.ActionNo))
		}
		if err != nil {
			continue
		}
		if e, ok := a.later(t, why); ok {
			return e
		}
		if a.state == stateBusy && !time.Now().Before(over) {
			return workers.InDoubt(why + "; the marker is still busy")
		}
	}
	if ctx.Err() != nil {
		return workers.InDoubt("given up: " + why)
	}
	return workers.InDoubt(why + ", and the marker cannot be asked what became of it")
}
