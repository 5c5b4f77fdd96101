package line

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

func one(m *Machine) Cycle {
	t := m.w.Truth()
	return t.Cycles[len(t.Cycles)-1]
}

// A whole cycle with its handshake, honest and under each fault that still ends in done.
func TestMachineCycle(t *testing.T) {
	for _, c := range []struct {
		name, machine, parts string
		faults               MachineFaults
		bad                  string
		slot, program        uint16
		running, done, after string // status after the echo
	}{
		{"single", "mill", "a@40", MachineFaults{}, "", 1, 7,
			"state=2 running=001 done=0 slot=0 cycle=0 occupied=001 fault=0 pass=0 result=1 ready=000",
			"state=3 running=000 done=1 slot=1 cycle=1 occupied=001 fault=0 pass=0 result=1 ready=001",
			"state=1 running=000 done=0 slot=1 cycle=1 occupied=001 fault=0 pass=0 result=1 ready=001"},
		{"one of three slots", "lathe", "a@51 b@52", MachineFaults{}, "", 2, 1,
			"state=2 running=010 done=0 slot=0 cycle=0 occupied=110 fault=0 pass=0 result=1 ready=101",
			"state=3 running=000 done=1 slot=2 cycle=1 occupied=110 fault=0 pass=0 result=1 ready=111",
			"state=1 running=000 done=0 slot=2 cycle=1 occupied=110 fault=0 pass=0 result=1 ready=111"},
		{"batch", "oven", "a@60 b@62", MachineFaults{}, "", 0, 1,
			"state=2 running=101 done=0 slot=0 cycle=0 occupied=101 fault=0 pass=0 result=1 ready=000",
			"state=3 running=000 done=1 slot=0 cycle=1 occupied=101 fault=0 pass=0 result=1 ready=111",
			"state=1 running=000 done=0 slot=0 cycle=1 occupied=101 fault=0 pass=0 result=1 ready=111"},
		{"pass", "gauge", "a@70", MachineFaults{}, "", 1, 1,
			"state=2 running=001 done=0 slot=0 cycle=0 occupied=001 fault=0 pass=0 result=1 ready=000",
			"state=3 running=000 done=1 slot=1 cycle=1 occupied=001 fault=0 pass=1 result=1 ready=001",
			"state=1 running=000 done=0 slot=1 cycle=1 occupied=001 fault=0 pass=1 result=1 ready=001"},
		{"fail", "gauge", "a@70", MachineFaults{}, "a", 1, 1, "",
			"state=3 running=000 done=1 slot=1 cycle=1 occupied=001 fault=0 pass=2 result=1 ready=001", ""},
		{"fail whatever it is", "gauge", "a@70", MachineFaults{FailPart: 1}, "", 1, 1, "",
			"state=3 running=000 done=1 slot=1 cycle=1 occupied=001 fault=0 pass=2 result=1 ready=001", ""},
		{"stuck counter", "mill", "a@40", MachineFaults{StuckCounter: 1}, "", 1, 8, "",
			"state=3 running=000 done=1 slot=1 cycle=0 occupied=001 fault=0 pass=0 result=1 ready=001", ""},
		{"slow", "mill", "a@40", MachineFaults{Slow: 1, SlowBy: time.Millisecond}, "", 1, 8, "",
			"state=3 running=000 done=1 slot=1 cycle=1 occupied=001 fault=0 pass=0 result=1 ready=001", ""},
		{"sensor inverted", "lathe", "a@50", MachineFaults{OccupiedInverted: 0b011}, "", 1, 1, "",
			"state=3 running=000 done=1 slot=1 cycle=1 occupied=010 fault=0 pass=0 result=1 ready=111", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := cell(t, nil)
			put(t, w, c.parts)
			if c.bad != "" {
				if err := w.MarkBad(c.bad, true); err != nil {
					t.Fatal(err)
				}
			}
			m := w.Machine(c.machine)
			if c.running != "" {
				c.faults.NeverFinish = 1 // until Finish
			}
			m.SetFaults(c.faults)
			p := dial(t, &m.Controller, patience)
			p.command(33, c.slot, c.program)
			if c.running != "" {
				equal(t, "running", p.machine(p.status()), "echo=33 "+c.running)
				equal(t, "finish", m.Finish(int(c.slot)), true)
			}
			equal(t, "done", p.machine(p.untilDone()), "echo=33 "+c.done)
			p.write(4, 0)
			p.acknowledge()
			if c.after != "" {
				equal(t, "after", p.machine(p.status()), "echo=33 "+c.after)
			}
			got := one(m)
			equal(t, "truth", []any{got.Outcome, got.Raised, w.Truth().Started[c.machine][33], violations(w)}, []any{Done, 1, 1, ""})
			for _, id := range got.Parts {
				if steps := w.Truth().Parts[id].Steps; !steps[len(steps)-1].Worked {
					t.Fatalf("%s was not worked on: %v", id, steps)
				}
			}
		})
	}
}

// Slots end one by one; the next done comes only after the last was taken off and done_ack is 0 again.
func TestMachineShowsOneDoneAfterTheOther(t *testing.T) {
	w := cell(t, nil)
	put(t, w, "a@50 b@51 c@52")
	m := w.Machine("lathe")
	m.SetFaults(MachineFaults{NeverFinish: 1})
	p := dial(t, &m.Controller, patience)
	for slot := uint16(1); slot <= 3; slot++ {
		p.command(uint32(slot), slot, 1)
	}
	equal(t, "running", p.status()[3], uint16(0b111))
	for _, slot := range []int{3, 1, 2} {
		m.Finish(slot)
	}
	for i, slot := range []uint16{3, 1, 2} {
		s := p.untilDone()
		equal(t, "done", []any{s[5], p.number(s[6:])}, []any{slot, uint32(i + 1)})
		p.command(uint32(10+i), slot, 1) // its part has not been unloaded yet
		equal(t, "refused", p.status()[12], uint16(2))
		p.write(5, 1)
		for range 20 {
			equal(t, "no next done before done_ack is 0", p.status()[4], uint16(0))
		}
		p.write(5, 0)
	}
	equal(t, "idle", p.status()[2], uint16(1))
}

// Starts that start nothing, and what start_result says about them.
func TestMachineRefusals(t *testing.T) {
	for _, c := range []struct {
		name, machine string
		no            uint32
		slot, program uint16
		prepare       func(m *Machine, p *peer)
		result        uint16
		reason        string
	}{
		{"same number", "mill", 5, 1, 7, nil, 0, "not newer than 5"},
		{"lost", "mill", 6, 1, 7, func(m *Machine, _ *peer) { m.SetFaults(MachineFaults{LoseStart: 1}) }, 0, "lost"},
		{"told to refuse", "mill", 6, 1, 7, func(m *Machine, _ *peer) { m.SetFaults(MachineFaults{RefuseStart: 1}) }, 2, "refused"},
		{"not ready", "mill", 6, 1, 7, func(m *Machine, _ *peer) { m.SetReady(false) }, 2, "not ready"},
		{"fault", "mill", 6, 1, 7, func(m *Machine, _ *peer) { m.Fail(12) }, 2, "in fault 12"},
		{"no such slot", "mill", 6, 2, 7, nil, 2, "no slot 2"},
		{"no such program", "mill", 6, 1, 9, nil, 2, "no program 9"},
		{"slot of a batch", "oven", 6, 1, 7, nil, 2, "no slot 1"},
		{"all of no batch", "lathe", 6, 0, 7, nil, 2, "no slot 0"},
		{"running", "mill", 7, 1, 7, func(m *Machine, p *peer) {
			m.SetFaults(MachineFaults{NeverFinish: 1})
			p.command(6, 1, 7)
		}, 2, "slot 1 is running"},
		{"done", "mill", 7, 1, 7, func(_ *Machine, p *peer) {
			p.command(6, 1, 8)
			p.untilDone()
		}, 2, "slot 1 is done and not acknowledged"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := cell(t, func(o *Options) {
				for i := range o.Machines {
					o.Machines[i].Modbus.Echo = 5
				}
			})
			put(t, w, "a@40 b@50 c@60")
			m := w.Machine(c.machine)
			p := dial(t, &m.Controller, patience)
			if c.prepare != nil {
				c.prepare(m, p)
			}
			p.command(c.no, c.slot, c.program)
			i := w.Truth().Ignored
			equal(t, "refused", []any{p.status()[12], len(i), i[0].No, i[0].Reason, w.Truth().Started[c.machine][c.no]},
				[]any{c.result, 1, c.no, c.reason, 0})
		})
	}
}

// Faults of the done signal, as a client sees them: done taken off, and what done shows afterwards.
func TestMachineDoneFaults(t *testing.T) {
	start := func(t *testing.T, f MachineFaults) (*World, *Machine, *peer) {
		w := cell(t, nil)
		put(t, w, "a@40")
		m := w.Machine("mill")
		m.SetFaults(f)
		p := dial(t, &m.Controller, patience)
		p.command(1, 1, 8)
		p.untilDone()
		return w, m, p
	}
	t.Run("stale", func(t *testing.T) {
		_, m, p := start(t, MachineFaults{StaleDone: true})
		p.write(5, 1)
		for range 20 {
			equal(t, "still done", p.status()[4], uint16(1))
		}
		p.write(5, 0)
		equal(t, "even so", p.status()[4], uint16(1))
		m.SetFaults(MachineFaults{})
		p.acknowledge()
		equal(t, "raised", one(m).Raised, 1)
	})
	t.Run("double", func(t *testing.T) {
		_, m, p := start(t, MachineFaults{DoubleDone: 1})
		p.acknowledge()
		s := p.untilDone()
		equal(t, "again", []any{p.number(s[6:]), s[5], one(m).Raised}, []any{uint32(1), uint16(1), 2})
		p.acknowledge()
		equal(t, "no third", p.status()[4], uint16(0))
	})
	t.Run("flicker", func(t *testing.T) {
		w, _, p := start(t, MachineFaults{FlickerDone: 1})
		await(t, w, "raised twice", func(t Truth) bool { return t.Cycles[0].Raised == 2 })
		s := p.status()
		equal(t, "done, same cycle", []any{s[4], p.number(s[6:])}, []any{uint16(1), uint32(1)})
		p.acknowledge()
	})
	t.Run("flicker, acknowledged before it falls", func(t *testing.T) {
		_, m, p := start(t, MachineFaults{FlickerDone: 1, FlickerAfter: time.Hour})
		p.acknowledge()
		equal(t, "raised", one(m).Raised, 1)
	})
}

func TestMachineFaultAndFreeze(t *testing.T) {
	t.Run("fault at the end of the cycle", func(t *testing.T) {
		w := cell(t, nil)
		put(t, w, "a@40")
		m := w.Machine("mill")
		m.SetFaults(MachineFaults{FaultInCycle: 1})
		p := dial(t, &m.Controller, patience)
		p.command(1, 1, 7)
		s := p.until("fault", func(s []uint16) bool { return s[2] == 4 })
		equal(t, "fault", p.machine(s), "echo=1 state=4 running=000 done=0 slot=0 cycle=0 occupied=001 fault=9 pass=0 result=1 ready=000")
		equal(t, "truth", []any{one(m).Outcome, w.Truth().Parts["a"].Route()}, []any{Abandoned, "40"})
		m.ClearFault()
		equal(t, "cleared", p.status()[2], uint16(1))
	})
	t.Run("frozen", func(t *testing.T) {
		w := cell(t, func(o *Options) { o.Machines[0].Modbus.HeartbeatEvery = time.Millisecond })
		put(t, w, "a@40")
		m := w.Machine("mill")
		m.SetFaults(MachineFaults{NeverFinish: 1})
		p := dial(t, &m.Controller, patience)
		p.command(1, 1, 7)
		m.Freeze()
		m.Finish(1)
		frozen := p.status()
		for range 50 {
			equal(t, "frozen", p.status(), frozen)
		}
		m.Thaw()
		equal(t, "done late", p.untilDone()[4], uint16(1))
		m.SetFaults(MachineFaults{HeartbeatStopped: true})
		for range 50 {
			equal(t, "heartbeat", p.status()[10], uint16(0))
		}
	})
	t.Run("occupied flaps", func(t *testing.T) {
		w := cell(t, nil)
		m := w.Machine("mill")
		m.SetFaults(MachineFaults{OccupiedFlaps: 1})
		p := dial(t, &m.Controller, patience)
		var seen []uint16
		for range 4 {
			seen = append(seen, p.status()[8])
		}
		slices.Sort(seen)
		equal(t, "seen", seen, []uint16{0, 0, 1, 1})
	})
}

// A PLC that was restarted, with and without its memory, running and done; then the same start once more.
func TestMachineRestart(t *testing.T) {
	for _, c := range []struct {
		name   string
		done   bool
		forget []Memory
		after  string
		again  int
		broken string
	}{
		{"running", false, nil, "echo=4 state=1 running=000 done=0 slot=0 cycle=0 occupied=001 fault=0 pass=0 result=1 ready=001", 1, ""},
		{"running, echo forgotten", false, []Memory{ForgetEcho}, "echo=0 state=1 running=000 done=0 slot=0 cycle=0 occupied=001 fault=0 pass=0 result=0 ready=001", 2, string(StartTwice)},
		{"done", true, nil, "echo=4 state=3 running=000 done=1 slot=1 cycle=1 occupied=001 fault=0 pass=0 result=1 ready=001", 1, ""},
		{"done, all forgotten", true, []Memory{ForgetEcho, ForgetDone, ForgetCounter}, "echo=0 state=1 running=000 done=0 slot=1 cycle=0 occupied=001 fault=0 pass=0 result=0 ready=001", 2, string(StartTwice)},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := cell(t, nil)
			put(t, w, "a@40")
			m := w.Machine("mill")
			p := dial(t, &m.Controller, patience)
			m.SetFaults(MachineFaults{NeverFinish: 1})
			p.command(4, 1, 7)
			if c.done {
				m.Finish(1)
				p.untilDone()
			}
			if err := m.Restart(c.forget...); err != nil {
				t.Fatal(err)
			}
			p = dial(t, &m.Controller, patience)
			equal(t, "after", p.machine(p.status()), c.after)
			p.command(4, 1, 7)
			equal(t, "again", []any{w.Truth().Started["mill"][4], violations(w)}, []any{c.again, c.broken})
		})
	}
}

// What a machine and a robot can do wrong together.
func TestMachineViolations(t *testing.T) {
	for _, c := range []struct {
		name, machine, parts string
		slot                 uint16
		from, to             uint16 // of a move while it runs; 0: none
		violations           string
		where                string
	}{
		{"started empty", "mill", "", 1, 0, 0, string(StartedEmpty), ""},
		{"started empty slot", "lathe", "a@50", 2, 0, 0, string(StartedEmpty), "a@50"},
		{"empty batch", "oven", "", 0, 0, 0, string(StartedEmpty), ""},
		{"picked in process", "mill", "a@40", 1, 40, 11, string(PickInProcess), "a@11"},
		{"picked from a batch in process", "oven", "a@60 b@61", 0, 61, 11, string(PickInProcess), "a@60 b@11"},
		{"loaded into a batch in process", "oven", "a@60 b@1", 0, 1, 62, string(LoadInProcess), "a@60 b@62"},
		{"loaded onto another in process", "mill", "a@40 b@1", 1, 1, 40, string(PlaceOntoOccupied), "a@40 b@gripper"},
		{"the other slot may be loaded", "lathe", "a@50 b@1", 1, 1, 51, "", "a@50 b@51"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := cell(t, nil)
			put(t, w, c.parts)
			m := w.Machine(c.machine)
			m.SetFaults(MachineFaults{NeverFinish: 1})
			dial(t, &m.Controller, patience).command(1, c.slot, 7)
			if c.from != 0 {
				r := dial(t, &w.Robot().Controller, patience)
				r.command(1, 1, c.from, c.to)
				r.settled()
			}
			equal(t, "violations", violations(w), c.violations)
			equal(t, "parts", where(w), c.where)
			m.Finish(int(c.slot))
			for _, p := range w.Truth().Parts {
				if p.ID == "b" && p.Steps[len(p.Steps)-1].Worked {
					t.Fatal(fmt.Sprint("worked on a part that was not there from start to end: ", p))
				}
			}
		})
	}
}
