package plant

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"
)

// DerivedID makes a UUIDv8 of 48 bits of time in milliseconds and 74 bits of a hash of the parts: the same
// thing has the same id in every process life, and ids are ordered by time, which keeps unique indexes flat
// as they grow (performance-limits § 3).
func DerivedID(at time.Time, parts ...string) string {
	sum := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(sum, "%d:%s;", len(p), p)
	}
	var b [16]byte
	copy(b[6:], sum.Sum(nil))
	ms := uint64(max(0, at.UnixMilli()))
	for i := range 6 {
		b[i] = byte(ms >> (8 * (5 - i)))
	}
	b[6] = b[6]&0x0f | 0x80
	b[8] = b[8]&0x3f | 0x80
	h := hex.EncodeToString(b[:])
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}

// Hash is a SHA-256 of the parts in hex.
func Hash(parts ...string) string {
	sum := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(sum, "%d:%s;", len(p), p)
	}
	return hex.EncodeToString(sum.Sum(nil))
}
