package dbstate

import (
	"context"

	"github.com/jackc/pgx/v5"

	"surehand/ent"
	entalarm "surehand/ent/alarm"
	"surehand/ent/automationcommandintent"
	"surehand/ent/automationendpointevent"
	"surehand/ent/automationruleexecution"
	"surehand/ent/commandattempt"
	enthold "surehand/ent/hold"
	entjob "surehand/ent/job"
	"surehand/ent/manualaction"
	entpallet "surehand/ent/pallet"
	enttask "surehand/ent/task"
	"surehand/ent/workorder"
	"surehand/internal/dbstate/entpgx"
	"surehand/internal/dbstate/rows"
	"surehand/internal/plant"
)

// load reads every open row and the fence in one snapshot.
func (s *Store) load(ctx context.Context, conn *pgx.Conn) (*plant.State, error) {
	var state *plant.State
	var fence plant.Fence
	err := pgx.BeginTxFunc(ctx, conn, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
		var err error
		if fence, err = scanFence(tx.QueryRow(ctx, "SELECT "+fenceColumns+" FROM loop_state WHERE id = 1")); err != nil {
			return err
		}
		if err := s.ours(fence); err != nil {
			return err
		}
		open, err := openRows(ctx, entpgx.Client(tx))
		if err != nil {
			return err
		}
		if state, err = plant.Load(fence, open); err != nil {
			// The rows contradict the law. Nothing may be driven with them.
			return fault(plant.FaultBug, err)
		}
		return nil
	})
	if err != nil {
		return nil, s.failed("load the picture", err)
	}
	s.fence = fence
	return state, nil
}

// ours tells whether a stored fence is of this life and not behind what this life knows to be committed.
func (s *Store) ours(f plant.Fence) error {
	switch {
	case f.Epoch > s.epoch, f.Epoch == s.epoch && f.Life != s.life:
		return faultf(plant.FaultFenced, "process life %s (epoch %d) owns this database now; this is %s (epoch %d): end", f.Life, f.Epoch, s.life, s.epoch)
	case f.Epoch < s.epoch, f.Generation != s.fence.Generation, f.Seq < s.fence.Seq, f.Turn < s.fence.Turn:
		return faultf(plant.FaultDoubt, "the database went back in time: epoch %d seq %d turn %d, but epoch %d seq %d turn %d was committed",
			f.Epoch, f.Seq, f.Turn, s.epoch, s.fence.Seq, s.fence.Turn)
	}
	return nil
}

// openRows reads all rows that belong into the picture.
func openRows(ctx context.Context, c *ent.Client) ([]plant.Row, error) {
	var all []plant.Row
	for _, read := range []func() error{
		func() error { return gather(&all, rows.Organisation)(c.Organisation.Query().All(ctx)) },
		func() error { return gather(&all, rows.Farm)(c.Farm.Query().All(ctx)) },
		func() error { return gather(&all, rows.Profile)(c.DeviceProfile.Query().All(ctx)) },
		func() error { return gather(&all, rows.Device)(c.Device.Query().All(ctx)) },
		func() error { return gather(&all, rows.Endpoint)(c.DeviceEndpoint.Query().All(ctx)) },
		func() error { return gather(&all, rows.Rule)(c.AutomationRule.Query().All(ctx)) },
		func() error {
			return gather(&all, rows.Event)(c.AutomationEndpointEvent.Query().Where(automationendpointevent.IsOpen(true)).All(ctx))
		},
		func() error {
			return gather(&all, rows.Execution)(c.AutomationRuleExecution.Query().Where(automationruleexecution.IsOpen(true)).All(ctx))
		},
		func() error {
			return gather(&all, rows.Intent)(c.AutomationCommandIntent.Query().Where(automationcommandintent.IsOpen(true)).All(ctx))
		},
		func() error {
			return gather(&all, rows.Attempt)(c.CommandAttempt.Query().Where(commandattempt.IsOpen(true)).All(ctx))
		},
		func() error { return gather(&all, rows.Cell)(c.Cell.Query().All(ctx)) },
		func() error { return gather(&all, rows.Route)(c.Route.Query().All(ctx)) },
		func() error { return gather(&all, rows.Equipment)(c.Equipment.Query().All(ctx)) },
		func() error { return gather(&all, rows.Slot)(c.EquipmentSlot.Query().All(ctx)) },
		func() error {
			return gather(&all, rows.Pallet)(c.Pallet.Query().Where(entpallet.IsOpen(true)).All(ctx))
		},
		func() error {
			return gather(&all, rows.Order)(c.WorkOrder.Query().Where(workorder.IsOpen(true)).All(ctx))
		},
		func() error { return gather(&all, rows.Job)(c.Job.Query().Where(entjob.IsOpen(true)).All(ctx)) },
		func() error { return gather(&all, rows.Task)(c.Task.Query().Where(enttask.IsOpen(true)).All(ctx)) },
		func() error {
			return gather(&all, rows.Question)(c.ManualAction.Query().Where(manualaction.IsOpen(true)).All(ctx))
		},
		func() error { return gather(&all, rows.Alarm)(c.Alarm.Query().Where(entalarm.IsOpen(true)).All(ctx)) },
		func() error { return gather(&all, rows.Hold)(c.Hold.Query().Where(enthold.IsOpen(true)).All(ctx)) },
	} {
		if err := read(); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// gather maps what a query returned and appends it.
func gather[E any, R plant.Row](all *[]plant.Row, mapped func(E) (R, error)) func([]E, error) error {
	return func(found []E, err error) error {
		if err != nil {
			return err
		}
		for _, e := range found {
			r, err := mapped(e)
			if err != nil {
				return fault(plant.FaultBug, err)
			}
			*all = append(*all, r)
		}
		return nil
	}
}
