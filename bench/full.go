package main

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// fullHouse has more devices than commands are under way at a time.
var fullHouse = houseSpec{valves: 2000}

// fullQueue floods the loop: set-based writes, one commit for up to 512 messages.
func fullQueue(ctx context.Context, s *site) (round, error) {
	h, err := s.house(ctx, "full", fullHouse)
	if err != nil {
		return nil, err
	}
	p, err := s.yardstick(ctx)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) (float64, float64, error) {
		y, err := p.run(ctx, s.options.seconds)
		if err != nil {
			return 0, 0, err
		}
		m, err := h.flood(ctx, fullHouse.valves, s.options.window())
		s.note("%s", m)
		return m.transitionsPerSecond(), y, err
	}, nil
}

// single posts one message, waits for its answer, and posts the next: what a caller sees who does one thing
// after the other.
func single(ctx context.Context, s *site) (round, error) {
	h, err := s.house(ctx, "single", houseSpec{valves: 200})
	if err != nil {
		return nil, err
	}
	p, err := s.yardstick(ctx)
	if err != nil {
		return nil, err
	}
	commands := newCommands(200)
	return func(ctx context.Context) (float64, float64, error) {
		y, err := p.run(ctx, s.options.seconds)
		if err != nil {
			return 0, 0, err
		}
		messages, rows := 0, h.feed.rows.Load()
		began := time.Now()
		for n := 0; time.Since(began) < s.options.window(); n++ {
			took, err := h.walk(ctx, commands[n%len(commands)])
			if err != nil {
				return 0, 0, err
			}
			messages += len(took)
		}
		wall := time.Since(began)
		rows = h.feed.rows.Load() - rows
		s.note("%.0f messages/s, %.2f rows each", float64(messages)/wall.Seconds(), float64(rows)/float64(messages))
		return float64(rows) / 5 / wall.Seconds(), y, nil
	}, nil
}

// walk takes one command through its four messages, one after the other, and tells how long each took.
func (h *house) walk(ctx context.Context, c *command) (took []time.Duration, err error) {
	for {
		m := c.message(h)
		began := time.Now()
		outcomes, err := h.decide(ctx, m)
		took = append(took, time.Since(began))
		if err != nil {
			return nil, err
		}
		if err := c.decided(outcomes[0]); err != nil {
			return nil, err
		}
		switch c.next {
		case sent:
			select {
			case p := <-h.publish:
				c.handedOut(p)
			case <-time.After(patience):
				return nil, fmt.Errorf("no publish for device %d: %+v", c.device, outcomes[0])
			}
		case wish:
			return took, nil
		}
	}
}

// slowCommit: the same flood where every commit waits a millisecond, as on a disk with a slow sync.
func slowCommit(ctx context.Context, s *site) (round, error) {
	fast, err := s.house(ctx, "full", fullHouse)
	if err != nil {
		return nil, err
	}
	slow, err := s.house(ctx, "slow", houseSpec{valves: fullHouse.valves, settings: []string{"commit_delay=1000", "commit_siblings=0"}})
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) (float64, float64, error) {
		without, err := fast.flood(ctx, fullHouse.valves, s.options.window())
		if err != nil {
			return 0, 0, err
		}
		with, err := slow.flood(ctx, fullHouse.valves, s.options.window())
		s.note("without: %s; with: %s", without, with)
		return with.messagesPerSecond(), without.messagesPerSecond(), err
	}, nil
}

func medianMicros(took []time.Duration) float64 {
	if len(took) == 0 {
		return 0
	}
	slices.Sort(took)
	return float64(took[len(took)/2].Nanoseconds()) / 1000
}
