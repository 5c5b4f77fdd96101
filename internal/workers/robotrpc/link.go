package robotrpc

import (
	"context"
	"sync"
	"time"

	"github.com/eclipse/paho.golang/packets"
	"github.com/eclipse/paho.golang/paho"

	"surehand/internal/plant"
	"surehand/internal/term"
	"surehand/internal/workers"
	"surehand/internal/workers/mqttconn"
)

const (
	connectTimeout = 5 * time.Second
	packetTimeout  = 2 * time.Second
	keepAlive      = 5 * time.Second
	firstRedial    = 20 * time.Millisecond
	longestRedial  = time.Second
	// Two processes with one client id must not cut each other off many times a second.
	takenOverWait = 2 * time.Second
	steadyAfter   = 5 * time.Second
	// askEvery is how often a question is repeated until its answer is seen, and how long its copies may wait at the
	// broker: whole seconds there.
	askEvery  = 500 * time.Millisecond
	askExpiry = 2
	// sayDownEvery is how often it is reported that there is no reading.
	sayDownEvery = time.Second
	// receiveMaximum is of messages at QoS 1, which there are none of: states are taken at QoS 0, since the next one
	// repeats what was lost.
	receiveMaximum = 16
	maxPacketBytes = 64 << 10 // room to see, and to count, that a state is too large
)

// Run keeps the connection, asks what is to be asked, and reports every state.
func (d *Driver) Run(ctx context.Context, report func(term.Reading)) {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	running.Go(func() { d.keepConnected(ctx) })
	running.Go(func() { d.askAround(ctx) })
	stale, saidAt := false, d.now()
	look := time.NewTicker(time.Duration(d.o.Config.Poll))
	defer look.Stop()
	for {
		select {
		case <-d.wake:
		case <-look.C:
			stale = d.grow(stale)
		case <-ctx.Done():
			return
		}
		for _, r := range d.toReport(saidAt) {
			saidAt = d.now()
			report(r)
		}
	}
}

// grow notices once that states have stopped.
func (d *Driver) grow(was bool) (stale bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	stale = d.conn != nil && d.stale()
	if stale && !was {
		d.ask()
		d.change()
	}
	return stale
}

// toReport are the readings that were not reported yet, or that there is none, again.
func (d *Driver) toReport(saidAt time.Time) []term.Reading {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.told) == 0 && d.now().Sub(saidAt) >= sayDownEvery {
		if r := d.reading(); !r.Reached {
			return []term.Reading{r}
		}
	}
	told := d.told
	d.told = nil
	return told
}

// keepConnected dials until the context ends.
func (d *Driver) keepConnected(ctx context.Context) {
	for wait := time.Duration(0); pause(ctx, wait); {
		began := d.now()
		c, err := d.open(ctx)
		if err != nil {
			d.lost(workers.Plain(err).Error())
			wait = longer(wait)
			continue
		}
		select {
		case <-c.Done():
		case <-ctx.Done():
			c.Leave()
		}
		switch {
		case c.Reason() == packets.DisconnectSessionTakenOver:
			d.lost("another process drives this robot: it has taken over the connection to the broker")
			wait = takenOverWait
		case d.now().Sub(began) < steadyAfter:
			d.lost("the connection to the broker was lost")
			wait = longer(wait)
		default:
			d.lost("the connection to the broker was lost")
			wait = firstRedial
		}
	}
}

func longer(wait time.Duration) time.Duration { return min(max(2*wait, firstRedial), longestRedial) }

// open connects and subscribes, and asks the first question of the connection.
func (d *Driver) open(ctx context.Context) (*mqttconn.Connection, error) {
	if err := d.confirm(ctx, true); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	var c *mqttconn.Connection
	c = mqttconn.New(mqttconn.Options{URL: d.o.URL, TLS: d.o.TLS, Username: d.o.Username, Password: d.o.Password,
		ClientID: "surehand-" + d.o.Installation() + "-equipment-" + string(d.o.Equipment), ReceiveMaximum: receiveMaximum,
		MaximumPacket: maxPacketBytes, KeepAlive: keepAlive, PacketTimeout: packetTimeout, Log: d.o.Log,
		Received: func(p *paho.Publish) { d.received(c, p) }})
	if err := c.Connect(ctx); err != nil {
		return nil, err
	}
	if err := c.Subscribe(ctx, 0, d.topic+"/state"); err != nil {
		c.Leave()
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.conn, d.heard = c, false // what has come before is not missed: the robot answers
	d.ask()
	return c, nil
}

// lost tells that there is no connection, and why.
func (d *Driver) lost(why string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.conn, d.heard, d.down = nil, false, why
	d.change()
}

// confirm asks whether this process life goes on, when it is asked to or the last word is old by either clock: the
// process may have been away meanwhile.
func (d *Driver) confirm(ctx context.Context, anyway bool) error {
	now := d.now()
	d.mu.Lock()
	last := d.confirmed
	d.mu.Unlock()
	if !anyway && now.Sub(last) < plant.SendBefore && now.Round(0).Sub(last.Round(0)) < plant.SendBefore {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, workers.ConfirmWithin)
	defer cancel()
	if err := d.o.Confirm(ctx); err != nil {
		return workers.Plain(err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.confirmed = now
	return nil
}

// askAround asks what has to be asked, at once and then again and again until a state answers it.
func (d *Driver) askAround(ctx context.Context) {
	again := time.NewTicker(askEvery)
	defer again.Stop()
	for {
		select {
		case <-d.prompt:
		case <-again.C:
		case <-ctx.Done():
			return
		}
		c, asked := d.questions()
		for _, q := range asked {
			r := d.send(ctx, c, func() (*packets.Publish, string) { return d.packet(q, askExpiry), "" })
			if r.Outcome != term.AttemptSent {
				d.o.Log.Debug("the robot could not be asked", "equipment", d.o.Equipment, "method", q.Method, "why", r.Why)
				break
			}
		}
	}
}

// questions are the requests that begin nothing and that no state has answered yet. Asking them again is harmless.
func (d *Driver) questions() (c *mqttconn.Connection, asked []request) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.conn == nil {
		return nil, nil
	}
	if d.owed != nil && d.owed.loose && d.heard { // what the echo is before is evidence
		asked = append(asked, request{Method: methodVoid, ActionNo: d.owed.no})
	}
	if d.lower != 0 {
		asked = append(asked, request{Method: methodRelease, ActionNo: d.lower})
	}
	if d.token != "" {
		asked = append(asked, request{Method: methodAsk, Token: d.token})
	}
	return d.conn, asked
}

// send publishes once, for a confirmed life only.
func (d *Driver) send(ctx context.Context, c *mqttconn.Connection, build func() (*packets.Publish, string)) workers.Result {
	if err := d.confirm(ctx, false); err != nil {
		return workers.NotSent(err.Error())
	}
	return c.Publish(ctx, build)
}

// packet is a request on the wire: never retained, and worthless at the broker after some seconds.
func (d *Driver) packet(q request, expiry uint32) *packets.Publish {
	return &packets.Publish{Topic: d.topic + "/request", QoS: 1, Payload: q.payload(),
		Properties: &packets.Properties{MessageExpiry: &expiry, ContentType: "application/json"}}
}

// pause waits; false: the context ended.
func pause(ctx context.Context, t time.Duration) bool {
	if t <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(t)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
