package workers_test

import (
	"testing"

	"surehand/internal/plant"
	"surehand/internal/term"
	"surehand/internal/workers"
)

// How an action has ended is told by the equipment's own number, and only when it stands still.
func TestConcluded(t *testing.T) {
	move := plant.Perform{Type: term.TaskMove, ActionNo: 7}
	start := plant.Perform{Type: term.TaskStartMachine, ActionNo: 7}
	mark := plant.Perform{Type: term.TaskMark, ActionNo: 7}
	for _, c := range []struct {
		name string
		p    plant.Perform
		r    term.Reading
		over bool
		want workers.Ending
	}{
		{"another number", move, term.Reading{Echo: 6, Ended: true, PartAt: term.PartAtTo}, false, workers.Ending{}},
		{"begun", move, term.Reading{Echo: 7, Busy: true}, false, workers.Ending{}},
		{"done and still busy", move, term.Reading{Echo: 7, Busy: true, Ended: true, PartAt: term.PartAtTo}, false, workers.Ending{}},
		{"error and still busy", move, term.Reading{Echo: 7, Busy: true, Fault: 5, PartAt: term.PartAtFrom}, false, workers.Ending{}},
		{"done", move, term.Reading{Echo: 7, Ended: true, PartAt: term.PartAtTo}, true, workers.Happened(term.PartAtTo)},
		{"done, and nobody says where", move, term.Reading{Echo: 7, Ended: true}, true, workers.InDoubt("the robot says done and not where the part is")},
		{"error with the part in the gripper", move, term.Reading{Echo: 7, Fault: 5, PartAt: term.PartGripper}, true,
			workers.Ending{Outcome: term.NotDone, PartAt: term.PartGripper, Error: "the robot ended with error 5"}},
		{"started", start, term.Reading{Echo: 7, StartResult: 1, Running: 1}, true, workers.Happened("")},
		{"refused", start, term.Reading{Echo: 7, StartResult: 2}, true, workers.Ending{Outcome: term.NotDone, Error: "the machine refused the start"}},
		{"no result yet", start, term.Reading{Echo: 7}, false, workers.Ending{}},
		{"marked", mark, term.Reading{Echo: 7, Ended: true}, true, workers.Happened(term.PartGripper)},
		{"another mark", mark, term.Reading{Echo: 8, Ended: true}, false, workers.Ending{}},
		{"being marked", mark, term.Reading{Echo: 7, Busy: true}, false, workers.Ending{}},
		{"interrupted", mark, term.Reading{Echo: 7}, false, workers.Ending{}},
		{"the marker failed", mark, term.Reading{Echo: 7, Failed: true}, true,
			workers.Ending{Outcome: term.NotDone, PartAt: term.PartGripper, Error: "the marker says that it failed and did not mark the part"}},
		{"withdrawn", mark, term.Reading{Echo: 7, Void: true}, true,
			workers.Ending{Outcome: term.NotDone, PartAt: term.PartGripper, Unsent: true, Error: "it was withdrawn before the marker began it"}},
	} {
		if e, over := workers.Concluded(c.p, c.r); over != c.over || e != c.want {
			t.Errorf("%s: %+v, %t; want %+v, %t", c.name, e, over, c.want, c.over)
		}
	}
}
