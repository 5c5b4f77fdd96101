package dbstate

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"surehand/internal/plant"
	"surehand/internal/term"
)

const odd = "something else"

// whenSet is a time, or none.
func whenSet(set bool) time.Time {
	if set {
		return time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC)
	}
	return time.Time{}
}

func orEmpty[S ~string](set bool, s S) S {
	if set {
		return s
	}
	return ""
}

var either = []bool{false, true}

// with gives the values of a word, one that is none of them, and perhaps none at all.
func with[W interface {
	~string
	Values() []string
}](others ...W) []W {
	var all []W
	var zero W
	for _, v := range zero.Values() {
		all = append(all, W(v))
	}
	return append(append(all, odd), others...)
}

func TestLawAndChecksOfTheCellAgree(t *testing.T) {
	for _, tt := range []struct {
		table string
		write writer
		rows  []plant.Row
		laws  int
	}{
		{"work_orders", orders, everyOrder(), 5},
		{"jobs", jobs, everyJob(), 9},
		{"equipment_slots", slots, everySlot(), 3},
		{"tasks", tasks, everyTask(), 5},
		{"manual_actions", questions, everyQuestion(), 3},
		{"alarms", alarms, everyAlarm(), 5},
		{"equipment", equipments, everyEquipment(), 2},
	} {
		t.Run(tt.table, func(t *testing.T) { agree(t, tt.table, tt.write, tt.rows, tt.laws) })
	}
}

func everyOrder() (rows []plant.Row) {
	for _, state := range with[term.OrderState]() {
		for _, inside := range with[term.InsideRule]("") {
			for _, ended := range either {
				for _, n := range [][4]int{{0, 0, 0, 0}, {1, 0, 0, 0}, {1, 1, 0, 0}, {3, 1, 1, 1}, {3, 1, 1, 0}, {3, 1, 1, 2}, {2, -1, 0, 0}, {2, 0, -1, 3},
					{2, 3, 0, -1}, {10000, 9999, 0, 0}, {10001, 0, 0, 0}} {
					rows = append(rows, &plant.Order{ID: term.OrderID(fmt.Sprint(len(rows))), Version: 1, State: state, Inside: inside, EndedAt: whenSet(ended),
						Planned: n[0], Completed: n[1], Scrapped: n[2], Cancelled: n[3]})
				}
			}
		}
	}
	return rows
}

func everyJob() (rows []plant.Row) {
	for _, state := range with[term.JobState]() {
		for _, at := range with[term.PositionType]() {
			for _, ref := range []string{"", "1", "01", "64", "65", "mill:1"} {
				for _, temp := range []int{-1, 0, 1, 64, 65} {
					for _, d := range with[term.Disposition]() {
						for _, presented := range either {
							for _, ended := range either {
								rows = append(rows, &plant.Job{ID: term.JobID(fmt.Sprint(len(rows))), Version: 1, State: state, Position: term.Place{Type: at, Ref: ref},
									TempSlotNo: temp, Disposition: d, Presented: orEmpty(presented, term.EquipmentID("scanner")), EndedAt: whenSet(ended)})
							}
						}
					}
				}
			}
		}
	}
	return rows
}

func everySlot() (rows []plant.Row) {
	for _, state := range with[term.SlotState]() {
		for n := range 16 {
			rows = append(rows, &plant.Slot{ID: term.SlotID(fmt.Sprint(len(rows))), Version: 1, State: state, JobID: orEmpty(n&1 > 0, term.JobID("j")),
				EnteredAt: whenSet(n&2 > 0), StartedAt: whenSet(n&4 > 0), DueAt: whenSet(n&8 > 0)})
		}
	}
	return rows
}

func everyTask() (rows []plant.Row) {
	for _, state := range with[term.TaskState]() {
		for _, kind := range with[term.TaskKind]() {
			for _, at := range with[term.PartAt]("") {
				for _, from := range []term.PositionType{"", term.OnDock, odd} {
					for _, to := range []term.PositionType{"", term.Out, odd} {
						for n := range 16 {
							rows = append(rows, &plant.Task{ID: term.TaskID(holdID(len(rows))), Version: 1, State: state, Type: kind, PartAt: at,
								From: term.Place{Type: from}, To: term.Place{Type: to}, JobID: orEmpty(n&1 > 0, term.JobID("j")),
								OrderID: orEmpty(n&2 > 0, term.OrderID("o")), EndedAt: whenSet(n&4 > 0), DueAt: whenSet(n&8 > 0)})
						}
					}
				}
			}
		}
	}
	return rows
}

func everyQuestion() (rows []plant.Row) {
	for _, state := range with[term.QuestionState]() {
		for _, finding := range []term.Finding{term.FindFault, odd} {
			for _, touches := range [][]string{nil, {}, {"cell"}} {
				for _, answers := range [][]term.Answer{nil, {}, {{Word: "done"}}} {
					for n := range 8 {
						rows = append(rows, &plant.Question{ID: term.QuestionID(holdID(len(rows))), Version: 1, State: state, Finding: finding, Touches: touches,
							Answers: answers, Answer: orEmpty(n&1 > 0, "done"), By: orEmpty(n&2 > 0, "mai"), EndedAt: whenSet(n&4 > 0)})
					}
				}
			}
		}
	}
	return rows
}

func everyAlarm() (rows []plant.Row) {
	for _, state := range with[term.AlarmState]() {
		for _, kind := range with[term.AlarmKind]() {
			for n := range 32 {
				for _, count := range []int64{0, 1} {
					rows = append(rows, &plant.Alarm{ID: term.AlarmID(holdID(len(rows))), Version: 1, State: state, Type: kind, Count: count,
						EndedAt: whenSet(n&1 > 0), AckedBy: orEmpty(n&2 > 0, "mai"), ShelvedUntil: whenSet(n&4 > 0), ShelvedBy: orEmpty(n&8 > 0, "mai"),
						ShelveReason: orEmpty(n&16 > 0, "x")})
				}
			}
		}
	}
	return rows
}

func everyEquipment() (rows []plant.Row) {
	for _, kind := range with[term.EquipmentKind]() {
		for _, status := range with[term.EquipmentStatus]() {
			for _, latch := range with[term.DoneLatch]() {
				rows = append(rows, &plant.Equipment{ID: term.EquipmentID(fmt.Sprint(len(rows))), Version: 1, Type: kind, Status: status, Latch: latch})
			}
		}
	}
	return rows
}

// Each word of each type is let in by the one constraint on the words of its table, and nothing else is.
func TestEveryWordOfTheCellIsKnown(t *testing.T) {
	_, conn := migrated(t)
	for constraint, columns := range map[string]map[string][]string{
		"order_words_known": {"state": term.OrderState("").Values(), "inside": term.InsideRule("").Values()},
		"job_words_known": {"state": term.JobState("").Values(), "position_type": term.PositionType("").Values(),
			"disposition": term.Disposition("").Values()},
		"slot_words_known": {"state": term.SlotState("").Values()},
		"task_words_known": {"type": term.TaskKind("").Values(), "state": term.TaskState("").Values(), "part_at": term.PartAt("").Values(),
			"from_type": term.PositionType("").Values(), "to_type": term.PositionType("").Values()},
		"question_words_known": {"state": term.QuestionState("").Values(), "finding": term.Finding("").Values()},
		"alarm_words_known":    {"state": term.AlarmState("").Values(), "type": term.AlarmKind("").Values()},
		"equipment_words_known": {"type": term.EquipmentKind("").Values(), "status": term.EquipmentStatus("").Values(),
			"done_latch": term.DoneLatch("").Values()},
	} {
		var condition string
		require.NoError(t, conn.QueryRow(t.Context(), "SELECT pg_get_expr(conbin, conrelid) FROM pg_constraint WHERE conname = $1", constraint).Scan(&condition))
		for tried, values := range columns {
			for _, v := range append(slices.Clone(values), odd, "", strings.ToLower(values[0])+"x") {
				var row []string
				for column, known := range columns {
					word := known[0]
					if column == tried {
						word = v
					}
					row = append(row, fmt.Sprintf("'%s'::text AS %s", word, column))
				}
				var holds bool
				require.NoError(t, conn.QueryRow(t.Context(), fmt.Sprintf("SELECT %s FROM (SELECT %s) q", condition, strings.Join(row, ", "))).Scan(&holds))
				require.Equal(t, slices.Contains(values, v), holds, "%s of %s: %q", tried, constraint, v)
			}
		}
	}
}

// The one row of the cell never meets a statement for many rows; what it would say is held against ent's all the same.
func TestBothWaysOfWritingTheCellAreEqual(t *testing.T) {
	_, conn := migrated(t)
	s, err := Connect(t.Context(), Options{URL: conn.Config().ConnString(), AllowUnsafe: true})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	state, err := s.Open(t.Context(), string(holdID(9)))
	require.NoError(t, err)
	stored := func() (text string) {
		require.NoError(t, conn.QueryRow(t.Context(), "SELECT to_json(c)::text FROM cells c").Scan(&text))
		return text
	}
	fence := state.Fence()
	var before plant.Row
	for _, after := range []*plant.Cell{
		{Version: 1, Name: "c", Revision: 1, File: "cell: {}", Config: term.CellConfig{Exit: 9}, Plan: &term.Plan{Why: "x"}, DueAt: whenSet(true)},
		{Version: 2, Name: "d", Revision: 2, File: "", LastActionNo: 1<<32 - 1, Clean: true, RefillAsked: true, WaitingFor: "x"},
	} {
		c := plant.Change{Move: "Write", Before: before, After: after}
		next := fence
		next.Turn++
		require.NoError(t, s.Commit(t.Context(), plant.Batch{Before: fence, After: next, Changes: []plant.Change{c}}))
		fence = next
		one := stored()
		tx, err := conn.Begin(t.Context())
		require.NoError(t, err)
		query, args := cells.inserts([]plant.Change{c})
		if before == nil {
			_, err = tx.Exec(t.Context(), "DELETE FROM cells")
			require.NoError(t, err)
		} else {
			_, err = tx.Exec(t.Context(), "UPDATE cells SET version = 1, name = 'zz', file = 'zz', revision = 77")
			require.NoError(t, err)
			query, args = cells.updates([]plant.Change{c})
		}
		tag, err := tx.Exec(t.Context(), query, args...)
		require.NoError(t, err)
		require.EqualValues(t, 1, tag.RowsAffected())
		require.Equal(t, one, stored())
		require.NoError(t, tx.Commit(t.Context()))
		before = after
	}
}
