package workers

import (
	"context"
	"fmt"
	"slices"
	"time"

	"surehand/internal/message"
	"surehand/internal/plant"
	"surehand/internal/term"
)

const (
	// maxOpen bounds the actions of one equipment, stuck ones too.
	maxOpen = 2 * plant.MaxSlots
	// afterLettingGo is how long a driver may take to answer once its context has ended.
	afterLettingGo = time.Second
	// acknowledgeWithin bounds one acknowledgement; the loop asks again as long as done stays.
	acknowledgeWithin = 5 * time.Second
	// runAgainAfter a driver that broke.
	runAgainAfter = time.Second
)

// station is one equipment with its driver, from one Watch to the one that changes it. What changes is under the
// line's mu.
type station struct {
	line      *Line
	equipment plant.WatchedEquipment
	driver    Driver
	ctx       context.Context // ends when the equipment is let go
	cancel    context.CancelFunc
	ended     chan struct{} // closed when the driver has let go
	watcher

	open     int // actions with the driver, stuck ones too
	followed []*followed
	acks     int // acknowledgements asked for and not done; the last of them stands for all
}

// followed is an action whose number is looked for in readings: while it is open, and after an unknown outcome until
// a newer number was begun.
type followed struct {
	task Task
	open bool
	seen *Ending // a reading told how it ended
}

// newStation begins to watch; the caller holds the line's mu.
func (l *Line) newStation(e plant.WatchedEquipment) *station {
	driver, err := l.options.Drivers(e)
	if err != nil {
		l.options.Log.Error("an equipment cannot be driven", "equipment", e.ID, "error", err)
		driver = undriven{err}
	}
	s := &station{line: l, equipment: e, driver: driver, ended: make(chan struct{}), watcher: newWatcher()}
	s.ctx, s.cancel = context.WithCancel(l.working)
	before := l.leaving[e.ID]
	delete(l.leaving, e.ID)
	l.running.Go(func() { s.run(before) })
	l.running.Go(s.tell)
	return s
}

// run lets the driver work, after the one before has let go: some controllers take one connection only.
func (s *station) run(before <-chan struct{}) {
	defer close(s.ended)
	if before != nil {
		<-before
	}
	for s.ctx.Err() == nil {
		s.runDriver()
		pause(s.ctx, runAgainAfter)
	}
}

func (s *station) runDriver() {
	defer func() {
		if fault := recover(); fault != nil {
			s.line.options.Count("driver_broke", string(s.equipment.ID))
			s.line.options.Log.Error("a driver broke", "equipment", s.equipment.ID, "fault", fault)
			s.report(term.Reading{Error: fmt.Sprintf("the driver broke: %v", fault)})
		}
	}()
	s.driver.Run(s.ctx, s.report)
}

// carryOut answers exactly once, whatever the driver does.
func (s *station) carryOut(f *followed) {
	ctx, cancel := context.WithTimeout(s.ctx, f.task.Within()+SettleFor)
	defer cancel()
	answer := make(chan Ending, 1)
	go func() {
		defer s.driverReturned()
		answer <- s.perform(ctx, f.task)
	}()
	var e Ending
	select {
	case e = <-answer:
	case <-ctx.Done():
		stuck := time.NewTimer(afterLettingGo)
		defer stuck.Stop()
		select {
		case e = <-answer:
		case <-stuck.C:
			s.line.options.Count("action_stuck", string(s.equipment.ID))
			e = InDoubt("the driver did not answer in time")
		}
	}
	s.line.mu.Lock()
	defer s.line.mu.Unlock()
	s.line.end(f.task, e)
	s.followOn(f, e)
}

func (s *station) perform(ctx context.Context, t Task) (e Ending) {
	defer func() {
		if fault := recover(); fault != nil {
			s.line.options.Count("driver_broke", string(s.equipment.ID))
			e = InDoubt(fmt.Sprintf("the driver broke: %v", fault))
		}
	}()
	e = s.driver.Perform(ctx, t)
	switch e.Outcome {
	case term.Done, term.NotDone, term.Unknown:
		return e
	}
	return InDoubt(fmt.Sprintf("the driver answered %q", e.Outcome))
}

func (s *station) driverReturned() {
	s.line.mu.Lock()
	defer s.line.mu.Unlock()
	s.open--
}

// followOn goes on looking for the number of an action whose outcome is unknown; the caller holds mu.
func (s *station) followOn(f *followed, e Ending) {
	f.open = false
	numbered := f.task.ActionNo != 0 && f.task.Type != term.TaskScan
	if e.Outcome == term.Unknown && numbered && s.ctx.Err() == nil && f.seen == nil {
		return
	}
	s.followed = slices.DeleteFunc(s.followed, func(other *followed) bool { return other == f })
	if e.Outcome == term.Unknown && f.seen != nil {
		s.late(f, *f.seen)
	}
}

// look compares a reading with the numbers that are followed; the caller holds mu.
func (s *station) look(r term.Reading) {
	if !r.Reached {
		return
	}
	s.followed = slices.DeleteFunc(s.followed, func(f *followed) bool {
		e, ok := Concluded(f.task.Perform, r)
		ok = ok && e.Outcome != term.Unknown
		switch {
		case f.open:
			if ok {
				f.seen = &e
			}
			return false
		case ok:
			s.late(f, e)
			return true
		}
		return r.Echo != 0 && term.NumberNewer(f.task.ActionNo, r.Echo)
	})
}

func (s *station) late(f *followed, e Ending) {
	s.line.options.Count("action_late_result", string(e.Outcome))
	s.line.say(string(f.task.TaskID), ended(f.task, e, true))
}

// acknowledge tells a machine, in the background, that the last done that the loop has answered is stored; the caller
// holds mu.
func (l *Line) acknowledge(a plant.Acknowledge) {
	s := l.stations[a.EquipmentID]
	if s == nil {
		l.options.Count("acknowledge_failed", string(a.EquipmentID))
		return
	}
	s.acks++
	if s.acks == 1 {
		l.running.Go(s.acknowledgeAll)
	}
}

func (s *station) acknowledgeAll() {
	s.line.mu.Lock()
	defer s.line.mu.Unlock()
	for s.acks > 0 {
		s.acks = 1
		s.line.mu.Unlock()
		err := s.acknowledgeOne()
		s.line.mu.Lock()
		s.acks--
		if err != nil && s.ctx.Err() == nil {
			s.line.options.Count("acknowledge_failed", string(s.equipment.ID))
			s.line.options.Log.Warn("a done is not acknowledged yet", "equipment", s.equipment.ID, "error", err)
		}
	}
}

func (s *station) acknowledgeOne() (err error) {
	ctx, cancel := context.WithTimeout(s.ctx, acknowledgeWithin)
	defer cancel()
	defer func() {
		if fault := recover(); fault != nil {
			err = fmt.Errorf("the driver broke: %v", fault)
		}
	}()
	told := func() {
		s.line.mu.Lock()
		defer s.line.mu.Unlock()
		s.line.say("", message.DoneAcknowledged{Machine: s.equipment.ID})
	}
	if s.equipment.Type != term.KindMachine { // an ended action of the robot, which the loop has judged
		return s.driver.Acknowledge(ctx, DoneCycle{}, told)
	}
	d, over, err := s.lastDone(ctx)
	if err != nil {
		return err
	}
	if over {
		told()
		return nil
	}
	return s.driver.Acknowledge(ctx, d, told)
}

// undriven stands in for a driver that could not be made.
type undriven struct{ err error }

func (u undriven) Run(ctx context.Context, report func(term.Reading)) {
	for ctx.Err() == nil {
		report(term.Reading{Error: u.err.Error()})
		pause(ctx, tellEvery)
	}
}

func (u undriven) Perform(_ context.Context, t Task) Ending { return NotBegun(t, u.err.Error()) }

func (u undriven) Acknowledge(context.Context, DoneCycle, func()) error { return u.err }

// pause waits, or until the context ends.
func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
