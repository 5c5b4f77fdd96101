package dbstate_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"surehand/ent"
	"surehand/ent/eventlog"
	"surehand/internal/dbstate"
	"surehand/internal/dbstate/entpgx"
	"surehand/internal/dbstate/rows"
	"surehand/internal/loop"
	"surehand/internal/loop/storetest"
	"surehand/internal/plant"
	"surehand/internal/term"
)

// What every store must do, on PostgreSQL.
func TestConformance(t *testing.T) {
	storetest.Run(t, func(t *testing.T) storetest.Opener {
		url := database(t)
		conn := session(t, url)
		// The suite compares two databases, and command ids contain the installation.
		_, err := conn.Exec(t.Context(), `CREATE FUNCTION one_installation() RETURNS trigger LANGUAGE plpgsql AS
			$$ BEGIN NEW.installation = '00000000-0000-4000-8000-000000000001'; RETURN NEW; END $$;
			CREATE TRIGGER one_installation BEFORE INSERT ON loop_state FOR EACH ROW EXECUTE FUNCTION one_installation()`)
		require.NoError(t, err)
		return func(t *testing.T) loop.Store {
			// A new life of the suite starts while the one before still stands.
			s := connect(t, url, func(o *dbstate.Options) { o.Takeover = true })
			return &inspected{Store: s, client: entpgx.Client(conn)}
		}
	})
}

// inspected reads back what has left the picture.
type inspected struct {
	*dbstate.Store
	client *ent.Client
}

var _ storetest.Reader = (*inspected)(nil)

func (i *inspected) ReadLog(ctx context.Context, after int64) ([]plant.Entry, error) {
	now, err := i.client.LoopState.Query().Only(ctx)
	if err != nil {
		return nil, err
	}
	list, err := i.client.EventLog.Query().Where(eventlog.IDGT(after), eventlog.Generation(now.Generation)).Order(eventlog.ByID()).All(ctx)
	if err != nil {
		return nil, err
	}
	var entries []plant.Entry
	for _, e := range list {
		r, err := rows.Entry(e)
		if err != nil {
			return nil, err
		}
		entries = append(entries, *r)
	}
	return entries, nil
}

func (i *inspected) ReadRow(ctx context.Context, kind plant.Kind, key string) (plant.Row, bool, error) {
	row, err := readRow(ctx, i.client, kind, key)
	if ent.IsNotFound(err) {
		return nil, false, nil
	}
	return row, err == nil, err
}

func readRow(ctx context.Context, c *ent.Client, kind plant.Kind, key string) (plant.Row, error) {
	switch kind {
	case plant.KindOrganisation:
		return mapped(rows.Organisation)(c.Organisation.Get(ctx, term.OrganisationID(key)))
	case plant.KindFarm:
		return mapped(rows.Farm)(c.Farm.Get(ctx, term.FarmID(key)))
	case plant.KindProfile:
		return mapped(rows.Profile)(c.DeviceProfile.Get(ctx, term.ProfileID(key)))
	case plant.KindDevice:
		return mapped(rows.Device)(c.Device.Get(ctx, term.DeviceID(key)))
	case plant.KindEndpoint:
		return mapped(rows.Endpoint)(c.DeviceEndpoint.Get(ctx, term.EndpointID(key)))
	case plant.KindRule:
		return mapped(rows.Rule)(c.AutomationRule.Get(ctx, term.RuleID(key)))
	case plant.KindTelemetry:
		return mapped(rows.Telemetry)(c.Telemetry.Get(ctx, term.TelemetryID(key)))
	case plant.KindEvent:
		return mapped(rows.Event)(c.AutomationEndpointEvent.Get(ctx, term.EventID(key)))
	case plant.KindExecution:
		return mapped(rows.Execution)(c.AutomationRuleExecution.Get(ctx, term.ExecutionID(key)))
	case plant.KindIntent:
		return mapped(rows.Intent)(c.AutomationCommandIntent.Get(ctx, term.IntentID(key)))
	case plant.KindAttempt:
		return mapped(rows.Attempt)(c.CommandAttempt.Get(ctx, term.AttemptID(key)))
	case plant.KindReceipt:
		return mapped(rows.Receipt)(c.DeviceCommandReceipt.Get(ctx, term.ReceiptID(key)))
	case plant.KindCell:
		return mapped(rows.Cell)(c.Cell.Get(ctx, key))
	case plant.KindRoute:
		return mapped(rows.Route)(c.Route.Get(ctx, term.RouteID(key)))
	case plant.KindEquipment:
		return mapped(rows.Equipment)(c.Equipment.Get(ctx, term.EquipmentID(key)))
	case plant.KindSlot:
		return mapped(rows.Slot)(c.EquipmentSlot.Get(ctx, term.SlotID(key)))
	case plant.KindPallet:
		return mapped(rows.Pallet)(c.Pallet.Get(ctx, term.PalletID(key)))
	case plant.KindOrder:
		return mapped(rows.Order)(c.WorkOrder.Get(ctx, term.OrderID(key)))
	case plant.KindJob:
		return mapped(rows.Job)(c.Job.Get(ctx, term.JobID(key)))
	case plant.KindTask:
		return mapped(rows.Task)(c.Task.Get(ctx, term.TaskID(key)))
	case plant.KindQuestion:
		return mapped(rows.Question)(c.ManualAction.Get(ctx, term.QuestionID(key)))
	case plant.KindAlarm:
		return mapped(rows.Alarm)(c.Alarm.Get(ctx, term.AlarmID(key)))
	case plant.KindHold:
		return mapped(rows.Hold)(c.Hold.Get(ctx, term.HoldID(key)))
	case plant.KindKey:
		return mapped(rows.MessageKey)(c.MessageKey.Get(ctx, key))
	case plant.KindParked:
		return mapped(rows.Parked)(c.ParkedMessage.Get(ctx, term.MessageID(key)))
	}
	return nil, errors.New("no such kind: " + string(kind))
}

func mapped[E any, R plant.Row](from func(E) (R, error)) func(E, error) (plant.Row, error) {
	return func(e E, err error) (plant.Row, error) {
		if err != nil {
			return nil, err
		}
		r, err := from(e)
		return r, err
	}
}
