package stories

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// proves D-2, D-3, D-9, D-13, X-1
func TestTheSameReadingTwiceBringsOneCommand(t *testing.T) {
	t.Parallel()
	for name, form := range map[string]func(n int, at time.Time, values map[string]any) any{
		"known by its time": func(_ int, at time.Time, values map[string]any) any { return reading(at, values) },
		"known by boot id and count": func(n int, at time.Time, values map[string]any) any {
			return map[string]any{"bootId": "boot-1", "seq": n, "ts": at.UnixMilli(), "values": values}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			began := time.Now().Add(-8 * time.Second) // once everything stands: a cold machine builds for minutes
			sample := func(n int, values map[string]any) any {
				return form(n, began.Add(time.Duration(n)*time.Second), values)
			}
			valve := s.device("valve-1")
			cold := func(n int) any { return sample(n, map[string]any{"temperature": 20, "pressure": float64(n) / 10}) }
			// next is a later reading that means nothing; when it was seen, so was everything before it.
			next := func(n int) {
				t.Helper()
				s.sample(cold(n))
				s.saw("sensor/pressure", float64(n)/10)
			}
			hot := sample(1, map[string]any{"temperature": 31})

			s.sample(hot)
			r := valve.hears()
			valve.obeys(r)
			first := s.becomes(s.one("hot").ID, "applied")
			// Somebody closes the valve by hand, so that the reading would open it again if it counted again.
			valve.say("telemetry", reading(time.Now(), map[string]any{"open": false}))
			until(t, "the valve is seen closed", func() bool { return s.value("valve", "valve/open") == false })

			s.sample(hot)
			s.sample(hot)
			next(2)
			s.sample(hot)
			next(3)
			require.Equal(t, first.ID, s.one("hot").ID, "repeated at once")

			s.Kill()
			s.sample(hot) // waits at the broker
			s.start()
			s.sample(hot)
			next(4)
			require.Equal(t, first.ID, s.one("hot").ID, "repeated while the process was away, and after its restart")

			s.sample([]any{hot, cold(5), hot, cold(6)})
			s.saw("sensor/pressure", 0.6)
			require.Equal(t, first.ID, s.one("hot").ID, "repeated inside a batch of readings kept while offline")

			// A new reading still fires, and inside one batch once. The topic shows that nothing came before it.
			again := sample(7, map[string]any{"temperature": 31})
			s.sample([]any{again, again, cold(8)})
			r = valve.hears()
			require.NotEqual(t, first.CommandID, r.Body.CommandID)
			valve.obeys(r)
			s.saw("sensor/pressure", 0.8)
			require.Len(t, s.commands("hot"), 2)
			s.ordered("other", "valve/level", "40")
			require.JSONEq(t, `{"level":40}`, string(valve.hears().Body.Params))
		})
	}
}

// proves D-2, X-6
func TestHourOldReadingFiresNothing(t *testing.T) {
	t.Parallel()
	s := open(t)
	valve := s.device("valve-1")

	s.sample(reading(time.Now().Add(-time.Hour), map[string]any{"temperature": 40}))
	s.saw("sensor/temperature", 40)
	require.Equal(t, []event{{EndpointID: "sensor/temperature", Value: 40.0, Status: "discarded", Reason: "backfill"}},
		ask[list[event]](s, "/api/v1/events?device=sensor").Items)
	require.Empty(t, s.commands("hot"))
	require.Empty(t, ask[list[execution]](s, "/api/v1/executions?rule=hot").Items)

	// One of now does, and it is the first command that the device hears.
	s.senses(map[string]any{"temperature": 31})
	valve.obeys(valve.hears())
	s.becomes(s.one("hot").ID, "applied")
	require.Len(t, ask[list[event]](s, "/api/v1/events?device=sensor&status=processed").Items, 1)
}
