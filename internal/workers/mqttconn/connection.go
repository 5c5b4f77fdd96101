package mqttconn

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/eclipse/paho.golang/packets"
	"github.com/eclipse/paho.golang/paho"
)

// Options of a connection. URL, ClientID, the three durations, ReceiveMaximum and Received are required.
type Options struct {
	URL                string      // mqtt://host:1883 or mqtts://host:8883
	TLS                *tls.Config // for mqtts; nil: the system's roots
	Username, Password string
	ClientID           string

	// SessionExpiry is how long the broker keeps subscriptions and messages after the end; 0: clean start, nothing is kept.
	SessionExpiry  time.Duration
	ReceiveMaximum uint16
	MaximumPacket  uint32 // the broker delivers nothing larger; 0: anything
	KeepAlive      time.Duration
	ConnectTimeout time.Duration
	PacketTimeout  time.Duration // the broker's time to acknowledge; then the connection is given up

	// Received gets each PUBLISH, one after the other. While it waits nothing is read, and after a keepalive without a
	// PINGRESP the connection is given up. It may be called before Connect has returned.
	Received func(*paho.Publish)
	Log      *slog.Logger
}

// Connection is one life of a link. Packet ids and acknowledgements belong to it and end with it.
type Connection struct {
	o       Options
	secure  bool
	conn    net.Conn
	client  *paho.Client
	session *forgetful

	biggest uint32 // the broker's Maximum Packet Size, 0: none
	maxQoS  byte

	write sync.Mutex // one packet at a time, and its deadline
}

// New makes a connection that is not connected yet.
func New(o Options) *Connection {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Connection{o: o, session: newForgetful(), maxQoS: 2}
}

// Connect dials and says CONNECT, once.
func (c *Connection) Connect(ctx context.Context) error {
	conn, err := c.dial(ctx)
	if err != nil {
		return err
	}
	c.conn = conn
	c.client = paho.NewClient(paho.ClientConfig{
		Conn: conn, Session: c.session, PacketTimeout: c.o.PacketTimeout,
		OnPublishReceived: []func(paho.PublishReceived) (bool, error){func(p paho.PublishReceived) (bool, error) {
			c.o.Received(p.Packet)
			return true, nil
		}},
		OnServerDisconnect: func(*paho.Disconnect) {}, // the session has noted the reason
	})
	ack, err := c.client.Connect(ctx, c.connectPacket())
	if err != nil {
		c.cut()
		if ack != nil {
			return fmt.Errorf("the broker refused the connection (reason 0x%02x): %w", ack.ReasonCode, err)
		}
		return fmt.Errorf("no MQTT connection: %w", err)
	}
	if p := ack.Properties; p != nil {
		if p.MaximumPacketSize != nil {
			c.biggest = *p.MaximumPacketSize
		}
		if p.MaximumQoS != nil {
			c.maxQoS = *p.MaximumQoS
		}
	}
	return nil
}

func (c *Connection) dial(ctx context.Context) (net.Conn, error) {
	address, secure, err := Address(c.o.URL)
	if err != nil {
		return nil, err
	}
	c.secure = secure
	var dialer net.Dialer
	if !secure {
		return dialer.DialContext(ctx, "tcp", address)
	}
	conn, err := (&tls.Dialer{NetDialer: &dialer, Config: c.o.TLS}).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	// paho writes a packet in parts, which on TLS another goroutine's packet could get between.
	return packets.NewThreadSafeConn(conn), nil
}

func (c *Connection) connectPacket() *paho.Connect {
	p := &paho.Connect{
		ClientID: c.o.ClientID, KeepAlive: uint16(c.o.KeepAlive / time.Second),
		Username: c.o.Username, UsernameFlag: c.o.Username != "",
		Password: []byte(c.o.Password), PasswordFlag: c.o.Password != "",
		CleanStart: c.o.SessionExpiry == 0,
		Properties: &paho.ConnectProperties{ReceiveMaximum: &c.o.ReceiveMaximum, RequestProblemInfo: true},
	}
	if c.o.MaximumPacket > 0 {
		p.Properties.MaximumPacketSize = &c.o.MaximumPacket
	}
	if c.o.SessionExpiry > 0 {
		expiry := uint32(c.o.SessionExpiry / time.Second)
		p.Properties.SessionExpiryInterval = &expiry
	}
	return p
}

// Subscribe asks for topics at one QoS; anything less than that is an error.
func (c *Connection) Subscribe(ctx context.Context, qos byte, topics ...string) error {
	s := &paho.Subscribe{}
	for _, topic := range topics {
		s.Subscriptions = append(s.Subscriptions, paho.SubscribeOptions{Topic: topic, QoS: qos})
	}
	ack, err := c.client.Subscribe(ctx, s)
	if err != nil {
		return fmt.Errorf("subscribe: %w", err)
	}
	if len(ack.Reasons) != len(topics) {
		return fmt.Errorf("the broker answered %d results to a subscription to %d topics", len(ack.Reasons), len(topics))
	}
	for i, reason := range ack.Reasons {
		if reason != qos {
			return fmt.Errorf("the broker granted %s with 0x%02x instead of QoS %d", topics[i], reason, qos)
		}
	}
	return nil
}

// Acknowledge sends PUBACKs in one write; their order is the owner's.
func (c *Connection) Acknowledge(ids []uint16) error {
	var b bytes.Buffer
	for _, id := range ids {
		ack := packets.Puback{PacketID: id, Properties: &packets.Properties{}}
		if _, err := ack.WriteTo(&b); err != nil { // a buffer takes everything
			panic(err)
		}
	}
	c.write.Lock()
	defer c.write.Unlock()
	_, err := c.send(b.Bytes())
	return err
}

// send writes whole packets; the caller holds write. A broker that takes no bytes for a while has lost us: a
// packet must not lie in a full socket and leave much later.
func (c *Connection) send(b []byte) (written int, err error) {
	if err = c.conn.SetWriteDeadline(time.Now().Add(c.o.PacketTimeout)); err != nil {
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

// cut ends the TCP connection; paho's reader notices, and Done is closed.
func (c *Connection) cut() {
	if err := c.conn.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
		c.o.Log.Debug("closing a lost connection", "client", c.o.ClientID, "error", err)
	}
}

// Leave says goodbye, so that the broker keeps a session for its whole time, and returns when paho has stopped.
func (c *Connection) Leave() {
	if err := c.client.Disconnect(&paho.Disconnect{}); err != nil {
		c.o.Log.Debug("saying goodbye to the broker", "client", c.o.ClientID, "error", err)
	}
	<-c.client.Done()
}

// Done is closed when the connection has ended and paho has stopped. There is none before Connect.
func (c *Connection) Done() <-chan struct{} { return c.client.Done() }

// Lost is closed as soon as the connection is known to be lost.
func (c *Connection) Lost() <-chan struct{} { return c.session.lostOnce }

// Reason is the broker's word when it said goodbye; 0: none.
func (c *Connection) Reason() byte { return c.session.disconnectReason() }

// MaxQoS is the highest that the broker takes.
func (c *Connection) MaxQoS() byte { return c.maxQoS }
