package stories

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

// proves D-9, D-13, X-1, X-9
func TestSameRequestAfterACrashIsTheSameCommand(t *testing.T) {
	t.Parallel()
	s := open(t)
	valve := s.device("valve-1")
	const body = `{"endpoint":"valve/open","value":true,"reason":"rinse"}`

	status, p := s.order("rinse-1", body)
	require.Equal(t, http.StatusAccepted, status)
	r := valve.hears()
	s.crash()

	status, again := s.order("rinse-1", body)
	require.Equal(t, http.StatusAccepted, status)
	require.Equal(t, p.ID, again.ID)
	require.True(t, again.InProgress)
	status, other := s.order("rinse-1", `{"endpoint":"valve/open","value":false}`)
	require.Equal(t, http.StatusConflict, status)
	require.Equal(t, "idempotency_conflict", other.Code)

	valve.obeys(r)
	require.Equal(t, r.Body.CommandID, s.becomes(p.ID, "applied").CommandID)
	s.crash()
	status, again = s.order("rinse-1", body)
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, p.ID, again.ID)
	require.Equal(t, "applied", again.State, "an old answer shows what became of it")
	require.False(t, again.InProgress)

	require.Len(t, ask[list[command]](s, "/api/v1/commands?endpoint=valve/open").Items, 1)
	s.ordered("rinse-2", "valve/level", "40")
	require.JSONEq(t, `{"level":40}`, string(valve.hears().Body.Params), "the device heard the command once")
}

// proves C-6, X-8
func TestStreamHasNoGapAndNoDuplicateOverACrash(t *testing.T) {
	t.Parallel()
	s := open(t)
	valve := s.device("valve-1")

	live := s.follow("")
	snapshot := live.next()
	require.Equal(t, "snapshot", snapshot.event)
	from := snapshot.seq(t)

	s.senses(map[string]any{"temperature": 31})
	r := valve.hears()
	seen := live.rowsUntil("MarkDispatched")
	s.Kill()
	seen = append(seen, live.rowsUntilCut()...)
	last := seen[len(seen)-1]

	s.start()
	valve.acks(r) // while nobody looks
	id := s.one("hot").ID
	s.becomes(id, "acknowledged")
	live = s.follow(last.id)
	require.Equal(t, "resumed", live.next().event)
	seen = append(seen, live.rowsUntil("MarkAcknowledged")...)
	valve.reports(r)
	seen = append(seen, live.rowsUntil("MarkApplied")...)

	for n, f := range seen {
		require.Equal(t, from+int64(n)+1, f.seq(t), "seq has no gap and no duplicate")
	}
	// The stream is the event log, row by row, and comes again from any place of it.
	var logged []int64
	for _, e := range ask[list[struct {
		Seq int64 `json:"seq"`
	}]](s, "/api/v1/log?limit=500").Items {
		if e.Seq > from && e.Seq <= seen[len(seen)-1].seq(t) {
			logged = append(logged, e.Seq)
		}
	}
	require.Len(t, logged, len(seen))
	replay := s.follow(snapshot.id)
	require.Equal(t, "resumed", replay.next().event)
	for _, f := range seen {
		require.Equal(t, f, replay.next())
	}
}
