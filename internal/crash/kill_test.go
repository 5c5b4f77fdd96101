package crash

import (
	"slices"
	"testing"
	"time"
)

const fleetSize = 20

// proves that a process killed at any moment under load loses nothing, fires nothing twice and claims nothing
// that is not so, and that the next one goes on by itself.
func TestKill(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.run(fleetSize, faulty)
	l := w.startLoad(true)
	var ready []time.Duration
	for n := range *kills {
		if n%4 == 3 { // a life long enough to judge what earlier ones left
			w.moment(4*time.Second, 8*time.Second)
		} else {
			w.moment(10*time.Millisecond, 1500*time.Millisecond)
		}
		w.process.Kill()
		w.seeEnds()
		for w.random.IntN(4) == 0 { // again while it starts
			w.start()
			w.moment(0, 300*time.Millisecond)
			w.process.Kill()
		}
		began := time.Now()
		w.start().Ready(30 * time.Second)
		ready = append(ready, time.Since(began))
	}
	slices.Sort(ready)
	if len(ready) > 0 {
		t.Logf("%d kills, %d starts; ready again after %s (median), %s (p99), %s (worst)", *kills, w.starts,
			ready[len(ready)/2], ready[len(ready)*99/100], ready[len(ready)-1])
	}
	w.rest(l.end(), nil)
}
