package mqttrpc

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/eclipse/paho.golang/packets"

	"surehand/internal/message"
	"surehand/internal/plant"
)

// markerEvery is how often the marker is published until it comes back: a broker whose queue for us is full
// drops it.
const markerEvery = 5 * time.Second

// link is one of the three connections over all its lives between Start and Stop.
type link struct {
	driver  *Driver
	name    plant.Link
	topics  []string // subscribed; none for commands
	marker  string   // topic of our own markers; empty for commands
	maximum uint16   // Receive Maximum
	intake  *intake
	chance  *rand.Rand // for the waits between connections
}

// persistent links have a session at the broker that outlives us, and subscriptions.
func (l *link) persistent() bool { return l.name != plant.LinkCommands }

func (l *link) clientID() string {
	return "surehand-" + l.driver.options.Installation + "-" + string(l.name)
}

// run keeps the link connected until the context ends.
func (l *link) run(ctx context.Context) {
	defer close(l.intake.queue)
	l.chance = rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), uint64(l.maximum)))
	o := l.driver.options
	wait := time.Duration(0)
	for pause(ctx, wait) {
		c, err := l.open(ctx)
		if err != nil {
			if ctx.Err() != nil {
				return
			}
			o.Count("mqtt_connect_failed", string(l.name))
			wait = l.longer(wait)
			o.Log.Warn("no connection to the broker", "link", l.name, "error", err, "again_in", wait)
			// It may have brought messages before it failed; the queue has room for one connection.
			l.told(ctx, l.intake.flushed())
			continue
		}
		began := time.Now()
		takenOver := l.serve(ctx, c)
		switch {
		case takenOver:
			wait = takenOverWait
		case time.Since(began) < steadyAfter:
			wait = l.longer(wait)
		default:
			wait = o.RedialAfter
		}
	}
}

func (l *link) open(ctx context.Context) (*connection, error) {
	if confirm := l.driver.options.Confirm; confirm != nil {
		if err := confirm(ctx); err != nil {
			return nil, err
		}
	}
	return l.connect(ctx)
}

// serve works until the connection or the context ends, and tells whether another process took the session.
// It returns only when the loop was told of the loss: link changes come in order and none is left out.
func (l *link) serve(ctx context.Context, c *connection) (takenOver bool) {
	o := l.driver.options
	l.intake.tell(message.LinkChanged{Link: l.name, Up: true})
	o.Count("mqtt_up", string(l.name))
	o.Log.Info("connected to the broker", "link", l.name)
	l.driver.setLive(l.name, c)

	l.untilDrained(ctx, c)
	select {
	case <-c.Done():
	case <-ctx.Done():
	}
	l.driver.setLive(l.name, nil)
	if ctx.Err() != nil {
		c.Leave()
	}
	posted := l.intake.down()
	o.Count("mqtt_down", string(l.name))
	reason := c.Reason()
	o.Log.Warn("connection to the broker ended", "link", l.name, "reason", reason, "unanswered", c.ledger.open())
	l.told(ctx, posted)
	if reason != packets.DisconnectSessionTakenOver {
		return false
	}
	o.Count("mqtt_taken_over", string(l.name))
	return true
}

// told waits until the loop has taken what the last connection brought.
func (l *link) told(ctx context.Context, posted <-chan struct{}) {
	select {
	case <-posted:
	case <-ctx.Done():
	}
}

// untilDrained publishes the marker until it has come back through everything that had queued before it.
func (l *link) untilDrained(ctx context.Context, c *connection) {
	if l.marker == "" {
		return
	}
	again := time.NewTicker(markerEvery)
	defer again.Stop()
	expiry := uint32(60) // a marker of a dead connection means nothing to the next one
	for {
		p := &packets.Publish{Topic: l.marker, QoS: 1, Payload: []byte(c.token),
			Properties: &packets.Properties{MessageExpiry: &expiry}}
		r := c.PublishBehind(ctx, p)
		if r.Why != "" && ctx.Err() == nil {
			l.driver.options.Count("mqtt_marker_failed", string(l.name))
			l.driver.options.Log.Warn("the marker was not taken by the broker", "link", l.name, "error", r.Why)
		}
		select {
		case <-c.drained:
			return
		case <-c.Done():
			return
		case <-ctx.Done():
			return
		case <-again.C:
		}
	}
}

func (l *link) longer(wait time.Duration) time.Duration {
	o := l.driver.options
	wait = min(max(2*wait, o.RedialAfter), o.RedialAtMost)
	return wait + time.Duration(l.chance.Int64N(int64(wait)/4+1)) // three links, and other plants, not in step
}

// pause waits; false: the context ended.
func pause(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
