package scheduler

import (
	"cmp"
	"slices"

	"surehand/internal/term"
)

// Policy is the name of the rules below, kept with each plan.
const Policy = "priority"

// class orders moves by what they set free, best first:
//
//	0 place     the gripper: nothing else can happen before
//	1 swap      a machine that has work waiting: it stands still until the finished part is out
//	2 transfer  two machines with one move: one is emptied, one gets work. A tool step from a slot is the same
//	3 unload    a machine, for what comes later; also a part that is to leave, from a slot
//	4 load      gives a machine work
//	5 tool      prepares the next load
//	6 retire    a buffer place
//	7 refill    only brings work in
//
// Unload before load is the "reverse cycle": optimal while machines are the bottleneck (anchors, cell-control § 5).
//
// Nothing starves within the cell. Between two cycles of machines a part moves a bounded number of times: out of the
// slot, to a tool and back, into a slot. With a full buffer these moves run out unless machines need them, and what
// they bring about is that parts leave; so class 6 and 7 get their turn. That refill is last keeps the robot at the
// machines, which live on the buffer meanwhile. Within a class the parts that go first are bounded in number, for
// each comes nearer to its end with every move. Between orders, a lower priority waits as long as a higher one has
// work: that is what the word means, and as all keep their places it cannot lock the cell up.
func class(k *candidate) int {
	slot := k.from.Type == term.OnEquipment
	switch k.move.Generator {
	case "place":
		return 0
	case "swap":
		return 1
	case "transfer":
		return 2
	case "unload":
		return 3
	case "load":
		return 4
	case "tool":
		if slot {
			return 2
		}
		return 5
	case "retire":
		if slot {
			return 3
		}
		return 6
	}
	return 7
}

// rank sorts the candidates best first, whether they may be done or not. Ties: the part that goes first, then place.
func (p *planner) rank() {
	slices.SortStableFunc(p.found, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(class(&a), class(&b)), before(a.part, b.part), cmp.Compare(a.from.String(), b.from.String()),
			cmp.Compare(a.move.To.String(), b.move.To.String()), cmp.Compare(a.move.Generator, b.move.Generator))
	})
}
