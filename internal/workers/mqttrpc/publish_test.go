package mqttrpc_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/eclipse/paho.golang/packets"
	"github.com/eclipse/paho.golang/paho"

	"surehand/internal/embedded/embeddedtest"
	"surehand/internal/message"
	"surehand/internal/plant"
	"surehand/internal/term"
	"surehand/internal/workers"
	"surehand/internal/workers/mqttrpc"
	"surehand/internal/workers/workertest"
)

const requestTopic = prefix + "/SN-1/rpc/request"

func order(n int) workers.Order {
	now := time.Now()
	return workers.Order{StartedAt: now, Publish: plant.Publish{
		AttemptID: term.AttemptID(fmt.Sprintf("attempt-%d", n)), IntentID: "intent", CommandID: "c", Serial: "SN-1", Number: 1,
		Topic: "SN-1/rpc/request", Payload: fmt.Appendf(nil, `{"commandId":"c-%d"}`, n), QoS: 1, Correlation: fmt.Sprintf("attempt-%d", n),
		FencedAt: now.Round(0), DeadlineAt: now.Round(0).Add(5 * time.Second),
	}}
}

func want(t *testing.T, got workers.Result, outcome term.AttemptOutcome, why string) {
	t.Helper()
	if got.Outcome != outcome || !strings.Contains(got.Why, why) || (why == "") != (got.Why == "") {
		t.Errorf("result %s (%s), want %s (%s)", got.Outcome, got.Why, outcome, why)
	}
}

// proves C of the wire contract: what a device gets is the frozen payload with all its properties.
func TestRequestOnTheWire(t *testing.T) {
	broker := embeddedtest.Broker(t)
	device := newPeer(t, broker.Address(), "device", nil)
	device.subscribe(t, requestTopic)
	l := newLoop(true)
	d := startUp(t, broker.Address(), l)
	o := order(1)
	want(t, d.Publish(t.Context(), o), term.AttemptSent, "")
	o.QoS = 0
	want(t, d.Publish(t.Context(), o), term.AttemptSent, "")
	for i, m := range device.awaitReceived(t, 2) {
		p := m.Properties
		if string(m.Payload) != string(o.Payload) || m.Retain || m.QoS != byte(1-i) || p.ContentType != "application/json" ||
			p.ResponseTopic != responseTopic || string(p.CorrelationData) != o.Correlation ||
			p.MessageExpiry == nil || *p.MessageExpiry < 1 || *p.MessageExpiry > 5 {
			t.Errorf("request %d: %v", i, m)
		}
	}
	nobody := order(2)
	nobody.Topic = "nobody/rpc/request"
	want(t, d.Publish(t.Context(), nobody), term.AttemptSent, "") // "no matching subscribers" is a success
}

// A late order is surely not sent, by the injected clock, and the check is the last thing before the write.
func TestLateOrderIsNotSent(t *testing.T) {
	broker := embeddedtest.Broker(t)
	device := newPeer(t, broker.Address(), "device", nil)
	device.subscribe(t, requestTopic)
	l := newLoop(true)
	clock := &skewedClock{}
	d := startUp(t, broker.Address(), l, func(o *mqttrpc.Options) { o.Clock = clock })
	o := order(1)
	clock.set(plant.SendBefore + time.Second)
	want(t, d.Publish(t.Context(), o), term.AttemptNotSent, "too late")
	o.QoS = 0
	want(t, d.Publish(t.Context(), o), term.AttemptNotSent, "too late")
	clock.set(0)
	want(t, d.Publish(t.Context(), order(2)), term.AttemptSent, "")
	if got := device.awaitReceived(t, 1); len(got) != 1 || string(got[0].Properties.CorrelationData) != "attempt-2" {
		t.Errorf("the device got %v", got)
	}
}

type skewedClock struct {
	mu   sync.Mutex
	skew time.Duration
}

func (c *skewedClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.skew)
}

func (c *skewedClock) set(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.skew = d
}

func TestImpossibleOrdersAreNotSent(t *testing.T) {
	broker := embeddedtest.Broker(t)
	l := newLoop(true)
	d := newDriver(t, broker.Address(), l)
	want(t, d.Publish(t.Context(), order(1)), term.AttemptNotSent, "link_down")
	d = startUp(t, broker.Address(), l)
	for why, change := range map[string]func(*workers.Order){
		"QoS 2": func(o *workers.Order) { o.QoS = 2 },
		"topic": func(o *workers.Order) { o.Topic = "a/+" },
	} {
		o := order(1)
		change(&o)
		want(t, d.Publish(t.Context(), o), term.AttemptNotSent, why)
	}
}

// What the broker says decides: below 0x80 is sent, from 0x80 on it surely did not take it.
func TestReasonOfTheBroker(t *testing.T) {
	for _, c := range []struct {
		reason  byte
		outcome term.AttemptOutcome
		why     string
	}{
		{packets.PubackSuccess, term.AttemptSent, ""},
		{packets.PubackNoMatchingSubscribers, term.AttemptSent, ""},
		{packets.PubackUnspecifiedError, term.AttemptNotSent, "0x80"},
		{packets.PubackNotAuthorized, term.AttemptNotSent, "0x87"},
		{packets.PubackQuotaExceeded, term.AttemptNotSent, "0x97"},
	} {
		b := newScripted(t)
		b.onPublish = func(_ *scriptedConn, p *packets.Publish) (byte, bool) { return c.reason, true }
		l := newLoop(true)
		d := startCommands(t, b, l)
		want(t, d.Publish(t.Context(), order(1)), c.outcome, c.why)
	}
}

func TestPayloadOverTheBrokersLimitIsNotSent(t *testing.T) {
	b := newScripted(t)
	b.maximumPacketSize = 1000
	l := newLoop(true)
	d := startCommands(t, b, l)
	o := order(1)
	o.Payload = make([]byte, 2000)
	want(t, d.Publish(t.Context(), o), term.AttemptNotSent, "at most")
	want(t, d.Publish(t.Context(), order(2)), term.AttemptSent, "")
}

// The broker's Receive Maximum is kept: what finds no place is surely not sent, and a PUBACK makes room.
func TestReceiveMaximumOfTheBrokerIsKept(t *testing.T) {
	b := newScripted(t)
	b.receiveMaximum = 3
	release := make(chan struct{})
	b.onPublish = func(_ *scriptedConn, p *packets.Publish) (byte, bool) {
		b.with(func() { b.open++; b.most = max(b.most, b.open) })
		go func() { // a PUBACK of its own, later
			<-release
			b.with(func() { b.open-- })
			b.puback(p.PacketID)
		}()
		return 0, false
	}
	l := newLoop(true)
	d := startCommands(t, b, l)
	results := make(chan workers.Result, 9)
	for n := range 9 {
		go func() { results <- d.Publish(context.Background(), order(n)) }()
	}
	b.await(t, "three publishes", func() bool { return b.open == 3 })
	close(release)
	for range 9 {
		want(t, <-results, term.AttemptSent, "")
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.most > 3 {
		t.Errorf("%d publishes were under way at once", b.most)
	}
}

// PUBACK lost: unknown within the bound, and the connection is cut and made anew.
func TestPubackThatNeverComesIsUnknown(t *testing.T) {
	b := newScripted(t)
	b.onPublish = func(_ *scriptedConn, p *packets.Publish) (byte, bool) { return 0, b.published() != 1 }
	l := newLoop(true)
	d := startCommands(t, b, l, func(o *mqttrpc.Options) { o.PacketTimeout = 50 * time.Millisecond })
	want(t, d.Publish(t.Context(), order(1)), term.AttemptUnknown, "not acknowledge")
	l.awaitCount(t, "mqtt_up commands", 2)
	want(t, d.Publish(t.Context(), order(2)), term.AttemptSent, "")
	if got := b.correlations(); len(got) != 2 || got[0] != "attempt-1" || got[1] != "attempt-2" {
		t.Errorf("the broker got %v", got)
	}
}

// A caller who gives up gets unknown; its place comes back with the PUBACK.
func TestGivenUpPublishIsUnknown(t *testing.T) {
	b := newScripted(t)
	b.receiveMaximum = 1
	ctx, cancel := context.WithCancel(t.Context())
	b.onPublish = func(_ *scriptedConn, p *packets.Publish) (byte, bool) {
		if b.published() > 1 {
			return 0, true
		}
		cancel()
		return 0, false
	}
	l := newLoop(true)
	d := startCommands(t, b, l)
	want(t, d.Publish(ctx, order(1)), term.AttemptUnknown, "given up")
	b.puback(1)
	want(t, d.Publish(t.Context(), order(2)), term.AttemptSent, "")
}

// proves invariant 3: cut between PUBLISH and PUBACK, and nothing of ours comes a second time: not from us,
// although we connect again, and the device has exactly one copy.
func TestCutBeforePubackIsUnknownAndNeverSentAgain(t *testing.T) {
	broker := embeddedtest.Broker(t)
	way := newProxy(t, broker.Address())
	device := newPeer(t, broker.Address(), "device", nil)
	device.subscribe(t, requestTopic)
	l := newLoop(true)
	d := startUp(t, way.address(), l)
	for n := range 5 {
		way.set(func() { way.swallow = true })
		result := make(chan workers.Result, 1)
		go func() { result <- d.Publish(context.Background(), order(n)) }()
		device.awaitReceived(t, 2*n+1) // the device has it, we have no PUBACK
		way.cut()
		want(t, <-result, term.AttemptUnknown, "lost")
		way.set(func() { way.swallow = false })
		l.awaitCount(t, "mqtt_up commands", n+2)
		sentinel := order(100 + n) // whatever paho would send again comes before it
		want(t, publishWhenUp(t, d, sentinel), term.AttemptSent, "")
		got := device.awaitReceived(t, 2*n+2)
		if last := got[len(got)-1]; len(got) != 2*n+2 || string(last.Properties.CorrelationData) != sentinel.Correlation {
			t.Fatalf("round %d: the device has %d messages, the last %s", n, len(got), last.Properties.CorrelationData)
		}
	}
}

// publishWhenUp publishes again while that is surely not sent, as the loop would with its next attempt.
func publishWhenUp(t *testing.T, d *mqttrpc.Driver, o workers.Order) workers.Result {
	t.Helper()
	for {
		r := d.Publish(t.Context(), o)
		if r.Outcome != term.AttemptNotSent || r.Why != "link_down" || t.Context().Err() != nil {
			return r
		}
	}
}

// The broker itself says not authorised.
func TestNotAuthorisedByMosquitto(t *testing.T) {
	broker := brokerWith(t, "acl_file "+acl(t))
	l := newLoop(true)
	d := newDriver(t, broker, l)
	start(t, d)
	l.awaitCount(t, "mqtt_up commands", 1)
	o := order(1)
	o.Topic = "SN-1/forbidden"
	want(t, publishWhenUp(t, d, o), term.AttemptNotSent, "0x87")
	want(t, d.Publish(t.Context(), order(2)), term.AttemptSent, "")
}

// proves D-8: a new process cuts off a forgotten one, which then sends nothing.
func TestNewProcessCutsOffTheForgottenOne(t *testing.T) {
	broker := embeddedtest.Broker(t)
	old, young := newLoop(true), newLoop(true)
	owns := true
	forgotten := startUp(t, broker.Address(), old, func(o *mqttrpc.Options) {
		o.Confirm = func(context.Context) error {
			old.mu.Lock()
			defer old.mu.Unlock()
			if owns {
				return nil
			}
			return fmt.Errorf("the epoch is another's")
		}
	})
	old.with(func() { owns = false })
	d := startUp(t, broker.Address(), young)
	for _, link := range []string{"commands", "answers", "telemetry"} {
		old.awaitCount(t, "mqtt_down "+link, 1)
	}
	want(t, forgotten.Publish(t.Context(), order(1)), term.AttemptNotSent, "link_down")
	want(t, d.Publish(t.Context(), order(2)), term.AttemptSent, "")
	young.mu.Lock()
	defer young.mu.Unlock()
	for _, c := range payloads[message.LinkChanged](young) {
		if !c.Up {
			t.Errorf("the new process lost %s", c.Link)
		}
	}
}

// Request and answer, many times over and several at once: none is lost and each finds its attempt.
func TestTwelveThousandRoundTrips(t *testing.T) {
	const n, parallel = 12000, 32
	broker := brokerWith(t, quick)
	answers := make(chan *paho.Publish, n)
	device := newPeer(t, broker, "device", func(m *paho.Publish) { answers <- m })
	device.subscribe(t, requestTopic)
	var answering sync.WaitGroup
	for range 8 {
		answering.Go(func() {
			for m := range answers {
				id := strings.TrimPrefix(string(m.Properties.CorrelationData), "attempt-")
				_, err := device.client.Publish(context.Background(), &paho.Publish{Topic: m.Properties.ResponseTopic, QoS: 1,
					Payload:    fmt.Appendf(nil, `{"commandId":"c-%s","status":"succeeded"}`, id),
					Properties: &paho.PublishProperties{CorrelationData: m.Properties.CorrelationData}})
				if err != nil {
					t.Errorf("answer: %v", err)
				}
			}
		})
	}
	l := newLoop(true)
	d := startUp(t, broker, l)
	next := make(chan int, n)
	for i := range n {
		next <- i
	}
	close(next)
	var asking sync.WaitGroup
	for range parallel {
		asking.Go(func() {
			for i := range next {
				if r := d.Publish(context.Background(), order(i)); r.Outcome != term.AttemptSent {
					t.Errorf("request %d: %+v", i, r)
				}
			}
		})
	}
	asking.Wait()
	l.awaitCount(t, "mqtt_acked answers", 1+n)
	close(answers)
	answering.Wait()
	seen := map[string]bool{}
	for _, r := range awaitPayloads[message.DeviceResponded](t, l, n) {
		if string(r.CommandID) != "c-"+strings.TrimPrefix(r.Correlation, "attempt-") || seen[r.Correlation] {
			t.Errorf("answer %+v", r)
		}
		seen[r.Correlation] = true
	}
	if len(seen) != n {
		t.Errorf("%d answers of %d", len(seen), n)
	}
}

func TestConformance(t *testing.T) {
	workertest.Publishers(t, func(t *testing.T) workertest.Bench {
		broker := brokerWith(t, quick)
		way := newProxy(t, broker)
		device := newPeer(t, broker, "device", nil)
		device.subscribe(t, prefix+"/+/rpc/request")
		l := newLoop(true)
		d := startUp(t, way.address(), l, func(o *mqttrpc.Options) { o.PacketTimeout = time.Second })
		return workertest.Bench{
			Publisher: d,
			Order:     order,
			Received: func() map[string]int {
				got := map[string]int{}
				device.mu.Lock()
				defer device.mu.Unlock()
				for _, m := range device.received {
					got[string(m.Properties.CorrelationData)]++
				}
				return got
			},
			AwaitReceived: func(id string) {
				device.await(t, "copy of "+id, func() bool {
					for _, m := range device.received {
						if string(m.Properties.CorrelationData) == id {
							return true
						}
					}
					return false
				})
			},
			Hang: func() { way.set(func() { way.holding = true }) },
			Cut: func() {
				way.set(func() { way.refuse = true })
				way.cut()
				l.awaitCount(t, "mqtt_down commands", 1)
			},
			Heal: func() {
				way.set(func() { way.holding, way.refuse = false, false })
			},
		}
	})
}
