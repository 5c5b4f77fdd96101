// Package observe tells operators and engineers what happened: structured logs of every stage of a command's
// life, and Prometheus metrics. Both are derived from committed turns, so nothing is logged or counted that was
// rolled back.
//
// It owns the choice and the safety of log handlers, the names of the metrics, and Fan, which shows one turn to
// several watchers. It never decides, never writes a row, and never makes the loop wait: logs are written by a
// goroutine of their own behind a bounded queue, and what finds no room is counted and said.
//
// Text that a device or a person sent is untrusted: in every handler it stays inside its own field on its own
// line (handler.go).
package observe

import "surehand/internal/plant"

// Feed takes committed turns. Show never waits.
type Feed interface{ Show(plant.Committed) }

type fan []Feed

// Fan shows every turn to each feed, in the order given.
func Fan(feeds ...Feed) Feed { return fan(feeds) }

func (f fan) Show(c plant.Committed) {
	for _, feed := range f {
		feed.Show(c)
	}
}
