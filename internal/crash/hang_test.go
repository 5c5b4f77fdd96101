package crash

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"surehand/internal/embedded/pgproxy"
)

// proves that a COMMIT without an answer on a connection that stays open, as when a host or its network dies
// without a word, is given up in time and settled, whether it was committed or not.
func TestCommitHangs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.run(len(classes), silent)
	for n, c := range []struct {
		action    pgproxy.Action
		committed int
	}{{pgproxy.HangAfter, 1}, {pgproxy.HangBefore, 0}} {
		t.Run(c.action.String(), func(t *testing.T) {
			began := time.Now()
			trap, answered := w.trapFence(t, c.action, n, 1+n)
			until(t, 25*time.Second, "the process decides again", func() bool {
				return w.number("SELECT turn FROM loop_state") > w.turnAtTrap+c.committed
			})
			t.Logf("settled after %s", time.Since(began))
			if c.committed == 0 {
				// The COMMIT arrives after all, long after it was settled as lost: its session is gone, or its fence is.
				t.Logf("the late COMMIT found a session: %t", trap.Release())
			}
			assert.Empty(t, <-answered)
		})
	}
	w.rest(w.trapped, nil)
}
