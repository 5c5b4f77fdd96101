package storetest

import (
	"testing"
	"time"

	"surehand/internal/message"
	"surehand/internal/plant"
	"surehand/internal/term"
)

// placed makes a world with orders 1 to n, each with a part on dock place n and its own buffer place.
func placed(t *testing.T, open Opener, n int) *world {
	t.Helper()
	w := newWorld(t, open)
	w.commit(configuredCell(n))
	w.commit(func(tx *plant.Tx) {
		for m := 1; m <= n; m++ {
			ordered(tx, m, 3)
			arrived(tx, m)
		}
	})
	return w
}

func uniqueInCell(t *testing.T, open Opener) {
	w := placed(t, open, 4)
	var held *plant.Task
	w.commit(func(tx *plant.Tx) { carried(tx, 1, term.SlotPlace(millSlot(1))) })
	w.commit(func(tx *plant.Tx) {
		held = tx.ClaimJobForAction(part(2, 1), term.TaskMove, robot, term.BufferPlace(2), nil)
		tx.StartMachine(mill(1), 1, []int{1}, 7)
		asked(tx, 1)
		tx.RaiseAlarm(term.AlarmUnexpected, aboutMill(1), "x")
	})
	tests := []struct {
		name  string
		step  step
		clash func(plant.Batch)
	}{
		{"a place on the dock", func(tx *plant.Tx) { tx.ArriveOnPallet(part(3, 2), 9) },
			func(b plant.Batch) { alter(b, func(j *plant.Job) { j.Position = term.DockPlace(2) }) }},
		{"a slot", func(tx *plant.Tx) { tx.DisposeOfJob(part(3, 1), term.DispositionScrap, "x") },
			func(b plant.Batch) {
				alter(b, func(j *plant.Job) { j.State, j.Position = term.Processing, term.SlotPlace(millSlot(1)) })
			}},
		{"a buffer place", func(tx *plant.Tx) { tx.ReserveBufferPlace(part(3, 1), 9) },
			func(b plant.Batch) { alter(b, func(j *plant.Job) { j.TempSlotNo = 1 }) }},
		{"a part in two slots", func(tx *plant.Tx) { tx.CorrectJobPlace(part(4, 1), term.SlotPlace(millSlot(2)), false) },
			func(b plant.Batch) { alter(b, func(l *plant.Slot) { l.JobID = part(1, 1) }) }},
		{"a number within an order", func(tx *plant.Tx) { ordered(tx, 9, 2) },
			func(b plant.Batch) {
				alter(b, func(j *plant.Job) { j.OrderID, j.Number = orderNo(9), 1 })
			}},
		{"an action of the robot", func(tx *plant.Tx) { tx.StartMachine(mill(2), 1, nil, 7) },
			func(b plant.Batch) {
				alter(b, func(t *plant.Task) { t.Type, t.JobID, t.OrderID = term.TaskMove, part(3, 1), orderNo(3) })
			}},
		{"a start of a machine", func(tx *plant.Tx) { tx.StartMachine(mill(3), 1, nil, 7) },
			func(b plant.Batch) { alter(b, func(t *plant.Task) { t.EquipmentID = mill(1) }) }},
		{"an action number", func(tx *plant.Tx) { tx.StartMachine(mill(4), 1, nil, 7) },
			func(b plant.Batch) { alter(b, func(t *plant.Task) { t.ActionNo = held.ActionNo }) }},
		{"a question", func(tx *plant.Tx) { asked(tx, 2) },
			func(b plant.Batch) { alter(b, func(q *plant.Question) { q.Subject = aboutMill(1) }) }},
		{"an alarm", func(tx *plant.Tx) { tx.RaiseAlarm(term.AlarmUnexpected, aboutMill(2), "x") },
			func(b plant.Batch) { alter(b, func(a *plant.Alarm) { a.Subject = aboutMill(1) }) }},
	}
	for _, tt := range tests {
		t.Log(tt.name)
		b := w.prepare(nil, tt.step)
		tt.clash(b)
		w.refuse(b, plant.FaultConflict)
	}
	// What has ended leaves room for the next one.
	w.commit(
		func(tx *plant.Tx) {
			tx.ResolveQuestion(must(tx.State().QuestionOf(term.FindUnexpected, aboutMill(1))), term.AnswerDismiss, "mai", "x")
			tx.AcknowledgeAlarm(must(tx.State().AlarmOf(term.AlarmUnexpected, aboutMill(1))), "mai")
			tx.ResolveAlarm(term.AlarmUnexpected, aboutMill(1))
			tx.FinishTask(held.ID, term.PartAtTo)
			tx.MoveJobToBuffer(part(2, 1))
			tx.FinishTask(must(tx.State().StartOf(mill(1))).ID, term.PartUnknown)
		},
		func(tx *plant.Tx) {
			asked(tx, 1)
			tx.RaiseAlarm(term.AlarmUnexpected, aboutMill(1), "again")
			tx.ClaimJobForAction(part(3, 1), term.TaskMove, robot, term.BufferPlace(3), nil)
			tx.StartMachine(mill(1), 1, []int{1}, 7)
		},
	)
}

// passing: a place, a slot and a buffer place pass from part to part inside one batch, in whatever order the rows
// were first touched.
func passing(t *testing.T, open Opener) {
	w := placed(t, open, 20)
	answer := func(tx *plant.Tx) { // what moves parts is an answer
		asked(tx, 20)
		tx.ResolveQuestion(must(tx.State().QuestionOf(term.FindUnexpected, aboutMill(20))), term.AnswerDismiss, "mai", "x")
	}
	touch := func(tx *plant.Tx, n int) { tx.DisposeOfJob(part(n, 1), term.DispositionScrap, "x") }
	for n := 1; n <= 3; n++ {
		w.commit(func(tx *plant.Tx) { carried(tx, n, term.SlotPlace(millSlot(n))) })
	}
	// A chain: 1 leaves its slot for the buffer, 2 takes it, 3 takes the one of 2. The rows come the other way round.
	w.commit(
		func(tx *plant.Tx) {
			touch(tx, 3)
			touch(tx, 2)
			tx.PostponeSlot(millSlot(1), w.now, false)
			touch(tx, 1)
		},
		answer,
		func(tx *plant.Tx) { tx.CorrectJobPlace(part(1, 1), term.BufferPlace(1), false) },
		func(tx *plant.Tx) { tx.CorrectJobPlace(part(2, 1), term.SlotPlace(millSlot(1)), false) },
		func(tx *plant.Tx) { tx.CorrectJobPlace(part(3, 1), term.SlotPlace(millSlot(2)), false) },
	)
	// A buffer place passes from a part that ends, and from one that gives it back.
	w.commit(
		func(tx *plant.Tx) { touch(tx, 5); touch(tx, 4); touch(tx, 1) },
		func(tx *plant.Tx) { tx.ReserveBufferPlace(part(5, 1), 0) },
		func(tx *plant.Tx) { carried(tx, 1, term.OutPlace(term.OutExit)) },
		func(tx *plant.Tx) { tx.ReserveBufferPlace(part(4, 1), 5) },
		func(tx *plant.Tx) { tx.ReserveBufferPlace(part(5, 1), 1) },
	)
	// The robot and a machine pass from action to action.
	for range 2 {
		w.commit(func(tx *plant.Tx) {
			if t, open := tx.State().StartOf(mill(3)); open {
				tx.FailTask(t.ID, term.PartUnknown, "refused")
			}
			tx.StartMachine(mill(3), 0, []int{}, 0)
			if t, busy := tx.State().RobotTask(); busy {
				tx.DoubtTask(t.ID, "x")
				tx.CancelTask(t.ID, "x")
				tx.ReturnJobToRest(part(6, 1))
			}
			tx.ClaimJobForAction(part(6, 1), term.TaskMove, robot, term.BufferPlace(6), plan(6))
		})
	}
	// Many at once: all parts of the dock move up by one place, each into the one that the part before it left.
	const many = 12
	w.commit(answer, func(tx *plant.Tx) {
		for n := 7; n < 7+many; n++ {
			tx.CorrectJobPlace(part(n, 1), term.DockPlace(n+30), false)
		}
	})
	w.commit(
		func(tx *plant.Tx) {
			for n := 6 + many; n >= 7; n-- {
				touch(tx, n)
			}
		},
		answer,
		func(tx *plant.Tx) {
			for n := 7; n < 7+many; n++ {
				tx.CorrectJobPlace(part(n, 1), term.DockPlace(n+29), false)
			}
		},
	)
	// Parts of an order that were never here are written many at once beside all that.
	w.commit(answer, func(tx *plant.Tx) {
		ordered(tx, 30, 200)
		tx.ArriveOnPallet(part(30, 1), 60)
		tx.CorrectJobPlace(part(7, 1), term.DockPlace(61), false)
		tx.ArriveOnPallet(part(30, 2), 36) // where that part was
	})
	w.commit(func(tx *plant.Tx) {
		tx.CancelOrder(orderNo(30), term.InsideRetire)
		for n := 1; n <= 200; n++ {
			how := ""
			if n <= 2 {
				how = term.OutPallet
			}
			tx.DisposeOfJob(part(30, n), term.DispositionCancel, "x")
			tx.FinishJob(part(30, n), how)
		}
	})
}

// lifeOfAPart plays one part from the order to the exit, a turn for each move, and asks the store for what has left
// the picture.
func lifeOfAPart(t *testing.T, open Opener) {
	w := placed(t, open, 1)
	carry := func(to term.Place) {
		t.Helper()
		var action *plant.Task
		w.commit(func(tx *plant.Tx) { action = tx.ClaimJobForAction(part(1, 1), term.TaskMove, robot, to, plan(1)) })
		w.commit(func(tx *plant.Tx) { tx.DoubtTask(action.ID, "no answer") })
		w.commit(func(tx *plant.Tx) {
			tx.FinishTask(action.ID, term.PartAtTo)
			switch to.Type {
			case term.OnBuffer:
				tx.MoveJobToBuffer(part(1, 1))
			case term.OnEquipment:
				tx.MoveJobToEquipment(part(1, 1), term.SlotID(to.Ref))
			case term.OnRobot:
				tx.MoveJobToGripper(part(1, 1), term.EquipmentID(to.Ref))
			case term.Out:
				tx.FinishJob(part(1, 1), to.Ref)
			}
		})
	}
	carry(term.BufferPlace(1))
	carry(term.ToolStation(scanner))
	w.commit(func(tx *plant.Tx) {
		tx.CompleteStep(part(1, 1), term.StepResult{Equipment: scanner, Code: awkward})
	})
	carry(term.SlotPlace(millSlot(1)))
	w.commit(func(tx *plant.Tx) { tx.StartMachine(mill(1), 1, []int{1}, 7) })
	w.commit(func(tx *plant.Tx) {
		tx.FinishTask(must(tx.State().StartOf(mill(1))).ID, term.PartUnknown)
		tx.StartSlot(millSlot(1), tx.Now().Add(time.Minute))
	})
	w.commit(func(tx *plant.Tx) { tx.LatchDone(mill(1), 1<<32-1, true); tx.FinishSlotIfOccupied(millSlot(1)) },
		func(tx *plant.Tx) { tx.AwaitJudgement(part(1, 1), term.StepResult{Equipment: mill(1), Pass: "fail"}) })
	w.commit(func(tx *plant.Tx) { tx.DoneAcknowledged(mill(1)) })
	w.commit(func(tx *plant.Tx) { tx.ReleaseLatch(mill(1)) })
	w.commit(func(tx *plant.Tx) {
		tx.CompleteStep(part(1, 1), term.StepResult{Equipment: mill(1), Pass: "pass", By: "mai"})
	})
	w.commit(func(tx *plant.Tx) { tx.ReworkJob(part(1, 1), 1) })
	w.commit(func(tx *plant.Tx) { tx.WaitInCell(awkward, plan(1), tx.Now().Add(time.Minute)) })
	w.commit(func(tx *plant.Tx) { tx.WaitInCell("", nil, time.Time{}); tx.MarkCellClean() })
	carry(term.OutPlace(term.OutExit))
	w.commit(func(tx *plant.Tx) {
		tx.CancelOrder(orderNo(1), term.InsideRetire)
		for n := 2; n <= 3; n++ {
			tx.DisposeOfJob(part(1, n), term.DispositionCancel, "x")
			tx.FinishJob(part(1, n), "")
		}
	})
	if n := len(w.state.Jobs()) + len(w.state.Orders()) + len(w.state.Tasks()); n != 0 {
		t.Errorf("%d rows stay in the picture after everything has ended", n)
	}
	var tasks []term.TaskID
	if r, ok := w.store.(Reader); ok {
		log, err := r.ReadLog(w.ctx(), 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range log {
			for _, n := range e.Notes {
				if n.Kind == plant.KindTask && n.Move == "StartTask" {
					tasks = append(tasks, term.TaskID(n.Key))
				}
			}
		}
	}
	k := w.known(message.Need{Tasks: append(tasks, "no uuid", term.TaskID(w.mint.ID(w.now))), Orders: []term.OrderID{orderNo(1), "nobody", "\x00"}})
	if len(k.Tasks) != len(tasks) || len(k.Ends) != 1 || k.Ends[orderNo(1)] != (message.Ends{Completed: 1, Cancelled: 2}) {
		t.Errorf("known: %d of %d tasks, ends %+v", len(k.Tasks), len(tasks), k.Ends)
	}
	for _, task := range k.Tasks {
		if task.State != term.TaskSucceeded {
			t.Errorf("task %s is known as %s", task.ID, task.State)
		}
	}
}
