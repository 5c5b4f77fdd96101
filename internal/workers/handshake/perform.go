package handshake

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"surehand/internal/plant"
	"surehand/internal/term"
	"surehand/internal/workers"
)

const (
	// beginWithin is how long a controller may take to take the rising edge of go; then go is withdrawn.
	beginWithin = 5 * time.Second
	// restWithin is how long it may take to take back what it showed of the last action.
	restWithin = time.Second
	// readTries of a read-back: reading again is harmless.
	readTries = 3
)

// doubtFor is how long after its time-out a write without an answer is taken to be possibly still on its way. Nothing
// begins meanwhile: old parameters must not overwrite new ones between their read-back and go.
const doubtFor = time.Second

// handshake is one action on the wire.
type handshake struct {
	*Session
	task   workers.Task
	goAt   int
	params []uint16 // number and command: everything before go
	echo   uint32   // before the action
	until  time.Time
	begun  bool // the echo was seen to be our number
	gone   int  // the heartbeats when the action was first seen abandoned
}

// perform does one action, once. Everything before go is raised ends as "not begun": nothing that was written until
// then can begin anything.
func (s *Session) perform(ctx context.Context, t workers.Task) workers.Ending {
	h := &handshake{Session: s, task: t, goAt: s.d.blocks.GoAt, until: s.Now().Add(t.Within())}
	if err := h.prepare(ctx); err != nil {
		if refusal := (refused{}); errors.As(err, &refusal) {
			return workers.NotBegun(t, err.Error())
		}
		return workers.NotTried(t, err.Error())
	}
	return h.raise(ctx)
}

// refused: the controller, or what it shows, forbids the action. A person has to know; else nothing was tried.
type refused struct{ why string }

func (r refused) Error() string { return r.why }

func (h *handshake) late() error {
	if h.task.Late(h.Now()) {
		return fmt.Errorf("late: it may not begin later than %s after its commit", plant.SendBefore)
	}
	return nil
}

// prepare brings go to 0 and the command block to what is to be done, each read back.
func (h *handshake) prepare(ctx context.Context) error {
	command, err := h.d.program.Command(h.task)
	if err != nil {
		return refused{err.Error()}
	}
	h.params = append(h.d.order.Words(h.task.ActionNo), command...)
	if err := h.quiet(ctx); err != nil {
		return err
	}
	r, err := h.reached(ctx)
	if err != nil {
		return err
	}
	h.echo = r.Echo
	if !term.MayBegin(r.Echo, h.task.ActionNo) {
		return refused{fmt.Sprintf("number %d is not newer than the last one begun, %d", h.task.ActionNo, r.Echo)}
	}
	if why := h.d.program.Refuses(r, h.task); why != "" {
		return refused{why}
	}
	if err := h.writeAndVerify(ctx, h.goAt, 0); err != nil {
		return err
	}
	if err := h.rest(ctx); err != nil {
		return err
	}
	if err := h.lowSeen(ctx); err != nil {
		return err
	}
	return h.writeAndVerify(ctx, 0, h.params...)
}

// lowSeen waits until the program has seen go at 0. Without that there is no edge for it: an action that follows close
// upon another would not be taken.
func (h *handshake) lowSeen(ctx context.Context) error {
	for !h.seenLow {
		if err := h.late(); err != nil {
			return fmt.Errorf("its program has not looked since go went down: %w", err)
		}
		h.Pause(ctx)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if _, err := h.Read(); err != nil && h.conn == nil {
			return err
		}
	}
	return nil
}

// quiet waits until no earlier write can still be on its way.
func (h *handshake) quiet(ctx context.Context) error {
	if wait := h.doubt.Sub(h.Now()); wait > 0 {
		h.wait(ctx, wait)
	}
	return context.Cause(ctx)
}

// reached reads until the controller is there and alive, as long as the action may begin.
func (h *handshake) reached(ctx context.Context) (term.Reading, error) {
	for {
		why := h.Connected(ctx, h.task.NotAfter())
		if why == nil {
			var r term.Reading
			if r, why = h.Read(); why == nil && r.Reached {
				return r, h.late()
			}
			if why == nil {
				why = errors.New(r.Error)
			}
		}
		if ctx.Err() != nil {
			return term.Reading{}, context.Cause(ctx)
		}
		if h.task.Late(h.Now()) {
			return term.Reading{}, fmt.Errorf("late: not reached in time: %w", why)
		}
		h.Pause(ctx)
	}
}

func (h *handshake) writeAndVerify(ctx context.Context, offset int, values ...uint16) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err := h.Write(ctx, offset, values...); err != nil {
		return err
	}
	_, err := h.Read()
	for tries := 1; err != nil && tries < readTries && h.conn != nil && ctx.Err() == nil; tries++ {
		_, err = h.Read()
	}
	if err != nil {
		return err
	}
	if got := h.command[offset : offset+len(values)]; !slices.Equal(got, values) {
		return fmt.Errorf("wrote %v to the command block and read back %v", values, got)
	}
	return nil
}

// rest waits until the controller has taken go = 0.
func (h *handshake) rest(ctx context.Context) error {
	giveUp := h.Now().Add(restWithin)
	for !h.d.program.AtRest(h.last) {
		if h.Now().After(giveUp) {
			return errors.New("the last action's done or error stays although go is 0")
		}
		h.Pause(ctx)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if _, err := h.Read(); err != nil && h.conn == nil {
			return err
		}
	}
	return nil
}

// raise writes go = 1 and follows the number to its end.
func (h *handshake) raise(ctx context.Context) workers.Ending {
	if err := h.late(); err != nil {
		return workers.NotTried(h.task, err.Error())
	}
	if ctx.Err() != nil {
		return workers.NotTried(h.task, context.Cause(ctx).Error())
	}
	err := h.Write(ctx, h.goAt, 1)
	if nothing := (notWritten{}); errors.As(err, &nothing) {
		return workers.NotTried(h.task, err.Error())
	}
	if err != nil {
		if e, over := h.settle(ctx, err.Error()); over {
			return e
		}
	}
	return h.follow(ctx)
}

// follow waits for the echo, and then for the end.
func (h *handshake) follow(ctx context.Context) workers.Ending {
	beginBy := h.Now().Add(beginWithin)
	if beginBy.After(h.until) {
		beginBy = h.until
	}
	for {
		by := h.until
		if !h.begun {
			by = beginBy
		}
		r, err := h.readAgain(ctx, by)
		if err == nil {
			if e, over := h.judge(r); over {
				if e.Outcome != term.Unknown && ctx.Err() == nil {
					h.lower(ctx)
				}
				return e
			}
		}
		if ctx.Err() != nil {
			return workers.InDoubt("given up: " + context.Cause(ctx).Error())
		}
		if h.Now().After(by) {
			if h.begun {
				return workers.InDoubt(fmt.Sprintf("it was begun and has not ended within %s", h.task.Within()))
			}
			if e, over := h.settle(ctx, "it did not begin in time"); over {
				return e
			}
			continue
		}
		h.Pause(ctx)
	}
}

// judge tells what a reading says about our number; over is false while the action may still go on.
func (h *handshake) judge(r term.Reading) (e workers.Ending, over bool) {
	switch {
	case r.Echo == h.task.ActionNo:
		h.begun = true
		if e, over = workers.Concluded(h.task.Perform, r); !over && h.abandoned(r) {
			return workers.InDoubt("it was begun, and how it ended is not said"), true
		}
	case h.begun || r.Echo != h.echo:
		return workers.InDoubt(fmt.Sprintf("the last number begun is %d now", r.Echo)), true
	}
	return e, over
}

// readAgain reads, over a new connection where it must.
func (h *handshake) readAgain(ctx context.Context, until time.Time) (term.Reading, error) {
	if err := h.Connected(ctx, until); err != nil {
		return h.last, err
	}
	return h.Read()
}

// abandoned: two heartbeats have passed in which the action neither went on nor showed an end, as after a loss of power.
func (h *handshake) abandoned(r term.Reading) bool {
	if !h.d.program.Abandoned(r) || h.beats < 1 {
		h.gone = 0
		return false
	}
	if h.gone == 0 || h.gone > h.beats {
		h.gone = h.beats
	}
	return h.beats >= h.gone+2
}

// lower writes go = 0 after the end. The result is known whether or not it arrives: what stays up is lowered later.
func (h *handshake) lower(ctx context.Context) {
	if err := h.Write(ctx, h.goAt, 0); err != nil {
		h.d.o.Log.Debug("go stays up for now", "address", h.d.o.Config.Address, "error", err)
	}
}
