package scheduler

import "surehand/internal/term"

// reserve gives parts on the dock their buffer places in one go (C-17): as many as fit when the buffer is quite
// free, later refillBy of them whenever refillAt places are free, or at once when a person asked. No flag says that
// a refill is on: the reserved places are the whole truth, and each is fetched by a move of its own.
func (p *planner) reserve() {
	if p.c.Halt != "" {
		return
	}
	free := p.freePlaces()
	n := 0
	switch {
	case len(free) == p.c.Places:
		n = p.c.Places
	case len(free) >= p.c.RefillAt || p.c.RefillAsked:
		n = p.c.RefillBy
	}
	given := p.give(free, n)
	// Asked while every place is taken: the answer comes with the first free place.
	p.d.RefillDone = p.c.RefillAsked && (given > 0 || !p.anyToFetch())
}

// reserveForIdle fills the free places although they are fewer than refillAt, when nothing is under way and nothing
// can move: parts that are held or wait for a machine keep their places, and without this a few of them would keep
// all other parts out for good.
func (p *planner) reserveForIdle() bool { return p.give(p.freePlaces(), p.c.RefillBy) > 0 }

// give reserves the lowest free places for the first n parts that may be fetched, and tells how many it did.
func (p *planner) give(free []int, n int) (given int) {
	for i := range p.c.Parts {
		if given >= n || given >= len(free) {
			break
		}
		if q := &p.c.Parts[i]; q.fetchable() && q.Home == 0 {
			q.Home = free[given]
			p.d.Reserve = append(p.d.Reserve, Reservation{q.Job, q.Home})
			given++
		}
	}
	return given
}

func (p *planner) anyToFetch() bool {
	for i := range p.c.Parts {
		if q := &p.c.Parts[i]; q.fetchable() && q.Home == 0 {
			return true
		}
	}
	return false
}

// fetchable tells whether a part on the dock may be brought into the cell.
func (p *Part) fetchable() bool {
	return p.State == term.Queued && p.Held == "" && !p.Leaves() && (p.OrderState == term.OrderReady || p.OrderState == term.OrderRunning)
}

// freePlaces lists the buffer places that no part calls its own, lowest first. A part that stands on a place which
// is not its own is a contradiction that a person sorts out: its place counts as taken.
func (p *planner) freePlaces() (free []int) {
	for n := 1; n <= p.c.Places; n++ {
		taken := false
		for i := range p.c.Parts {
			q := &p.c.Parts[i]
			taken = taken || q.Home == n || q.Place.Type == term.OnBuffer && q.Place.Number() == n
		}
		if !taken {
			free = append(free, n)
		}
	}
	return free
}
