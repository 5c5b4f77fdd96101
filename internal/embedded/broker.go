package embedded

import (
	"fmt"
	"log/slog"
	"net"

	mqtt "github.com/mochi-mqtt/server/v2"
	"github.com/mochi-mqtt/server/v2/hooks/auth"
	"github.com/mochi-mqtt/server/v2/listeners"
)

// Broker is an MQTT broker inside this process, for the demo. It keeps its
// sessions in memory: ending the process loses them, as a broker that lost its
// disk would. Sites and fault tests use mosquitto instead.
type Broker struct {
	server   *mqtt.Server
	listener *listeners.TCP
}

// StartBroker listens on a loopback address such as "127.0.0.1:0"; port 0 takes
// a free one. Everyone on the machine may connect, therefore nothing but
// loopback is accepted. log may be nil.
func StartBroker(address string, log *slog.Logger) (*Broker, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("the demo broker's address: %w", err)
	}
	if ip := net.ParseIP(host); ip == nil || !ip.IsLoopback() {
		return nil, fmt.Errorf("the demo broker accepts everyone, so it listens on loopback only (127.0.0.1), not on %q", host)
	}
	server := mqtt.New(&mqtt.Options{Logger: loggerOrNone(log)})
	if err := server.AddHook(new(auth.AllowHook), nil); err != nil {
		return nil, fmt.Errorf("set up the demo broker: %w", err)
	}
	listener := listeners.NewTCP(listeners.Config{ID: "demo", Address: address})
	if err := server.AddListener(listener); err != nil {
		return nil, fmt.Errorf("the demo broker can not listen on %s: %w", address, err)
	}
	if err := server.Serve(); err != nil {
		return nil, fmt.Errorf("start the demo broker: %w", err)
	}
	return &Broker{server: server, listener: listener}, nil
}

// Address is where the broker listens, as host:port.
func (b *Broker) Address() string { return b.listener.Address() }

// URL is the same as mqtt://host:port.
func (b *Broker) URL() string { return "mqtt://" + b.Address() }

// Stop disconnects everyone and ends the broker.
func (b *Broker) Stop() error { return b.server.Close() }
