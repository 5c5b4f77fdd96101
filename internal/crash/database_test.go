package crash

import (
	"context"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// proves that a PostgreSQL killed at any moment under load, and back after a while, costs nothing: the process
// lives on and resumes by itself.
func TestDatabaseKilled(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.run(fleetSize, faulty)
	l := w.startLoad(true)
	for range *dbKills {
		w.moment(500*time.Millisecond, 3*time.Second)
		w.seeEnds()
		w.pg.Kill()
		w.moment(0, 2*time.Second)
		require.NoError(t, w.pg.Restart(context.Background()))
		w.process.Ready(30 * time.Second)
	}
	t.Logf("PostgreSQL was killed %d times", *dbKills)
	w.rest(l.end(), nil)
}

// settled is how long after the last commit an action may still leave, with room for a slow machine.
const settled = 3 * time.Second

// proves that while the database is away people are told so, nothing is dispatched, nothing is acknowledged to
// the broker, and that all goes on by itself afterwards.
func TestDatabaseAway(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.run(fleetSize, faulty)
	l := w.startLoad(false)
	w.moment(2*time.Second, 3*time.Second)

	pid := w.pg.Pid()
	require.NoError(t, syscall.Kill(pid, syscall.SIGINT), "stop PostgreSQL as an administrator does")
	over := time.NewTimer(*away)
	defer over.Stop()
	until(t, settled, "people are told that the database is away", func() bool { // the first may still be taken, so it asks for nothing
		status, header, body := call(http.MethodPost, w.address(), "/api/v1/commands", "early", `{"endpoint":"nowhere/speed","value":0}`)
		return status == http.StatusServiceUnavailable && header.Get("Retry-After") != "" && strings.Contains(string(body), "database_away")
	})
	quiet := time.NewTimer(settled)
	<-quiet.C
	received, acked := w.fleet.received(), w.metric("mqtt_acked")
	require.Positive(t, acked, "telemetry was acknowledged before")
	look := time.NewTicker(500 * time.Millisecond)
	defer look.Stop()
	for waiting := true; waiting; {
		select {
		case <-look.C:
		case <-over.C:
			waiting = false
		}
		status, _, body := call(http.MethodGet, w.address(), "/readyz", "", "")
		assert.Equal(t, http.StatusServiceUnavailable, status, "readyz: %s", body)
		status, _, body = call(http.MethodGet, w.address(), "/healthz", "", "")
		assert.Equal(t, http.StatusOK, status, "healthz: waiting is being alive: %s", body)
		status, header, body := call(http.MethodPost, w.address(), "/api/v1/commands", "told", `{"endpoint":"unit-00/speed","value":-1}`)
		assert.Equal(t, http.StatusServiceUnavailable, status, "%s", body)
		assert.NotEmpty(t, header.Get("Retry-After"))
	}
	assert.Equal(t, received, w.fleet.received(), "commands reached devices while the database was away")
	assert.Equal(t, acked, w.metric("mqtt_acked"), "messages were acknowledged to the broker while the database was away")

	require.NoError(t, w.pg.Restart(context.Background()))
	back := time.Now()
	w.process.Ready(10 * time.Second)
	t.Logf("ready %s after the database was back", time.Since(back))
	w.rest(l.end(), nil)
	assert.Zero(t, w.number("SELECT count(*) FROM automation_command_intents WHERE target_value = '-1'"), "what was answered with 503 was not done")
}

// metric sums the series of the product's metrics whose line has a word in it.
func (w *world) metric(word string) (sum float64) {
	w.t.Helper()
	_, _, text := call(http.MethodGet, w.address(), "/metrics", "", "")
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); len(fields) == 2 && strings.Contains(fields[0], word) && !strings.HasPrefix(line, "#") {
			sum += number(w.t, fields[1])
		}
	}
	return sum
}
