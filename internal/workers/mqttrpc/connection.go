package mqttrpc

import (
	"context"
	"crypto/rand"
	"fmt"
	"sync"

	"github.com/eclipse/paho.golang/paho"

	"surehand/internal/message"
	"surehand/internal/workers/mqttconn"
)

// connection is one life of a link, from CONNECT to the end of its TCP connection. Acknowledgements, packet
// ids and the marker's token belong to it and end with it.
type connection struct {
	*mqttconn.Connection
	link   *link
	ledger *ledger
	// answers has room for the Receive Maximum: the loop never waits, and each message is answered once.
	answers chan message.Answer
	token   string        // of this connection's marker
	drained chan struct{} // closed when the marker is back
	marked  sync.Once
}

// connect dials, says CONNECT and subscribes.
func (l *link) connect(ctx context.Context) (*connection, error) {
	o := l.driver.options
	ctx, cancel := context.WithTimeout(ctx, o.ConnectTimeout)
	defer cancel()
	c := &connection{link: l, ledger: newLedger(l.maximum),
		answers: make(chan message.Answer, l.maximum), token: rand.Text(), drained: make(chan struct{})}
	wire := mqttconn.Options{URL: o.URL, TLS: o.TLS, Username: o.Username, Password: o.Password, ClientID: l.clientID(),
		ReceiveMaximum: l.maximum, MaximumPacket: maxPacketBytes, KeepAlive: o.KeepAlive, PacketTimeout: o.PacketTimeout,
		Received: c.received, Log: o.Log.With("link", l.name)}
	if l.persistent() {
		wire.SessionExpiry = o.SessionExpiry
	}
	c.Connection = mqttconn.New(wire)
	if err := c.Connect(ctx); err != nil {
		return nil, err
	}
	// From now on, since what had queued comes before the SUBACK, and may be more than the ledger holds.
	go c.acknowledge()
	if l.persistent() { // at each connection, since the broker may have lost the session
		if err := c.Subscribe(ctx, 1, l.topics...); err != nil {
			c.Leave()
			return nil, err
		}
	}
	return c, nil
}

// received runs on paho's one goroutine for messages. While it waits, paho does not read, the broker's bytes
// stay in the socket, and after a keepalive without a PINGRESP the connection is given up: so it waits only
// for a place that the broker should have known not to be there, and not beyond the connection's life.
func (c *connection) received(packet *paho.Publish) {
	l := c.link
	l.driver.options.Count("mqtt_received", string(l.name))
	payload, source := c.parse(packet)
	m := l.intake.stamp(payload, source)
	if packet.QoS == 0 {
		switch {
		case payload == nil:
		case !l.intake.offer(m):
			l.driver.options.Count("mqtt_qos0_dropped", string(l.name))
		}
		return
	}
	select {
	case c.ledger.places <- struct{}{}:
	case <-c.Lost(): // the broker has it still
		return
	}
	c.ledger.add(m.ID, packet.PacketID)
	if payload == nil { // nothing for the loop, but the broker waits
		c.answers <- message.Answer{MessageID: m.ID}
		return
	}
	m.Reply = c.answers
	l.intake.put(m)
}

// parse makes the loop's payload of a packet; nil: there is none.
func (c *connection) parse(packet *paho.Publish) (payload message.Payload, source message.Source) {
	l := c.link
	o := l.driver.options
	if packet.Topic == l.marker {
		return c.markerCame(packet), l.intake.source
	}
	in := Incoming{Topic: packet.Topic, Payload: packet.Payload, Delivery: message.Delivery{
		PacketID: packet.PacketID, Duplicate: packet.Duplicate(), Retained: packet.Retain}}
	if packet.Properties != nil {
		in.Correlation = packet.Properties.CorrelationData
	}
	defer func() {
		// A message that breaks the parser would break it again after every redelivery.
		if broke := recover(); broke != nil {
			o.Count("mqtt_parser_fault", string(l.name))
			source = l.intake.source
			payload = message.InputRejected{Topic: printable(packet.Topic, maxTopicBytes), Reason: "parser_fault",
				Detail: printable(fmt.Sprint(broke), maxDetailBytes), Raw: receiptBytes(packet.Payload)}
		}
	}()
	payload, source = Parse(o.Prefix, in)
	switch p := payload.(type) {
	case nil:
		o.Count("mqtt_ignored", string(l.name))
	case message.InputRejected:
		o.Count("mqtt_rejected", p.Reason)
	}
	return payload, source
}

// markerCame tells whether this is the marker of this very connection. Others are of an earlier one, or of
// someone who plays with us.
func (c *connection) markerCame(packet *paho.Publish) message.Payload {
	if string(packet.Payload) != c.token {
		c.link.driver.options.Count("mqtt_marker_foreign", string(c.link.name))
		return nil
	}
	var drained message.Payload
	c.marked.Do(func() {
		close(c.drained)
		drained = message.SessionDrained{Link: c.link.name}
	})
	return drained
}

// acknowledge sends PUBACKs as the loop's answers come, several in one write, until the connection ends.
func (c *connection) acknowledge() {
	for {
		select {
		case a := <-c.answers:
			c.ledger.answered(a.MessageID)
		case <-c.Done():
			return
		}
		for more := true; more; {
			select {
			case a := <-c.answers:
				c.ledger.answered(a.MessageID)
			default:
				more = false
			}
		}
		if !c.sendAcks(c.ledger.due()) {
			return
		}
	}
}

func (c *connection) sendAcks(ids []uint16) bool {
	if len(ids) == 0 {
		return true
	}
	if c.Acknowledge(ids) != nil {
		return false
	}
	for range ids {
		c.link.driver.options.Count("mqtt_acked", string(c.link.name))
	}
	return true
}
