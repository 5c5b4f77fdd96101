package read

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"surehand/ent"
	"surehand/ent/alarm"
	"surehand/ent/cell"
	"surehand/ent/equipment"
	"surehand/ent/equipmentslot"
	"surehand/ent/hold"
	"surehand/ent/job"
	"surehand/ent/manualaction"
	"surehand/ent/pallet"
	"surehand/ent/route"
	"surehand/ent/task"
	"surehand/ent/workorder"
	"surehand/internal/dbstate/entpgx"
	"surehand/internal/dbstate/rows"
	"surehand/internal/plant"
	"surehand/internal/term"
)

// Cell is the one cell. Before the first plant file: ErrNotFound.
func (r *Reader) Cell(ctx context.Context) (*plant.Cell, error) { return oneCell(ctx, r.client) }

func oneCell(ctx context.Context, c *ent.Client) (*plant.Cell, error) {
	e, err := c.Cell.Query().Where(cell.ID(plant.CellKey)).Only(ctx)
	return one(e, err, rows.Cell)
}

// Routes lists all, by id.
func (r *Reader) Routes(ctx context.Context) ([]*plant.Route, error) {
	list, err := r.client.Route.Query().Order(route.ByID()).All(ctx)
	return all(list, err, rows.Route)
}

// Equipment lists all machines, tools and the robot, by id.
func (r *Reader) Equipment(ctx context.Context) ([]*plant.Equipment, error) {
	return allEquipment(ctx, r.client)
}

func allEquipment(ctx context.Context, c *ent.Client) ([]*plant.Equipment, error) {
	list, err := c.Equipment.Query().Order(equipment.ByID()).All(ctx)
	return all(list, err, rows.Equipment)
}

// Slots lists the slots of all machines, by machine and number.
func (r *Reader) Slots(ctx context.Context) ([]*plant.Slot, error) { return allSlots(ctx, r.client) }

func allSlots(ctx context.Context, c *ent.Client) ([]*plant.Slot, error) {
	list, err := c.EquipmentSlot.Query().Order(equipmentslot.ByEquipmentID(), equipmentslot.ByNumber()).All(ctx)
	return all(list, err, rows.Slot)
}

func atDock(ctx context.Context, c *ent.Client) ([]*plant.Pallet, error) {
	list, err := c.Pallet.Query().Where(pallet.IsOpen(true)).Order(pallet.ByID()).All(ctx)
	return all(list, err, rows.Pallet)
}

func placed(ctx context.Context, c *ent.Client) ([]*plant.Job, error) {
	list, err := c.Job.Query().Where(job.Occupies(true)).Order(job.ByOrderID(), job.ByNumber()).All(ctx)
	return all(list, err, rows.Job)
}

// CellOverview is the whole cell as it stands at one commit.
type CellOverview struct {
	Fence     plant.Fence
	Cell      *plant.Cell   // nil: no plant file was imported yet
	Holds     []*plant.Hold // open ones of both halves, oldest first
	Equipment []EquipmentView
	Pallets   []*plant.Pallet // at the dock
	Orders    []*plant.Order  // that have not ended, by id
	Placed    []*plant.Job    // parts in the cell, by order and number
	RobotTask *plant.Task     // nil: the robot is free
	Starts    []*plant.Task   // open starts of machines
	// Open questions and alarms: the lists have the rows. Unseen are the alarms that nobody has acknowledged.
	Questions, Alarms, Unseen int
}

// EquipmentView is one equipment with its slots, by number.
type EquipmentView struct {
	*plant.Equipment
	Slots []*plant.Slot
}

// Overview reads the cell in one snapshot. Before the first start of the loop: ErrNotFound.
func (r *Reader) Overview(ctx context.Context) (CellOverview, error) {
	var o CellOverview
	options := pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
	err := pgx.BeginTxFunc(ctx, r.pool, options, func(tx pgx.Tx) (err error) {
		c := entpgx.Client(tx)
		if o.Fence, err = fence(ctx, c); err != nil {
			return err
		}
		if o.Cell, err = oneCell(ctx, c); errors.Is(err, ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		return o.fill(ctx, c)
	})
	switch {
	case errors.Is(err, ErrNotFound):
		return CellOverview{}, err
	case err != nil:
		return CellOverview{}, found(err)
	}
	return o, nil
}

func (o *CellOverview) fill(ctx context.Context, c *ent.Client) (err error) {
	holds, err := c.Hold.Query().Where(hold.IsOpen(true)).Order(hold.ByID()).All(ctx)
	if o.Holds, err = all(holds, err, rows.Hold); err != nil {
		return err
	}
	if o.Pallets, err = atDock(ctx, c); err != nil {
		return err
	}
	orders, err := c.WorkOrder.Query().Where(workorder.IsOpen(true)).Order(workorder.ByID()).All(ctx)
	if o.Orders, err = all(orders, err, rows.Order); err != nil {
		return err
	}
	if o.Placed, err = placed(ctx, c); err != nil {
		return err
	}
	tasks, err := c.Task.Query().Where(task.IsOpen(true)).Order(task.ByID()).All(ctx)
	open, err := all(tasks, err, rows.Task)
	if err != nil {
		return err
	}
	for _, t := range open {
		if t.Type.UsesRobot() {
			o.RobotTask = t
		} else {
			o.Starts = append(o.Starts, t)
		}
	}
	if o.Questions, err = c.ManualAction.Query().Where(manualaction.IsOpen(true)).Count(ctx); err != nil {
		return err
	}
	if o.Alarms, err = c.Alarm.Query().Where(alarm.IsOpen(true)).Count(ctx); err != nil {
		return err
	}
	o.Unseen, err = c.Alarm.Query().Where(alarm.IsOpen(true), alarm.StateIn(term.AlarmUnacknowledged, term.AlarmReturned)).Count(ctx)
	if err != nil {
		return err
	}
	return o.machines(ctx, c)
}

func (o *CellOverview) machines(ctx context.Context, c *ent.Client) error {
	equipment, err := allEquipment(ctx, c)
	if err != nil {
		return err
	}
	slots, err := allSlots(ctx, c)
	if err != nil {
		return err
	}
	for _, e := range equipment {
		v := EquipmentView{Equipment: e}
		for _, s := range slots {
			if s.EquipmentID == e.ID {
				v.Slots = append(v.Slots, s)
			}
		}
		o.Equipment = append(o.Equipment, v)
	}
	return nil
}
