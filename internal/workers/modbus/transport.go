package modbus

import (
	"context"
	"errors"
	"fmt"
	"time"

	"surehand/internal/term"
	"surehand/internal/workers/handshake"
)

// Transport is a handshake.Transport.
type Transport struct{ c term.DriverConfig }

var _ handshake.Transport = Transport{}

// New takes the addresses and the times from a configuration.
func New(c term.DriverConfig) Transport { return Transport{c.WithDefaults()} }

// Check compares the blocks with what registers can be addressed.
func (t Transport) Check(b handshake.Blocks) error {
	c := t.c
	switch {
	case c.Unit < 0 || c.Unit > 255:
		return fmt.Errorf("unit %d must be 0 to 255", c.Unit)
	case c.Command < 0 || c.Command+b.Command > 1<<16 || c.Status < 0 || c.Status+b.Status > 1<<16:
		return fmt.Errorf("the blocks at %d and %d must lie within 0 to 65535", c.Command, c.Status)
	case c.Command < c.Status+b.Status && c.Status < c.Command+b.Command:
		return fmt.Errorf("the command block at %d and the status block at %d overlap", c.Command, c.Status)
	}
	return nil
}

// Open dials. The library cannot be interrupted; it gives up after 5 s.
func (t Transport) Open(_ context.Context, b handshake.Blocks) (handshake.Conn, error) {
	c, err := open(t.c.Address, uint8(t.c.Unit), time.Duration(t.c.Timeout))
	if err != nil {
		return nil, err
	}
	return &link{c, t.c, b}, nil
}

// link is a connection with the places of the two blocks.
type link struct {
	*conn
	at     term.DriverConfig
	blocks handshake.Blocks
}

func (l *link) ReadCommand() ([]uint16, error) { return l.read(l.at.Command, l.blocks.Command) }

func (l *link) ReadStatus() ([]uint16, error) { return l.read(l.at.Status, l.blocks.Status) }

func (l *link) Write(offset int, values []uint16) error { return l.write(l.at.Command+offset, values) }

// Usable: a heartbeat that stands still is the controller's, and a new connection would not move it.
func (l *link) Usable(err error) bool { return errors.Is(err, handshake.ErrStill) || usable(err) }

func (l *link) Close() { l.close() }
