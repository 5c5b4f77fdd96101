package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"surehand/internal/loop/looptest"
	"surehand/internal/message"
	"surehand/internal/plant"
	"surehand/internal/production"
	"surehand/internal/recovery"
	"surehand/internal/scheduler"
	"surehand/internal/term"
)

// plan: how long the scheduler needs to look at the picture and decide. The pictures are those of shifts in a cell of
// six machines, eight buffer places and a scanner, played with the production deciders and looptest's line in virtual
// time: each is measured once, in the turn and at the moment in which the loop would ask, while twenty parts or more
// wait on the dock and at least 28 are there in all. What a shift does differs by its seed: routes, priorities, times.
//
// The goal is a time, so the yardstick is one millisecond. Beside it, with -v, stands what copying the same cell
// costs, which Plan does too before it decides.
func plan(_ context.Context, s *site) (round, error) {
	seed := uint64(0)
	return func(ctx context.Context) (float64, float64, error) {
		var took, copied []time.Duration
		parts, chose := 0, 0
		for began := time.Now(); time.Since(began) < s.options.window() && ctx.Err() == nil; {
			seed++
			shift, err := newShift(seed)
			if err != nil {
				return 0, 0, err
			}
			shift.measure = func(tx *plant.Tx) {
				at := time.Now()
				c := scheduler.Look(tx.State(), tx.Session(), tx.Now())
				d := scheduler.Plan(c)
				decided := time.Now()
				_ = c.Clone()
				took, copied = append(took, decided.Sub(at)), append(copied, time.Since(decided))
				parts += len(c.Parts)
				if d.Move != nil {
					chose++
				}
			}
			if err := shift.run(); err != nil {
				return 0, 0, fmt.Errorf("shift of seed %d: %w", seed, err)
			}
		}
		if len(took) == 0 {
			return 0, 0, fmt.Errorf("no picture was measured in %d shifts", seed)
		}
		s.note("%d pictures of %.1f parts, %d with a move; µs: p50 %.0f, p99 %.0f; a copy of the cell: p99 %.1f", len(took), float64(parts)/float64(len(took)),
			chose, micros(percentile(took, 50)), micros(percentile(took, 99)), micros(percentile(copied, 99)))
		return micros(percentile(took, 99)) / 1000, 1, nil
	}, nil
}

func percentile(took []time.Duration, p int) time.Duration {
	slices.Sort(took)
	return took[min(len(took)-1, len(took)*p/100)]
}

func micros(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 }

// shift is a cell at work in virtual time: the deciders and the picture of the product without a store, and a line
// with a robot that moves parts which are really somewhere.
type shift struct {
	state   *plant.State
	session *plant.Session
	mint    *looptest.Mint
	line    *looptest.Line
	now     time.Time
	measure func(*plant.Tx) // called where the scheduler is asked, when enough parts are there
}

const (
	planInside = 8
	planDock   = 20
	// planPallet is what the second pallet brings: the shift is measured until fewer than planDock of it are left.
	planPallet = planDock + 8
	shiftBound = 4 * time.Hour
)

func newShift(seed uint64) (*shift, error) {
	chance := rand.New(rand.NewPCG(seed, 1))
	now := time.Date(2026, 11, 30, 6, 0, 0, 0, time.UTC)
	state, err := plant.Load(plant.Fence{Installation: "bench", Generation: "bench", Epoch: 1, Life: "bench"}, nil)
	if err != nil {
		return nil, err
	}
	w := &shift{state: state, session: plant.NewSession(), mint: looptest.NewMint(seed), line: looptest.NewLine(now), now: now}
	file := sixMachines(chance)
	w.line.Exit = file.Cell.Config.Exit
	w.line.MoveTime = time.Duration(2+chance.IntN(6)) * time.Second
	w.line.CycleTime = time.Duration(10+chance.IntN(90)) * time.Second
	if err := w.accept(file); err != nil {
		return nil, err
	}
	if err := w.until(func() bool { return w.state.HeldFor(plant.CellSubject) == "" }); err != nil {
		return nil, fmt.Errorf("the cell is not released: %w", err)
	}
	// The parts of the first order fill the buffer, those of the second the dock.
	if err := w.order("first", planInside, chance); err != nil {
		return nil, err
	}
	if err := w.until(func() bool { return w.onDock() == 0 }); err != nil {
		return nil, fmt.Errorf("the first order is not brought in: %w", err)
	}
	if err := w.accept(message.PalletLeft{Pallet: "first"}); err != nil {
		return nil, err
	}
	return w, w.order("second", planPallet, chance)
}

// sixMachines is a plant of six machines in three groups, two of them for batches, with a scanner.
func sixMachines(chance *rand.Rand) message.ImportPlant {
	equipment := func(id term.EquipmentID, kind term.EquipmentKind, group, driver string, slots, first int) message.ImportEquipment {
		return message.ImportEquipment{ID: id, Kind: kind, Config: term.EquipmentConfig{Group: group, Slots: slots, Batch: group == "heat", First: first,
			MaxWait: term.Duration(2 * time.Minute), ActionTime: term.Duration(time.Minute), Driver: term.DriverConfig{Type: driver, Address: "127.0.0.1:1"}}}
	}
	machine := func(id term.EquipmentID, group string, slots, first int) message.ImportEquipment {
		return equipment(id, term.KindMachine, group, "modbus-machine", slots, first)
	}
	file := message.ImportPlant{
		Cell: message.ImportCell{Name: "cell-1", Config: term.CellConfig{Dock: term.PlaceRow{Count: planPallet, First: 1}, Buffer: term.PlaceRow{Count: planInside, First: 101},
			Exit: 999, Options: term.CellOptions{AutomaticRelease: true, RefillAt: 1, RefillBy: 1}}},
		Equipment: []message.ImportEquipment{equipment("robot", term.KindRobot, "robot", "modbus-robot", 0, 0),
			machine("lathe-1", "turning", 1, 201), machine("lathe-2", "turning", 2, 211), machine("mill-1", "milling", 2, 221), machine("mill-2", "milling", 1, 231),
			machine("oven-1", "heat", 4, 241), machine("oven-2", "heat", 4, 251), equipment("scanner", term.KindScanner, "scanner", "tcp-scanner", 0, 261)},
	}
	groups := []string{"turning", "milling", "heat"}
	for n := range 4 { // routes of all steps in any order, some twice
		r := message.ImportRoute{ID: named[term.RouteID]("route", n)}
		for range 2 + chance.IntN(4) {
			r.Steps = append(r.Steps, message.ImportStep{Step: term.Step{Kind: term.StepMachine, Group: groups[chance.IntN(len(groups))], Program: 1}})
		}
		r.Steps = append(r.Steps, message.ImportStep{Step: term.Step{Kind: term.StepScan, Group: "scanner"}})
		file.Routes = append(file.Routes, r)
	}
	return file
}

// order makes an order whose parts all come on one pallet of the same name, and starts it.
func (w *shift) order(name string, parts int, chance *rand.Rand) error {
	id := term.OrderID(name)
	for _, p := range []message.Payload{
		message.CreateOrder{ID: id, Route: named[term.RouteID]("route", chance.IntN(4)), Quantity: parts, Priority: chance.IntN(3)},
		message.PalletArrived{Pallet: term.PalletID(name), Order: id, Quantity: parts},
	} {
		if err := w.accept(p); err != nil {
			return err
		}
	}
	w.line.Arrive(name, 1, parts)
	return w.accept(message.StartOrder{Order: id})
}

func (w *shift) onDock() (n int) {
	for _, j := range w.state.Placed() {
		if j.Position.Type == term.OnDock {
			n++
		}
	}
	return n
}

// run works on while the dock is as full as it is to be.
func (w *shift) run() error {
	if err := w.until(func() bool { return w.onDock() < planDock }); err != nil {
		return err
	}
	if len(w.line.Violations) > 0 {
		return fmt.Errorf("%v", w.line.Violations)
	}
	return nil
}

// until lets time pass from one thing that happens to the next, until something is so.
func (w *shift) until(so func() bool) error {
	for end := w.now.Add(shiftBound); !so(); {
		next := w.line.Next()
		if due, ok := w.state.NextDue(); ok && due.At.Before(next) {
			next = due.At
		}
		if next.After(w.now) {
			w.now = next
		}
		if w.now.After(end) {
			return fmt.Errorf("nothing came of it in %s: %s", shiftBound, w.line)
		}
		w.turn(w.line.Step(w.now))
	}
	return nil
}

func (w *shift) accept(p message.Payload) error {
	if o := w.turn([]message.Message{{Source: message.FromPerson, Actor: "kim", Payload: p}})[0]; o.Code != message.Accepted {
		return fmt.Errorf("%s was not accepted: %+v", p.Type(), o)
	}
	return nil
}

// turn is the loop's turn without a store: messages, timers that are due, the scheduler, and then the actions.
func (w *shift) turn(batch []message.Message) []message.Outcome {
	work := w.state.Begin(w.now, w.mint, w.session, nil, nil)
	var outcomes []message.Outcome
	for _, m := range batch {
		m.ID, m.CreatedAt = term.MessageID(w.mint.ID(w.now)), w.now
		outcomes = append(outcomes, w.one(work, m))
	}
	for due, ok := w.state.NextDue(); ok && !due.At.After(w.now); due, ok = w.state.NextDue() {
		if o := w.one(work, message.Message{Payload: message.StepTimeout{Due: due}}); o.Code != message.Accepted {
			panic(fmt.Sprintf("bench: a timer changed nothing: %+v", due))
		}
	}
	if work.CellTouched() {
		if w.measure != nil && len(w.state.Placed()) >= planInside+planDock && w.onDock() >= planDock {
			tx := work.Tx()
			w.measure(tx)
			work.Close(tx)
		}
		w.one(work, message.Message{Payload: message.ScheduleTick{}})
	}
	_, actions := work.Accept(work.Batch())
	w.line.Take(actions)
	return outcomes
}

// one decides one message of those that a shift has.
func (w *shift) one(work *plant.Work, m message.Message) message.Outcome {
	tx := work.Tx()
	outcome := w.decide(tx, m)
	if outcome.Code == message.Accepted {
		work.Keep(tx, plant.Entry{MessageID: m.ID, Type: m.Payload.Type(), Outcome: "accepted", Subject: outcome.Subject})
		return outcome
	}
	if outcome.Code != message.Noted {
		work.Drop(tx)
	}
	work.Close(tx)
	return outcome
}

func (w *shift) decide(tx *plant.Tx, m message.Message) message.Outcome {
	switch p := m.Payload.(type) {
	case message.EquipmentStatusChanged:
		return recovery.Observed(tx, p)
	case message.ActionEnded:
		return production.ActionEnded(tx, p)
	case message.MachineDone:
		return production.MachineDone(tx, p)
	case message.DoneAcknowledged:
		return production.DoneAcknowledged(tx, p)
	case message.StepTimeout:
		if p.Due.Kind == plant.KindCell {
			return production.Woken(tx, p.Due)
		}
		return production.StepTimeout(tx, p)
	case message.ScheduleTick:
		return production.Schedule(tx)
	case message.ImportPlant:
		return production.ImportPlant(tx, p)
	case message.CreateOrder:
		return production.CreateOrder(tx, m, p, message.Known{})
	case message.StartOrder:
		return production.StartOrder(tx, p)
	case message.PalletArrived:
		return production.PalletArrived(tx, p, message.Known{})
	case message.PalletLeft:
		return production.PalletLeft(tx, p)
	}
	panic(fmt.Sprintf("bench: a shift has no %T", m.Payload))
}
