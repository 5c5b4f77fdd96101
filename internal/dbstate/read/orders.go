package read

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	entsql "entgo.io/ent/dialect/sql"

	"surehand/ent"
	"surehand/ent/job"
	"surehand/ent/task"
	"surehand/ent/workorder"
	"surehand/internal/dbstate/rows"
	"surehand/internal/plant"
	"surehand/internal/term"
)

// OrderFilter narrows a list of orders; empty fields do not.
type OrderFilter struct {
	States []term.OrderState
	Cursor string
	Limit  int
}

// Orders lists work orders, newest first.
func (r *Reader) Orders(ctx context.Context, f OrderFilter) (Page[*plant.Order], error) {
	limit := bounded(f.Limit)
	q := r.client.WorkOrder.Query().Order(workorder.ByCreatedAt(entsql.OrderDesc()), workorder.ByID(entsql.OrderDesc())).Limit(limit + 1)
	// Ids of orders are chosen by people and say nothing of time, so the cursor names both.
	switch number, id, more, err := afterPair(f.Cursor); {
	case err != nil:
		return Page[*plant.Order]{}, err
	case more:
		made := time.UnixMicro(number).UTC()
		q = q.Where(workorder.Or(workorder.CreatedAtLT(made), workorder.And(workorder.CreatedAt(made), workorder.IDLT(term.OrderID(id)))))
	}
	if len(f.States) > 0 {
		q = q.Where(workorder.StateIn(f.States...))
		if !slices.ContainsFunc(f.States, term.OrderState.Ended) {
			q = q.Where(workorder.IsOpen(true))
		}
	}
	list, err := q.All(ctx)
	return pageOf(list, err, limit, rows.Order, func(e *ent.WorkOrder) string { return pair(e.CreatedAt.UnixMicro(), string(e.ID)) })
}

// Order finds one.
func (r *Reader) Order(ctx context.Context, id term.OrderID) (*plant.Order, error) {
	e, err := r.client.WorkOrder.Query().Where(workorder.ID(id)).Only(ctx)
	return one(e, err, rows.Order)
}

// pair is the key of a list that is ordered by a number and a name.
func pair(number int64, name string) string { return strconv.FormatInt(number, 10) + " " + name }

func afterPair(cursor string) (number int64, name string, ok bool, err error) {
	key, ok, err := after(cursor)
	if err != nil || !ok {
		return 0, "", false, err
	}
	head, name, both := strings.Cut(key, " ")
	number, err = strconv.ParseInt(head, 10, 64)
	if err != nil || !both {
		return 0, "", false, ErrCursor
	}
	return number, name, true, nil
}

// JobFilter narrows a list of parts; empty fields do not.
type JobFilter struct {
	Order    term.OrderID
	States   []term.JobState
	OnlyOpen bool
	Cursor   string
	Limit    int
}

// Jobs lists parts by order and number.
func (r *Reader) Jobs(ctx context.Context, f JobFilter) (Page[*plant.Job], error) {
	limit := bounded(f.Limit)
	q := r.client.Job.Query().Order(job.ByOrderID(), job.ByNumber()).Limit(limit + 1)
	switch number, order, more, err := afterPair(f.Cursor); {
	case err != nil:
		return Page[*plant.Job]{}, err
	case more:
		order := term.OrderID(order)
		q = q.Where(job.Or(job.OrderIDGT(order), job.And(job.OrderID(order), job.NumberGT(int(number)))))
	}
	if f.Order != "" {
		q = q.Where(job.OrderID(f.Order))
	}
	if len(f.States) > 0 {
		q = q.Where(job.StateIn(f.States...))
	}
	if f.OnlyOpen || len(f.States) > 0 && !slices.ContainsFunc(f.States, term.JobState.Ended) {
		q = q.Where(job.IsOpen(true))
	}
	list, err := q.All(ctx)
	return pageOf(list, err, limit, rows.Job, func(e *ent.Job) string { return pair(int64(e.Number), string(e.OrderID)) })
}

// Job finds one.
func (r *Reader) Job(ctx context.Context, id term.JobID) (*plant.Job, error) {
	e, err := r.client.Job.Query().Where(job.ID(id)).Only(ctx)
	return one(e, err, rows.Job)
}

// TaskFilter narrows a list of actions; empty fields do not.
type TaskFilter struct {
	States    []term.TaskState
	Order     term.OrderID
	Job       term.JobID
	Equipment term.EquipmentID
	OnlyOpen  bool
	Cursor    string
	Limit     int
}

// Tasks lists actions, newest first.
func (r *Reader) Tasks(ctx context.Context, f TaskFilter) (Page[*plant.Task], error) {
	limit := bounded(f.Limit)
	q := r.client.Task.Query().Order(task.ByID(entsql.OrderDesc())).Limit(limit + 1)
	switch key, more, err := afterUUID(f.Cursor); {
	case err != nil:
		return Page[*plant.Task]{}, err
	case more:
		q = q.Where(task.IDLT(term.TaskID(key)))
	}
	if len(f.States) > 0 {
		q = q.Where(task.StateIn(f.States...))
	}
	if f.OnlyOpen || len(f.States) > 0 && !slices.ContainsFunc(f.States, term.TaskState.Ended) {
		q = q.Where(task.IsOpen(true))
	}
	if f.Order != "" {
		q = q.Where(task.OrderID(f.Order))
	}
	if f.Job != "" {
		q = q.Where(task.JobID(f.Job))
	}
	if f.Equipment != "" {
		q = q.Where(task.EquipmentID(f.Equipment))
	}
	list, err := q.All(ctx)
	return pageOf(list, err, limit, rows.Task, func(e *ent.Task) string { return string(e.ID) })
}

// Task finds one.
func (r *Reader) Task(ctx context.Context, id term.TaskID) (*plant.Task, error) {
	if !isUUID(string(id)) {
		return nil, ErrNotFound
	}
	e, err := r.client.Task.Query().Where(task.ID(id)).Only(ctx)
	return one(e, err, rows.Task)
}
