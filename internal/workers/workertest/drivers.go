package workertest

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"surehand/internal/plant"
	"surehand/internal/term"
	"surehand/internal/workers"
)

// Fault is what the far side does to the next action.
type Fault string

const (
	LostAnswer    Fault = "lost answer"    // it begins, and the answer to what began it never comes
	LateAnswer    Fault = "late answer"    // it begins, and that answer comes long after anybody waits for it
	DoubledAnswer Fault = "doubled answer" // every answer comes twice, of all actions to come
	Refused       Fault = "refused"        // it is not begun
	SlowStart     Fault = "slow start"     // it is begun only after a while
	Held          Fault = "held"           // it begins, and does not end, or does not say so, until Free
)

// Equipment is a driver, not running yet, and its far side.
type Equipment struct {
	Driver workers.Driver
	// Task makes a fresh action with a number from 1 to 16. All of them can be done in any order.
	Task func(n uint32) workers.Task
	// Done is how it ends when nothing goes wrong.
	Done workers.Ending
	// Harmless equipment has no numbers: what goes wrong is surely not done, and may be asked again.
	Harmless bool

	// Next sets a fault; false: this equipment cannot have it.
	Next func(Fault) bool
	// Free lets go of what is held.
	Free func()
	// Begun counts the actions that have really begun. AwaitBegun waits for a count.
	Begun      func() int
	AwaitBegun func(count int)
	// Writes counts everything that came and could have had an effect.
	Writes func() int
	// Cut ends the link, and keeps it down until Heal. Restart ends it by a restart of the far side.
	Cut, Heal, Restart func()
	// StopHeartbeat and StartHeartbeat: nil where there is none.
	StopHeartbeat, StartHeartbeat func()
	// Forget makes the database say that this process life is over.
	Forget func()
	// Harm lists what should never have happened there.
	Harm func() []string
}

// bench runs one driver.
type bench struct {
	Equipment
	t      *testing.T
	ctx    context.Context
	mu     sync.Mutex
	last   term.Reading
	change chan struct{}
}

// Drivers runs the contract against a driver; open is called for each part.
func Drivers(t *testing.T, open func(t *testing.T) Equipment) {
	for _, c := range []struct {
		name string
		test func(*bench)
	}{
		{"each action is done once", doneOnce},
		{"a doubled answer changes nothing", func(b *bench) { b.fault(DoubledAnswer); doneOnce(b) }},
		{"a late answer is not taken for another", func(b *bench) { answerMissing(b, LateAnswer) }},
		{"a lost answer after the action began", func(b *bench) { answerMissing(b, LostAnswer) }},
		{"a slow start is waited for", slowStart},
		{"refused is not done", refused},
		{"a link cut before is not done", cutBefore},
		{"a link cut meanwhile is mended", cutMeanwhile},
		{"a link cut for good is unknown, and the late success can be read", cutForGood},
		{"who gives up gets an answer", givenUp},
		{"reconnects after a restart", restart},
		{"a heartbeat that stands still is not reached", heartbeat},
		{"a number that is not newer is refused", staleNumber},
		{"never two at once", oneAtATime},
		{"late by the monotonic clock", func(b *bench) {
			late(b, func(t *workers.Task) { t.StartedAt = t.StartedAt.Add(-plant.SendBefore) })
		}},
		{"late by the wall clock", func(b *bench) {
			late(b, func(t *workers.Task) { t.StartedAt = t.StartedAt.Round(0).Add(-plant.SendBefore) })
		}},
		{"late by a pause between commit and start", func(b *bench) {
			late(b, func(t *workers.Task) { t.FencedAt = t.FencedAt.Add(-plant.SendBefore) })
		}},
		{"a forgotten process life writes nothing", forgotten},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := &bench{Equipment: open(t), t: t, change: make(chan struct{})}
			var cancel context.CancelFunc
			b.ctx, cancel = context.WithTimeout(context.Background(), patience)
			running, stop := context.WithCancel(b.ctx)
			var ended sync.WaitGroup
			ended.Go(func() { b.Driver.Run(running, b.report) })
			defer cancel()
			defer ended.Wait()
			defer stop()
			c.test(b)
			for _, harm := range b.Harm() {
				t.Errorf("harm: %s", harm)
			}
		})
	}
}

func doneOnce(b *bench) {
	b.awaitReached()
	b.want(b.Task(1), b.Done)
	b.want(b.Task(2), b.Done)
	b.begun(2)
}

func answerMissing(b *bench, f Fault) {
	b.awaitReached()
	b.fault(f)
	task := b.Task(1)
	if b.Harmless {
		task.Bound = 200 * time.Millisecond
		b.wantOutcome(task, term.NotDone)
		b.inTheEnd(2)
		b.begun(2)
		return
	}
	b.want(task, b.Done)
	b.begun(1)
	b.inTheEnd(2)
}

func slowStart(b *bench) {
	b.awaitReached()
	b.fault(SlowStart)
	b.want(b.Task(1), b.Done)
	b.begun(1)
}

func refused(b *bench) {
	b.awaitReached()
	b.fault(Refused)
	task := b.Task(1)
	task.Bound = time.Second
	b.wantOutcome(task, term.NotDone)
	b.inTheEnd(2)
}

func cutBefore(b *bench) {
	b.awaitReached()
	b.Cut()
	b.await("not reached", func(r term.Reading) bool { return !r.Reached && r.Error != "" })
	b.wantOutcome(b.Task(1), term.NotDone)
	b.begun(0)
	b.Heal()
	b.awaitReached()
	b.want(b.Task(2), b.Done)
	b.begun(1)
}

func cutMeanwhile(b *bench) {
	b.awaitReached()
	b.fault(Held)
	ended := b.start(b.ctx, b.Task(1))
	b.AwaitBegun(1)
	b.Cut()
	b.Heal()
	b.Free()
	if e := <-ended; !b.Harmless || e.Outcome == term.Done {
		b.check(e, b.Done)
	}
	b.begun(1)
	b.inTheEnd(2)
}

func cutForGood(b *bench) {
	b.awaitReached()
	b.fault(Held)
	task := b.Task(1)
	task.Bound = 300 * time.Millisecond
	ended := b.start(b.ctx, task)
	b.AwaitBegun(1)
	b.Cut()
	if b.Harmless {
		b.check(<-ended, workers.Ending{Outcome: term.NotDone, PartAt: b.Done.PartAt})
		return
	}
	b.check(<-ended, workers.Ending{Outcome: term.Unknown})
	b.Heal()
	b.Free()
	b.await("the end of the number", func(r term.Reading) bool {
		e, ok := workers.Concluded(task.Perform, r)
		return r.Reached && ok && e.Outcome == term.Done
	})
	b.inTheEnd(2)
	b.begun(2)
}

func givenUp(b *bench) {
	b.awaitReached()
	b.fault(Held)
	ctx, cancel := context.WithCancel(b.ctx)
	defer cancel()
	ended := b.start(ctx, b.Task(1))
	b.AwaitBegun(1)
	cancel()
	b.check(<-ended, b.inDoubt(workers.Ending{Outcome: term.Unknown}))
	b.Free()
}

func restart(b *bench) {
	b.awaitReached()
	b.want(b.Task(1), b.Done)
	b.Restart()
	b.inTheEnd(2)
	b.begun(2)
}

func heartbeat(b *bench) {
	if b.StopHeartbeat == nil {
		b.t.Skip("it has none")
	}
	b.awaitReached()
	b.StopHeartbeat()
	b.await("not reached", func(r term.Reading) bool { return !r.Reached && r.Error != "" })
	b.wantOutcome(b.Task(1), term.NotDone)
	b.begun(0)
	b.StartHeartbeat()
	b.awaitReached()
	b.want(b.Task(2), b.Done)
}

func staleNumber(b *bench) {
	if b.Harmless {
		b.t.Skip("it has no numbers")
	}
	b.awaitReached()
	b.want(b.Task(5), b.Done)
	b.wantOutcome(b.Task(5), term.NotDone)
	b.wantOutcome(b.Task(4), term.NotDone)
	b.begun(1)
}

func oneAtATime(b *bench) {
	b.awaitReached()
	var all []<-chan workers.Ending
	for n := range uint32(8) {
		all = append(all, b.start(b.ctx, b.Task(n+1)))
	}
	done := 0
	for _, ended := range all {
		switch e := <-ended; e.Outcome {
		case term.Done:
			done++
		case term.NotDone:
		default:
			b.t.Errorf("ended %+v", e)
		}
	}
	if done == 0 {
		b.t.Error("none was done")
	}
	b.begun(done)
}

func late(b *bench, change func(*workers.Task)) {
	b.awaitReached()
	before := b.Writes()
	task := b.Task(1)
	change(&task)
	b.wantOutcome(task, term.NotDone)
	if now := b.Writes(); now != before {
		b.t.Errorf("%d writes came of a late action", now-before)
	}
	b.want(b.Task(2), b.Done)
	b.begun(1)
}

func forgotten(b *bench) {
	b.awaitReached()
	b.Forget()
	b.Cut()
	b.Heal()
	b.await("not reached", func(r term.Reading) bool { return !r.Reached && r.Error != "" })
	before := b.Writes()
	b.wantOutcome(b.Task(1), term.NotDone)
	if now := b.Writes(); now != before {
		b.t.Errorf("%d writes came of a forgotten process", now-before)
	}
	b.begun(0)
}

func (b *bench) report(r term.Reading) {
	b.stable(r.Error)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.last = r
	close(b.change)
	b.change = make(chan struct{})
}

// await waits for a reading that comes from now on.
func (b *bench) await(what string, is func(term.Reading) bool) {
	b.t.Helper()
	for {
		b.mu.Lock()
		change := b.change
		b.mu.Unlock()
		select {
		case <-change:
		case <-b.ctx.Done():
			b.t.Fatalf("no reading with %s; the last is %+v", what, b.last)
		}
		b.mu.Lock()
		last := b.last
		b.mu.Unlock()
		if is(last) {
			return
		}
	}
}

func (b *bench) awaitReached() {
	b.t.Helper()
	b.await("reached", func(r term.Reading) bool { return r.Reached })
}

func (b *bench) fault(f Fault) {
	b.t.Helper()
	if !b.Next(f) {
		b.t.Skipf("it cannot have a %s", f)
	}
}

// inDoubt is the ending of equipment with numbers; harmless equipment is never in doubt.
func (b *bench) inDoubt(e workers.Ending) workers.Ending {
	if b.Harmless {
		return workers.Ending{Outcome: term.NotDone, PartAt: b.Done.PartAt}
	}
	return e
}

func (b *bench) start(ctx context.Context, t workers.Task) <-chan workers.Ending {
	ended := make(chan workers.Ending, 1)
	go func() { ended <- b.Driver.Perform(ctx, t) }()
	return ended
}

// stable: an error names no port of our own end, which is another one each time and would make news of it.
func (b *bench) stable(why string) {
	b.t.Helper()
	if strings.Contains(why, "->") {
		b.t.Errorf("an error names our end of the connection: %s", why)
	}
}

// check compares but for the words of an error.
func (b *bench) check(got, want workers.Ending) {
	b.t.Helper()
	why := got.Error
	b.stable(why)
	got.Error, want.Error = "", ""
	if got != want || (why == "") != (got.Outcome == term.Done) {
		b.t.Errorf("ended %+v (%s), want %+v", got, why, want)
	}
}

func (b *bench) want(t workers.Task, e workers.Ending) {
	b.t.Helper()
	b.check(b.Driver.Perform(b.ctx, t), e)
}

func (b *bench) wantOutcome(t workers.Task, o term.Outcome) {
	b.t.Helper()
	if e := b.Driver.Perform(b.ctx, t); e.Outcome != o || e.Error == "" {
		b.t.Errorf("number %d ended %+v, want %s", t.ActionNo, e, o)
	}
}

// inTheEnd tries with new numbers while surely nothing begins.
func (b *bench) inTheEnd(n uint32) {
	b.t.Helper()
	for e := (workers.Ending{}); n <= 16; n++ {
		if e = b.Driver.Perform(b.ctx, b.Task(n)); e.Outcome == term.Done {
			return
		}
		if e.Outcome != term.NotDone || n == 16 {
			b.t.Fatalf("in the end: %+v", e)
		}
	}
}

func (b *bench) begun(want int) {
	b.t.Helper()
	if got := b.Begun(); got != want {
		b.t.Errorf("%d actions have begun, want %d", got, want)
	}
}
