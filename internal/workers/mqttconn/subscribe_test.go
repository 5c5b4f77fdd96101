package mqttconn_test

import (
	"context"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/eclipse/paho.golang/packets"
	"github.com/eclipse/paho.golang/paho"

	"surehand/internal/workers/mqttconn"
)

// granting is a broker that answers one subscription with these results.
func granting(t *testing.T, results []byte) (url string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		c, err := listener.Accept()
		if err != nil {
			return
		}
		defer func() { _ = c.Close() }()
		for {
			p, err := packets.ReadPacket(c)
			if err != nil {
				return
			}
			switch said := p.Content.(type) {
			case *packets.Connect:
				_, err = (&packets.Connack{Properties: &packets.Properties{}}).WriteTo(c)
			case *packets.Subscribe:
				_, err = (&packets.Suback{PacketID: said.PacketID, Properties: &packets.Properties{}, Reasons: results}).WriteTo(c)
			}
			if err != nil {
				return
			}
		}
	}()
	return "mqtt://" + listener.Addr().String()
}

// A subscription is granted when the broker says so of each topic, no more and no less.
func TestEachTopicIsGranted(t *testing.T) {
	for name, c := range map[string]struct {
		results []byte
		why     string
	}{
		"granted":          {[]byte{1, 1}, ""},
		"with another QoS": {[]byte{1, 0}, "instead of QoS 1"},
		"refused":          {[]byte{1, 0x87}, "failed"},
		"one too few":      {[]byte{1}, "1 results to a subscription to 2 topics"},
		"one too many":     {[]byte{1, 1, 0}, "3 results to a subscription to 2 topics"},
		"none":             {nil, "0 results to a subscription to 2 topics"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			connection := mqttconn.New(mqttconn.Options{URL: granting(t, c.results), ClientID: "surehand", ReceiveMaximum: 1, KeepAlive: time.Minute,
				PacketTimeout: 5 * time.Second, Received: func(*paho.Publish) {}})
			if err := connection.Connect(context.Background()); err != nil {
				t.Fatal(err)
			}
			defer connection.Leave()
			err := connection.Subscribe(context.Background(), 1, "a", "b")
			if (err == nil) != (c.why == "") || err != nil && !strings.Contains(err.Error(), c.why) {
				t.Errorf("answered %v", err)
			}
		})
	}
}
