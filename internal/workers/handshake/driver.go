package handshake

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"surehand/internal/term"
	"surehand/internal/workers"
)

// Options of a driver, whatever its wire. Clock is required.
type Options struct {
	Config term.DriverConfig
	Clock  workers.Clock
	// Confirm is asked before each connection, and before a write when its last word is older than plant.SendBefore,
	// whether this process still owns the database. nil: always.
	Confirm func(context.Context) error
	Log     *slog.Logger
}

// Program is what the words of one kind of controller mean.
type Program interface {
	Blocks() Blocks
	// Read tells what the two blocks say, without Reached and Error, and the heartbeat.
	Read(command, status []uint16, o Order) (r term.Reading, heartbeat uint16)
	// Command is what is to be written for a task, between number and go; or why it cannot be said on this wire.
	Command(t workers.Task) ([]uint16, error)
	// Refuses says why a task must not begin now, or nothing.
	Refuses(r term.Reading, t workers.Task) string
	// AtRest tells whether go = 0 was taken: nothing of the last action is shown any more.
	AtRest(r term.Reading) bool
	// Still tells whether what the task asks for is surely not under way.
	Still(r term.Reading, t workers.Task) bool
	// Abandoned tells whether the action that the echo names is neither under way nor at an end that is shown.
	Abandoned(r term.Reading) bool
	// Leftover are offsets of the command block to set to 0 while no action is under way: what an ended process, or a
	// write that came late, has left up. Not go of a number newer than the echo: that is withdrawn.
	Leftover(command []uint16, r term.Reading, o Order) []int
}

// Driver is a workers.Driver but for Acknowledge.
type Driver struct {
	o         Options
	transport Transport
	program   Program
	blocks    Blocks
	order     Order
	requests  chan *request
}

// request is work for the goroutine that owns the connection.
type request struct {
	ctx  context.Context
	work func(context.Context, *Session)
	done chan struct{}
}

// New makes a driver. It connects when it runs.
func New(o Options, t Transport, p Program) (*Driver, error) {
	o.Config = o.Config.WithDefaults()
	if o.Confirm == nil {
		o.Confirm = func(context.Context) error { return nil }
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	c, blocks := o.Config, p.Blocks()
	switch {
	case o.Clock == nil:
		return nil, errors.New("handshake: Clock is required")
	case c.Address == "":
		return nil, errors.New("the driver has no address")
	case c.WordOrder != "high" && c.WordOrder != "low":
		return nil, fmt.Errorf("word order %q must be high or low", c.WordOrder)
	}
	if err := t.Check(blocks); err != nil {
		return nil, err
	}
	return &Driver{o: o, transport: t, program: p, blocks: blocks, order: OrderOf(c), requests: make(chan *request)}, nil
}

// Do lets the goroutine that owns the connection do some work, once it is free. An error says that it was not begun;
// after by it is not begun any more.
func (d *Driver) Do(ctx context.Context, by time.Duration, work func(context.Context, *Session)) error {
	r := &request{ctx: ctx, work: work, done: make(chan struct{})}
	late := time.NewTimer(by)
	defer late.Stop()
	select {
	case d.requests <- r:
		<-r.done
		return nil
	case <-late.C:
		return errors.New("late: the driver had no time for it")
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Perform begins an action by the handshake and follows it to its end.
func (d *Driver) Perform(ctx context.Context, t workers.Task) (e workers.Ending) {
	by := t.NotAfter().Sub(d.o.Clock.Now())
	if err := d.Do(ctx, by, func(ctx context.Context, s *Session) { e = s.perform(ctx, t) }); err != nil {
		return workers.NotTried(t, err.Error())
	}
	return e
}
