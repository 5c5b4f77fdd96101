package simulator

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/url"
	"sync"
	"time"

	"github.com/eclipse/paho.golang/packets"
	"github.com/eclipse/paho.golang/paho"
	"github.com/eclipse/paho.golang/paho/session/state"
)

const (
	outboxSize       = 1024
	inboundSize      = 64 // Receive Maximum: requests the broker may have under way to one device
	connectTimeout   = 5 * time.Second
	firstRedialAfter = 20 * time.Millisecond
	redialAtMost     = time.Second
)

// outgoing is one message on its way out.
type outgoing struct {
	kind        string
	topic       string
	payload     []byte
	correlation []byte
	retain      bool
	readings    []readingKey
}

type readingKey struct {
	seq    int64
	bootID string
}

// linkEvents is what a link tells its device. request may block; that holds back the broker's next message.
type linkEvents struct {
	connected func()
	// disconnected follows every connected, except when the link is cut.
	disconnected func()
	request      func(payload []byte, retained bool, answerTopic string, correlation []byte)
	acked        func(outgoing)
	lost         func(m outgoing, reason string)
	status       func(online bool) []byte
}

// link is the device's network life between two reboots: it dials until it is closed, subscribes at each connection,
// and sends its outbox one message at a time at QoS 1. A message stays at the head until the broker has acknowledged
// it, over reconnects too (with DUP while the session lasts, as a new message after it), so order is kept.
type link struct {
	options Options
	events  linkEvents
	ctx     context.Context
	cancel  context.CancelFunc
	running sync.WaitGroup
	session *state.State
	outbox  chan outgoing

	mu      sync.Mutex
	client  *paho.Client
	conn    net.Conn
	biggest uint32        // the broker's Maximum Packet Size; 0: none
	up      chan struct{} // closed while connected
	allowed chan struct{} // closed while the device may be online
	// sessionCtx ends when the broker's session has gone. paho's store is emptied then without a word to the waiting
	// publish, which would wait for ever.
	sessionCtx    context.Context
	sessionCancel context.CancelFunc
}

func openLink(o Options, online bool, events linkEvents) *link {
	ctx, cancel := context.WithCancel(context.Background())
	l := &link{
		options: o, events: events, ctx: ctx, cancel: cancel, session: state.NewInMemory(),
		outbox: make(chan outgoing, outboxSize), up: make(chan struct{}), allowed: make(chan struct{}),
	}
	l.sessionCtx, l.sessionCancel = context.WithCancel(ctx)
	if online {
		close(l.allowed)
	}
	l.running.Add(2)
	go func() { defer l.running.Done(); l.keepConnected() }()
	go func() { defer l.running.Done(); l.sendAll() }()
	return l
}

// cut ends the link as a power cut does: no DISCONNECT, so the broker publishes the will. What waited is lost.
func (l *link) cut() {
	l.cancel()
	l.closeConn()
	l.running.Wait()
	_ = l.session.Close()
	for {
		select {
		case m := <-l.outbox:
			l.events.lost(m, "power cut")
		default:
			return
		}
	}
}

// leave says goodbye and ends the link.
func (l *link) leave() {
	l.mu.Lock()
	client := l.client
	l.mu.Unlock()
	if client != nil {
		ctx, cancel := context.WithTimeout(l.ctx, time.Second)
		_, _ = client.Publish(ctx, l.statusMessage(false))
		cancel()
		// Disconnect waits for paho's handler, which may be waiting for the device, which is waiting here.
		l.cancel()
		_ = client.Disconnect(&paho.Disconnect{})
	}
	l.cut()
}

func (l *link) setOnline(online bool) {
	l.mu.Lock()
	isOnline := closed(l.allowed)
	if online && !isOnline {
		close(l.allowed)
	}
	if !online && isOnline {
		l.allowed = make(chan struct{})
	}
	l.mu.Unlock()
	if !online {
		l.closeConn()
	}
}

func (l *link) closeConn() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.conn != nil {
		_ = l.conn.Close()
	}
}

func (l *link) isUp() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return closed(l.up)
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// send queues a message; a full outbox loses it, as the small memory of a device does.
func (l *link) send(m outgoing) {
	select {
	case l.outbox <- m:
	default:
		l.events.lost(m, "outbox full")
	}
}

func (l *link) keepConnected() {
	wait := firstRedialAfter
	for l.ctx.Err() == nil {
		l.mu.Lock()
		mayConnect := l.allowed
		l.mu.Unlock()
		select {
		case <-mayConnect:
		case <-l.ctx.Done():
			return
		}
		if l.connectOnce() {
			wait = firstRedialAfter
		}
		select {
		case <-time.After(wait):
			wait = min(2*wait, redialAtMost)
		case <-l.ctx.Done():
			return
		}
	}
}

// connectOnce connects, serves until the connection is lost, and tells whether it ever was up.
func (l *link) connectOnce() bool {
	ctx, cancel := context.WithTimeout(l.ctx, connectTimeout)
	defer cancel()
	conn, err := l.dial(ctx)
	if err != nil {
		return false
	}
	l.mu.Lock()
	l.conn = conn
	if !closed(l.allowed) || l.ctx.Err() != nil {
		l.mu.Unlock()
		_ = conn.Close()
		return false
	}
	l.mu.Unlock()
	client := paho.NewClient(paho.ClientConfig{
		ClientID: l.options.ClientID,
		Conn:     conn,
		Session:  l.session,
		// The contexts given to each call are the real limits; a publish may wait for its PUBACK over a long outage.
		PacketTimeout:      24 * time.Hour,
		OnPublishReceived:  []func(paho.PublishReceived) (bool, error){l.received},
		OnServerDisconnect: func(*paho.Disconnect) {},
	})
	connack, err := client.Connect(ctx, l.connectPacket())
	if err != nil {
		_ = conn.Close()
		return false
	}
	defer func() { <-client.Done() }()
	defer conn.Close()
	if !connack.SessionPresent {
		l.renewSession()
	}
	request := l.options.Prefix + "/" + l.options.Serial + "/" + kindRequest
	_, err = client.Subscribe(ctx, &paho.Subscribe{Subscriptions: []paho.SubscribeOptions{{Topic: request, QoS: 1}}})
	if err != nil {
		return false
	}
	if _, err := client.Publish(ctx, l.statusMessage(true)); err != nil {
		return false
	}
	l.mu.Lock()
	l.client = client
	l.biggest = 0
	if connack.Properties != nil && connack.Properties.MaximumPacketSize != nil {
		l.biggest = *connack.Properties.MaximumPacketSize
	}
	close(l.up)
	l.mu.Unlock()
	l.events.connected()

	<-client.Done()
	l.mu.Lock()
	l.client = nil
	l.up = make(chan struct{})
	l.mu.Unlock()
	if l.options.SessionExpiry == 0 {
		l.renewSession()
	}
	l.events.disconnected()
	return true
}

func (l *link) renewSession() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sessionCancel()
	l.sessionCtx, l.sessionCancel = context.WithCancel(l.ctx)
}

func (l *link) dial(ctx context.Context) (net.Conn, error) {
	u, err := url.Parse(l.options.BrokerURL)
	if err != nil {
		return nil, err
	}
	if u.Scheme == "mqtts" || u.Scheme == "ssl" {
		dialer := tls.Dialer{Config: l.options.TLS}
		conn, err := dialer.DialContext(ctx, "tcp", u.Host)
		if err != nil {
			return nil, err
		}
		// A TLS connection takes a packet as several writes, which must not mix with another goroutine's.
		return packets.NewThreadSafeConn(conn), nil
	}
	var dialer net.Dialer
	return dialer.DialContext(ctx, "tcp", u.Host)
}

func (l *link) connectPacket() *paho.Connect {
	o := l.options
	expiry := uint32(o.SessionExpiry / time.Second)
	receiveMaximum := uint16(inboundSize)
	return &paho.Connect{
		ClientID:     o.ClientID,
		CleanStart:   o.SessionExpiry == 0,
		KeepAlive:    uint16(o.KeepAlive / time.Second),
		Username:     o.Username,
		UsernameFlag: o.Username != "",
		Password:     []byte(o.Password),
		PasswordFlag: o.Password != "",
		Properties: &paho.ConnectProperties{
			SessionExpiryInterval: &expiry, ReceiveMaximum: &receiveMaximum, RequestProblemInfo: true,
		},
		WillMessage: &paho.WillMessage{
			Topic: o.Prefix + "/" + o.Serial + "/" + kindStatus, Payload: l.events.status(false), QoS: 1, Retain: true,
		},
	}
}

func (l *link) statusMessage(online bool) *paho.Publish {
	return &paho.Publish{
		Topic: l.options.Prefix + "/" + l.options.Serial + "/" + kindStatus, Payload: l.events.status(online),
		QoS: 1, Retain: true,
	}
}

// received runs on paho's one goroutine; the broker gets its PUBACK once the request is in the device's hands.
func (l *link) received(p paho.PublishReceived) (bool, error) {
	answerTopic := l.options.Prefix + "/" + l.options.Serial + "/" + kindResponse
	var correlation []byte
	if p.Packet.Properties != nil {
		if p.Packet.Properties.ResponseTopic != "" {
			answerTopic = p.Packet.Properties.ResponseTopic
		}
		correlation = p.Packet.Properties.CorrelationData
	}
	l.events.request(p.Packet.Payload, p.Packet.Retain, answerTopic, correlation)
	return true, nil
}

func (l *link) sendAll() {
	for {
		select {
		case m := <-l.outbox:
			l.sendOne(m)
		case <-l.ctx.Done():
			return
		}
	}
}

// sendOne returns when the message has its end: acknowledged, refused by the broker, or cut off with the link.
func (l *link) sendOne(m outgoing) {
	for {
		l.mu.Lock()
		up := l.up
		l.mu.Unlock()
		select {
		case <-up:
		case <-l.ctx.Done():
			l.events.lost(m, "power cut")
			return
		}
		l.mu.Lock()
		client, ctx, biggest := l.client, l.sessionCtx, l.biggest
		l.mu.Unlock()
		if client == nil {
			continue
		}
		// A packet over the broker's limit would cost the connection, and again after every reconnect.
		if size := len(m.payload) + len(m.topic) + 64; biggest > 0 && size > int(biggest) {
			l.events.lost(m, "over the broker's packet size")
			return
		}
		response, err := client.Publish(ctx, m.packet())
		switch {
		case err == nil:
			l.events.acked(m)
			return
		case response != nil:
			l.events.lost(m, "refused by the broker: "+err.Error())
			return
		case errors.Is(err, paho.ErrInvalidArguments):
			l.events.lost(m, err.Error())
			return
		}
		// The session ended or the connection went just now: wait for that connection's end, then send again.
		select {
		case <-client.Done():
		case <-l.ctx.Done():
		}
	}
}

func (m outgoing) packet() *paho.Publish {
	p := &paho.Publish{Topic: m.topic, Payload: m.payload, QoS: 1, Retain: m.retain}
	if m.correlation != nil {
		p.Properties = &paho.PublishProperties{CorrelationData: m.correlation}
	}
	return p
}
