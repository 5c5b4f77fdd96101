package loop

import (
	"context"
	"errors"
	"fmt"
	"time"

	"surehand/internal/automation"
	"surehand/internal/message"
	"surehand/internal/plant"
	"surehand/internal/production"
	"surehand/internal/term"
)

// maxTimersPerTurn bounds the timers that one turn decides; the rest is the next turn's work.
const maxTimersPerTurn = 256

// maxTries of one turn, waiting for an absent database not counted: reload, decide again, one by one, park.
// More means that parking does not help either.
const maxTries = 20

// turn decides a batch and commits it. Whatever happens to the database meanwhile, when it returns nil every
// message of the batch has been decided, committed, answered and released exactly once.
func (l *Loop) turn(ctx context.Context, batch []message.Message) error {
	return l.turnWith(ctx, batch, maxTimersPerTurn)
}

func (l *Loop) turnWith(ctx context.Context, batch []message.Message, timers int) error {
	for tries := 0; ; {
		w, done, err := l.decideBatch(ctx, batch, timers)
		if err == nil {
			err = l.commitAndRelease(ctx, w, done)
		}
		if err == nil {
			return nil
		}
		// Nothing of this turn is committed, and nothing of it was visible: decide the batch again.
		if tries == maxTries {
			return fmt.Errorf("a turn could not be committed in %d tries: %w", tries, err)
		}
		if err := l.recoverTurn(ctx, err); err != nil {
			return err
		}
		if kind := plant.FaultOf(err); !errors.Is(err, errPanicked) && (kind == plant.FaultConflict || kind == plant.FaultAgain) {
			tries++
		}
		if l.graceDue || l.quarantine { // before any timer that ran out meanwhile
			batch = append(l.followUps(), batch...)
		}
		if tries < 2 || errors.Is(err, errPanicked) || plant.FaultOf(err) != plant.FaultConflict {
			continue
		}
		if len(batch)+timers > 1 {
			return l.oneByOne(ctx, batch)
		}
		suspects := l.lastDecided
		if n := len(suspects); n > 1 && suspects[n-1] == l.lastTick && l.poison[l.lastTick] == "" {
			suspects = suspects[n-1:] // the message itself may be sound: the scheduler's tick is parked first
		}
		for _, id := range suspects {
			l.poison[id] = "the database refused it twice: " + err.Error()
		}
	}
}

// oneByOne decides each message, and then one timer, in a turn of its own, so that only the one at fault is
// parked. Timers that are left are the next turn's work.
func (l *Loop) oneByOne(ctx context.Context, batch []message.Message) error {
	for _, m := range batch {
		if err := l.turnWith(ctx, []message.Message{m}, 0); err != nil {
			return err
		}
	}
	return l.turnWith(ctx, nil, 1)
}

// decideBatch asks the store once, then decides every message, then the timers that are due.
func (l *Loop) decideBatch(ctx context.Context, batch []message.Message, timers int) (w *plant.Work, done []decided, err error) {
	now := l.clock.Now()
	var at message.Message
	defer func() { // a panic in a decider: the message is parked, after the picture was thrown away
		if p := recover(); p != nil {
			if at.Payload == nil {
				panic(p)
			}
			l.poison[at.ID] = fmt.Sprint(p)
			if w != nil {
				l.badEvent = w.Evaluating()
			}
			l.log.Error("a decider panicked; the message will be parked", "type", at.Payload.Type(), "messageId", at.ID, "panic", p)
			w, done, err = nil, nil, errPanicked
		}
	}()
	var need message.Need
	for _, m := range batch {
		at = m
		if _, poisoned := l.poison[m.ID]; !poisoned { // what it asks may be what the database refuses
			automation.Needs(l.state, m, now, &need)
			production.Needs(l.state, m, &need)
		}
	}
	var known message.Known
	if !need.Empty() {
		if known, err = l.store.Known(ctx, need); err != nil {
			return nil, nil, err
		}
	}
	w = l.state.Begin(now, l.mint, l.session, known.Intents, known.Tasks)
	thisTurn := map[term.MessageID]decided{}
	l.lastDecided = l.lastDecided[:0]
	for _, at = range batch {
		l.lastDecided = append(l.lastDecided, at.ID)
		done = append(done, l.decideOne(w, at, known, thisTurn))
	}
	for range timers {
		due, ok := l.dueTimer(now)
		if !ok {
			break
		}
		at = message.Message{ID: dueMessageID(due), Source: message.FromTimer, Payload: timeout(due), CreatedAt: now}
		l.lastDecided = append(l.lastDecided, at.ID)
		done = append(done, l.decideOne(w, at, known, thisTurn))
		if next, ok := l.state.NextDue(); ok && next == due {
			// It was parked, or a decider has a bug: it must not come back for ever.
			l.log.Error("a timer moved nothing and is muted until its row changes", "kind", due.Kind, "key", due.Key)
			l.state.Mute(due)
		}
	}
	if w.CellTouched() { // the scheduler looks once, after the last message that changed the cell
		at = l.scheduleTick(done, now)
		l.lastDecided = append(l.lastDecided, at.ID)
		done = append(done, l.decideOne(w, at, known, thisTurn))
	}
	return w, done, nil
}

// scheduleTick is a message of its own, caused by the last one of the turn that was decided. The same turn decided
// again has the same one, so that a tick at fault can be parked.
func (l *Loop) scheduleTick(done []decided, now time.Time) message.Message {
	cause, made := "", time.UnixMilli(0)
	if n := len(done); n > 0 {
		m := done[n-1].message
		cause, made = string(m.ID), m.CreatedAt
		switch p := m.Payload.(type) {
		case message.Due:
			made = p.Due.At
		case message.StepTimeout:
			made = p.Due.At
		}
	}
	l.lastTick = term.MessageID(plant.DerivedID(made, "tick", cause))
	return message.Message{ID: l.lastTick, Source: message.FromLoop, CausationID: cause, Payload: message.ScheduleTick{}, CreatedAt: now}
}

// timeout is the message of a timer that has run out.
func timeout(due plant.Due) message.Payload {
	if due.Kind == plant.KindTask || due.Kind == plant.KindSlot {
		return message.StepTimeout{Due: due}
	}
	return message.Due{Due: due}
}

var errPanicked = errors.New("a decider panicked")

// dueMessageID is the same for the same timer of the same row version.
func dueMessageID(d plant.Due) term.MessageID {
	return term.MessageID(plant.DerivedID(d.At, "due", string(d.Kind), d.Key, fmt.Sprint(d.Version)))
}

// dueTimer is the next timer that has run out. A timer fires only when nothing received before its due time
// is undecided: silence is judged last.
func (l *Loop) dueTimer(now time.Time) (plant.Due, bool) {
	due, ok := l.state.NextDue()
	if !ok || due.At.After(now) {
		return plant.Due{}, false
	}
	l.inbox.drain()
	if oldest, waiting := l.inbox.oldest(); waiting && oldest.Before(due.At) {
		return plant.Due{}, false
	}
	return due, true
}

// commitAndRelease commits the turn and, only after a known commit and in this order, releases it: answers
// (the poster acknowledges to broker or client when its answer comes), then the stream, then the actions.
// A process that dies before the commit has done nothing; one that dies after it has stored everything that
// the next process needs to know.
func (l *Loop) commitAndRelease(ctx context.Context, w *plant.Work, done []decided) error {
	if w.Empty() {
		l.answer(done)
		if counts := w.Counts(); len(counts) > 0 {
			l.feed.Show(plant.Committed{Fence: l.state.Fence(), At: l.clock.Now(), Counts: counts})
		}
		return nil
	}
	b := w.Batch()
	if err := l.commit(ctx, b); err != nil {
		w.Rollback()
		return err
	}
	committed, actions := w.Accept(b)
	l.answer(done)
	l.feed.Show(committed)
	for _, a := range actions {
		l.hands.Start(a)
	}
	if l.check != nil {
		l.check(ctx, l.state)
	}
	return nil
}

// commit writes one batch and settles a commit in doubt. nil: committed. An error: surely not.
func (l *Loop) commit(ctx context.Context, b plant.Batch) error {
	began := l.clock.Now()
	err := l.store.Commit(ctx, b)
	if err == nil || plant.FaultOf(err) != plant.FaultDoubt {
		return err
	}
	if l.awaySince.IsZero() { // windows did not run while the commit hung
		l.awaySince = began
	}
	l.away.Store(true)
	l.log.Warn("a commit is in doubt; nothing is released until it is settled", "turn", b.After.Turn, "error", err)
	for {
		settled, err := l.store.Settle(ctx, b)
		if err == nil {
			l.backAgain()
		}
		switch {
		case err == nil && settled == plant.Stands:
			l.log.Info("the commit in doubt stands", "turn", b.After.Turn)
			return nil
		case err == nil && settled == plant.Lost:
			l.log.Info("the commit in doubt was lost; its messages are decided again", "turn", b.After.Turn)
			return &plant.Fault{Kind: plant.FaultAgain, Err: errors.New("commit lost")}
		case err == nil:
			return errTimeTravel
		case plant.FaultOf(err).Ends():
			return err
		}
		if err := l.pause(ctx, err); err != nil {
			return err
		}
	}
}

var errTimeTravel = errors.New("the database went back in time")

// recoverTurn brings the picture in order after a turn that was not committed. An error ends the process.
func (l *Loop) recoverTurn(ctx context.Context, err error) error {
	if errors.Is(err, errTimeTravel) {
		return l.travelled(ctx)
	}
	if errors.Is(err, errPanicked) {
		return l.reload(ctx)
	}
	switch plant.FaultOf(err) {
	case plant.FaultAgain:
		l.log.Warn("the database asks for the same turn again", "error", err)
		return nil
	case plant.FaultConflict:
		l.log.Error("the database refused a turn; the picture is loaded again", "error", err)
		return l.reload(ctx)
	case plant.FaultAway, plant.FaultDoubt:
		l.log.Error("the database is away; nothing is dispatched until it is back", "error", err)
		return l.reload(ctx)
	}
	return err
}

// reload throws the picture away and loads it again, waiting for the database as long as it takes.
func (l *Loop) reload(ctx context.Context) error {
	for {
		state, err := l.store.Reload(ctx)
		if err == nil {
			l.state = state
			l.backAgain()
			return nil
		}
		var fault *plant.Fault
		switch known := errors.As(err, &fault); {
		case known && fault.Kind.Ends():
			return err
		case known && fault.Kind == plant.FaultDoubt: // behind what this life committed
			return l.travelled(ctx)
		}
		if err := l.pause(ctx, err); err != nil {
			return err
		}
	}
}

// travelled: a failover or a restore lost commits. A new generation makes every client start over, and every
// device that may know more than the database is quarantined until an engineer has looked.
func (l *Loop) travelled(ctx context.Context) error {
	l.log.Error("the database went back in time: a new generation starts and every device is quarantined")
	for {
		state, err := l.store.NewGeneration(ctx)
		if err == nil {
			l.state = state
			l.quarantine = true
			l.backAgain()
			return nil
		}
		if plant.FaultOf(err).Ends() {
			return err
		}
		if err := l.pause(ctx, err); err != nil {
			return err
		}
	}
}
