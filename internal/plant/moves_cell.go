package plant

import (
	"slices"

	"surehand/internal/term"
)

// Move is one edge of a state diagram: its name carries the guard, From lists the only states it may start in.
type Move[S ~string] struct {
	Name string
	From []S
	To   S // empty: the state stays
}

func from[S ~string](s ...S) []S { return s }

var (
	placedJobs   = from(term.Queued, term.Waiting, term.Moving, term.Processing, term.WaitingUnload, term.WaitingJudgement)
	unjudgedJobs = from(term.Queued, term.Waiting, term.Moving, term.Processing, term.WaitingUnload)
	restingJob   = from(term.Queued, term.Waiting, term.WaitingUnload)
	openJobs     = append(from(term.NotArrived), placedJobs...)
)

// The moves of a part. Position and state change together, and only with the evidence or the answer that moved
// the part; a claim changes the state alone.
var (
	jobArrive   = Move[term.JobState]{"ArriveOnPallet", from(term.NotArrived), term.Queued}
	jobReserve  = Move[term.JobState]{"ReserveBufferPlace", from(term.Queued), ""}
	jobClaim    = Move[term.JobState]{"ClaimJobForAction", append(from(term.Moving), restingJob...), term.Moving}
	jobUnclaim  = Move[term.JobState]{"ReturnJobToRest", from(term.Moving), ""}
	jobGrip     = Move[term.JobState]{"MoveJobToGripper", from(term.Moving), term.Moving}
	jobBuffer   = Move[term.JobState]{"MoveJobToBuffer", from(term.Moving), term.Waiting}
	jobLoad     = Move[term.JobState]{"MoveJobToEquipment", from(term.Moving), term.Processing}
	jobWork     = Move[term.JobState]{"StartStepInSlot", from(term.Processing), ""}
	jobStepDone = Move[term.JobState]{"CompleteStepInSlot", from(term.Processing, term.WaitingJudgement), term.WaitingUnload}
	jobJudged   = Move[term.JobState]{"CompleteStepOnBuffer", from(term.WaitingJudgement), term.Waiting}
	jobJudge    = Move[term.JobState]{"AwaitJudgement", from(term.Processing), term.WaitingJudgement}
	jobToolDone = Move[term.JobState]{"CompleteStepInGripper", from(term.Moving), term.Moving}
	jobRework   = Move[term.JobState]{"ReworkJob", from(term.Queued, term.Waiting, term.WaitingUnload), ""}
	jobDispose  = Move[term.JobState]{"DisposeOfJob", openJobs, ""}
	jobCorrect  = Move[term.JobState]{"CorrectJobPlace", placedJobs, ""}
)

// Edges of the job diagram whose target depends on the place: one line each.
func jobFinish(to term.JobState) Move[term.JobState] {
	if to == term.JobCancelled {
		return Move[term.JobState]{"FinishJob", openJobs, to}
	}
	return Move[term.JobState]{"FinishJob", placedJobs, to}
}

// JobMoves lists all edges, for the tests and for the drawing.
func JobMoves() []Move[term.JobState] {
	return []Move[term.JobState]{jobArrive, jobReserve, jobClaim,
		{"ReturnJobToRest", jobUnclaim.From, term.Queued}, {"ReturnJobToRest", jobUnclaim.From, term.Waiting},
		{"ReturnJobToRest", jobUnclaim.From, term.WaitingUnload}, {"ReturnJobToRest", jobUnclaim.From, term.Moving},
		jobGrip, jobBuffer, jobLoad, jobWork, jobStepDone, jobJudged, jobJudge, jobToolDone, jobRework, jobDispose,
		{"CorrectJobPlace", placedJobs, term.Queued}, {"CorrectJobPlace", placedJobs, term.Moving}, {"CorrectJobPlace", unjudgedJobs, term.Waiting},
		{"CorrectJobPlace", unjudgedJobs, term.Processing}, {"CorrectJobPlace", unjudgedJobs, term.WaitingUnload},
		{"CorrectJobPlace", from(term.WaitingJudgement), term.WaitingJudgement},
		jobFinish(term.Completed), jobFinish(term.Scrapped), jobFinish(term.JobCancelled)}
}

var openOrders = from(term.OrderDraft, term.OrderReady, term.OrderRunning, term.OrderStopping)

// The moves of an order. A part of a draft can end too: a person took it off its pallet.
var (
	orderStart   = Move[term.OrderState]{"StartOrder", from(term.OrderDraft), term.OrderReady}
	orderBegin   = Move[term.OrderState]{"BeginOrderIfReady", from(term.OrderReady), term.OrderRunning}
	orderCancel  = Move[term.OrderState]{"CancelOrder", openOrders, term.OrderStopping}
	orderCount   = Move[term.OrderState]{"CountJob", openOrders, ""}
	orderDone    = Move[term.OrderState]{"CompleteOrder", from(term.OrderDraft, term.OrderReady, term.OrderRunning), term.OrderCompleted}
	orderEnded   = Move[term.OrderState]{"EndCancelledOrder", from(term.OrderStopping), term.OrderCancelled}
	orderRecount = Move[term.OrderState]{"RecountOrder", openOrders, ""}
)

// OrderMoves lists all edges, for the tests and for the drawing.
func OrderMoves() []Move[term.OrderState] {
	return []Move[term.OrderState]{orderStart, orderBegin, orderCancel, orderCount, orderDone, orderEnded, orderRecount}
}

// The moves of a task.
var (
	taskStart   = Move[term.TaskState]{"StartTask", from(term.TaskPending), term.TaskRunning}
	taskDoubt   = Move[term.TaskState]{"DoubtTask", from(term.TaskRunning), term.TaskUnknown}
	taskSucceed = Move[term.TaskState]{"FinishTask", from(term.TaskRunning, term.TaskUnknown), term.TaskSucceeded}
	taskFail    = Move[term.TaskState]{"FailTask", from(term.TaskRunning, term.TaskUnknown), term.TaskFailed}
	taskCancel  = Move[term.TaskState]{"CancelTask", from(term.TaskUnknown), term.TaskCancelled}
)

// TaskMoves lists all edges, for the tests and for the drawing.
func TaskMoves() []Move[term.TaskState] {
	return []Move[term.TaskState]{taskStart, taskDoubt, taskSucceed, taskFail, taskCancel}
}

// The moves of an alarm (ISA-18.2).
var (
	alarmAgain = Move[term.AlarmState]{"RaiseAlarm", from(term.AlarmReturned), term.AlarmUnacknowledged}
	alarmAck   = Move[term.AlarmState]{"AcknowledgeAlarm", from(term.AlarmUnacknowledged), term.AlarmAcknowledged}
	alarmAckR  = Move[term.AlarmState]{"AcknowledgeAlarm", from(term.AlarmReturned), term.AlarmNormal}
	alarmClear = Move[term.AlarmState]{"ResolveAlarm", from(term.AlarmUnacknowledged), term.AlarmReturned}
	alarmDone  = Move[term.AlarmState]{"ResolveAlarm", from(term.AlarmAcknowledged), term.AlarmNormal}
	alarmShelf = Move[term.AlarmState]{"ShelveAlarm", from(term.AlarmUnacknowledged, term.AlarmAcknowledged, term.AlarmReturned), ""}
	alarmBack  = Move[term.AlarmState]{"UnshelveAlarm", from(term.AlarmUnacknowledged, term.AlarmAcknowledged, term.AlarmReturned), ""}
)

// AlarmMoves lists all edges, for the tests and for the drawing.
func AlarmMoves() []Move[term.AlarmState] {
	return []Move[term.AlarmState]{alarmAgain, alarmAck, alarmAckR, alarmClear, alarmDone, alarmShelf, alarmBack}
}

// The moves of a slot. Loading, unloading and finishing go with the job's move in the same turn.
var (
	slotLoad   = Move[term.SlotState]{"LoadSlotIfEmpty", from(term.SlotEmpty), term.SlotOccupied}
	slotStart  = Move[term.SlotState]{"StartSlot", from(term.SlotOccupied), ""}
	slotWait   = Move[term.SlotState]{"PostponeSlot", from(term.SlotOccupied), ""}
	slotFinish = Move[term.SlotState]{"FinishSlotIfOccupied", from(term.SlotOccupied), term.SlotDone}
	slotUnload = Move[term.SlotState]{"EmptySlot", from(term.SlotOccupied, term.SlotDone), term.SlotEmpty}
)

// SlotMoves lists all edges, for the tests and for the drawing.
func SlotMoves() []Move[term.SlotState] {
	return []Move[term.SlotState]{slotLoad, slotStart, slotWait, slotFinish, slotUnload}
}

// check breaks when a move may not start in a state.
func (m Move[S]) check(key string, state S) {
	if !slices.Contains(m.From, state) {
		broken(6, "%s of %s from %s", m.Name, key, state)
	}
}

func (tx *Tx) moveJob(m Move[term.JobState], id term.JobID, set func(*Job)) *Job {
	j, ok := tx.w.state.jobs[id]
	if !ok {
		broken(6, "%s of job %s, which is not open", m.Name, id)
	}
	m.check(string(id), j.State)
	n := *j
	n.Version++
	if m.To != "" {
		n.State = m.To
	}
	if set != nil {
		set(&n)
	}
	if n.Position != j.Position {
		n.EnteredAt = tx.Now()
		if n.Position.Occupies() {
			if other, taken := tx.w.state.JobAt(n.Position); taken && other.ID != id {
				broken(8, "%s puts %s on %s, where %s is", m.Name, id, n.Position, other.ID)
			}
		}
	}
	if robot, ok := tx.w.state.Robot(); ok && (j.Position.Type == term.OnRobot) != (n.Position.Type == term.OnRobot) {
		tx.w.session.Record(robot.ID, tx.Now())
	}
	if n.Position.Type != term.OnRobot {
		n.Presented = ""
	}
	tx.put(m.Name, j, &n)
	return &n
}

// ArriveOnPallet puts a part on its place of the pallet.
func (tx *Tx) ArriveOnPallet(id term.JobID, place int) *Job {
	return tx.moveJob(jobArrive, id, func(n *Job) { n.Position = term.DockPlace(place) })
}

// ReserveBufferPlace gives a part on the dock its own buffer place, which it keeps until it ends; 0 gives it back.
func (tx *Tx) ReserveBufferPlace(id term.JobID, place int) *Job {
	return tx.moveJob(jobReserve, id, func(n *Job) { n.TempSlotNo = place })
}

// restState is the state of a part that nothing is done with, by its place.
func (tx *Tx) restState(p term.Place) term.JobState {
	switch p.Type {
	case term.OnDock:
		return term.Queued
	case term.OnBuffer:
		return term.Waiting
	case term.OnEquipment:
		if s, ok := tx.w.state.slots[term.SlotID(p.Ref)]; ok && s.State == term.SlotDone {
			return term.WaitingUnload
		}
		return term.Processing
	}
	return term.Moving
}

// ReturnJobToRest: the action surely did not move the part.
func (tx *Tx) ReturnJobToRest(id term.JobID) *Job {
	return tx.moveJob(jobUnclaim, id, func(n *Job) { n.State = tx.restState(n.Position) })
}

// MoveJobToGripper: the part was picked, and stands before a tool when one is named.
func (tx *Tx) MoveJobToGripper(id term.JobID, tool term.EquipmentID) *Job {
	tx.leaveSlot(id)
	return tx.moveJob(jobGrip, id, func(n *Job) { n.Position, n.Presented = term.GripperPlace(), tool })
}

// MoveJobToBuffer: the part was set on its own place.
func (tx *Tx) MoveJobToBuffer(id term.JobID) *Job {
	tx.leaveSlot(id)
	return tx.moveJob(jobBuffer, id, func(n *Job) { n.Position = term.BufferPlace(n.TempSlotNo) })
}

// MoveJobToEquipment: the part was set into an empty slot; slot and part change together (C-12).
func (tx *Tx) MoveJobToEquipment(id term.JobID, slot term.SlotID) *Job {
	tx.leaveSlot(id)
	tx.moveSlot(slotLoad, slot, func(n *Slot) { n.JobID, n.EnteredAt = id, tx.Now() })
	return tx.moveJob(jobLoad, id, func(n *Job) { n.Position = term.SlotPlace(slot) })
}

// leaveSlot empties the slot that a part is leaving.
func (tx *Tx) leaveSlot(id term.JobID) {
	if j, ok := tx.w.state.jobs[id]; ok && j.Position.Type == term.OnEquipment {
		if s, ok := tx.w.state.slots[term.SlotID(j.Position.Ref)]; ok && s.JobID == id {
			tx.EmptySlot(s.ID)
		}
	}
}

// FinishJob ends a part that is out, counts it once and gives its buffer place free.
func (tx *Tx) FinishJob(id term.JobID, how string) *Job {
	tx.leaveSlot(id)
	j, ok := tx.w.state.jobs[id]
	if !ok {
		broken(6, "FinishJob of job %s, which is not open", id)
	}
	end := j.Disposition.End()
	n := tx.moveJob(jobFinish(end), id, func(n *Job) {
		n.EndedAt, n.TempSlotNo = tx.Now(), 0
		if n.Position.Type != term.Nowhere {
			n.Position = term.OutPlace(how)
		}
		if n.Context.Out == "" && how != term.OutExit {
			n.Context.Out = how
		}
	})
	for _, reason := range []term.HoldReason{term.HoldSuspended, term.HoldParked} {
		tx.LiftHoldIfHeld(JobSubject(id), reason, "surehand", "the part has ended")
	}
	tx.countEnd(n.OrderID, end)
	return n
}

// DisposeOfJob says that a part is to leave as not good or cancelled.
func (tx *Tx) DisposeOfJob(id term.JobID, d term.Disposition, why string) *Job {
	return tx.moveJob(jobDispose, id, func(n *Job) { n.Disposition, n.Context.Out = d, Printable(why) })
}

// CompleteStep ends the next step of a part where it is, in its slot or in the gripper, with what it brought.
func (tx *Tx) CompleteStep(id term.JobID, r term.StepResult) *Job {
	m := jobStepDone
	if j := tx.w.state.jobs[id]; j != nil {
		switch j.Position.Type {
		case term.OnRobot:
			m = jobToolDone
		case term.OnBuffer: // somebody took it out of its machine to look at it
			m = jobJudged
		}
	}
	return tx.moveJob(m, id, func(n *Job) {
		tx.note(n, r)
		n.StepIndex++
	})
}

// note adds a result of the current step to what is known of a part.
func (tx *Tx) note(n *Job, r term.StepResult) {
	r.Step, r.At, r.Code, r.Data, r.By = n.StepIndex+1, tx.Now(), Printable(r.Code), Printable(r.Data), Printable(r.By)
	if r.Code != "" {
		n.Context.Code = r.Code
	}
	n.Context.Results = append(slices.Clone(n.Context.Results), r)
	if extra := len(n.Context.Results) - MaxResults; extra > 0 {
		n.Context.Results = n.Context.Results[extra:]
	}
}

// AwaitJudgement leaves a part in its slot until a person has said whether it is good.
func (tx *Tx) AwaitJudgement(id term.JobID, r term.StepResult) *Job {
	return tx.moveJob(jobJudge, id, func(n *Job) { tx.note(n, r) })
}

// ReworkJob sends a part back to an earlier step (index from 0) of its route.
func (tx *Tx) ReworkJob(id term.JobID, step int) *Job {
	return tx.moveJob(jobRework, id, func(n *Job) {
		n.StepIndex = step
		n.Context.Reworks++
		n.Disposition = term.DispositionNone
		n.Context.Out = ""
	})
}

// CorrectJobPlace takes over where a person says a part is: the record follows the answer, with the slots. The
// place must be free. A slot is entered as not started, or as done when the part's step is done there.
func (tx *Tx) CorrectJobPlace(id term.JobID, p term.Place, stepDone bool) *Job {
	if j := tx.w.state.jobs[id]; j != nil && j.Position != p {
		tx.leaveSlot(id)
	}
	if p.Type == term.OnEquipment {
		s := tx.w.state.slots[term.SlotID(p.Ref)]
		if s != nil && s.JobID != id {
			tx.moveSlot(slotLoad, s.ID, func(n *Slot) { n.JobID, n.EnteredAt = id, tx.Now() })
		}
		if s = tx.w.state.slots[term.SlotID(p.Ref)]; s != nil && stepDone && s.State == term.SlotOccupied {
			tx.FinishSlotIfOccupied(s.ID)
		}
	}
	return tx.moveJob(jobCorrect, id, func(n *Job) {
		n.Position = p
		if p.Type == term.OnBuffer {
			n.TempSlotNo = p.Number()
		}
		// What waits for a person's judgement goes on waiting for it, wherever it was set.
		if n.State != term.WaitingJudgement || p.Type != term.OnBuffer && p.Type != term.OnEquipment {
			n.State = tx.restState(p)
		}
	})
}
