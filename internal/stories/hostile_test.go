package stories

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// proves D-14, D-21
func TestWhatIsNotOfTheContractIsCountedAndChangesNothing(t *testing.T) {
	t.Parallel()
	s := open(t)
	valve := s.device("valve-1")
	long := strings.Repeat("a", 100<<10)

	for _, c := range []struct{ name, topic, payload, reason string }{
		{"broken JSON", "sensor-1/telemetry", `{"values":{"temperature":31}`, "malformed"},
		{"no JSON at all", "sensor-1/telemetry", "warm", "malformed"},
		{"a NUL byte", "sensor-1/telemetry", "\x00", "nul"},
		{"not UTF-8", "sensor-1/telemetry", `{"values":{"temperature":31,"note":"` + "\xff" + `"}}`, "utf8"},
		{"NUL in a text", "sensor-1/telemetry", `{"values":{"temperature":31,"note":"a\u0000b"}}`, "nul"},
		{"NaN", "sensor-1/telemetry", `{"values":{"temperature":NaN}}`, "not_finite"},
		{"a number beyond all numbers", "sensor-1/telemetry", `{"values":{"temperature":1e999}}`, "overflow"},
		{"100 KiB", "sensor-1/telemetry", `{"values":{"temperature":31,"note":"` + long + `"}}`, "oversize"},
		{"deeper than allowed", "sensor-1/telemetry", strings.Repeat("[", 40), "too_deep"},
		{"no values", "sensor-1/telemetry", `{"bootId":"boot-1","seq":1}`, "missing"},
		{"text where a number belongs", "sensor-1/telemetry", `{"values":{"temperature":"31"}}`, "wrong_type"},
		{"a serial number that nobody has", "sensor-2/telemetry", `{"values":{"temperature":31}}`, "unknown_device"},
		{"a serial number that is none", "sensor 1/telemetry", `{"values":{"temperature":31}}`, "bad_topic"},
		{"an answer without a command", "valve-1/rpc/response", `{"status":"accepted"}`, "missing"},
		{"a state that is none", "valve-1/state", `{"reportedState":true}`, "wrong_type"},
		{"a status that is none", "valve-1/status", `online`, "malformed"},
	} {
		series := fmt.Sprintf("surehand_inputs_rejected_total{reason=%q}", c.reason)
		before := s.metric(series)
		require.NoError(t, s.publish("surehand/v1/"+c.topic, []byte(c.payload)), c.name)
		until(t, c.name+" is counted as "+c.reason, func() bool { return s.metric(series) == before+1 })
	}
	// 1 MiB does not get past the shipped broker.
	err := s.publish("surehand/v1/sensor-1/telemetry", []byte(`{"values":{"temperature":31,"note":"`+strings.Repeat("a", 1<<20)+`"}}`))
	require.ErrorContains(t, err, "Packet too large")

	require.Nil(t, s.value("sensor", "sensor/temperature"))
	require.Empty(t, ask[list[event]](s, "/api/v1/events").Items)
	require.Empty(t, ask[list[command]](s, "/api/v1/commands").Items)
	require.Empty(t, ask[list[struct{}]](s, "/api/v1/parked").Items)

	// And the flow goes on, in the same process.
	s.senses(map[string]any{"temperature": 31})
	valve.obeys(valve.hears())
	s.becomes(s.one("hot").ID, "applied")
}

// proves D-14
func TestRetainedReadingChangesNothing(t *testing.T) {
	t.Parallel()
	s := prepare(t)
	// Before the first start, so that no session waits at the broker for which it would also be a live message.
	s.sample(reading(time.Now(), map[string]any{"temperature": 31}), "-r")
	s.start()
	s.Import(farm(t))
	valve := s.device("valve-1")
	s.crash() // the broker hands it out again to who subscribes
	until(t, "the retained reading is counted", func() bool { return s.metric(`surehand_inputs_ignored_total{reason="retained"}`) == 1 })
	require.Nil(t, s.value("sensor", "sensor/temperature"))
	require.Empty(t, s.commands("hot"))
	require.Empty(t, ask[list[event]](s, "/api/v1/events").Items)

	s.senses(map[string]any{"temperature": 31})
	valve.obeys(valve.hears())
	s.becomes(s.one("hot").ID, "applied")
}

// proves D-14, X-3
func TestAnswerFromAnotherDevicesTopicChangesNothing(t *testing.T) {
	t.Parallel()
	s := open(t)
	valve, brisk := s.device("valve-1"), s.device("brisk-1")

	s.senses(map[string]any{"temperature": 31})
	r := valve.hears()
	c := s.becomes(s.one("hot").ID, "dispatched")

	foreign := `surehand_answers_total{correlation="foreign"}`
	lie := r
	lie.ResponseTopic = "surehand/v1/brisk-1/rpc/response"
	brisk.acks(lie)
	brisk.answers(lie, map[string]any{"commandId": r.Body.CommandID, "status": "failed", "resultCode": "hardware_fault"})
	brisk.reports(r)
	until(t, "all three are counted as foreign", func() bool { return s.metric(foreign) == 3 })
	now := ask[command](s, "/api/v1/commands/"+c.ID)
	require.Equal(t, "dispatched", now.State)
	require.NotContains(t, s.telling(c.ID), "receipt rpc_ack")

	valve.obeys(r)
	s.becomes(c.ID, "applied")
}
