package read

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"

	"surehand/internal/plant"
	"surehand/internal/term"
)

// TimelineItem is one thing that happened to a command, a part or an order. Kind is decided or move; of a command
// attempt, attempt_ended or receipt; of a part or an order action, action_ended, question, answer, held, lifted or
// ended. The ones of the event log carry its seq.
type TimelineItem struct {
	At     time.Time
	Seq    int64 // 0: not of the event log
	Kind   string
	Text   string // move, topic, outcome, type or reason, depending on kind
	From   string
	To     string
	Detail json.RawMessage // an object, for the curious
}

// CommandTimeline lists what happened to a command, in order.
func (r *Reader) CommandTimeline(ctx context.Context, id term.IntentID) ([]TimelineItem, error) {
	i, err := r.Command(ctx, id)
	if err != nil {
		return nil, err
	}
	attempts, err := r.Attempts(ctx, id)
	if err != nil {
		return nil, err
	}
	receipts, err := r.Receipts(ctx, id)
	if err != nil {
		return nil, err
	}
	moves, err := r.movesOf(ctx, i)
	if err != nil {
		return nil, err
	}
	items := []TimelineItem{{At: i.CreatedAt, Kind: "decided", Text: i.Method, To: string(term.PendingDispatch), Detail: detail(map[string]any{
		"executionId": i.ExecutionID, "ruleId": i.RuleID, "actor": i.Actor, "params": i.Params, "target": i.TargetValue})}}
	for _, a := range attempts {
		items = append(items, TimelineItem{At: a.FencedAt, Kind: "attempt", Text: a.Topic, Detail: detail(map[string]any{
			"id": a.ID, "number": a.Number, "epoch": a.Epoch, "qos": a.QoS, "payload": a.Payload, "deadlineAt": a.DeadlineAt})})
		if !a.EndedAt.IsZero() {
			items = append(items, TimelineItem{At: a.EndedAt, Kind: "attempt_ended", Text: string(a.Outcome), Detail: detail(map[string]any{
				"id": a.ID, "number": a.Number, "error": a.Error})})
		}
	}
	for _, e := range receipts {
		items = append(items, TimelineItem{At: e.ReceivedAt, Kind: "receipt", Text: string(e.Type), Detail: detail(map[string]any{
			"id": e.ID, "correlation": e.Correlation, "reason": e.Reason, "payload": readable(e.Payload)})})
	}
	items = append(items, moves...)
	slices.SortStableFunc(items, func(a, b TimelineItem) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(rank(a.Kind), rank(b.Kind)), cmp.Compare(a.Seq, b.Seq))
	})
	return items, nil
}

// rank orders what one turn did at one time: the evidence before the move that it caused.
func rank(kind string) int {
	return slices.Index([]string{"receipt", "decided", "attempt_ended", "move", "attempt"}, kind)
}

// movesOf finds the moves of a command in the event log. The log has an index by subject and time; a command
// moves by messages about itself, its device, the device whose event caused it, or the loop as a whole.
func (r *Reader) movesOf(ctx context.Context, i *plant.Intent) ([]TimelineItem, error) {
	subjects := []string{"intent:" + string(i.ID), plant.DeviceSubject(i.DeviceID), "endpoint:" + string(i.EndpointID),
		"execution:" + string(i.ExecutionID), plant.DevicesSubject, "loop", "configuration"}
	for _, l := range []plant.Link{plant.LinkTelemetry, plant.LinkAnswers, plant.LinkCommands} {
		subjects = append(subjects, "link:"+string(l))
	}
	if i.EventID != "" {
		switch e, err := r.Event(ctx, i.EventID); {
		case err == nil:
			subjects = append(subjects, plant.DeviceSubject(e.DeviceID))
		case !errors.Is(err, ErrNotFound): // an old event may be gone
			return nil, err
		}
	}
	about, err := json.Marshal([]map[string]string{{"kind": string(plant.KindIntent), "key": string(i.ID)}})
	if err != nil {
		return nil, err
	}
	answer, err := r.pool.Query(ctx, `SELECT seq, decided_at, type, coalesce(actor, ''), notes::text FROM event_log
		WHERE (subject = ANY ($1) OR subject IS NULL) AND decided_at >= $2 AND ($3 OR decided_at <= $4) AND notes @> $5::text::jsonb
		ORDER BY seq LIMIT $6`, subjects, i.CreatedAt, i.Open(), i.UpdatedAt, string(about), MaxTimeline)
	if err != nil {
		return nil, found(err)
	}
	return moves(answer, plant.KindIntent, string(i.ID))
}

// moves reads log rows and keeps what their notes say about one row.
func moves(answer pgx.Rows, kind plant.Kind, key string) ([]TimelineItem, error) {
	lists, err := pgx.CollectRows(answer, func(row pgx.CollectableRow) ([]TimelineItem, error) {
		var item TimelineItem
		var message, actor, text string
		if err := row.Scan(&item.Seq, &item.At, &message, &actor, &text); err != nil {
			return nil, err
		}
		var notes []plant.Note
		if err := json.Unmarshal([]byte(text), &notes); err != nil {
			return nil, fmt.Errorf("notes of seq %d: %w", item.Seq, err)
		}
		item.At, item.Kind = plant.Micros(item.At), "move"
		item.Detail = detail(map[string]any{"message": message, "actor": actor})
		var items []TimelineItem
		for _, n := range notes {
			if n.Kind == kind && n.Key == key {
				item.Text, item.From, item.To = n.Move, n.From, n.To
				items = append(items, item)
			}
		}
		return items, nil
	})
	if err != nil {
		return nil, found(err)
	}
	return slices.Concat(lists...), nil
}

// detail marshals plain data, which always works.
func detail(m map[string]any) json.RawMessage { return json.RawMessage(term.JSON(m)) }

// readable is a payload as text, or as hex when it is none.
func readable(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	return fmt.Sprintf("hex:%x", b)
}

// ExecutionStory is why a command exists, or why it does not: event, verdict with leaves and gates, command.
type ExecutionStory struct {
	Execution *plant.Execution
	Event     *plant.Event  // nil: a hand command, or an event that is kept no longer
	Command   *plant.Intent // nil: none was decided
	Timeline  []TimelineItem
}

// ExecutionTimeline tells the story of one execution.
func (r *Reader) ExecutionTimeline(ctx context.Context, id term.ExecutionID) (ExecutionStory, error) {
	var story ExecutionStory
	var err error
	if story.Execution, err = r.Execution(ctx, id); err != nil {
		return story, err
	}
	if event := story.Execution.EventID; event != "" {
		if story.Event, err = r.Event(ctx, event); err != nil && !errors.Is(err, ErrNotFound) {
			return story, err
		}
	}
	if intent := story.Execution.IntentID; intent != "" {
		if story.Command, err = r.Command(ctx, intent); err != nil {
			return story, err
		}
		if story.Timeline, err = r.CommandTimeline(ctx, intent); err != nil {
			return story, err
		}
	}
	return story, nil
}
