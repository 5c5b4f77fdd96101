package mqttconn_test

import (
	"context"
	"io"
	"testing"
	"time"

	"github.com/eclipse/paho.golang/packets"
	"github.com/eclipse/paho.golang/paho"

	"surehand/internal/term"
	"surehand/internal/workers"
	"surehand/internal/workers/mqttconn"
)

// tardy is a broker that acknowledges a publish only when the keepalive has asked twice whether it is there, or never.
func tardy(t *testing.T, never bool) (url string) {
	var owed []uint16
	asked := 0
	return scripted(t, func(to io.Writer, said any) (err error) {
		switch said := said.(type) {
		case *packets.Publish:
			if !never {
				owed = append(owed, said.PacketID)
			}
		case *packets.Pingreq:
			_, err = (&packets.Pingresp{}).WriteTo(to)
			for asked++; asked >= 2 && len(owed) > 0; owed = owed[1:] {
				_, err = (&packets.Puback{PacketID: owed[0], Properties: &packets.Properties{}}).WriteTo(to)
			}
		}
		return err
	})
}

// A PUBACK that stands behind much else is waited for; only a publish whose time counts gives its connection up.
func TestWhatABusyConnectionIsGivenUpFor(t *testing.T) {
	for behind, want := range map[bool]term.AttemptOutcome{true: term.AttemptSent, false: term.AttemptUnknown} {
		connection := mqttconn.New(mqttconn.Options{URL: tardy(t, !behind), ClientID: "surehand", ReceiveMaximum: 1, KeepAlive: time.Second,
			PacketTimeout: 400 * time.Millisecond, Received: func(*paho.Publish) {}})
		if err := connection.Connect(context.Background()); err != nil {
			t.Fatal(err)
		}
		p := &packets.Publish{Topic: "a", QoS: 1, Properties: &packets.Properties{}}
		r := connection.PublishBehind
		if !behind {
			r = func(ctx context.Context, p *packets.Publish) (result workers.Result) {
				return connection.Publish(ctx, func() (*packets.Publish, string) { return p, "" })
			}
		}
		if got := r(context.Background(), p); got.Outcome != want {
			t.Errorf("behind much else %t: %+v", behind, got)
		}
		select {
		case <-connection.Lost():
			if behind {
				t.Error("the connection was given up")
			}
		default:
			if !behind {
				<-connection.Lost()
			}
		}
		connection.Leave()
	}
}
