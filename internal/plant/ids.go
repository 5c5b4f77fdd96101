package plant

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"time"
)

// DerivedID makes a UUIDv8 of 48 bits of time in milliseconds and 74 bits of a hash of the parts: the same
// thing has the same id in every process life, and ids are ordered by time, which keeps unique indexes flat
// as they grow.
func DerivedID(at time.Time, parts ...string) string {
	sum := digest(parts)
	var b [16]byte
	copy(b[6:], sum[:])
	ms := uint64(max(0, at.UnixMilli()))
	for i := range 6 {
		b[i] = byte(ms >> (8 * (5 - i)))
	}
	b[6] = b[6]&0x0f | 0x80
	b[8] = b[8]&0x3f | 0x80
	var t [36]byte
	hex.Encode(t[:8], b[:4])
	hex.Encode(t[9:13], b[4:6])
	hex.Encode(t[14:18], b[6:8])
	hex.Encode(t[19:23], b[8:10])
	hex.Encode(t[24:], b[10:])
	t[8], t[13], t[18], t[23] = '-', '-', '-', '-'
	return string(t[:])
}

func digest(parts []string) [sha256.Size]byte {
	b := make([]byte, 0, 512) // stays on the stack
	for _, p := range parts {
		b = strconv.AppendInt(b, int64(len(p)), 10)
		b = append(append(append(b, ':'), p...), ';')
	}
	return sha256.Sum256(b)
}

// Hash is a SHA-256 of the parts in hex.
func Hash(parts ...string) string {
	sum := digest(parts)
	return hex.EncodeToString(sum[:])
}
