package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"syscall"
	"time"

	"surehand/internal/message"
	"surehand/internal/term"
)

// latency: the time from a message's scheduled moment to its answer, at a tenth of the loop's full rate, as
// they come by themselves (open loop, Poisson). Held against one batch of one message, called directly: what
// queue, wake-ups and neighbours add. Both go through all four messages of a command.
func latency(ctx context.Context, s *site) (round, error) {
	h, err := s.house(ctx, "full", fullHouse)
	if err != nil {
		return nil, err
	}
	direct, err := s.house(ctx, "direct", houseSpec{valves: 200, direct: true})
	if err != nil {
		return nil, err
	}
	m, err := h.flood(ctx, fullHouse.valves, s.options.window())
	if err != nil {
		return nil, err
	}
	rate := m.messagesPerSecond() / 10
	commands := newCommands(200)
	return func(ctx context.Context) (float64, float64, error) {
		var took []time.Duration
		for n, began := 0, time.Now(); time.Since(began) < s.options.window(); n++ {
			t, err := direct.walk(ctx, commands[n%len(commands)])
			if err != nil {
				return 0, 0, err
			}
			took = append(took, t...)
		}
		o := newOpenLoop(h)
		if err := o.run(ctx, rate, s.options.window()); err != nil {
			return 0, 0, err
		}
		p50 := medianMicros(o.took)
		s.note("%.0f messages/s, %d answered, %d skipped, p99 %.0f µs", rate, len(o.took), o.skipped, float64(o.took[len(o.took)*99/100].Microseconds()))
		return p50, medianMicros(took), nil
	}, nil
}

// openLoop posts at given moments, whether or not what came before was answered.
type openLoop struct {
	h       *house
	replies chan message.Answer

	mu       sync.Mutex
	ready    []*command // whose next message may be posted
	posted   map[term.MessageID]arrival
	commands []*command
	took     []time.Duration
	skipped  int // no command was ready
	err      error
}

type arrival struct {
	c         *command
	scheduled time.Time
}

// openCommands stay below the publishes that may be open, so that none waits for a slot.
const openCommands = 200

func newOpenLoop(h *house) *openLoop {
	o := &openLoop{h: h, replies: make(chan message.Answer, openCommands), posted: map[term.MessageID]arrival{}, commands: newCommands(openCommands)}
	for _, c := range o.commands {
		o.ready = append(o.ready, c)
	}
	return o
}

func (o *openLoop) run(ctx context.Context, rate float64, window time.Duration) error {
	done, collected := make(chan struct{}), make(chan struct{})
	go func() { o.collect(done); close(collected) }()
	o.pace(ctx, rate, window)
	o.finish(ctx)
	close(done)
	<-collected
	if o.err == nil && len(o.took) == 0 {
		o.err = fmt.Errorf("nothing was answered")
	}
	return o.err
}

// pace runs on a thread of its own, which the kernel wakes within some 50 µs; a Go timer may come 1 ms late.
func (o *openLoop) pace(ctx context.Context, rate float64, window time.Duration) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	began := time.Now()
	for at := began; at.Sub(began) < window && ctx.Err() == nil; at = at.Add(time.Duration(rand.ExpFloat64() / rate * float64(time.Second))) {
		if wait := time.Until(at); wait > 0 {
			pause := syscall.NsecToTimespec(wait.Nanoseconds())
			_ = syscall.Nanosleep(&pause, nil) // woken early is no harm: the latency counts from at
		}
		o.postAny(at)
	}
}

func (o *openLoop) postAny(at time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.ready) == 0 {
		o.skipped++
		return
	}
	i := rand.IntN(len(o.ready))
	c := o.ready[i]
	o.ready[i] = o.ready[len(o.ready)-1]
	o.ready = o.ready[:len(o.ready)-1]
	m := c.message(o.h)
	m.Reply = o.replies
	o.posted[m.ID] = arrival{c, at}
	if !o.h.loop.Post(m) {
		o.err = fmt.Errorf("the inbox is full at a tenth of the full rate")
	}
}

func (o *openLoop) collect(done <-chan struct{}) {
	for {
		select {
		case a := <-o.replies:
			now := time.Now()
			o.mu.Lock()
			p := o.posted[a.MessageID]
			delete(o.posted, a.MessageID)
			o.took = append(o.took, now.Sub(p.scheduled))
			if err := p.c.decided(a.Outcome); err != nil {
				o.err = err
			}
			if p.c.ready() { // else when its publish comes
				o.ready = append(o.ready, p.c)
			}
			o.mu.Unlock()
		case p := <-o.h.publish:
			o.mu.Lock()
			c, err := byDevice(o.commands, p)
			if err != nil {
				o.err = err
			} else if c.handedOut(p); c.next == sent {
				o.ready = append(o.ready, c)
			}
			o.mu.Unlock()
		case <-done:
			return
		}
	}
}

// finish lets the commands under way end, so that the next round finds the devices free. It measures nothing.
func (o *openLoop) finish(ctx context.Context) {
	deadline := time.Now().Add(patience)
	measured := -1
	for ctx.Err() == nil && time.Now().Before(deadline) {
		o.mu.Lock()
		if measured < 0 && len(o.posted) == 0 {
			measured = len(o.took)
		}
		idle := 0
		for i := 0; i < len(o.ready) && measured >= 0; i++ {
			c := o.ready[i]
			if c.next == wish {
				idle++
				continue
			}
			m := c.message(o.h)
			m.Reply = o.replies
			o.posted[m.ID] = arrival{c, time.Now()}
			o.ready = append(o.ready[:i], o.ready[i+1:]...)
			i--
			o.h.loop.Post(m)
		}
		done := idle == len(o.commands)
		if done {
			o.took = o.took[:measured]
		}
		failed := o.err != nil
		o.mu.Unlock()
		if done || failed {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
}
