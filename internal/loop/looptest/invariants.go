package looptest

import (
	"fmt"
	"maps"
	"slices"
	"sync"

	"surehand/internal/plant"
	"surehand/internal/term"
)

// Invariants holds everything that the database keeps (rows, log, history) against the invariants of
// docs/invariants.md and returns what is broken, each with its number; empty when all is well. Number 0 stands for the
// laws of single rows and for references.
func Invariants(db *Database) []string {
	db.mu.Lock()
	defer db.mu.Unlock()
	v := &verdict{db: db}
	for _, r := range sorted(db.rows) {
		v.row(r)
	}
	v.holders()
	v.together()
	v.entries(0)
	for _, s := range db.history {
		v.step(s)
	}
	v.messages()
	return v.found
}

// InvariantsSince is Invariants for the rows, log entries and changes of the commits from the given place in
// History on: what a simulation checks after every step.
func InvariantsSince(db *Database, commit int) []string {
	db.mu.Lock()
	defer db.mu.Unlock()
	v := &verdict{db: db}
	touched, inCell := map[rowID]plant.Row{}, false
	first := len(db.log)
	left := db.commits - commit
	for _, s := range slices.Backward(db.history) {
		if left <= 0 {
			break
		}
		if !s.batch {
			continue
		}
		left--
		first = s.log
		v.step(s)
		for _, c := range s.Changes {
			id := idOf(c.After)
			touched[id] = db.rows[id]
			var also []rowID
			if a, ok := c.After.(*plant.Attempt); ok {
				also = append(also, rowID{plant.KindIntent, string(a.IntentID)})
			}
			for _, id := range append(also, append(touchedInCell(c.Before), touchedInCell(c.After)...)...) {
				if r, ok := db.rows[id]; ok {
					touched[id] = r
				}
			}
			inCell = inCell || c.After.Kind() == plant.KindJob || c.After.Kind() == plant.KindTask
		}
	}
	if inCell {
		v.together()
	}
	for _, r := range sorted(touched) {
		v.row(r)
	}
	v.entries(first)
	return v.found
}

type verdict struct {
	db    *Database
	found []string
}

func (v *verdict) broken(invariant int, format string, args ...any) {
	v.found = append(v.found, fmt.Sprintf("invariant %d: %s", invariant, fmt.Sprintf(format, args...)))
}

func (v *verdict) row(r plant.Row) {
	if err := plant.Lawful(r); err != nil {
		v.broken(0, "%v", err)
	}
	switch r := r.(type) {
	case *plant.Intent:
		v.attemptsOf(r)
		v.proofOf(r)
		v.refers(r, plant.KindExecution, string(r.ExecutionID))
	case *plant.Attempt:
		v.refers(r, plant.KindIntent, string(r.IntentID))
	case *plant.Execution:
		v.refers(r, plant.KindIntent, string(r.IntentID))
		if (r.Outcome == term.ExecutionRefused || r.Outcome == term.ExecutionFailed) && r.Reason == "" {
			v.broken(18, "execution %s is %s without a reason", r.ID, r.Outcome)
		}
	case *plant.Rule:
		v.refers(r, plant.KindExecution, string(r.ExecutionID))
	case *plant.Endpoint:
		v.refers(r, plant.KindDevice, string(r.DeviceID))
	case *plant.Device:
		v.refers(r, plant.KindProfile, string(r.ProfileID))
		v.refers(r, plant.KindFarm, string(r.FarmID))
	case *plant.Farm:
		v.refers(r, plant.KindOrganisation, string(r.OrganisationID))
	default:
		v.inCell(r)
	}
}

func (v *verdict) refers(r plant.Row, kind plant.Kind, key string) {
	if key == "" {
		return
	}
	if _, ok := v.db.rows[rowID{kind, key}]; !ok {
		v.broken(0, "%s names %s %s, which does not exist", idOf(r), kind, key)
	}
}

// attemptsOf: invariants 1 and 2. The counts of a command are those of its attempts, within their bound, and
// all attempts carry its one command id and one hash.
func (v *verdict) attemptsOf(i *plant.Intent) {
	ids := v.db.attempts[i.ID]
	mayHaveLeft, open := 0, 0
	numbers := map[int]bool{}
	hashes := map[string]bool{}
	for _, id := range ids {
		a, ok := v.db.rows[rowID{plant.KindAttempt, string(id)}].(*plant.Attempt)
		if !ok {
			v.broken(1, "attempt %s of intent %s is lost", id, i.ID)
			continue
		}
		numbers[a.Number] = true
		hashes[a.Hash] = true
		if a.Outcome != term.AttemptNotSent {
			mayHaveLeft++
		}
		if a.Open() {
			open++
			if a.Number != i.AttemptNumber {
				v.broken(1, "attempt %d of intent %s is open, but its last one is %d", a.Number, i.ID, i.AttemptNumber)
			}
		}
		if a.CommandID == "" || a.CommandID != i.CommandID {
			v.broken(2, "attempt %s carries command %q, its intent %s carries %q", a.ID, a.CommandID, i.ID, i.CommandID)
		}
	}
	if mayHaveLeft != i.AttemptCount {
		v.broken(1, "intent %s counts %d attempts that may have left; there are %d", i.ID, i.AttemptCount, mayHaveLeft)
	}
	if mayHaveLeft > i.MaxAttempts {
		v.broken(1, "intent %s: %d attempts may have left, at most %d may", i.ID, mayHaveLeft, i.MaxAttempts)
	}
	if c := v.db.classes[i.DeviceID]; len(c) == 1 && c[term.ClassC] > 0 && mayHaveLeft > 1 {
		v.broken(1, "intent %s: %d attempts may have left to a class C device", i.ID, mayHaveLeft)
	}
	if len(numbers) != len(ids) || i.AttemptNumber != len(ids) || len(ids) > 0 && slices.Max(slices.Collect(maps.Keys(numbers))) != len(ids) {
		v.broken(1, "intent %s: last attempt has number %d; there are %d attempts with %d numbers", i.ID, i.AttemptNumber, len(ids), len(numbers))
	}
	if open > 1 {
		v.broken(1, "intent %s has %d open attempts", i.ID, open)
	}
	if open > 0 && i.State != term.PendingDispatch && i.State != term.Retrying {
		v.broken(4, "intent %s is %s while an attempt is open", i.ID, i.State)
	}
	if len(hashes) > 1 {
		v.broken(2, "the attempts of intent %s carry %d hashes", i.ID, len(hashes))
	}
	if i.State == term.Expired && i.PossiblyExecuted != (mayHaveLeft > 0) {
		v.broken(4, "intent %s expired with possiblyExecuted %t; %d attempts may have left", i.ID, i.PossiblyExecuted, mayHaveLeft)
	}
}

// proofOf: invariant 4. What is applied has its evidence, received after the first fence.
func (v *verdict) proofOf(i *plant.Intent) {
	if i.State != term.Applied {
		return
	}
	r, ok := v.db.rows[rowID{plant.KindReceipt, string(i.EvidenceID)}].(*plant.Receipt)
	if !ok {
		v.broken(4, "intent %s is applied; its evidence %q does not exist", i.ID, i.EvidenceID)
		return
	}
	if r.IntentID != i.ID {
		v.broken(4, "intent %s is applied by receipt %s, which is about %q", i.ID, r.ID, r.IntentID)
	}
	ids := v.db.attempts[i.ID]
	if len(ids) == 0 {
		v.broken(4, "intent %s is applied and was never fenced", i.ID)
		return
	}
	if a, ok := v.db.rows[rowID{plant.KindAttempt, string(ids[0])}].(*plant.Attempt); ok && r.ReceivedAt.Before(a.FencedAt) {
		v.broken(4, "intent %s is applied by receipt %s, received before the fence", i.ID, r.ID)
	}
}

// holders: invariant 5, from the rows and not from the index that keeps it.
func (v *verdict) holders() {
	by := map[term.EndpointID]term.IntentID{}
	for _, r := range sorted(v.db.rows) {
		i, ok := r.(*plant.Intent)
		if !ok || !i.HoldsEndpoint {
			continue
		}
		if other, twice := by[i.EndpointID]; twice {
			v.broken(5, "endpoint %s is held by %s and %s", i.EndpointID, other, i.ID)
		}
		by[i.EndpointID] = i.ID
	}
}

// step: invariant 6, and what no change may undo.
func (v *verdict) step(s step) {
	for _, c := range s.Changes {
		if c.Before != nil && c.After.Ver() <= c.Before.Ver() {
			v.broken(6, "%s of %s leads from version %d to %d", c.Move, idOf(c.After), c.Before.Ver(), c.After.Ver())
		}
		v.stepInCell(s, c)
		after, ok := c.After.(*plant.Intent)
		if !ok {
			continue
		}
		from := term.PendingDispatch
		before, _ := c.Before.(*plant.Intent)
		if before != nil {
			from = before.State
			v.keeps(before, after)
		}
		if from != after.State && !reachable()[edge{from, after.State}] {
			v.broken(6, "%s of intent %s leads from %s to %s", c.Move, after.ID, from, after.State)
		}
		if from == term.Uncertain && after.State != from && !s.receiptOf(after.ID) {
			v.broken(6, "intent %s left uncertain for %s with no receipt in the same commit", after.ID, after.State)
		}
	}
}

func (v *verdict) keeps(before, after *plant.Intent) {
	if !before.ClosedAt.IsZero() && after.ClosedAt != before.ClosedAt || !before.EndedAt.IsZero() && after.EndedAt != before.EndedAt {
		v.broken(6, "intent %s was over and its end changed", after.ID)
	}
	if before.State.Ended() && after.EvidenceID != before.EvidenceID {
		v.broken(6, "intent %s had ended and its evidence changed", after.ID)
	}
	if before.CommandID != "" && after.CommandID != before.CommandID {
		v.broken(2, "the command id of intent %s changed", after.ID)
	}
	if before.EndpointID != after.EndpointID || before.Params != after.Params || before.IdempotencyKey != after.IdempotencyKey {
		v.broken(2, "what intent %s asks for changed", after.ID)
	}
	if after.AttemptNumber < before.AttemptNumber {
		v.broken(1, "intent %s forgot an attempt", after.ID)
	}
}

func (s step) receiptOf(id term.IntentID) bool {
	return slices.ContainsFunc(s.Changes, func(c plant.Change) bool {
		r, ok := c.After.(*plant.Receipt)
		return ok && r.IntentID == id
	})
}

type edge struct{ from, to term.CommandState }

// reachable are the pairs of states that moves lead between: a commit folds all moves of a turn into one.
var reachable = sync.OnceValue(func() map[edge]bool {
	pairs := map[edge]bool{}
	for _, from := range term.CommandStates() {
		seen := []term.CommandState{from}
		for n := 0; n < len(seen); n++ {
			for _, to := range term.CommandStates() {
				if plant.CommandEdge(seen[n], to) && !pairs[edge{from, to}] {
					pairs[edge{from, to}] = true
					seen = append(seen, to)
				}
			}
		}
	}
	return pairs
})

// entries: invariants 12 and 18 for the log from a place on.
func (v *verdict) entries(from int) {
	log := v.db.log
	for n := max(0, from); n < len(log); n++ {
		last := int64(0)
		if n > 0 {
			last = log[n-1].Seq
		}
		if log[n].Seq != last+1 {
			v.broken(12, "log row %d of generation %s follows %d", log[n].Seq, log[n].Generation, last)
		}
		if (log[n].Outcome == "refused" || log[n].Outcome == "parked") && log[n].Reason == "" {
			v.broken(18, "log row %d is %s without a reason", log[n].Seq, log[n].Outcome)
		}
	}
	if len(log) > 0 && log[len(log)-1].Seq != v.db.fence.Seq || len(log) == 0 && v.db.fence.Seq != 0 {
		v.broken(12, "the fence says seq %d; the log has %d rows", v.db.fence.Seq, len(log))
	}
}

// messages: invariant 12, one row for each message.
func (v *verdict) messages() {
	at := map[term.MessageID]int64{}
	for _, r := range v.db.log {
		if r.MessageID == "" {
			continue
		}
		if other, twice := at[r.MessageID]; twice {
			v.broken(12, "message %s has log rows %d and %d", r.MessageID, other, r.Seq)
		}
		at[r.MessageID] = r.Seq
	}
}
