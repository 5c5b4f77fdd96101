package loop

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"surehand/internal/automation"
	"surehand/internal/message"
	"surehand/internal/plant"
	"surehand/internal/production"
	"surehand/internal/term"
)

// Options of a Loop. All ports are required; Log may be nil.
type Options struct {
	Store Store
	Hands Hands
	Feed  Feed
	Clock Clock
	Mint  plant.Mint
	Log   *slog.Logger
	// Check is called with the picture after every committed turn; tests compare it with a fresh load.
	Check func(context.Context, *plant.State)
}

// Loop is the ProductionEventLoop.
type Loop struct {
	store Store
	hands Hands
	feed  Feed
	clock Clock
	mint  plant.Mint
	log   *slog.Logger
	check func(context.Context, *plant.State)

	inbox   *inbox
	state   *plant.State
	session *plant.Session

	poison      map[term.MessageID]string // messages that cannot be decided, and why: parked when next met
	lastDecided []term.MessageID          // of the turn that is being decided
	lastTick    term.MessageID            // the scheduler's tick of the turn that is being decided
	badEvent    term.EventID              // was evaluated when a decider broke
	parks       []time.Time
	quarantine  bool      // the database went back in time; every device is to be quarantined
	awaySince   time.Time // zero while the database answers
	graceDue    bool      // an outage ended; windows get their grace in the next turn

	stop   chan bool // true: drain
	opened chan struct{}
	turned atomic.Int64 // unix microseconds of the last turn, waiting for the database included
	away   atomic.Bool
	epoch  atomic.Int64
}

// New makes a loop; Run starts it.
func New(o Options) *Loop {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Loop{store: o.Store, hands: o.Hands, feed: o.Feed, clock: o.Clock, mint: o.Mint, log: o.Log, check: o.Check,
		inbox: newInbox(), session: plant.NewSession(), poison: map[term.MessageID]string{}, stop: make(chan bool, 1), opened: make(chan struct{})}
}

// Post puts a message into the inbox and tells whether there was room. It never waits and may be called from
// any goroutine.
func (l *Loop) Post(m message.Message) bool { return l.inbox.post(m) }

// Opened is closed when the database has confirmed this process life: only then may a connection to a broker
// or a machine be opened.
func (l *Loop) Opened() <-chan struct{} { return l.opened }

// Health of the loop, for /healthz and /readyz.
type Health struct {
	LastTurn     time.Time
	DatabaseAway bool
	Epoch        int64
	Queued       [4]int64 // person, worker, device, telemetry
}

// Health may be called from any goroutine.
func (l *Loop) Health() Health {
	h := Health{LastTurn: time.UnixMicro(l.turned.Load()), DatabaseAway: l.away.Load(), Epoch: l.epoch.Load()}
	for r := range h.Queued {
		h.Queued[r] = l.inbox.queued[r].Load()
	}
	return h
}

// idleTick bounds how long the loop sleeps, so that its last turn is a sign of life.
const idleTick = time.Second

// databasePause is how long the loop waits before it asks an absent database again.
const databasePause = 200 * time.Millisecond

// Run opens the store and turns until the context ends, a stop was asked for and done, or this life was
// fenced off. nil: stopped as asked.
func (l *Loop) Run(ctx context.Context) error {
	defer l.inbox.closed.Store(true)
	if err := l.Begin(ctx); err != nil {
		return l.ended(ctx, err)
	}
	for {
		if l.session.Stopping() && l.mayEnd() {
			return l.finish(ctx)
		}
		if err := l.wait(ctx); err != nil {
			return l.ended(ctx, err)
		}
		l.inbox.drain()
		if err := l.Turn(ctx, l.inbox.pick()); err != nil {
			return l.ended(ctx, err)
		}
	}
}

// Begin opens the store and decides the start of this process life. Run does it by itself; a simulation that
// drives the loop turn by turn calls it once.
func (l *Loop) Begin(ctx context.Context) error {
	if err := l.open(ctx); err != nil {
		return err
	}
	return l.Turn(ctx, []message.Message{l.own(message.ProcessStarted{Epoch: l.state.Fence().Epoch})})
}

// Turn decides and commits one batch after the loop's own messages and before the timers that are due.
func (l *Loop) Turn(ctx context.Context, batch []message.Message) error {
	err := l.turn(ctx, append(l.followUps(), batch...))
	l.turned.Store(l.clock.Now().UnixMicro())
	return err
}

// NextTurn is when there is something to do without a message: now when work was left over, else the next
// due time; false when nothing waits.
func (l *Loop) NextTurn() (time.Time, bool) {
	if l.leftOver() {
		return l.clock.Now(), true
	}
	due, ok := l.state.NextDue()
	return due.At, ok
}

// State is the picture, for the goroutine that drives the loop.
func (l *Loop) State() *plant.State { return l.state }

func (l *Loop) leftOver() bool {
	return l.graceDue || l.quarantine || automation.More(l.state, l.session)
}

func (l *Loop) open(ctx context.Context) error {
	for {
		state, err := l.store.Open(ctx, l.mint.ID(l.clock.Now()))
		if err == nil {
			l.state = state
			l.epoch.Store(state.Fence().Epoch)
			l.turned.Store(l.clock.Now().UnixMicro())
			l.backAgain()
			close(l.opened)
			return nil
		}
		if kind := plant.FaultOf(err); kind != plant.FaultAway && kind != plant.FaultAgain {
			return err
		}
		if err := l.pause(ctx, err); err != nil {
			return err
		}
	}
}

// wait sleeps until there is something to decide: a message, a timer, work left over, a stop.
func (l *Loop) wait(ctx context.Context) error {
	select {
	case drain := <-l.stop: // also when the inbox is never empty
		l.askStop(drain)
	default:
	}
	if l.inbox.waiting() || l.leftOver() {
		return ctx.Err()
	}
	sleep := idleTick
	if due, ok := l.state.NextDue(); ok {
		sleep = min(sleep, max(0, due.At.Sub(l.clock.Now())))
	}
	timer, stopTimer := l.clock.After(sleep)
	defer stopTimer()
	select {
	case m := <-l.inbox.in:
		l.inbox.accept(m)
	case <-timer:
	case drain := <-l.stop:
		l.askStop(drain)
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

// askStop queues the word to stop as a message of the loop's own.
func (l *Loop) askStop(drain bool) {
	l.inbox.queued[rankWorker].Add(1)
	l.inbox.accept(l.own(message.StopRequested{Drain: drain}))
}

// followUps are the loop's messages to itself.
func (l *Loop) followUps() []message.Message {
	var own []message.Message
	if l.graceDue {
		l.graceDue = false
		own = append(own, l.own(message.OutageEnded{Since: l.awaySince}))
		l.awaySince = time.Time{}
	}
	if l.quarantine {
		l.quarantine = false
		own = append(own, l.own(message.DatabaseTravelled{}))
	}
	if automation.More(l.state, l.session) {
		own = append(own, l.own(message.Continue{}))
	}
	return own
}

func (l *Loop) own(p message.Payload) message.Message {
	now := l.clock.Now()
	return message.Message{ID: term.MessageID(l.mint.ID(now)), Source: message.FromLoop, Payload: p, CreatedAt: now}
}

// pause waits a little for the database and notes that it is away. Workers keep their results meanwhile, MQTT
// stays unacknowledged, and nothing is dispatched.
func (l *Loop) pause(ctx context.Context, err error) error {
	now := l.clock.Now()
	if l.awaySince.IsZero() {
		l.awaySince = now
		l.log.Error("waiting for the database", "error", err)
	}
	l.away.Store(true)
	l.turned.Store(now.UnixMicro())
	timer, stop := l.clock.After(databasePause)
	defer stop()
	select {
	case <-timer:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// backAgain: the database answered; if it had been away, windows that ran meanwhile get their grace.
func (l *Loop) backAgain() {
	l.away.Store(false)
	if !l.awaySince.IsZero() {
		l.log.Info("the database is back", "away", l.clock.Now().Sub(l.awaySince).String())
		l.graceDue = true
	}
}

// Stop asks the loop to end after what is queued; with drain, after what is under way has come to rest.
func (l *Loop) Stop(drain bool) {
	select {
	case l.stop <- drain:
	default: // asked already
	}
}

// mayEnd: every person and worker has been answered, and when draining nothing is under way. What devices say
// in the meantime stays unacknowledged at the broker and comes again.
func (l *Loop) mayEnd() bool {
	l.inbox.drain()
	if len(l.inbox.rings[rankPerson])+len(l.inbox.rings[rankWorker]) > 0 {
		return false
	}
	return !l.session.Draining() || automation.UnderWay(l.state)+production.UnderWay(l.state) == 0
}

func (l *Loop) finish(ctx context.Context) error {
	if err := l.store.Stop(ctx, l.session.Draining()); err != nil {
		return l.ended(ctx, err)
	}
	l.log.Info("stopped", "drained", l.session.Draining(), "seq", l.state.Fence().Seq)
	return nil
}

// ended tells a stop by the context from a fault. A turn that had begun was rolled back or committed whole.
func (l *Loop) ended(ctx context.Context, err error) error {
	if ctx.Err() != nil && !plant.FaultOf(err).Ends() {
		return nil
	}
	return err
}

// parkLimit a minute; more hold the device half.
const parkLimit = 5

func (l *Loop) tooManyParks(now time.Time) bool {
	kept := l.parks[:0]
	for _, at := range l.parks {
		if now.Sub(at) < time.Minute {
			kept = append(kept, at)
		}
	}
	l.parks = append(kept, now)
	return len(l.parks) >= parkLimit
}
