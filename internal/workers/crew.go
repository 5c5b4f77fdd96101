package workers

import (
	"context"
	"fmt"
	"time"

	"surehand/internal/message"
	"surehand/internal/plant"
	"surehand/internal/term"
)

// CrewOptions says whom a crew works for. All but Bound and Count are required.
type CrewOptions struct {
	Publisher Publisher
	Poster    Poster
	Clock     Clock
	NewID     func(now time.Time) string // of messages
	// Bound is how long a driver may take; then its context ends, and a moment later the crew answers
	// "unknown" in its place. Default 6 s.
	Bound time.Duration
	// Count counts what became of orders: "publish_result" with the outcome, "publish_stuck" (a driver that
	// did not return in time), "publish_no_room".
	Count func(name, label string)
}

// Crew carries out what goes to devices.
type Crew struct {
	*desk
	options CrewOptions
	open    int // orders with a driver, stuck ones too; under mu
}

// NewCrew makes a crew that is ready to start actions. Close ends it.
func NewCrew(o CrewOptions) *Crew {
	if o.Bound == 0 {
		o.Bound = 6 * time.Second
	}
	if o.Count == nil {
		o.Count = func(string, string) {}
	}
	return &Crew{desk: newDesk(o.Poster, o.Clock, o.NewID), options: o}
}

// Start hands an action to its driver and returns at once. The same action twice is a bug of ours that would
// fire twice: it ends the process (invariant 10).
//
// The loop reserves a slot before the fence, but it may close an attempt before its driver has answered (the
// device was faster than the PUBACK), so more orders can be under way than the loop counts. Above twice that
// number the order is answered not_sent; nothing has left then.
func (c *Crew) Start(a plant.Action) {
	p, ok := a.(plant.Publish)
	if !ok {
		panic(fmt.Sprintf("workers: no driver for %T", a))
	}
	order := Order{Publish: p, StartedAt: c.clock.Now()}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.remember(a.ActionKey())
	c.owed++
	if c.open >= 2*plant.MaxPublishesOpen {
		c.options.Count("publish_no_room", "")
		c.keep(order, NotSent("no room: too many publishes wait for the broker"))
		return
	}
	c.open++
	go c.carryOut(order)
}

// carryOut answers exactly once, whatever the driver does. A driver that hangs keeps its place among the open
// orders until it returns, so that stuck goroutines are bounded too.
func (c *Crew) carryOut(order Order) {
	ctx, cancel := context.WithTimeout(context.Background(), c.options.Bound)
	defer cancel()
	answer := make(chan Result, 1)
	go func() {
		defer c.driverReturned()
		answer <- c.publish(ctx, order)
	}()
	stuck := time.NewTimer(c.options.Bound + c.options.Bound/4)
	defer stuck.Stop()
	var r Result
	select {
	case r = <-answer:
	case <-stuck.C:
		c.options.Count("publish_stuck", "")
		r = Unknown("the driver did not answer in time")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.keep(order, r)
}

func (c *Crew) publish(ctx context.Context, order Order) (r Result) {
	defer func() {
		if fault := recover(); fault != nil {
			r = Unknown(fmt.Sprintf("the driver broke: %v", fault))
		}
	}()
	r = c.options.Publisher.Publish(ctx, order)
	switch r.Outcome {
	case term.AttemptSent, term.AttemptNotSent, term.AttemptUnknown:
		return r
	}
	return Unknown(fmt.Sprintf("the driver answered %q", r.Outcome))
}

func (c *Crew) driverReturned() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open--
}

// keep answers an order; the caller holds mu.
func (c *Crew) keep(order Order, r Result) {
	c.options.Count("publish_result", string(r.Outcome))
	c.answer(string(order.AttemptID), message.AttemptEnded{
		AttemptID: order.AttemptID, IntentID: order.IntentID, Outcome: r.Outcome, Error: r.Why,
	})
}
