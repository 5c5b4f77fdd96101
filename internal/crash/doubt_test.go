package crash

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"surehand/internal/embedded/pgproxy"
	"surehand/internal/simulator"
)

func number(t *testing.T, text string) float64 {
	t.Helper()
	n, err := strconv.ParseFloat(text, 64)
	require.NoError(t, err)
	return n
}

// proves that a connection cut exactly between the COMMIT of a fence and its answer, with the commit done, not
// done, or landing late, costs neither a command nor a second publish.
func TestFenceInDoubt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.run(len(classes), silent)
	value := 0
	for _, c := range []struct {
		name   string
		action pgproxy.Action
		late   bool // release only when the command is over
	}{
		{"not committed", pgproxy.CutBefore, false},
		{"committed", pgproxy.CutAfter, false},
		{"the commit lands while it is being settled", pgproxy.HoldBack, false},
		{"the commit lands much later", pgproxy.HoldBack, true},
		{"the answer is slow", pgproxy.HoldAnswer, false},
	} {
		for n, class := range classes {
			t.Run(fmt.Sprintf("%s, class %s", c.name, class), func(t *testing.T) {
				value++
				trap, answered := w.trapFence(t, c.action, n, value)
				before := w.proxy.Counts().Connections
				if c.action == pgproxy.HoldBack && !c.late {
					until(t, 10*time.Second, "the process is back", func() bool { return w.proxy.Counts().Connections > before })
					trap.Release()
				}
				if c.action == pgproxy.HoldAnswer {
					assert.True(t, trap.Release())
				}
				id := w.awaitState(t, serialOf(n), value, "applied")
				if c.late {
					assert.False(t, trap.Release(), "a commit that was given up cannot land any more")
				}
				assert.Empty(t, <-answered)
				truth := w.fleet.Device(serialOf(n)).Truth().Commands[id]
				assert.Equal(t, 1, truth.Received, "copies received")
				assert.Equal(t, 1, truth.Executed, "executions")
			})
		}
	}
	w.rest(w.trapped, nil)
}

// trapFence sends a hand command and returns when the COMMIT of its fence has run into a trap. answered says
// what was wrong with the answer of HTTP: nothing if it was accepted.
func (w *world) trapFence(t *testing.T, action pgproxy.Action, device, value int) (*pgproxy.Trap, <-chan string) {
	t.Helper()
	w.hear(t)
	w.turnAtTrap = w.number("SELECT turn FROM loop_state")
	trap := w.proxy.Arm(action)
	answered := make(chan string, 1)
	a := &wish{key: fmt.Sprintf("%s-%d", w.t.Name(), value), endpoint: serialOf(device) + "/speed", value: value}
	w.trapped = append(w.trapped, a)
	go func() {
		for try := 0; ; try++ {
			ok, fault := a.ask(w.address())
			if ok || fault != "" || try == 100 {
				if !ok && fault == "" {
					fault = "never answered"
				}
				answered <- fault
				return
			}
			<-time.After(100 * time.Millisecond)
		}
	}()
	select {
	case <-trap.Sprung():
	case <-time.After(10 * time.Second):
		t.Fatal("no COMMIT came")
	}
	return trap, answered
}

// hear makes every device heard just now, and waits until nothing of it is under way.
func (w *world) hear(t *testing.T) {
	t.Helper()
	for _, d := range w.fleet.Devices() {
		require.NoError(t, d.PublishTelemetry())
	}
	until(t, 20*time.Second, "every reading is stored", func() bool {
		readings := 0
		for _, truth := range w.fleet.Truth() {
			readings += len(truth.Readings)
		}
		return w.number("SELECT count(*) FROM telemetry") == readings
	})
}

// awaitState waits for a hand command and returns its command id.
func (w *world) awaitState(t *testing.T, serial string, value int, state string) (id string) {
	t.Helper()
	was := ""
	until(t, 40*time.Second, fmt.Sprintf("the command of %s to %d is %s", serial, value, state), func() bool {
		rows, err := w.query(fmt.Sprintf("SELECT state, coalesce(command_id, '') FROM automation_command_intents WHERE serial = '%s' AND target_value = '%d'", serial, value))
		if err != nil || len(rows) != 1 {
			return false
		}
		was, id = rows[0][0], rows[0][1]
		return was == state
	})
	return id
}

// proves the same under load, for commits of every kind.
func TestCommitInDoubtUnderLoad(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.run(fleetSize, faulty)
	l := w.startLoad(true)
	done := map[string]int{}
	for range *doubts {
		w.moment(0, 700*time.Millisecond)
		action := []pgproxy.Action{pgproxy.CutBefore, pgproxy.CutAfter, pgproxy.HoldBack, pgproxy.HoldAnswer}[w.random.IntN(4)]
		trap := w.proxy.Arm(action)
		select {
		case <-trap.Sprung():
		case <-time.After(20 * time.Second):
			t.Fatal("no COMMIT came")
		}
		word := action.String()
		if action == pgproxy.HoldBack || action == pgproxy.HoldAnswer {
			w.moment(0, 3*time.Second)
			if trap.Release() {
				word += ", landed"
			} else {
				word += ", too late"
			}
		}
		done[word]++
		w.process.Ready(20 * time.Second)
	}
	t.Logf("commits in doubt: %v", done)
	w.rest(l.end(), nil)
}

// copiesOf counts how often a device received a command.
func copiesOf(d *simulator.Device, id string) int { return d.Truth().Commands[id].Received }
