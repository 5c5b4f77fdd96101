package mqttrpc

import (
	"sync"

	"surehand/internal/term"
)

// ledger keeps what one connection has received and not acknowledged, in the order in which it came: MQTT
// wants acknowledgements in that order, and the loop may answer in another. It ends with its connection: an
// ack on another one would mean another message.
//
// It holds the Receive Maximum and no more. Not every broker keeps that: mosquitto 2.0.11 was seen to send
// 250 messages ahead where 16 were allowed. So whoever adds takes a place first, and waits for one.
type ledger struct {
	places chan struct{}
	mu     sync.Mutex
	order  []received
	known  map[term.MessageID]int // place in all that ever came
	first  int                    // place of order[0]
}

type received struct {
	id       term.MessageID
	packetID uint16
	answered bool
}

func newLedger(maximum uint16) *ledger {
	return &ledger{places: make(chan struct{}, maximum), known: map[term.MessageID]int{}}
}

// add notes a message, for which the caller has taken a place.
func (l *ledger) add(id term.MessageID, packetID uint16) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.known[id] = l.first + len(l.order)
	l.order = append(l.order, received{id: id, packetID: packetID})
}

func (l *ledger) answered(id term.MessageID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if place, ok := l.known[id]; ok {
		l.order[place-l.first].answered = true
	}
}

// due takes out the packet ids that may be acknowledged now, and gives their places back.
func (l *ledger) due() []uint16 {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 0
	for n < len(l.order) && l.order[n].answered {
		n++
	}
	if n == 0 {
		return nil
	}
	ids := make([]uint16, n)
	for i, r := range l.order[:n] {
		ids[i] = r.packetID
		delete(l.known, r.id)
		<-l.places
	}
	l.order = l.order[n:]
	l.first += n
	return ids
}

// open is how many messages wait for the loop's answer, or for those before them.
func (l *ledger) open() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.order)
}
