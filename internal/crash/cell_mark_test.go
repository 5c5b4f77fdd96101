package crash

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"surehand/internal/simulator/line"
	"surehand/internal/term"
)

const markerAt = 81 // its station

// newMarkedCell has a marker besides, and a route that does nothing but mark.
func newMarkedCell(t *testing.T) *cell {
	t.Helper()
	c := newCell(t, func(o *line.Options) {
		o.Markers = []line.MarkerOptions{{Name: "marker", Place: markerAt, MarkTime: 50 * time.Millisecond}}
	})
	marker := fmt.Sprintf("  - {id: marker, kind: marker, first: %d, actionTime: 5s, driver: {type: tcp-marker, address: %q, poll: 20ms, stale: 1s, timeout: 300ms}}\n",
		markerAt, c.plant.Marker("marker").Address())
	file := strings.Replace(c.yaml(), "routes:\n", marker+"routes:\n  - {id: marked, steps: [{mark: marker, text: 'X {job}'}]}\n", 1)
	status, body := c.process.Post(context.Background(), "/api/v1/plant", "text/yaml", []byte(file))
	require.Equal(t, http.StatusOK, status, string(body))
	c.confirm(30 * time.Second)
	return c
}

// proves C-7 C-18 C-19 X-2: the process is killed at each boundary of a mark. The next life asks the marker, which knows
// or is told that this number begins no more, so that nobody is asked about what it knows, and the part is marked once.
func TestCellKilledWhileItMarks(t *testing.T) {
	t.Parallel()
	struck := func(fault string) func(line.Truth) bool {
		return func(truth line.Truth) bool { return truth.Faults["marker/"+fault] > 0 }
	}
	begun := func(truth line.Truth) bool { return len(truth.Marks) > 0 }
	for _, b := range []struct {
		name   string
		faults line.MarkerFaults
		await  func(line.Truth) bool
		letGo  func(*line.Marker) // after the process is dead
		asked  string             // what somebody answers who looked at the part; empty: nobody is asked
		begun  int                // marks, in the end
	}{
		{"the marker marks", line.MarkerFaults{Stick: 1, Strikes: 1}, begun, (*line.Marker).Free, "", 1},
		{"it has marked, and its answer was lost", line.MarkerFaults{LoseAnswer: 1, Strikes: 1}, begun, func(*line.Marker) {}, "", 1},
		{"the request was lost", line.MarkerFaults{LoseMark: 1, Strikes: 1}, struck("lose_mark"), func(*line.Marker) {}, "", 1},
		{"the request comes when the process lives again", line.MarkerFaults{LateMark: 1, LateMarkBy: 8 * time.Second, Strikes: 1}, struck("late_mark"), func(*line.Marker) {}, "", 1},
		{"the marker has failed", line.MarkerFaults{Fail: 1, Strikes: 1}, begun, func(*line.Marker) {}, term.AnswerRetry, 2},
		{"the marker loses its power, too", line.MarkerFaults{Stick: 1, Strikes: 1}, begun, func(m *line.Marker) { _ = m.Restart() }, term.AnswerNotDone, 2},
	} {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			c := newMarkedCell(t)
			marker := c.plant.Marker("marker")
			marker.SetFaults(b.faults)
			c.order, c.parts = "WO-1", 1
			c.accept("/orders", map[string]any{"id": "WO-1", "route": "marked", "quantity": 1})
			_, err := c.plant.Arrive(1)
			require.NoError(t, err)
			c.accept("/orders/WO-1/pallets", map[string]any{"pallet": "pallet-1", "quantity": 1})
			c.accept("/orders/WO-1/start", map[string]any{})
			ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
			defer cancel()
			require.NoError(t, c.plant.Wait(ctx, b.await))
			c.process.Kill()
			b.letGo(marker)
			c.start().Ready(30 * time.Second)
			answers := map[string]bool{}
			until(t, time.Minute, "the order has ended", func() bool {
				for _, q := range c.questions() {
					require.True(t, b.asked != "" && (q.Finding == term.FindTaskUnknown || q.Finding == term.FindActionFailed), "%s: %s; %s", q.Finding, q.Record, q.Machine)
					status, answer := c.post("/manual-actions/"+string(q.ID)+"/answer", map[string]any{"version": q.Version, "hash": q.Hash, "answer": b.asked, "reason": "I looked"})
					require.True(t, status == http.StatusOK || status == http.StatusConflict || status == http.StatusNotFound, "%d %v", status, answer)
					answers[b.asked] = answers[b.asked] || status == http.StatusOK
				}
				c.post("/recovery/confirm", map[string]any{"reason": "I looked"}) // refused as long as something is open, or it is over
				return c.ended()
			})
			require.Equal(t, b.asked != "", answers[b.asked])
			if b.faults.LateMark > 0 {
				require.NoError(t, c.plant.Wait(ctx, func(truth line.Truth) bool { return len(truth.Ignored) > 0 }))
			}
			truth := c.plant.Truth()
			require.Empty(t, truth.Violations)
			require.Len(t, truth.Marks, b.begun)
			require.Equal(t, []string{"X WO-1.1"}, truth.Parts["1.1"].Marks)
			require.Equal(t, line.Place(exitPlace), truth.Parts["1.1"].At)
			require.Equal(t, [][]string{{"completed", "1"}}, c.rows("SELECT state, completed::text FROM work_orders WHERE id = 'WO-1'"))
			c.checkDatabase()
		})
	}
}
