package mqttconn

import (
	"context"
	"errors"
	"io"
	"sync"

	"github.com/eclipse/paho.golang/packets"
	"github.com/eclipse/paho.golang/paho/log"
	"github.com/eclipse/paho.golang/paho/session"
)

var errLinkDown = errors.New("link_down")

// forgetful stands in for paho's session state, for the life of one connection, and keeps nothing that could
// be sent again: a publish that the broker has not acknowledged when the connection ends is unknown, and
// stays so. It answers every waiting request at the end. It sends no PUBACK when a handler returns, since
// the owner decides when (Acknowledge).
type forgetful struct {
	mu       sync.Mutex
	lost     bool
	reason   byte // of the broker's DISCONNECT, 0: none
	waiting  map[uint16]request
	last     uint16
	quota    chan struct{} // one place per publish that the broker allows without its PUBACK
	lostOnce chan struct{} // closed when the connection is lost
}

type request struct {
	answer  chan<- packets.ControlPacket // with room for one
	publish bool
}

var _ session.SessionManager = (*forgetful)(nil)

func newForgetful() *forgetful {
	return &forgetful{waiting: map[uint16]request{}, lostOnce: make(chan struct{})}
}

// ConAckReceived learns how many publishes the broker takes at a time.
func (s *forgetful) ConAckReceived(_ io.Writer, _ *packets.Connect, ack *packets.Connack) error {
	places := 65535
	if ack.Properties != nil && ack.Properties.ReceiveMaximum != nil {
		places = int(*ack.Properties.ReceiveMaximum)
	}
	s.quota = make(chan struct{}, places)
	return nil
}

// ConnectionLost answers all that wait; paho calls it more than once.
func (s *forgetful) ConnectionLost(d *packets.Disconnect) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if d != nil && s.reason == 0 {
		s.reason = d.ReasonCode
	}
	if s.lost {
		return nil
	}
	s.lost = true
	close(s.lostOnce)
	for id, r := range s.waiting {
		delete(s.waiting, id)
		r.answer <- packets.ControlPacket{} // the zero packet says: lost
	}
	return nil
}

// register gives a request its packet id.
func (s *forgetful) register(r request) (uint16, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lost {
		return 0, errLinkDown
	}
	for range 65535 {
		s.last++
		if s.last == 0 {
			s.last = 1
		}
		if _, used := s.waiting[s.last]; !used {
			s.waiting[s.last] = r
			return s.last, nil
		}
	}
	return 0, session.ErrPacketIdentifiersExhausted
}

// resolve hands an answer to its request and frees its place.
func (s *forgetful) resolve(id uint16, answer packets.ControlPacket) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, ok := s.waiting[id]
	if !ok {
		return
	}
	delete(s.waiting, id)
	if r.publish {
		<-s.quota
	}
	r.answer <- answer
}

// AddToSession serves paho's own requests, which are SUBSCRIBE only; we publish by ourselves.
func (s *forgetful) AddToSession(_ context.Context, p session.Packet, answer chan<- packets.ControlPacket) error {
	id, err := s.register(request{answer: answer})
	if err == nil {
		p.SetIdentifier(id)
	}
	return err
}

// PacketReceived runs on the goroutine that reads the connection. The channel has room for the Receive
// Maximum; its reader stops waiting when the connection is lost.
func (s *forgetful) PacketReceived(p *packets.ControlPacket, publishes chan<- *packets.Publish) error {
	switch content := p.Content.(type) {
	case *packets.Puback, *packets.Suback:
		s.resolve(p.PacketID(), *p)
	case *packets.Publish:
		publishes <- content
	}
	return nil
}

func (s *forgetful) Ack(*packets.Publish) error { return nil }

func (s *forgetful) Close() error { return s.ConnectionLost(nil) }

// disconnectReason is the broker's word, when it said goodbye.
func (s *forgetful) disconnectReason() byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reason
}

func (s *forgetful) SetErrorLogger(log.Logger) {}
func (s *forgetful) SetDebugLogger(log.Logger) {}
