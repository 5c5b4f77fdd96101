package dbstate

import (
	"context"
	"fmt"

	"surehand/ent"
	"surehand/ent/automationcommandintent"
	"surehand/ent/automationendpointevent"
	"surehand/ent/automationrule"
	"surehand/ent/automationruleexecution"
	"surehand/ent/commandattempt"
	entdevice "surehand/ent/device"
	"surehand/ent/deviceendpoint"
	"surehand/ent/deviceprofile"
	entfarm "surehand/ent/farm"
	enthold "surehand/ent/hold"
	entorganisation "surehand/ent/organisation"
	"surehand/internal/dbstate/rows"
	"surehand/internal/plant"
)

// writeEnt writes one change as one conditional statement. Rows with a state are matched by version and
// state as before, the others by version. A row that is only appended has no update.
func writeEnt(ctx context.Context, c *ent.Client, ch plant.Change) error {
	if ch.Before == nil {
		return insertEnt(ctx, c, ch.After)
	}
	switch r := ch.After.(type) {
	case *plant.Organisation:
		u := c.Organisation.Update().Where(entorganisation.ID(r.ID), entorganisation.Version(ch.Before.Ver()))
		rows.SetOrganisation(u.Mutation(), r)
		return u.Exec(ctx)
	case *plant.Farm:
		u := c.Farm.Update().Where(entfarm.ID(r.ID), entfarm.Version(ch.Before.Ver()))
		rows.SetFarm(u.Mutation(), r)
		return u.Exec(ctx)
	case *plant.Profile:
		u := c.DeviceProfile.Update().Where(deviceprofile.ID(r.ID), deviceprofile.Version(ch.Before.Ver()))
		rows.SetProfile(u.Mutation(), r)
		return u.Exec(ctx)
	case *plant.Device:
		u := c.Device.Update().Where(entdevice.ID(r.ID), entdevice.Version(ch.Before.Ver()))
		rows.SetDevice(u.Mutation(), r)
		return u.Exec(ctx)
	case *plant.Endpoint:
		u := c.DeviceEndpoint.Update().Where(deviceendpoint.ID(r.ID), deviceendpoint.Version(ch.Before.Ver()))
		rows.SetEndpoint(u.Mutation(), r)
		return u.Exec(ctx)
	case *plant.Rule:
		u := c.AutomationRule.Update().Where(automationrule.ID(r.ID), automationrule.Version(ch.Before.Ver()))
		rows.SetRule(u.Mutation(), r)
		return u.Exec(ctx)
	case *plant.Event:
		before := ch.Before.(*plant.Event)
		u := c.AutomationEndpointEvent.Update().Where(automationendpointevent.ID(r.ID),
			automationendpointevent.Version(before.Version), automationendpointevent.StatusEQ(before.Status))
		rows.SetEvent(u.Mutation(), r)
		return u.Exec(ctx)
	case *plant.Execution:
		u := c.AutomationRuleExecution.Update().Where(automationruleexecution.ID(r.ID), automationruleexecution.Version(ch.Before.Ver()))
		rows.SetExecution(u.Mutation(), r)
		return u.Exec(ctx)
	case *plant.Intent:
		before := ch.Before.(*plant.Intent)
		u := c.AutomationCommandIntent.Update().Where(automationcommandintent.ID(r.ID),
			automationcommandintent.Version(before.Version), automationcommandintent.StateEQ(before.State))
		rows.SetIntent(u.Mutation(), r)
		return u.Exec(ctx)
	case *plant.Attempt:
		before := ch.Before.(*plant.Attempt)
		u := c.CommandAttempt.Update().Where(commandattempt.ID(r.ID),
			commandattempt.Version(before.Version), commandattempt.OutcomeEQ(before.Outcome))
		rows.SetAttempt(u.Mutation(), r)
		return u.Exec(ctx)
	case *plant.Hold:
		before := ch.Before.(*plant.Hold)
		u := c.Hold.Update().Where(enthold.ID(r.ID), enthold.Version(before.Version), enthold.IsOpen(before.Open()))
		rows.SetHold(u.Mutation(), r)
		return u.Exec(ctx)
	}
	return updateCellEnt(ctx, c, ch)
}

// noUpdate: rows of this kind are only appended.
func noUpdate(ch plant.Change) error {
	return fmt.Errorf("%s of %s %s: this kind has no update", ch.Move, ch.After.Kind(), ch.After.Key())
}

func insertEnt(ctx context.Context, c *ent.Client, row plant.Row) error {
	switch r := row.(type) {
	case *plant.Organisation:
		b := c.Organisation.Create()
		rows.SetOrganisation(b.Mutation(), r)
		return b.Exec(ctx)
	case *plant.Farm:
		b := c.Farm.Create()
		rows.SetFarm(b.Mutation(), r)
		return b.Exec(ctx)
	case *plant.Profile:
		b := c.DeviceProfile.Create()
		rows.SetProfile(b.Mutation(), r)
		return b.Exec(ctx)
	case *plant.Device:
		b := c.Device.Create()
		rows.SetDevice(b.Mutation(), r)
		return b.Exec(ctx)
	case *plant.Endpoint:
		b := c.DeviceEndpoint.Create()
		rows.SetEndpoint(b.Mutation(), r)
		return b.Exec(ctx)
	case *plant.Rule:
		b := c.AutomationRule.Create()
		rows.SetRule(b.Mutation(), r)
		return b.Exec(ctx)
	case *plant.Telemetry:
		b := c.Telemetry.Create()
		rows.SetTelemetry(b.Mutation(), r)
		return b.Exec(ctx)
	case *plant.Event:
		b := c.AutomationEndpointEvent.Create()
		rows.SetEvent(b.Mutation(), r)
		return b.Exec(ctx)
	case *plant.Execution:
		b := c.AutomationRuleExecution.Create()
		rows.SetExecution(b.Mutation(), r)
		return b.Exec(ctx)
	case *plant.Intent:
		b := c.AutomationCommandIntent.Create()
		rows.SetIntent(b.Mutation(), r)
		return b.Exec(ctx)
	case *plant.Attempt:
		b := c.CommandAttempt.Create()
		rows.SetAttempt(b.Mutation(), r)
		return b.Exec(ctx)
	case *plant.Receipt:
		b := c.DeviceCommandReceipt.Create()
		rows.SetReceipt(b.Mutation(), r)
		return b.Exec(ctx)
	case *plant.Hold:
		b := c.Hold.Create()
		rows.SetHold(b.Mutation(), r)
		return b.Exec(ctx)
	case *plant.MessageKey:
		b := c.MessageKey.Create()
		rows.SetMessageKey(b.Mutation(), r)
		return b.Exec(ctx)
	case *plant.Parked:
		b := c.ParkedMessage.Create()
		rows.SetParked(b.Mutation(), r)
		return b.Exec(ctx)
	case *entry:
		b := c.EventLog.Create()
		rows.SetEntry(b.Mutation(), r.generation, &r.Entry)
		return b.Exec(ctx)
	}
	return insertCellEnt(ctx, c, row)
}
