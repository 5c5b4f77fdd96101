package crash

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"surehand/internal/simulator"
)

// autosave is how old the state on the broker's disk may be, with a second for writing it.
const autosave = 6 * time.Second

// proves that a broker killed at any moment under load loses nothing that we acknowledged, and that every
// command ends or is said to be uncertain; also when the broker comes back without any state.
func TestBrokerKilled(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.run(fleetSize, faulty)
	l := w.startLoad(true)
	wiped := w.random.IntN(max(1, *brokerKills))
	type gap struct{ from, to time.Time }
	var gaps []gap
	for n := range *brokerKills {
		w.moment(autosave, autosave+1500*time.Millisecond) // our sessions are on its disk by then
		w.seeEnds()
		lost := gap{from: time.Now().Add(-autosave)}
		require.NoError(t, w.broker.Kill())
		w.moment(0, 1500*time.Millisecond)
		lost.to = time.Now()
		if n == wiped {
			require.NoError(t, w.broker.RestartEmpty(context.Background()))
			w.linksUp(w.process, 20*time.Second) // nobody kept anything for us before
			lost.to = time.Now()
		} else {
			require.NoError(t, w.broker.Restart(context.Background()))
			w.linksUp(w.process, 20*time.Second)
		}
		gaps = append(gaps, lost)
	}
	t.Logf("the broker was killed %d times, and lost its state the time number %d", *brokerKills, wiped+1)
	w.rest(l.end(), func(r simulator.ReadingTruth) bool {
		for _, g := range gaps {
			if r.TS.After(g.from) && r.TS.Before(g.to) {
				return true
			}
		}
		return false
	})
}
