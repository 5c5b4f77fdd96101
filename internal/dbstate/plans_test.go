package dbstate

import (
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"surehand/internal/plant"
	"surehand/internal/term"
)

// Every set-based update finds its rows by their key, also when it is planned while the table is empty.
func TestUpdatesUseTheKey(t *testing.T) {
	url, _ := migrated(t)
	s, err := Connect(t.Context(), Options{URL: url, AllowUnsafe: true})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	id := string(holdID(1))
	for kind, row := range map[plant.Kind]plant.Row{
		plant.KindEndpoint:  &plant.Endpoint{ID: "x"},
		plant.KindRule:      &plant.Rule{ID: "x"},
		plant.KindEvent:     &plant.Event{ID: term.EventID(id)},
		plant.KindExecution: &plant.Execution{ID: term.ExecutionID(id)},
		plant.KindIntent:    &plant.Intent{ID: term.IntentID(id), ExecutionID: term.ExecutionID(id)},
		plant.KindAttempt:   &plant.Attempt{ID: term.AttemptID(id), IntentID: term.IntentID(id)},
		plant.KindOrder:     &plant.Order{ID: "x"},
		plant.KindJob:       &plant.Job{ID: "x"},
		plant.KindSlot:      &plant.Slot{ID: "x"},
		plant.KindTask:      &plant.Task{ID: term.TaskID(id)},
		plant.KindQuestion:  &plant.Question{ID: term.QuestionID(id)},
		plant.KindAlarm:     &plant.Alarm{ID: term.AlarmID(id)},
	} {
		update, args := tables[kind].updates([]plant.Change{{Before: row, After: row}})
		found, err := s.conn.Query(t.Context(), "EXPLAIN "+update, args...)
		require.NoError(t, err)
		lines, err := pgx.CollectRows(found, pgx.RowTo[string])
		require.NoError(t, err)
		plan := strings.Join(lines, "\n")
		require.Contains(t, plan, "Index Scan using", "%s", kind)
		require.NotContains(t, plan, "Seq Scan", "%s", kind)
	}
}

// An update that changes no indexed column stays within its page: a command moves through its states, and an
// endpoint through its values, without touching an index.
func TestUpdatesStayWithinTheirPage(t *testing.T) {
	url, conn := migrated(t)
	s, err := Connect(t.Context(), Options{URL: url, AllowUnsafe: true})
	require.NoError(t, err)
	state, err := s.Open(t.Context(), string(holdID(9)))
	require.NoError(t, err)
	fence := state.Fence()
	commit := func(changes []plant.Change) {
		after := fence
		after.Turn++
		require.NoError(t, s.Commit(t.Context(), plant.Batch{Before: fence, After: after, Changes: changes}))
		fence = after
	}
	const commits = 7
	var made []plant.Change
	var moved [commits][]plant.Change // spread over the pages, as the messages of a turn are
	when := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for n := range 100 {
		i := &plant.Intent{ID: term.IntentID(holdID(n)), Version: 1, ExecutionID: term.ExecutionID(holdID(n)), EndpointID: term.EndpointID(holdID(n)),
			IdempotencyKey: string(holdID(n)), State: term.Dispatched, Action: term.ActionAbsolute, MaxAttempts: 3, AttemptCount: 1, AttemptNumber: 1,
			CommandID: term.CommandID(holdID(n)), HoldsEndpoint: true, DueAt: when}
		acked := *i
		acked.Version, acked.State, acked.AckedAt, acked.LastError = 2, term.Acknowledged, when, "x"
		e := &plant.Endpoint{ID: term.EndpointID(holdID(n)), Version: 1}
		observed := *e
		observed.Version, observed.Value, observed.SampledAt = 2, term.Int(1), when
		made = append(made, plant.Change{After: i}, plant.Change{After: e})
		moved[n%commits] = append(moved[n%commits], plant.Change{Before: i, After: &acked}, plant.Change{Before: e, After: &observed})
	}
	commit(made)
	for _, changes := range moved {
		commit(changes)
	}
	require.NoError(t, s.Close()) // a session tells its numbers when it ends
	for _, table := range []string{"automation_command_intents", "device_endpoints"} {
		for all, hot := int64(0), int64(-1); all < 100; {
			require.NoError(t, conn.QueryRow(t.Context(), "SELECT n_tup_upd, n_tup_hot_upd FROM pg_stat_user_tables WHERE relname = $1", table).Scan(&all, &hot))
			require.LessOrEqual(t, all-hot, int64(10), "%s: updates that left their page", table)
		}
	}
}
