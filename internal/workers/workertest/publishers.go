package workertest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"surehand/internal/plant"
	"surehand/internal/term"
	"surehand/internal/workers"
)

// patience ends a test whose publisher never answers; no test measures it.
const patience = 60 * time.Second

// Bench is a connected publisher and its far side.
type Bench struct {
	Publisher workers.Publisher
	// Order makes a fresh order at QoS 1; its correlation names it.
	Order func(n int) workers.Order
	// Received counts the copies that the far side has got, by correlation.
	Received func() map[string]int
	// AwaitReceived waits until the far side has got a copy.
	AwaitReceived func(correlation string)
	// Hang: the far side takes everything and its answers are held back.
	Hang func()
	// Cut ends the link and keeps it down; it returns when the publisher knows.
	Cut func()
	// Heal undoes both; what was held back arrives. The link comes up by itself.
	Heal func()
}

// Publishers runs the contract against a publisher; open is called for each part.
func Publishers(t *testing.T, open func(t *testing.T) Bench) {
	t.Run("an order is sent once", func(t *testing.T) {
		b := open(t)
		b.want(t, b.Order(1), term.AttemptSent)
		b.exactly(t, b.Order(1).Correlation, 1)
	})
	t.Run("many at once get one answer each", func(t *testing.T) {
		b := open(t)
		results := make(chan workers.Result, plant.MaxPublishesOpen)
		for n := range plant.MaxPublishesOpen {
			go func() { results <- b.publish(b.Order(n)) }()
		}
		for range plant.MaxPublishesOpen {
			if r := <-results; r.Outcome != term.AttemptSent {
				t.Errorf("result %+v", r)
			}
		}
		for n := range plant.MaxPublishesOpen {
			b.AwaitReceived(b.Order(n).Correlation)
		}
		for id, copies := range b.Received() {
			if copies != 1 {
				t.Errorf("%s came %d times", id, copies)
			}
		}
	})
	for name, late := range map[string]func(*workers.Order){
		"monotonic clock over":            func(o *workers.Order) { o.StartedAt = o.StartedAt.Add(-plant.SendBefore) },
		"wall clock over":                 func(o *workers.Order) { o.StartedAt = o.StartedAt.Round(0).Add(-plant.SendBefore) },
		"paused between commit and start": func(o *workers.Order) { o.FencedAt = o.FencedAt.Add(-plant.SendBefore) },
		"deadline over":                   func(o *workers.Order) { o.DeadlineAt = o.StartedAt.Round(0).Add(-1) },
	} {
		t.Run("late order is not sent: "+name, func(t *testing.T) {
			b := open(t)
			o := b.Order(1)
			late(&o)
			b.want(t, o, term.AttemptNotSent)
			b.want(t, b.Order(2), term.AttemptSent)
			b.exactly(t, o.Correlation, 0)
		})
	}
	t.Run("link down is not sent, and nothing is kept for later", func(t *testing.T) {
		b := open(t)
		b.Cut()
		b.want(t, b.Order(1), term.AttemptNotSent)
		b.Heal()
		b.sentInTheEnd(t, 2)
		b.exactly(t, b.Order(1).Correlation, 0)
	})
	t.Run("link lost before the answer is unknown, and nothing is sent again", func(t *testing.T) {
		b := open(t)
		b.Hang()
		result := make(chan workers.Result, 1)
		go func() { result <- b.publish(b.Order(1)) }()
		b.AwaitReceived(b.Order(1).Correlation)
		b.Cut()
		if r := <-result; r.Outcome != term.AttemptUnknown {
			t.Errorf("result %+v, want unknown", r)
		}
		b.Heal()
		b.sentInTheEnd(t, 2)
		b.exactly(t, b.Order(1).Correlation, 1)
	})
	t.Run("no answer is unknown, and a late answer is dropped", func(t *testing.T) {
		b := open(t)
		b.Hang()
		b.want(t, b.Order(1), term.AttemptUnknown)
		b.Heal()
		b.sentInTheEnd(t, 2)
		b.exactly(t, b.Order(1).Correlation, 1)
	})
	t.Run("who gives up gets an answer at once", func(t *testing.T) {
		b := open(t)
		b.Hang()
		ctx, cancel := context.WithCancel(context.Background())
		result := make(chan workers.Result, 1)
		go func() { result <- b.Publisher.Publish(ctx, b.Order(1)) }()
		b.AwaitReceived(b.Order(1).Correlation)
		cancel()
		if r := <-result; r.Outcome != term.AttemptUnknown {
			t.Errorf("result %+v, want unknown", r)
		}
		b.Heal()
	})
}

func (b Bench) publish(o workers.Order) workers.Result {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	r := b.Publisher.Publish(ctx, o)
	if ctx.Err() != nil {
		r.Why = fmt.Sprintf("only after %s: %s", patience, r.Why)
	}
	return r
}

func (b Bench) want(t *testing.T, o workers.Order, outcome term.AttemptOutcome) {
	t.Helper()
	if r := b.publish(o); r.Outcome != outcome || (r.Why == "") != (outcome == term.AttemptSent) {
		t.Errorf("%s: %s (%s), want %s", o.Correlation, r.Outcome, r.Why, outcome)
	}
}

// sentInTheEnd tries like the loop: again while surely nothing left.
func (b Bench) sentInTheEnd(t *testing.T, n int) {
	t.Helper()
	for began := time.Now(); ; {
		switch r := b.publish(b.Order(n)); {
		case r.Outcome == term.AttemptSent:
			return
		case r.Outcome != term.AttemptNotSent || time.Since(began) > patience:
			t.Fatalf("after healing: %s (%s)", r.Outcome, r.Why)
		}
	}
}

// exactly counts copies once a later order has arrived, which on one connection comes after them.
func (b Bench) exactly(t *testing.T, correlation string, copies int) {
	t.Helper()
	last := b.Order(1 << 20)
	b.sentInTheEnd(t, 1<<20)
	b.AwaitReceived(last.Correlation)
	if got := b.Received()[correlation]; got != copies {
		t.Errorf("%s came %d times, want %d", correlation, got, copies)
	}
}
