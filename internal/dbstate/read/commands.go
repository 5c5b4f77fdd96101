package read

import (
	"context"
	"slices"
	"time"

	entsql "entgo.io/ent/dialect/sql"
	"github.com/jackc/pgx/v5"

	"surehand/ent"
	"surehand/ent/automationcommandintent"
	"surehand/ent/commandattempt"
	"surehand/ent/devicecommandreceipt"
	"surehand/internal/dbstate/rows"
	"surehand/internal/plant"
	"surehand/internal/term"
)

// CommandFilter narrows a list of commands; empty fields do not.
type CommandFilter struct {
	States      []term.CommandState
	Device      term.DeviceID
	Endpoint    term.EndpointID
	Rule        term.RuleID
	Farm        term.FarmID
	OnlyHolding bool // only those that hold their endpoint
	Cursor      string
	Limit       int
}

var live = []term.CommandState{term.PendingDispatch, term.Dispatched, term.Acknowledged, term.Retrying}

// Commands lists commands, newest first.
func (r *Reader) Commands(ctx context.Context, f CommandFilter) (Page[*plant.Intent], error) {
	limit := bounded(f.Limit)
	q := r.client.AutomationCommandIntent.Query().Order(automationcommandintent.ByID(entsql.OrderDesc())).Limit(limit + 1)
	switch key, more, err := afterUUID(f.Cursor); {
	case err != nil:
		return Page[*plant.Intent]{}, err
	case more:
		q = q.Where(automationcommandintent.IDLT(term.IntentID(key)))
	}
	if len(f.States) > 0 {
		q = q.Where(automationcommandintent.StateIn(f.States...))
	}
	onlyLive := len(f.States) > 0 && !slices.ContainsFunc(f.States, func(s term.CommandState) bool { return !slices.Contains(live, s) })
	if onlyLive || f.OnlyHolding { // both are open by law, and the open ones have an index
		q = q.Where(automationcommandintent.IsOpen(true))
	}
	if f.OnlyHolding {
		q = q.Where(automationcommandintent.HoldsEndpoint(true))
	}
	if f.Device != "" {
		q = q.Where(automationcommandintent.DeviceID(f.Device))
	}
	if f.Endpoint != "" {
		q = q.Where(automationcommandintent.EndpointID(f.Endpoint))
	}
	if f.Rule != "" {
		q = q.Where(automationcommandintent.RuleID(f.Rule))
	}
	if f.Farm != "" {
		q = q.Where(automationcommandintent.FarmID(f.Farm))
	}
	list, err := q.All(ctx)
	return pageOf(list, err, limit, rows.Intent, func(e *ent.AutomationCommandIntent) string { return string(e.ID) })
}

// Command finds one.
func (r *Reader) Command(ctx context.Context, id term.IntentID) (*plant.Intent, error) {
	if !isUUID(string(id)) {
		return nil, ErrNotFound
	}
	e, err := r.client.AutomationCommandIntent.Query().Where(automationcommandintent.ID(id)).Only(ctx)
	return one(e, err, rows.Intent)
}

// Attempts lists the attempts of a command, oldest first.
func (r *Reader) Attempts(ctx context.Context, intent term.IntentID) ([]*plant.Attempt, error) {
	if !isUUID(string(intent)) {
		return nil, ErrNotFound
	}
	list, err := r.client.CommandAttempt.Query().Where(commandattempt.IntentID(intent)).
		Order(commandattempt.ByNumber()).Limit(MaxTimeline).All(ctx)
	return all(list, err, rows.Attempt)
}

// Receipts lists the evidence of a command, oldest first.
func (r *Reader) Receipts(ctx context.Context, intent term.IntentID) ([]*plant.Receipt, error) {
	if !isUUID(string(intent)) {
		return nil, ErrNotFound
	}
	list, err := r.client.DeviceCommandReceipt.Query().Where(devicecommandreceipt.IntentID(intent)).
		Order(devicecommandreceipt.ByID()).Limit(MaxTimeline).All(ctx)
	return all(list, err, rows.Receipt)
}

// Rejected lists input that was not of the contract, newest first.
func (r *Reader) Rejected(ctx context.Context, cursor string, limit int) (Page[*plant.Receipt], error) {
	limit = bounded(limit)
	q := r.client.DeviceCommandReceipt.Query().Where(devicecommandreceipt.TypeEQ(term.ReceiptRejected)).
		Order(devicecommandreceipt.ByID(entsql.OrderDesc())).Limit(limit + 1)
	switch key, more, err := afterUUID(cursor); {
	case err != nil:
		return Page[*plant.Receipt]{}, err
	case more:
		q = q.Where(devicecommandreceipt.IDLT(term.ReceiptID(key)))
	}
	list, err := q.All(ctx)
	return pageOf(list, err, limit, rows.Receipt, func(e *ent.DeviceCommandReceipt) string { return string(e.ID) })
}

// Counts tells how many commands are in each state, of those that are open or were decided since.
func (r *Reader) Counts(ctx context.Context, since time.Time) (map[term.CommandState]int64, error) {
	counts := map[term.CommandState]int64{}
	answer, err := r.pool.Query(ctx, `SELECT state, count(*) FROM automation_command_intents
		WHERE is_open OR id >= $1::uuid GROUP BY state`, firstID(since))
	if err != nil {
		return nil, found(err)
	}
	var state string
	var n int64
	if _, err := pgx.ForEachRow(answer, []any{&state, &n}, func() error { counts[term.CommandState(state)] = n; return nil }); err != nil {
		return nil, found(err)
	}
	return counts, nil
}

// Timeouts of one endpoint.
type Timeouts struct {
	DeviceID   term.DeviceID
	EndpointID term.EndpointID // empty when the command is not known any more
	Count      int64
	LastAt     time.Time
}

// TopTimeouts lists the endpoints on which devices answered too late most often since.
func (r *Reader) TopTimeouts(ctx context.Context, since time.Time, limit int) ([]Timeouts, error) {
	answer, err := r.pool.Query(ctx, `SELECT coalesce(r.device_id, ''), coalesce(i.endpoint_id, ''), count(*), max(r.received_at)
		FROM device_command_receipts r LEFT JOIN automation_command_intents i ON i.id = r.intent_id
		WHERE r.type = 'timeout_mark' AND r.id >= $1::uuid GROUP BY 1, 2 ORDER BY 3 DESC, 4 DESC, 1, 2 LIMIT $2`, firstID(since), bounded(limit))
	if err != nil {
		return nil, found(err)
	}
	list, err := pgx.CollectRows(answer, func(row pgx.CollectableRow) (Timeouts, error) {
		var t Timeouts
		var device, endpoint string
		err := row.Scan(&device, &endpoint, &t.Count, &t.LastAt)
		t.DeviceID, t.EndpointID, t.LastAt = term.DeviceID(device), term.EndpointID(endpoint), plant.Micros(t.LastAt)
		return t, err
	})
	if err != nil {
		return nil, found(err)
	}
	return list, nil
}
