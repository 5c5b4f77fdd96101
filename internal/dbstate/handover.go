package dbstate

import (
	"slices"
	"strconv"

	"surehand/internal/dbstate/rows"
	"surehand/internal/plant"
)

// taken is a thing that one row has alone and hands over by an update: a place in the cell, a buffer place, a part.
type taken struct{ what, value string }

// takes lists what a part or a slot has; other rows have nothing that passes from row to row by updates.
func takes(r plant.Row) []taken {
	var all []taken
	switch r := r.(type) {
	case *plant.Job:
		if rows.JobOccupies(r) {
			all = append(all, taken{"place", r.Position.String()})
		}
		if r.Open() && r.TempSlotNo != 0 {
			all = append(all, taken{"buffer place", strconv.Itoa(r.TempSlotNo)})
		}
	case *plant.Slot:
		if r.JobID != "" {
			all = append(all, taken{"part", string(r.JobID)})
		}
	}
	return all
}

// moves tells whether a change takes or leaves something. Such changes are written one statement each: PostgreSQL
// checks a unique index row by row within a statement, so a hand-over inside one UPDATE would be refused.
func moves(c plant.Change) bool { return !slices.Equal(takes(c.Before), takes(c.After)) }

// leaveBeforeEnter orders such changes so that a row leaves a thing before another takes it; what does not depend
// on each other keeps its order. Two rows that change places in one batch cannot be ordered: the index refuses
// the batch, and the loop decides its messages one by one.
func leaveBeforeEnter(changes []plant.Change) []plant.Change {
	leaves := map[taken]int{}
	for i, c := range changes {
		for _, t := range takes(c.Before) {
			if !slices.Contains(takes(c.After), t) {
				leaves[t] = i
			}
		}
	}
	ordered := make([]plant.Change, 0, len(changes))
	seen := make([]bool, len(changes))
	var add func(i int)
	add = func(i int) {
		if seen[i] {
			return
		}
		seen[i] = true
		for _, t := range takes(changes[i].After) {
			if before, ok := leaves[t]; ok {
				add(before)
			}
		}
		ordered = append(ordered, changes[i])
	}
	for i := range changes {
		add(i)
	}
	return ordered
}
