package read

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"time"

	"surehand/ent/hold"
	"surehand/ent/manualaction"
	"surehand/ent/predicate"
	"surehand/ent/task"
	"surehand/internal/dbstate/rows"
	"surehand/internal/plant"
	"surehand/internal/term"
)

// aboutTheCell is the condition of the index event_log_notes_of_the_cell, word for word.
const aboutTheCell = `coalesce(split_part(subject, ':', 1), '') IN
	('', 'alarm', 'cell', 'equipment', 'job', 'loop', 'order', 'pallet', 'question', 'slot', 'task')`

// JobTimeline lists what happened to a part, in order: its moves from the event log, its actions, the questions about
// it and its holds. A message that changed very many rows notes only some of them, so its beginning and its end are
// told by the rows.
func (r *Reader) JobTimeline(ctx context.Context, id term.JobID) ([]TimelineItem, error) {
	j, err := r.Job(ctx, id)
	if err != nil {
		return nil, err
	}
	o, err := r.Order(ctx, j.OrderID)
	if err != nil {
		return nil, err
	}
	items := []TimelineItem{{At: o.CreatedAt, Kind: "decided", Text: string(o.ID), To: string(term.NotArrived), Detail: detail(map[string]any{
		"number": j.Number, "product": o.Product, "routeId": o.RouteID, "routeRevision": o.RouteRevision, "actor": o.Actor})}}
	if !j.EndedAt.IsZero() {
		items = append(items, TimelineItem{At: j.EndedAt, Kind: "ended", Text: j.Position.Ref, To: string(j.State), Detail: detail(map[string]any{
			"code": j.Context.Code, "why": j.Context.Out})})
	}
	actions, err := r.actions(ctx, task.JobID(id))
	if err != nil {
		return nil, err
	}
	questions, err := r.asked(ctx, manualaction.Or(manualaction.JobID(id), manualaction.Subject(plant.JobSubject(id))))
	if err != nil {
		return nil, err
	}
	holds, err := r.heldAndLifted(ctx, plant.JobSubject(id), plant.OrderSubject(j.OrderID))
	if err != nil {
		return nil, err
	}
	moves, err := r.notesOf(ctx, plant.KindJob, string(id))
	if err != nil {
		return nil, err
	}
	return inOrder(items, actions, questions, holds, moves), nil
}

// OrderTimeline lists what happened to an order, in order: its moves from the event log, its holds and the questions
// about it. The parts have their own.
func (r *Reader) OrderTimeline(ctx context.Context, id term.OrderID) ([]TimelineItem, error) {
	o, err := r.Order(ctx, id)
	if err != nil {
		return nil, err
	}
	items := []TimelineItem{{At: o.CreatedAt, Kind: "decided", Text: o.Product, To: string(term.OrderDraft), Detail: detail(map[string]any{
		"planned": o.Planned, "routeId": o.RouteID, "routeRevision": o.RouteRevision, "priority": o.Priority, "actor": o.Actor})}}
	if !o.EndedAt.IsZero() {
		items = append(items, TimelineItem{At: o.EndedAt, Kind: "ended", To: string(o.State), Detail: detail(map[string]any{
			"completed": o.Completed, "scrapped": o.Scrapped, "cancelled": o.Cancelled})})
	}
	questions, err := r.asked(ctx, manualaction.Subject(plant.OrderSubject(id)))
	if err != nil {
		return nil, err
	}
	holds, err := r.heldAndLifted(ctx, plant.OrderSubject(id))
	if err != nil {
		return nil, err
	}
	moves, err := r.notesOf(ctx, plant.KindOrder, string(id))
	if err != nil {
		return nil, err
	}
	return inOrder(items, questions, holds, moves), nil
}

// inOrder sorts by time; what one turn did at one time comes as one would tell it.
func inOrder(lists ...[]TimelineItem) []TimelineItem {
	items := slices.Concat(lists...)
	slices.SortStableFunc(items, func(a, b TimelineItem) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(rankInCell(a.Kind), rankInCell(b.Kind)), cmp.Compare(a.Seq, b.Seq))
	})
	return items
}

func rankInCell(kind string) int {
	return slices.Index([]string{"decided", "answer", "action_ended", "move", "ended", "question", "held", "lifted", "action"}, kind)
}

// Materialized, so that no plan walks the whole log in the order of seq to find the first ones.
const notesQuery = `WITH about AS MATERIALIZED (SELECT seq, decided_at, type, actor, notes FROM event_log
	WHERE ` + aboutTheCell + ` AND notes @> $1::text::jsonb)
	SELECT seq, decided_at, type, coalesce(actor, ''), notes::text FROM about ORDER BY seq LIMIT $2`

// notesOf finds the moves of one row in the event log.
func (r *Reader) notesOf(ctx context.Context, kind plant.Kind, key string) ([]TimelineItem, error) {
	about, err := json.Marshal([]map[string]string{{"kind": string(kind), "key": key}})
	if err != nil {
		return nil, err
	}
	answer, err := r.pool.Query(ctx, notesQuery, string(about), MaxTimeline)
	if err != nil {
		return nil, found(err)
	}
	return moves(answer, kind, key)
}

// actions of a part: each one's begin and end.
func (r *Reader) actions(ctx context.Context, of ...predicate.Task) ([]TimelineItem, error) {
	list, err := r.client.Task.Query().Where(of...).Order(task.ByID()).Limit(MaxTimeline).All(ctx)
	tasks, err := all(list, err, rows.Task)
	if err != nil {
		return nil, err
	}
	var items []TimelineItem
	for _, t := range tasks {
		items = append(items, TimelineItem{At: t.CreatedAt, Kind: "action", Text: string(t.Type), From: t.From.String(), To: t.To.String(), Detail: detail(map[string]any{
			"id": t.ID, "equipmentId": t.EquipmentID, "actionNo": t.ActionNo, "epoch": t.Epoch, "plan": t.Plan})})
		if !t.EndedAt.IsZero() {
			items = append(items, TimelineItem{At: t.EndedAt, Kind: "action_ended", Text: string(t.State), To: string(t.PartAt), Detail: detail(map[string]any{
				"id": t.ID, "error": t.Error})})
		}
	}
	return items, nil
}

// asked are questions and their answers.
func (r *Reader) asked(ctx context.Context, about ...predicate.ManualAction) ([]TimelineItem, error) {
	list, err := r.client.ManualAction.Query().Where(about...).Order(manualaction.ByID()).Limit(MaxTimeline).All(ctx)
	questions, err := all(list, err, rows.Question)
	if err != nil {
		return nil, err
	}
	var items []TimelineItem
	for _, q := range questions {
		items = append(items, TimelineItem{At: q.OpenedAt, Kind: "question", Text: string(q.Finding), Detail: detail(map[string]any{
			"id": q.ID, "subject": q.Subject, "record": q.Record, "machine": q.Machine, "suggested": q.Suggested})})
		if !q.EndedAt.IsZero() {
			items = append(items, TimelineItem{At: q.EndedAt, Kind: "answer", Text: q.Answer, Detail: detail(map[string]any{
				"id": q.ID, "finding": q.Finding, "by": q.By, "reason": q.Reason})})
		}
	}
	return items, nil
}

// heldAndLifted are the holds of subjects.
func (r *Reader) heldAndLifted(ctx context.Context, subjects ...string) ([]TimelineItem, error) {
	list, err := r.client.Hold.Query().Where(hold.SubjectIn(subjects...)).Order(hold.ByID()).Limit(MaxTimeline).All(ctx)
	holds, err := all(list, err, rows.Hold)
	if err != nil {
		return nil, err
	}
	item := func(at time.Time, kind string, h *plant.Hold, by, why string) TimelineItem {
		return TimelineItem{At: at, Kind: kind, Text: string(h.Reason), Detail: detail(map[string]any{"subject": h.Subject, "by": by, "why": why})}
	}
	var items []TimelineItem
	for _, h := range holds {
		items = append(items, item(h.At, "held", h, h.By, h.Why))
		if !h.EndedAt.IsZero() {
			items = append(items, item(h.EndedAt, "lifted", h, h.EndedBy, h.EndWhy))
		}
	}
	return items, nil
}
