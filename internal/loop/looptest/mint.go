package looptest

import (
	"encoding/binary"
	"encoding/hex"
	"math/rand/v2"
	"time"

	"surehand/internal/plant"
)

// Mint draws ids and fractions from a seed: same seed, same draws.
type Mint struct{ rng *rand.Rand }

var _ plant.Mint = (*Mint)(nil)

// NewMint seeds a mint.
func NewMint(seed uint64) *Mint { return &Mint{rand.New(rand.NewPCG(seed, 0x5375726568616e64))} }

// ID is a UUIDv7 for the given time.
func (m *Mint) ID(now time.Time) string {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:], uint64(max(0, now.UnixMilli()))<<16|m.rng.Uint64()&0xfff|0x7000)
	binary.BigEndian.PutUint64(b[8:], m.rng.Uint64()&^(3<<62)|2<<62)
	h := hex.EncodeToString(b[:])
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}

// Fraction is a number in [0, 1).
func (m *Mint) Fraction() float64 { return m.rng.Float64() }
