package scheduler

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"surehand/internal/plant"
	"surehand/internal/term"
)

// picture is a cell with a lathe of two slots, an oven, a scanner and a robot, and the parts of order WO-1.
func picture(rows ...plant.Row) []plant.Row {
	equip := func(id term.EquipmentID, kind term.EquipmentKind, c term.EquipmentConfig) *plant.Equipment {
		return &plant.Equipment{ID: id, Version: 1, Type: kind, Config: c.WithDefaults(id), Status: term.EquipmentIdle, Latch: term.LatchNone}
	}
	slot := func(id term.EquipmentID, n int) *plant.Slot {
		return &plant.Slot{ID: term.NewSlotID(id, n), Version: 1, EquipmentID: id, Number: n, State: term.SlotEmpty}
	}
	all := []plant.Row{
		&plant.Cell{Version: 1, Config: term.CellConfig{Dock: term.PlaceRow{Count: 8}, Buffer: term.PlaceRow{Count: 8}, Options: term.CellOptions{RefillBy: 3, KeepPausedInMachine: true}}, RefillAsked: true},
		equip("arm", term.KindRobot, term.EquipmentConfig{}),
		equip("lathe", term.KindMachine, term.EquipmentConfig{Group: "turning", Slots: 2}),
		equip("oven", term.KindMachine, term.EquipmentConfig{Slots: 1, Batch: true, MaxWait: term.Duration(time.Minute)}),
		equip("scanner", term.KindScanner, term.EquipmentConfig{}),
		&plant.Slot{ID: "lathe:1", Version: 1, EquipmentID: "lathe", Number: 1, State: term.SlotOccupied, JobID: "WO-1.1", EnteredAt: longAgo, StartedAt: modelNow},
		slot("lathe", 2), slot("oven", 1),
		&plant.Order{ID: "WO-1", Version: 1, Steps: route, Priority: 7, State: term.OrderRunning, Planned: 5, CreatedAt: longAgo},
		&plant.Order{ID: "WO-2", Version: 1, Steps: route, State: term.OrderDraft, Planned: 9, CreatedAt: longAgo},
		jobAt(1, term.Processing, slotOf("lathe:1")), jobAt(2, term.Waiting, term.BufferPlace(2)), jobAt(3, term.Queued, term.DockPlace(3)),
		jobAt(4, term.NotArrived, term.Place{Type: term.Nowhere}), jobAt(5, term.NotArrived, term.Place{Type: term.Nowhere}),
	}
	return append(all, rows...)
}

func jobAt(n int, state term.JobState, p term.Place) *plant.Job {
	j := &plant.Job{ID: term.NewJobID("WO-1", n), Version: 1, OrderID: "WO-1", Number: n, State: state, Position: p, Disposition: term.DispositionNone}
	if n < 3 {
		j.TempSlotNo = n
	}
	return j
}

func hold(subject string, reason term.HoldReason) *plant.Hold {
	return &plant.Hold{ID: term.HoldID(subject + string(reason)), Version: 1, Subject: subject, Reason: reason, At: modelNow}
}

func ask(subject string, touches ...string) *plant.Question {
	return &plant.Question{ID: term.QuestionID("q-" + subject), Version: 1, State: term.QuestionOpen, Finding: term.FindActionFailed, Subject: subject,
		Touches: append([]string{subject}, touches...), Answers: []term.Answer{{Word: term.AnswerDone}}}
}

// heard is a session in which all equipment says that it is well.
func heard(edits ...func(*plant.Session)) *plant.Session {
	s := plant.NewSession()
	for _, id := range []term.EquipmentID{"arm", "lathe", "oven", "scanner"} {
		r := term.Reading{Reached: true, Ready: id != "scanner"}
		if id == "lathe" || id == "oven" {
			r.ReadySlots = 3
		}
		s.Observe(id, r, modelNow)
	}
	for _, edit := range edits {
		edit(s)
	}
	return s
}

func reads(id term.EquipmentID, r term.Reading) func(*plant.Session) {
	return func(s *plant.Session) { s.Observe(id, r, modelNow) }
}

func look(t *testing.T, session *plant.Session, now time.Time, rows ...plant.Row) Cell {
	t.Helper()
	s, err := plant.Load(plant.Fence{Epoch: 1}, picture(rows...))
	require.NoError(t, err)
	return Look(s, session, now)
}

func TestLook(t *testing.T) {
	c := look(t, heard(), modelNow)
	require.Equal(t, Cell{
		Now: modelNow, Places: 8, RefillAt: 4, RefillBy: 3, RefillAsked: true, KeepPaused: true, NotArrived: 2,
		Robot: Robot{ID: "arm"},
		Tools: []Tool{{ID: "scanner", Does: term.StepScan, Group: "scanner"}},
		Machines: []Machine{
			{ID: "lathe", Group: "turning", MaxWait: 10 * time.Minute, Latch: term.LatchNone, Slots: []Slot{
				{Number: 1, State: term.SlotOccupied, Job: "WO-1.1", Entered: longAgo, Started: modelNow}, {Number: 2, State: term.SlotEmpty}}},
			{ID: "oven", Group: "oven", Batch: true, MaxWait: time.Minute, Latch: term.LatchNone, Slots: []Slot{{Number: 1, State: term.SlotEmpty}}},
		},
		Parts: []Part{
			partOf(1, term.Processing, slotOf("lathe:1")), partOf(2, term.Waiting, term.BufferPlace(2)), partOf(3, term.Queued, term.DockPlace(3)),
		},
	}, c)

	start := &plant.Task{ID: "t1", Version: 1, Type: term.TaskStartMachine, EquipmentID: "lathe", State: term.TaskRunning, DueAt: modelNow}
	move := &plant.Task{ID: "t2", Version: 1, Type: term.TaskMove, EquipmentID: "arm", JobID: "WO-1.2", OrderID: "WO-1", From: term.BufferPlace(2), To: slotOf("oven:1"),
		State: term.TaskUnknown}
	c = look(t, heard(), modelNow, start, move)
	require.True(t, c.find("lathe").Starting)
	require.False(t, c.find("oven").Starting)
	require.Equal(t, Robot{ID: "arm", Busy: true, Job: "WO-1.2", From: term.BufferPlace(2), To: slotOf("oven:1")}, c.Robot)
}

func partOf(n int, state term.JobState, p term.Place) Part {
	j := jobAt(n, state, p)
	return Part{Job: j.ID, Number: n, Order: "WO-1", Priority: 7, Created: longAgo, OrderState: term.OrderRunning, State: state, Place: p,
		Home: j.TempSlotNo, Steps: route, Disposition: term.DispositionNone}
}

// One row for each thing that holds the cell, an equipment or a part, and the words for it.
func TestLookSaysWhatHolds(t *testing.T) {
	robot := func(c Cell) (string, bool) { return c.Robot.Why, false }
	lathe := func(c Cell) (string, bool) { return c.Machines[0].Why, false }
	scanner := func(c Cell) (string, bool) { return c.Tools[0].Why, false }
	cell := func(c Cell) (string, bool) { return c.Halt, c.Settle }
	part := func(c Cell) (string, bool) { return c.Parts[1].Held, c.Parts[1].Settle }
	well := term.Reading{Reached: true, Ready: true}
	for _, c := range []struct {
		name    string
		session *plant.Session
		rows    []plant.Row
		of      func(Cell) (string, bool)
		want    string
		settle  bool
	}{
		{"cell runs", heard(), nil, cell, "", false},
		{"cell paused", heard(), []plant.Row{hold("cell", term.HoldPaused)}, cell, "cell is paused", true},
		{"cell in recovery", heard(), []plant.Row{hold("cell", term.HoldRecovery), hold("cell", term.HoldPaused)}, cell, "cell is not compared with the machines yet", false},
		{"cell parked", heard(), []plant.Row{hold("cell", term.HoldParked)}, cell, "a message about cell could not be decided", false},
		{"cell asked about, and paused", heard(), []plant.Row{hold("cell", term.HoldPaused), ask("task:t", "cell")}, cell, "question open about cell", false},
		{"stopping", heard(func(s *plant.Session) { s.Stop(true) }), nil, cell, "surehand is stopping", true},
		{"robot well", heard(), nil, robot, "", false},
		{"robot not heard", plant.NewSession(), nil, robot, "arm was not heard since the start", false},
		{"robot not reached", heard(reads("arm", term.Reading{Ready: true})), nil, robot, "arm is not reached", false},
		{"robot not ready", heard(reads("arm", term.Reading{Reached: true})), nil, robot, "arm is not ready", false},
		{"robot in fault", heard(reads("arm", term.Reading{Reached: true, Ready: true, Fault: 3})), nil, robot, "arm is in FAULT", false},
		{"robot asked about", heard(), []plant.Row{ask("task:t", "equipment:arm")}, robot, "question open about equipment:arm", false},
		{"robot disabled", heard(), []plant.Row{hold("equipment:arm", term.HoldDisabled)}, robot, "arm is disabled by : ", false},
		{"machine disabled", heard(), []plant.Row{hold("equipment:lathe", term.HoldDisabled)}, lathe, "lathe is disabled by : ", false},
		{"machine not compared", heard(), []plant.Row{hold("equipment:lathe", term.HoldRecovery)}, lathe, "lathe is not compared with the machines yet", false},
		{"machine asked about", heard(), []plant.Row{ask("equipment:lathe")}, lathe, "question open about equipment:lathe", false},
		{"machine not ready", heard(reads("lathe", term.Reading{Reached: true})), nil, lathe, "lathe is not ready", false},
		{"machine well", heard(reads("lathe", well)), nil, lathe, "", false},
		{"tool well, without a ready of its own", heard(), nil, scanner, "", false},
		{"tool not reached", heard(reads("scanner", term.Reading{})), nil, scanner, "scanner is not reached", false},
		{"part suspended", heard(), []plant.Row{hold("job:WO-1.2", term.HoldSuspended)}, part, "WO-1.2 is suspended", true},
		{"part parked", heard(), []plant.Row{hold("job:WO-1.2", term.HoldParked)}, part, "a message about WO-1.2 could not be decided", false},
		{"part asked about", heard(), []plant.Row{ask("task:t", "job:WO-1.2")}, part, "question open about job:WO-1.2", false},
		{"part suspended and asked about", heard(), []plant.Row{hold("job:WO-1.2", term.HoldSuspended), ask("job:WO-1.2")}, part, "question open about job:WO-1.2", false},
		{"order paused", heard(), []plant.Row{hold("order:WO-1", term.HoldPaused)}, part, "order WO-1 is paused", true},
		{"order paused, part asked about", heard(), []plant.Row{hold("order:WO-1", term.HoldPaused), ask("job:WO-1.2")}, part, "question open about job:WO-1.2", false},
		{"order asked about, part suspended", heard(), []plant.Row{ask("order:WO-1"), hold("job:WO-1.2", term.HoldSuspended)}, part, "question open about order:WO-1", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			why, settle := c.of(look(t, c.session, modelNow, c.rows...))
			require.Equal(t, c.want, why)
			require.Equal(t, c.settle, settle)
		})
	}
}

// A status, a door, and a part that only the machine knows.
func TestLookAtTheMachine(t *testing.T) {
	rows := picture()
	rows[2].(*plant.Equipment).Status = term.Offline
	s, err := plant.Load(plant.Fence{Epoch: 1}, rows)
	require.NoError(t, err)
	require.Equal(t, "lathe is OFFLINE", Look(s, heard(), modelNow).Machines[0].Why)

	c := look(t, heard(reads("lathe", term.Reading{Reached: true, Ready: true, ReadySlots: 1, Occupied: 3})), modelNow)
	require.Equal(t, []bool{false, true}, []bool{c.Machines[0].Slots[0].Closed, c.Machines[0].Slots[1].Closed})
	require.Equal(t, []bool{false, true}, []bool{c.Machines[0].Slots[0].Foreign, c.Machines[0].Slots[1].Foreign})
}

// A reading of more than three seconds ago is not believed, and the cell is looked at again without a message: a
// reading that comes and says the same would wake nobody.
func TestLookDoesNotBelieveAnOldReading(t *testing.T) {
	require.Empty(t, look(t, heard(), modelNow.Add(3*time.Second)).Robot.Why)
	late := modelNow.Add(3*time.Second + time.Millisecond)
	c := look(t, heard(), late)
	require.Equal(t, "arm has no fresh reading", c.Robot.Why)
	d := Plan(c)
	require.Nil(t, d.Move)
	require.Equal(t, late.Add(3*time.Second), d.WakeAt)
}

func TestLookWithoutACell(t *testing.T) {
	s, err := plant.Load(plant.Fence{Epoch: 1}, nil)
	require.NoError(t, err)
	d := Plan(Look(s, plant.NewSession(), modelNow))
	require.Equal(t, Decision{Wait: "no plant file was imported", Explain: term.Plan{Policy: "priority", Chosen: -1, Why: "no plant file was imported"}}, d)

	s, err = plant.Load(plant.Fence{Epoch: 1}, []plant.Row{&plant.Cell{Version: 1}})
	require.NoError(t, err)
	require.Equal(t, "the cell has no robot", Plan(Look(s, plant.NewSession(), modelNow)).Wait)
}
