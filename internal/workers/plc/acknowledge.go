package plc

import (
	"context"
	"errors"
	"time"

	"surehand/internal/workers"
	"surehand/internal/workers/handshake"
)

const (
	// takeBackWithin is how long a machine may take to take done back.
	takeBackWithin = 2 * time.Second
	// freeWithin is how long an acknowledgement waits for the connection, which may follow a start.
	freeWithin = 5 * time.Second
)

// Acknowledge raises done_ack while the machine shows this done, and lowers it again. done_ack is a level: after a lost
// answer it is read, and written again.
func (d Driver) Acknowledge(ctx context.Context, done workers.DoneCycle, acknowledged func()) error {
	var err error
	if begun := d.Do(ctx, freeWithin, func(ctx context.Context, s *handshake.Session) {
		a := acknowledgement{Session: s, done: done, acknowledged: acknowledged}
		err = a.run(ctx)
	}); begun != nil {
		return begun
	}
	return err
}

type acknowledgement struct {
	*handshake.Session
	done         workers.DoneCycle
	acknowledged func()
	told         bool
	until        time.Time
}

func (a *acknowledgement) run(ctx context.Context) error {
	for a.until = a.Now().Add(takeBackWithin); a.Now().Before(a.until); a.Pause(ctx) {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if a.Connected(ctx, a.until) != nil {
			continue
		}
		r, err := a.Read()
		if err != nil {
			continue
		}
		up := a.Command()[ackAt] != 0
		if shown, ok := workers.DoneOf(r); !ok || shown != a.done {
			a.finish(ctx, up)
			return nil
		}
		if up {
			a.tell()
			continue
		}
		if a.Write(ctx, ackAt, 1) == nil {
			a.tell()
		}
	}
	if !a.told {
		return errors.New("done_ack could not be written")
	}
	a.finish(ctx, true)
	return errors.New("done stays although it was acknowledged")
}

// tell says, once, that the machine was told.
func (a *acknowledgement) tell() {
	if !a.told {
		a.told = true
		a.acknowledged()
	}
}

// finish lowers done_ack. Should that fail, it is lowered at the next poll that shows done = 0.
func (a *acknowledgement) finish(ctx context.Context, up bool) {
	a.tell()
	if up {
		_ = a.Write(ctx, ackAt, 0)
	}
}
