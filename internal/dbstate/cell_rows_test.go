package dbstate_test

import (
	"fmt"
	"time"

	"surehand/internal/plant"
	"surehand/internal/term"
)

// Rows of one small cell; every field set that the law lets be set.

func aCell() *plant.Cell {
	return &plant.Cell{Version: 1, Name: "Zelle 单元 \"1\"", Revision: 3, File: "cell:\n  name: 'x'\t\\ ☂", LastActionNo: 1<<32 - 1, Clean: true, RefillAsked: true,
		Config: term.CellConfig{Dock: term.PlaceRow{Count: 24, First: 1}, Buffer: term.PlaceRow{Count: 64, First: 100}, Exit: 900,
			Options: term.CellOptions{AutomaticRelease: true, KeepPausedInMachine: true, RefillAt: 3, RefillBy: 2}},
		WaitingFor: "a person", Plan: aPlan(), DueAt: at(9)}
}

func aPlan() *term.Plan {
	return &term.Plan{Policy: "lookahead", Chosen: -1, Why: "đợi \"máy\"", LeftOut: 2, Candidates: []term.PlanCandidate{
		{Generator: "load", Job: "WO-0.1", From: term.BufferPlace(1), To: term.SlotPlace("mill-0:1"), Reason: "slot_taken"}}}
}

func aRoute(n int) *plant.Route {
	return &plant.Route{ID: term.RouteID(fmt.Sprintf("route-%d", n)), Version: 1, Revision: 2, Name: "Fräsen", Steps: someSteps()}
}

func someSteps() []term.Step {
	return []term.Step{{Kind: term.StepInspection, Group: "gauge", Program: 65535, Expected: term.Duration(time.Minute), Timeout: term.Duration(time.Hour),
		OnFail: "rework", ReworkTo: 1, ReworkLimit: 9}, {Kind: term.StepScan, Group: "scanner"}}
}

func mill(n int) term.EquipmentID { return term.EquipmentID(fmt.Sprintf("mill-%d", n)) }

func anEquipment(n int) *plant.Equipment {
	return &plant.Equipment{ID: mill(n), Version: 1, Name: "Fräse ☂", Type: term.KindMachine,
		Config: term.EquipmentConfig{Group: "mills", Slots: 2, Batch: true, First: 200, Driver: term.DriverConfig{Type: "modbus-machine", Address: "[::1]:502", Unit: 255}}.WithDefaults(mill(n)),
		Status: term.EquipmentRunning, Latch: term.LatchSeen, Cycle: 1<<32 - 1, HasCycle: true}
}

func millSlot(n int) term.SlotID { return term.NewSlotID(mill(n), 1) }

func aSlot(n int) *plant.Slot {
	return &plant.Slot{ID: millSlot(n), Version: 1, EquipmentID: mill(n), Number: 1, State: term.SlotOccupied, JobID: part(n), EnteredAt: at(1), StartedAt: at(2), DueAt: at(99)}
}

func orderNo(n int) term.OrderID { return term.OrderID(fmt.Sprintf("WO-%d", n)) }
func part(n int) term.JobID      { return term.NewJobID(orderNo(n), 1) }

func aPallet(n int) *plant.Pallet {
	return &plant.Pallet{ID: term.PalletID(fmt.Sprintf("P-%d", n)), Version: 1, OrderID: orderNo(n), Places: 12, ArrivedAt: at(0)}
}

func anOrder(n int) *plant.Order {
	return &plant.Order{ID: orderNo(n), Version: 1, Product: "Gehäuse ☂", RouteID: "route-0", RouteRevision: 2, Steps: someSteps(), Priority: -100,
		State: term.OrderStopping, Inside: term.InsideFinish, Planned: 10, Completed: 1, Scrapped: 2, Cancelled: 3, Actor: "anna", CreatedAt: at(0), StartedAt: at(1)}
}

// aJob is in a slot and owns buffer place n + 1.
func aJob(n int) *plant.Job {
	return &plant.Job{ID: part(n), Version: 1, OrderID: orderNo(n), Number: 1, State: term.WaitingJudgement, Position: term.SlotPlace(millSlot(n)), TempSlotNo: n + 1,
		StepIndex: 1, Disposition: term.DispositionScrap, EnteredAt: at(1),
		Context: term.JobContext{Code: "C\u0000☂", Reworks: 2, Out: "why", Results: []term.StepResult{
			{Step: 1, Equipment: mill(n), At: at(1), Cycle: 1<<32 - 1, Code: "c", Pass: "fail", Data: `{"d":1e6}`, By: "anna"}}}}
}

// aTask is an action that has ended, so that many of them may stand side by side.
func aTask(n int) *plant.Task {
	return &plant.Task{ID: term.TaskID(uid(840000 + n)), Version: 1, Type: term.TaskMove, JobID: part(n), OrderID: orderNo(n), EquipmentID: mill(n),
		From: term.BufferPlace(n + 1), To: term.SlotPlace(millSlot(n)), Slot: 1, Slots: []int{1, 2}, Program: 65535, State: term.TaskFailed, ActionNo: 1<<31 + uint32(n), Attempt: 1,
		Epoch: 3, PartAt: term.PartAtFrom, Error: "x", Plan: aPlan(), CreatedAt: at(1), EndedAt: at(2)}
}

func aStart(n int) *plant.Task {
	return with(aTask(n), func(t *plant.Task) {
		t.Type, t.JobID, t.OrderID, t.From, t.To = term.TaskStartMachine, "", "", term.Place{}, term.Place{}
		t.State, t.PartAt, t.Error, t.DueAt, t.EndedAt = term.TaskRunning, "", "", at(60), time.Time{}
	})
}

func aQuestion(n int) *plant.Question {
	return &plant.Question{ID: term.QuestionID(uid(850000 + n)), Version: 1, State: term.QuestionOpen, Finding: term.FindReportedPart, Subject: plant.JobSubject(part(n)),
		Touches: []string{plant.JobSubject(part(n)), "cell"}, Record: "in the machine ☂", Machine: "empty",
		Readings: []plant.BoundReading{{Equipment: mill(n), Predicates: "ready=true", At: at(1)}}, Hash: "h",
		Answers:   []term.Answer{{Word: term.AnswerRemoved, Effect: "ends it"}, {Word: term.AnswerMistaken, Effect: "nothing"}},
		Suggested: term.AnswerRemoved, TaskID: term.TaskID(uid(840000 + n)), JobID: part(n), Place: term.OutPlace(term.OutRemoved), OpenedAt: at(1)}
}

func anAlarm(n int) *plant.Alarm {
	return &plant.Alarm{ID: term.AlarmID(uid(860000 + n)), Version: 1, Type: term.AlarmFault, Subject: plant.EquipmentSubject(mill(n)), State: term.AlarmUnacknowledged,
		Text: "fault 7 ☂", Count: 3, FirstOut: true, ShelvedUntil: at(3600), ShelvedBy: "anna", ShelveReason: "known", RaisedAt: at(1), ClearedAt: at(0)}
}

// cellRows are one row of each kind beside the cell, which is one.
func cellRows(k int) []plant.Row {
	t := aTask(k)
	if k%2 == 1 {
		t = aStart(k)
	}
	return []plant.Row{aRoute(k), anEquipment(k), aPallet(k), anOrder(k), aSlot(k), aJob(k), t, aQuestion(k), anAlarm(k)}
}

// movedInCell is moved for the rows of the cell.
func movedInCell(row plant.Row, k int) plant.Row {
	empty := k%2 == 0
	switch r := row.(type) {
	case *plant.Cell:
		return with(r, func(n *plant.Cell) {
			*n = plant.Cell{Version: 2, Name: "new", Revision: 4, Config: term.CellConfig{Exit: 1}, LastActionNo: 7}
		})
	case *plant.Route:
		return with(r, func(n *plant.Route) {
			if n.Version, n.Revision, n.Name = 2, 3, "new"; empty {
				n.Steps = nil
			}
		})
	case *plant.Equipment:
		return with(r, func(n *plant.Equipment) {
			n.Version, n.Status, n.Latch, n.Cycle, n.HasCycle, n.Config = 2, term.Offline, term.LatchNone, 0, false, term.EquipmentConfig{}
		})
	case *plant.Pallet:
		return with(r, func(n *plant.Pallet) { n.Version, n.LeftAt = 2, at(5) })
	case *plant.Order:
		return with(r, func(n *plant.Order) {
			n.Version, n.Priority, n.Inside = 2, 7, ""
			n.State, n.Completed, n.Scrapped, n.Cancelled, n.EndedAt = term.OrderCompleted, 5, 3, 2, at(7)
			if empty {
				n.State, n.Cancelled, n.StartedAt, n.EndedAt = term.OrderRunning, 0, time.Time{}, time.Time{}
			}
		})
	case *plant.Slot:
		return with(r, func(n *plant.Slot) {
			if n.Version, n.State, n.DueAt = 2, term.SlotDone, zero; empty {
				n.State, n.JobID, n.EnteredAt, n.StartedAt = term.SlotEmpty, "", time.Time{}, time.Time{}
			}
		})
	case *plant.Job:
		return with(r, func(n *plant.Job) {
			if n.Version, n.State, n.StepIndex, n.Disposition = 2, term.WaitingUnload, 2, term.DispositionNone; empty {
				n.State, n.Position, n.TempSlotNo, n.Presented, n.EndedAt, n.Context = term.Completed, term.OutPlace(term.OutExit), 0, "", at(8), term.JobContext{}
			}
		})
	case *plant.Task:
		return with(r, func(n *plant.Task) {
			if n.Version, n.Error = 2, "y"; n.Open() {
				n.State, n.DueAt, n.EndedAt = term.TaskSucceeded, time.Time{}, at(5)
			}
		})
	case *plant.Question:
		return with(r, func(n *plant.Question) {
			n.Version, n.State, n.Answer, n.By, n.EndedAt = 2, term.QuestionResolved, term.AnswerRemoved, "anna", at(5)
			if n.Reason = "seen"; empty {
				n.Readings, n.Suggested, n.TaskID, n.JobID, n.Place, n.Reason = nil, "", "", "", term.Place{}, ""
			}
		})
	case *plant.Alarm:
		return with(r, func(n *plant.Alarm) {
			n.Version, n.State, n.AckedBy, n.AckedAt, n.EndedAt = 2, term.AlarmNormal, "anna", at(4), at(5)
			if n.Count++; empty {
				n.ShelvedUntil, n.ShelvedBy, n.ShelveReason, n.ClearedAt = time.Time{}, "", "", time.Time{}
			}
		})
	}
	return nil
}
