package storetest

import (
	"fmt"
	"time"

	"surehand/internal/plant"
	"surehand/internal/term"
)

// The cell of the suite: one robot, one scanner, and for each n a machine, an order and a pallet.
const (
	robot     = term.EquipmentID("robot")
	scanner   = term.EquipmentID("scanner")
	millRoute = term.RouteID("mill")
)

func mill(n int) term.EquipmentID   { return term.EquipmentID(name("mill", n)) }
func millSlot(n int) term.SlotID    { return term.NewSlotID(mill(n), 1) }
func orderNo(n int) term.OrderID    { return term.OrderID(name("WO", n)) }
func part(n, number int) term.JobID { return term.NewJobID(orderNo(n), number) }
func palletNo(n int) term.PalletID  { return term.PalletID(name("P", n)) }
func aboutMill(n int) string        { return plant.EquipmentSubject(mill(n)) }

func steps() []term.Step {
	return []term.Step{
		{Kind: term.StepMachine, Group: "mills", Program: 7, Expected: 30 * sec, Timeout: 90 * sec},
		{Kind: term.StepInspection, Group: "gauge", OnFail: "rework", ReworkTo: 1, ReworkLimit: 2},
	}
}

// configuredCell is a step that stores the cell with the robot, the scanner and machines 1 to n.
func configuredCell(n int) step {
	return func(tx *plant.Tx) {
		tx.ConfigureCell("Cell "+awkward, "cell: {}\n# "+awkward, term.CellConfig{Dock: term.PlaceRow{Count: 64, First: 1}, Buffer: term.PlaceRow{Count: 64, First: 101},
			Exit: 900, Options: term.CellOptions{RefillAt: 4, RefillBy: 2}})
		tx.ConfigureRoute(plant.Route{ID: millRoute, Name: awkward, Steps: steps()})
		configureTool(tx, robot, term.KindRobot)
		configureTool(tx, scanner, term.KindScanner)
		for m := 1; m <= n; m++ {
			configureMill(tx, m)
		}
	}
}

func configureTool(tx *plant.Tx, id term.EquipmentID, kind term.EquipmentKind) {
	tx.ConfigureEquipment(plant.Equipment{ID: id, Name: string(id), Type: kind,
		Config: term.EquipmentConfig{First: 50, Driver: term.DriverConfig{Type: term.DriverTypes(kind)[0]}}.WithDefaults(id)})
}

func configureMill(tx *plant.Tx, n int) {
	tx.ConfigureEquipment(plant.Equipment{ID: mill(n), Name: awkward, Type: term.KindMachine, Config: term.EquipmentConfig{Group: "mills", Slots: 2, Batch: n%2 == 0,
		First: 200 + 2*n, Driver: term.DriverConfig{Type: "modbus-machine", Address: "127.0.0.1:502"}}.WithDefaults(mill(n))})
}

// ordered is an order with parts, started.
func ordered(tx *plant.Tx, n, parts int) {
	tx.CreateOrder(plant.Order{ID: orderNo(n), Product: awkward, RouteID: millRoute, RouteRevision: 1, Steps: steps(), Priority: n, Planned: parts, Actor: "mai"})
	tx.StartOrder(orderNo(n))
}

// arrived brings the first part of an order to dock place n, and reserves buffer place n for it.
func arrived(tx *plant.Tx, n int) {
	tx.ArrivePallet(plant.Pallet{ID: palletNo(n), OrderID: orderNo(n), Places: 1})
	tx.ArriveOnPallet(part(n, 1), n)
	tx.ReserveBufferPlace(part(n, 1), n)
}

// carried is a whole action of the robot: the part of order n is claimed, carried, and is where it should be.
func carried(tx *plant.Tx, n int, to term.Place) {
	t := tx.ClaimJobForAction(part(n, 1), term.TaskMove, robot, to, plan(n))
	tx.FinishTask(t.ID, term.PartAtTo)
	switch to.Type {
	case term.OnBuffer:
		tx.MoveJobToBuffer(part(n, 1))
	case term.OnEquipment:
		tx.MoveJobToEquipment(part(n, 1), term.SlotID(to.Ref))
	case term.OnRobot:
		tx.MoveJobToGripper(part(n, 1), term.EquipmentID(to.Ref))
	case term.Out:
		tx.FinishJob(part(n, 1), to.Ref)
	}
}

func plan(n int) *term.Plan {
	return &term.Plan{Policy: "priority", Why: awkward, Candidates: []term.PlanCandidate{
		{Generator: "load", Job: part(n, 1), From: term.DockPlace(n), To: term.SlotPlace(millSlot(n))},
		{Generator: "refill", Job: part(n, 2), From: term.DockPlace(n), To: term.BufferPlace(1), Reason: "no place is free"}}, LeftOut: n}
}

// asked is a question about machine n, with the readings that it rests on.
func asked(tx *plant.Tx, n int) *plant.Question {
	q, _ := tx.OpenQuestion(plant.Question{Finding: term.FindUnexpected, Subject: aboutMill(n), Touches: []string{aboutMill(n), plant.JobSubject(part(n, 1))},
		Record: awkward, Machine: "done", Readings: []plant.BoundReading{{Equipment: mill(n), Predicates: term.Reading{Reached: true}.Predicates(), At: tx.Now()}},
		Answers:   []term.Answer{{Word: term.AnswerFinished, Effect: awkward}, {Word: term.AnswerRestart, Effect: "starts it"}},
		Suggested: term.AnswerFinished, JobID: part(n, 1), Place: term.SlotPlace(millSlot(n))})
	return q
}

// everyKindOfCell writes one new row of every kind of the production half.
func everyKindOfCell(tx *plant.Tx, n int) {
	configuredCell(0)(tx)
	configureMill(tx, n)
	ordered(tx, n, 2)
	arrived(tx, n)
	carried(tx, n, term.SlotPlace(millSlot(n)))
	tx.StartMachine(mill(n), 1, []int{1}, 7)
	asked(tx, n)
	tx.RaiseAlarm(term.AlarmUnexpected, aboutMill(n), awkward)
}

// versionedInCell changes one row of every kind of the production half. It needs everyKindOfCell(1) before.
func versionedInCell(tx *plant.Tx) {
	s := tx.State()
	tx.AskRefill(true)
	r := *must(s.Route(millRoute))
	r.Name = "renamed"
	tx.ConfigureRoute(r)
	tx.SetEquipmentStatus(mill(1), term.EquipmentRunning)
	tx.StartSlot(millSlot(1), tx.Now().Add(time.Minute))
	tx.LeavePallet(must(s.Pallet(palletNo(1))))
	tx.CancelOrder(orderNo(1), term.InsideFinish)
	tx.DisposeOfJob(part(1, 1), term.DispositionScrap, awkward)
	tx.DoubtTask(must(s.StartOf(mill(1))).ID, awkward)
	tx.ResolveQuestion(must(s.QuestionOf(term.FindUnexpected, aboutMill(1))), term.AnswerFinished, "mai", awkward)
	tx.ShelveAlarm(must(s.AlarmOf(term.AlarmUnexpected, aboutMill(1))), tx.Now().Add(time.Hour), "mai", awkward)
}

// otherWords give each row of the production half another state than it has.
var otherWords = map[plant.Kind]func(plant.Row) plant.Row{
	plant.KindEquipment: func(r plant.Row) plant.Row {
		return altered(r, func(e *plant.Equipment) { e.Latch = term.LatchAcked })
	},
	plant.KindSlot:   func(r plant.Row) plant.Row { return altered(r, func(l *plant.Slot) { l.State = term.SlotDone }) },
	plant.KindPallet: func(r plant.Row) plant.Row { return altered(r, func(p *plant.Pallet) { p.LeftAt = p.ArrivedAt }) },
	plant.KindOrder:  func(r plant.Row) plant.Row { return altered(r, func(o *plant.Order) { o.State = term.OrderDraft }) },
	plant.KindJob:    func(r plant.Row) plant.Row { return altered(r, func(j *plant.Job) { j.State = term.WaitingUnload }) },
	plant.KindTask:   func(r plant.Row) plant.Row { return altered(r, func(t *plant.Task) { t.State = term.TaskUnknown }) },
	plant.KindQuestion: func(r plant.Row) plant.Row {
		return altered(r, func(q *plant.Question) { q.State = term.QuestionResolved })
	},
	plant.KindAlarm: func(r plant.Row) plant.Row {
		return altered(r, func(a *plant.Alarm) { a.State = term.AlarmReturned })
	},
}

// cellPhases are phases of many messages of one kind on orders 1 to n.
func cellPhases() []func(*plant.Tx, int) {
	return []func(*plant.Tx, int){
		configureMill,
		func(tx *plant.Tx, n int) { ordered(tx, n, 3) },
		arrived,
		func(tx *plant.Tx, n int) { carried(tx, n, term.BufferPlace(n)) },
		func(tx *plant.Tx, n int) { carried(tx, n, term.SlotPlace(millSlot(n))) },
		func(tx *plant.Tx, n int) { tx.StartMachine(mill(n), 1, []int{1, 2}, n) },
		func(tx *plant.Tx, n int) { tx.SetEquipmentStatus(mill(n), term.EquipmentRunning) },
		func(tx *plant.Tx, n int) {
			tx.FinishTask(must(tx.State().StartOf(mill(n))).ID, term.PartUnknown)
			tx.StartSlot(millSlot(n), tx.Now().Add(time.Minute))
		},
		func(tx *plant.Tx, n int) { tx.PostponeSlot(millSlot(n), tx.Now().Add(time.Hour), n%2 == 0) },
		func(tx *plant.Tx, n int) {
			tx.LatchDone(mill(n), uint32(n), n%3 == 0)
			tx.FinishSlotIfOccupied(millSlot(n))
			tx.CompleteStep(part(n, 1), term.StepResult{Equipment: mill(n), Cycle: uint32(n), Pass: "pass", Data: fmt.Sprint(n)})
		},
		func(tx *plant.Tx, n int) { tx.ReleaseLatch(mill(n)) },
		func(tx *plant.Tx, n int) { asked(tx, n); tx.RaiseAlarm(term.AlarmUnexpected, aboutMill(n), "x") },
		func(tx *plant.Tx, n int) {
			tx.ResolveQuestion(must(tx.State().QuestionOf(term.FindUnexpected, aboutMill(n))), term.AnswerDismiss, "mai", "x")
			tx.AcknowledgeAlarm(must(tx.State().AlarmOf(term.AlarmUnexpected, aboutMill(n))), "mai")
		},
		func(tx *plant.Tx, n int) { tx.ResolveAlarm(term.AlarmUnexpected, aboutMill(n)) },
		func(tx *plant.Tx, n int) {
			carried(tx, n, term.OutPlace(term.OutExit))
			tx.LeavePallet(must(tx.State().Pallet(palletNo(n))))
		},
		func(tx *plant.Tx, n int) { // the order ends with its last part
			tx.CancelOrder(orderNo(n), term.InsideRetire)
			for number := 2; number <= 3; number++ {
				tx.DisposeOfJob(part(n, number), term.DispositionCancel, "x")
				tx.FinishJob(part(n, number), "")
			}
		},
	}
}
