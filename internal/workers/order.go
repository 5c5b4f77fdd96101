package workers

import (
	"context"
	"time"

	"surehand/internal/message"
	"surehand/internal/plant"
	"surehand/internal/term"
)

// Poster is the loop's inbox. false means that it is full: try again; a result is never dropped.
type Poster interface{ Post(message.Message) bool }

// Clock must be the loop's clock: an order is late by the same clock that its turn was stamped with.
type Clock interface{ Now() time.Time }

// Publisher hands one order to the broker, once. It returns when the fate of the bytes is known or can no
// longer become known, at the latest soon after its context ended. It never tries again.
type Publisher interface {
	Publish(ctx context.Context, o Order) Result
}

// Order is an action on its way out.
type Order struct {
	plant.Publish
	// StartedAt is when the loop handed it out, right after the commit; it carries the monotonic clock.
	StartedAt time.Time
}

// NotAfter is the last moment at which the order may leave.
func (o Order) NotAfter() time.Time { return o.StartedAt.Add(plant.SendBefore) }

// Late tells whether the order may no longer leave; a driver asks right before the write. It is over as soon
// as any clock says so. FencedAt covers a pause between the commit and Start, when StartedAt is stamped too
// late; DeadlineAt covers a profile whose attempts are shorter than SendBefore.
func (o Order) Late(now time.Time) bool {
	notAfter := o.NotAfter()
	if !now.Before(notAfter) {
		return true
	}
	wall := now.Round(0) // without the monotonic reading, so that wall clocks are compared
	return !wall.Before(notAfter.Round(0)) ||
		!o.FencedAt.IsZero() && !wall.Before(o.FencedAt.Add(plant.SendBefore)) ||
		!o.DeadlineAt.IsZero() && !wall.Before(o.DeadlineAt)
}

// Result is the one answer to an order.
type Result struct {
	Outcome term.AttemptOutcome
	Why     string // for people; empty when sent
}

// Sent: the broker acknowledged the publish (QoS 1), or all its bytes were written (QoS 0).
func Sent() Result { return Result{Outcome: term.AttemptSent} }

// NotSent: surely nothing left, or the broker refused it.
func NotSent(why string) Result { return Result{Outcome: term.AttemptNotSent, Why: why} }

// Unknown: it may have left.
func Unknown(why string) Result { return Result{Outcome: term.AttemptUnknown, Why: why} }

const (
	firstRetry   = time.Millisecond
	longestRetry = 50 * time.Millisecond
)

// PostUntilTaken posts until the inbox takes the message, or the context ends: then it returns the context's
// cause and the message was not taken.
func PostUntilTaken(ctx context.Context, p Poster, m message.Message) error {
	for wait := firstRetry; !p.Post(m); wait = min(2*wait, longestRetry) {
		again := time.NewTimer(wait)
		select {
		case <-again.C:
		case <-ctx.Done():
			again.Stop()
			return context.Cause(ctx)
		}
	}
	return nil
}
