package stories

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// proves D-8, D-16, D-22, X-6
func TestWhyNothingHappenedCanBeRead(t *testing.T) {
	t.Parallel()
	s := open(t)
	valve := s.device("valve-1")
	// verdict waits for the newest verdict of a rule to be this one.
	verdict := func(rule, outcome string) (x execution) {
		t.Helper()
		until(t, "rule "+rule+" says "+outcome, func() bool {
			all := ask[list[execution]](s, "/api/v1/executions?rule="+rule).Items
			if len(all) > 0 {
				x = all[0]
			}
			return x.Outcome == outcome
		})
		return x
	}

	s.senses(map[string]any{"moisture": 25})
	x := verdict("dry", "unknown")
	require.Len(t, x.Leaves, 2, "every comparison is shown, also where the result is clear")
	require.Equal(t, "true", x.Leaves[0].Result)
	require.Equal(t, 25.0, x.Leaves[0].Actual)
	require.Equal(t, "sensor/tank", x.Leaves[1].Endpoint)
	require.Equal(t, "unknown", x.Leaves[1].Result, "the tank was never seen")
	require.Nil(t, x.Leaves[1].Actual)

	s.senses(map[string]any{"moisture": 24, "tank": 3})
	x = verdict("dry", "false")
	require.Equal(t, "false", x.Leaves[1].Result)
	require.Equal(t, 3.0, x.Leaves[1].Actual)
	require.Equal(t, []any{5.0}, x.Leaves[1].Operands)
	require.Empty(t, x.IntentID)

	s.senses(map[string]any{"moisture": 9})
	x = verdict("repair", "refused")
	require.Equal(t, "device_maintenance", x.Reason)
	closed := map[string]string{}
	for _, g := range x.Gates {
		if !g.Pass {
			closed[g.Gate] = g.Fact
		}
	}
	require.Equal(t, map[string]string{"device_maintenance": "device maintenance"}, closed)
	s.senses(map[string]any{"moisture": 8})
	until(t, "the refusal is counted up on its row", func() bool { return verdict("repair", "refused").Count == 2 })

	s.senses(map[string]any{"moisture": 20, "tank": 50})
	x = verdict("dry", "fired")
	r := valve.hears()
	s.senses(map[string]any{"moisture": 19})
	require.Equal(t, x.IntentID, verdict("dry", "in_flight").Reason, "it names the command that is under way")
	valve.obeys(r)
	s.becomes(x.IntentID, "applied")
	s.senses(map[string]any{"moisture": 18})
	verdict("dry", "already_true")
	require.Len(t, s.commands("dry"), 1)
	require.Empty(t, s.commands("repair"))

	// The whole story of the one that fired: event, verdict, command.
	story := ask[struct {
		Execution execution `json:"execution"`
		Event     event     `json:"event"`
		Command   command   `json:"command"`
		Items     []item    `json:"items"`
	}](s, "/api/v1/executions/"+x.ID+"/timeline")
	require.Equal(t, "fired", story.Execution.Outcome)
	require.Equal(t, "true", story.Execution.Leaves[1].Result)
	require.Equal(t, event{EndpointID: "sensor/moisture", Value: 20.0, Status: "processed"}, story.Event)
	require.Equal(t, "applied", story.Command.State)
	var told []string
	for _, i := range story.Items {
		told = append(told, tell(i))
	}
	inOrder(t, told, "decided set", "attempt 1", "receipt rpc_ack", "receipt state_report", "move MarkApplied from acknowledged to applied")
}

// proves D-11, D-14, D-22
func TestRefusalOfTheDeviceIsToldInItsWords(t *testing.T) {
	t.Parallel()
	s := open(t)
	valve := s.device("valve-1")

	p := s.ordered("order", "valve/level", "70")
	r := valve.hears()
	valve.answers(r, map[string]any{"commandId": r.Body.CommandID, "status": "rejected", "resultCode": "invalid_param", "message": "stuck at 60"})
	c := s.becomes(p.ID, "failed")
	require.Equal(t, "invalid_param: stuck at 60", c.LastError)
	require.False(t, c.HoldsEndpoint)
	require.Equal(t, 1, c.AttemptCount, "a refusal is not asked again")
	inOrder(t, s.telling(p.ID), "attempt 1", "receipt rpc_result", "move MarkFailed from dispatched to failed")
}
