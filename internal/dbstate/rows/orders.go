package rows

import (
	"surehand/ent"
	"surehand/internal/plant"
	"surehand/internal/term"
)

func SetOrder(m *ent.WorkOrderMutation, r *plant.Order) {
	m.SetID(r.ID)
	m.SetVersion(r.Version)
	m.SetProduct(r.Product)
	m.SetRouteID(r.RouteID)
	m.SetRouteRevision(r.RouteRevision)
	putList(r.Steps, m.SetSteps, m.ClearSteps)
	m.SetPriority(r.Priority)
	m.SetState(r.State)
	put(r.Inside, m.SetInside, m.ClearInside)
	m.SetPlanned(r.Planned)
	m.SetCompleted(r.Completed)
	m.SetScrapped(r.Scrapped)
	m.SetCancelled(r.Cancelled)
	put(r.Actor, m.SetActor, m.ClearActor)
	m.SetCreatedAt(plant.Micros(r.CreatedAt))
	putTime(r.StartedAt, m.SetStartedAt, m.ClearStartedAt)
	putTime(r.EndedAt, m.SetEndedAt, m.ClearEndedAt)
	m.SetIsOpen(r.Open())
}

func Order(e *ent.WorkOrder) (*plant.Order, error) {
	p := &parser{kind: plant.KindOrder, key: string(e.ID)}
	return &plant.Order{
		ID: e.ID, Version: e.Version, Product: e.Product, RouteID: e.RouteID, RouteRevision: e.RouteRevision,
		Steps: list[term.Step](p, "steps", e.Steps), Priority: e.Priority, State: e.State, Inside: get(e.Inside),
		Planned: e.Planned, Completed: e.Completed, Scrapped: e.Scrapped, Cancelled: e.Cancelled, Actor: get(e.Actor),
		CreatedAt: plant.Micros(e.CreatedAt), StartedAt: getTime(e.StartedAt), EndedAt: getTime(e.EndedAt),
	}, p.err
}

func SetJob(m *ent.JobMutation, r *plant.Job) {
	m.SetID(r.ID)
	m.SetVersion(r.Version)
	m.SetOrderID(r.OrderID)
	m.SetNumber(r.Number)
	m.SetState(r.State)
	m.SetPositionType(r.Position.Type)
	put(r.Position.Ref, m.SetPositionRefID, m.ClearPositionRefID)
	put(r.TempSlotNo, m.SetTempSlotNo, m.ClearTempSlotNo)
	m.SetStepIndex(r.StepIndex)
	m.SetDisposition(r.Disposition)
	put(r.Presented, m.SetPresentedTo, m.ClearPresentedTo)
	m.SetContext(term.JSON(r.Context))
	putTime(r.EnteredAt, m.SetEnteredAt, m.ClearEnteredAt)
	putTime(r.EndedAt, m.SetEndedAt, m.ClearEndedAt)
	m.SetIsOpen(r.Open())
	m.SetOccupies(JobOccupies(r))
}

// JobOccupies tells whether a part takes room in the cell: then it has its place alone.
func JobOccupies(r *plant.Job) bool { return r.Open() && r.Position.Occupies() }

func Job(e *ent.Job) (*plant.Job, error) {
	p := &parser{kind: plant.KindJob, key: string(e.ID)}
	return &plant.Job{
		ID: e.ID, Version: e.Version, OrderID: e.OrderID, Number: e.Number, State: e.State,
		Position: term.Place{Type: e.PositionType, Ref: get(e.PositionRefID)}, TempSlotNo: get(e.TempSlotNo), StepIndex: e.StepIndex,
		Disposition: e.Disposition, Presented: get(e.PresentedTo), Context: document[term.JobContext](p, "context", e.Context),
		EnteredAt: getTime(e.EnteredAt), EndedAt: getTime(e.EndedAt),
	}, p.err
}

func SetTask(m *ent.TaskMutation, r *plant.Task) {
	m.SetID(r.ID)
	m.SetVersion(r.Version)
	m.SetType(r.Type)
	put(r.JobID, m.SetJobID, m.ClearJobID)
	put(r.OrderID, m.SetOrderID, m.ClearOrderID)
	m.SetEquipmentID(r.EquipmentID)
	put(r.From.Type, m.SetFromType, m.ClearFromType)
	put(r.From.Ref, m.SetFromRefID, m.ClearFromRefID)
	put(r.To.Type, m.SetToType, m.ClearToType)
	put(r.To.Ref, m.SetToRefID, m.ClearToRefID)
	m.SetSlot(r.Slot)
	putList(r.Slots, m.SetSlots, m.ClearSlots)
	m.SetProgram(r.Program)
	m.SetState(r.State)
	m.SetActionNo(int64(r.ActionNo))
	m.SetAttempt(r.Attempt)
	m.SetEpoch(r.Epoch)
	put(r.PartAt, m.SetPartAt, m.ClearPartAt)
	put(r.Error, m.SetError, m.ClearError)
	put(Plan(r.Plan), m.SetPlan, m.ClearPlan)
	putTime(r.DueAt, m.SetDueAt, m.ClearDueAt)
	m.SetCreatedAt(plant.Micros(r.CreatedAt))
	putTime(r.EndedAt, m.SetEndedAt, m.ClearEndedAt)
	m.SetIsOpen(r.Open())
	m.SetUsesRobot(TaskUsesRobot(r))
	m.SetStartsMachine(TaskStartsMachine(r))
}

// TaskUsesRobot tells whether the task keeps the one robot busy.
func TaskUsesRobot(r *plant.Task) bool { return r.Open() && r.Type.UsesRobot() }

// TaskStartsMachine tells whether the task is the open start of its machine.
func TaskStartsMachine(r *plant.Task) bool { return r.Open() && r.Type == term.TaskStartMachine }

func Task(e *ent.Task) (*plant.Task, error) {
	p := &parser{kind: plant.KindTask, key: string(e.ID)}
	return &plant.Task{
		ID: e.ID, Version: e.Version, Type: e.Type, JobID: get(e.JobID), OrderID: get(e.OrderID), EquipmentID: e.EquipmentID,
		From: term.Place{Type: get(e.FromType), Ref: get(e.FromRefID)}, To: term.Place{Type: get(e.ToType), Ref: get(e.ToRefID)},
		Slot: e.Slot, Slots: list[int](p, "slots", e.Slots), Program: e.Program, State: e.State, ActionNo: uint32(e.ActionNo),
		Attempt: e.Attempt, Epoch: e.Epoch, PartAt: get(e.PartAt), Error: get(e.Error), Plan: plan(p, e.Plan),
		DueAt: getTime(e.DueAt), CreatedAt: plant.Micros(e.CreatedAt), EndedAt: getTime(e.EndedAt),
	}, p.err
}
