package simulator

import (
	"container/heap"
	"time"
)

// maxAgenda bounds what a device still means to do; a device with more in hand than this answers busy.
const maxAgenda = 4096

// agenda is what the device will do later, in the order of time and, for equal times, of asking. All of it lives in
// memory: a reboot forgets it, as it does in the field.
type agenda struct {
	entries agendaHeap
	asked   int
}

type agendaEntry struct {
	at    time.Time
	order int
	do    func(now time.Time)
}

func (a *agenda) full() bool { return len(a.entries) >= maxAgenda }

func (a *agenda) add(at time.Time, do func(now time.Time)) {
	a.asked++
	heap.Push(&a.entries, agendaEntry{at: at, order: a.asked, do: do})
}

// next returns when the first entry is due.
func (a *agenda) next() (time.Time, bool) {
	if len(a.entries) == 0 {
		return time.Time{}, false
	}
	return a.entries[0].at, true
}

// takeDue removes the first entry if it is due.
func (a *agenda) takeDue(now time.Time) (func(time.Time), bool) {
	if len(a.entries) == 0 || a.entries[0].at.After(now) {
		return nil, false
	}
	return heap.Pop(&a.entries).(agendaEntry).do, true
}

func (a *agenda) forget() { a.entries = nil }

type agendaHeap []agendaEntry

func (h agendaHeap) Len() int { return len(h) }
func (h agendaHeap) Less(i, j int) bool {
	if !h[i].at.Equal(h[j].at) {
		return h[i].at.Before(h[j].at)
	}
	return h[i].order < h[j].order
}
func (h agendaHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *agendaHeap) Push(x any)   { *h = append(*h, x.(agendaEntry)) }
func (h *agendaHeap) Pop() any {
	old := *h
	last := old[len(old)-1]
	old[len(old)-1] = agendaEntry{}
	*h = old[:len(old)-1]
	return last
}
