package mqttconn

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/eclipse/paho.golang/packets"

	"surehand/internal/workers"
)

// Publish writes one packet, once. build is called right before the write, with nothing left to wait for but
// the socket; it may still refuse. The result is
//   - sent: PUBACK with a reason below 0x80 (nobody subscribed is one), or at QoS 0 all bytes written;
//   - not_sent: surely, since nothing was written, or the broker says that it did not take it;
//   - unknown: written in whole or in part, and no PUBACK.
func (c *Connection) Publish(ctx context.Context, build func() (*packets.Publish, string)) workers.Result {
	late := time.NewTimer(c.o.PacketTimeout)
	defer late.Stop()
	r, timely := c.publish(ctx, build, late)
	if !timely {
		// A live broker acknowledges in milliseconds. A new connection also gives the place back.
		c.cut()
	}
	return r
}

// PublishBehind writes one packet, once, on a connection on which much may come in: its PUBACK waits behind all of that,
// so it is waited for as long as the connection lives. That a broker says nothing at all is the keepalive's to find.
func (c *Connection) PublishBehind(ctx context.Context, p *packets.Publish) workers.Result {
	r, _ := c.publish(ctx, func() (*packets.Publish, string) { return p, "" }, nil)
	return r
}

// publish is both; late is begun anew once the packet is written, nil: never late.
func (c *Connection) publish(ctx context.Context, build func() (*packets.Publish, string), late *time.Timer) (r workers.Result, timely bool) {
	if why := c.place(ctx); why != "" {
		return workers.NotSent(why), true
	}
	answer := make(chan packets.ControlPacket, 1)
	r, wait := c.writePublish(build, answer)
	if !wait {
		return r, true
	}
	var over <-chan time.Time
	if late != nil {
		late.Reset(c.o.PacketTimeout)
		over = late.C
	}
	select {
	case p := <-answer:
		return judge(p), true
	case <-ctx.Done():
		return workers.Unknown("given up before the broker acknowledged it"), true
	case <-over:
		return workers.Unknown("the broker did not acknowledge it in time"), false
	}
}

// place takes one of the places that the broker gives for publishes without PUBACK. It is given back with
// the PUBACK, and all of them with the connection.
func (c *Connection) place(ctx context.Context) (why string) {
	wait := time.NewTimer(c.o.PacketTimeout)
	defer wait.Stop()
	select {
	case c.session.quota <- struct{}{}:
		return ""
	case <-c.session.lostOnce:
		return "link_down"
	case <-ctx.Done():
		return "given up while waiting for the broker"
	case <-wait.C:
		return "the broker takes no more publishes now"
	}
}

// writePublish writes the packet; wait tells that the answer is still to come.
func (c *Connection) writePublish(build func() (*packets.Publish, string), answer chan packets.ControlPacket) (r workers.Result, wait bool) {
	c.write.Lock()
	defer c.write.Unlock()
	giveBack := func(r workers.Result) (workers.Result, bool) { <-c.session.quota; return r, false }
	p, refused := build()
	if refused != "" {
		return giveBack(workers.NotSent(refused))
	}
	if p.QoS > 0 {
		id, err := c.session.register(request{answer: answer, publish: true})
		if err != nil {
			return giveBack(workers.NotSent(err.Error()))
		}
		p.PacketID = id
	}
	var b bytes.Buffer
	if _, err := p.WriteTo(&b); err != nil { // a buffer takes everything
		panic(err)
	}
	if c.biggest > 0 && b.Len() > int(c.biggest) {
		return c.withdraw(p, workers.NotSent(fmt.Sprintf("%d bytes, and the broker takes %d at most", b.Len(), c.biggest)))
	}
	written, err := c.send(b.Bytes())
	switch {
	case err != nil && written == 0 && !c.secure:
		return c.withdraw(p, workers.NotSent("link_down"))
	case err != nil: // part of it may have left, or on TLS more than it tells
		return c.withdraw(p, workers.Unknown("the connection broke during the write"))
	case p.QoS == 0:
		return giveBack(workers.Sent())
	}
	return workers.Result{}, true
}

// withdraw ends a publish that gets no PUBACK.
func (c *Connection) withdraw(p *packets.Publish, r workers.Result) (workers.Result, bool) {
	if p.QoS == 0 {
		<-c.session.quota
	} else {
		c.session.resolve(p.PacketID, packets.ControlPacket{})
	}
	return r, false
}

func judge(p packets.ControlPacket) workers.Result {
	ack, ok := p.Content.(*packets.Puback)
	switch {
	case !ok:
		return workers.Unknown("the connection was lost before the broker acknowledged it")
	case ack.ReasonCode >= 0x80:
		return workers.NotSent(fmt.Sprintf("refused by the broker (0x%02x): %s", ack.ReasonCode, ack.Reason()))
	}
	return workers.Sent()
}
