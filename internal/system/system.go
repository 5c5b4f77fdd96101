package system

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"sync"
	"time"
)

// Clock is the wall clock, with the monotonic reading that time.Now carries.
type Clock struct{}

func (Clock) Now() time.Time { return time.Now() }

// After delivers once when d has passed; stop gives it up.
func (Clock) After(d time.Duration) (<-chan time.Time, func()) {
	t := time.NewTimer(d)
	return t.C, func() { t.Stop() }
}

// Mint draws ids and fractions from the operating system's generator. It is safe for concurrent use; ids of
// one Mint made within a millisecond are in order.
type Mint struct {
	mu   sync.Mutex
	last int64
	tick uint16
}

// ID is a UUIDv7 (RFC 9562) of the given time: 48 bits of milliseconds, a 12-bit counter within the
// millisecond, 62 random bits.
func (m *Mint) ID(now time.Time) string {
	var b [16]byte
	if _, err := rand.Read(b[:]); err != nil { // never fails on a supported system; an id must not repeat
		panic(err)
	}
	m.mu.Lock()
	ms := max(now.UnixMilli(), 0)
	if ms > m.last {
		m.last, m.tick = ms, 0
	} else if m.tick++; m.tick == 1<<12 {
		m.last, m.tick = m.last+1, 0
	}
	ms, tick := m.last, m.tick
	m.mu.Unlock()
	for i := range 6 {
		b[i] = byte(ms >> (8 * (5 - i)))
	}
	b[6] = 0x70 | byte(tick>>8)
	b[7] = byte(tick)
	b[8] = b[8]&0x3f | 0x80
	h := hex.EncodeToString(b[:])
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}

// Fraction is uniform in [0, 1).
func (m *Mint) Fraction() float64 {
	var b [8]byte
	if _, err := rand.Read(b[:]); err != nil {
		panic(err)
	}
	return float64(binary.BigEndian.Uint64(b[:])>>11) / (1 << 53)
}
