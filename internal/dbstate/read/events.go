package read

import (
	"context"
	"time"

	entsql "entgo.io/ent/dialect/sql"

	"surehand/ent"
	"surehand/ent/automationendpointevent"
	"surehand/ent/automationruleexecution"
	"surehand/internal/dbstate/rows"
	"surehand/internal/plant"
	"surehand/internal/term"
)

// EventFilter narrows a list of endpoint events; empty fields do not. The times are those of the samples.
type EventFilter struct {
	Device   term.DeviceID
	Endpoint term.EndpointID
	Status   term.EventStatus
	From, To time.Time // default: the last day up to now
	Now      time.Time
	Cursor   string
	Limit    int
}

// Events lists endpoint events, newest sample first. Their ids are ordered by time, so the range bounds what
// has to be looked at.
func (r *Reader) Events(ctx context.Context, f EventFilter) (Page[*plant.Event], error) {
	limit := bounded(f.Limit)
	if f.To.IsZero() {
		f.To = f.Now.Add(plant.FutureTolerance)
	}
	if f.From.IsZero() {
		f.From = f.To.Add(-24 * time.Hour)
	}
	q := r.client.AutomationEndpointEvent.Query().Order(automationendpointevent.ByID(entsql.OrderDesc())).Limit(limit+1).
		Where(automationendpointevent.IDGTE(term.EventID(firstID(f.From))), automationendpointevent.IDLT(term.EventID(firstID(f.To.Add(time.Millisecond)))))
	switch key, more, err := afterUUID(f.Cursor); {
	case err != nil:
		return Page[*plant.Event]{}, err
	case more:
		q = q.Where(automationendpointevent.IDLT(term.EventID(key)))
	}
	if f.Device != "" {
		q = q.Where(automationendpointevent.DeviceID(f.Device))
	}
	if f.Endpoint != "" {
		q = q.Where(automationendpointevent.EndpointID(f.Endpoint))
	}
	if f.Status != "" {
		q = q.Where(automationendpointevent.StatusEQ(f.Status))
	}
	list, err := q.All(ctx)
	return pageOf(list, err, limit, rows.Event, func(e *ent.AutomationEndpointEvent) string { return string(e.ID) })
}

// Event finds one.
func (r *Reader) Event(ctx context.Context, id term.EventID) (*plant.Event, error) {
	if !isUUID(string(id)) {
		return nil, ErrNotFound
	}
	e, err := r.client.AutomationEndpointEvent.Query().Where(automationendpointevent.ID(id)).Only(ctx)
	return one(e, err, rows.Event)
}

// ExecutionFilter narrows a list of executions; empty fields do not.
type ExecutionFilter struct {
	Rule    term.RuleID
	Farm    term.FarmID
	Outcome term.ExecutionOutcome
	Cursor  string
	Limit   int
}

// Executions lists executions, newest first.
func (r *Reader) Executions(ctx context.Context, f ExecutionFilter) (Page[*plant.Execution], error) {
	limit := bounded(f.Limit)
	q := r.client.AutomationRuleExecution.Query().Order(automationruleexecution.ByID(entsql.OrderDesc())).Limit(limit + 1)
	switch key, more, err := afterUUID(f.Cursor); {
	case err != nil:
		return Page[*plant.Execution]{}, err
	case more:
		q = q.Where(automationruleexecution.IDLT(term.ExecutionID(key)))
	}
	if f.Rule != "" {
		q = q.Where(automationruleexecution.RuleID(f.Rule))
	}
	if f.Farm != "" {
		q = q.Where(automationruleexecution.FarmID(f.Farm))
	}
	if f.Outcome != "" {
		q = q.Where(automationruleexecution.OutcomeEQ(f.Outcome))
	}
	list, err := q.All(ctx)
	return pageOf(list, err, limit, rows.Execution, func(e *ent.AutomationRuleExecution) string { return string(e.ID) })
}

// Execution finds one.
func (r *Reader) Execution(ctx context.Context, id term.ExecutionID) (*plant.Execution, error) {
	if !isUUID(string(id)) {
		return nil, ErrNotFound
	}
	e, err := r.client.AutomationRuleExecution.Query().Where(automationruleexecution.ID(id)).Only(ctx)
	return one(e, err, rows.Execution)
}
