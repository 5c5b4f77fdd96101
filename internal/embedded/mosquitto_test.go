package embedded_test

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/eclipse/paho.golang/paho"
	"github.com/stretchr/testify/require"

	"surehand/internal/embedded"
	"surehand/internal/embedded/embeddedtest"
)

// connectMQTT gives a client and what it receives.
func connectMQTT(t *testing.T, address, id string) (*paho.Client, <-chan *paho.Publish) {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	require.NoError(t, err)
	received := make(chan *paho.Publish, 16)
	client := paho.NewClient(paho.ClientConfig{
		ClientID: id,
		Conn:     conn,
		OnPublishReceived: []func(paho.PublishReceived) (bool, error){func(p paho.PublishReceived) (bool, error) {
			received <- p.Packet
			return true, nil
		}},
	})
	_, err = client.Connect(t.Context(), &paho.Connect{ClientID: id, CleanStart: true, KeepAlive: 30})
	require.NoError(t, err)
	t.Cleanup(func() { _ = client.Disconnect(&paho.Disconnect{}); _ = conn.Close() })
	return client, received
}

func retain(t *testing.T, address, topic, text string) {
	t.Helper()
	client, _ := connectMQTT(t, address, "retainer")
	_, err := client.Publish(t.Context(), &paho.Publish{Topic: topic, QoS: 1, Retain: true, Payload: []byte(text)})
	require.NoError(t, err)
	require.NoError(t, client.Disconnect(&paho.Disconnect{}))
}

// retained gives what a broker remembers for plant/#, "" for nothing: a message
// published after subscribing comes behind anything remembered.
func retained(t *testing.T, address string) string {
	t.Helper()
	client, received := connectMQTT(t, address, "reader")
	_, err := client.Subscribe(t.Context(), &paho.Subscribe{Subscriptions: []paho.SubscribeOptions{{Topic: "plant/#", QoS: 1}}})
	require.NoError(t, err)
	_, err = client.Publish(t.Context(), &paho.Publish{Topic: "plant/end", QoS: 1})
	require.NoError(t, err)
	texts := ""
	for {
		select {
		case message := <-received:
			if message.Topic == "plant/end" {
				return texts
			}
			texts += string(message.Payload)
		case <-time.After(10 * time.Second):
			t.Fatal("the broker delivers nothing")
		}
	}
}

func TestMosquittoKeepsItsStateAndItsAddress(t *testing.T) {
	broker := embeddedtest.OwnBroker(t)
	url := broker.URL()
	require.Equal(t, "mqtt://"+broker.Address(), url)
	retain(t, broker.Address(), "plant/a", "hot")
	require.Equal(t, "hot", retained(t, broker.Address()))

	require.NoError(t, broker.Restart(t.Context()))
	require.Equal(t, "hot", retained(t, broker.Address()), "stopped and started")

	require.NoError(t, broker.Kill())
	_, err := net.Dial("tcp", broker.Address())
	require.Error(t, err)
	require.NoError(t, broker.Kill(), "killing twice is harmless")
	require.NoError(t, broker.Restart(t.Context()))
	require.Equal(t, "hot", retained(t, broker.Address()), "killed and started")

	require.NoError(t, broker.RestartEmpty(t.Context()))
	require.Equal(t, "", retained(t, broker.Address()), "its disk was lost")
	require.Equal(t, url, broker.URL())

	require.NoError(t, broker.Stop(t.Context()))
	require.NoError(t, broker.Stop(t.Context()), "stopping twice is harmless")
}

func TestMosquittoGivenFromOutsideIsNotStopped(t *testing.T) {
	own := embeddedtest.OwnBroker(t)
	outside, err := embedded.OutsideMosquitto(own.URL())
	require.NoError(t, err)
	require.True(t, outside.Outside())
	require.Equal(t, own.Address(), outside.Address())
	for _, refused := range []error{
		outside.Kill(), outside.Restart(t.Context()), outside.RestartEmpty(t.Context()),
	} {
		require.ErrorIs(t, refused, embedded.ErrOutsideBroker)
	}
	require.NoError(t, outside.Stop(t.Context()))
	retain(t, own.Address(), "plant/a", "still there")

	for _, wrong := range []string{"", "127.0.0.1:1883", "mqtt://127.0.0.1", "mqtt://user@host:1", "mqtts://host:1"} {
		_, err := embedded.OutsideMosquitto(wrong)
		require.ErrorContains(t, err, "mqtt://host:port", wrong)
	}
}

func TestMosquittoPortInUse(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	_, err = embedded.StartMosquitto(t.Context(), embedded.MosquittoOptions{
		Dir: embeddedtest.Folder(t), Port: listener.Addr().(*net.TCPAddr).Port,
	})
	require.ErrorContains(t, err, "in use", "the broker's own words are passed on")
}

// The configuration that is shipped for production, on another port and folder.
func TestShippedMosquittoConfiguration(t *testing.T) {
	text, err := os.ReadFile("../../deploy/mosquitto.conf")
	require.NoError(t, err)
	probe, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	_, port, err := net.SplitHostPort(probe.Addr().String())
	require.NoError(t, err)
	require.NoError(t, probe.Close())
	dir := embeddedtest.Folder(t)
	replaced := strings.NewReplacer(
		"listener 1883 127.0.0.1", "listener "+port+" 127.0.0.1",
		"persistence_location /var/lib/mosquitto/", "persistence_location "+dir+"/",
	).Replace(string(text))
	require.Contains(t, replaced, "listener "+port)
	require.Contains(t, replaced, "persistence_location "+dir)
	config := filepath.Join(dir, "shipped.conf")
	require.NoError(t, os.WriteFile(config, []byte(replaced), 0o644))

	broker, err := embedded.StartMosquitto(t.Context(), embedded.MosquittoOptions{Dir: dir, Config: config})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, broker.Stop(context.Background())) })
	retain(t, broker.Address(), "plant/a", "hot")
	require.NoError(t, broker.Restart(t.Context()))
	require.Equal(t, "hot", retained(t, broker.Address()))
}
