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
	for n, action := range []pgproxy.Action{pgproxy.HangAfter, pgproxy.HangBefore} {
		t.Run(action.String(), func(t *testing.T) {
			began := time.Now()
			trap, answered := w.trapFence(t, action, n, 1+n)
			id := w.awaitState(t, serialOf(n), 1+n, "applied")
			t.Logf("settled and applied after %s", time.Since(began))
			if action == pgproxy.HangBefore {
				assert.False(t, trap.Release())
			}
			assert.Empty(t, <-answered)
			assert.Equal(t, 1, copiesOf(w.fleet.Device(serialOf(n)), id))
		})
	}
	w.rest(w.trapped, nil)
}
