package dbstate_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"surehand/internal/plant"
	"surehand/internal/term"
)

// inState is a lawful command in a state.
func inState(n int, s term.CommandState) *plant.Intent {
	return with(anIntent(n), func(i *plant.Intent) {
		i.State, i.AttemptCount, i.AttemptNumber = s, 1, 1
		i.CommandID = term.CommandID(fmt.Sprintf("command-%d", n))
		i.HoldsEndpoint = s != term.Applied && s != term.Failed && s != term.PendingDispatch
		i.PossiblyExecuted = s == term.Expired
		i.EvidenceID = term.ReceiptID(uid(1))
		if s.Ended() {
			i.EndedAt = at(1)
		}
		if s.Ended() && !i.HoldsEndpoint {
			i.ClosedAt = at(1)
		}
	})
}

// An update decided on one state hits no row that stands in another, one by one and many at once.
func TestEveryPairOfStatesIsGuarded(t *testing.T) {
	url := database(t)
	s, state := opened(t, url)
	w := newTurns(t, s, state)
	n := 0
	for _, stored := range term.CommandStates() {
		for _, expected := range term.CommandStates() {
			for _, count := range []int{1, 12} {
				var rows, changes []plant.Change
				for range count {
					n++
					is := inState(n, stored)
					thought := inState(n, expected)
					rows = append(rows, insert(is)...)
					changes = append(changes, update(thought, with(thought, func(i *plant.Intent) { i.Version++; i.LastError = "moved" })))
				}
				w.must(rows...)
				err := w.try(changes...)
				if stored == expected {
					require.NoError(t, err, "%s", stored)
					continue
				}
				requireFault(t, plant.FaultConflict, err)
			}
		}
	}
	var moved, all int
	require.NoError(t, session(t, url).QueryRow(t.Context(),
		"SELECT count(*) FILTER (WHERE last_error = 'moved'), count(*) FROM automation_command_intents").Scan(&moved, &all))
	require.Equal(t, []int{8 * 13, 64 * 13}, []int{moved, all})
}

// Each unique index refuses what it is there for, whoever writes it.
func TestUniqueIndexes(t *testing.T) {
	holder := func(n int) []plant.Row {
		i, a := fenced(anIntent(n), n)
		return []plant.Row{i, a}
	}
	for _, tt := range []struct {
		index  string
		stored []plant.Row
		second plant.Row
	}{
		{"devices_serial_key", []plant.Row{aDevice(1)}, with(aDevice(2), func(d *plant.Device) { d.Serial = aDevice(1).Serial })},
		{"intent_once_per_wish", []plant.Row{anIntent(1)}, with(anIntent(2), func(i *plant.Intent) { i.IdempotencyKey = anIntent(1).IdempotencyKey })},
		{"intent_command_id_once", holder(1), with(anIntent(2), func(i *plant.Intent) { i.CommandID = "command-1" })},
		{"intent_one_holder_per_endpoint", holder(1), with(holder(2)[0].(*plant.Intent), func(i *plant.Intent) { i.EndpointID = anIntent(1).EndpointID })},
		{"attempt_one_open_per_intent", holder(1), with(anAttempt(2), func(a *plant.Attempt) { a.IntentID, a.Number = anIntent(1).ID, 2 })},
		{"attempt_number_once", holder(1), with(anAttempt(2), func(a *plant.Attempt) {
			a.IntentID, a.Outcome, a.EndedAt = anIntent(1).ID, term.AttemptSent, at(3)
		})},
		{"hold_one_open_per_subject_and_reason", []plant.Row{aHold(1)}, with(aHold(2), func(h *plant.Hold) { h.Subject = aHold(1).Subject })},
		{"organisations_pkey", []plant.Row{anOrganisation(1)}, anOrganisation(1)},
		{"message_keys_pkey", []plant.Row{aKey(1)}, aKey(1)},
		{"parked_messages_pkey", []plant.Row{aParked(1)}, aParked(1)},
		{"device_command_receipts_pkey", []plant.Row{aReceipt(1)}, aReceipt(1)},
	} {
		t.Run(tt.index, func(t *testing.T) {
			s, state := opened(t, database(t))
			w := newTurns(t, s, state)
			w.must(insert(tt.stored...)...)
			err := w.try(insert(tt.second)...)
			requireFault(t, plant.FaultConflict, err)
			require.ErrorContains(t, err, `"`+tt.index+`"`)
		})
	}
}

// The rows that state a law about the loop itself.
func TestLoopRows(t *testing.T) {
	url := database(t)
	_, _ = opened(t, url)
	for constraint, change := range map[string]string{
		"loop_state_is_one_row":      "INSERT INTO loop_state SELECT 2, installation, generation, seq, turn, epoch, life, true, true, now() FROM loop_state",
		"loop_state_pkey":            "INSERT INTO loop_state SELECT * FROM loop_state",
		"loop_state_counts_up":       "UPDATE loop_state SET seq = -1",
		"event_log_seq_positive":     "INSERT INTO event_log (seq, generation, message_id, type, source, decided_at, outcome, notes_left_out) VALUES (0, gen_random_uuid(), gen_random_uuid(), '', '', now(), '', 0)",
		"event_log_left_out_counted": "INSERT INTO event_log (seq, generation, message_id, type, source, decided_at, outcome, notes_left_out) VALUES (1, gen_random_uuid(), gen_random_uuid(), '', '', now(), '', -1)",
	} {
		_, err := session(t, url).Exec(t.Context(), change)
		require.ErrorContains(t, err, `"`+constraint+`"`)
	}
}

// Both ways of writing leave the same bytes in every column: many rows at once, and the same rows few at a
// time; inserts, then updates of everything that may change.
func TestBothWaysOfWritingAreEqual(t *testing.T) {
	const n = 24
	var inserts, updates []plant.Change
	for k := range n {
		i, a := fenced(anIntent(k), k)
		rows := []plant.Row{anOrganisation(k), aFarm(k), aProfile(k), aDevice(k), anEndpoint(k), aRule(k), aReading(k), anEvent(k), anExecution(k), i, a,
			aReceipt(k), aHold(k), aKey(k), aParked(k)}
		rows = append(rows, cellRows(k)...)
		inserts = append(inserts, insert(rows...)...)
		for _, r := range rows {
			if next := moved(r, k); next != nil {
				updates = append(updates, update(r, next))
			}
		}
	}
	many, few := database(t), database(t)
	for url, size := range map[string]int{many: len(inserts), few: 5} {
		s, state := opened(t, url)
		w := newTurns(t, s, state)
		for _, changes := range [][]plant.Change{inserts, updates} {
			for len(changes) > 0 {
				part := changes[:min(size, len(changes))]
				changes = changes[len(part):]
				w.must(part...)
			}
		}
		entries := make([]plant.Entry, n)
		for k := range entries {
			entries[k] = anEntry(int64(k + 1))
			if k%2 == 1 {
				entries[k] = plant.Entry{Seq: int64(k + 1), MessageID: term.MessageID(uid(k)), At: at(k)}
			}
		}
		for len(entries) > 0 {
			part := entries[:min(max(size/50, 5), len(entries))]
			entries = entries[len(part):]
			b := w.batch()
			b.Entries, b.After.Seq = part, part[len(part)-1].Seq
			require.NoError(t, s.Commit(t.Context(), b))
			w.fence = b.After
		}
	}
	for _, table := range []string{"organisations", "farms", "device_profiles", "devices", "device_endpoints", "automation_rules", "telemetry",
		"automation_endpoint_events", "automation_rule_executions", "automation_command_intents", "command_attempts", "device_command_receipts",
		"holds", "message_keys", "parked_messages", "routes", "equipment", "pallets", "work_orders", "equipment_slots", "jobs", "tasks",
		"manual_actions", "alarms"} {
		a, b := jsonOf(t, many, table, "id"), jsonOf(t, few, table, "id")
		require.Len(t, a, n, table)
		require.Equal(t, a, b, table)
	}
	a, b := jsonOf(t, many, "event_log", "seq"), jsonOf(t, few, "event_log", "seq")
	for k := range a {
		delete(a[k], "generation")
		delete(b[k], "generation")
	}
	require.Equal(t, a, b)
}

// moved is a row after a change of everything that may change; nil for rows that are only appended.
func moved(row plant.Row, k int) plant.Row {
	empty := k%2 == 0 // half of them lose what is optional
	switch r := row.(type) {
	case *plant.Organisation:
		return with(r, func(n *plant.Organisation) { n.Version++; n.Name = "new" })
	case *plant.Farm:
		return with(r, func(n *plant.Farm) { n.Version++; n.Name, n.OrganisationID = "new", "org-1" })
	case *plant.Profile:
		return with(r, func(n *plant.Profile) {
			n.Version++
			n.Class, n.Timing = term.ClassC, term.Timing{}
			if empty {
				n.Endpoints = nil
			}
		})
	case *plant.Device:
		return with(r, func(n *plant.Device) {
			n.Version++
			n.Status = term.DeviceRetired
			if empty {
				n.BootID, n.Boots = "", nil
			}
		})
	case *plant.Endpoint:
		return with(r, func(n *plant.Endpoint) {
			n.Version++
			n.Enabled = false
			if empty {
				n.Value, n.SampledAt, n.ReceivedAt = term.Value{}, time.Time{}, time.Time{}
			}
		})
	case *plant.Rule:
		return with(r, func(n *plant.Rule) { n.Version++; n.Active = false; n.HoldOff = 0 })
	case *plant.Event:
		return with(r, func(n *plant.Event) { n.Version++; n.Status = term.EventProcessed })
	case *plant.Execution:
		return with(r, func(n *plant.Execution) {
			n.Version++
			n.Count, n.LastAt, n.IsOpen = 7, at(9), false
			n.FinalState, n.FinalReason = term.Applied, "x"
			if empty {
				n.Leaves, n.Gates, n.Reason = nil, nil, ""
			}
		})
	case *plant.Intent:
		return with(r, func(n *plant.Intent) {
			n.Version++
			n.State, n.HoldsEndpoint, n.EvidenceID, n.EndedAt, n.ClosedAt = term.Applied, false, term.ReceiptID(uid(5)), at(8), at(8)
			n.AckedAt, n.AckMark = at(7), term.Mark{BootID: "b", Seq: 3, At: 4}
			if empty {
				n.DueAt, n.LapseAt, n.LastError, n.BootID = time.Time{}, at(1), "", ""
			}
		})
	case *plant.Attempt:
		return with(r, func(n *plant.Attempt) { n.Version++; n.Outcome, n.Error, n.EndedAt = term.AttemptUnknown, "x", at(4) })
	case *plant.Hold:
		return with(r, func(n *plant.Hold) { n.Version++; n.EndedAt, n.EndedBy = at(5), "anna" })
	}
	return movedInCell(row, k)
}
