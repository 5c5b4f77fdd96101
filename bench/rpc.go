package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/eclipse/paho.golang/paho"

	"surehand/internal/automation"
	"surehand/internal/embedded"
	"surehand/internal/message"
	"surehand/internal/plant"
	"surehand/internal/system"
	"surehand/internal/term"
	"surehand/internal/workers"
	"surehand/internal/workers/mqttrpc"
)

const (
	rpcPrefix = "surehand/v1"
	rpcSerial = "ECHO-1"
	rpcChunk  = 100 // RPCs of one side before the other has its turn
)

// brokerConfig keeps no state on disk: the broker's own writing is in neither figure.
const brokerConfig = `listener %d 127.0.0.1
allow_anonymous true
set_tcp_nodelay true
persistence false
max_inflight_messages 1000
log_dest stderr
log_type error
`

// rpc: a command through the MQTT worker to a device that only echoes, until its parsed answer is posted, at
// QoS 1 both ways; against the same with a bare client. What the contract costs: properties, limits, parsing,
// acknowledgement after the loop's answer.
func rpc(ctx context.Context, s *site) (round, error) {
	address, err := startBroker(ctx, s)
	if err != nil {
		return nil, err
	}
	if err := echoDevice(ctx, s, address); err != nil {
		return nil, err
	}
	ours, err := newWorkerRPC(ctx, s, address)
	if err != nil {
		return nil, err
	}
	bare, err := newBareRPC(ctx, s, address)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) (float64, float64, error) {
		var with, without []time.Duration
		for began := time.Now(); time.Since(began) < 2*s.options.window(); {
			for _, side := range []struct {
				name string
				call func(context.Context) error
				took *[]time.Duration
			}{{"bare", bare.call, &without}, {"worker", ours.call, &with}} {
				for range rpcChunk {
					at := time.Now()
					if err := side.call(ctx); err != nil {
						return 0, 0, fmt.Errorf("%s, RPC %d: %w", side.name, len(*side.took)+1, err)
					}
					*side.took = append(*side.took, time.Since(at))
				}
			}
		}
		s.note("%d RPCs a side", len(with))
		return medianMicros(with), medianMicros(without), nil
	}, nil
}

// startBroker starts the broker that benchmarks share, once.
func startBroker(ctx context.Context, s *site) (address string, err error) {
	if s.broker != "" {
		return s.broker, nil
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	port := l.Addr().(*net.TCPAddr).Port
	if err := l.Close(); err != nil {
		return "", err
	}
	config := filepath.Join(s.folder, "broker.conf")
	if err := os.WriteFile(config, fmt.Appendf(nil, brokerConfig, port), 0o644); err != nil {
		return "", err
	}
	broker, err := embedded.StartMosquitto(ctx, embedded.MosquittoOptions{Dir: filepath.Join(s.folder, "broker"), Config: config})
	if err != nil {
		return "", err
	}
	s.closers = append(s.closers, func() { _ = broker.Stop(context.Background()) })
	s.broker = broker.Address()
	return s.broker, nil
}

// client connects a bare paho client.
func client(ctx context.Context, s *site, address, id string, topics []string, on func(*paho.Client, *paho.Publish)) (*paho.Client, error) {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return nil, err
	}
	c := paho.NewClient(paho.ClientConfig{Conn: conn, ClientID: id})
	c.AddOnPublishReceived(func(r paho.PublishReceived) (bool, error) { on(c, r.Packet); return true, nil })
	if _, err := c.Connect(ctx, &paho.Connect{ClientID: id, CleanStart: true, KeepAlive: 60}); err != nil {
		return nil, err
	}
	s.closers = append(s.closers, func() { _ = c.Disconnect(&paho.Disconnect{}) })
	sub := &paho.Subscribe{}
	for _, t := range topics {
		sub.Subscriptions = append(sub.Subscriptions, paho.SubscribeOptions{Topic: t, QoS: 1})
	}
	_, err = c.Subscribe(ctx, sub)
	return c, err
}

const echoAnswer = `{"commandId":"cmd_0190a0b0c0d07000800000000000abcd_0190a0b0c0d07000800000000000abcd","status":"accepted","resultCode":"ok","attempt":1}`

// echoDevice answers every request at once, to where the request says, with its correlation data: one device
// for both sides. It answers without waiting for the PUBACK of its answer.
func echoDevice(ctx context.Context, s *site, address string) error {
	answers := make(chan *paho.Publish, 64)
	device, err := client(ctx, s, address, "echo-device", []string{rpcPrefix + "/" + rpcSerial + "/rpc/request", "bare/request"},
		func(_ *paho.Client, p *paho.Publish) {
			answers <- &paho.Publish{Topic: p.Properties.ResponseTopic, QoS: 1, Payload: []byte(echoAnswer),
				Properties: &paho.PublishProperties{CorrelationData: p.Properties.CorrelationData}}
		})
	if err != nil {
		return err
	}
	go func() {
		for {
			select {
			case p := <-answers:
				if _, err := device.PublishWithOptions(ctx, p, paho.PublishOptions{Method: paho.PublishMethod_AsyncSend}); err != nil {
					return
				}
			case <-ctx.Done():
				return
			}
		}
	}()
	return nil
}

// workerRPC is the loop's side of the worker: its poster answers everything at once.
type workerRPC struct {
	driver   *mqttrpc.Driver
	mint     system.Mint
	answered chan struct{}
	drained  chan struct{}
	n        int
	others   atomic.Pointer[string] // the last message that was neither
}

func (w *workerRPC) Post(m message.Message) bool {
	switch m.Payload.(type) {
	case message.DeviceResponded:
		w.answered <- struct{}{}
	case message.SessionDrained:
		w.drained <- struct{}{}
	default:
		text := fmt.Sprintf("%T %+v", m.Payload, m.Payload)
		w.others.Store(&text)
	}
	if m.Reply != nil {
		m.Reply <- message.Answer{MessageID: m.ID, Outcome: message.Outcome{Code: message.Accepted}}
	}
	return true
}

func newWorkerRPC(ctx context.Context, s *site, address string) (*workerRPC, error) {
	w := &workerRPC{answered: make(chan struct{}, 64), drained: make(chan struct{}, 8)}
	var err error
	w.driver, err = mqttrpc.New(mqttrpc.Options{URL: "mqtt://" + address, Installation: "bench", Prefix: rpcPrefix, Poster: w, Clock: system.Clock{}, NewID: w.mint.ID})
	if err != nil {
		return nil, err
	}
	if err := w.driver.Start(ctx); err != nil {
		return nil, err
	}
	s.closers = append(s.closers, func() { _ = w.driver.Stop(context.Background()) })
	for range 2 {
		select {
		case <-w.drained:
		case <-time.After(patience):
			return nil, errors.New("the worker's links did not come up")
		}
	}
	for began := time.Now(); !w.driver.Live(plant.LinkCommands); time.Sleep(time.Millisecond) {
		if time.Since(began) > patience {
			return nil, errors.New("the command link did not come up")
		}
	}
	return w, nil
}

const rpcRequest = `{"commandId":"cmd_0190a0b0c0d07000800000000000abcd_0190a0b0c0d07000800000000000abcd","method":"set","params":{"on":true},"sentAt":"2026-11-30T12:00:00.000Z","deadlineAt":"2026-11-30T12:00:05.000Z","attempt":1}`

func (w *workerRPC) call(ctx context.Context) error {
	w.n++
	now := time.Now()
	p := plant.Publish{AttemptID: term.AttemptID(fmt.Sprintf("0190a0b0-c0d0-7000-8000-%012d", w.n)), Serial: rpcSerial, Number: 1,
		Topic: automation.RequestTopic(rpcSerial), Payload: []byte(rpcRequest), QoS: 1, FencedAt: now, DeadlineAt: now.Add(5 * time.Second)}
	p.Correlation = string(p.AttemptID)
	r := w.driver.Publish(ctx, workers.Order{Publish: p, StartedAt: now})
	if r.Outcome != term.AttemptSent {
		return fmt.Errorf("the worker did not send: %+v", r)
	}
	if err := await(ctx, w.answered); err != nil {
		return fmt.Errorf("%w; links up: answers %t, commands %t; last other message: %s", err,
			w.driver.Live(plant.LinkAnswers), w.driver.Live(plant.LinkCommands), *w.others.Load())
	}
	return nil
}

// bareRPC is what a program does that knows no contract.
type bareRPC struct {
	client   *paho.Client
	answered chan struct{}
}

func newBareRPC(ctx context.Context, s *site, address string) (*bareRPC, error) {
	b := &bareRPC{answered: make(chan struct{}, 64)}
	var err error
	b.client, err = client(ctx, s, address, "bare-client", []string{"bare/response"}, func(*paho.Client, *paho.Publish) { b.answered <- struct{}{} })
	return b, err
}

func (b *bareRPC) call(ctx context.Context) error {
	p := &paho.Publish{Topic: "bare/request", QoS: 1, Payload: []byte(rpcRequest),
		Properties: &paho.PublishProperties{ResponseTopic: "bare/response", CorrelationData: []byte("0190a0b0-c0d0-7000-8000-000000000001")}}
	if _, err := b.client.Publish(ctx, p); err != nil {
		return err
	}
	return await(ctx, b.answered)
}

func await(ctx context.Context, c <-chan struct{}) error {
	late := time.NewTimer(5 * time.Second)
	defer late.Stop()
	select {
	case <-c:
		return nil
	case <-late.C:
		return errors.New("no answer within 5 s")
	case <-ctx.Done():
		return ctx.Err()
	}
}
