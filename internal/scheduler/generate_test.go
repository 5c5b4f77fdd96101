package scheduler

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"surehand/internal/term"
)

var (
	exit = term.OutPlace(term.OutExit)
	own  = term.BufferPlace(1)
)

func slotOf(s string) term.Place { return term.SlotPlace(term.SlotID(s)) }

// proves C-16: one row for each way that a generator goes, with the move that is decided.
func TestGenerators(t *testing.T) {
	robot := func(generator string, to term.Place) *Move {
		return &Move{Generator: generator, Job: "WO-1.1", Kind: term.TaskMove, By: "robot", To: to}
	}
	at := func(tool term.EquipmentID, kind term.TaskKind) *Move {
		return &Move{Generator: "place", Job: "WO-1.1", Kind: kind, By: tool, To: term.ToolStation(tool)}
	}
	for _, c := range []struct {
		name string
		cell Cell
		want *Move
	}{
		{"the scanner reads the part that is held before it", scene(add(1, "gripper", scan, presented("scanner"))), at("scanner", term.TaskScan)},
		{"the marker marks", scene(add(1, "gripper", mark, presented("marker"))), at("marker", term.TaskMark)},
		{"a tool that is out: the part goes home", scene(add(1, "gripper", scan, presented("scanner")), broken("scanner", "scanner is OFFLINE")), robot("place", own)},
		{"before the wrong tool: home, and from there to the right one", scene(add(1, "gripper", mark, presented("scanner"))), robot("place", own)},
		{"after the scan to the next machine", scene(add(1, "gripper", milling, presented("scanner"))), robot("place", slotOf("mill-1:1"))},
		{"the next machine is full: home", scene(add(1, "gripper", turning), add(2, "lathe:1 started", turning)), robot("place", own)},
		{"from the gripper out, route done", scene(add(1, "gripper", done)), robot("place", exit)},
		{"from the gripper out, scrapped", scene(add(1, "gripper", turning, scrapped)), robot("place", exit)},
		{"put aside in the gripper: home", scene(add(1, "gripper", done, asideOf)), robot("place", own)},
		{"put aside before the tool: home", scene(add(1, "gripper", scan, presented("scanner"), asideOf)), robot("place", own)},
		{"the cell is paused: home", scene(add(1, "gripper", milling), halted("cell is paused", true)), robot("place", own)},
		{"the cell is paused: out, when it is ready", scene(add(1, "gripper", done), halted("cell is paused", true)), robot("place", exit)},
		{"the cell is not compared: the gripper stays as it is", scene(add(1, "gripper", done), halted("recovery", false)), nil},
		{"a question about the part in the gripper", scene(add(1, "gripper", done, held("question"))), nil},

		{"unload home, next machines are full", scene(add(1, "lathe:1", milling), add(2, "mill-1:1 started", milling), add(3, "mill-2:1 started", milling)), robot("unload", own)},
		{"unload to the exit", scene(add(1, "oven:1", done)), robot("unload", exit)},
		{"unload what is put aside", scene(add(1, "oven:1", done, asideOf)), robot("unload", own)},
		{"put aside, and the plant keeps it in the machine", scene(keepPaused, add(1, "oven:1", done, asideOf)), nil},
		{"a swap: another part waits for the slot", scene(add(1, "lathe:1", done), add(2, "buffer", turning)), robot("swap", exit)},
		{"no swap: who waits is put aside", scene(add(1, "lathe:1", done), add(2, "buffer", turning, asideOf)), robot("unload", exit)},
		{"no swap: the oven is not empty with it", scene(add(1, "oven:1", done), add(2, "oven:2", done), add(3, "buffer", heat)), robot("unload", exit)},
		{"a swap of an oven: its last finished part", scene(add(1, "oven:1", done), add(2, "buffer", heat)), robot("swap", exit)},
		{"transfer", scene(add(1, "mill-1:1", heat)), robot("transfer", slotOf("oven:1"))},
		{"load", scene(add(1, "buffer", turning)), robot("load", slotOf("lathe:1"))},
		{"load the machine of the group that is free", scene(add(1, "buffer", milling), add(2, "mill-1:1 started", milling)), robot("load", slotOf("mill-2:1"))},
		{"refill", scene(add(1, "dock", turning)), robot("refill", own)},
		{"to the tool from the buffer", scene(add(1, "buffer", scan)), robot("tool", term.ToolStation("scanner"))},
		{"to the tool from the machine", scene(add(1, "lathe:1", scan)), robot("tool", term.ToolStation("scanner"))},
		{"the tool is out: unload home", scene(add(1, "lathe:1", scan), broken("scanner", "scanner is OFFLINE")), robot("unload", own)},
		{"retire from the buffer, route done", scene(add(1, "buffer", done)), robot("retire", exit)},
		{"retire from the buffer, cancelled", scene(add(1, "buffer", turning, cancelled, inOrder(term.OrderStopping))), robot("retire", exit)},
		{"retire from the machine", scene(add(1, "lathe:1", milling, cancelled, inOrder(term.OrderStopping))), robot("retire", exit)},
		{"a stopping order's part that is finished by the rule", scene(add(1, "buffer", turning, inOrder(term.OrderStopping))), robot("load", slotOf("lathe:1"))},
		{"nobody moves what waits for a judgement", scene(add(1, "oven:1", heat, func(p *Part) { p.State = term.WaitingJudgement })), nil},
		{"nobody moves what is worked on", scene(add(1, "lathe:1 started", turning)), nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := Plan(c.cell)
			require.Equal(t, c.want, d.Move, d.Explain.Why)
			if c.want == nil {
				require.Equal(t, -1, d.Explain.Chosen)
				require.NotEmpty(t, d.Wait)
				return
			}
			require.Empty(t, d.Wait)
			k := d.Explain.Candidates[d.Explain.Chosen]
			require.Equal(t, term.PlanCandidate{Generator: c.want.Generator, Job: c.want.Job, From: c.cell.job("WO-1.1").Place, To: c.want.To}, k)
			require.Equal(t, k.Generator == "swap", strings.HasSuffix(d.Explain.Why, ", and WO-1.2 waits for the slot"), d.Explain.Why)
			require.True(t, strings.HasPrefix(d.Explain.Why, c.want.Generator+": WO-1.1 goes from "), d.Explain.Why)
		})
	}
}

// proves C-16: one row for each thing that forbids a move, with the words that a person reads.
func TestFilters(t *testing.T) {
	question := "question open about equipment:lathe"
	for _, c := range []struct {
		name      string
		cell      Cell
		generator string // of WO-1.1
		reason    string
	}{
		{"cell", scene(add(1, "buffer", turning), halted("cell is paused", true)), "load", "cell is paused"},
		{"stopping", scene(add(1, "lathe:1", done), halted("surehand is stopping", true)), "unload", "surehand is stopping"},
		{"robot busy", scene(add(1, "buffer", turning), busy), "load", "robot is busy with WO-9.1"},
		{"robot out", scene(add(1, "buffer", turning), broken("robot", "robot is OFFLINE")), "load", "robot is OFFLINE"},
		{"gripper", scene(add(1, "buffer", turning), add(2, "gripper", done, held("question open about job:WO-1.2"))), "load", "robot holds WO-1.2"},
		{"two in the gripper", scene(add(1, "gripper", done), add(2, "gripper", done)), "place", "robot holds WO-1.2"},
		{"draft", scene(add(1, "buffer", turning, inOrder(term.OrderDraft))), "load", "order WO-1 is draft"},
		{"suspended", scene(add(1, "buffer", turning, asideOf)), "load", "WO-1.1 is suspended"},
		{"suspended on the dock", scene(add(1, "dock", turning, asideOf)), "refill", "WO-1.1 is suspended"},
		{"suspended, ready to leave", scene(add(1, "buffer", done, asideOf)), "retire", "WO-1.1 is suspended"},
		{"suspended in the machine that keeps it", scene(keepPaused, add(1, "lathe:1", milling, asideOf)), "unload", "WO-1.1 is suspended"},
		{"question about the part", scene(add(1, "lathe:1", done, held("question open about job:WO-1.1"))), "unload", "question open about job:WO-1.1"},
		{"question about where it is", scene(add(1, "lathe:1", done), broken("lathe", question)), "unload", question},
		{"question about where it goes", scene(add(1, "buffer", turning), broken("lathe", question)), "load", question},
		{"stopping order's part on the dock", scene(add(1, "dock", turning, inOrder(term.OrderStopping))), "refill", "order WO-1 is stopping"},
		{"cancelled on the dock", scene(add(1, "dock", turning, cancelled)), "refill", "WO-1.1 is to leave with its pallet"},
		{"no place yet", scene(add(1, "dock", turning, homeless, held("x"))), "refill", "x"},
		{"machine out", scene(add(1, "buffer", turning), broken("lathe", "lathe is OFFLINE")), "load", "lathe is OFFLINE"},
		{"machine full", scene(add(1, "buffer", turning), add(2, "lathe:1 started", turning)), "load", "no free slot in lathe"},
		{"group full", scene(add(1, "buffer", milling), add(2, "mill-1:1 started", milling), add(3, "mill-2:1 started", milling)), "load", "no free slot in group milling"},
		{"group gone", scene(add(1, "buffer", turning), func(c *Cell) { c.Machines = c.Machines[1:] }), "load", "no machine in group turning"},
		{"latch", scene(add(1, "buffer", turning), latched("lathe")), "load", "done of the last cycle not over at lathe"},
		{"batch runs", scene(add(1, "buffer", heat), add(2, "oven:2 started", heat)), "load", "batch machine oven is running"},
		{"batch starts", scene(add(1, "buffer", heat), add(2, "oven:2 loaded", heat), starting("oven")), "load", "batch machine oven is being started"},
		{"batch not emptied", scene(add(1, "buffer", heat), add(2, "oven:2", done, held("x"))), "load", "oven still holds finished parts"},
		{"batch of another program", scene(add(1, "buffer", heat, otherProgram), add(2, "oven:2 loaded", heat), add(3, "buffer", heat, asideOf), add(4, "buffer", milling)), "load", "oven is being filled for program 3"},
		{"batch of another program, held", scene(add(1, "buffer", heat, otherProgram), add(2, "oven:2 loaded", heat, asideOf)), "load", "oven is being filled for program 3"},
		{"door", scene(add(1, "buffer", turning), func(c *Cell) { c.find("lathe").Slots[0].Closed = true }), "load", "lathe:1 is not open for the robot"},
		{"door of the source", scene(add(1, "lathe:1", done), func(c *Cell) { c.find("lathe").Slots[0].Closed = true }), "unload", "lathe:1 is not open for the robot"},
		{"a part that the record does not have", scene(add(1, "buffer", turning), func(c *Cell) { c.find("lathe").Slots[0].Foreign = true }), "load", "lathe reports a part in lathe:1"},
		{"a part that the slot does not have", scene(add(1, "buffer", turning), add(2, "lathe:1", done, held("x")), func(c *Cell) { c.find("lathe").Slots[0] = Slot{Number: 1, State: term.SlotEmpty} }), "load", "WO-1.2 is in lathe:1 by the record"},
		{"a slot that does not have the part", scene(add(1, "lathe:1", done), func(c *Cell) { c.find("lathe").Slots[0] = Slot{Number: 1, State: term.SlotEmpty} }), "unload", `lathe:1 is EMPTY with "" in the record`},
		{"own place taken", scene(add(1, "gripper", turning), add(2, "buffer", turning, held("x"), func(p *Part) { p.Place = own }), broken("lathe", "x")), "place", "WO-1.2 is on buffer place 1"},
		{"own place beyond the buffer", scene(add(1, "dock", turning, func(p *Part) { p.Home = 9 })), "refill", "buffer place 9 is not in the plant file"},
		{"no place of its own", scene(add(1, "buffer", turning, homeless)), "load", "WO-1.1 has no buffer place of its own"},
		{"tool out", scene(add(1, "buffer", scan), broken("scanner", "scanner is not reached")), "tool", "scanner is not reached"},
		{"no tool", scene(add(1, "buffer", scan), func(c *Cell) { c.Tools = nil }), "tool", "no scan tool in group scan"},
		{"goes on directly", scene(add(1, "mill-1:1", heat)), "unload", "can go on directly to oven:1"},
		{"machine gone", scene(add(1, "lathe:1", done), func(c *Cell) { c.Machines = c.Machines[1:] }), "unload", "lathe is not in the plant file"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := Plan(c.cell)
			for _, k := range d.Explain.Candidates {
				if k.Job == "WO-1.1" && k.Generator == c.generator {
					require.Equal(t, c.reason, k.Reason)
					return
				}
			}
			t.Fatalf("no such candidate: %+v", d.Explain.Candidates)
		})
	}
}

func otherProgram(p *Part) {
	p.Steps = append([]term.Step(nil), p.Steps...)
	p.Steps[heat].Program = 4
}

// proves C-16: the first of several moves, one pair after the other.
func TestPolicy(t *testing.T) {
	full := broken("oven", "oven is OFFLINE")
	older := func(p *Part) { p.Created = longAgo }
	for _, c := range []struct {
		name string
		cell Cell
		want string // generator and part
	}{
		{"place before all", scene(add(1, "lathe:1", done), add(2, "gripper", done), add(3, "buffer", turning)), "place WO-1.2"},
		{"swap before transfer", scene(add(1, "mill-1:1", heat), add(2, "lathe:1", done), add(3, "buffer", turning)), "swap WO-1.2"},
		{"transfer before unload", scene(add(1, "lathe:1", done), add(2, "mill-1:1", heat)), "transfer WO-1.2"},
		{"a tool step from a slot before unload", scene(add(1, "mill-1:1", done), add(2, "lathe:1", scan)), "tool WO-1.2"},
		{"unload before load", scene(full, add(1, "buffer", turning), add(2, "mill-1:1", heat)), "unload WO-1.2"},
		{"retire from a slot before load", scene(add(1, "buffer", turning), add(2, "mill-1:1", heat, scrapped)), "retire WO-1.2"},
		{"load before tool", scene(add(1, "buffer", scan), add(2, "buffer", turning)), "load WO-1.2"},
		{"tool before retire", scene(add(1, "buffer", done), add(2, "buffer", scan)), "tool WO-1.2"},
		{"retire before refill", scene(add(1, "dock", turning), add(2, "buffer", done)), "retire WO-1.2"},
		{"the higher priority", scene(add(1, "buffer", turning), add(2, "buffer", turning, urgent)), "load WO-1.2"},
		{"the older order", scene(add(1, "buffer", turning), add(2, "buffer", turning, older)), "load WO-1.2"},
		{"the order's name", scene(add(1, "buffer", turning, func(p *Part) { p.Order = "WO-2" }), add(2, "buffer", turning)), "load WO-1.2"},
		{"the part's number, as a number", scene(add(10, "dock", turning), add(9, "dock", turning), func(c *Cell) { c.Places = 10 }), "refill WO-1.9"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := Plan(c.cell)
			require.NotNil(t, d.Move, d.Wait)
			require.Equal(t, c.want, d.Move.Generator+" "+string(d.Move.Job))
		})
	}
}
