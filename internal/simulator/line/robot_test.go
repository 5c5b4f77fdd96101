package line

import (
	"fmt"
	"testing"
	"time"
)

// One action each, over the real wire: what its end looks like, where the parts are, and which laws were broken.
func TestRobotActions(t *testing.T) {
	for _, c := range []struct {
		name           string
		parts          string
		faults         RobotFaults
		code, from, to uint16
		status         string // after the echo
		where          string
		violations     Kind
	}{
		{"move", "a@1", RobotFaults{}, 1, 1, 40, "done=1 error=0 part_at=3 gripper=0 position=40", "a@40", ""},
		{"present", "a@1", RobotFaults{}, 2, 1, 80, "done=1 error=0 part_at=2 gripper=1 position=80", "a@gripper", ""},
		{"place", "a@0", RobotFaults{}, 3, 0, 12, "done=1 error=0 part_at=3 gripper=0 position=12", "a@12", ""},
		{"the exit takes any number", "a@1 b@90 c@90", RobotFaults{}, 1, 1, 90, "done=1 error=0 part_at=3 gripper=0 position=90", "a@90 b@90 c@90", ""},
		{"slow", "a@1", RobotFaults{Slow: 1, SlowBy: time.Millisecond}, 1, 1, 40, "done=1 error=0 part_at=3 gripper=0 position=40", "a@40", ""},

		{"fails before the pick", "a@1", RobotFaults{FailBeforePick: 1}, 1, 1, 40, "done=0 error=7 part_at=1 gripper=0 position=1", "a@1", ""},
		{"fails with the part", "a@1", RobotFaults{FailAfterPick: 1, ErrorCode: 99}, 1, 1, 40, "done=0 error=99 part_at=2 gripper=1 position=1", "a@gripper", ""},
		{"fails with the part for the scanner", "a@1", RobotFaults{FailAfterPick: 1}, 2, 1, 80, "done=0 error=7 part_at=2 gripper=1 position=1", "a@gripper", ""},
		{"fails to place", "a@0", RobotFaults{FailBeforePick: 1}, 3, 0, 40, "done=0 error=7 part_at=2 gripper=1 position=40", "a@gripper", ""},
		{"loses the part", "a@1", RobotFaults{LosePart: 1}, 1, 1, 40, "done=0 error=7 part_at=0 gripper=0 position=1", "a@floor", ""},
		{"loses the part at the place", "a@0", RobotFaults{LosePart: 1}, 3, 0, 40, "done=0 error=7 part_at=0 gripper=0 position=40", "a@floor", ""},

		{"pick from empty", "", RobotFaults{}, 1, 1, 40, "done=0 error=21 part_at=0 gripper=0 position=1", "", PickFromEmpty},
		{"pick with a full gripper", "a@1 b@0", RobotFaults{}, 1, 1, 40, "done=0 error=22 part_at=1 gripper=1 position=1", "a@1 b@gripper", PickWithFullGripper},
		{"part set on another", "a@1 b@40", RobotFaults{}, 1, 1, 40, "done=0 error=23 part_at=2 gripper=1 position=40", "a@gripper b@40", PlaceOntoOccupied},
		{"place with an empty gripper", "", RobotFaults{}, 3, 0, 40, "done=0 error=24 part_at=0 gripper=0 position=40", "", PlaceWithEmptyGripper},
		{"no such code", "a@1", RobotFaults{}, 4, 1, 40, "done=0 error=25 part_at=1 gripper=0 position=0", "a@1", BadCommand},
		{"no such place", "a@1", RobotFaults{}, 1, 1, 41, "done=0 error=25 part_at=1 gripper=0 position=0", "a@1", BadCommand},
		{"place with from", "a@0", RobotFaults{}, 3, 1, 40, "done=0 error=25 part_at=2 gripper=1 position=0", "a@gripper", BadCommand},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			told := make(chan Violation, 10)
			w := cell(t, func(o *Options) { o.OnViolation = func(v Violation) { told <- v } })
			put(t, w, c.parts)
			w.Robot().SetFaults(c.faults)
			p := dial(t, &w.Robot().Controller, patience)
			p.command(17, c.code, c.from, c.to)
			equal(t, "status", p.settled(), "echo=17 "+c.status)
			equal(t, "parts", where(w), c.where)
			equal(t, "violations", violations(w), string(c.violations))
			if c.violations != "" {
				equal(t, "told", (<-told).Kind, c.violations)
			}
			before := p.status()
			p.release()
			equal(t, "echo and part_at stay", []uint16{before[1], before[5]}, []uint16{17, p.status()[5]})
			truth := w.Truth()
			a := truth.Actions[0]
			equal(t, "truth", []any{len(truth.Actions), truth.Executed[17], a.No, a.Code, a.Error, a.PartAt, a.Outcome == Done, a.Ended.Before(a.Begun)},
				[]any{1, 1, uint32(17), c.code, before[4], before[5], before[3] == 1, false})
		})
	}
}

// Edges that begin nothing.
func TestRobotIgnores(t *testing.T) {
	for _, c := range []struct {
		name    string
		no      uint32
		prepare func(w *World, p *peer)
		reason  string
	}{
		{"the number of the last", 5, nil, "not newer than 5"},
		{"an older number", 4, nil, "not newer than 5"},
		{"a number half the circle away", 5 + 1<<31, nil, "not newer than 5"},
		{"not ready", 6, func(w *World, _ *peer) { w.Robot().SetReady(false) }, "not ready"},
		{"told to refuse", 6, func(w *World, _ *peer) { w.Robot().SetFaults(RobotFaults{RefuseBegin: 1, Strikes: 1}) }, "refused"},
		{"busy", 7, func(w *World, p *peer) {
			w.Robot().SetFaults(RobotFaults{StickBeforePick: 1})
			p.command(6, 1, 1, 40)
		}, "busy"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := cell(t, func(o *Options) { o.Robot.Modbus.Echo = 5 })
			put(t, w, "a@1")
			p := dial(t, &w.Robot().Controller, patience)
			if c.prepare != nil {
				c.prepare(w, p)
			}
			p.command(c.no, 1, 1, 40)
			ignored := w.Truth().Ignored
			equal(t, "ignored", []any{len(ignored), ignored[0].Endpoint, ignored[0].No, ignored[0].Reason}, []any{1, "robot", c.no, c.reason})
			equal(t, "never begun", []any{w.Truth().Executed[c.no], where(w)}, []any{0, "a@1"})
		})
	}
}

func TestRobotNumbersWrapAround(t *testing.T) {
	w := cell(t, func(o *Options) { o.Robot.Modbus.Echo, o.Robot.Modbus.LowWordFirst = 1<<32-1, true })
	put(t, w, "a@1")
	p := dial(t, &w.Robot().Controller, patience)
	p.command(0x00020001, 1, 1, 11)
	equal(t, "status", p.settled(), "echo=131073 done=1 error=0 part_at=3 gripper=0 position=11")
}

// Power goes in the middle of an action; the number is then tried again.
func TestRobotRestartInTheMiddle(t *testing.T) {
	for _, c := range []struct {
		name       string
		stick      RobotFaults
		forget     []Memory
		echo       uint32
		where      string
		again      int // executions of the number, in all
		violations string
	}{
		{"before the pick", RobotFaults{StickBeforePick: 1}, nil, 9, "a@1", 1, ""},
		{"with the part", RobotFaults{StickAfterPick: 1}, nil, 9, "a@gripper", 1, ""},
		{"all done but not shown", RobotFaults{StickBeforeEnd: 1}, nil, 9, "a@40", 1, ""},
		{"echo forgotten", RobotFaults{StickBeforePick: 1}, []Memory{ForgetEcho}, 0, "a@1", 2, string(ActionTwice)},
		{"echo forgotten with the part", RobotFaults{StickAfterPick: 1}, []Memory{ForgetEcho}, 0, "a@gripper", 2,
			fmt.Sprintf("%s, %s", ActionTwice, PickWithFullGripper)},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := cell(t, nil)
			put(t, w, "a@1")
			r := w.Robot()
			r.SetFaults(c.stick)
			p := dial(t, &r.Controller, patience)
			p.command(9, 1, 1, 40)
			p.until("busy and stuck", func(s []uint16) bool { return s[2] == 1 && r.Stuck() })
			address := r.Address()
			if err := r.Restart(c.forget...); err != nil {
				t.Fatal(err)
			}
			equal(t, "same port", r.Address(), address)
			r.SetFaults(RobotFaults{})
			p = dial(t, &r.Controller, patience)
			s := p.status()
			equal(t, "after the restart", []any{p.number(s), s[2:6], p.registers(0, 6)},
				[]any{c.echo, []uint16{0, 0, 0, 0}, []uint16{0, 0, 0, 0, 0, 0}})
			equal(t, "parts", where(w), c.where)
			equal(t, "abandoned", w.Truth().Actions[0].Outcome, Abandoned)
			p.command(9, 1, 1, 40)
			if c.again == 2 {
				p.settled()
			}
			equal(t, "again", []any{w.Truth().Executed[9], violations(w)}, []any{c.again, c.violations})
		})
	}
}

// Late success: the robot freezes with the part in its gripper, everybody gives up, and then it goes on.
func TestRobotFreezesAndThaws(t *testing.T) {
	w := cell(t, nil)
	put(t, w, "a@1 b@2")
	r := w.Robot()
	r.SetFaults(RobotFaults{StickAfterPick: 1, Strikes: 1})
	p := dial(t, &r.Controller, patience)
	p.command(1, 1, 1, 40)
	p.until("stuck", func([]uint16) bool { return r.Stuck() })
	first := p.status()[8]
	p.until("heartbeat", func(s []uint16) bool { return s[8] != first })
	r.Freeze()
	r.Free() // nothing moves while the program stands
	frozen := p.status()
	p.write(5, 0) // written, read back, not seen
	for range 50 {
		equal(t, "frozen", p.status(), frozen)
	}
	equal(t, "parts", where(w), "a@gripper b@2")
	r.Thaw()
	await(t, w, "late success", func(t Truth) bool { return t.Actions[0].Outcome == Done })
	s := p.status()
	equal(t, "go is 0, so done is not seen any more; echo and part_at tell", []any{p.number(s), s[2:6], where(w)},
		[]any{uint32(1), []uint16{0, 0, 0, 3}, "a@40 b@2"})

	// A go that is raised meanwhile is an edge at the thaw; one that is taken back in time is not.
	r.Freeze()
	p.command(2, 1, 2, 11)
	p.write(5, 0)
	r.Thaw()
	equal(t, "taken back", w.Truth().Executed[2], 0)
	r.Freeze()
	p.command(2, 1, 2, 11)
	r.Thaw()
	p.settled()
	equal(t, "parts", where(w), "a@40 b@11")
}

// A place after the fault was set has no pick that it could stick after: it is the next pick's.
func TestRobotSticksAfterTheNextPick(t *testing.T) {
	w := cell(t, nil)
	put(t, w, "a@0 b@1")
	r := w.Robot()
	r.SetFaults(RobotFaults{StickAfterPick: 1, Strikes: 1})
	p := dial(t, &r.Controller, patience)
	p.command(1, 3, 0, 40)
	p.settled()
	p.write(5, 0)
	p.until("at rest", func(s []uint16) bool { return s[3] == 0 })
	p.command(2, 1, 1, 11)
	p.until("stuck", func([]uint16) bool { return r.Stuck() })
	equal(t, "parts", where(w), "a@40 b@gripper")
}

func TestRobotProtectiveStop(t *testing.T) {
	w := cell(t, nil)
	put(t, w, "a@1")
	r := w.Robot()
	r.SetFaults(RobotFaults{StickBeforePick: 1, Strikes: 1})
	p := dial(t, &r.Controller, patience)
	p.command(1, 1, 1, 40)
	p.until("stuck", func([]uint16) bool { return r.Stuck() })
	r.SetReady(false)
	r.Free()
	s := p.status()
	equal(t, "stopped", []any{s[2], s[9], where(w)}, []any{uint16(1), uint16(0), "a@1"})
	r.SetReady(true)
	p.settled()
	equal(t, "parts", where(w), "a@40")
}

// A part taken out of the gripper by hand in the middle of a move is no violation of the robot's.
func TestRobotPartTakenByHand(t *testing.T) {
	w := cell(t, nil)
	put(t, w, "a@1")
	r := w.Robot()
	r.SetFaults(RobotFaults{StickAfterPick: 1})
	p := dial(t, &r.Controller, patience)
	p.command(1, 1, 1, 40)
	p.until("stuck", func([]uint16) bool { return r.Stuck() })
	if id, err := w.Remove(Gripper); id != "a" || err != nil {
		t.Fatal(id, err)
	}
	r.Free()
	equal(t, "status", p.settled(), "echo=1 done=0 error=24 part_at=0 gripper=0 position=40")
	equal(t, "violations", violations(w), "")
}
