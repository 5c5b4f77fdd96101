package mqttrpc

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/eclipse/paho.golang/packets"

	"surehand/internal/workers"
)

// maxPublishTopic leaves room for the prefix in MQTT's 64 KiB.
const maxPublishTopic = 4096

var _ workers.Publisher = (*Driver)(nil)

// Publish hands one order to the broker. See publish for what the results rest on.
func (d *Driver) Publish(ctx context.Context, o workers.Order) workers.Result {
	c := d.liveCommands()
	switch {
	case c == nil:
		return workers.NotSent("link_down")
	case o.QoS != 0 && o.QoS != 1:
		return workers.NotSent(fmt.Sprintf("QoS %d is not used", o.QoS))
	case byte(o.QoS) > c.maxQoS:
		return workers.NotSent(fmt.Sprintf("the broker takes QoS %d at most", c.maxQoS))
	case o.Topic == "" || strings.ContainsAny(o.Topic, "+#\x00") || len(o.Topic) > maxPublishTopic:
		return workers.NotSent("the topic cannot be published to")
	}
	return c.publish(ctx, func() (*packets.Publish, string) {
		now := d.options.Clock.Now()
		if o.Late(now) {
			return nil, "too late: not_after has passed"
		}
		return d.packet(o, now), ""
	})
}

// packet is the order on the wire: never retained, and worthless at the broker once its deadline is over. The
// order's topic is without the prefix, which only this driver knows.
func (d *Driver) packet(o workers.Order, now time.Time) *packets.Publish {
	left := o.DeadlineAt.Sub(now.Round(0))
	expiry := uint32(max(1, (left+time.Second-1)/time.Second))
	return &packets.Publish{Topic: d.options.Prefix + "/" + o.Topic, Payload: o.Payload, QoS: byte(o.QoS), Properties: &packets.Properties{
		MessageExpiry:   &expiry,
		ContentType:     "application/json",
		ResponseTopic:   d.options.Prefix + "/" + o.Serial + "/" + string(channelResponse),
		CorrelationData: []byte(o.Correlation),
	}}
}

// publish writes one packet, once. build is called right before the write, with nothing left to wait for but
// the socket; it may still refuse. The result is
//   - sent: PUBACK with a reason below 0x80 (nobody subscribed is one), or at QoS 0 all bytes written;
//   - not_sent: surely, since nothing was written, or the broker says that it did not take it;
//   - unknown: written in whole or in part, and no PUBACK.
func (c *connection) publish(ctx context.Context, build func() (*packets.Publish, string)) workers.Result {
	if why := c.place(ctx); why != "" {
		return workers.NotSent(why)
	}
	answer := make(chan packets.ControlPacket, 1)
	result, wait := c.writePublish(build, answer)
	if !wait {
		return result
	}
	late := time.NewTimer(c.link.driver.options.PacketTimeout)
	defer late.Stop()
	select {
	case p := <-answer:
		return judge(p)
	case <-ctx.Done():
		return workers.Unknown("given up before the broker acknowledged it")
	case <-late.C:
		// A live broker acknowledges in milliseconds. A new connection also gives the place back.
		c.cut()
		return workers.Unknown("the broker did not acknowledge it in time")
	}
}

// place takes one of the places that the broker gives for publishes without PUBACK. It is given back with
// the PUBACK, and all of them with the connection.
func (c *connection) place(ctx context.Context) (why string) {
	wait := time.NewTimer(c.link.driver.options.PacketTimeout)
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
func (c *connection) writePublish(build func() (*packets.Publish, string), answer chan packets.ControlPacket) (r workers.Result, wait bool) {
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
	case err != nil && written == 0 && !c.link.driver.secure:
		return c.withdraw(p, workers.NotSent("link_down"))
	case err != nil: // part of it may have left, or on TLS more than it tells
		return c.withdraw(p, workers.Unknown("the connection broke during the write"))
	case p.QoS == 0:
		return giveBack(workers.Sent())
	}
	return workers.Result{}, true
}

// withdraw ends a publish that gets no PUBACK.
func (c *connection) withdraw(p *packets.Publish, r workers.Result) (workers.Result, bool) {
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
