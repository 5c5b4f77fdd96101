package main

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"surehand/internal/message"
	"surehand/internal/plant"
	"surehand/internal/term"
)

// flood keeps the inbox of a running loop full of commands of many devices.
type flood struct {
	h        *house
	commands []*command
	serials  map[string]*command
	replies  chan message.Answer
	byID     map[term.MessageID]*command
	waiting  [3][]*command // next messages that found no room, or may not be posted yet: wishes, results, answers
	sending  int           // wishes on their way and publishes open
	stopping bool
	open     int // commands that have begun
	answers  int64
}

// sample is what happened in one window.
type sample struct {
	wall                         time.Duration
	messages, rows, commits      int64
	process, generator, postgres time.Duration // CPU
}

func (s sample) messagesPerSecond() float64 { return float64(s.messages) / s.wall.Seconds() }
func (s sample) rowsPerSecond() float64     { return float64(s.rows) / s.wall.Seconds() }

// transitionsPerSecond of 5 rows each, see command.
func (s sample) transitionsPerSecond() float64 { return s.rowsPerSecond() / 5 }

func (s sample) String() string {
	each := func(d time.Duration) float64 { return float64(d.Microseconds()) / float64(s.messages) }
	return fmt.Sprintf("%.0f messages/s in turns of %.0f, %.2f rows each; µs a message: wall %.0f, PostgreSQL %.0f, Go %.0f and generator %.0f",
		s.messagesPerSecond(), float64(s.messages)/float64(max(1, s.commits)), float64(s.rows)/float64(s.messages),
		each(s.wall), each(s.postgres), each(s.process-s.generator), each(s.generator))
}

const (
	// underWay is how many commands are on their way: more than a turn takes, so that every turn is full, and
	// fewer than the inbox has room for.
	underWay = 1200
	warmUp   = 300 * time.Millisecond
	patience = 30 * time.Second
)

// flood floods for the window after a warm-up, then lets the commands under way end.
func (h *house) flood(ctx context.Context, devices int, window time.Duration) (sample, error) {
	f := &flood{h: h, commands: newCommands(devices), replies: make(chan message.Answer, 2*devices), byID: map[term.MessageID]*command{},
		serials: make(map[string]*command, devices)}
	for _, c := range f.commands {
		f.serials[valveSerial(c.device)] = c
		f.enqueue(c)
	}
	// A thread of its own, so that what the generator costs can be told from what the loop costs.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := f.until(ctx, time.After(warmUp)); err != nil {
		return sample{}, err
	}
	before, err := f.look()
	if err != nil {
		return sample{}, err
	}
	began := time.Now()
	if err := f.until(ctx, time.After(window)); err != nil {
		return sample{}, err
	}
	wall := time.Since(began)
	after, err := f.look()
	if err != nil {
		return sample{}, err
	}
	f.stopping = true
	err = f.until(ctx, nil)
	return sample{wall, after.messages - before.messages, after.rows - before.rows, after.commits - before.commits,
		after.process - before.process, after.generator - before.generator, after.postgres - before.postgres}, err
}

// look reads all counters at one moment.
func (f *flood) look() (s sample, err error) {
	s.messages, s.rows, s.commits = f.answers, f.h.feed.rows.Load(), f.h.feed.commits.Load()
	if s.process, err = processCPU(); err != nil {
		return s, err
	}
	if s.generator, err = threadCPU(); err != nil {
		return s, err
	}
	s.postgres, err = backendCPU(f.h.backend)
	return s, err
}

// until works until the alarm, or, when it stops, until all commands have ended.
func (f *flood) until(ctx context.Context, alarm <-chan time.Time) error {
	stuck := time.NewTimer(patience)
	defer stuck.Stop()
	for !f.stopping || f.open > 0 {
		f.post()
		select {
		case a := <-f.replies:
			if err := f.answered(a); err != nil {
				return err
			}
		case p := <-f.h.publish:
			c := f.serials[p.Serial]
			if c.handedOut(p); c.next == sent { // else the answer to its wish is still to be read
				f.enqueue(c)
			}
		case <-alarm:
			return nil
		case err := <-f.h.ended:
			return fmt.Errorf("the loop ended: %w", err)
		case <-stuck.C:
			if alarm == nil {
				return fmt.Errorf("%d commands did not end", f.open)
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

func (f *flood) answered(a message.Answer) error {
	c := f.byID[a.MessageID]
	delete(f.byID, a.MessageID)
	f.answers++
	if err := c.decided(a.Outcome); err != nil {
		return err
	}
	switch c.next {
	case answered:
		f.sending--
	case wish:
		f.open--
	}
	if c.ready() {
		f.enqueue(c)
	}
	return nil
}

func (f *flood) enqueue(c *command) {
	rank := min(int(c.next), 2)
	f.waiting[rank] = append(f.waiting[rank], c)
}

// post posts what there is room for. No more wishes are under way than the loop has slots for publishes: what
// it would do with more is to wait.
func (f *flood) post() {
	for rank := range f.waiting {
		for len(f.waiting[rank]) > 0 {
			if rank == 0 && (f.stopping || f.sending >= plant.MaxPublishesOpen || f.open >= underWay) {
				break
			}
			c := f.waiting[rank][0]
			m := c.message(f.h)
			m.Reply = f.replies
			f.byID[m.ID] = c
			if rank == 0 {
				f.sending++
				f.open++
			}
			if !f.h.loop.Post(m) { // cannot be: no more is under way than there is room for
				panic("bench: the inbox is full")
			}
			f.waiting[rank] = f.waiting[rank][1:]
		}
	}
}
