package read

import (
	"context"

	entsql "entgo.io/ent/dialect/sql"

	"surehand/ent"
	"surehand/ent/alarm"
	"surehand/ent/manualaction"
	"surehand/internal/dbstate/rows"
	"surehand/internal/plant"
	"surehand/internal/term"
)

// QuestionFilter narrows a list of questions to people; empty fields do not.
type QuestionFilter struct {
	OnlyOpen bool
	Subject  string
	Job      term.JobID
	Cursor   string
	Limit    int
}

// Questions lists manual actions, newest first.
func (r *Reader) Questions(ctx context.Context, f QuestionFilter) (Page[*plant.Question], error) {
	limit := bounded(f.Limit)
	q := r.client.ManualAction.Query().Order(manualaction.ByID(entsql.OrderDesc())).Limit(limit + 1)
	switch key, more, err := afterUUID(f.Cursor); {
	case err != nil:
		return Page[*plant.Question]{}, err
	case more:
		q = q.Where(manualaction.IDLT(term.QuestionID(key)))
	}
	if f.OnlyOpen {
		q = q.Where(manualaction.IsOpen(true))
	}
	if f.Subject != "" {
		q = q.Where(manualaction.Subject(f.Subject))
	}
	if f.Job != "" {
		q = q.Where(manualaction.JobID(f.Job))
	}
	list, err := q.All(ctx)
	return pageOf(list, err, limit, rows.Question, func(e *ent.ManualAction) string { return string(e.ID) })
}

// Question finds one.
func (r *Reader) Question(ctx context.Context, id term.QuestionID) (*plant.Question, error) {
	if !isUUID(string(id)) {
		return nil, ErrNotFound
	}
	e, err := r.client.ManualAction.Query().Where(manualaction.ID(id)).Only(ctx)
	return one(e, err, rows.Question)
}

// AlarmFilter narrows a list of alarms; empty fields do not.
type AlarmFilter struct {
	OnlyOpen bool
	Subject  string
	Cursor   string
	Limit    int
}

// Alarms lists alarms, newest first.
func (r *Reader) Alarms(ctx context.Context, f AlarmFilter) (Page[*plant.Alarm], error) {
	limit := bounded(f.Limit)
	q := r.client.Alarm.Query().Order(alarm.ByID(entsql.OrderDesc())).Limit(limit + 1)
	switch key, more, err := afterUUID(f.Cursor); {
	case err != nil:
		return Page[*plant.Alarm]{}, err
	case more:
		q = q.Where(alarm.IDLT(term.AlarmID(key)))
	}
	if f.OnlyOpen {
		q = q.Where(alarm.IsOpen(true))
	}
	if f.Subject != "" {
		q = q.Where(alarm.Subject(f.Subject))
	}
	list, err := q.All(ctx)
	return pageOf(list, err, limit, rows.Alarm, func(e *ent.Alarm) string { return string(e.ID) })
}
