package workers

import (
	"context"
	"fmt"
	"sync"
	"time"

	"surehand/internal/message"
	"surehand/internal/plant"
	"surehand/internal/term"
)

// keysRemembered bounds the memory of what was handed out. It needs to reach back only over the life of an
// attempt (some seconds): what is older is late and is not sent anyway.
const keysRemembered = 1 << 16

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

// Crew carries actions out: it is loop.Hands.
type Crew struct {
	options CrewOptions
	posting context.Context // ends when Close gives up on the inbox
	giveUp  context.CancelFunc

	mu      sync.Mutex
	handed  map[string]struct{}
	oldest  []string // keys as they came, a ring once it is full
	next    int
	open    int // orders with a driver, stuck ones too
	owed    int // orders without a result
	results []message.Message
	poster  bool          // a goroutine is posting results
	changed chan struct{} // closed and renewed when owed or results shrink
}

// NewCrew makes a crew that is ready to start actions. Close ends it.
func NewCrew(o CrewOptions) *Crew {
	if o.Bound == 0 {
		o.Bound = 6 * time.Second
	}
	if o.Count == nil {
		o.Count = func(string, string) {}
	}
	ctx, cancel := context.WithCancel(context.Background())
	return &Crew{options: o, posting: ctx, giveUp: cancel, handed: map[string]struct{}{}, changed: make(chan struct{})}
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
	order := Order{Publish: p, StartedAt: c.options.Clock.Now()}
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

func (c *Crew) remember(key string) {
	if _, twice := c.handed[key]; twice {
		panic(fmt.Sprintf("invariant 10: %s was handed out twice", key))
	}
	if len(c.oldest) < keysRemembered {
		c.oldest = append(c.oldest, key)
	} else {
		delete(c.handed, c.oldest[c.next])
		c.oldest[c.next] = key
		c.next = (c.next + 1) % keysRemembered
	}
	c.handed[key] = struct{}{}
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

// keep queues a result; the caller holds mu. The queue is bounded by what was started: while the inbox takes
// no results the loop starts nothing new.
func (c *Crew) keep(order Order, r Result) {
	c.options.Count("publish_result", string(r.Outcome))
	c.owed--
	now := c.options.Clock.Now()
	c.results = append(c.results, message.Message{
		ID: term.MessageID(c.options.NewID(now)), Source: message.FromWorker,
		CorrelationID: string(order.AttemptID), CreatedAt: now,
		Payload: message.AttemptEnded{AttemptID: order.AttemptID, IntentID: order.IntentID, Outcome: r.Outcome, Error: r.Why},
	})
	if !c.poster {
		c.poster = true
		go c.postResults()
	}
}

// postResults runs while there are results, and posts them in the order in which they came.
func (c *Crew) postResults() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.results) > 0 {
		m := c.results[0]
		c.mu.Unlock()
		err := PostUntilTaken(c.posting, c.options.Poster, m)
		c.mu.Lock()
		if err != nil {
			break // Close gave up; the open attempts are judged after the restart
		}
		c.results = c.results[1:]
	}
	c.poster = false
	c.notify()
}

func (c *Crew) notify() {
	close(c.changed)
	c.changed = make(chan struct{})
}

// Open is how many orders wait for their result, and how many results wait for room in the inbox.
func (c *Crew) Open() (orders, results int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.owed, len(c.results)
}

// Close waits until every order has its result and the inbox has taken it, or the context ends. Nothing may
// be started any more. What is left is an open attempt in the database, which a restart judges as unknown.
func (c *Crew) Close(ctx context.Context) error {
	defer c.giveUp()
	for {
		c.mu.Lock()
		owed, waiting, changed := c.owed, len(c.results), c.changed
		c.mu.Unlock()
		if owed == 0 && waiting == 0 {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("%d publishes without an answer and %d results not taken: %w", owed, waiting, context.Cause(ctx))
		}
	}
}
