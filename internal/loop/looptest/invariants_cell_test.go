package looptest_test

import (
	"strings"
	"testing"

	"surehand/internal/loop/looptest"
	"surehand/internal/plant"
	"surehand/internal/term"
)

func cell(tx *plant.Tx) {
	tx.ConfigureCell("c", "", term.CellConfig{Dock: term.PlaceRow{Count: 4, First: 1}, Buffer: term.PlaceRow{Count: 4, First: 11}, Exit: 99})
	tx.ConfigureEquipment(plant.Equipment{ID: "robot", Type: term.KindRobot, Config: term.EquipmentConfig{}.WithDefaults("robot")})
	tx.ConfigureEquipment(plant.Equipment{ID: "mill", Type: term.KindMachine, Config: term.EquipmentConfig{Slots: 2}.WithDefaults("mill")})
	tx.CreateOrder(plant.Order{ID: "WO", Planned: 2})
	tx.StartOrder("WO")
	tx.ArrivePallet(plant.Pallet{ID: "P", OrderID: "WO", Places: 2})
	tx.ArriveOnPallet("WO.1", 1)
	tx.ArriveOnPallet("WO.2", 2)
	tx.ReserveBufferPlace("WO.1", 1)
}

func claim(to term.Place) func(*plant.Tx) {
	return func(tx *plant.Tx) { tx.ClaimJobForAction("WO.1", term.TaskMove, "robot", to, nil) }
}

func done(tx *plant.Tx) {
	t, ok := tx.State().RobotTask()
	if !ok {
		panic("the robot is free")
	}
	tx.FinishTask(t.ID, term.PartAtTo)
}

// What the moves of the cell allow and a decider may still get wrong must be seen.
func TestInvariantsOfTheCellAreSeen(t *testing.T) {
	type steps = []func(*plant.Tx)
	mill := term.SlotPlace("mill:1")
	load := func(tx *plant.Tx) { done(tx); tx.MoveJobToEquipment("WO.1", "mill:1") }
	scrap := func(tx *plant.Tx) { tx.DisposeOfJob("WO.2", term.DispositionCancel, "x") }
	tests := []struct {
		name  string
		steps steps
		want  string // part of the first finding; empty: all is well
	}{
		{"a part that is loaded", steps{cell, claim(mill), load}, ""},
		{"a part that leaves with its pallet", steps{cell, scrap, func(tx *plant.Tx) { tx.FinishJob("WO.2", term.OutPallet) }}, ""},
		{"a part that an answer moves", steps{cell, func(tx *plant.Tx) {
			q, _ := tx.OpenQuestion(plant.Question{Finding: term.FindReportedPart, Subject: "job:WO.1", JobID: "WO.1", Answers: []term.Answer{{Word: "at_home"}}})
			tx.ResolveQuestion(q, "at_home", "mai", "x")
			tx.CorrectJobPlace("WO.1", term.BufferPlace(1), false)
		}}, ""},
		{"a part that moves by itself", steps{cell, claim(term.BufferPlace(1)), func(tx *plant.Tx) { tx.MoveJobToBuffer("WO.1") }}, "invariant 9: part WO.1"},
		{"a part that a person moves without an answer", steps{cell, func(tx *plant.Tx) { tx.CorrectJobPlace("WO.2", term.DockPlace(3), false) }}, "invariant 9"},
		{"a part whose slot is emptied", steps{cell, claim(mill), load, func(tx *plant.Tx) { tx.EmptySlot("mill:1") }}, "invariant 8: part WO.1"},
		{"a buffer place that is not there", steps{cell, func(tx *plant.Tx) { tx.ReserveBufferPlace("WO.2", 5) }}, "invariant 8: part WO.2 owns buffer place 5 of 4"},
		{"counters of parts that have not ended", steps{cell, func(tx *plant.Tx) { tx.RecountOrder("WO", 1, 0, 0) }}, "invariant 11: order WO"},
		{"an action of a part that is not there", steps{cell, func(tx *plant.Tx) {
			tx.OpenQuestion(plant.Question{Finding: term.FindReportedPart, Subject: "job:X", JobID: "X", Answers: []term.Answer{{Word: "x"}}})
		}}, "invariant 0: manual_action"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			db := looptest.NewDatabase()
			play(t, db, tt.steps...)
			for since, found := range map[int][]string{-1: looptest.Invariants(db), 0: looptest.InvariantsSince(db, 0), len(tt.steps): looptest.InvariantsSince(db, len(tt.steps))} {
				switch {
				case tt.want == "" && len(found) > 0, tt.want != "" && (len(found) == 0 || !strings.Contains(found[0], tt.want)):
					t.Errorf("since %d: found %q, want %q", since, found, tt.want)
				}
			}
		})
	}
}
