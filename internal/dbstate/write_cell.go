package dbstate

import (
	"context"
	"fmt"

	"surehand/ent"
	entalarm "surehand/ent/alarm"
	entcell "surehand/ent/cell"
	entequipment "surehand/ent/equipment"
	"surehand/ent/equipmentslot"
	entjob "surehand/ent/job"
	"surehand/ent/manualaction"
	entpallet "surehand/ent/pallet"
	entroute "surehand/ent/route"
	enttask "surehand/ent/task"
	"surehand/ent/workorder"
	"surehand/internal/dbstate/rows"
	"surehand/internal/plant"
)

// updateCellEnt is writeEnt for the updates of the production half.
func updateCellEnt(ctx context.Context, c *ent.Client, ch plant.Change) error {
	switch r := ch.After.(type) {
	case *plant.Cell:
		u := c.Cell.Update().Where(entcell.ID(r.Key()), entcell.Version(ch.Before.Ver()))
		rows.SetCell(u.Mutation(), r)
		return u.Exec(ctx)
	case *plant.Route:
		u := c.Route.Update().Where(entroute.ID(r.ID), entroute.Version(ch.Before.Ver()))
		rows.SetRoute(u.Mutation(), r)
		return u.Exec(ctx)
	case *plant.Equipment:
		before := ch.Before.(*plant.Equipment)
		u := c.Equipment.Update().Where(entequipment.ID(r.ID), entequipment.Version(before.Version), entequipment.DoneLatch(before.Latch))
		rows.SetEquipment(u.Mutation(), r)
		return u.Exec(ctx)
	case *plant.Slot:
		before := ch.Before.(*plant.Slot)
		u := c.EquipmentSlot.Update().Where(equipmentslot.ID(r.ID), equipmentslot.Version(before.Version), equipmentslot.State(before.State))
		rows.SetSlot(u.Mutation(), r)
		return u.Exec(ctx)
	case *plant.Pallet:
		before := ch.Before.(*plant.Pallet)
		u := c.Pallet.Update().Where(entpallet.ID(r.ID), entpallet.Version(before.Version), entpallet.IsOpen(before.Open()))
		rows.SetPallet(u.Mutation(), r)
		return u.Exec(ctx)
	case *plant.Order:
		before := ch.Before.(*plant.Order)
		u := c.WorkOrder.Update().Where(workorder.ID(r.ID), workorder.Version(before.Version), workorder.State(before.State))
		rows.SetOrder(u.Mutation(), r)
		return u.Exec(ctx)
	case *plant.Job:
		// The place is part of the guard (C-9): a part moves only from where the picture has it.
		before := ch.Before.(*plant.Job)
		at := entjob.PositionRefIDIsNil()
		if before.Position.Ref != "" {
			at = entjob.PositionRefID(before.Position.Ref)
		}
		u := c.Job.Update().Where(entjob.ID(r.ID), entjob.Version(before.Version), entjob.State(before.State),
			entjob.PositionType(before.Position.Type), at)
		rows.SetJob(u.Mutation(), r)
		return u.Exec(ctx)
	case *plant.Task:
		before := ch.Before.(*plant.Task)
		u := c.Task.Update().Where(enttask.ID(r.ID), enttask.Version(before.Version), enttask.State(before.State))
		rows.SetTask(u.Mutation(), r)
		return u.Exec(ctx)
	case *plant.Question:
		before := ch.Before.(*plant.Question)
		u := c.ManualAction.Update().Where(manualaction.ID(r.ID), manualaction.Version(before.Version), manualaction.State(before.State))
		rows.SetQuestion(u.Mutation(), r)
		return u.Exec(ctx)
	case *plant.Alarm:
		before := ch.Before.(*plant.Alarm)
		u := c.Alarm.Update().Where(entalarm.ID(r.ID), entalarm.Version(before.Version), entalarm.State(before.State))
		rows.SetAlarm(u.Mutation(), r)
		return u.Exec(ctx)
	}
	return noUpdate(ch)
}

func insertCellEnt(ctx context.Context, c *ent.Client, row plant.Row) error {
	switch r := row.(type) {
	case *plant.Cell:
		b := c.Cell.Create()
		rows.SetCell(b.Mutation(), r)
		return b.Exec(ctx)
	case *plant.Route:
		b := c.Route.Create()
		rows.SetRoute(b.Mutation(), r)
		return b.Exec(ctx)
	case *plant.Equipment:
		b := c.Equipment.Create()
		rows.SetEquipment(b.Mutation(), r)
		return b.Exec(ctx)
	case *plant.Slot:
		b := c.EquipmentSlot.Create()
		rows.SetSlot(b.Mutation(), r)
		return b.Exec(ctx)
	case *plant.Pallet:
		b := c.Pallet.Create()
		rows.SetPallet(b.Mutation(), r)
		return b.Exec(ctx)
	case *plant.Order:
		b := c.WorkOrder.Create()
		rows.SetOrder(b.Mutation(), r)
		return b.Exec(ctx)
	case *plant.Job:
		b := c.Job.Create()
		rows.SetJob(b.Mutation(), r)
		return b.Exec(ctx)
	case *plant.Task:
		b := c.Task.Create()
		rows.SetTask(b.Mutation(), r)
		return b.Exec(ctx)
	case *plant.Question:
		b := c.ManualAction.Create()
		rows.SetQuestion(b.Mutation(), r)
		return b.Exec(ctx)
	case *plant.Alarm:
		b := c.Alarm.Create()
		rows.SetAlarm(b.Mutation(), r)
		return b.Exec(ctx)
	}
	return fmt.Errorf("%s %s: this kind has no table", row.Kind(), row.Key())
}
