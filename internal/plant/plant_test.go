package plant_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"surehand/internal/plant"
	"surehand/internal/term"
)

type counter struct{ n int }

func (c *counter) ID(now time.Time) string { c.n++; return plant.DerivedID(now, fmt.Sprint(c.n)) }
func (*counter) Fraction() float64         { return 0 }

var now = time.Date(2026, 11, 30, 3, 0, 0, 0, time.UTC)

// lawful is an intent in a state, with what the law asks of it.
func lawful(state term.CommandState) *plant.Intent {
	i := &plant.Intent{ID: "i-" + term.IntentID(state), Version: 3, ExecutionID: "x", FarmID: "f", DeviceID: "d", EndpointID: "d/" + term.EndpointID(state),
		Action: term.ActionAbsolute, State: state, MaxAttempts: 3, DeadlineAt: now.Add(time.Minute), CreatedAt: now, UpdatedAt: now,
		CommandID: "cmd-" + term.CommandID(state), AttemptCount: 1, AttemptNumber: 1}
	switch state {
	case term.PendingDispatch:
		i.CommandID, i.AttemptCount, i.AttemptNumber, i.DueAt = "", 0, 0, now
	case term.Dispatched, term.Acknowledged, term.Retrying:
		i.HoldsEndpoint, i.DueAt = true, now
	case term.Uncertain:
		i.HoldsEndpoint = true
	case term.Expired:
		i.HoldsEndpoint, i.PossiblyExecuted, i.EndedAt = true, true, now
	case term.Applied:
		i.EvidenceID, i.EndedAt, i.ClosedAt = "r", now, now
	case term.Failed:
		i.EndedAt, i.ClosedAt = now, now
	}
	return i
}

func begin(t *testing.T, rows ...plant.Row) (*plant.State, *plant.Work) {
	var open []plant.Row
	var known []*plant.Intent
	for _, r := range rows {
		if r.Open() {
			open = append(open, r)
		} else if i, ok := r.(*plant.Intent); ok {
			known = append(known, i)
		}
	}
	s, err := plant.Load(plant.Fence{Epoch: 1}, open)
	require.NoError(t, err)
	return s, s.Begin(now, &counter{}, plant.NewSession(), known, nil)
}

func attemptOf(i *plant.Intent) *plant.Attempt {
	return &plant.Attempt{ID: "a-" + term.AttemptID(i.State), Version: 1, IntentID: i.ID, CommandID: i.CommandID, Number: 1, Outcome: term.AttemptOpen,
		DeadlineAt: now.Add(time.Second)}
}

// proves D-10: every move from every state: allowed exactly from its from-states, and it leads where it says;
// from any other it panics with the invariant's number, and a lone writer stops.
func TestEveryMoveFromEveryState(t *testing.T) {
	moves := map[string]func(*plant.Tx, *plant.Intent){
		"FenceIfFree": func(tx *plant.Tx, i *plant.Intent) {
			id := i.CommandID
			if id == "" {
				id = "new"
			}
			tx.FenceIfFree(i, plant.Send{CommandID: id, QoS: 1, AckAfter: time.Second})
		},
		"WaitForGate":               func(tx *plant.Tx, i *plant.Intent) { tx.WaitForGate(i, term.GateLinkDown, time.Time{}) },
		"MarkSendUnknown":           func(tx *plant.Tx, i *plant.Intent) { tx.MarkSendUnknown(i, now, "x") },
		"PostponeWindow":            func(tx *plant.Tx, i *plant.Intent) { tx.PostponeWindow(i, now.Add(time.Hour)) },
		"CountWeakEvidence":         func(tx *plant.Tx, i *plant.Intent) { tx.CountWeakEvidence(i, 1) },
		"ReleaseEndpointIfUnproven": func(tx *plant.Tx, i *plant.Intent) { tx.ReleaseEndpointIfUnproven(i) },
		"MarkDispatched":            func(tx *plant.Tx, i *plant.Intent) { tx.MarkDispatched(i) },
		"MarkNotSent":               func(tx *plant.Tx, i *plant.Intent) { tx.MarkNotSent(i, now, "x") },
		"MarkAcknowledged":          func(tx *plant.Tx, i *plant.Intent) { tx.MarkAcknowledged(i, term.Mark{}, time.Second) },
		"MarkRetrying":              func(tx *plant.Tx, i *plant.Intent) { tx.MarkRetrying(i, now, "x") },
		"MarkApplied":               func(tx *plant.Tx, i *plant.Intent) { tx.MarkApplied(i, "r") },
		"MarkFailed":                func(tx *plant.Tx, i *plant.Intent) { tx.MarkFailed(i, "x") },
		"MarkExpired":               func(tx *plant.Tx, i *plant.Intent) { tx.MarkExpired(i, "x") },
		"MarkUncertain":             func(tx *plant.Tx, i *plant.Intent) { tx.MarkUncertain(i, "x") },
	}
	require.Len(t, plant.CommandMoves(), len(moves))
	for _, m := range plant.CommandMoves() {
		for _, from := range term.CommandStates() {
			t.Run(m.Name+" from "+string(from), func(t *testing.T) {
				i := lawful(from)
				rows := []plant.Row{i}
				needsAttempt := m.Name == "MarkSendUnknown" || m.Name == "MarkDispatched" || m.Name == "MarkNotSent"
				if sending := from == term.PendingDispatch || from == term.Retrying; sending && (needsAttempt || slices.Contains([]term.CommandState{term.Acknowledged, term.Uncertain, term.Retrying, term.Applied}, m.To) && m.To != "") {
					i.HoldsEndpoint, i.CommandID, i.AttemptCount, i.AttemptNumber = true, "c", 1, 1
					rows = append(rows, attemptOf(i))
				}
				s, w := begin(t, rows...)
				before := s.Rows()
				tx := w.Tx()
				allowed := slices.Contains(m.From, from)
				if !allowed {
					require.Panics(t, func() { moves[m.Name](tx, i) })
					return
				}
				moves[m.Name](tx, i)
				after, ok := tx.FindIntent(i.ID)
				require.True(t, ok)
				if m.To != "" {
					require.Equal(t, m.To, after.State)
				} else {
					require.Equal(t, from, after.State)
				}
				require.Equal(t, i.Version+1, after.Version)
				// The savepoint undoes it whole.
				w.Drop(tx)
				w.Close(tx)
				require.Equal(t, before, s.Rows())
			})
		}
	}
}

// proves D-17: two commands can never hold one endpoint in the picture.
func TestOneHolder(t *testing.T) {
	first, second := lawful(term.Dispatched), lawful(term.PendingDispatch)
	second.EndpointID = first.EndpointID
	_, w := begin(t, first, second)
	require.PanicsWithValue(t, "invariant 5: fence of "+string(second.ID)+" while "+string(first.ID)+" holds "+string(first.EndpointID),
		func() { w.Tx().FenceIfFree(second, plant.Send{CommandID: "c"}) })
	twin := *first
	twin.ID, twin.CommandID = "twin", "c2"
	require.Panics(t, func() { _, _ = plant.Load(plant.Fence{}, []plant.Row{first, &twin}) })
}

// Every law is broken once by one changed field, and no other row is refused for it.
func TestLawsBite(t *testing.T) {
	for name, c := range map[string]struct {
		state term.CommandState
		wreck func(*plant.Intent)
	}{
		"intent_state_known":                           {term.Dispatched, func(i *plant.Intent) { i.State = "lost" }},
		"intent_end_has_time":                          {term.Failed, func(i *plant.Intent) { i.EndedAt = time.Time{} }},
		"intent_applied_has_evidence":                  {term.Applied, func(i *plant.Intent) { i.EvidenceID = "" }},
		"intent_sure_end_releases":                     {term.Failed, func(i *plant.Intent) { i.HoldsEndpoint = true }},
		"intent_expired_holds_only_if_it_may_have_run": {term.Expired, func(i *plant.Intent) { i.PossiblyExecuted = false }},
		"intent_possibly_executed_had_attempt":         {term.Expired, func(i *plant.Intent) { i.AttemptCount = 0 }},
		"intent_sent_holds":                            {term.Dispatched, func(i *plant.Intent) { i.HoldsEndpoint = false }},
		"intent_sent_was_attempted":                    {term.Dispatched, func(i *plant.Intent) { i.AttemptCount = 0 }},
		"intent_holding_has_command_id":                {term.Dispatched, func(i *plant.Intent) { i.CommandID = "" }},
		"intent_open_while_live_or_holding":            {term.Uncertain, func(i *plant.Intent) { i.ClosedAt = now }},
		"intent_live_has_timer":                        {term.Retrying, func(i *plant.Intent) { i.DueAt = time.Time{} }},
		"intent_attempts_bounded":                      {term.Retrying, func(i *plant.Intent) { i.AttemptCount = 4 }},
		"intent_relative_action_once":                  {term.Retrying, func(i *plant.Intent) { i.Action = term.ActionPulse }},
	} {
		t.Run(name, func(t *testing.T) {
			i := lawful(c.state)
			require.NoError(t, plant.Lawful(i))
			c.wreck(i)
			require.ErrorContains(t, plant.Lawful(i), name)
		})
	}
}

// The heap against a sorted list, over many random changes.
func TestDueOrder(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	s, err := plant.Load(plant.Fence{}, nil)
	require.NoError(t, err)
	due := map[term.IntentID]*plant.Intent{}
	for step := range 3000 {
		w := s.Begin(now, &counter{n: step * 10}, plant.NewSession(), nil, nil)
		tx := w.Tx()
		id := term.IntentID(fmt.Sprint(random.IntN(40)))
		switch i := due[id]; {
		case i == nil:
			due[id] = tx.CreateIntent(plant.Intent{ID: id, EndpointID: term.EndpointID(id), Action: term.ActionAbsolute, MaxAttempts: 1,
				DeadlineAt: now.Add(time.Duration(random.IntN(50)) * time.Second)})
		case random.IntN(3) == 0:
			tx.MarkFailed(i, "x")
			delete(due, id)
		default:
			moved := tx.PostponeWindow(i, now.Add(time.Duration(random.IntN(50))*time.Second))
			if random.IntN(4) == 0 {
				w.Drop(tx) // undone: the heap has to follow
			} else {
				due[id] = moved
			}
		}
		w.Close(tx)
		w.Accept(w.Batch())
		first, ok := s.NextDue()
		require.Equal(t, len(due) > 0, ok)
		for _, i := range due {
			require.False(t, i.DueAt.Before(first.At), "step %d", step)
		}
		fresh, err := plant.Load(s.Fence(), s.Rows())
		require.NoError(t, err)
		require.Empty(t, plant.Diff(s, fresh), "step %d", step)
	}
}

func TestDerivedIDs(t *testing.T) {
	a := plant.DerivedID(now, "event", "x", "y")
	require.Equal(t, a, plant.DerivedID(now, "event", "x", "y"))
	require.NotEqual(t, a, plant.DerivedID(now, "event", "xy", ""), "parts do not run together")
	require.Less(t, a, plant.DerivedID(now.Add(time.Millisecond), "event", "a"), "ordered by time")
	require.Regexp(t, `^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`, a)
}

func TestMicros(t *testing.T) {
	zone := time.FixedZone("x", 7*3600)
	at := time.Date(2026, 1, 2, 3, 4, 5, 123456789, zone)
	require.Equal(t, time.Date(2026, 1, 1, 20, 4, 5, 123456000, time.UTC), plant.Micros(at))
	require.True(t, plant.Micros(time.Time{}).IsZero())
}
