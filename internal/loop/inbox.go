package loop

import (
	"sync/atomic"
	"time"

	"surehand/internal/message"
	"surehand/internal/plant"
)

// rank orders the sources: people and results first, telemetry after them, timers (which have no ring) last.
type rank int

const (
	rankPerson rank = iota
	rankWorker
	rankDevice
	rankTelemetry
	ranks
)

// room is how many undecided messages of a rank the inbox holds. A result always finds room: no more actions
// are handed out than worker's room.
var room = [ranks]int64{rankPerson: 256, rankWorker: 2 * plant.MaxPublishesOpen, rankDevice: 2048, rankTelemetry: 2048}

// telemetryFloor is what a turn takes of telemetry however much else is queued.
const telemetryFloor = plant.MaxBatch / 8

func rankOf(s message.Source) rank {
	switch s {
	case message.FromPerson:
		return rankPerson
	case message.FromTelemetry:
		return rankTelemetry
	case message.FromDevice:
		return rankDevice
	}
	return rankWorker
}

// inbox is the one channel into the loop, drained into a ring per rank. Its bound is kept at the door, so
// that a flood of one source is told "full" and never stands in front of another.
type inbox struct {
	in     chan message.Message
	queued [ranks]atomic.Int64
	closed atomic.Bool
	rings  [ranks][]message.Message // only the loop's goroutine touches them
}

func newInbox() *inbox {
	total := int64(0)
	for _, n := range room {
		total += n
	}
	return &inbox{in: make(chan message.Message, total)}
}

// post tells whether the message was taken; false means full, or the loop has ended. It never waits.
func (b *inbox) post(m message.Message) bool {
	r := rankOf(m.Source)
	if b.closed.Load() {
		return false
	}
	if b.queued[r].Add(1) > room[r] {
		b.queued[r].Add(-1)
		return false
	}
	b.in <- m // has room for every message that was let in
	return true
}

// accept puts one received message into its ring.
func (b *inbox) accept(m message.Message) { r := rankOf(m.Source); b.rings[r] = append(b.rings[r], m) }

// drain takes what is queued in the channel without waiting.
func (b *inbox) drain() {
	for {
		select {
		case m := <-b.in:
			b.accept(m)
		default:
			return
		}
	}
}

// pick takes the next batch: by rank, with a floor for telemetry and at most half of the room for it while
// others wait.
func (b *inbox) pick() []message.Message {
	others := len(b.rings[rankPerson]) + len(b.rings[rankWorker]) + len(b.rings[rankDevice])
	telemetry := len(b.rings[rankTelemetry])
	if others > 0 {
		telemetry = min(telemetry, max(telemetryFloor, min(plant.MaxBatch/2, plant.MaxBatch-others)))
	}
	reserved := min(telemetry, plant.MaxBatch)
	batch := make([]message.Message, 0, min(plant.MaxBatch, others+telemetry))
	for r := rankPerson; r < rankTelemetry; r++ {
		batch = b.take(batch, r, plant.MaxBatch-reserved-len(batch))
	}
	return b.take(batch, rankTelemetry, plant.MaxBatch-len(batch))
}

// take moves up to n messages of a rank into the batch.
func (b *inbox) take(batch []message.Message, r rank, n int) []message.Message {
	n = min(n, len(b.rings[r]))
	batch = append(batch, b.rings[r][:n]...)
	rest := copy(b.rings[r], b.rings[r][n:])
	clear(b.rings[r][rest:])
	b.rings[r] = b.rings[r][:rest]
	b.queued[r].Add(-int64(n))
	return batch
}

// oldest is when the oldest undecided message was made; false when none waits.
func (b *inbox) oldest() (time.Time, bool) {
	var oldest time.Time
	found := false
	for r := range b.rings {
		if len(b.rings[r]) == 0 {
			continue
		}
		if at := b.rings[r][0].CreatedAt; !found || at.Before(oldest) {
			oldest, found = at, true
		}
	}
	return oldest, found
}

// waiting tells whether any ring holds a message.
func (b *inbox) waiting() bool { _, any := b.oldest(); return any }

// answer gives each poster the outcome of its message. A poster that left no room has a bug; the loop goes on.
func (l *Loop) answer(done []decided) {
	for _, d := range done {
		delete(l.poison, d.message.ID)
		if d.message.Reply == nil {
			continue
		}
		select {
		case d.message.Reply <- message.Answer{MessageID: d.message.ID, Outcome: d.outcome}:
		default:
			l.log.Error("an answer found no room with its poster and is lost", "messageId", d.message.ID, "type", d.message.Payload.Type())
		}
	}
}
