package line

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/eclipse/paho.golang/paho"

	"surehand/internal/embedded/embeddedtest"
)

// mqttPeer asks the robot as docs/drivers.md says, and knows nothing of this package's state.
type mqttPeer struct {
	t      *testing.T
	client *paho.Client
	states chan map[string]any
	tokens int
}

const mqttTopic = "cell/robot"

// mqttCell is the cell of all tests with the robot on MQTT, and a peer that listens.
func mqttCell(t *testing.T, change func(*MQTTOptions)) (*World, *mqttPeer) {
	t.Helper()
	broker := embeddedtest.Broker(t)
	conn, err := net.Dial("tcp", broker.Address())
	if err != nil {
		t.Fatal(err)
	}
	p := &mqttPeer{t: t, states: make(chan map[string]any, 10_000)}
	p.client = paho.NewClient(paho.ClientConfig{Conn: conn, PacketTimeout: patience,
		OnPublishReceived: []func(paho.PublishReceived) (bool, error){func(r paho.PublishReceived) (bool, error) {
			var s map[string]any
			if err := json.Unmarshal(r.Packet.Payload, &s); err != nil || r.Packet.Retain {
				t.Errorf("state %q, retained %t: %v", r.Packet.Payload, r.Packet.Retain, err)
			}
			p.states <- s
			return true, nil
		}}})
	if _, err := p.client.Connect(t.Context(), &paho.Connect{ClientID: "peer", CleanStart: true, KeepAlive: 30}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.client.Disconnect(&paho.Disconnect{}) })
	if _, err := p.client.Subscribe(t.Context(), &paho.Subscribe{Subscriptions: []paho.SubscribeOptions{{Topic: mqttTopic + "/state", QoS: 1}}}); err != nil {
		t.Fatal(err)
	}
	o := &MQTTOptions{BrokerURL: broker.URL(), Topic: mqttTopic, StateEvery: 20 * time.Millisecond}
	if change != nil {
		change(o)
	}
	w := cell(t, func(all *Options) { all.Robot.MQTT = o })
	p.next("the robot is there", func(map[string]any) bool { return true })
	return w, p
}

// ask publishes a request, such as "move 5 1 40", and gives its token.
func (p *mqttPeer) ask(words string, more map[string]any) (token string) {
	p.t.Helper()
	p.tokens++
	token = fmt.Sprint("token ", p.tokens)
	q := map[string]any{"token": token}
	fields := strings.Fields(words)
	for i, name := range []string{"method", "actionNo", "from", "to"} {
		if i == 0 {
			q[name] = fields[0]
		} else if i < len(fields) {
			q[name] = json.Number(fields[i])
		}
	}
	for k, v := range more {
		q[k] = v
	}
	raw, err := json.Marshal(q)
	if err != nil {
		p.t.Fatal(err)
	}
	p.publish(raw, false)
	return token
}

func (p *mqttPeer) publish(payload []byte, retain bool) {
	p.t.Helper()
	if _, err := p.client.Publish(context.Background(), &paho.Publish{Topic: mqttTopic + "/request", QoS: 1, Payload: payload, Retain: retain}); err != nil {
		p.t.Fatal(err)
	}
}

// next is the next state that is as wanted.
func (p *mqttPeer) next(what string, is func(map[string]any) bool) map[string]any {
	p.t.Helper()
	over := time.After(patience)
	for {
		select {
		case s := <-p.states:
			if is(s) {
				return s
			}
		case <-over:
			p.t.Fatalf("no state: %s", what)
		}
	}
}

// settled is the first state after a request was looked at in which nothing moves, in words.
func (p *mqttPeer) settled(words string, more map[string]any) string {
	p.t.Helper()
	token := p.ask(words, more)
	s := p.next(words, func(s map[string]any) bool { return tokenOf(s) == token && s["busy"] == false })
	return inWords(s)
}

func tokenOf(s map[string]any) any {
	answers, _ := s["answers"].(map[string]any)
	return answers["token"]
}

func inWords(s map[string]any) string {
	answers, _ := s["answers"].(map[string]any)
	said := fmt.Sprintf("echo=%v %v error=%v part=%v", s["echo"], s["result"], s["error"], s["partAt"])
	if why, refused := answers["refused"]; refused {
		said += fmt.Sprintf(" refused: %v", why)
	}
	return said
}

// A conversation: what each request does, and what it leaves as it is.
func TestRobotByMQTT(t *testing.T) {
	w, p := mqttCell(t, nil)
	put(t, w, "a@1")
	past := map[string]any{"notAfter": time.Now().Add(-time.Second).Format(time.RFC3339Nano)}
	for _, c := range []struct {
		ask   string
		more  map[string]any
		want  string
		where string
	}{
		{"ask", nil, "echo=0 none error=0 part=unknown", "a@1"},
		{"move 5 1 40", nil, "echo=5 done error=0 part=to", "a@40"},
		{"move 5 40 1", nil, "echo=5 done error=0 part=to refused: not newer than 5", "a@40"},
		{"move 4 40 1", nil, "echo=5 done error=0 part=to refused: not newer than 5", "a@40"},
		{"release 4", nil, "echo=5 done error=0 part=to", "a@40"},
		{"release 5", nil, "echo=5 none error=0 part=to", "a@40"},
		{"void 5", nil, "echo=5 none error=0 part=to refused: not newer than 5", "a@40"},
		{"void 7", nil, "echo=7 void error=0 part=unknown", "a@40"},
		{"move 6 40 1", nil, "echo=7 void error=0 part=unknown refused: not newer than 7", "a@40"},
		{"move 7 40 1", nil, "echo=7 void error=0 part=unknown refused: not newer than 7", "a@40"},
		{"release 7", nil, "echo=7 void error=0 part=unknown", "a@40"},
		{"move 8 40 1", past, "echo=7 void error=0 part=unknown refused: late", "a@40"},
		{"present 9 40 80", nil, "echo=9 done error=0 part=gripper", "a@gripper"},
		{"place 10 0 12", nil, "echo=10 done error=0 part=to", "a@12"},
		{"dance 11 12 1", nil, "echo=11 error error=25 part=from", "a@12"},
		{"move 12 12 99999", nil, "echo=12 error error=25 part=from", "a@12"},
		{"release 12", nil, "echo=12 none error=0 part=from", "a@12"},
	} {
		equal(t, c.ask, p.settled(c.ask, c.more), c.want)
		equal(t, "parts after "+c.ask, where(w), c.where)
	}
	w.Robot().SetReady(false)
	equal(t, "not ready", p.settled("move 13 12 1", nil), "echo=12 none error=0 part=from refused: not ready")
	equal(t, "void needs no readiness", p.settled("void 13", nil), "echo=13 void error=0 part=unknown")
	equal(t, "violations", violations(w), "command that means nothing, command that means nothing")
	for no, n := range w.Truth().Executed {
		equal(t, fmt.Sprint("executed ", no), n, 1)
	}
	equal(t, "requests but for ask", w.Robot().Requests(), p.tokens-1)
}

// One state shows the echo and busy together, each has a newer seq, and a start of the program another boot id.
func TestRobotsStatesAreWhole(t *testing.T) {
	w, p := mqttCell(t, nil)
	put(t, w, "a@1")
	first := p.next("any", func(map[string]any) bool { return true })
	p.ask("move 5 1 40", nil)
	var seqs []float64
	begun := p.next("begun", func(s map[string]any) bool { seqs = append(seqs, s["seq"].(float64)); return s["echo"] == 5.0 })
	if begun["busy"] != true || begun["result"] != "none" || begun["bootId"] != first["bootId"] {
		t.Errorf("begun: %v", begun)
	}
	p.next("ended", func(s map[string]any) bool { seqs = append(seqs, s["seq"].(float64)); return s["result"] == "done" })
	if !slices.IsSorted(seqs) || len(slices.Compact(slices.Clone(seqs))) != len(seqs) {
		t.Errorf("seq: %v", seqs)
	}
	if err := w.Robot().Restart(); err != nil {
		t.Fatal(err)
	}
	after := p.next("restarted", func(s map[string]any) bool { return s["bootId"] != first["bootId"] })
	equal(t, "after a restart", inWords(after), "echo=5 none error=0 part=to")
	if err := w.Robot().Restart(ForgetEcho); err != nil {
		t.Fatal(err)
	}
	after = p.next("restarted", func(s map[string]any) bool { return s["bootId"] != first["bootId"] && s["bootId"] != after["bootId"] })
	equal(t, "after one that forgets", inWords(after), "echo=0 none error=0 part=unknown")
}

// A busy robot takes nothing, not even void, and a frozen one takes in order what came meanwhile.
func TestRobotByMQTTIsBusyOrFrozen(t *testing.T) {
	w, p := mqttCell(t, nil)
	put(t, w, "a@1")
	w.Robot().SetFaults(RobotFaults{StickBeforeEnd: 1, Strikes: 1})
	p.ask("move 5 1 40", nil)
	await(t, w, "begun", func(truth Truth) bool { return len(truth.Actions) == 1 })
	for _, words := range []string{"void 6", "move 6 40 1"} {
		token := p.ask(words, nil)
		s := p.next(words, func(s map[string]any) bool { return tokenOf(s) == token })
		equal(t, words, inWords(s), "echo=5 none error=0 part=unknown refused: busy")
	}
	for !w.Robot().Stuck() {
		p.next("any", func(map[string]any) bool { return true })
	}
	w.Robot().Freeze()
	p.ask("void 9", nil)
	p.ask("move 8 40 1", nil)
	last := p.ask("ask", nil)
	w.Robot().Free()
	await(t, w, "all have come", func(Truth) bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		return len(w.robot.mqtt.inbox) == 3
	})
	w.Robot().Thaw()
	s := p.next("thawed", func(s map[string]any) bool { return tokenOf(s) == last && s["busy"] == false })
	equal(t, "in the end", []any{s["echo"], len(w.Truth().Actions)}, []any{9.0, 1})
}

// What is retained or not understood begins nothing.
func TestRobotByMQTTTakesNoNonsense(t *testing.T) {
	w, p := mqttCell(t, nil)
	put(t, w, "a@1")
	p.publish([]byte(`{"method": "move", "actionNo": 4294967296}`), false)
	p.publish([]byte(`nonsense`), false)
	await(t, w, "both are ignored", func(truth Truth) bool { return len(truth.Ignored) == 2 })
	w.Robot().Cut()
	p.publish([]byte(`{"method": "move", "actionNo": 5, "from": 1, "to": 40, "token": "t"}`), true)
	if err := w.Robot().Restore(); err != nil {
		t.Fatal(err)
	}
	p.next("back again", func(map[string]any) bool { return true })
	equal(t, "in the end", p.settled("ask", nil), "echo=0 none error=0 part=unknown")
	equal(t, "truth", []any{len(w.Truth().Actions), len(w.Truth().Ignored)}, []any{0, 2})
}
