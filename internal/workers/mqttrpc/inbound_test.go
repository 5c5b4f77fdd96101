package mqttrpc_test

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/eclipse/paho.golang/paho"

	"surehand/internal/embedded/embeddedtest"
	"surehand/internal/message"
	"surehand/internal/plant"
	"surehand/internal/workers/mqttrpc"
)

const (
	telemetryTopic = prefix + "/SN-1/telemetry"
	responseTopic  = prefix + "/SN-1/rpc/response"
)

func reading(seq int) string { return fmt.Sprintf(`{"values":{"a":1},"seq":%d}`, seq) }

func answerTo(id int) string { return fmt.Sprintf(`{"commandId":"c-%d","status":"succeeded"}`, id) }

func links(l *loop) (changes []message.LinkChanged) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return payloads[message.LinkChanged](l)
}

// Whatever a device says comes in, with who said it and how it was delivered.
func TestEveryChannelComesIn(t *testing.T) {
	broker := embeddedtest.Broker(t)
	device := newPeer(t, broker.Address(), "device", nil)
	device.say(t, prefix+"/SN-1/status", `{"online":true,"bootId":"b"}`, retained)
	device.say(t, responseTopic, answerTo(7), retained)
	l := newLoop(true)
	startUp(t, broker.Address(), l)
	device.say(t, telemetryTopic, reading(1))
	device.say(t, telemetryTopic, reading(2), qos0)
	device.say(t, responseTopic, answerTo(1), func(m *paho.Publish) {
		m.Properties = &paho.PublishProperties{CorrelationData: []byte("attempt-9")}
	})
	device.say(t, prefix+"/SN-1/state", `{"reportedState":{"on":true},"appliedAt":"2026-01-31T08:00:00Z"}`)
	device.say(t, prefix+"/SN-1/status", `{"online":false}`)

	readings := awaitPayloads[message.TelemetryReceived](t, l, 2)
	if readings[0].Delivery.PacketID == 0 || readings[1].Delivery != (message.Delivery{}) {
		t.Errorf("deliveries %+v and %+v", readings[0].Delivery, readings[1].Delivery)
	}
	if r := awaitPayloads[message.DeviceResponded](t, l, 1)[0]; r.Correlation != "attempt-9" || r.CommandID != "c-1" || r.Serial != "SN-1" {
		t.Errorf("answer %+v", r)
	}
	if s := awaitPayloads[message.StateReported](t, l, 1)[0]; s.Retained {
		t.Errorf("state %+v", s)
	}
	if s := awaitPayloads[message.DeviceStatusReported](t, l, 2); !s[0].Retained || !s[0].Online || s[1].Retained || s[1].Online {
		t.Errorf("status %+v", s)
	}
	if r := awaitPayloads[message.InputRejected](t, l, 1)[0]; r.Reason != "retained" {
		t.Errorf("the retained answer was %+v", r)
	}
}

// A message is acknowledged after the loop's answer and not before: until then the broker sends it again to
// the next life of this process, marked as a copy; afterwards never.
func TestAcknowledgedOnlyAfterTheAnswer(t *testing.T) {
	broker := embeddedtest.Broker(t)
	device := newPeer(t, broker.Address(), "device", nil)
	first := newLoop(false)
	d := startUp(t, broker.Address(), first)
	for n := range 3 {
		device.say(t, telemetryTopic, reading(n))
	}
	awaitPayloads[message.TelemetryReceived](t, first, 3)
	for _, m := range first.messages() {
		if r, ok := m.Payload.(message.TelemetryReceived); !ok || r.Readings[0].Seq == 0 {
			reply(m) // of the readings only the first was committed
		}
	}
	first.awaitCount(t, "mqtt_acked telemetry", 2) // the marker, and the first
	stop(t, d)

	second := newLoop(true)
	d = startUp(t, broker.Address(), second)
	got := awaitPayloads[message.TelemetryReceived](t, second, 2)
	for i, r := range got {
		if r.Readings[0].Seq != int64(i+1) || !r.Delivery.Duplicate || r.Delivery.PacketID == 0 {
			t.Errorf("redelivered %+v", r)
		}
	}
	second.awaitCount(t, "mqtt_acked telemetry", 3) // both, and the marker
	stop(t, d)

	third := newLoop(true)
	startUp(t, broker.Address(), third)
	third.mu.Lock()
	defer third.mu.Unlock()
	if again := payloads[message.TelemetryReceived](third); len(again) != 0 {
		t.Errorf("acknowledged messages came again: %+v", again)
	}
}

// The loop may answer in any order; acknowledgements leave in the order of receipt, and all of them in the end.
func TestAnswersInAnyOrderAreAcknowledged(t *testing.T) {
	broker := embeddedtest.Broker(t)
	device := newPeer(t, broker.Address(), "device", nil)
	l := newLoop(false)
	d := startUp(t, broker.Address(), l)
	for _, m := range l.messages() {
		reply(m) // the markers
	}
	l.awaitCount(t, "mqtt_acked telemetry", 1)
	const n = 50
	for i := range n {
		payload := reading(i)
		if i%5 == 0 {
			payload = "broken"
		}
		device.say(t, telemetryTopic, payload)
	}
	l.await(t, "all messages", func() bool {
		return len(payloads[message.TelemetryReceived](l))+len(payloads[message.InputRejected](l)) == n
	})
	all := l.messages()
	for i := len(all) - 1; i >= 0; i-- {
		switch all[i].Payload.(type) {
		case message.TelemetryReceived, message.InputRejected:
			reply(all[i])
		}
	}
	l.awaitCount(t, "mqtt_acked telemetry", 1+n)
	if open := d.Unanswered(plant.LinkTelemetry); open != 0 {
		t.Errorf("%d without an acknowledgement", open)
	}
}

// A full inbox stops the flow at the Receive Maximum; when there is room again, nothing is missing and
// everything is in order.
func TestFullInboxHoldsTheFlowAndItResumes(t *testing.T) {
	broker := embeddedtest.Broker(t)
	device := newPeer(t, broker.Address(), "device", nil)
	l := newLoop(true)
	const maximum, n = 16, 400
	d := startUp(t, broker.Address(), l, func(o *mqttrpc.Options) { o.TelemetryMaximum = maximum })
	l.awaitCount(t, "mqtt_acked telemetry", 1)
	l.with(func() { l.room = 0 })
	for i := range n {
		device.say(t, telemetryTopic, reading(i))
	}
	l.awaitCount(t, "mqtt_received telemetry", 1+maximum)
	l.await(t, "refusals", func() bool { return l.full > 3 })
	if open := d.Unanswered(plant.LinkTelemetry); open != maximum {
		t.Errorf("%d messages are held, want %d", open, maximum)
	}
	l.with(func() { l.room = -1 })
	got := awaitPayloads[message.TelemetryReceived](t, l, n)
	for i, r := range got {
		if r.Readings[0].Seq != int64(i) {
			t.Fatalf("message %d has seq %d", i, r.Readings[0].Seq)
		}
	}
	l.awaitCount(t, "mqtt_acked telemetry", 1+n)
}

// A connection that is lost while nothing more fits is noticed all the same, and nothing of the backlog is lost.
func TestLinkLostWhileTheInboxIsFull(t *testing.T) {
	broker := embeddedtest.Broker(t)
	way := newProxy(t, broker.Address())
	device := newPeer(t, broker.Address(), "device", nil)
	stop(t, startUp(t, broker.Address(), newLoop(true))) // makes the session in which all of it queues
	const n = 300
	for i := range n {
		device.say(t, telemetryTopic, reading(i))
	}
	l := newLoop(true)
	l.room = 50 // the first acknowledgements make mosquitto send far more than the Receive Maximum
	start(t, newDriver(t, way.address(), l, func(o *mqttrpc.Options) { o.TelemetryMaximum = 8 }))
	l.await(t, "refusals", func() bool { return l.full > 3 })
	way.cut()
	l.awaitCount(t, "mqtt_down telemetry", 1)
	l.with(func() { l.room = -1 })
	l.await(t, "every reading", func() bool {
		seen := map[int64]bool{}
		for _, r := range payloads[message.TelemetryReceived](l) {
			seen[r.Readings[0].Seq] = true
		}
		return len(seen) == n
	})
}

// An answer of the loop after a reconnect acknowledges nothing on the new connection.
func TestAckBelongsToItsConnection(t *testing.T) {
	broker := embeddedtest.Broker(t)
	way := newProxy(t, broker.Address())
	device := newPeer(t, broker.Address(), "device", nil)
	l := newLoop(false)
	startUp(t, way.address(), l)
	device.say(t, telemetryTopic, reading(1))
	awaitPayloads[message.TelemetryReceived](t, l, 1)
	before := l.messages()
	way.cut()
	got := awaitPayloads[message.TelemetryReceived](t, l, 2)
	if !got[1].Delivery.Duplicate || got[1].Delivery.PacketID != got[0].Delivery.PacketID {
		t.Errorf("redelivered %+v after %+v", got[1].Delivery, got[0].Delivery)
	}
	l.awaitCount(t, "mqtt_up telemetry", 2)
	for _, m := range before {
		reply(m) // of the dead connection
	}
	way.cut()
	if again := awaitPayloads[message.TelemetryReceived](t, l, 3); again[2].Readings[0].Seq != 1 {
		t.Errorf("after a stale answer came %+v", again[2])
	}
	for _, m := range l.messages()[len(before):] {
		reply(m)
	}
	l.awaitCount(t, "mqtt_acked telemetry", 1)
}

// The marker comes back after everything that had queued while we were away.
func TestDrainedComesAfterTheBacklog(t *testing.T) {
	broker := embeddedtest.Broker(t)
	device := newPeer(t, broker.Address(), "device", nil)
	first := newLoop(true)
	d := startUp(t, broker.Address(), first)
	stop(t, d)
	const n = 100
	for i := range n {
		device.say(t, responseTopic, answerTo(i))
		device.say(t, telemetryTopic, reading(i))
	}
	l := newLoop(true)
	// A Receive Maximum far below the backlog: the marker waits behind all of it.
	startUp(t, broker.Address(), l, func(o *mqttrpc.Options) { o.AnswersMaximum, o.TelemetryMaximum = 8, 8 })
	answers, readings := 0, 0
	for _, m := range l.messages() {
		switch p := m.Payload.(type) {
		case message.DeviceResponded:
			answers++
		case message.TelemetryReceived:
			readings++
		case message.SessionDrained:
			if p.Link == plant.LinkAnswers && answers != n || p.Link == plant.LinkTelemetry && readings != n {
				t.Errorf("%s was drained after %d answers and %d readings", p.Link, answers, readings)
			}
		}
	}
}

// A marker of someone else, or of an earlier connection, means nothing.
func TestForeignMarkerMeansNothing(t *testing.T) {
	broker := embeddedtest.Broker(t)
	l := newLoop(true)
	startUp(t, broker.Address(), l)
	liar := newPeer(t, broker.Address(), "liar", nil)
	liar.say(t, prefix+"/.marker/plant-1/answers", "guess")
	l.awaitCount(t, "mqtt_marker_foreign answers", 1)
	l.awaitCount(t, "mqtt_acked answers", 2)
	if n := len(awaitPayloads[message.SessionDrained](t, l, 2)); n != 2 {
		t.Errorf("drained %d times", n)
	}
}

// Up and down alternate for each link, whatever happens, and none is lost while the inbox is full.
func TestLinkChangesAreInOrder(t *testing.T) {
	broker := embeddedtest.Broker(t)
	way := newProxy(t, broker.Address())
	l := newLoop(true)
	d := startUp(t, way.address(), l)
	const cuts = 5
	for n := range cuts {
		if n%2 == 1 {
			l.with(func() { l.room = 0 })
			refused := 0
			l.with(func() { refused = l.full })
			way.cut()
			l.await(t, "refusals", func() bool { return l.full > refused+5 })
			l.with(func() { l.room = -1 })
		} else {
			way.cut()
		}
		for _, name := range []plant.Link{plant.LinkTelemetry, plant.LinkAnswers, plant.LinkCommands} {
			l.await(t, "up again", func() bool {
				ups := 0
				for _, c := range payloads[message.LinkChanged](l) {
					if c.Link == name && c.Up {
						ups++
					}
				}
				return ups >= n+2
			})
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := d.Stop(ctx); err != nil {
		t.Fatal(err)
	}
	state := map[plant.Link]bool{}
	for _, c := range links(l) {
		if state[c.Link] == c.Up {
			t.Errorf("%s became %v twice", c.Link, c.Up)
		}
		state[c.Link] = c.Up
	}
	if want := map[plant.Link]bool{plant.LinkTelemetry: false, plant.LinkAnswers: false, plant.LinkCommands: false}; !reflect.DeepEqual(state, want) {
		t.Errorf("in the end %v", state)
	}
	// Drained stands between the up and the down of its own connection.
	up := map[plant.Link]bool{}
	for _, m := range l.messages() {
		switch p := m.Payload.(type) {
		case message.LinkChanged:
			up[p.Link] = p.Up
		case message.SessionDrained:
			if !up[p.Link] {
				t.Errorf("%s was drained while down", p.Link)
			}
		}
	}
}

// A restarted broker has its state on disk, or has lost it: either way we subscribe again and messages flow.
func TestBrokerRestart(t *testing.T) {
	for _, empty := range []bool{false, true} {
		t.Run(fmt.Sprintf("empty=%v", empty), func(t *testing.T) {
			broker := embeddedtest.OwnBroker(t)
			device := newPeer(t, broker.Address(), "device", nil)
			l := newLoop(false)
			startUp(t, broker.Address(), l)
			device.say(t, telemetryTopic, reading(1))
			awaitPayloads[message.TelemetryReceived](t, l, 1)
			restart := broker.Restart
			if empty {
				restart = broker.RestartEmpty
			}
			if err := restart(t.Context()); err != nil {
				t.Fatal(err)
			}
			awaitPayloads[message.SessionDrained](t, l, 4)
			l.awaitCount(t, "mqtt_up commands", 2)
			device = newPeer(t, broker.Address(), "device", nil)
			device.say(t, telemetryTopic, reading(2))
			want := 3 // the unanswered one again, and the new one
			if empty {
				want = 2
			}
			got := awaitPayloads[message.TelemetryReceived](t, l, want)
			if last := got[len(got)-1]; last.Readings[0].Seq != 2 || len(got) != want {
				t.Errorf("got %+v", got)
			}
		})
	}
}

// Input that is not of the contract is acknowledged all the same once the loop has it, and the flow goes on.
func TestBrokenInputOnTheWire(t *testing.T) {
	broker := embeddedtest.Broker(t)
	device := newPeer(t, broker.Address(), "device", nil)
	l := newLoop(true)
	startUp(t, broker.Address(), l)
	device.say(t, telemetryTopic, "")
	device.say(t, telemetryTopic, "\xff\x00")
	device.say(t, telemetryTopic, strings.Repeat("[", 100<<10))
	device.say(t, prefix+"/a b/telemetry", reading(1))
	device.say(t, prefix+"/SN-2/status", "online")
	// 1 MiB is over the broker's own limit: that costs the sender its connection, and us nothing.
	giant := newPeer(t, broker.Address(), "giant", nil)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-giant.client.Done(); cancel() }()
	_, err := giant.client.Publish(ctx, &paho.Publish{Topic: telemetryTopic, QoS: 1, Payload: make([]byte, 1<<20)})
	if err == nil {
		t.Log("the broker takes 1 MiB; we have told it not to pass it on")
	}
	cancel()
	device.say(t, telemetryTopic, reading(9))

	awaitPayloads[message.TelemetryReceived](t, l, 1)
	reasons := map[string]int{}
	for _, r := range awaitPayloads[message.InputRejected](t, l, 5) {
		reasons[r.Reason]++
	}
	want := map[string]int{"empty": 1, "utf8": 1, "oversize": 1, "bad_topic": 1, "malformed": 1}
	if !reflect.DeepEqual(reasons, want) {
		t.Errorf("rejected %v, want %v", reasons, want)
	}
	l.awaitCount(t, "mqtt_acked telemetry", 6)
	if n := len(links(l)); n != 3 {
		t.Errorf("%d link changes, want the three ups", n)
	}
}

// At QoS 0 nobody sends again: what finds no room while the inbox is full is dropped and counted, and memory
// stays bounded.
func TestQoS0BeyondItsRoomIsDroppedAndCounted(t *testing.T) {
	broker := embeddedtest.Broker(t)
	device := newPeer(t, broker.Address(), "device", nil)
	l := newLoop(true)
	startUp(t, broker.Address(), l, func(o *mqttrpc.Options) { o.QoS0Room = 10 })
	l.with(func() { l.room = 0 })
	for i := range 100 {
		device.say(t, telemetryTopic, reading(i), qos0)
	}
	l.awaitCount(t, "mqtt_received telemetry", 101)
	l.with(func() { l.room = -1 })
	device.say(t, telemetryTopic, reading(1000))
	l.await(t, "the last reading", func() bool {
		got := payloads[message.TelemetryReceived](l)
		return len(got) > 0 && got[len(got)-1].Readings[0].Seq == 1000
	})
	l.mu.Lock()
	defer l.mu.Unlock()
	taken := len(payloads[message.TelemetryReceived](l)) - 1
	if dropped := l.counts["mqtt_qos0_dropped telemetry"]; taken+dropped != 100 || taken > 11 {
		t.Errorf("%d taken, %d dropped", taken, dropped)
	}
}
