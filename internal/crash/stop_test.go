package crash

import (
	"context"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// stopWithin is the process's budget for an end while something hangs: less than the ten seconds after which
// container runtimes kill.
const stopWithin = 9 * time.Second

// proves that SIGTERM ends the process in time under load, also while the database or the broker does not answer.
func TestStop(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.run(fleetSize, faulty)
	l := w.startLoad(false)
	for _, c := range []struct {
		name      string
		hang, end func(t *testing.T)
	}{
		{"all well", func(*testing.T) {}, func(*testing.T) {}},
		{"the broker hangs", func(*testing.T) { w.through.shut() }, func(*testing.T) { w.through.release() }},
		{"the database hangs", w.freezeDatabase, w.thawDatabase},
		{"the database is gone", func(*testing.T) { w.pg.Kill() }, w.restartDatabase},
		{"both hang", func(t *testing.T) { w.through.shut(); w.freezeDatabase(t) }, func(t *testing.T) { w.through.release(); w.thawDatabase(t) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			w.moment(time.Second, 2*time.Second)
			c.hang(t)
			w.moment(0, time.Second)
			began := time.Now()
			w.process.Term()
			select {
			case <-w.process.Ended():
				t.Logf("ended after %s", time.Since(began))
			case <-time.After(stopWithin):
				assert.Fail(t, "the process did not end", "within %s of SIGTERM", stopWithin)
				w.process.Kill()
			}
			c.end(t)
			w.start().Ready(30 * time.Second)
			w.linksUp(w.process, 20*time.Second)
		})
	}
	w.rest(l.end(), nil)
}

// freezeDatabase stops every session of the product on the server, which stays up otherwise.
func (w *world) freezeDatabase(t *testing.T) {
	t.Helper()
	for _, row := range w.rows("SELECT pid::text FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'") {
		pid := int(number(t, row[0]))
		require.NoError(t, syscall.Kill(pid, syscall.SIGSTOP))
		w.frozen = append(w.frozen, pid)
	}
}

func (w *world) thawDatabase(*testing.T) {
	for _, pid := range w.frozen {
		_ = syscall.Kill(pid, syscall.SIGCONT) // it may have been ended meanwhile
	}
	w.frozen = nil
}

func (w *world) restartDatabase(t *testing.T) {
	t.Helper()
	require.NoError(t, w.pg.Restart(context.Background()))
}
