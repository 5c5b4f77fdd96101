// Package scheduler decides what the cell does next, and says why.
//
// Look takes a small picture of the cell (Cell). Plan makes one Decision of it: at most one move of the robot, the
// machines to start, the buffer places to reserve, and when to look again. Both are pure: the same cell gives the
// same decision, in whatever order its parts were listed, so a search may copy a Cell and step it.
//
// Reading order: cell.go, look.go, plan.go, then in the order in which Plan uses them refill.go (C-17), start.go
// (when machines begin), generate.go (which moves there are), filter.go (what forbids one), policy.go (which is the
// best), explain.go (the words for people).
//
// It never changes the picture, never reads a clock, and knows nothing of how a decision is carried out. What it
// proposes must be legal by package plant: a target that holds a part is never proposed (invariant 8), and a part
// keeps its own buffer place until it has left, which is why the cell cannot lock itself up (C-11).
package scheduler
