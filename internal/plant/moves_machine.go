package plant

import (
	"time"

	"surehand/internal/term"
)

func (tx *Tx) moveSlot(m Move[term.SlotState], id term.SlotID, set func(*Slot)) *Slot {
	s, ok := tx.w.state.slots[id]
	if !ok {
		broken(6, "%s of slot %s, which does not exist", m.Name, id)
	}
	m.check(string(id), s.State)
	n := *s
	n.Version++
	if m.To != "" {
		n.State = m.To
	}
	if set != nil {
		set(&n)
	}
	if n.JobID != s.JobID {
		tx.w.session.Record(n.EquipmentID, tx.Now())
	}
	tx.put(m.Name, s, &n)
	return &n
}

// EmptySlot: the part has left.
func (tx *Tx) EmptySlot(id term.SlotID) *Slot {
	return tx.moveSlot(slotUnload, id, func(n *Slot) {
		n.JobID, n.EnteredAt, n.StartedAt, n.DueAt = "", time.Time{}, time.Time{}, time.Time{}
	})
}

// StartSlot: the machine confirmed that it works on the part; due is when that counts as overdue (zero: never).
func (tx *Tx) StartSlot(id term.SlotID, due time.Time) *Slot {
	if j, ok := tx.w.state.JobAt(term.SlotPlace(id)); ok && j.State == term.Processing {
		tx.moveJob(jobWork, j.ID, nil) // so that the part's own story tells it
	}
	return tx.moveSlot(slotStart, id, func(n *Slot) { n.StartedAt, n.DueAt = tx.Now(), Micros(due) })
}

// PostponeSlot sets when the step counts as overdue (zero: never); restart forgets its start.
func (tx *Tx) PostponeSlot(id term.SlotID, due time.Time, restart bool) *Slot {
	return tx.moveSlot(slotWait, id, func(n *Slot) {
		if n.DueAt = Micros(due); restart {
			n.StartedAt = time.Time{}
		}
	})
}

// FinishSlotIfOccupied: the machine has done with the part in it. The part's step is completed by its own move.
func (tx *Tx) FinishSlotIfOccupied(id term.SlotID) *Slot {
	return tx.moveSlot(slotFinish, id, func(n *Slot) { n.DueAt = time.Time{} })
}

// moveEquipment is the only writer of what was observed of an equipment.
func (tx *Tx) moveEquipment(move string, id term.EquipmentID, set func(*Equipment)) *Equipment {
	e, ok := tx.w.state.equipment[id]
	if !ok {
		broken(6, "%s of equipment %s, which does not exist", move, id)
	}
	n := *e
	n.Version++
	set(&n)
	tx.put(move, e, &n)
	return &n
}

// SetEquipmentStatus stores a changed status.
func (tx *Tx) SetEquipmentStatus(id term.EquipmentID, s term.EquipmentStatus) {
	if e, ok := tx.w.state.equipment[id]; ok && e.Status == s {
		return
	}
	tx.moveEquipment("SetEquipmentStatus", id, func(n *Equipment) { n.Status = s })
}

// LatchDone stores that a done was seen, in the same commit as what it finished; after the commit the machine
// is told. counted: the machine has a cycle counter.
func (tx *Tx) LatchDone(id term.EquipmentID, cycle uint32, counted bool) {
	tx.moveEquipment("LatchDone", id, func(n *Equipment) {
		n.Latch, n.Cycle, n.HasCycle = term.LatchSeen, cycle, counted
	})
	tx.acknowledge(id)
}

// AcknowledgeDone tells a machine again, after the commit, that its done is stored: the last time may not have reached
// it. It is a change of the row, because only what was committed is handed out.
func (tx *Tx) AcknowledgeDone(id term.EquipmentID) {
	if e := tx.w.state.equipment[id]; e == nil || e.Latch == term.LatchNone {
		broken(9, "a done of %s would be acknowledged that was not stored", id)
	}
	tx.moveEquipment("AcknowledgeDone", id, func(n *Equipment) { n.Latch = term.LatchSeen })
	tx.acknowledge(id)
}

// AcknowledgeEnd lets a robot take back, after the commit, what it shows of an action that has ended and whose outcome
// is in the record: a controller keeps done and error until then.
func (tx *Tx) AcknowledgeEnd(id term.EquipmentID) {
	if t, busy := tx.w.state.RobotTask(); busy {
		broken(10, "the end of an action would be acknowledged while task %s is %s", t.ID, t.State)
	}
	tx.moveEquipment("AcknowledgeEnd", id, func(*Equipment) {})
	tx.acknowledge(id)
}

func (tx *Tx) acknowledge(id term.EquipmentID) {
	tx.start(Acknowledge{EquipmentID: id, Driver: tx.w.state.equipment[id].Config.Driver, MessageID: tx.NewID()})
}

// DoneAcknowledged: the machine was told.
func (tx *Tx) DoneAcknowledged(id term.EquipmentID) {
	if e := tx.w.state.equipment[id]; e == nil || e.Latch != term.LatchSeen {
		return
	}
	tx.moveEquipment("DoneAcknowledged", id, func(n *Equipment) { n.Latch = term.LatchAcked })
}

// ReleaseLatch: done was read as 0 after our acknowledgement.
func (tx *Tx) ReleaseLatch(id term.EquipmentID) {
	if e := tx.w.state.equipment[id]; e == nil || e.Latch == term.LatchNone {
		return
	}
	tx.moveEquipment("ReleaseLatch", id, func(n *Equipment) { n.Latch = term.LatchNone })
}

// moveCell is the only writer of the cell.
func (tx *Tx) moveCell(move string, set func(*Cell)) {
	c := tx.w.state.cell
	if c == nil {
		broken(6, "%s, and there is no cell", move)
	}
	n := *c
	n.Version++
	set(&n)
	tx.put(move, c, &n)
}

// WaitInCell stores why nothing moves, when that changes, and when to look again (zero: only when something happens).
func (tx *Tx) WaitInCell(why string, p *term.Plan, again time.Time) {
	c := tx.w.state.cell
	why = Printable(why)
	if c == nil || c.WaitingFor == why && c.DueAt.Equal(Micros(again)) {
		return
	}
	tx.moveCell("WaitInCell", func(n *Cell) { n.WaitingFor, n.Plan, n.DueAt = why, normal(p), Micros(again) })
}

// AskRefill lets parts be brought from the dock although fewer places than usual are free; false: it was done.
func (tx *Tx) AskRefill(asked bool) {
	if c := tx.w.state.cell; c != nil && c.RefillAsked != asked {
		tx.moveCell("AskRefill", func(n *Cell) { n.RefillAsked = asked })
	}
}

// MarkCellClean: a drain has ended with nothing under way.
func (tx *Tx) MarkCellClean() {
	if c := tx.w.state.cell; c != nil && !c.Clean {
		tx.moveCell("MarkCellClean", func(n *Cell) { n.Clean = true })
	}
}

// MarkCellUsed: it is not certain any more that nothing was handed out since the last drain.
func (tx *Tx) MarkCellUsed() {
	if c := tx.w.state.cell; c != nil && c.Clean {
		tx.moveCell("MarkCellUsed", func(n *Cell) { n.Clean = false })
	}
}

// AcceptEcho takes over a number that a machine knows and the record does not: numbering goes on above it.
func (tx *Tx) AcceptEcho(no uint32) {
	if c := tx.w.state.cell; c != nil && term.MayBegin(c.LastActionNo, no) {
		tx.moveCell("AcceptEcho", func(n *Cell) { n.LastActionNo = no })
	}
}

// nextActionNo draws a number that no action and no start ever had. 0 is never used: it is what a new controller shows.
func (tx *Tx) nextActionNo() uint32 {
	session := tx.w.session
	tx.moveCell("DrawActionNo", func(n *Cell) {
		if term.MayBegin(n.LastActionNo, session.floor) {
			n.LastActionNo = session.floor
		}
		if n.LastActionNo++; n.LastActionNo == 0 {
			n.LastActionNo = 1
		}
		n.Clean, n.WaitingFor, n.Plan, n.DueAt = false, "", nil, time.Time{}
	})
	session.drawn = tx.w.state.cell.LastActionNo
	return session.drawn
}

// ClaimJobForAction claims a part for one robot or tool action, writes the task and hands it out after the commit.
// The robot must be free. The part stays where it is in the record until the result.
func (tx *Tx) ClaimJobForAction(id term.JobID, kind term.TaskKind, by term.EquipmentID, to term.Place, plan *term.Plan) *Task {
	if t, busy := tx.w.state.RobotTask(); busy {
		broken(10, "an action for %s while task %s is %s", id, t.ID, t.State)
	}
	j := tx.moveJob(jobClaim, id, nil)
	if o := tx.w.state.orders[j.OrderID]; o != nil && o.State == term.OrderReady {
		tx.moveOrder(orderBegin, o.ID, func(n *Order) { n.StartedAt = tx.Now() })
	}
	return tx.createTask(Task{Type: kind, JobID: id, OrderID: j.OrderID, EquipmentID: by, From: j.Position, To: to, Plan: plan})
}

// StartMachine asks a machine to work on the parts in some of its slots.
func (tx *Tx) StartMachine(id term.EquipmentID, slot int, slots []int, program int) *Task {
	if t, open := tx.w.state.StartOf(id); open {
		broken(10, "a start of %s while task %s is %s", id, t.ID, t.State)
	}
	if e := tx.w.state.equipment[id]; e == nil || e.Latch != term.LatchNone {
		broken(9, "a start of %s, whose done of the last cycle is not over", id)
	}
	return tx.createTask(Task{Type: term.TaskStartMachine, EquipmentID: id, Slot: slot, Slots: slots, Program: program})
}

// createTask writes a task and starts it: one row, committed before anything leaves.
func (tx *Tx) createTask(t Task) *Task {
	e := tx.w.state.equipment[t.EquipmentID]
	if e == nil {
		broken(6, "a task of equipment %s, which does not exist", t.EquipmentID)
	}
	t.ID, t.Version, t.State, t.CreatedAt = term.TaskID(tx.NewID()), 1, term.TaskPending, tx.Now()
	t.ActionNo, t.Attempt, t.Epoch, t.Plan = tx.nextActionNo(), 1, tx.w.state.fence.Epoch, normal(t.Plan)
	tx.put("CreateTask", nil, &t)
	bound := time.Duration(e.Config.ActionTime)
	n := tx.moveTask(taskStart, t.ID, func(n *Task) { n.DueAt = Micros(tx.Now().Add(bound + bound/2)) })
	c := tx.w.state.cell
	tx.start(Perform{TaskID: t.ID, Type: t.Type, EquipmentID: t.EquipmentID, Driver: e.Config.Driver, ActionNo: t.ActionNo,
		Attempt: t.Attempt, Epoch: t.Epoch, From: c.number(tx.w.state, t.From), To: c.number(tx.w.state, t.To),
		FromGripper: t.From.Type == term.OnRobot, Present: t.To.Type == term.OnRobot, Slot: t.Slot, Program: t.Program,
		Text: tx.markText(&t), FencedAt: tx.Now(), Bound: bound})
	return n
}

// markText is what a mark puts on its part; empty for other actions. What cannot be marked is refused by the driver, so
// that a person is asked.
func (tx *Tx) markText(t *Task) string {
	j, o := tx.w.state.jobs[t.JobID], tx.w.state.orders[t.OrderID]
	if t.Type != term.TaskMark || j == nil || o == nil {
		return ""
	}
	step, _ := o.Step(j)
	return MarkText(step.Text, j)
}

// number of a place on the wire; 0 for the gripper.
func (c *Cell) number(s *State, p term.Place) int {
	switch p.Type {
	case term.OnDock:
		return c.Config.Dock.First + p.Number() - 1
	case term.OnBuffer:
		return c.Config.Buffer.First + p.Number() - 1
	case term.OnEquipment:
		id, n := p.Slot()
		if e := s.equipment[id]; e != nil {
			return e.Config.First + n - 1
		}
	case term.OnRobot:
		if e := s.equipment[term.EquipmentID(p.Ref)]; e != nil {
			return e.Config.First
		}
	case term.Out:
		return c.Config.Exit
	}
	return 0
}

func (tx *Tx) moveTask(m Move[term.TaskState], id term.TaskID, set func(*Task)) *Task {
	t, ok := tx.w.state.tasks[id]
	if !ok {
		broken(6, "%s of task %s, which is not open", m.Name, id)
	}
	m.check(string(id), t.State)
	n := *t
	n.Version++
	n.State = m.To
	if set != nil {
		set(&n)
	}
	if n.State != term.TaskRunning {
		n.DueAt = time.Time{}
	}
	if n.State.Ended() {
		n.EndedAt = tx.Now()
		tx.w.session.Record(n.EquipmentID, tx.Now())
	}
	tx.put(m.Name, t, &n)
	return &n
}

// DoubtTask: it may have happened, and nobody can say.
func (tx *Tx) DoubtTask(id term.TaskID, why string) *Task {
	return tx.moveTask(taskDoubt, id, func(n *Task) { n.Error = Printable(why) })
}

// FinishTask: proven done.
func (tx *Tx) FinishTask(id term.TaskID, at term.PartAt) *Task {
	return tx.moveTask(taskSucceed, id, func(n *Task) { n.PartAt, n.Error = at, "" })
}

// FailTask: surely not done as asked; at says where the part is.
func (tx *Tx) FailTask(id term.TaskID, at term.PartAt, why string) *Task {
	return tx.moveTask(taskFail, id, func(n *Task) { n.PartAt, n.Error = at, Printable(why) })
}

// CancelTask: a person ended it; the part is elsewhere.
func (tx *Tx) CancelTask(id term.TaskID, why string) *Task {
	return tx.moveTask(taskCancel, id, func(n *Task) { n.Error = Printable(why) })
}

// ArrivePallet stores a pallet at the dock.
func (tx *Tx) ArrivePallet(p Pallet) {
	p.Version, p.ArrivedAt = 1, tx.Now()
	tx.put("ArrivePallet", nil, &p)
}

// LeavePallet: the pallet is gone.
func (tx *Tx) LeavePallet(p *Pallet) {
	n := *p
	n.Version++
	n.LeftAt = tx.Now()
	tx.put("LeavePallet", p, &n)
}
