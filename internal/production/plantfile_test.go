package production_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"surehand/internal/message"
	"surehand/internal/plant"
	"surehand/internal/production"
	"surehand/internal/term"
)

var now = time.Date(2026, 11, 30, 6, 0, 0, 0, time.UTC)

type minted struct{ n int }

func (m *minted) ID(now time.Time) string { m.n++; return plant.DerivedID(now, fmt.Sprint(m.n)) }
func (*minted) Fraction() float64         { return 0 }

// bench decides messages on a picture, without a loop and without a store.
type bench struct {
	t     *testing.T
	state *plant.State
	mint  *minted
	known message.Known
	later time.Duration // since now
}

func newBench(t *testing.T) *bench {
	s, err := plant.Load(plant.Fence{Epoch: 1}, nil)
	require.NoError(t, err)
	return &bench{t: t, state: s, mint: &minted{}}
}

// decide runs a decider; a refusal leaves nothing, as in the loop.
func (b *bench) decide(do func(*plant.Tx) message.Outcome) message.Outcome {
	w := b.state.Begin(now.Add(b.later), b.mint, plant.NewSession(), nil, nil)
	tx := w.Tx()
	o := do(tx)
	if o.Code != message.Accepted {
		w.Drop(tx)
	}
	w.Close(tx)
	return o
}

// with changes the picture as some earlier turn did.
func (b *bench) with(do func(*plant.Tx)) {
	b.t.Helper()
	b.decide(func(tx *plant.Tx) message.Outcome { do(tx); return message.Outcome{Code: message.Accepted} })
}

// file is a sound plant file; each part of it has a line of its own.
func file() message.ImportPlant {
	driver := func(kind string) term.DriverConfig { return term.DriverConfig{Type: kind, Address: "127.0.0.1:502"} }
	return message.ImportPlant{
		Cell: message.ImportCell{Name: "cell", Line: 1, Config: term.CellConfig{Dock: term.PlaceRow{Count: 4, First: 1}, Buffer: term.PlaceRow{Count: 4, First: 21}, Exit: 99}},
		Equipment: []message.ImportEquipment{
			{ID: "lathe", Kind: term.KindMachine, Line: 10, Config: term.EquipmentConfig{Slots: 2, First: 41, Driver: driver("modbus-machine")}},
			{ID: "robot", Kind: term.KindRobot, Line: 20, Config: term.EquipmentConfig{Driver: driver("modbus-robot")}},
			{ID: "scanner", Kind: term.KindScanner, Line: 30, Config: term.EquipmentConfig{First: 90, Driver: driver("tcp-scanner")}},
		},
		Routes: []message.ImportRoute{{ID: "housing", Line: 40, Steps: []message.ImportStep{
			{Line: 41, Step: term.Step{Kind: term.StepMachine, Group: "lathe", Program: 1}},
			{Line: 42, Step: term.Step{Kind: term.StepScan, Group: "scanner"}}}}},
	}
}

// marking adds a marker and a last step of it.
func marking(p *message.ImportPlant, text string) {
	p.Equipment = append(p.Equipment, message.ImportEquipment{ID: "marker", Kind: term.KindMarker, Line: 35,
		Config: term.EquipmentConfig{First: 91, Driver: term.DriverConfig{Type: "tcp-marker", Address: "127.0.0.1:502"}}})
	p.Routes[0].Steps = append(p.Routes[0].Steps, message.ImportStep{Line: 43, Step: term.Step{Kind: term.StepMark, Group: "marker", Text: text}})
}

func (b *bench) load(p message.ImportPlant) message.Outcome {
	return b.decide(func(tx *plant.Tx) message.Outcome { return production.ImportPlant(tx, p) })
}

func TestEachFaultOfAPlantFileHasItsLine(t *testing.T) {
	lathe := func(p *message.ImportPlant) *message.ImportEquipment { return &p.Equipment[0] }
	step := func(p *message.ImportPlant, n int) *message.ImportStep { return &p.Routes[0].Steps[n] }
	for _, c := range []struct {
		name    string
		wreck   func(*message.ImportPlant)
		line    int
		pointer string
		says    string
	}{
		{"no name of the cell", func(p *message.ImportPlant) { p.Cell.Name = "" }, 1, "/cell/name", "is no name"},
		{"no place at the dock", func(p *message.ImportPlant) { p.Cell.Config.Dock.Count = 0 }, 1, "/cell/dock/places", "1 to 64"},
		{"too many buffer places", func(p *message.ImportPlant) { p.Cell.Config.Buffer = term.PlaceRow{Count: 65, First: 200} }, 1, "/cell/buffer/places", "1 to 64"},
		{"a refill beyond the buffer", func(p *message.ImportPlant) { p.Cell.Config.Options.RefillBy = 5 }, 1, "/cell/options", "places of the buffer (4)"},
		{"a number below 1", func(p *message.ImportPlant) { p.Cell.Config.Exit = 0 }, 1, "/exit", "not within 1 to 65535"},
		{"a number beyond 16 bits", func(p *message.ImportPlant) { lathe(p).Config.First = 65535 }, 10, "/lathe", "not within 1 to 65535"},
		{"a number beyond all bits", func(p *message.ImportPlant) { lathe(p).Config.First = 1<<63 - 1 }, 10, "/lathe", "not within 1 to 65535"},
		{"overlapping rows", func(p *message.ImportPlant) { p.Cell.Config.Buffer.First = 4 }, 1, "/buffer", "overlap those of dock (1 to 4)"},
		{"a slot on the buffer", func(p *message.ImportPlant) { lathe(p).Config.First = 24 }, 10, "/lathe", "overlap those of buffer (21 to 24)"},
		{"a tool on the exit", func(p *message.ImportPlant) { p.Equipment[2].Config.First = 99 }, 30, "/scanner", "overlap those of exit"},
		{"no robot", func(p *message.ImportPlant) { p.Equipment = append(p.Equipment[:1:1], p.Equipment[2]) }, 1, "/equipment", "exactly one robot; this one has 0"},
		{"two robots", func(p *message.ImportPlant) {
			r := p.Equipment[1]
			r.ID = "robot-2"
			p.Equipment = append(p.Equipment, r)
		}, 1, "/equipment", "exactly one robot; this one has 2"},
		{"an equipment twice", func(p *message.ImportPlant) {
			e := p.Equipment[2]
			e.Config.First = 95
			p.Equipment = append(p.Equipment, e)
		}, 30, "/equipment/scanner", "stands twice"},
		{"no name of an equipment", func(p *message.ImportPlant) { p.Equipment[2].ID = "a:b"; p.Equipment[2].Config.Group = "scanner" }, 30, "/equipment/a:b", "is no name"},
		{"no slot", func(p *message.ImportPlant) { lathe(p).Config.Slots = 0 }, 10, "/equipment/lathe/slots", "1 to 16"},
		{"too many slots", func(p *message.ImportPlant) { lathe(p).Config.Slots = 17 }, 10, "/equipment/lathe/slots", "1 to 16"},
		{"slots of the robot", func(p *message.ImportPlant) { p.Equipment[1].Config.Slots = 1 }, 20, "/equipment/robot/slots", "only a machine has slots"},
		{"batch on a tool", func(p *message.ImportPlant) { p.Equipment[2].Config.Batch = true }, 30, "/equipment/scanner/slots", "only a machine has slots"},
		{"an unknown kind", func(p *message.ImportPlant) { lathe(p).Kind = "oven"; p.Routes = nil }, 10, "/equipment/lathe/kind", "none of"},
		{"a driver of another kind", func(p *message.ImportPlant) { lathe(p).Config.Driver.Type = "modbus-robot" }, 10, "/equipment/lathe/driver/type", "not \"modbus-robot\""},
		{"a negative time", func(p *message.ImportPlant) { lathe(p).Config.ActionTime = -1 }, 10, "/equipment/lathe", "not positive"},
		{"a group of two kinds", func(p *message.ImportPlant) {
			p.Equipment[1].Config.Group, p.Equipment[0].Config.Group = "g", "g"
			step(p, 0).Group = "g"
		}, 20, "/equipment/robot/group", "is of kind machine"},
		{"a route twice", func(p *message.ImportPlant) { p.Routes = append(p.Routes, p.Routes[0]) }, 40, "/routes/housing", "stands twice"},
		{"a route without steps", func(p *message.ImportPlant) { p.Routes[0].Steps = nil }, 40, "/routes/housing/steps", "1 to 32"},
		{"an unknown step", func(p *message.ImportPlant) { step(p, 0).Kind = "paint" }, 41, "/routes/housing/steps/0", "a step is one of"},
		{"an unknown group", func(p *message.ImportPlant) { step(p, 0).Group = "mill" }, 41, "/routes/housing/steps/0", "no equipment group \"mill\""},
		{"a step at the wrong kind", func(p *message.ImportPlant) { step(p, 1).Group = "lathe" }, 42, "/routes/housing/steps/1", "needs a scanner"},
		{"a program beyond 16 bits", func(p *message.ImportPlant) { step(p, 0).Program = 65536 }, 41, "/routes/housing/steps/0", "0 to 65535"},
		{"a verdict without an inspection", func(p *message.ImportPlant) { step(p, 0).OnFail = "scrap" }, 41, "/routes/housing/steps/0/onFail", "at an inspection"},
		{"rework without a limit", func(p *message.ImportPlant) {
			s := step(p, 0)
			s.Kind, s.OnFail, s.ReworkTo, s.Timeout = term.StepInspection, "rework", 1, term.Duration(time.Minute)
		}, 41, "/routes/housing/steps/0/rework", "reworkLimit"},
		{"rework to a step ahead", func(p *message.ImportPlant) {
			s := step(p, 0)
			s.Kind, s.OnFail, s.ReworkTo, s.ReworkLimit, s.Timeout = term.StepInspection, "rework", 2, 1, term.Duration(time.Minute)
		}, 41, "/routes/housing/steps/0/rework", "reworkTo (1 to 1)"},
		{"a text without a mark", func(p *message.ImportPlant) { step(p, 0).Text = "{job}" }, 41, "/routes/housing/steps/0/text", "only a mark"},
		{"a word that nobody replaces", func(p *message.ImportPlant) { marking(p, "{part}") }, 43, "/routes/housing/steps/2/text", "other braces"},
		{"a mark that no marker can put", func(p *message.ImportPlant) { marking(p, "Größe {job}") }, 43, "/routes/housing/steps/2/text", "printable ASCII"},
		{"a code before it is read", func(p *message.ImportPlant) {
			marking(p, "{code}")
			p.Routes[0].Steps[1], p.Routes[0].Steps[2] = p.Routes[0].Steps[2], p.Routes[0].Steps[1]
		}, 43, "/routes/housing/steps/1/text", "no scan stands before"},
		{"an inspection that nobody would ever ask about", func(p *message.ImportPlant) {
			step(p, 0).Kind = term.StepInspection
		}, 41, "/routes/housing/steps/0/timeout", "needs a timeout"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t)
			whole := file()
			marking(&whole, "{order} {code}")
			require.Equal(t, message.Accepted, b.load(whole).Code)
			b = newBench(t)
			p := file()
			c.wreck(&p)
			o := b.load(p)
			require.Equal(t, message.Invalid, o.Code)
			require.Len(t, o.Problems, 1, "%+v", o.Problems)
			require.Equal(t, c.line, o.Problems[0].Line)
			require.Equal(t, c.pointer, o.Problems[0].Pointer)
			require.Contains(t, o.Problems[0].Detail, c.says)
			_, exists := b.state.Cell()
			require.False(t, exists, "nothing was applied")
		})
	}
}

// A change that would strand a part or an action is refused; the same change is taken when the cell is empty.
func TestAPlantFileIsChangedOnlyWhenThatIsSafe(t *testing.T) {
	inBuffer := func(tx *plant.Tx) {
		o := tx.CreateOrder(plant.Order{ID: "A", RouteID: "housing", Planned: 1})
		tx.StartOrder(o.ID)
		tx.ArriveOnPallet("A.1", 1)
		tx.ReserveBufferPlace("A.1", 1)
		tx.ClaimJobForAction("A.1", term.TaskMove, "robot", term.BufferPlace(1), nil)
		tx.FinishTask(tx.State().Tasks()[0].ID, term.PartAtTo)
		tx.MoveJobToBuffer("A.1")
	}
	going := func(to term.Place) func(*plant.Tx) {
		return func(tx *plant.Tx) {
			inBuffer(tx)
			tx.ClaimJobForAction("A.1", term.TaskMove, "robot", to, nil)
		}
	}
	arrived := func(to term.Place) func(*plant.Tx) {
		return func(tx *plant.Tx) {
			going(to)(tx)
			tx.FinishTask(tx.State().Tasks()[0].ID, term.PartAtTo)
			if to.Type == term.OnEquipment {
				tx.MoveJobToEquipment("A.1", term.SlotID(to.Ref))
			} else {
				tx.MoveJobToGripper("A.1", term.EquipmentID(to.Ref))
			}
		}
	}
	slot, station := term.SlotPlace("lathe:1"), term.ToolStation("scanner")
	moveLathe := func(p *message.ImportPlant) { p.Equipment[0].Config.First = 51 }
	moveScanner := func(p *message.ImportPlant) { p.Equipment[2].Config.First = 91 }
	for _, c := range []struct {
		name   string
		inside func(*plant.Tx)
		change func(*message.ImportPlant)
		line   int
		says   string
		never  bool // not even in an empty cell
	}{
		{"the dock, with a part inside", inBuffer, func(p *message.ImportPlant) { p.Cell.Config.Dock.Count = 3 }, 1, "1 parts are in the cell", false},
		{"the exit, with a part inside", inBuffer, func(p *message.ImportPlant) { p.Cell.Config.Exit = 98 }, 1, "1 parts are in the cell", false},
		{"a machine with a part in it", arrived(slot), moveLathe, 10, "holds a part", false},
		{"its driver", arrived(slot), func(p *message.ImportPlant) { p.Equipment[0].Config.Driver.Address = "10.0.0.1:502" }, 10, "holds a part", false},
		{"a machine to which a part is on its way", going(slot), moveLathe, 10, "in action", false},
		{"a tool to which a part is on its way", going(station), moveScanner, 30, "in action", false},
		{"a tool before which a part is held", arrived(station), moveScanner, 30, "in action", false},
		{"the robot in action", going(slot), func(p *message.ImportPlant) { p.Equipment[1].Config.Driver.Unit = 7 }, 20, "in action", false},
		{"an equipment taken out", inBuffer, func(p *message.ImportPlant) { p.Equipment, p.Routes = p.Equipment[:2:2], nil }, 1, "cannot be taken out", true},
		{"a slot taken away", inBuffer, func(p *message.ImportPlant) { p.Equipment[0].Config.Slots = 1 }, 10, "cannot be taken away", true},
		{"another kind under the same name", inBuffer, func(p *message.ImportPlant) {
			e := &p.Equipment[2]
			e.Kind, e.Config.Slots, e.Config.Driver.Type, e.Config.Group = term.KindMachine, 1, "modbus-machine", "new"
			p.Routes = nil
		}, 30, "another name", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t)
			require.Equal(t, message.Accepted, b.load(file()).Code)
			p := file()
			c.change(&p)
			idle := newBench(t)
			idle.load(file())
			require.Equal(t, c.never, idle.load(p).Code == message.Invalid, "in an empty cell")
			b.with(c.inside)
			o := b.load(p)
			require.Equal(t, message.Invalid, o.Code)
			require.Len(t, o.Problems, 1, "%+v", o.Problems)
			require.Equal(t, c.line, o.Problems[0].Line)
			require.Contains(t, o.Problems[0].Detail, c.says)
		})
	}
}

// The same file again changes nothing; a new name of the cell is no new wiring; a new driver is compared first.
func TestWhatAChangedPlantFileLeadsTo(t *testing.T) {
	b := newBench(t)
	require.Equal(t, 5, b.load(file()).Changed)
	require.Equal(t, "recovery", b.state.HeldFor(plant.CellSubject))
	lift := func(tx *plant.Tx) { tx.LiftHoldIfHeld(plant.CellSubject, term.HoldRecovery, "kim", "") }
	b.with(lift)
	require.Zero(t, b.load(file()).Changed)
	p := file()
	p.Cell.Name = "cell-2"
	require.Equal(t, 1, b.load(p).Changed)
	require.Equal(t, "", b.state.HeldFor(plant.CellSubject))
	p.Equipment[0].Config.Driver.Address = "10.0.0.1:502"
	require.Equal(t, 1, b.load(p).Changed)
	require.Equal(t, "recovery", b.state.HeldFor(plant.CellSubject))
}
