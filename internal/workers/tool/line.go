package tool

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"surehand/internal/term"
	"surehand/internal/workers"
)

const (
	maxLine = 256 // bytes, with the line feed

	firstRedial   = 20 * time.Millisecond
	longestRedial = time.Second
)

// wire reaches a tool that speaks lines.
type wire struct {
	config  term.DriverConfig
	clock   workers.Clock
	confirm func(context.Context) error
}

func newWire(config term.DriverConfig, clock workers.Clock, confirm func(context.Context) error) (wire, error) {
	if clock == nil {
		return wire{}, errors.New("tool: Clock is required")
	}
	if confirm == nil {
		confirm = func(context.Context) error { return nil }
	}
	if config = config.WithDefaults(); config.Address == "" {
		return wire{}, errors.New("the driver has no address")
	}
	return wire{config, clock, confirm}, nil
}

// connect asks first whether this process life goes on.
func (w wire) connect(ctx context.Context) (net.Conn, error) {
	if err := w.confirmed(ctx); err != nil {
		return nil, err
	}
	return w.dial(ctx)
}

func (w wire) confirmed(ctx context.Context) error {
	asking, cancel := context.WithTimeout(ctx, workers.ConfirmWithin)
	defer cancel()
	return w.confirm(asking)
}

func (w wire) dial(ctx context.Context) (net.Conn, error) {
	dialer := net.Dialer{Timeout: time.Duration(w.config.Timeout)}
	return dialer.DialContext(ctx, "tcp", w.config.Address)
}

// final is an error that another try would not mend.
type final struct{ error }

func (f final) Unwrap() error { return f.error }

// reach tries as often as needed while an action may begin: an answer that nothing was tried must not come back at once,
// or the action would be planned anew without a pause.
func reach[T io.Closer](ctx context.Context, clock workers.Clock, t workers.Task, try func(starting context.Context) (T, error)) (none T, err error) {
	starting, cancel := context.WithDeadline(ctx, time.Now().Add(t.NotAfter().Sub(clock.Now())))
	defer cancel()
	why := errors.New("it may not begin any more")
	for redial := firstRedial; !t.Late(clock.Now()); redial = min(2*redial, longestRedial) {
		c, err := try(starting)
		if err == nil {
			if !t.Late(clock.Now()) {
				return c, nil
			}
			_ = c.Close() // nothing was sent
			break
		}
		if errors.As(err, new(final)) {
			return none, err
		}
		why = fmt.Errorf("not reached in time: %w", err)
		pause(starting, redial)
		if ctx.Err() != nil {
			return none, fmt.Errorf("given up: %w", context.Cause(ctx))
		}
	}
	return none, fmt.Errorf("late: %w", why)
}

// readLine takes one line without its end.
func readLine(r io.Reader) (string, error) {
	line, err := bufio.NewReader(io.LimitReader(r, maxLine)).ReadString('\n')
	switch {
	case err == nil:
		return strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r"), nil
	case len(line) >= maxLine:
		return "", fmt.Errorf("the answer is longer than %d bytes and begins with %q", maxLine, line[:32])
	}
	return "", fmt.Errorf("no whole line came, but %q: %w", line, err)
}

// seat is one place, taken by whoever holds it.
type seat chan struct{}

func newSeat() seat { return make(seat, 1) }

func (s seat) take(ctx context.Context) error {
	select {
	case s <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (s seat) release() { <-s }

// held is a connection with the seat that goes with it.
type held struct {
	net.Conn
	seat seat
}

// Close gives both back; it is called once.
func (h held) Close() error {
	defer h.seat.release()
	return h.Conn.Close()
}

// pause waits, or until the context ends.
func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
