package mqttconn_test

import (
	"io"
	"net"
	"testing"

	"github.com/eclipse/paho.golang/packets"
)

// scripted is a broker for one connection: it takes every CONNECT, and answers each other packet as a test wants.
func scripted(t *testing.T, answer func(to io.Writer, said any) error) (url string) {
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
			if _, connects := p.Content.(*packets.Connect); connects {
				_, err = (&packets.Connack{Properties: &packets.Properties{}}).WriteTo(c)
			} else {
				err = answer(c, p.Content)
			}
			if err != nil {
				return
			}
		}
	}()
	return "mqtt://" + listener.Addr().String()
}
