package mqttconn_test

import (
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/eclipse/paho.golang/packets"
	"github.com/eclipse/paho.golang/paho"

	"surehand/internal/workers/mqttconn"
)

// granting is a broker that answers one subscription with these results.
func granting(t *testing.T, results []byte) (url string) {
	return scripted(t, func(to io.Writer, said any) (err error) {
		if s, subscribes := said.(*packets.Subscribe); subscribes {
			_, err = (&packets.Suback{PacketID: s.PacketID, Properties: &packets.Properties{}, Reasons: results}).WriteTo(to)
		}
		return err
	})
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
