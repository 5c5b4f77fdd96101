package mqttrpc

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/tls"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/eclipse/paho.golang/packets"
	"github.com/eclipse/paho.golang/paho"

	"surehand/internal/message"
)

// connection is one life of a link, from CONNECT to the end of its TCP connection. Acknowledgements, packet
// ids and the marker's token belong to it and end with it.
type connection struct {
	link    *link
	conn    net.Conn
	client  *paho.Client
	session *forgetful
	ledger  *ledger
	// answers has room for the Receive Maximum: the loop never waits, and each message is answered once.
	answers chan message.Answer
	token   string        // of this connection's marker
	drained chan struct{} // closed when the marker is back
	marked  sync.Once

	biggest uint32 // the broker's Maximum Packet Size, 0: none
	maxQoS  byte

	write sync.Mutex // one packet at a time, and its deadline
}

// connect dials, says CONNECT and subscribes.
func (l *link) connect(ctx context.Context) (*connection, error) {
	ctx, cancel := context.WithTimeout(ctx, l.driver.options.ConnectTimeout)
	defer cancel()
	conn, err := l.dial(ctx)
	if err != nil {
		return nil, err
	}
	c := &connection{link: l, conn: conn, session: newForgetful(), ledger: newLedger(l.maximum),
		answers: make(chan message.Answer, l.maximum), token: rand.Text(), drained: make(chan struct{}), maxQoS: 2}
	c.client = paho.NewClient(paho.ClientConfig{
		Conn:               conn,
		Session:            c.session,
		PacketTimeout:      l.driver.options.PacketTimeout,
		OnPublishReceived:  []func(paho.PublishReceived) (bool, error){c.received},
		OnServerDisconnect: func(*paho.Disconnect) {}, // the session has noted the reason
	})
	ack, err := c.client.Connect(ctx, l.connectPacket())
	if err != nil {
		if ack != nil {
			return nil, fmt.Errorf("the broker refused the connection (reason 0x%02x): %w", ack.ReasonCode, err)
		}
		return nil, fmt.Errorf("no MQTT connection: %w", err)
	}
	if p := ack.Properties; p != nil {
		if p.MaximumPacketSize != nil {
			c.biggest = *p.MaximumPacketSize
		}
		if p.MaximumQoS != nil {
			c.maxQoS = *p.MaximumQoS
		}
	}
	// From now on, since what had queued comes before the SUBACK, and may be more than the ledger holds.
	go c.acknowledge()
	if err := c.subscribe(ctx); err != nil {
		c.leave()
		return nil, err
	}
	return c, nil
}

func (l *link) dial(ctx context.Context) (net.Conn, error) {
	o := l.driver.options
	address, secure, err := brokerAddress(o.URL)
	if err != nil {
		return nil, err
	}
	var dialer net.Dialer
	if !secure {
		return dialer.DialContext(ctx, "tcp", address)
	}
	conn, err := (&tls.Dialer{NetDialer: &dialer, Config: o.TLS}).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	// paho writes a packet in parts, which on TLS another goroutine's packet could get between.
	return packets.NewThreadSafeConn(conn), nil
}

func (l *link) connectPacket() *paho.Connect {
	o := l.driver.options
	biggest := uint32(maxPacketBytes)
	p := &paho.Connect{
		ClientID: l.clientID(), KeepAlive: uint16(o.KeepAlive / time.Second),
		Username: o.Username, UsernameFlag: o.Username != "",
		Password: []byte(o.Password), PasswordFlag: o.Password != "",
		CleanStart: !l.persistent(),
		Properties: &paho.ConnectProperties{MaximumPacketSize: &biggest, RequestProblemInfo: true},
	}
	p.Properties.ReceiveMaximum = &l.maximum
	if l.persistent() {
		expiry := uint32(o.SessionExpiry / time.Second)
		p.Properties.SessionExpiryInterval = &expiry
	}
	return p
}

// subscribe subscribes at each connection, since the broker may have lost the session.
func (c *connection) subscribe(ctx context.Context) error {
	if !c.link.persistent() {
		return nil
	}
	s := &paho.Subscribe{}
	for _, topic := range c.link.topics {
		s.Subscriptions = append(s.Subscriptions, paho.SubscribeOptions{Topic: topic, QoS: 1})
	}
	ack, err := c.client.Subscribe(ctx, s)
	if err != nil {
		return fmt.Errorf("subscribe: %w", err)
	}
	for i, reason := range ack.Reasons {
		if reason != 1 {
			return fmt.Errorf("the broker granted %s with 0x%02x instead of QoS 1", c.link.topics[i], reason)
		}
	}
	return nil
}

// received runs on paho's one goroutine for messages. While it waits, paho does not read, the broker's bytes
// stay in the socket, and after a keepalive without a PINGRESP the connection is given up: so it waits only
// for a place that the broker should have known not to be there, and not beyond the connection's life.
func (c *connection) received(p paho.PublishReceived) (bool, error) {
	l, packet := c.link, p.Packet
	l.driver.options.Count("mqtt_received", string(l.name))
	payload, source := c.parse(packet)
	m := l.intake.stamp(payload, source)
	if packet.QoS == 0 {
		switch {
		case payload == nil:
		case !l.intake.offer(m):
			l.driver.options.Count("mqtt_qos0_dropped", string(l.name))
		}
		return true, nil
	}
	select {
	case c.ledger.places <- struct{}{}:
	case <-c.session.lostOnce: // the broker has it still
		return true, nil
	}
	c.ledger.add(m.ID, packet.PacketID)
	if payload == nil { // nothing for the loop, but the broker waits
		c.answers <- message.Answer{MessageID: m.ID}
		return true, nil
	}
	m.Reply = c.answers
	l.intake.put(m)
	return true, nil
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
		case <-c.client.Done():
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
	var b bytes.Buffer
	for _, id := range ids {
		ack := packets.Puback{PacketID: id, Properties: &packets.Properties{}}
		if _, err := ack.WriteTo(&b); err != nil { // a buffer takes everything
			panic(err)
		}
	}
	c.write.Lock()
	defer c.write.Unlock()
	if _, err := c.send(b.Bytes()); err != nil {
		return false
	}
	for range ids {
		c.link.driver.options.Count("mqtt_acked", string(c.link.name))
	}
	return true
}

// send writes whole packets; the caller holds write. A broker that takes no bytes for a while has lost us: a
// packet must not lie in a full socket and leave much later.
func (c *connection) send(b []byte) (written int, err error) {
	if err = c.conn.SetWriteDeadline(time.Now().Add(c.link.driver.options.PacketTimeout)); err != nil {
		return 0, err
	}
	if locked, ok := c.conn.(sync.Locker); ok {
		locked.Lock()
		defer locked.Unlock()
	}
	if written, err = c.conn.Write(b); err != nil {
		c.cut()
		return written, err
	}
	return written, c.conn.SetWriteDeadline(time.Time{})
}

// cut ends the TCP connection; paho's reader notices and the link goes on from there.
func (c *connection) cut() {
	if err := c.conn.Close(); err != nil {
		c.link.driver.options.Log.Debug("closing a lost connection", "link", c.link.name, "error", err)
	}
}

// leave says goodbye, so that the broker keeps the session for its whole time, and returns when paho has
// stopped.
func (c *connection) leave() {
	if err := c.client.Disconnect(&paho.Disconnect{}); err != nil {
		c.link.driver.options.Log.Debug("saying goodbye to the broker", "link", c.link.name, "error", err)
	}
	<-c.client.Done()
}
