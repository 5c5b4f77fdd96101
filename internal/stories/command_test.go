package stories

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// proves D-1, D-4, D-5, D-14, D-24
func TestReadingThatMeetsARuleBringsOneCommandOfTheContract(t *testing.T) {
	t.Parallel()
	s := open(t)
	valve := s.device("valve-1")

	s.senses(map[string]any{"temperature": 31.5})
	r := valve.hears()

	require.Equal(t, "surehand/v1/valve-1/rpc/request", r.Topic)
	require.Equal(t, "surehand/v1/valve-1/rpc/response", r.ResponseTopic)
	require.NotEmpty(t, r.Correlation, "correlation data names the attempt")
	require.Equal(t, "1", r.QoS, "a class A device is sent to at QoS 1")
	require.Equal(t, "0", r.Retained)
	require.Positive(t, r.ExpirySeconds, "worthless at the broker once its deadline is over")
	require.LessOrEqual(t, r.ExpirySeconds, 30)

	var fields map[string]json.RawMessage
	require.NoError(t, json.Unmarshal([]byte(r.Payload), &fields))
	require.ElementsMatch(t, []string{"commandId", "method", "params", "sentAt", "deadlineAt", "attempt"}, keys(fields))
	require.NotEmpty(t, r.Body.CommandID)
	require.Equal(t, "set", r.Body.Method)
	require.JSONEq(t, `{"open":true}`, string(r.Body.Params))
	require.Equal(t, 1, r.Body.Attempt)
	require.Equal(t, 30*time.Second, r.Body.DeadlineAt.Sub(r.Body.SentAt), "the profile's ack timeout")

	c := s.one("hot")
	require.Equal(t, r.Body.CommandID, c.CommandID)

	// One command only: the next thing on the topic is another one, and nothing was left with the broker.
	valve.obeys(r)
	s.becomes(c.ID, "applied")
	other := s.ordered("other", "valve/level", "40")
	r = valve.hears()
	require.JSONEq(t, `{"level":40}`, string(r.Body.Params))
	valve.obeys(r)
	s.becomes(other.ID, "applied")
	require.Equal(t, 1, s.one("hot").AttemptCount)
	late := s.device("valve-1")
	s.ordered("late", "valve/level", "50")
	require.JSONEq(t, `{"level":50}`, string(late.hears().Body.Params), "a device that subscribes later finds no old command")
}

// proves D-6, D-7, D-22, X-3
func TestAckAndStateReportBringApplied(t *testing.T) {
	t.Parallel()
	s := open(t)
	valve := s.device("valve-1")

	s.senses(map[string]any{"temperature": 31})
	r := valve.hears()
	id := s.one("hot").ID
	valve.acks(r)
	c := s.becomes(id, "acknowledged")
	require.True(t, c.HoldsEndpoint, "an ack is no proof")
	require.Empty(t, c.EvidenceID)
	valve.reports(r)
	c = s.becomes(id, "applied")
	require.False(t, c.HoldsEndpoint)
	require.NotEmpty(t, c.EvidenceID)

	inOrder(t, s.telling(id), "decided set", "move CreateIntent to pending_dispatch", "attempt 1", "receipt publish_mark", "attempt 1 ended sent",
		"move MarkDispatched from pending_dispatch to dispatched", "receipt rpc_ack", "move MarkAcknowledged from dispatched to acknowledged",
		"receipt state_report", "move MarkApplied from acknowledged to applied")
}

// proves D-7, D-18, X-2
func TestAckAloneBringsUncertain(t *testing.T) {
	t.Parallel()
	s := open(t)
	brisk := s.device("brisk-1")

	s.senses(map[string]any{"pressure": 6})
	r := brisk.hears()
	brisk.acks(r)
	c := s.becomes(s.one("high").ID, "uncertain")

	require.True(t, c.HoldsEndpoint, "held until there is proof or a person's word")
	require.Equal(t, 1, c.AttemptCount, "an acknowledged command is not sent again")
	inOrder(t, s.telling(c.ID), "attempt 1", "receipt rpc_ack", "move MarkAcknowledged from dispatched to acknowledged",
		"receipt timeout_mark", "move MarkUncertain from acknowledged to uncertain")

	// Late proof still ends it.
	brisk.reports(r)
	require.False(t, s.becomes(c.ID, "applied").HoldsEndpoint)
}

// proves D-11, D-12, D-22
func TestSilenceBringsThreeAttemptsOfOneCommandAndThenExpired(t *testing.T) {
	t.Parallel()
	s := open(t)
	brisk := s.device("brisk-1")

	s.senses(map[string]any{"pressure": 6})
	first, second, third := brisk.hears(), brisk.hears(), brisk.hears()
	c := s.becomes(s.one("high").ID, "expired")

	for n, r := range []request{first, second, third} {
		require.Equal(t, c.CommandID, r.Body.CommandID, "one command id for all attempts")
		require.JSONEq(t, string(first.Body.Params), string(r.Body.Params))
		require.Equal(t, n+1, r.Body.Attempt)
	}
	require.NotEqual(t, first.Correlation, second.Correlation, "an answer can be bound to its attempt")
	require.GreaterOrEqual(t, second.Body.SentAt.Sub(first.Body.SentAt), 2*time.Second+700*time.Millisecond, "not before ack timeout and backoff")
	require.GreaterOrEqual(t, third.Body.SentAt.Sub(second.Body.SentAt), 2*time.Second+900*time.Millisecond, "not before ack timeout and backoff")
	require.Equal(t, 3, c.AttemptCount)
	require.True(t, c.PossiblyExecuted)
	require.True(t, c.HoldsEndpoint)

	inOrder(t, s.telling(c.ID), "attempt 1", "move MarkDispatched from pending_dispatch to dispatched", "receipt timeout_mark", "receipt retry_mark",
		"move MarkRetrying from dispatched to retrying", "attempt 2", "move MarkDispatched from retrying to dispatched", "receipt timeout_mark",
		"receipt retry_mark", "move MarkRetrying from dispatched to retrying", "attempt 3", "receipt timeout_mark",
		"move MarkExpired from retrying to expired")

	// No fourth attempt: the next thing on the topic is another command.
	s.ordered("other", "brisk/level", "40")
	require.JSONEq(t, `{"level":40}`, string(brisk.hears().Body.Params))
	top := ask[list[struct {
		DeviceID string `json:"deviceId"`
		Count    int    `json:"count"`
	}]](s, "/api/v1/diagnostics/top-timeouts").Items
	require.Len(t, top, 1)
	require.Equal(t, "brisk", top[0].DeviceID)
	require.Equal(t, 3, top[0].Count)
}

func keys(m map[string]json.RawMessage) (all []string) {
	for k := range m {
		all = append(all, k)
	}
	return all
}
