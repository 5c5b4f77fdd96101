package crash

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"surehand/internal/embedded/pgproxy"
	"surehand/internal/service/processtest"
	"surehand/internal/simulator"
)

// proves that a process paused exactly between the commit of a fence and its publish does not publish when it
// wakes up after another one took over, and ends; and that the other one repeats only what may be repeated.
func TestPausedBetweenFenceAndPublish(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.run(len(classes), silent)
	for n, class := range classes {
		value := 1 + n
		trap, answered := w.trapFence(t, pgproxy.HoldAnswer, n, value)
		old := w.process
		old.Pause()
		assert.True(t, trap.Release()) // the answer waits in its socket
		paused := time.NewTimer(2500 * time.Millisecond)
		rows := w.rows("SELECT a.command_id, a.outcome FROM command_attempts a JOIN automation_command_intents i ON i.id = a.intent_id WHERE i.target_value = $1", value)
		require.Len(t, rows, 1, "the fence is committed")
		require.Equal(t, "open", rows[0][1])
		id, device := rows[0][0], w.fleet.Device(serialOf(n))
		require.Zero(t, copiesOf(device, id), "and nothing has left")

		second := w.another(w.url, processtest.FreeAddress(t))
		require.Error(t, second.Wait(20*time.Second), "a second process is refused")
		assert.Contains(t, second.Log(), "another surehand already runs on this database")
		assert.Contains(t, second.Log(), "--takeover")

		w.listen.Store(processtest.FreeAddress(t))
		w.start("--takeover").Ready(30 * time.Second)
		<-paused.C
		require.Zero(t, copiesOf(device, id), "the new process does not judge at once")
		old.Resume()
		require.Error(t, old.Wait(15*time.Second), "a forgotten process ends, and says so")
		require.Empty(t, <-answered)
		w.hear(t)
		if class == simulator.ClassA {
			w.awaitState(t, device.Serial(), value, "applied")
			assert.Equal(t, []int{2}, device.Truth().Commands[id].Attempts, "the attempts that arrived: not the one of the forgotten process")
			continue
		}
		w.awaitState(t, device.Serial(), value, "uncertain")
		assert.Zero(t, copiesOf(device, id), "class %s: neither process sent it", class)
	}
	w.rest(w.trapped, nil)
}

// proves that a takeover from a process that is at work, at any moment, fires nothing twice.
func TestTakeoverUnderLoad(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.run(fleetSize, faulty)
	l := w.startLoad(true)
	for range 2 {
		w.moment(200*time.Millisecond, 2*time.Second)
		old := w.process
		if w.random.IntN(2) == 0 {
			old.Pause()
			w.moment(0, 1500*time.Millisecond)
		}
		w.listen.Store(processtest.FreeAddress(t))
		w.start("--takeover")
		w.moment(0, 500*time.Millisecond)
		old.Resume()
		require.Error(t, old.Wait(20*time.Second))
		w.process.Ready(30 * time.Second)
	}
	w.rest(l.end(), nil)
}
