package embedded

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"
)

// awaitMQTT waits until the address answers a CONNECT. The broker must still
// run after that: another program on the same port would answer too.
func awaitMQTT(ctx context.Context, address string, broker *child) error {
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	for {
		err := probeMQTT(ctx, address)
		if err == nil && broker.running() {
			return nil
		}
		select {
		case <-look.C:
		case <-broker.done:
			return fmt.Errorf("it ended at once: %w", errors.Join(broker.err, errors.New("see below")))
		case <-ctx.Done():
			return fmt.Errorf("%w (last answer: %w)", context.Cause(ctx), err)
		}
	}
}

// probeMQTT sends the shortest MQTT 5 CONNECT (clean start, no client id) and
// takes any CONNACK, a refusal by password rules included, for an answer.
func probeMQTT(ctx context.Context, address string) error {
	dialer := net.Dialer{Timeout: time.Second}
	conn, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(500 * time.Millisecond)); err != nil {
		return err
	}
	connect := []byte{0x10, 13, 0, 4, 'M', 'Q', 'T', 'T', 5, 0x02, 0, 10, 0, 0, 0}
	if _, err := conn.Write(connect); err != nil {
		return err
	}
	var answer [1]byte
	if _, err := io.ReadFull(conn, answer[:]); err != nil {
		return err
	}
	if answer[0] != 0x20 {
		return fmt.Errorf("not an MQTT broker: first byte %#x", answer[0])
	}
	_, err = conn.Write([]byte{0xe0, 0}) // DISCONNECT
	return err
}
