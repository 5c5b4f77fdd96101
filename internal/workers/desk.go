package workers

import (
	"context"
	"fmt"
	"sync"
	"time"

	"surehand/internal/message"
	"surehand/internal/term"
)

// keysRemembered bounds the memory of what was handed out. It needs to reach back only over the life of an
// action's row until its end: what is older is late and is not sent anyway.
const keysRemembered = 1 << 16

// desk is what all hands have in common: it hands out each action once, counts whom it owes a result, and keeps
// results until the inbox takes them.
type desk struct {
	poster  Poster
	clock   Clock
	newID   func(now time.Time) string
	posting context.Context // ends when Close gives up on the inbox
	giveUp  context.CancelFunc

	mu      sync.Mutex
	handed  map[string]struct{}
	oldest  []string // keys as they came, a ring once it is full
	next    int
	owed    int // actions without a result
	results []message.Message
	busy    bool          // a goroutine is posting results
	changed chan struct{} // closed and renewed when owed or results shrink
}

func newDesk(p Poster, c Clock, newID func(time.Time) string) *desk {
	ctx, cancel := context.WithCancel(context.Background())
	return &desk{poster: p, clock: c, newID: newID, posting: ctx, giveUp: cancel, handed: map[string]struct{}{}, changed: make(chan struct{})}
}

// remember ends the process when an action is handed out a second time, which would fire twice; the caller holds mu.
func (d *desk) remember(key string) {
	if _, twice := d.handed[key]; twice {
		panic(fmt.Sprintf("invariant 10: %s was handed out twice", key))
	}
	if len(d.oldest) < keysRemembered {
		d.oldest = append(d.oldest, key)
	} else {
		delete(d.handed, d.oldest[d.next])
		d.oldest[d.next] = key
		d.next = (d.next + 1) % keysRemembered
	}
	d.handed[key] = struct{}{}
}

// answer queues the one result that is owed for an action; the caller holds mu. The queue is bounded by what was
// started: while the inbox takes no results the loop starts nothing new.
func (d *desk) answer(correlation string, p message.Payload) {
	d.owed--
	d.say(correlation, p)
}

// say queues what a worker has to say beyond what it owes; the caller holds mu.
func (d *desk) say(correlation string, p message.Payload) {
	now := d.clock.Now()
	d.results = append(d.results, message.Message{
		ID: term.MessageID(d.newID(now)), Source: message.FromWorker, CorrelationID: correlation, CreatedAt: now, Payload: p,
	})
	if !d.busy {
		d.busy = true
		go d.postResults()
	}
}

// postResults runs while there are results, and posts them in the order in which they came.
func (d *desk) postResults() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for len(d.results) > 0 {
		m := d.results[0]
		d.mu.Unlock()
		err := PostUntilTaken(d.posting, d.poster, m)
		d.mu.Lock()
		if err != nil {
			break // Close gave up; the open actions are judged after the restart
		}
		d.results = d.results[1:]
	}
	d.busy = false
	close(d.changed)
	d.changed = make(chan struct{})
}

// Open is how many actions wait for their result, and how many results wait for room in the inbox.
func (d *desk) Open() (actions, results int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.owed, len(d.results)
}

// Close waits until every action has its result and the inbox has taken it, or the context ends. Nothing may
// be started any more. What is left is an open row in the database, which a restart judges as unknown.
func (d *desk) Close(ctx context.Context) error {
	defer d.giveUp()
	for {
		d.mu.Lock()
		owed, waiting, changed := d.owed, len(d.results), d.changed
		d.mu.Unlock()
		if owed == 0 && waiting == 0 {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("%d actions without an answer and %d results not taken: %w", owed, waiting, context.Cause(ctx))
		}
	}
}
