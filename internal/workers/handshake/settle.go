package handshake

import (
	"context"
	"fmt"
	"slices"

	"surehand/internal/term"
	"surehand/internal/workers"
)

// settle finds out what became of go = 1 when its answer is missing or nothing has begun. over is false when the action
// was begun after all.
//
// "Not begun" needs all of this: the command block is still ours, so the controller has not restarted meanwhile; it was
// withdrawn and that was read back; since then the heartbeat has changed, so the program has seen go = 0; and the
// echo is what it was before the action, with nothing under way. Withdrawing overwrites the number too, so that a
// write of go = 1 that comes even later begins nothing: its number is not newer than the echo.
func (h *handshake) settle(ctx context.Context, why string) (e workers.Ending, over bool) {
	giveUp := h.Now().Add(workers.SettleFor)
	withdrawn := h.withdrawal(h.echo)
	sent, beats := false, -1 // the heartbeats when the withdrawal was read back
	var link Conn            // of beats
	for ; ; h.Pause(ctx) {
		if ctx.Err() != nil {
			return workers.InDoubt("given up: " + why), true
		}
		if h.Now().After(giveUp) {
			return workers.InDoubt(why + ", and whether it was begun cannot be read"), true
		}
		r, err := h.readAgain(ctx, giveUp)
		if err != nil {
			continue
		}
		ours := slices.Equal(h.command[:h.goAt], h.params)
		// A late go = 1 may rise over the withdrawal, and begins nothing then.
		disarmed := slices.Equal(h.command[:h.goAt], withdrawn[:h.goAt])
		away := disarmed && h.command[h.goAt] == 0
		switch {
		case r.Echo == h.task.ActionNo:
			h.begun = true
			return e, false
		case r.Echo != h.echo || !ours && !(sent && disarmed):
			return workers.InDoubt(why + ", and the controller has other numbers now: it has restarted, or another has written to it"), true
		case !away:
			beats = -1
			if err := h.Write(ctx, 0, withdrawn...); err != nil {
				why = fmt.Sprintf("%s, and withdrawing it: %v", why, err)
			}
			sent = true
		case beats < 0 || link != h.conn:
			beats, link = h.beats, h.conn
		case h.beats > beats && h.d.program.Still(r, h.task):
			return workers.NotBegun(h.task, why), true
		}
	}
}

// withdrawal is a command block that can begin nothing.
func (s *Session) withdrawal(echo uint32) []uint16 {
	block := make([]uint16, s.d.blocks.GoAt+1)
	copy(block, s.d.order.Words(echo))
	return block
}

// tidy brings the command block to rest while no action of ours is under way: go of a number that was not begun is
// withdrawn, so that it can no longer begin, and other signals that were left up are lowered.
func (s *Session) tidy(ctx context.Context, r term.Reading) {
	up := s.command[s.d.blocks.GoAt] != 0
	if up && term.MayBegin(r.Echo, s.d.order.Number(s.command)) {
		s.tidied(s.Write(ctx, 0, s.withdrawal(r.Echo)...))
		return
	}
	for _, offset := range s.d.program.Leftover(s.command, r, s.d.order) {
		s.tidied(s.Write(ctx, offset, 0))
	}
}

func (s *Session) tidied(err error) {
	if err != nil { // it is tried again at the next poll
		s.d.o.Log.Debug("a signal that was left up is not lowered yet", "address", s.d.o.Config.Address, "error", err)
	}
}
