package robotrpc_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/eclipse/paho.golang/paho"

	"surehand/internal/term"
)

// scripted is a robot that shows what a test wants, and answers every question.
type scripted struct {
	t      *testing.T
	client *paho.Client
	topic  string

	mu    sync.Mutex
	shown map[string]any
	seq   int
}

func newScripted(t *testing.T, address, topic string) *scripted {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	s := &scripted{t: t, topic: topic, shown: map[string]any{"echo": 3, "busy": false, "result": "none", "error": 0, "partAt": "to", "gripper": false,
		"position": 5, "ready": true, "bootId": "first"}}
	s.client = paho.NewClient(paho.ClientConfig{Conn: conn, PacketTimeout: patience,
		OnPublishReceived: []func(paho.PublishReceived) (bool, error){func(p paho.PublishReceived) (bool, error) {
			var q struct {
				Token string `json:"token"`
			}
			if err := json.Unmarshal(p.Packet.Payload, &q); err != nil {
				t.Errorf("request %q: %v", p.Packet.Payload, err)
			}
			s.show(map[string]any{"answers": map[string]any{"token": q.Token}})
			return true, nil
		}}})
	id := "robot " + topic
	if _, err := s.client.Connect(context.Background(), &paho.Connect{ClientID: id, CleanStart: true, KeepAlive: 30}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.client.Disconnect(&paho.Disconnect{}) })
	s.hear(true)
	return s
}

// hear subscribes to requests, or no longer.
func (s *scripted) hear(hears bool) {
	s.t.Helper()
	var err error
	if hears {
		_, err = s.client.Subscribe(context.Background(), &paho.Subscribe{Subscriptions: []paho.SubscribeOptions{{Topic: s.topic + "/request", QoS: 1}}})
	} else {
		_, err = s.client.Unsubscribe(context.Background(), &paho.Unsubscribe{Topics: []string{s.topic + "/request"}})
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

// next is the state with some fields changed, with the next seq; nil leaves a field out. What stays is what keep says.
func (s *scripted) next(change map[string]any, keep bool) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seq++
	all := map[string]any{"seq": s.seq}
	for _, fields := range []map[string]any{s.shown, change} {
		for k, v := range fields {
			all[k] = v
			if v == nil {
				delete(all, k)
			}
		}
	}
	for k, v := range change {
		if keep && k != "seq" {
			s.shown[k] = v
		}
	}
	raw, err := json.Marshal(all)
	if err != nil {
		s.t.Error(err)
	}
	return raw
}

func (s *scripted) show(change map[string]any) { s.say(s.next(change, true), false) }

func (s *scripted) say(payload []byte, retain bool) {
	// QoS 0: a handler that waits for its own PUBACK reads none.
	if _, err := s.client.Publish(context.Background(), &paho.Publish{Topic: s.topic + "/state", Payload: payload, Retain: retain}); err != nil {
		s.t.Error(err)
	}
}

func (c *cell) rejections(reason string) int64 {
	n, ok := c.rejected.Load(reason)
	if !ok {
		return 0
	}
	return n.(*atomic.Int64).Load()
}

// What is no state of now changes nothing, however often it comes, and is counted.
func TestWhatIsNoState(t *testing.T) {
	t.Parallel()
	address := broker(t)
	wrong := func(change map[string]any) func(*scripted) {
		return func(s *scripted) {
			change["echo"], change["gripper"] = 99, true
			s.say(s.next(change, false), false)
		}
	}
	raw := func(text string) func(*scripted) { return func(s *scripted) { s.say([]byte(text), false) } }
	for _, c := range []struct {
		name, reason string
		say          func(*scripted)
	}{
		{"an old seq", "old", wrong(map[string]any{"seq": 1})},
		{"a replaced boot id", "old_boot", func(s *scripted) {
			s.show(map[string]any{"bootId": "second"})
			wrong(map[string]any{"bootId": "first"})(s)
		}},
		{"nothing", "malformed", raw("")},
		{"no JSON", "malformed", raw(`{"echo": 99,`)},
		{"no object", "malformed", raw(`[99]`)},
		{"null", "malformed", raw(`null`)},
		{"a field left out", "malformed", wrong(map[string]any{"ready": nil})},
		{"a field of another type", "malformed", wrong(map[string]any{"busy": "no"})},
		{"a number with a fraction", "malformed", wrong(map[string]any{"error": 1.5})},
		{"a negative seq", "malformed", wrong(map[string]any{"seq": -4})},
		{"a place of no part", "malformed", wrong(map[string]any{"partAt": "floor"})},
		{"no such result", "malformed", wrong(map[string]any{"result": "perhaps"})},
		{"an error without a number", "malformed", wrong(map[string]any{"result": "error"})},
		{"a number without an error", "malformed", wrong(map[string]any{"error": 7})},
		{"no boot id", "malformed", wrong(map[string]any{"bootId": ""})},
		{"a boot id that is too long", "malformed", wrong(map[string]any{"bootId": strings.Repeat("b", 65)})},
		{"too large", "malformed", wrong(map[string]any{"more": strings.Repeat("x", 4096)})},
		{"too large for a packet of ours", "", wrong(map[string]any{"more": strings.Repeat("x", 100_000)})},
		{"an echo of 33 bits", "malformed", raw(`{"echo":4294967296,"busy":false,"result":"none","partAt":"to","gripper":true,"ready":true,"seq":1000,"bootId":"first"}`)},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			cell := &cell{t: t, topic: fmt.Sprintf("%s-%d", topic, cells.Add(1))}
			cell.pipe = newPipe(t, address)
			robot := newScripted(t, address, cell.topic)
			await := cell.watched(cell.newDriver())
			robot.show(nil)
			await(reached)
			before := cell.rejections(c.reason)
			c.say(robot)
			robot.show(map[string]any{"position": 6}) // comes after it
			r := await(func(r term.Reading) bool { return r.Reached && r.Position == 6 })
			if r.Echo != 3 || r.Gripper {
				t.Errorf("reading %+v", r)
			}
			if c.reason != "" && cell.rejections(c.reason) == before {
				t.Errorf("nothing was counted as %s", c.reason)
			}
		})
	}
}

// A state that the broker has retained is of nobody knows when.
func TestRetainedStateIsNone(t *testing.T) {
	t.Parallel()
	address := broker(t)
	cell := &cell{t: t, topic: fmt.Sprintf("%s-%d", topic, cells.Add(1))}
	cell.pipe = newPipe(t, address)
	robot := newScripted(t, address, cell.topic)
	robot.say(robot.next(map[string]any{"echo": 99, "seq": 1_000_000}, false), true)
	await := cell.watched(cell.newDriver())
	if r := await(reached); r.Echo != 3 {
		t.Errorf("reading %+v", r)
	}
	if cell.rejections("retained") == 0 {
		t.Error("it was not counted")
	}
}

// States alone are not enough: the robot must have answered the question of this connection, and after its restart the
// question of that.
func TestReachedNeedsAnAnswer(t *testing.T) {
	t.Parallel()
	address := broker(t)
	cell := &cell{t: t, topic: fmt.Sprintf("%s-%d", topic, cells.Add(1))}
	cell.pipe = newPipe(t, address)
	await := cell.watched(cell.newDriver())
	await(func(r term.Reading) bool { return strings.Contains(r.Error, "has not shown a state yet") })
	deaf := newScripted(t, address, cell.topic)
	for round, boot := range []string{"first", "second"} {
		deaf.hear(false)
		for said := range 5 {
			at := 10*round + said
			deaf.show(map[string]any{"bootId": boot, "position": at, "answers": map[string]any{"token": "of another"}})
			r := await(func(r term.Reading) bool { return r.Position == at && r.Echo == 3 })
			if r.Reached || !strings.Contains(r.Error, "has not answered yet") {
				t.Errorf("reading %+v", r)
			}
		}
		deaf.hear(true)
		await(reached)
	}
}
