package modbus

import (
	"errors"
	"io"
	"log"
	"time"

	library "github.com/simonvetter/modbus"

	"surehand/internal/workers"
)

// conn is one TCP connection. Its calls take at most the time-out and cannot be interrupted; a client belongs to one
// goroutine.
type conn struct{ client *library.ModbusClient }

// open dials; the library gives up after 5 s.
func open(address string, unit uint8, timeout time.Duration) (*conn, error) {
	client, err := library.NewClient(&library.ClientConfiguration{
		URL: "tcp://" + address, Timeout: timeout, Logger: log.New(io.Discard, "", 0),
	})
	if err != nil {
		return nil, err
	}
	if err := client.SetUnitId(unit); err != nil {
		return nil, err
	}
	if err := client.Open(); err != nil {
		return nil, workers.Plain(err)
	}
	return &conn{client}, nil
}

func (c *conn) read(address, count int) ([]uint16, error) {
	values, err := c.client.ReadRegisters(uint16(address), uint16(count), library.HOLDING_REGISTER)
	return values, workers.Plain(err)
}

func (c *conn) write(address int, values []uint16) error {
	if len(values) == 1 {
		return workers.Plain(c.client.WriteRegister(uint16(address), values[0]))
	}
	return workers.Plain(c.client.WriteRegisters(uint16(address), values))
}

// close ends the connection; that the other side is gone already is no news.
func (c *conn) close() { _ = c.client.Close() }

// usable tells whether the connection can be used after an error: the controller has answered with an exception, or
// has not answered in time. A late answer is told apart by its transaction. Anything else has lost the connection,
// and the library does not dial again.
func usable(err error) bool {
	for _, answered := range []error{library.ErrRequestTimedOut, library.ErrIllegalFunction, library.ErrIllegalDataAddress,
		library.ErrIllegalDataValue, library.ErrServerDeviceFailure, library.ErrAcknowledge, library.ErrServerDeviceBusy,
		library.ErrMemoryParityError} {
		if errors.Is(err, answered) {
			return true
		}
	}
	return false
}
