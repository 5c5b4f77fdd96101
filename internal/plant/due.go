package plant

import (
	"cmp"
	"slices"
	"time"
)

// Due is a timer: the due time of an open row. It is derived from the row and carries the row's version,
// so that a message about an older version of the row changes nothing.
type Due struct {
	At      time.Time
	Kind    Kind
	Key     string
	Version int64
}

func (d Due) before(o Due) bool { return compareDue(d, o) < 0 }

func compareDue(d, o Due) int {
	return cmp.Or(d.At.Compare(o.At), cmp.Compare(d.Kind, o.Kind), cmp.Compare(d.Key, o.Key))
}

type dueID struct {
	kind Kind
	key  string
}

// dueHeap is a binary heap with a position index, so that a due time is replaced or dropped in place and
// the heap never holds more than one entry a row. Equal times are ordered by kind and key.
type dueHeap struct {
	items []Due
	at    map[dueID]int
}

func newDueHeap() dueHeap { return dueHeap{at: map[dueID]int{}} }

func (h *dueHeap) first() (Due, bool) {
	if len(h.items) == 0 {
		return Due{}, false
	}
	return h.items[0], true
}

// set puts or replaces the due time of a row; a zero time takes it out.
func (h *dueHeap) set(d Due) {
	if d.At.IsZero() {
		h.drop(d.Kind, d.Key)
		return
	}
	id := dueID{d.Kind, d.Key}
	i, ok := h.at[id]
	if !ok {
		i = len(h.items)
		h.items = append(h.items, d)
		h.at[id] = i
	} else {
		h.items[i] = d
	}
	h.down(h.up(i))
}

func (h *dueHeap) drop(kind Kind, key string) {
	id := dueID{kind, key}
	i, ok := h.at[id]
	if !ok {
		return
	}
	last := len(h.items) - 1
	h.swap(i, last)
	h.items = h.items[:last]
	delete(h.at, id)
	if i < last {
		h.down(h.up(i))
	}
}

func (h *dueHeap) up(i int) int {
	for i > 0 {
		parent := (i - 1) / 2
		if !h.items[i].before(h.items[parent]) {
			break
		}
		h.swap(i, parent)
		i = parent
	}
	return i
}

func (h *dueHeap) down(i int) {
	for {
		child := 2*i + 1
		if child >= len(h.items) {
			return
		}
		if r := child + 1; r < len(h.items) && h.items[r].before(h.items[child]) {
			child = r
		}
		if !h.items[child].before(h.items[i]) {
			return
		}
		h.swap(i, child)
		i = child
	}
}

func (h *dueHeap) swap(i, j int) {
	h.items[i], h.items[j] = h.items[j], h.items[i]
	h.at[dueID{h.items[i].Kind, h.items[i].Key}] = i
	h.at[dueID{h.items[j].Kind, h.items[j].Key}] = j
}

func (h *dueHeap) sorted() []Due { return slices.SortedFunc(slices.Values(h.items), compareDue) }
