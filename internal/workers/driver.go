package workers

import (
	"context"
	"fmt"
	"time"

	"surehand/internal/plant"
	"surehand/internal/term"
)

const (
	// SettleFor is how long a driver may take beyond an action's Bound to find out what became of it.
	SettleFor = 5 * time.Second
	// ConfirmWithin bounds a driver's question to the database whether this process life goes on.
	ConfirmWithin = 2 * time.Second
)

// Driver works one equipment of the cell. One goroutine owns the connection. Perform and Acknowledge may be called
// at any time and from any goroutine; the driver does them one after the other.
//
// Nothing leaves while the process life is not confirmed: a driver asks before each connection, and again before a
// write when the last word is older than plant.SendBefore.
type Driver interface {
	// Run keeps the link and reports every reading until ctx ends, also that there is none (Reached false, with the
	// last values). report does not wait.
	Run(ctx context.Context, report func(term.Reading))
	// Perform does the action once and returns when its outcome is known, or can no longer become known: at the
	// latest SettleFor after its Bound, and soon after ctx ended. It never tries again. An action whose time to
	// begin is over is surely not done.
	Perform(ctx context.Context, t Task) Ending
	// Acknowledge tells a machine that this done is stored. acknowledged is called once, as soon as the machine has
	// been told, or when it does not show this done any more; then the signals are brought back to rest. Another
	// done than this one is never acknowledged. It may be repeated.
	Acknowledge(ctx context.Context, d DoneCycle, acknowledged func()) error
}

// DoneCycle is one done of a machine.
type DoneCycle struct {
	Cycle uint32
	Slot  int
}

// DoneOf is the done that a reading shows.
func DoneOf(r term.Reading) (d DoneCycle, ok bool) { return DoneCycle{r.Cycle, r.DoneSlot}, r.Done }

// Task is a physical action on its way out.
type Task struct {
	plant.Perform
	// StartedAt is when the loop handed it out, right after the commit; it carries the monotonic clock.
	StartedAt time.Time
}

// NotAfter is the last moment at which the action may begin.
func (t Task) NotAfter() time.Time { return t.StartedAt.Add(plant.SendBefore) }

// Within is how long the action may take: its Bound, or a minute if it names none.
func (t Task) Within() time.Duration {
	if t.Bound <= 0 {
		return time.Minute
	}
	return t.Bound
}

// Late tells whether the action may no longer begin: see Order.Late.
func (t Task) Late(now time.Time) bool {
	return Order{Publish: plant.Publish{FencedAt: t.FencedAt}, StartedAt: t.StartedAt}.Late(now)
}

// Ending is the one answer to a task.
type Ending struct {
	Outcome term.Outcome
	PartAt  term.PartAt
	Code    string // read by a scanner
	Error   string // for people; empty when done
	// Unsent: not done because nothing was even tried (no link, too late): it may be planned anew without asking.
	Unsent bool
}

// Happened: the action was done, and this is where the part is.
func Happened(at term.PartAt) Ending { return Ending{Outcome: term.Done, PartAt: at} }

// NotBegun: surely nothing was started, so the part is where it was.
func NotBegun(t Task, why string) Ending {
	e := Ending{Outcome: term.NotDone, Error: why}
	switch {
	case t.Type == term.TaskStartMachine:
	case t.Type == term.TaskMove && !t.FromGripper:
		e.PartAt = term.PartAtFrom
	default:
		e.PartAt = term.PartGripper
	}
	return e
}

// NotTried is NotBegun for an action that was not even tried. The driver has used up the time to begin it, so that what
// is planned anew does not come back at once.
func NotTried(t Task, why string) Ending {
	e := NotBegun(t, why)
	e.Unsent = true
	return e
}

// InDoubt: it may have happened.
func InDoubt(why string) Ending { return Ending{Outcome: term.Unknown, Error: why} }

// Concluded tells how a move, a start or a mark has ended by a reading that carries its number; a robot has ended when it
// stands still as well. ok is false while the reading does not say so. An ending without the place of the part is unknown.
func Concluded(p plant.Perform, r term.Reading) (e Ending, ok bool) {
	if r.Echo != p.ActionNo || r.Busy { // a controller may show how it ended a moment before it stands still
		return e, false
	}
	switch p.Type {
	case term.TaskStartMachine:
		switch r.StartResult {
		case term.StartRunning:
			return Happened(""), true
		case term.StartRefused:
			return Ending{Outcome: term.NotDone, Error: "the machine refused the start"}, true
		}
	case term.TaskMove:
		at := r.PartAt
		if at == term.PartAtFrom && p.FromGripper {
			at = term.PartGripper
		}
		switch {
		case r.Fault != 0 && at == term.PartUnknown:
			return InDoubt(fmt.Sprintf("the robot ended with error %d and does not know where the part is", r.Fault)), true
		case r.Fault != 0:
			return Ending{Outcome: term.NotDone, PartAt: at, Error: fmt.Sprintf("the robot ended with error %d", r.Fault)}, true
		case r.Ended && at == term.PartUnknown:
			return InDoubt("the robot says done and not where the part is"), true
		case r.Ended:
			return Happened(at), true
		}
	case term.TaskMark:
		switch {
		case r.Ended:
			return Happened(term.PartGripper), true
		case r.Failed:
			return Ending{Outcome: term.NotDone, PartAt: term.PartGripper, Error: "the marker says that it failed and did not mark the part"}, true
		case r.Void: // said long after it was in doubt, so what is planned anew does not come back at once
			return Ending{Outcome: term.NotDone, PartAt: term.PartGripper, Unsent: true, Error: "it was withdrawn before the marker began it"}, true
		}
	}
	return e, false
}
