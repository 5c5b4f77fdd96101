package workers

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"surehand/internal/message"
	"surehand/internal/plant"
	"surehand/internal/term"
)

// LineOptions says whom a line works for. All but Count and Log are required.
type LineOptions struct {
	Poster Poster
	Clock  Clock
	NewID  func(now time.Time) string // of messages
	// Drivers makes the driver of an equipment, of its id, type, driver's configuration and number in doubt alone. It does
	// not wait: a driver connects when it runs.
	Drivers func(plant.WatchedEquipment) (Driver, error)
	// Count counts "action_result" with the outcome, "action_late_result", "action_stuck" (a driver that did not
	// return in time), "action_no_room", "acknowledge_failed" and "driver_broke" with the equipment.
	Count func(name, label string)
	Log   *slog.Logger
}

// Line carries out what goes to the cell, and watches its equipment.
type Line struct {
	*desk
	options LineOptions
	working context.Context // ends with Close
	stop    context.CancelFunc
	running sync.WaitGroup // stations

	// Under mu, as all of a station that changes.
	epoch    int64
	stations map[term.EquipmentID]*station
	leaving  map[term.EquipmentID]<-chan struct{} // closed when the last station let go of the equipment
}

// NewLine makes a line that watches nothing until it is told to. Close ends it.
func NewLine(o LineOptions) *Line {
	if o.Count == nil {
		o.Count = func(string, string) {}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	l := &Line{desk: newDesk(o.Poster, o.Clock, o.NewID), options: o,
		stations: map[term.EquipmentID]*station{}, leaving: map[term.EquipmentID]<-chan struct{}{}}
	l.working, l.stop = context.WithCancel(context.Background())
	return l
}

// Start hands an action on and returns at once. The same action twice ends the process (invariant 10).
func (l *Line) Start(a plant.Action) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.remember(a.ActionKey())
	switch a := a.(type) {
	case plant.Perform:
		l.perform(Task{Perform: a, StartedAt: l.clock.Now()})
	case plant.Acknowledge:
		l.acknowledge(a)
	case plant.Watch:
		l.watch(a)
	default:
		panic(fmt.Sprintf("workers: no driver for %T", a))
	}
}

// Close lets go of the equipment at once: what is under way is answered and nothing is written any more. It waits
// until the inbox has taken the answers, or the context ends.
func (l *Line) Close(ctx context.Context) error {
	l.stop()
	err := l.desk.Close(ctx)
	ended := make(chan struct{})
	go func() { l.running.Wait(); close(ended) }()
	select {
	case <-ended:
		return err
	case <-ctx.Done():
		return fmt.Errorf("a driver has not ended: %w", context.Cause(ctx))
	}
}

// watch starts, keeps or replaces a station for each equipment named, and ends the others; the caller holds mu.
func (l *Line) watch(w plant.Watch) {
	l.epoch = w.Epoch
	named := map[term.EquipmentID]bool{}
	for _, e := range w.Equipment {
		e.Config = e.Config.WithDefaults(e.ID)
		named[e.ID] = true
		if s := l.stations[e.ID]; s != nil {
			// What else a plant file says is the loop's: a driver that goes on loses no action that is under way. A number
			// in doubt is of this process life by now, and its driver knows it already.
			if s.equipment.Type == e.Type && s.equipment.Config.Driver == e.Config.Driver {
				continue
			}
			l.letGo(s)
		}
		l.stations[e.ID] = l.newStation(e)
	}
	for id, s := range l.stations {
		if !named[id] {
			l.letGo(s)
		}
	}
	for id, ended := range l.leaving {
		select {
		case <-ended:
			delete(l.leaving, id)
		default:
		}
	}
}

func (l *Line) letGo(s *station) {
	s.cancel()
	delete(l.stations, s.equipment.ID)
	l.leaving[s.equipment.ID] = s.ended
}

// perform finds who does it; the caller holds mu.
func (l *Line) perform(t Task) {
	l.owed++
	s := l.stations[t.EquipmentID]
	switch {
	case s == nil:
		l.end(t, NotBegun(t, fmt.Sprintf("nobody drives %s", t.EquipmentID)))
	case s.equipment.Config.Driver != t.Driver.WithDefaults():
		l.end(t, NotBegun(t, fmt.Sprintf("%s is driven in another way by now", t.EquipmentID)))
	case s.open >= maxOpen:
		l.options.Count("action_no_room", string(t.EquipmentID))
		l.end(t, NotBegun(t, fmt.Sprintf("no room: too many actions wait for %s", t.EquipmentID)))
	default:
		s.open++
		f := &followed{task: t, open: true}
		s.followed = append(s.followed, f)
		go s.carryOut(f)
	}
}

// end answers a task; the caller holds mu.
func (l *Line) end(t Task, e Ending) {
	l.options.Count("action_result", string(e.Outcome))
	l.answer(string(t.TaskID), ended(t, e, false))
}

func ended(t Task, e Ending, late bool) message.ActionEnded {
	return message.ActionEnded{Task: t.TaskID, Kind: t.Type, Attempt: t.Attempt, Epoch: t.Epoch, Outcome: e.Outcome, PartAt: e.PartAt,
		Code: e.Code, Error: e.Error, Late: late, Unsent: e.Unsent && e.Outcome == term.NotDone}
}
