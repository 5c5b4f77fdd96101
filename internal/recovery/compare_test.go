package recovery

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"surehand/internal/plant"
	"surehand/internal/term"
)

var now = time.Date(2026, 11, 30, 6, 0, 0, 0, time.UTC)

// scene is a picture with what the machines say of it. As made, both agree: A.1 is processed in the lathe, A.2 stands
// on buffer place 2, A.3 on the dock, and the mill, the robot and the scanner are idle and empty.
type scene struct {
	cell      *plant.Cell
	order     *plant.Order
	equipment map[term.EquipmentID]*plant.Equipment
	slots     map[term.SlotID]*plant.Slot
	jobs      map[term.JobID]*plant.Job
	more      []plant.Row
	says      map[term.EquipmentID]*plant.Observation
}

func agreed() *scene {
	s := &scene{equipment: map[term.EquipmentID]*plant.Equipment{}, slots: map[term.SlotID]*plant.Slot{}, jobs: map[term.JobID]*plant.Job{},
		says: map[term.EquipmentID]*plant.Observation{}}
	s.cell = &plant.Cell{Version: 1, LastActionNo: 20, Config: term.CellConfig{Dock: term.PlaceRow{Count: 4, First: 1}, Buffer: term.PlaceRow{Count: 4, First: 21}, Exit: 99}}
	s.order = &plant.Order{ID: "A", Version: 1, State: term.OrderRunning, Planned: 3, Steps: []term.Step{{Kind: term.StepMachine, Group: "lathe"}}}
	add := func(id term.EquipmentID, kind term.EquipmentKind, slots int) {
		s.equipment[id] = &plant.Equipment{ID: id, Version: 1, Type: kind, Status: term.EquipmentIdle, Latch: term.LatchNone, Config: term.EquipmentConfig{Slots: slots}}
		for n := 1; n <= slots; n++ {
			slot := term.NewSlotID(id, n)
			s.slots[slot] = &plant.Slot{ID: slot, Version: 1, EquipmentID: id, Number: n, State: term.SlotEmpty}
		}
		s.says[id] = &plant.Observation{Reading: term.Reading{Reached: true, Ready: true, Echo: 7, State: term.MachineIdle}, At: now, Since: now.Add(-time.Minute)}
	}
	add("lathe", term.KindMachine, 1)
	add("mill", term.KindMachine, 2)
	add("robot", term.KindRobot, 0)
	add("scanner", term.KindScanner, 0)
	s.says["robot"].Reading.State, s.says["scanner"].Reading = "", term.Reading{Reached: true, Ready: true}
	job := func(id term.JobID, n int, state term.JobState, at term.Place, home int) {
		s.jobs[id] = &plant.Job{ID: id, Version: 1, OrderID: "A", Number: n, State: state, Position: at, TempSlotNo: home, Disposition: term.DispositionNone, EnteredAt: now}
	}
	job("A.1", 1, term.Processing, term.SlotPlace("lathe:1"), 1)
	job("A.2", 2, term.Waiting, term.BufferPlace(2), 2)
	job("A.3", 3, term.Queued, term.DockPlace(3), 0)
	s.occupy("lathe:1", "A.1")
	s.says["lathe"].Reading.Running, s.says["lathe"].Reading.Occupied, s.says["lathe"].Reading.State = 1, 1, term.MachineRunning
	return s
}

func (s *scene) occupy(slot term.SlotID, job term.JobID) {
	l := s.slots[slot]
	l.State, l.JobID, l.EnteredAt, l.StartedAt = term.SlotOccupied, job, now.Add(-time.Minute), now.Add(-time.Minute)
}

func (s *scene) clear(slot term.SlotID) {
	*s.slots[slot] = plant.Slot{ID: slot, Version: 1, EquipmentID: s.slots[slot].EquipmentID, Number: s.slots[slot].Number, State: term.SlotEmpty}
}

func (s *scene) move(job term.JobID, to term.Place) {
	s.jobs[job].State, s.jobs[job].Position = term.Moving, to
}

// action is an open action in doubt.
func (s *scene) action(job term.JobID, from, to term.Place) {
	s.jobs[job].State = term.Moving
	s.more = append(s.more, &plant.Task{ID: "t", Version: 2, Type: term.TaskMove, JobID: job, OrderID: "A", EquipmentID: "robot", From: from, To: to,
		State: term.TaskUnknown, ActionNo: 20, Attempt: 1, Epoch: 1, CreatedAt: now})
}

func (s *scene) load(t *testing.T) *plant.State {
	rows := append([]plant.Row{s.cell, s.order}, s.more...)
	for _, e := range s.equipment {
		rows = append(rows, e)
	}
	for _, l := range s.slots {
		rows = append(rows, l)
	}
	for _, j := range s.jobs {
		rows = append(rows, j)
	}
	state, err := plant.Load(plant.Fence{Epoch: 2}, rows)
	require.NoError(t, err, "a person can put it right, so it must not be refused")
	return state
}

func (s *scene) compare(t *testing.T, only term.EquipmentID) []plant.Question {
	return Compare(s.load(t), func(id term.EquipmentID) (plant.Observation, bool) {
		o, seen := s.says[id]
		if !seen {
			return plant.Observation{}, false
		}
		return *o, true
	}, now, only)
}

// proves C-19 C-11 C-12: one row for each kind of difference.
func TestEachDifferenceIsOneFindingWithItsAnswers(t *testing.T) {
	const lathe, mill, robot, cell = "equipment:lathe", "equipment:mill", "equipment:robot", "cell"
	found := map[term.Finding]bool{}
	for _, c := range []struct {
		name    string
		wreck   func(*scene)
		finding term.Finding
		subject string
		touches []string
		answers []string
	}{
		{"a job on an equipment, and its slot is empty", func(s *scene) { s.clear("lathe:1"); s.says["lathe"].Reading.Occupied = 0 },
			term.FindJobSlot, "job:A.1", []string{"job:A.1", lathe}, []string{"is_there", "at_home", "removed"}},
		{"a job on a slot that does not exist", func(s *scene) {
			s.clear("lathe:1")
			s.jobs["A.1"].Position = term.SlotPlace("lathe:9")
			s.says["lathe"].Reading = s.says["mill"].Reading
		}, term.FindJobSlot, "job:A.1", []string{"job:A.1", lathe}, []string{"at_home", "removed"}},
		{"a slot occupied without a job: it has ended", func(s *scene) { s.occupy("mill:2", "Z.9"); s.says["mill"].Reading.Occupied = 2 },
			term.FindSlotJob, "slot:mill:2", []string{mill, "slot:mill:2"}, []string{"clear"}},
		{"a job in two places", func(s *scene) { s.occupy("mill:1", "A.2") },
			term.FindTwoPlaces, "slot:mill:1", []string{mill, "job:A.2", "slot:mill:1"}, []string{"is_there", "clear"}},
		{"a shared buffer place", func(s *scene) { s.jobs["A.3"].TempSlotNo = 2 },
			term.FindSharedPlace, "job:A.3", []string{"job:A.3", "job:A.2"}, []string{"new_place", "removed"}},
		{"a shared buffer place, and none is free", func(s *scene) { s.cell.Config.Buffer.Count = 2; s.jobs["A.3"].TempSlotNo = 2 },
			term.FindSharedPlace, "job:A.3", []string{"job:A.3", "job:A.2"}, []string{"removed"}},
		{"a buffer place out of range", func(s *scene) { s.jobs["A.1"].TempSlotNo = 5 },
			term.FindPlaceRange, "job:A.1", []string{"job:A.1"}, []string{"new_place", "removed"}},
		{"the counters are wrong", func(s *scene) { s.order.Completed = 1 }, term.FindCounters, "order:A", []string{"order:A"}, []string{"recount"}},
		{"the record says running, the machine does not", func(s *scene) {
			s.says["lathe"].Reading.Running, s.says["lathe"].Reading.State = 0, term.MachineIdle
		}, term.FindNotRunning, "job:A.1", []string{"job:A.1", lathe}, []string{"finished", "restart", "scrap"}},
		{"a done that was stored before is no work on this part", func(s *scene) {
			r := &s.says["lathe"].Reading
			r.Running, r.Done, r.Cycle = 0, true, 4
			s.equipment["lathe"].Cycle, s.equipment["lathe"].HasCycle = 4, true
		}, term.FindNotRunning, "job:A.1", []string{"job:A.1", lathe}, []string{"finished", "restart", "scrap"}},
		{"the machine has a part, the record none", func(s *scene) { s.says["mill"].Reading.Occupied = 2 },
			term.FindPartForeign, "slot:mill:2", []string{mill, "slot:mill:2"}, []string{"without"}},
		{"the record has a part, the machine none", func(s *scene) { s.says["lathe"].Reading.Occupied = 0 },
			term.FindPartMissing, "job:A.1", []string{"job:A.1", lathe}, []string{"at_home", "removed"}},
		{"the record has a part without a place of its own, the machine none", func(s *scene) { s.jobs["A.1"].TempSlotNo = 0; s.says["lathe"].Reading.Occupied = 0 },
			term.FindPartMissing, "job:A.1", []string{"job:A.1", lathe}, []string{"removed"}},
		{"the robot holds a part that the record does not know", func(s *scene) { s.says["robot"].Reading.Gripper = true },
			term.FindGripper, robot, []string{robot}, []string{"without"}},
		{"the gripper is empty though the record holds a part in it", func(s *scene) { s.move("A.2", term.GripperPlace()) },
			term.FindGripperEmpty, "job:A.2", []string{"job:A.2", robot}, []string{"at_home", "removed"}},
		{"the robot knows a number that the record does not", func(s *scene) { s.says["robot"].Reading.Echo = 21 },
			term.FindEchoUnknown, robot, []string{robot, cell}, []string{"accept"}},
		{"a machine knows a number that the record does not", func(s *scene) { s.says["mill"].Reading.Echo = 21 },
			term.FindEchoUnknown, mill, []string{mill, cell}, []string{"accept"}},
		{"a machine knows a number, and none was ever given out", func(s *scene) {
			s.cell.LastActionNo, s.says["lathe"].Reading.Echo, s.says["robot"].Reading.Echo = 0, 0, 0
			s.says["mill"].Reading.Echo = 1<<31 + 5 // in the half that serial numbers call older than 0
		}, term.FindEchoUnknown, mill, []string{mill, cell}, []string{"accept"}},
		{"a machine cannot be reached", func(s *scene) { s.says["mill"].Reading = term.Reading{Error: "refused"} },
			term.FindUnreachable, mill, []string{mill}, []string{"without"}},
		{"the robot cannot be reached", func(s *scene) { s.says["robot"].Reading.Reached = false },
			term.FindUnreachable, robot, []string{robot}, []string{"without"}},
		{"a machine is in fault", func(s *scene) { s.says["mill"].Reading.Fault = 17 }, term.FindFault, mill, []string{mill}, []string{"without"}},
		{"a machine is in fault without a number", func(s *scene) { s.says["mill"].Reading.State = term.MachineFault }, term.FindFault, mill, []string{mill}, []string{"without"}},
		{"a signal is flapping", func(s *scene) { s.says["lathe"].Changes, s.says["lathe"].Since = 6, now.Add(-time.Second) },
			term.FindFlapping, lathe, []string{lathe}, []string{"without"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := agreed()
			c.wreck(s)
			got := s.compare(t, "")
			require.Len(t, got, 1, "%+v", got)
			q := got[0]
			require.Equal(t, c.finding, q.Finding)
			require.Equal(t, c.subject, q.Subject)
			require.Equal(t, c.touches, q.Touches)
			require.Equal(t, c.answers, words(q))
			require.NotEmpty(t, q.Record, "what the record says")
			require.NotEmpty(t, q.Machine, "what the machines say")
			for _, a := range q.Answers {
				require.NotEmpty(t, a.Effect, "%s: what it does", a.Word)
			}
			found[q.Finding] = true
		})
	}
	for _, f := range compared {
		require.True(t, found[f], "no row for %s", f)
	}
}

// A slot that names another part than the one on it: both are asked about, and the part can stay when the slot is clear.
func TestASlotThatNamesAnotherPart(t *testing.T) {
	s := agreed()
	s.occupy("lathe:1", "Z.9")
	got := s.compare(t, "")
	require.Len(t, got, 2)
	require.Equal(t, []term.Finding{term.FindJobSlot, term.FindSlotJob}, []term.Finding{got[0].Finding, got[1].Finding})
	require.Equal(t, []string{"at_home", "removed"}, words(got[0]))
	s.clear("lathe:1")
	require.Equal(t, []string{"is_there", "at_home", "removed"}, words(s.compare(t, "")[0]))
}

func words(q plant.Question) []string {
	var w []string
	for _, a := range q.Answers {
		w = append(w, a.Word)
	}
	return w
}

// What is consistent, what goes on by itself, and what an open action touches is no finding.
func TestWhatIsNoDifference(t *testing.T) {
	for _, c := range []struct {
		name  string
		wreck func(*scene)
	}{
		{"both agree", func(*scene) {}},
		{"controllers that know no number yet, however far numbering has come", func(s *scene) {
			s.cell.LastActionNo = 1<<31 + 9
			for _, o := range s.says {
				o.Reading.Echo = 0
			}
		}},
		{"done with a newer cycle is a normal end of the cycle", func(s *scene) {
			r := &s.says["lathe"].Reading
			r.Running, r.Done, r.Cycle, r.State = 0, true, 5, term.MachineDone
			s.equipment["lathe"].Cycle, s.equipment["lathe"].HasCycle = 4, true
		}},
		{"done of a machine that does not count", func(s *scene) { s.says["lathe"].Reading.Running, s.says["lathe"].Reading.Done = 0, true }},
		{"a part that was not started yet", func(s *scene) {
			s.slots["lathe:1"].StartedAt, s.says["lathe"].Reading.Running = time.Time{}, 0
		}},
		{"a part that is finished and not unloaded", func(s *scene) {
			s.slots["lathe:1"].State, s.jobs["A.1"].State, s.says["lathe"].Reading.Running = term.SlotDone, term.WaitingUnload, 0
		}},
		{"a start in doubt: the question about it covers whether the machine works", func(s *scene) {
			s.says["lathe"].Reading.Running = 0
			s.more = append(s.more, &plant.Task{ID: "t", Version: 2, Type: term.TaskStartMachine, EquipmentID: "lathe", Slots: []int{1}, State: term.TaskUnknown, ActionNo: 20, Attempt: 1, CreatedAt: now})
		}},
		{"the slot that an action unloads", func(s *scene) {
			s.action("A.1", term.SlotPlace("lathe:1"), term.BufferPlace(1))
			s.says["lathe"].Reading.Occupied, s.says["lathe"].Reading.Running = 0, 0
		}},
		{"the slot that an action loads", func(s *scene) {
			s.action("A.2", term.BufferPlace(2), term.SlotPlace("mill:1"))
			s.says["mill"].Reading.Occupied = 1
		}},
		{"the gripper while an action is open", func(s *scene) {
			s.action("A.2", term.BufferPlace(2), term.SlotPlace("mill:1"))
			s.says["robot"].Reading.Gripper = true
		}},
		{"a part in the gripper on both sides", func(s *scene) { s.move("A.2", term.GripperPlace()); s.says["robot"].Reading.Gripper = true }},
		{"the last number that was given out", func(s *scene) { s.says["robot"].Reading.Echo = 20 }},
		{"a machine that people run without", func(s *scene) {
			s.says["mill"].Reading.Occupied = 3
			s.more = append(s.more, &plant.Hold{ID: "h", Version: 1, Subject: "equipment:mill", Reason: term.HoldDisabled, By: "kim", At: now})
		}},
		{"a signal that has flapped and stands still", func(s *scene) { s.says["lathe"].Changes, s.says["lathe"].Since = 9, now.Add(-4*time.Second) }},
		{"what was not read yet is waited for", func(s *scene) { delete(s.says, "mill") }},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := agreed()
			c.wreck(s)
			require.Empty(t, s.compare(t, ""))
		})
	}
}

// One equipment alone: only what it says, and not the record against itself.
func TestAnEquipmentIsComparedAlone(t *testing.T) {
	s := agreed()
	s.says["mill"].Reading.Occupied = 1
	s.says["lathe"].Reading.Occupied = 0
	s.order.Completed = 1
	kinds := func(only term.EquipmentID) (f []term.Finding) {
		for _, q := range s.compare(t, only) {
			f = append(f, q.Finding)
		}
		slices.Sort(f)
		return f
	}
	require.Equal(t, []term.Finding{term.FindPartForeign}, kinds("mill"))
	require.Equal(t, []term.Finding{term.FindPartMissing}, kinds("lathe"))
	require.Empty(t, kinds("robot"))
	require.Equal(t, []term.Finding{term.FindCounters, term.FindPartMissing, term.FindPartForeign}, kinds(""))
}

// An answer is bound to the discrete part of what was read: not to its age, and not to counters of cycles.
func TestAFindingIsBoundToWhatItsEquipmentSays(t *testing.T) {
	s := agreed()
	s.says["lathe"].Reading.Occupied = 0
	bound := s.compare(t, "")[0].Readings
	require.Len(t, bound, 1)
	require.Equal(t, term.EquipmentID("lathe"), bound[0].Equipment)
	s.says["lathe"].At, s.says["lathe"].Reading.Cycle = now.Add(time.Minute), 99
	require.Equal(t, bound[0].Predicates, s.compare(t, "")[0].Readings[0].Predicates)
	s.says["lathe"].Reading.Done = true
	require.NotEqual(t, bound[0].Predicates, s.compare(t, "")[0].Readings[0].Predicates)
}
