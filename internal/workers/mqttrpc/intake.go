package mqttrpc

import (
	"context"

	"surehand/internal/message"
	"surehand/internal/plant"
	"surehand/internal/term"
	"surehand/internal/workers"
)

// intake is the one way of a link into the loop's inbox, over all its connections: first in, first out, so
// that a link is reported up before what it brings, drained after what had queued, and down after all of it.
//
// Its room: the Receive Maximum of one connection (the next is not opened before the queue of the last is
// posted), what may wait at QoS 0, and one up and one down.
type intake struct {
	driver *Driver
	link   plant.Link
	source message.Source
	queue  chan entry
	qos0   int
}

// entry is a message, or a mark in the queue, or both.
type entry struct {
	m      message.Message
	posted chan<- struct{} // closed when the inbox has taken it and all before it; may be nil
}

func newIntake(d *Driver, l plant.Link, maximum uint16, qos0 int) *intake {
	in := &intake{driver: d, link: l, source: message.FromDevice, qos0: qos0, queue: make(chan entry, int(maximum)+qos0+4)}
	if l == plant.LinkTelemetry { // in one ring with the readings, so that the loop keeps their order
		in.source = message.FromTelemetry
	}
	return in
}

// run posts until the queue is closed and empty, or the context ends.
func (in *intake) run(ctx context.Context) {
	for e := range in.queue {
		if e.m.Payload != nil && workers.PostUntilTaken(ctx, in.driver.options.Poster, e.m) != nil {
			return // stopping, and nobody listens any more
		}
		if e.posted != nil {
			close(e.posted)
		}
	}
}

func (in *intake) stamp(p message.Payload, s message.Source) message.Message {
	now := in.driver.options.Clock.Now()
	return message.Message{ID: term.MessageID(in.driver.options.NewID(now)), Source: s, Payload: p, CreatedAt: now}
}

// tell queues a fact about the link itself.
func (in *intake) tell(p message.Payload) { in.queue <- entry{m: in.stamp(p, in.source)} }

// down queues the loss of the link. The channel is closed when the loop has been told, and with it everything
// that the connection had brought.
func (in *intake) down() <-chan struct{} {
	posted := make(chan struct{})
	in.queue <- entry{in.stamp(message.LinkChanged{Link: in.link}, in.source), posted}
	return posted
}

// flushed gives a channel that is closed when the loop has taken everything queued so far.
func (in *intake) flushed() <-chan struct{} {
	posted := make(chan struct{})
	in.queue <- entry{posted: posted}
	return posted
}

// put queues a message that has its place in the ledger, and so in the queue.
func (in *intake) put(m message.Message) { in.queue <- entry{m: m} }

// offer queues a message at QoS 0, which nobody will send again; false: there is no room.
func (in *intake) offer(m message.Message) bool {
	if len(in.queue) >= in.qos0 {
		return false
	}
	in.queue <- entry{m: m}
	return true
}
