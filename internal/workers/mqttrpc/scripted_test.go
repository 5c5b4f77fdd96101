package mqttrpc_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/eclipse/paho.golang/packets"

	"surehand/internal/embedded"
	"surehand/internal/embedded/embeddedtest"
	"surehand/internal/workers/mqttrpc"
)

// scripted is a broker that answers as a test wants; what mosquitto would say only when it is ill.
type scripted struct {
	*signal
	listener          net.Listener
	receiveMaximum    uint16
	maximumPacketSize uint32
	// onPublish gives the reason of the PUBACK, or false for none.
	onPublish func(*scriptedConn, *packets.Publish) (reason byte, ack bool)

	commands   *scriptedConn // the newest connection of the commands link
	got        []string      // correlation data of its publishes
	open, most int
}

type scriptedConn struct {
	net.Conn
	mu sync.Mutex
}

func newScripted(t *testing.T) *scripted {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b := &scripted{signal: newSignal(), listener: listener,
		onPublish: func(*scriptedConn, *packets.Publish) (byte, bool) { return 0, true }}
	t.Cleanup(func() { _ = listener.Close() })
	return b
}

// startCommands starts the broker, as it is set up by now, and a driver whose commands link is up. Its other links are refused.
func startCommands(t *testing.T, b *scripted, l *loop, change ...func(*mqttrpc.Options)) *mqttrpc.Driver {
	t.Helper()
	go func() {
		for {
			conn, err := b.listener.Accept()
			if err != nil {
				return
			}
			go b.serve(&scriptedConn{Conn: conn})
		}
	}()
	d := newDriver(t, b.listener.Addr().String(), l, change...)
	start(t, d)
	l.awaitCount(t, "mqtt_up commands", 1)
	for { // counted up a moment before it can be used
		if d.Live("commands") {
			return d
		}
	}
}

func (c *scriptedConn) say(content packets.Packet) {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, _ = content.WriteTo(c.Conn) // the client may be gone
}

func (b *scripted) serve(c *scriptedConn) {
	defer c.Close()
	for {
		p, err := packets.ReadPacket(c)
		if err != nil {
			return
		}
		switch content := p.Content.(type) {
		case *packets.Connect:
			ack := &packets.Connack{Properties: &packets.Properties{}}
			if content.ClientID != "surehand-plant-1-commands" || !content.CleanStart {
				ack.ReasonCode = packets.ConnackNotAuthorized
			} else {
				b.with(func() { b.commands = c })
			}
			if b.receiveMaximum > 0 {
				ack.Properties.ReceiveMaximum = &b.receiveMaximum
			}
			if b.maximumPacketSize > 0 {
				ack.Properties.MaximumPacketSize = &b.maximumPacketSize
			}
			c.say(ack)
		case *packets.Publish:
			b.with(func() { b.got = append(b.got, string(content.Properties.CorrelationData)) })
			if reason, ok := b.onPublish(c, content); ok {
				c.say(&packets.Puback{PacketID: content.PacketID, ReasonCode: reason, Properties: &packets.Properties{}})
			}
		case *packets.Pingreq:
			c.say(&packets.Pingresp{})
		}
	}
}

func (b *scripted) puback(id uint16) {
	b.mu.Lock()
	c := b.commands
	b.mu.Unlock()
	c.say(&packets.Puback{PacketID: id, Properties: &packets.Properties{}})
}

func (b *scripted) correlations() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]string(nil), b.got...)
}

func (b *scripted) published() int { return len(b.correlations()) }

// quick is a broker that keeps nothing on disk; the one of embeddedtest writes its whole state at each change.
const quick = "max_inflight_messages 1000\nmax_queued_messages 100000"

// acl allows requests to devices and our markers only.
func acl(t *testing.T) (path string) {
	t.Helper()
	path = filepath.Join(embeddedtest.Folder(t), "acl")
	if err := os.WriteFile(path, []byte("topic readwrite "+prefix+"/+/rpc/request\ntopic readwrite "+prefix+"/.marker/#\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// brokerWith is a mosquitto with more lines of configuration.
func brokerWith(t *testing.T, lines string) (address string) {
	t.Helper()
	dir := embeddedtest.Folder(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := listener.Addr().(*net.TCPAddr).Port
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(dir, "broker.conf")
	text := fmt.Sprintf("listener %d 127.0.0.1\nallow_anonymous true\nset_tcp_nodelay true\n%s\n", port, lines)
	if err := os.WriteFile(config, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	broker, err := embedded.StartMosquitto(t.Context(), embedded.MosquittoOptions{Dir: filepath.Join(dir, "state"), Config: config})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := broker.Stop(context.Background()); err != nil {
			t.Errorf("stop the broker: %v", err)
		}
	})
	return broker.Address()
}
