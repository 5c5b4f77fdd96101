package handshake

import (
	"context"
	"errors"

	"surehand/internal/term"
)

// Blocks are the sizes of the two blocks in words, and the offset of go in the command block. A command block has the
// number at 0 and 1, then what is to be done, and go behind that.
type Blocks struct{ Command, Status, GoAt int }

// Transport reaches one controller.
type Transport interface {
	// Check tells what is wrong with the configuration for these blocks, before anything is connected.
	Check(b Blocks) error
	// Open connects. It is called off the goroutine that polls, for one connection at a time.
	Open(ctx context.Context, b Blocks) (Conn, error)
}

// Conn is one connection. It belongs to one goroutine, is never shared by two actions, and does not connect again by
// itself. Each call takes a bounded time, a few time-outs at most.
type Conn interface {
	// ReadCommand and ReadStatus read a whole block. The words of a number, and those of the status block, are of one
	// moment. What is read is what the controller has, not what was last written or told.
	ReadCommand() ([]uint16, error)
	ReadStatus() ([]uint16, error)
	// Write writes words of the command block from an offset on. It never repeats by itself. After an error it may have
	// happened, or may happen yet.
	Write(offset int, values []uint16) error
	// Usable tells whether this connection can be used after an error of a call, or after ErrStill.
	Usable(err error) bool
	// Close returns at once, and does not matter to a connection that is lost already.
	Close()
}

// ErrStill: answers come, and the heartbeat in them has stood still until it was stale. A transport to which that may be
// the fault of the connection is given a new one.
var ErrStill = errors.New("the heartbeat stands still")

// Order of the two words of a number.
type Order bool

// OrderOf takes the word order of a configuration.
func OrderOf(c term.DriverConfig) Order { return Order(c.WordOrder == "low") }

// Number is the number in two words.
func (low Order) Number(words []uint16) uint32 {
	if low {
		return uint32(words[1])<<16 | uint32(words[0])
	}
	return uint32(words[0])<<16 | uint32(words[1])
}

// Words are the two words of a number.
func (low Order) Words(n uint32) []uint16 {
	if low {
		return []uint16{uint16(n), uint16(n >> 16)}
	}
	return []uint16{uint16(n >> 16), uint16(n)}
}
