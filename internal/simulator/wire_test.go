package simulator

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/eclipse/paho.golang/paho"

	"surehand/internal/embedded"
)

// patience is how long a test waits for something that must come.
const patience = 20 * time.Second

var sharedBroker *broker

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "simulator")
	if err == nil {
		sharedBroker, err = startBroker(dir, freePort())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "no broker:", err)
		os.Exit(1)
	}
	code := m.Run()
	sharedBroker.kill()
	os.RemoveAll(dir)
	os.Exit(code)
}

// broker is a real mosquitto on a loopback port.
type broker struct {
	process *exec.Cmd
	port    int
	url     string
	done    chan struct{}
}

func freePort() int {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

func startBroker(dir string, port int) (*broker, error) {
	path := filepath.Join(dir, "mosquitto.conf")
	config := fmt.Sprintf("user root\nlistener %d 127.0.0.1\nallow_anonymous true\nset_tcp_nodelay true\npersistence false\n"+
		"max_queued_messages 10000\nlog_dest stderr\nlog_type information\nlog_type error\n", port)
	if err := os.WriteFile(path, []byte(config), 0o644); err != nil {
		return nil, err
	}
	program, err := embedded.FindMosquitto(context.Background(), nil)
	if err != nil {
		return nil, err
	}
	b := &broker{
		process: program.Command(context.Background(), "-c", path), port: port,
		url: fmt.Sprintf("mqtt://127.0.0.1:%d", port), done: make(chan struct{}),
	}
	b.process.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	log, err := b.process.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := b.process.Start(); err != nil {
		return nil, err
	}
	running := make(chan bool, 1)
	go func() {
		defer close(b.done)
		for lines := bufio.NewScanner(log); lines.Scan(); {
			if strings.HasSuffix(lines.Text(), " running") {
				running <- true
			}
		}
		running <- false
		_ = b.process.Wait()
	}()
	select {
	case ok := <-running:
		if ok {
			return b, nil
		}
	case <-time.After(patience):
	}
	b.kill()
	return nil, fmt.Errorf("mosquitto did not start on port %d", port)
}

func (b *broker) kill() {
	_ = b.process.Process.Kill()
	<-b.done
}

// peer is the other side: a plain MQTT client that knows the contract from its text and nothing of the simulator.
type peer struct {
	t      *testing.T
	client *paho.Client
	prefix string
	serial string

	mu       sync.Mutex
	messages []*paho.Publish
	read     map[string]int // per topic, how many were handed out
	arrived  chan struct{}
}

func newPeer(t *testing.T, url, prefix, serial string) *peer {
	t.Helper()
	p := &peer{t: t, prefix: prefix, serial: serial, read: map[string]int{}, arrived: make(chan struct{})}
	conn, err := net.Dial("tcp", strings.TrimPrefix(url, "mqtt://"))
	if err != nil {
		t.Fatal(err)
	}
	p.client = paho.NewClient(paho.ClientConfig{
		Conn: conn, OnServerDisconnect: func(*paho.Disconnect) {},
		OnPublishReceived: []func(paho.PublishReceived) (bool, error){func(r paho.PublishReceived) (bool, error) {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.messages = append(p.messages, r.Packet)
			close(p.arrived)
			p.arrived = make(chan struct{})
			return true, nil
		}},
	})
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if _, err := p.client.Connect(ctx, &paho.Connect{ClientID: "peer-" + strings.ReplaceAll(prefix, "/", "-") + serial, CleanStart: true, KeepAlive: 30}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.client.Disconnect(&paho.Disconnect{}) })
	// Everything but rpc/request, which would only echo ourselves.
	var topics []paho.SubscribeOptions
	for _, kind := range []string{"telemetry", "rpc/response", "state", "status", "elsewhere"} {
		topics = append(topics, paho.SubscribeOptions{Topic: prefix + "/+/" + kind, QoS: 1, RetainAsPublished: true})
	}
	if _, err := p.client.Subscribe(ctx, &paho.Subscribe{Subscriptions: topics}); err != nil {
		t.Fatal(err)
	}
	return p
}

// next returns the next unread message of the device's topic.
func (p *peer) next(kind string) *paho.Publish { p.t.Helper(); return p.nextOf(p.serial, kind) }

func (p *peer) nextOf(serial, kind string) *paho.Publish {
	p.t.Helper()
	topic := p.prefix + "/" + serial + "/" + kind
	late := time.After(patience)
	for {
		p.mu.Lock()
		seen := 0
		for _, m := range p.messages {
			if m.Topic != topic {
				continue
			}
			if seen++; seen > p.read[topic] {
				p.read[topic]++
				p.mu.Unlock()
				return m
			}
		}
		arrived := p.arrived
		p.mu.Unlock()
		select {
		case <-arrived:
		case <-late:
			p.t.Fatalf("no message on %s; got %s", topic, p.transcript())
		}
	}
}

// unread counts what has come on a topic and was not asked for yet.
func (p *peer) unread(kind string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	topic, n := p.prefix+"/"+p.serial+"/"+kind, 0
	for _, m := range p.messages {
		if m.Topic == topic {
			n++
		}
	}
	return n - p.read[topic]
}

func (p *peer) transcript() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var b strings.Builder
	for _, m := range p.messages {
		fmt.Fprintf(&b, "\n  %s %.200s", m.Topic, m.Payload)
	}
	return b.String()
}

type object = map[string]any

func decode(t *testing.T, m *paho.Publish) object {
	t.Helper()
	var o object
	if err := json.Unmarshal(m.Payload, &o); err != nil {
		t.Fatalf("%s: %v in %.200q", m.Topic, err, m.Payload)
	}
	return o
}

func (p *peer) nextObject(kind string) object { p.t.Helper(); return decode(p.t, p.next(kind)) }

// until reads on until an object satisfies the condition.
func (p *peer) until(kind string, ok func(object) bool) object {
	p.t.Helper()
	for {
		if o := p.nextObject(kind); ok(o) {
			return o
		}
	}
}

type call struct {
	id, method string
	params     string // JSON
	attempt    int
	deadline   time.Time
	topic      string
	atMostOnce bool // QoS 0
	retain     bool
	resolveID  string
}

func (p *peer) call(c call) {
	p.t.Helper()
	if c.method == "" {
		c.method = "set"
	}
	body := object{"commandId": c.id, "method": c.method, "sentAt": time.Now().Format(time.RFC3339Nano)}
	if c.params != "" {
		body["params"] = json.RawMessage(c.params)
	}
	if c.attempt > 0 {
		body["attempt"] = c.attempt
	}
	if c.resolveID != "" {
		body["resolveId"] = c.resolveID
	}
	if !c.deadline.IsZero() {
		body["deadlineAt"] = c.deadline.Format(time.RFC3339Nano)
	}
	payload, err := json.Marshal(body)
	if err != nil {
		p.t.Fatal(err)
	}
	if c.topic == "" {
		c.topic = p.prefix + "/" + p.serial + "/rpc/response"
	}
	qos := byte(1)
	if c.atMostOnce {
		qos = 0
	}
	p.raw(payload, qos, c.retain, &paho.PublishProperties{
		ResponseTopic: c.topic, CorrelationData: fmt.Appendf(nil, "%s#%d", c.id, c.attempt),
	})
}

func (p *peer) raw(payload []byte, qos byte, retain bool, properties *paho.PublishProperties) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	_, err := p.client.Publish(ctx, &paho.Publish{
		Topic: p.prefix + "/" + p.serial + "/rpc/request", QoS: qos, Retain: retain, Payload: payload, Properties: properties,
	})
	if err != nil {
		p.t.Fatal(err)
	}
}

// topics numbers the devices' prefixes, so that no test, even if repeated, meets what another left in the broker.
var topics atomic.Int64

func newPrefix() string { return fmt.Sprintf("t/%d", topics.Add(1)) }

// valve is the plain device of most tests: one absolute actuator, one toggle, one pulse counter, one sensor.
func valve(change func(*Options)) Options {
	low, high := 0.0, 100.0
	o := Options{
		Serial: "v-1", Prefix: newPrefix(), BrokerURL: sharedBroker.url,
		Class: ClassA, RebootTime: time.Millisecond, Seed: 7,
		Endpoints: []Endpoint{
			{Key: "open", Actuator: true, Type: Bool},
			{Key: "level", Actuator: true, Type: Int, Min: &low, Max: &high},
			{Key: "mode", Actuator: true, Type: String, Initial: "auto", Allowed: []string{"auto", "hand"}},
			{Key: "count", Actuator: true, Type: Int},
			{Key: "temperature", Type: Float, Initial: 21.5},
		},
		Methods: []Method{
			{Name: "set"},
			{Name: "flip", Actuator: "open", Effect: Toggle},
			{Name: "kick", Actuator: "count", Effect: Pulse},
			{Name: "knock", Actuator: "open", Effect: Pulse},
			{Name: "turn", Actuator: "level", Param: "to"},
		},
	}
	if change != nil {
		change(&o)
	}
	// Client ids must not meet either.
	o.ClientID = o.Prefix + "/" + o.Serial
	return o
}

// start switches a device on and skips what it says when it comes: its status and its whole state.
func start(t *testing.T, o Options) (*Device, *peer) {
	t.Helper()
	p := newPeer(t, o.BrokerURL, o.Prefix, o.Serial)
	d, err := NewDevice(o)
	if err != nil {
		t.Fatal(err)
	}
	d.Start()
	t.Cleanup(d.Kill)
	if online := p.nextObject("status"); online["online"] != true {
		t.Fatalf("status %v", online)
	}
	p.next("state")
	await(t, d.Connected)
	return d, p
}

func await(t *testing.T, wait func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := wait(ctx); err != nil {
		t.Fatal(err)
	}
}

func awaitTruth(t *testing.T, d *Device, until func(Truth) bool) Truth {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := d.WaitTruth(ctx, until); err != nil {
		t.Fatalf("%v; truth %.4000s", err, encode(d.Truth()))
	}
	return d.Truth()
}

// barrier makes sure that all the device meant to say before now has been heard: it sends in order.
func barrier(t *testing.T, d *Device, p *peer) {
	t.Helper()
	if err := d.PublishTelemetry(); err != nil {
		t.Fatal(err)
	}
	readings := d.Truth().Readings
	last := float64(readings[len(readings)-1].Seq)
	p.until("telemetry", func(o object) bool { return o["seq"] == last })
}

func equal(t *testing.T, what string, got, want any) {
	t.Helper()
	g, w := string(encode(got)), string(encode(want))
	if g != w {
		t.Fatalf("%s: got %s, want %s", what, g, w)
	}
}
