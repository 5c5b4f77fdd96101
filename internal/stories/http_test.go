package stories

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// What a person or program reads over HTTP, by the names of the contract.
type (
	list[T any] struct {
		Items []T `json:"items"`
	}
	command struct {
		ID               string `json:"id"`
		State            string `json:"state"`
		WaitingFor       string `json:"waitingFor"`
		CommandID        string `json:"deviceCommandId"`
		RuleID           string `json:"ruleId"`
		ExecutionID      string `json:"ruleExecutionId"`
		AttemptCount     int    `json:"attemptCount"`
		HoldsEndpoint    bool   `json:"holdsEndpoint"`
		PossiblyExecuted bool   `json:"possiblyExecuted"`
		EvidenceID       string `json:"evidenceId"`
		LastError        string `json:"lastError"`
	}
	item struct {
		Kind, Text, From, To string
		Detail               struct {
			Correlation, Reason, Message, Actor, Error string
			Number                                     int
		}
	}
	execution struct {
		ID       string `json:"id"`
		Outcome  string `json:"outcome"`
		Reason   string `json:"reason"`
		RuleID   string `json:"ruleId"`
		IntentID string `json:"commandIntentId"`
		Count    int    `json:"count"`
		Leaves   []struct {
			Endpoint, Op, Result string
			Operands             []any
			Actual               any
		} `json:"leaves"`
		Gates []struct {
			Gate, Fact string
			Pass       bool
		} `json:"gates"`
	}
	event struct {
		EndpointID string `json:"endpointId"`
		Value      any    `json:"value"`
		Status     string `json:"status"`
		Reason     string `json:"reason"`
	}
	posted struct {
		Code       string  `json:"code"`
		ID         string  `json:"id"`
		State      string  `json:"state"`
		InProgress bool    `json:"inProgress"`
		Command    command `json:"command"`
	}
)

func ask[T any](s *site, path string) (answer T) {
	s.t.Helper()
	s.JSON(path, &answer)
	return answer
}

// commands of a rule, whatever became of them.
func (s *site) commands(rule string) []command {
	s.t.Helper()
	return ask[list[command]](s, "/api/v1/commands?rule="+rule).Items
}

// one is the only command of a rule.
func (s *site) one(rule string) command {
	s.t.Helper()
	all := s.commands(rule)
	require.Len(s.t, all, 1, "commands of rule %s", rule)
	return all[0]
}

// becomes waits until a command is in a state.
func (s *site) becomes(id, state string) command {
	s.t.Helper()
	var c command
	until(s.t, "command "+id+" becomes "+state, func() bool {
		c = ask[command](s, "/api/v1/commands/"+id)
		return c.State == state
	})
	return c
}

// telling is a timeline without its times: "kind text", and for moves where they lead.
func (s *site) telling(id string) []string {
	s.t.Helper()
	var told []string
	for _, i := range ask[list[item]](s, "/api/v1/commands/"+id+"/timeline").Items {
		told = append(told, tell(i))
	}
	return told
}

func tell(i item) string {
	switch {
	case i.Kind == "move" && i.From == "":
		return "move " + i.Text + " to " + i.To
	case i.Kind == "move" && i.From != i.To:
		return "move " + i.Text + " from " + i.From + " to " + i.To
	case i.Kind == "attempt":
		return "attempt " + strconv.Itoa(i.Detail.Number)
	case i.Kind == "attempt_ended":
		return "attempt " + strconv.Itoa(i.Detail.Number) + " ended " + i.Text
	}
	return i.Kind + " " + i.Text
}

// inOrder demands that these things were told in this order, with others in between.
func inOrder(t testing.TB, told []string, want ...string) {
	t.Helper()
	rest := told
	for _, w := range want {
		n := 0
		for n < len(rest) && rest[n] != w {
			n++
		}
		if n == len(rest) {
			t.Fatalf("the timeline does not tell %q there; it tells:\n  %s", w, strings.Join(told, "\n  "))
		}
		rest = rest[n+1:]
	}
}

// value is what is known of an endpoint; nil: nothing.
func (s *site) value(device, endpoint string) any {
	s.t.Helper()
	for _, e := range ask[struct {
		Endpoints []struct {
			ID    string `json:"id"`
			Value any    `json:"value"`
		} `json:"endpoints"`
	}](s, "/api/v1/devices/"+device).Endpoints {
		if e.ID == endpoint {
			return e.Value
		}
	}
	require.Fail(s.t, "no such endpoint", endpoint)
	return nil
}

// saw waits until the value of an endpoint of the sensor is known, and with it everything sent before.
func (s *site) saw(endpoint string, value float64) {
	s.t.Helper()
	until(s.t, endpoint+" shows "+strconv.FormatFloat(value, 'g', -1, 64), func() bool { return s.value("sensor", endpoint) == value })
}

// metric reads one series of /metrics; 0 when it is not there.
func (s *site) metric(series string) float64 {
	s.t.Helper()
	_, text := s.Get(context.Background(), "/metrics")
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, series+" "); ok {
			v, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			require.NoError(s.t, err)
			return v
		}
	}
	return 0
}

// order is a hand command. Its key makes it the same request when it is sent again.
func (s *site) order(key, body string) (int, posted) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+s.Listen+"/api/v1/commands", bytes.NewReader([]byte(body)))
	require.NoError(s.t, err)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Idempotency-Key", key)
	r.Header.Set("Prefer", "wait=0") // the story follows the command by itself
	response, err := http.DefaultClient.Do(r)
	require.NoError(s.t, err)
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	require.NoError(s.t, err)
	var p posted
	require.NoError(s.t, json.Unmarshal(data, &p), string(data))
	return response.StatusCode, p
}

// ordered is a hand command that was taken.
func (s *site) ordered(key, endpoint, value string) posted {
	s.t.Helper()
	status, p := s.order(key, `{"endpoint":"`+endpoint+`","value":`+value+`}`)
	require.Equal(s.t, http.StatusAccepted, status, "%+v", p)
	require.NotEmpty(s.t, p.ID)
	return p
}
