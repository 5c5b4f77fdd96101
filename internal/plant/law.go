package plant

import (
	"fmt"
	"slices"

	"surehand/internal/term"
)

// law is one rule about a single row. Name is also the name of the CHECK constraint that says the same in
// the schema; a test holds the two against each other for every combination of states and flags.
type law[R any] struct {
	name string
	ok   func(*R) bool
}

func oneOf[T comparable](v T, list ...T) bool { return slices.Contains(list, v) }

func implies(a, b bool) bool { return !a || b }

var intentLaws = []law[Intent]{
	{"intent_state_known", func(r *Intent) bool { return slices.Contains(term.CommandStates(), r.State) }},
	{"intent_end_has_time", func(r *Intent) bool { return r.State.Ended() == !r.EndedAt.IsZero() }},
	{"intent_applied_has_evidence", func(r *Intent) bool { return implies(r.State == term.Applied, r.EvidenceID != "") }},
	{"intent_sure_end_releases", func(r *Intent) bool {
		return implies(oneOf(r.State, term.Applied, term.Failed), !r.HoldsEndpoint)
	}},
	{"intent_expired_holds_only_if_it_may_have_run", func(r *Intent) bool {
		return implies(r.State == term.Expired && r.HoldsEndpoint, r.PossiblyExecuted)
	}},
	{"intent_possibly_executed_had_attempt", func(r *Intent) bool {
		return implies(r.PossiblyExecuted, r.State == term.Expired && r.AttemptCount > 0)
	}},
	{"intent_sent_holds", func(r *Intent) bool {
		return implies(oneOf(r.State, term.Dispatched, term.Acknowledged, term.Retrying), r.HoldsEndpoint)
	}},
	{"intent_sent_was_attempted", func(r *Intent) bool {
		return implies(oneOf(r.State, term.Dispatched, term.Acknowledged, term.Uncertain), r.AttemptCount > 0)
	}},
	{"intent_holding_has_command_id", func(r *Intent) bool { return implies(r.HoldsEndpoint, r.CommandID != "") }},
	{"intent_open_while_live_or_holding", func(r *Intent) bool {
		return r.ClosedAt.IsZero() == (r.State.Live() || r.HoldsEndpoint)
	}},
	{"intent_live_has_timer", func(r *Intent) bool {
		return implies(r.State.Live(), !r.DueAt.IsZero())
	}},
	{"intent_attempts_bounded", func(r *Intent) bool {
		return r.AttemptCount >= 0 && r.AttemptCount <= r.MaxAttempts && r.AttemptCount <= r.AttemptNumber && r.MaxAttempts <= MaxAttemptsLimit
	}},
	{"intent_relative_action_once", func(r *Intent) bool { return implies(r.Action != term.ActionAbsolute, r.MaxAttempts == 1) }},
}

var attemptLaws = []law[Attempt]{
	{"attempt_open_has_no_end", func(r *Attempt) bool { return (r.Outcome == term.AttemptOpen) == r.EndedAt.IsZero() }},
	{"attempt_number_positive", func(r *Attempt) bool { return r.Number >= 1 }},
	{"attempt_qos_known", func(r *Attempt) bool { return r.QoS == 0 || r.QoS == 1 }},
}

var eventLaws = []law[Event]{
	{"event_discarded_has_reason", func(r *Event) bool { return (r.Status == term.EventDiscarded) == (r.Reason != "") }},
}

var executionLaws = []law[Execution]{
	{"execution_fired_has_intent", func(r *Execution) bool { return (r.Outcome == term.ExecutionFired) == (r.IntentID != "") }},
	{"execution_counts", func(r *Execution) bool { return r.Count >= 1 && !r.LastAt.Before(r.FirstAt) }},
	{"execution_hand_has_no_rule", func(r *Execution) bool { return (r.Source == term.SourceHand) == (r.RuleID == "") }},
}

var deviceLaws = []law[Device]{
	{"device_serial_valid", func(r *Device) bool { return term.ValidSerial(r.Serial) }},
}

var holdLaws = []law[Hold]{
	{"hold_end_has_actor", func(r *Hold) bool { return r.EndedAt.IsZero() == (r.EndedBy == "") }},
}

// Lawful is the Go twin of the schema's CHECK constraints for one row.
func Lawful(r Row) error {
	switch r := r.(type) {
	case *Intent:
		return obey(intentLaws, r, r)
	case *Attempt:
		return obey(attemptLaws, r, r)
	case *Event:
		return obey(eventLaws, r, r)
	case *Execution:
		return obey(executionLaws, r, r)
	case *Device:
		return obey(deviceLaws, r, r)
	case *Hold:
		return obey(holdLaws, r, r)
	}
	return lawfulInCell(r)
}

func obey[R any](laws []law[R], r *R, row Row) error {
	for _, l := range laws {
		if !l.ok(r) {
			return fmt.Errorf("%s %s breaks %s: %+v", row.Kind(), row.Key(), l.name, *r)
		}
	}
	return nil
}
