package main

import (
	"context"
	"fmt"
	"time"

	"surehand/internal/message"
	"surehand/internal/plant"
	"surehand/internal/term"
)

// fullQueueEnt: what a full queue of cell work gains by being committed together. A transition is one message of a
// person or of a machine that was accepted: it moves rows of orders, parts, slots, machines, alarms, questions and
// holds from one state to the next, leaves one row in the event log, and, from a person, the key of its request.
//
// The figure gives the loop a turn of 103 such messages, all of different things, as a full inbox would; the yardstick
// gives it the same messages one by one, each a transaction of its own. Both go through the loop's whole turn (ask,
// decide on savepoints, the scheduler's look, commit, answers) on one database; neither has the inbox in it.
//
// dbstate writes up to 11 changes of a kind one ent statement each and more by one statement for all, so no turn here
// has more than 11 of a kind and step, and surveil holds every commit against that. What is left to the set-based path
// are the rows that guard nothing: the log and the keys. Parts and slots that change places are always written one by
// one. With -v stands what turns of 10 reach, in which ent writes everything.
func fullQueueEnt(ctx context.Context, s *site) (round, error) {
	h, err := s.house(ctx, "cell", houseSpec{valves: 1, direct: true})
	if err != nil {
		return nil, err
	}
	cell := &entCell{h: h}
	if err := cell.furnish(ctx); err != nil {
		return nil, fmt.Errorf("furnish the cell: %w", err)
	}
	h.feed.watch = cell.surveil
	return func(ctx context.Context) (float64, float64, error) {
		single, err := cell.run(ctx, s.options.window(), 1)
		if err != nil {
			return 0, 0, err
		}
		few, err := cell.run(ctx, s.options.window()/2, entFew)
		if err != nil {
			return 0, 0, err
		}
		together, err := cell.run(ctx, s.options.window(), len(cell.lanes))
		s.note("together: %s; one by one: %s; log and keys by ent too: %s", together, single, few)
		return together.messagesPerSecond(), single.messagesPerSecond(), err
	}, nil
}

// entCell is a cell that stands still for a recovery, so that the scheduler looks at every turn and moves nothing:
// people set up orders, say where parts are and answer, suspend, send back, while machines fail and recover.
type entCell struct {
	h        *house
	lanes    []*lane
	overfull error
}

// lane is one thing with the messages of its life, again and again: never two of one lane in a turn.
type lane struct {
	life []func(c *entCell, l *lane) message.Message
	next int
	n    int // among its like, from 1
	laps int
}

const (
	entPerStep = 11 // changes of one kind and step that dbstate still writes one by one
	entFew     = 10 // messages whose log rows are, with the scheduler's, not more than that
	// lanes of each like; a third or a half of them are at the same step.
	orderLanes   = 3 * entPerStep
	failLanes    = 15 // 5 machines fail, 5 alarms are seen, 5 machines recover
	moveLanes    = 2 * entPerStep
	suspendLanes = 2 * entPerStep
	reworkLanes  = entPerStep
	machineSlots = 2
	standing     = moveLanes + reworkLanes // parts in the buffer
)

func failingMachine(n int) term.EquipmentID { return named[term.EquipmentID]("press", n) }
func slotOf(n int) term.SlotID {
	return term.NewSlotID(named[term.EquipmentID]("lathe", (n-1)/machineSlots), 1+(n-1)%machineSlots)
}
func standingJob(n int) term.JobID  { return term.NewJobID("standing", n) }
func suspendedJob(n int) term.JobID { return term.NewJobID("coming", n) }

// furnish builds the cell: the machines that fail, the machines that parts are reported in, and the parts.
func (c *entCell) furnish(ctx context.Context) error {
	file := message.ImportPlant{
		Cell: message.ImportCell{Name: "cell-1", Config: term.CellConfig{Dock: term.PlaceRow{Count: standing, First: 1}, Buffer: term.PlaceRow{Count: standing, First: 101}, Exit: 999}},
		Equipment: []message.ImportEquipment{{ID: "robot", Kind: term.KindRobot, Config: term.EquipmentConfig{
			Driver: term.DriverConfig{Type: "modbus-robot", Address: "127.0.0.1:1"}}}},
		Routes: []message.ImportRoute{{ID: "housing", Steps: []message.ImportStep{
			{Step: term.Step{Kind: term.StepMachine, Group: "lathe", Program: 1}}, {Step: term.Step{Kind: term.StepMachine, Group: "press", Program: 1}}}}},
	}
	machine := func(id term.EquipmentID, group string, first int) {
		file.Equipment = append(file.Equipment, message.ImportEquipment{ID: id, Kind: term.KindMachine, Config: term.EquipmentConfig{
			Group: group, Slots: machineSlots, First: first, Driver: term.DriverConfig{Type: "modbus-machine", Address: "127.0.0.1:1"}}})
	}
	for n := range moveLanes / machineSlots {
		machine(named[term.EquipmentID]("lathe", n), "lathe", 201+10*n)
	}
	for n := range failLanes {
		machine(failingMachine(n+1), "press", 501+10*n)
	}
	for _, p := range []message.Payload{file,
		message.CreateOrder{ID: "coming", Route: "housing", Quantity: suspendLanes},
		message.CreateOrder{ID: "standing", Route: "housing", Quantity: standing},
		message.StartOrder{Order: "standing"},
		message.PalletArrived{Pallet: "pallet-1", Order: "standing", Quantity: standing},
	} {
		if err := c.accepted(ctx, c.h.person(p)); err != nil {
			return err
		}
	}
	for n := 1; n <= standing; n++ {
		l := &lane{n: n}
		for _, step := range []func(*entCell, *lane) message.Message{(*entCell).toBuffer, (*entCell).confirm} {
			if err := c.accepted(ctx, step(c, l)); err != nil {
				return err
			}
		}
	}
	return c.addLanes(ctx)
}

// addLanes adds the lanes and brings them to different steps, so that a turn always has the same mix.
func (c *entCell) addLanes(ctx context.Context) error {
	add := func(n int, life ...func(*entCell, *lane) message.Message) {
		for i := 1; i <= n; i++ {
			c.lanes = append(c.lanes, &lane{life: life, n: i})
		}
	}
	add(orderLanes, (*entCell).create, (*entCell).begin, (*entCell).cancel)
	add(failLanes, (*entCell).fail, (*entCell).see, (*entCell).recover)
	add(moveLanes, (*entCell).toSlot, (*entCell).confirm, (*entCell).toBuffer, (*entCell).confirm)
	add(suspendLanes, (*entCell).suspend, (*entCell).resume)
	add(reworkLanes, (*entCell).sendBack)
	for step := range 3 {
		var ahead []*lane
		for _, l := range c.lanes {
			if l.n%len(l.life) > step {
				ahead = append(ahead, l)
			}
		}
		if _, err := c.turn(ctx, ahead); err != nil {
			return err
		}
	}
	return nil
}

// The steps of an order that a person makes, starts, and cancels before anything of it has come.

func (c *entCell) order(l *lane) term.OrderID {
	return term.OrderID(fmt.Sprintf("WO-%d-%d", l.n, l.laps))
}

func (c *entCell) create(l *lane) message.Message {
	l.laps++
	return c.h.person(message.CreateOrder{ID: c.order(l), Route: "housing", Quantity: 1})
}

func (c *entCell) begin(l *lane) message.Message {
	return c.h.person(message.StartOrder{Order: c.order(l)})
}

func (c *entCell) cancel(l *lane) message.Message {
	return c.h.person(message.CancelOrder{Order: c.order(l), Reason: "not wanted"})
}

// The steps of a machine that fails: its status and an alarm, which a person acknowledges before it recovers.

func (c *entCell) fail(l *lane) message.Message    { return c.reading(l, 17, term.MachineFault) }
func (c *entCell) recover(l *lane) message.Message { return c.reading(l, 0, term.MachineIdle) }

func (c *entCell) reading(l *lane, fault int, state term.MachineState) message.Message {
	return c.h.device(message.EquipmentStatusChanged{Equipment: failingMachine(l.n), Epoch: c.h.loop.State().Fence().Epoch,
		Reading: term.Reading{Reached: true, Ready: true, Fault: fault, State: state, ReadySlots: 1<<machineSlots - 1}})
}

func (c *entCell) see(l *lane) message.Message {
	p := message.AckAlarm{}
	if a, ok := c.h.loop.State().AlarmOf(term.AlarmFault, plant.EquipmentSubject(failingMachine(l.n))); ok {
		p.Alarm = a.ID
	}
	return c.h.person(p)
}

// The steps of a part that a person finds elsewhere: a question that shows what would change, and the answer, with
// which part and slot follow.

func (c *entCell) toSlot(l *lane) message.Message {
	return c.h.person(message.ReportPart{Job: standingJob(l.n), Place: term.SlotPlace(slotOf(l.n)), Reason: "seen there"})
}

func (c *entCell) toBuffer(l *lane) message.Message {
	return c.h.person(message.ReportPart{Job: standingJob(l.n), Place: term.BufferPlace(l.n), Reason: "seen there"})
}

func (c *entCell) confirm(l *lane) message.Message {
	p := message.ResolveManualAction{Answer: term.AnswerAccept, Reason: "looked again"}
	if q, ok := c.h.loop.State().QuestionOf(term.FindReportedPart, plant.JobSubject(standingJob(l.n))); ok {
		p.Question, p.Version, p.Hash = q.ID, q.Version, q.Hash
	}
	return c.h.person(p)
}

func (c *entCell) suspend(l *lane) message.Message {
	return c.h.person(message.SuspendJob{Job: suspendedJob(l.n), Reason: "material"})
}

func (c *entCell) resume(l *lane) message.Message {
	return c.h.person(message.ResumeJob{Job: suspendedJob(l.n)})
}

// sendBack is for the parts in the buffer that no lane moves.
func (c *entCell) sendBack(l *lane) message.Message {
	return c.h.person(message.ReworkJob{Job: standingJob(moveLanes + l.n), Step: 1, Reason: "scratched"})
}

// run gives the loop turns of so many messages, for a time that only the turns count to.
func (c *entCell) run(ctx context.Context, window time.Duration, perTurn int) (m sample, err error) {
	before, err := c.counters()
	if err != nil {
		return m, err
	}
	for m.wall < window {
		for first := 0; first < len(c.lanes); first += perTurn {
			took, err := c.turn(ctx, c.lanes[first:min(len(c.lanes), first+perTurn)])
			if err != nil {
				return m, err
			}
			m.wall += took
		}
		m.messages += int64(len(c.lanes))
	}
	after, err := c.counters()
	m.rows, m.commits = after.rows-before.rows, after.commits-before.commits
	m.process, m.postgres = after.process-before.process, after.postgres-before.postgres
	return m, err
}

func (c *entCell) counters() (m sample, err error) {
	m.rows, m.commits = c.h.feed.rows.Load(), c.h.feed.commits.Load()
	if m.process, err = processCPU(); err != nil {
		return m, err
	}
	m.postgres, err = backendCPU(c.h.backend)
	return m, err
}

// turn has the next messages of some lanes decided in one turn.
func (c *entCell) turn(ctx context.Context, lanes []*lane) (took time.Duration, err error) {
	batch := make([]message.Message, len(lanes))
	for i, l := range lanes {
		batch[i] = l.life[l.next](c, l)
		l.next = (l.next + 1) % len(l.life)
	}
	began := time.Now()
	err = c.accepted(ctx, batch...)
	took = time.Since(began)
	if err == nil {
		err = c.overfull
	}
	return took, err
}

func (c *entCell) accepted(ctx context.Context, batch ...message.Message) error {
	outcomes, err := c.h.decide(ctx, batch...)
	if err != nil {
		return err
	}
	for i, o := range outcomes {
		if o.Code != message.Accepted {
			return fmt.Errorf("%s %+v was not accepted: %+v", batch[i].Payload.Type(), batch[i].Payload, o)
		}
	}
	return nil
}

// surveil looks at a commit: does any of it go to the set-based path that should not?
func (c *entCell) surveil(committed plant.Committed) {
	type step struct {
		kind         plant.Kind
		insert, ends bool
	}
	counted := map[step]int{}
	for _, change := range committed.Changes {
		if change.After.Kind() != plant.KindKey && !movesPart(change) {
			counted[step{change.After.Kind(), change.Before == nil, change.Before != nil && !change.After.Open()}]++
		}
	}
	for s, n := range counted {
		if n > entPerStep {
			c.overfull = fmt.Errorf("a turn has %d changes of %+v: not what is to be measured", n, s)
		}
	}
}

// movesPart tells whether a part or a slot changes places: dbstate writes these one by one, however many.
func movesPart(change plant.Change) bool {
	switch after := change.After.(type) {
	case *plant.Job:
		before, _ := change.Before.(*plant.Job)
		return before != nil && before.Position != after.Position
	case *plant.Slot:
		before, _ := change.Before.(*plant.Slot)
		return before != nil && before.JobID != after.JobID
	}
	return false
}
