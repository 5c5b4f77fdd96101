package mqttrpc_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http/httptest"
	"testing"
	"time"

	"surehand/internal/embedded/embeddedtest"
	"surehand/internal/message"
	"surehand/internal/term"
	"surehand/internal/workers/mqttrpc"
)

// Over TLS a packet is one write under one lock; otherwise everything is the same.
func TestOverTLS(t *testing.T) {
	broker := embeddedtest.Broker(t)
	web := httptest.NewTLSServer(nil) // for its certificate
	defer web.Close()
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: web.TLS.Certificates})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer client.Close()
				server, err := net.Dial("tcp", broker.Address())
				if err != nil {
					return
				}
				defer server.Close()
				go func() { _, _ = io.Copy(server, client); _ = server.Close() }()
				_, _ = io.Copy(client, server) // ends with either connection
			}()
		}
	}()
	roots := x509.NewCertPool()
	roots.AddCert(web.Certificate())
	device := newPeer(t, broker.Address(), "device", nil)
	device.subscribe(t, requestTopic)
	l := newLoop(true)
	d := startUp(t, "", l, func(o *mqttrpc.Options) {
		o.URL, o.TLS = "mqtts://"+listener.Addr().String(), &tls.Config{RootCAs: roots}
	})
	const n = 200
	results := make(chan term.AttemptOutcome, n)
	for i := range n {
		go func() { results <- d.Publish(context.Background(), order(i)).Outcome }()
		device.say(t, telemetryTopic, reading(i))
	}
	for range n {
		if outcome := <-results; outcome != term.AttemptSent {
			t.Errorf("outcome %s", outcome)
		}
	}
	device.awaitReceived(t, n)
	l.awaitCount(t, "mqtt_acked telemetry", 1+n)
}

// A driver can be stopped and started again; while it is stopped, or not confirmed, it stays away.
func TestStopAndStartAgain(t *testing.T) {
	broker := embeddedtest.Broker(t)
	l := newLoop(true)
	fenced := fmt.Errorf("another process owns the database")
	mine := true
	d := newDriver(t, broker.Address(), l, func(o *mqttrpc.Options) {
		o.Confirm = func(context.Context) error {
			l.mu.Lock()
			defer l.mu.Unlock()
			if mine {
				return nil
			}
			return fenced
		}
	})
	start(t, d)
	if err := d.Start(t.Context()); err == nil {
		t.Error("started twice")
	}
	awaitPayloads[message.SessionDrained](t, l, 2)
	l.awaitCount(t, "mqtt_up commands", 1)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for range 2 {
		if err := d.Stop(ctx); err != nil {
			t.Fatal(err)
		}
	}
	start(t, d)
	awaitPayloads[message.SessionDrained](t, l, 4)
	l.awaitCount(t, "mqtt_up commands", 2)
	if err := d.Stop(ctx); err != nil {
		t.Fatal(err)
	}
	l.with(func() { mine = false })
	start(t, d)
	l.awaitCount(t, "mqtt_connect_failed commands", 3)
	l.mu.Lock()
	defer l.mu.Unlock()
	if ups := l.counts["mqtt_up commands"]; ups != 2 {
		t.Errorf("connected %d times, the last without being confirmed", ups)
	}
}

func TestOptionsAreChecked(t *testing.T) {
	for name, change := range map[string]func(*mqttrpc.Options){
		"no poster":            func(o *mqttrpc.Options) { o.Poster = nil },
		"installation":         func(o *mqttrpc.Options) { o.Installation = "a/b" },
		"prefix with wildcard": func(o *mqttrpc.Options) { o.Prefix = "a/+" },
		"prefix with slash":    func(o *mqttrpc.Options) { o.Prefix = "/a" },
		"packet timeout":       func(o *mqttrpc.Options) { o.PacketTimeout = 4 * time.Second },
		"keepalive":            func(o *mqttrpc.Options) { o.KeepAlive = time.Millisecond },
		"session expiry":       func(o *mqttrpc.Options) { o.SessionExpiry = time.Second },
		"scheme":               func(o *mqttrpc.Options) { o.URL = "http://x" },
		"no host":              func(o *mqttrpc.Options) { o.URL = "mqtt://" },
		"not a URL":            func(o *mqttrpc.Options) { o.URL = "mqtt://%" },
	} {
		o := mqttrpc.Options{URL: "mqtt://127.0.0.1", Installation: "p", Poster: newLoop(true), Clock: wallClock{}, NewID: newID}
		if _, err := mqttrpc.New(o); err != nil {
			t.Fatal(err)
		}
		change(&o)
		if _, err := mqttrpc.New(o); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
}
