package workers

import (
	"context"
	"errors"
	"time"

	"surehand/internal/message"
	"surehand/internal/term"
)

const (
	// tellEvery is how often an unchanged reading is told.
	tellEvery = time.Second
	// doneAgainAfter is how often a done that stays set is told again: the loop may have lost it with a parked message,
	// or its acknowledgement did not arrive.
	doneAgainAfter = 5 * time.Second
	// maxDones waiting for the inbox. A machine raises the next done only after the last was acknowledged, so there
	// are more than one only where others acknowledge too.
	maxDones = 16
)

// watcher turns readings into messages. It never decides what they mean. It has one message with the loop at a time;
// while the loop has not answered, only the latest reading is kept.
type watcher struct {
	reading   term.Reading
	at        time.Time
	fresh     bool // reading is to be told
	told      string
	toldReady term.Slots // a door that opened lets a part in, and is no difference
	toldAt    time.Time

	before   term.Reading // the last reading that was reached
	dones    []message.MachineDone
	doneAt   time.Time     // when the last one was queued
	asked    DoneCycle     // told last
	asking   bool          // it is with the loop
	taken    bool          // the loop has answered it
	wake     chan struct{} // has room for one
	answered chan struct{} // closed and renewed when the loop has answered a done
}

func newWatcher() watcher {
	return watcher{wake: make(chan struct{}, 1), answered: make(chan struct{})}
}

// report takes a reading from the driver.
func (s *station) report(r term.Reading) {
	now := s.line.clock.Now()
	s.line.mu.Lock()
	defer s.line.mu.Unlock()
	if s.ctx.Err() != nil {
		return
	}
	s.reading, s.at = r, now
	if r.Predicates() != s.told || r.ReadySlots != s.toldReady || now.Sub(s.toldAt) >= tellEvery {
		s.fresh = true
	}
	if r.Reached {
		s.watchDone(r, now)
		s.before = r
	}
	s.look(r)
	if s.fresh || len(s.dones) > 0 {
		select {
		case s.wake <- struct{}{}:
		default:
		}
	}
}

// watchDone queues a done that has risen, or belongs to another cycle, or has stayed for long.
func (s *station) watchDone(r term.Reading, now time.Time) {
	d, ok := DoneOf(r)
	if !ok {
		return
	}
	last, stayed := DoneOf(s.before)
	if stayed && last == d && (now.Sub(s.doneAt) < doneAgainAfter || s.asking || s.acks > 0 || len(s.dones) > 0) {
		return
	}
	if len(s.dones) == maxDones {
		s.dones = s.dones[1:]
	}
	s.doneAt = now
	// A machine that counts is above 0 at its first done.
	s.dones = append(s.dones, message.MachineDone{
		Machine: s.equipment.ID, SlotNo: d.Slot, Exact: d.Slot != 0, Pass: r.Pass, Cycle: d.Cycle, Counted: d.Cycle != 0,
	})
}

// tell posts what there is to tell, one message at a time, until the equipment is let go.
func (s *station) tell() {
	for {
		select {
		case <-s.wake:
		case <-s.ctx.Done():
			return
		}
		for s.tellOne() {
		}
	}
}

// tellOne posts the next message and waits for the loop's answer; false: there is none, or the equipment is let go.
func (s *station) tellOne() bool {
	reply := make(chan message.Answer, 1)
	for wait := firstRetry; ; wait = min(2*wait, longestRetry) {
		m, ok := s.next()
		if !ok {
			return false
		}
		m.Reply = reply
		if s.line.poster.Post(m) {
			break
		}
		s.putBack(m)
		pause(s.ctx, wait)
	}
	select {
	case <-reply:
		s.answeredDone()
		return true
	case <-s.ctx.Done():
		return false
	}
}

// next takes the message that is to be told now: a done before a reading, the reading as it is now.
func (s *station) next() (m message.Message, ok bool) {
	s.line.mu.Lock()
	defer s.line.mu.Unlock()
	if s.ctx.Err() != nil {
		return m, false
	}
	m = message.Message{Source: message.FromDevice, CreatedAt: s.line.clock.Now()}
	switch {
	case len(s.dones) > 0:
		done := s.dones[0]
		m.Payload = done
		s.dones = s.dones[1:]
		s.asked, s.asking, s.taken = DoneCycle{done.Cycle, done.SlotNo}, true, false
	case s.fresh:
		m.Payload = message.EquipmentStatusChanged{Equipment: s.equipment.ID, Epoch: s.line.epoch, Reading: s.reading}
		m.CreatedAt = s.at
		s.fresh, s.told, s.toldReady, s.toldAt = false, s.reading.Predicates(), s.reading.ReadySlots, s.at
	default:
		return m, false
	}
	m.ID = term.MessageID(s.line.newID(m.CreatedAt))
	return m, true
}

// putBack undoes next: the inbox is full.
func (s *station) putBack(m message.Message) {
	s.line.mu.Lock()
	defer s.line.mu.Unlock()
	if done, ok := m.Payload.(message.MachineDone); ok {
		s.dones = append([]message.MachineDone{done}, s.dones...)
		s.asking = false
		return
	}
	s.fresh = true
}

func (s *station) answeredDone() {
	s.line.mu.Lock()
	defer s.line.mu.Unlock()
	if !s.asking {
		return
	}
	s.asking, s.taken = false, true
	close(s.answered)
	s.answered = make(chan struct{})
}

// lastDone is the done that the loop has answered last: it is stored, or the loop has decided what it means. The
// loop's answer comes before the acknowledgement that it leads to, but it may not have been looked at yet.
//
// over: none was told in this process life, none is on its way, and the machine shows none now. What an earlier life
// stored is over then: the machine has taken it back.
func (s *station) lastDone(ctx context.Context) (d DoneCycle, over bool, err error) {
	for {
		s.line.mu.Lock()
		asked, taken, answered := s.asked, s.taken, s.answered
		over := !s.asking && len(s.dones) == 0 && s.reading.Reached && !s.reading.Done
		s.line.mu.Unlock()
		if taken || over {
			return asked, !taken, nil
		}
		select {
		case <-answered:
		case <-ctx.Done():
			return DoneCycle{}, false, errors.New("no done of this machine was told to the loop yet")
		}
	}
}
