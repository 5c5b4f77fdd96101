package observe

import (
	"flag"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"github.com/stretchr/testify/require"

	"surehand/internal/plant"
	"surehand/internal/term"
)

var update = flag.Bool("update", false, "write the golden files anew")

func healthy() Health {
	return Health{LastTurn: noon, DatabaseAway: true, Person: 1, Worker: 2, Device: 3, Telemetry: 4}
}

// TestNames holds the names, types and labels of all metrics: dashboards and alerts of others rest on them.
// proves D-21
func TestNames(t *testing.T) {
	m := NewMetrics("1.2.3", healthy)
	m.Watch("stream_clients", "Open event streams.", func() float64 { return 2 })
	m.Show(plant.Committed{Counts: []plant.Count{{Name: "link", Label: "answers up"}, {Name: "new_count"}}})
	families, err := m.registry.Gather()
	require.NoError(t, err)
	var lines []string
	for _, f := range families {
		if !strings.HasPrefix(f.GetName(), "surehand_") {
			continue // of the runtime
		}
		labels := map[string]bool{}
		for _, metric := range f.GetMetric() {
			for _, l := range metric.GetLabel() {
				labels[l.GetName()] = true
			}
		}
		require.Regexp(t, regexp.MustCompile(`^surehand_[a-z_]+$`), f.GetName())
		require.NotEmpty(t, f.GetHelp())
		lines = append(lines, strings.TrimSpace(f.GetName()+" "+strings.ToLower(f.GetType().String())+" "+strings.Join(slices.Sorted(maps.Keys(labels)), ",")))
	}
	got := strings.Join(lines, "\n") + "\n"
	const golden = "testdata/metrics.txt"
	if *update {
		require.NoError(t, os.WriteFile(golden, []byte(got), 0o644))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.Equal(t, string(want), got, "a changed name breaks dashboards; if it is meant, run the test with -update")
	problems, err := promlint.NewWithMetricFamilies(families).Lint()
	require.NoError(t, err)
	require.Empty(t, problems)
}

// lines gives the metrics page.
func lines(t *testing.T, m *Metrics) string {
	t.Helper()
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	require.Equal(t, http.StatusOK, w.Code)
	return w.Body.String()
}

func TestALifeOfACommandIsCounted(t *testing.T) {
	m := NewMetrics("1.2.3", healthy)
	at := func(d time.Duration) time.Time { return noon.Add(d) }
	move := func(before, after plant.Row) { m.Show(change(before, after)) }
	i := func(version int64, state term.CommandState, set func(*plant.Intent)) *plant.Intent {
		r := &plant.Intent{ID: "i1", Version: version, State: state, CreatedAt: noon}
		if set != nil {
			set(r)
		}
		return r
	}
	move(nil, &plant.Telemetry{})
	move(nil, &plant.Event{Status: term.EventPending})
	move(&plant.Event{Status: term.EventPending}, &plant.Event{Status: term.EventProcessed})
	move(nil, &plant.Event{Status: term.EventDiscarded})
	move(nil, &plant.Execution{Source: term.SourceRule, Outcome: term.ExecutionFalse, Count: 1})
	move(&plant.Execution{Count: 1}, &plant.Execution{Source: term.SourceRule, Outcome: term.ExecutionFalse, Count: 4})
	move(nil, &plant.Execution{Source: term.SourceRule, Outcome: term.ExecutionFired, Count: 1})
	move(nil, &plant.Execution{Source: term.SourceHand, Outcome: term.ExecutionFired, Count: 1})
	waiting := i(1, term.PendingDispatch, func(r *plant.Intent) { r.WaitingFor = term.GateLinkDown })
	move(nil, waiting)
	require.Contains(t, lines(t, m), `surehand_commands_waiting{gate="link_down"} 1`)
	require.Contains(t, lines(t, m), `surehand_commands{state="pending_dispatch"} 1`)
	fenced := i(2, term.PendingDispatch, func(r *plant.Intent) { r.FencedAt = at(time.Second) })
	move(waiting, fenced)
	move(nil, &plant.Attempt{ID: "a1", Number: 1, Outcome: term.AttemptOpen})
	move(&plant.Attempt{Outcome: term.AttemptOpen}, &plant.Attempt{ID: "a1", Number: 1, Outcome: term.AttemptSent})
	move(nil, &plant.Receipt{Type: term.ReceiptTimeout})
	move(nil, &plant.Receipt{Type: term.ReceiptAck, Correlation: term.CorrelationTimely})
	move(nil, &plant.Receipt{Type: term.ReceiptResult, Correlation: term.CorrelationLate})
	move(nil, &plant.Attempt{ID: "a2", Number: 2, Outcome: term.AttemptOpen})
	acked := i(3, term.Acknowledged, func(r *plant.Intent) { r.FencedAt = at(time.Second); r.AckedAt = at(3 * time.Second) })
	move(fenced, acked)
	move(acked, i(4, term.Acknowledged, func(r *plant.Intent) { *r = *acked; r.Version = 4 })) // the same ack once more
	unsure := i(5, term.Uncertain, func(r *plant.Intent) { r.FencedAt, r.AckedAt = acked.FencedAt, acked.AckedAt })
	move(acked, unsure)
	move(unsure, i(6, term.Applied, func(r *plant.Intent) {
		r.FencedAt, r.AckedAt, r.EndedAt, r.ClosedAt = acked.FencedAt, acked.AckedAt, at(40*time.Second), at(40*time.Second)
	}))
	m.Show(plant.Committed{Fence: plant.Fence{Epoch: 7, Seq: 99}, Entries: []plant.Entry{{Outcome: "refused"}},
		Counts: []plant.Count{{Name: "input_rejected", Label: "malformed"}, {Name: "input_rejected", Label: "made \"up\""}, {Name: "answer", Label: "late"},
			{Name: "answer", Label: "foreign"}, {Name: "telemetry_ignored", Label: "repeated"}, {Name: "result_stale", Label: "sent"}, {Name: "link", Label: "commands down"}}})

	page := lines(t, m)
	for _, want := range []string{
		"surehand_readings_total 1", "surehand_endpoint_events_total 2", `surehand_endpoint_events_finished_total{status="processed"} 1`,
		`surehand_endpoint_events_finished_total{status="discarded"} 1`, `surehand_rule_verdicts_total{outcome="false"} 4`,
		`surehand_rule_verdicts_total{outcome="fired"} 1`, `surehand_dispatch_results_total{result="sent"} 1`, `surehand_dispatch_results_total{result="unknown"} 0`,
		"surehand_command_timeouts_total 1", "surehand_command_retries_total 1", "surehand_command_uncertain_total 1", `surehand_commands_ended_total{state="applied"} 1`,
		"surehand_command_ack_latency_seconds_count 1", "surehand_command_ack_latency_seconds_sum 2",
		"surehand_command_applied_latency_seconds_count 1", "surehand_command_applied_latency_seconds_sum 40",
		`surehand_commands{state="acknowledged"} 0`, `surehand_commands_waiting{gate="link_down"} 0`,
		`surehand_inputs_rejected_total{reason="malformed"} 1`, `surehand_inputs_rejected_total{reason="other"} 1`, `surehand_answers_total{correlation="late"} 1`, `surehand_answers_total{correlation="timely"} 1`,
		`surehand_answers_total{correlation="foreign"} 1`, `surehand_answers_total{correlation="duplicate"} 0`, `surehand_inputs_ignored_total{reason="repeated"} 1`,
		`surehand_results_stale_total{result="sent"} 1`, `surehand_link_up{link="commands"} 0`, "surehand_epoch 7", "surehand_log_seq 99",
		`surehand_log_rows_total{outcome="refused"} 1`, `surehand_inbox_messages{source="worker"} 2`, "surehand_database_away 1", `surehand_build_info{version="1.2.3"} 1`,
		"surehand_loop_last_turn_timestamp_seconds 1.7698608e+09",
	} {
		require.Contains(t, page, want+"\n")
	}
}

func TestOpenCommandsOfAnEarlierLife(t *testing.T) {
	row := func(id term.IntentID, version int64, state term.CommandState, closed bool) *plant.Intent {
		r := &plant.Intent{ID: id, Version: version, State: state}
		if closed {
			r.ClosedAt = noon
		}
		return r
	}
	m := NewMetrics("", nil)
	m.Show(change(nil, row("newer", 3, term.Acknowledged, false)))
	m.Show(change(nil, row("gone", 3, term.Applied, true)))
	m.LoadCommands(row("newer", 2, term.Dispatched, false), row("still", 1, term.Retrying, false))
	m.LoadCommands(row("gone", 2, term.Dispatched, false)) // on a later page
	m.Loaded()
	page := lines(t, m)
	require.Contains(t, page, `surehand_commands{state="acknowledged"} 1`)
	require.Contains(t, page, `surehand_commands{state="dispatched"} 0`)
	require.Contains(t, page, `surehand_commands{state="retrying"} 1`)
	m.Show(change(nil, row("still", 2, term.Applied, true)))
	require.Contains(t, lines(t, m), `surehand_commands{state="retrying"} 0`)
}

func TestOpenQuestionsOfAnEarlierLife(t *testing.T) {
	row := func(id term.QuestionID, version int64, state term.QuestionState) *plant.Question {
		return &plant.Question{ID: id, Version: version, Finding: term.FindOverdue, State: state}
	}
	open := func(m *Metrics) string {
		page := lines(t, m)
		_, after, _ := strings.Cut(page, "\nsurehand_questions_open ")
		count, _, _ := strings.Cut(after, "\n")
		return count
	}
	m := NewMetrics("", nil)
	require.Equal(t, "0", open(m))
	asked := row("gone", 2, term.QuestionOpen)
	m.Show(change(asked, row("gone", 3, term.QuestionResolved)))
	require.Equal(t, "0", open(m), "one that was opened in an earlier process life is answered")
	m.Show(change(nil, row("new", 1, term.QuestionOpen)))
	m.Show(change(row("new", 1, term.QuestionOpen), row("new", 2, term.QuestionOpen))) // revised
	require.Equal(t, "1", open(m))
	m.LoadQuestions(row("still", 1, term.QuestionOpen), row("new", 1, term.QuestionOpen))
	m.LoadQuestions(asked)
	m.Loaded()
	require.Equal(t, "2", open(m))
	m.Show(change(row("still", 1, term.QuestionOpen), row("still", 2, term.QuestionResolved)))
	require.Equal(t, "1", open(m))
}
