package line

import (
	"context"
	"encoding/json"
	"net"
	"net/url"
	"sync"
	"time"

	"github.com/eclipse/paho.golang/paho"
)

const (
	mqttConnectTimeout = 5 * time.Second
	mqttRedialAfter    = 20 * time.Millisecond
	mqttRedialAtMost   = 500 * time.Millisecond
	mqttKeepAlive      = 5 // seconds
)

// mqttLink is the robot's connection to the broker, which can be taken away and come back. Like link it has its own
// mutexes and is never called with the World's held.
type mqttLink struct {
	wire *mqttWire

	control sync.Mutex // one start or stop at a time
	closed  bool       // for good; under control
	end     context.CancelFunc
	running sync.WaitGroup
}

// Address is empty: nobody connects to the robot.
func (l *mqttLink) Address() string { return "" }

func (l *mqttLink) start() error {
	l.control.Lock()
	defer l.control.Unlock()
	if l.closed || l.end != nil {
		return nil
	}
	ctx, cancel := context.WithCancel(context.Background())
	l.end = cancel
	l.running.Go(func() { l.keepConnected(ctx) })
	return nil
}

// stop ends the connection without a word, as a power cut does, and returns when nothing of it runs any more.
func (l *mqttLink) stop() {
	l.control.Lock()
	defer l.control.Unlock()
	if l.end == nil {
		return
	}
	l.end()
	l.end = nil
	l.running.Wait()
}

func (l *mqttLink) close() {
	l.stop()
	l.control.Lock()
	defer l.control.Unlock()
	l.closed = true
}

func (l *mqttLink) keepConnected(ctx context.Context) {
	for wait := mqttRedialAfter; ctx.Err() == nil; wait = min(2*wait, mqttRedialAtMost) {
		if l.connectOnce(ctx) {
			wait = mqttRedialAfter
		}
		again := time.NewTimer(wait)
		select {
		case <-again.C:
		case <-ctx.Done():
		}
		again.Stop()
	}
}

// connectOnce serves one connection to its end, and tells whether it ever was up.
func (l *mqttLink) connectOnce(ctx context.Context) bool {
	o := l.wire.o
	u, err := url.Parse(o.BrokerURL)
	if err != nil {
		return false
	}
	dialing, cancel := context.WithTimeout(ctx, mqttConnectTimeout)
	defer cancel()
	var dialer net.Dialer
	conn, err := dialer.DialContext(dialing, "tcp", u.Host)
	if err != nil {
		return false
	}
	// The end of ctx is the end of the connection, whoever waits on it.
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	defer conn.Close()
	client := paho.NewClient(paho.ClientConfig{
		ClientID: o.ClientID, Conn: conn, PacketTimeout: mqttConnectTimeout, OnServerDisconnect: func(*paho.Disconnect) {},
		OnPublishReceived: []func(paho.PublishReceived) (bool, error){func(p paho.PublishReceived) (bool, error) {
			if !p.Packet.Retain { // what somebody asked for long ago
				l.wire.receive(p.Packet.Payload)
			}
			return true, nil
		}},
	})
	expiry := uint32(o.SessionExpiry / time.Second)
	if _, err := client.Connect(dialing, &paho.Connect{ClientID: o.ClientID, CleanStart: expiry == 0, KeepAlive: mqttKeepAlive,
		Username: o.Username, UsernameFlag: o.Username != "", Password: []byte(o.Password), PasswordFlag: o.Password != "",
		Properties: &paho.ConnectProperties{SessionExpiryInterval: &expiry}}); err != nil {
		return false
	}
	defer func() { <-client.Done() }()
	defer conn.Close()
	subscription := &paho.Subscribe{Subscriptions: []paho.SubscribeOptions{{Topic: o.Topic + "/" + requestsName, QoS: 1}}}
	if _, err := client.Subscribe(dialing, subscription); err != nil {
		return false
	}
	l.sendStates(ctx, client)
	return true
}

// sendStates sends what changes, and the state as it is every now and then, until the connection ends.
func (l *mqttLink) sendStates(ctx context.Context, client *paho.Client) {
	w := l.wire.robot.w
	w.lock()
	l.wire.queue = nil // of before the connection
	l.wire.show(true)
	w.unlock()
	beat := time.NewTicker(l.wire.o.StateEvery)
	defer beat.Stop()
	for {
		w.lock()
		states := l.wire.next()
		w.unlock()
		for _, s := range states {
			if s.late > 0 {
				time.AfterFunc(s.late, func() { _ = l.send(ctx, client, s) })
			} else if l.send(ctx, client, s) != nil {
				return
			}
		}
		select {
		case <-l.wire.wake:
		case <-beat.C:
			w.lock()
			l.wire.show(true)
			w.unlock()
		case <-client.Done():
			return
		case <-ctx.Done():
			return
		}
	}
}

// send publishes a state; an error is the end of the connection.
func (l *mqttLink) send(ctx context.Context, client *paho.Client, s fatedState) error {
	payload, err := json.Marshal(s.state)
	if err != nil {
		panic(err) // a struct of plain values
	}
	ctx, cancel := context.WithTimeout(ctx, mqttConnectTimeout)
	defer cancel()
	for range s.copies {
		if _, err := client.Publish(ctx, &paho.Publish{Topic: l.wire.o.Topic + "/" + statesName, QoS: 1, Payload: payload}); err != nil {
			return err
		}
	}
	return nil
}
