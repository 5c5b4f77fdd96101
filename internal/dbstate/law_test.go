package dbstate

import (
	"context"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"surehand/internal/dbstate/migrate"
	"surehand/internal/embedded/embeddedtest"
	"surehand/internal/plant"
	"surehand/internal/term"
)

func migrated(t *testing.T) (string, *pgx.Conn) {
	t.Helper()
	url := embeddedtest.DatabaseLike(t, "migrated", func(url string) error {
		return migrate.Up(context.Background(), url, slog.New(slog.DiscardHandler))
	})
	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return url, conn
}

// Constraints that tie a derived column to the row; a row that is mapped by us cannot break them.
var derived = []string{"intent_is_open", "attempt_is_open", "event_is_open", "hold_is_open", "order_is_open", "job_flags", "task_flags", "task_action_no_fits_the_wire",
	"question_is_open", "alarm_is_open"}

// The law is said in Go and in the schema, and both must give the same verdict on every combination of states
// and flags, by the same name.
func TestLawAndChecksAgree(t *testing.T) {
	when := time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC)
	no := time.Time{}
	for _, tt := range []struct {
		table string
		write writer
		rows  []plant.Row
		laws  int // that some row must break
	}{
		{"automation_command_intents", intents, everyIntent(when), 13 - 1}, // an unknown state cannot come from the enum
		{"command_attempts", attempts, everyAttempt(when), 3},
		{"automation_endpoint_events", events, everyEvent(), 1},
		{"automation_rule_executions", executions, everyExecution(when), 3},
		{"devices", devices, everySerial(), 1},
		{"holds", holds, []plant.Row{
			&plant.Hold{ID: holdID(1), Version: 1, Reason: term.HoldParked, EndedAt: no, EndedBy: ""},
			&plant.Hold{ID: holdID(2), Version: 1, Reason: term.HoldParked, EndedAt: no, EndedBy: "x"},
			&plant.Hold{ID: holdID(3), Version: 1, Reason: term.HoldParked, EndedAt: when, EndedBy: ""},
			&plant.Hold{ID: holdID(4), Version: 1, Reason: term.HoldParked, EndedAt: when, EndedBy: "x"},
		}, 1},
	} {
		t.Run(tt.table, func(t *testing.T) { agree(t, tt.table, tt.write, tt.rows, tt.laws) })
	}
}

// agree holds the law of every row against the constraints of a table; laws is how many some row must break.
func agree(t *testing.T, table string, write writer, rows []plant.Row, laws int) {
	t.Helper()
	_, conn := migrated(t)
	ctx := t.Context()
	_, err := conn.Exec(ctx, "CREATE TABLE unchecked (LIKE "+table+")")
	require.NoError(t, err)
	var changes []plant.Change
	for _, r := range rows {
		changes = append(changes, plant.Change{After: r})
	}
	insert, args := write.inserts(changes)
	_, err = conn.Exec(ctx, strings.Replace(strings.TrimSuffix(insert, " ON CONFLICT (id) DO NOTHING"), "INTO "+table, "INTO unchecked", 1), args...)
	require.NoError(t, err)

	broken := map[string][]string{} // row → constraints
	checks, err := conn.Query(ctx, `SELECT conname, pg_get_expr(conbin, conrelid) FROM pg_constraint
		WHERE contype = 'c' AND conrelid = $1::text::regclass ORDER BY conname`, table)
	require.NoError(t, err)
	type check struct{ Name, Condition string }
	list, err := pgx.CollectRows(checks, pgx.RowToStructByPos[check])
	require.NoError(t, err)
	names := map[string]bool{}
	for _, c := range list {
		found, err := conn.Query(ctx, "SELECT id::text FROM unchecked WHERE ("+c.Condition+") IS FALSE")
		require.NoError(t, err)
		ids, err := pgx.CollectRows(found, pgx.RowTo[string])
		require.NoError(t, err)
		for _, id := range ids {
			broken[id] = append(broken[id], c.Name)
			names[c.Name] = true
		}
	}
	for _, r := range rows {
		verdict := plant.Lawful(r)
		if (verdict == nil) != (len(broken[r.Key()]) == 0) {
			t.Fatalf("%+v:\nthe law says %v\nthe schema says %v", r, verdict, broken[r.Key()])
		}
		if verdict == nil {
			continue
		}
		name := regexp.MustCompile(`breaks (\w+)`).FindStringSubmatch(verdict.Error())[1]
		require.Contains(t, broken[r.Key()], name, "%+v", r)
	}
	for _, n := range derived {
		require.False(t, names[n], "%s is broken by a row that we mapped", n)
	}
	require.Len(t, names, laws, "laws that were broken at least once: %v", names)
}

func holdID(n int) term.HoldID { return term.HoldID(fmt.Sprintf("00000000-0000-7000-8000-%012d", n)) }

func everyIntent(when time.Time) []plant.Row {
	var rows []plant.Row
	either := []bool{false, true}
	id := func(set bool, s string) string {
		if set {
			return s
		}
		return ""
	}
	moment := func(set bool) time.Time {
		if set {
			return when
		}
		return time.Time{}
	}
	for _, state := range term.CommandStates() {
		for _, holds := range either {
			for _, possibly := range either {
				for _, ended := range either {
					for _, closed := range either {
						for _, evidence := range either {
							for _, command := range either {
								for _, due := range either {
									for _, a := range []struct {
										count, number, most int
										action              term.ActionKind
									}{{0, 0, 1, term.ActionPulse}, {1, 1, 3, term.ActionAbsolute}, {2, 1, 3, term.ActionAbsolute}, {1, 1, 3, term.ActionToggle},
										{-1, 0, 1, term.ActionAbsolute}, {2, 2, 1, term.ActionAbsolute}, {1, 1, 11, term.ActionAbsolute}} {
										rows = append(rows, &plant.Intent{ID: term.IntentID(holdID(len(rows))), Version: 1, ExecutionID: term.ExecutionID(holdID(0)),
											State: state, HoldsEndpoint: holds, PossiblyExecuted: possibly, EndedAt: moment(ended), ClosedAt: moment(closed),
											EvidenceID: term.ReceiptID(id(evidence, string(holdID(1)))), CommandID: term.CommandID(id(command, "c")), DueAt: moment(due),
											AttemptCount: a.count, AttemptNumber: a.number, MaxAttempts: a.most, Action: a.action})
									}
								}
							}
						}
					}
				}
			}
		}
	}
	return rows
}

func everyAttempt(when time.Time) []plant.Row {
	var rows []plant.Row
	for _, o := range (term.AttemptOutcome("")).Values() {
		for _, ended := range []time.Time{{}, when} {
			for _, number := range []int{0, 1} {
				for _, qos := range []int{-1, 0, 1, 2} {
					rows = append(rows, &plant.Attempt{ID: term.AttemptID(holdID(len(rows))), Version: 1, IntentID: term.IntentID(holdID(0)),
						Outcome: term.AttemptOutcome(o), EndedAt: ended, Number: number, QoS: qos})
				}
			}
		}
	}
	return rows
}

func everyEvent() []plant.Row {
	var rows []plant.Row
	for _, s := range (term.EventStatus("")).Values() {
		for _, reason := range append([]string{""}, (term.DiscardReason("")).Values()...) {
			rows = append(rows, &plant.Event{ID: term.EventID(holdID(len(rows))), Version: 1, Status: term.EventStatus(s), Reason: term.DiscardReason(reason)})
		}
	}
	return rows
}

func everyExecution(when time.Time) []plant.Row {
	var rows []plant.Row
	for _, o := range (term.ExecutionOutcome("")).Values() {
		for _, intent := range []term.IntentID{"", term.IntentID(holdID(1))} {
			for _, source := range []term.ExecutionSource{term.SourceRule, term.SourceHand} {
				for _, rule := range []term.RuleID{"", "r"} {
					for _, count := range []int64{0, 1} {
						for _, last := range []time.Time{when.Add(-1000), when, when.Add(1000)} {
							rows = append(rows, &plant.Execution{ID: term.ExecutionID(holdID(len(rows))), Version: 1, Outcome: term.ExecutionOutcome(o),
								IntentID: intent, Source: source, RuleID: rule, Count: count, FirstAt: when, LastAt: last})
						}
					}
				}
			}
		}
	}
	return rows
}

func everySerial() []plant.Row {
	var rows []plant.Row
	serials := []string{"", "a", strings.Repeat("x", 64), strings.Repeat("x", 65), "a/b", "a+", "#", "é", "a\n", "\na", "a b", "A-Z_09"}
	for c := range 128 {
		if c > 0 {
			serials = append(serials, string(rune(c)))
		}
	}
	for n, s := range serials {
		rows = append(rows, &plant.Device{ID: term.DeviceID(fmt.Sprint(n)), Version: 1, Serial: s, Status: term.DeviceActive, Class: term.ClassA})
	}
	return rows
}

// Each law has its CHECK and its CHECK has its law, by name.
func TestEveryEnumIsAConstraint(t *testing.T) {
	_, conn := migrated(t)
	for _, tt := range []struct {
		table, column, constraint string
		values                    []string
	}{
		{"automation_command_intents", "state", "intent_state_known", term.CommandState("").Values()},
		{"automation_command_intents", "action", "intent_action_known", term.ActionKind("").Values()},
		{"command_attempts", "outcome", "attempt_outcome_known", term.AttemptOutcome("").Values()},
		{"device_command_receipts", "type", "receipt_type_known", term.ReceiptType("").Values()},
		{"device_command_receipts", "correlation", "receipt_correlation_known", term.Correlation("").Values()},
		{"automation_endpoint_events", "status", "event_status_known", term.EventStatus("").Values()},
		{"automation_endpoint_events", "reason", "event_reason_known", term.DiscardReason("").Values()},
		{"automation_rule_executions", "source", "execution_source_known", term.ExecutionSource("").Values()},
		{"automation_rule_executions", "outcome", "execution_outcome_known", term.ExecutionOutcome("").Values()},
		{"automation_rule_executions", "final_state", "execution_final_state_known", term.CommandState("").Values()},
		{"devices", "status", "device_status_known", term.DeviceStatus("").Values()},
		{"devices", "class", "device_class_known", term.DeviceClass("").Values()},
		{"device_profiles", "class", "device_profile_class_known", term.DeviceClass("").Values()},
		{"holds", "reason", "hold_reason_known", term.HoldReason("").Values()},
	} {
		var condition string
		require.NoError(t, conn.QueryRow(t.Context(), "SELECT pg_get_expr(conbin, conrelid) FROM pg_constraint WHERE conname = $1", tt.constraint).Scan(&condition))
		for _, v := range append(slices.Clone(tt.values), "something else", "", strings.ToUpper(tt.values[0]+"x")) {
			var holds bool
			require.NoError(t, conn.QueryRow(t.Context(), fmt.Sprintf("SELECT %s FROM (SELECT $1::varchar AS %s) q", condition, tt.column), v).Scan(&holds))
			require.Equal(t, slices.Contains(tt.values, v), holds, "%s: %q", tt.constraint, v)
		}
	}
}
