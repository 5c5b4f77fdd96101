package production_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"surehand/internal/message"
	"surehand/internal/plant"
	"surehand/internal/production"
	"surehand/internal/recovery"
	"surehand/internal/term"
)

var kim = message.Message{ID: "0001", Source: message.FromPerson, Actor: "kim"}

func (b *bench) ask(p message.Payload) message.Outcome {
	return b.decide(func(tx *plant.Tx) message.Outcome {
		switch p := p.(type) {
		case message.CreateOrder:
			return production.CreateOrder(tx, kim, p, b.known)
		case message.StartOrder:
			return production.StartOrder(tx, p)
		case message.PauseOrder:
			return production.PauseOrder(tx, kim, p)
		case message.ResumeOrder:
			return production.ResumeOrder(tx, kim, p)
		case message.CancelOrder:
			return production.CancelOrder(tx, kim, p)
		case message.SuspendJob:
			return production.SuspendJob(tx, kim, p)
		case message.ResumeJob:
			return production.ResumeJob(tx, kim, p)
		case message.ReworkJob:
			return production.ReworkJob(tx, p)
		case message.ScrapJob:
			return production.ScrapJob(tx, p)
		case message.PalletArrived:
			return production.PalletArrived(tx, p, b.known)
		case message.PalletLeft:
			return production.PalletLeft(tx, p)
		case message.PauseCell:
			return production.PauseCell(tx, kim, p)
		case message.ReleaseCell:
			return production.ReleaseCell(tx, kim, p)
		case message.DisableEquipment:
			return production.DisableEquipment(tx, kim, p)
		case message.EnableEquipment:
			return production.EnableEquipment(tx, kim, p)
		case message.AckAlarm:
			return production.AckAlarm(tx, kim, p)
		case message.ShelveAlarm:
			return production.ShelveAlarm(tx, kim, p)
		case message.ReportPart:
			return recovery.ReportPart(tx, p)
		}
		b.t.Fatalf("no decider for %T", p)
		return message.Outcome{}
	})
}

// inCell is a cell out of recovery with an order A of three parts: A.1 on buffer place 1, A.2 on its pallet P, A.3 not
// arrived; and a draft D.
func inCell(t *testing.T) *bench {
	b := newBench(t)
	require.Equal(t, message.Accepted, b.load(file()).Code)
	b.with(func(tx *plant.Tx) {
		tx.LiftHoldIfHeld(plant.CellSubject, term.HoldRecovery, "kim", "")
		r, _ := tx.State().Route("housing")
		tx.CreateOrder(plant.Order{ID: "A", RouteID: r.ID, Steps: r.Steps, Planned: 3})
		tx.CreateOrder(plant.Order{ID: "D", RouteID: r.ID, Steps: r.Steps, Planned: 2})
		tx.StartOrder("A")
		tx.ArrivePallet(plant.Pallet{ID: "P", OrderID: "A", Places: 2})
		tx.ArriveOnPallet("A.1", 1)
		tx.ArriveOnPallet("A.2", 2)
		tx.ReserveBufferPlace("A.1", 1)
		tx.ClaimJobForAction("A.1", term.TaskMove, "robot", term.BufferPlace(1), nil)
		tx.FinishTask(tx.State().Tasks()[0].ID, term.PartAtTo)
		tx.MoveJobToBuffer("A.1")
	})
	b.known.Ends = map[term.OrderID]message.Ends{"OLD": {Completed: 1}}
	b.known.Pallets = map[term.PalletID]bool{"OLD": true, "P": true}
	return b
}

// Every refusal names its reason and the state that forbids it. Of several, the first of the order in which they are
// listed is told: what was asked for does not exist, it was asked wrongly, its own state, what stands around it.
func TestEachRefusalOfAPersonsCommand(t *testing.T) {
	ask := func(f term.Finding, subject string) func(*plant.Tx) {
		return func(tx *plant.Tx) {
			tx.OpenQuestion(plant.Question{Finding: f, Subject: subject, Answers: []term.Answer{{Word: "retry"}}})
		}
	}
	after := func(ps ...message.Payload) func(*bench) {
		return func(b *bench) {
			for _, p := range ps {
				require.Equal(b.t, message.Accepted, b.ask(p).Code, "%+v", p)
			}
		}
	}
	alarmed := func(kind term.AlarmKind) func(*bench) {
		return func(b *bench) {
			b.with(func(tx *plant.Tx) { tx.RaiseAlarm(kind, "cell", "x") })
			b.alarm()
		}
	}
	asked := func(f term.Finding, subject string) func(*bench) {
		return func(b *bench) { b.with(ask(f, subject)) }
	}
	in := func(j term.JobID) func(*bench) { // an action for the part is open
		return func(b *bench) {
			b.with(func(tx *plant.Tx) { tx.ClaimJobForAction(j, term.TaskMove, "robot", term.OutPlace(term.OutExit), nil) })
		}
	}
	const no, bad, missing = message.Refused, message.Invalid, message.NotFound
	order := func(id term.OrderID, change func(*message.CreateOrder)) message.CreateOrder {
		p := message.CreateOrder{ID: id, Route: "housing", Quantity: 1}
		if change != nil {
			change(&p)
		}
		return p
	}
	for _, c := range []struct {
		name   string
		before func(*bench)
		ask    message.Payload
		code   message.Code
		reason string // or the pointer of what was asked wrongly
		state  string
	}{
		{"a number that is no name", nil, order("A B", nil), bad, "/id", ""},
		{"an unknown route, of an order that exists", nil, order("A", func(p *message.CreateOrder) { p.Route = "x" }), bad, "/route", ""},
		{"no parts", nil, order("B", func(p *message.CreateOrder) { p.Quantity = 0 }), bad, "/quantity", ""},
		{"too many parts", nil, order("B", func(p *message.CreateOrder) { p.Quantity = plant.MaxParts + 1 }), bad, "/quantity", ""},
		{"a priority beyond all", nil, order("B", func(p *message.CreateOrder) { p.Priority = 101 }), bad, "/priority", ""},
		{"an order that is open", nil, order("A", nil), no, "order_exists", "running"},
		{"an order that has ended", nil, order("OLD", nil), no, "order_exists", ""},
		{"start, no such order", nil, message.StartOrder{Order: "B"}, missing, "unknown_order", ""},
		{"start, started", nil, message.StartOrder{Order: "A"}, no, "not_draft", "running"},
		{"pause, no such order", nil, message.PauseOrder{Order: "B"}, missing, "unknown_order", ""},
		{"pause, a draft", nil, message.PauseOrder{Order: "D"}, no, "not_started", "draft"},
		{"pause, paused", after(message.PauseOrder{Order: "A"}), message.PauseOrder{Order: "A"}, no, "paused", "running"},
		{"resume, no such order", nil, message.ResumeOrder{Order: "B"}, missing, "unknown_order", ""},
		{"resume, not paused", nil, message.ResumeOrder{Order: "A"}, no, "not_paused", "running"},
		{"resume, not paused, with a question", asked(term.FindCounters, "order:A"), message.ResumeOrder{Order: "A"}, no, "question", "running"},
		{"cancel, no such order", nil, message.CancelOrder{Order: "B", Inside: "x"}, missing, "unknown_order", ""},
		{"cancel, no such rule", nil, message.CancelOrder{Order: "A", Inside: "x"}, bad, "/inside", ""},
		{"cancel, cancelled", after(message.CancelOrder{Order: "A"}), message.CancelOrder{Order: "A"}, no, "stopping", "stopping"},
		{"cancel softer", after(message.CancelOrder{Order: "A"}), message.CancelOrder{Order: "A", Inside: term.InsideFinish}, no, "stopping", "stopping"},
		{"cancel harder", after(message.CancelOrder{Order: "A", Inside: term.InsideFinish}), message.CancelOrder{Order: "A"}, message.Accepted, "", "stopping"},
		{"suspend, no such part", nil, message.SuspendJob{Job: "A.9"}, missing, "unknown_job", ""},
		{"suspend, suspended", after(message.SuspendJob{Job: "A.1"}), message.SuspendJob{Job: "A.1"}, no, "suspended", "WAITING"},
		{"resume, not suspended", nil, message.ResumeJob{Job: "A.1"}, no, "not_suspended", "WAITING"},
		{"resume, with a question", asked(term.FindActionFailed, "job:A.1"), message.ResumeJob{Job: "A.1"}, no, "question", "WAITING"},
		{"rework, no such part", nil, message.ReworkJob{Job: "A.9"}, missing, "unknown_job", ""},
		{"rework, no reason and no step", nil, message.ReworkJob{Job: "A.3"}, bad, "/reason", ""},
		{"rework, no such step", nil, message.ReworkJob{Job: "A.3", Step: 3, Reason: "x"}, bad, "/step", ""},
		{"rework, retired", after(message.CancelOrder{Order: "A"}), message.ReworkJob{Job: "A.1", Step: 1, Reason: "x"}, no, "order_stopping", "WAITING"},
		{"rework, not arrived", nil, message.ReworkJob{Job: "A.3", Step: 1, Reason: "x"}, no, "not_at_rest", "NOT_ARRIVED"},
		{"rework, under way, with a question", func(b *bench) { in("A.1")(b); asked(term.FindActionFailed, "job:A.1")(b) }, message.ReworkJob{Job: "A.1", Step: 1, Reason: "x"}, no, "not_at_rest", "MOVING"},
		{"rework, with a question", asked(term.FindActionFailed, "job:A.1"), message.ReworkJob{Job: "A.1", Step: 2, Reason: "x"}, no, "question", "WAITING"},
		{"rework, a step ahead", nil, message.ReworkJob{Job: "A.1", Step: 2, Reason: "x"}, no, "step_ahead", "WAITING"},
		{"scrap, no such part", nil, message.ScrapJob{Job: "A.9"}, missing, "unknown_job", ""},
		{"scrap, no reason", nil, message.ScrapJob{Job: "A.3"}, bad, "/reason", ""},
		{"scrap, not arrived", nil, message.ScrapJob{Job: "A.3", Reason: "x"}, no, "not_arrived", "NOT_ARRIVED"},
		{"scrap, scrapped", after(message.ScrapJob{Job: "A.1", Reason: "x"}), message.ScrapJob{Job: "A.1", Reason: "x"}, no, "leaving", "WAITING"},
		{"pallet, no such order", nil, message.PalletArrived{Order: "B"}, missing, "unknown_order", ""},
		{"pallet, no name, and the dock is taken", nil, message.PalletArrived{Order: "A", Pallet: "a b"}, bad, "/pallet", ""},
		{"pallet, no parts, and the dock is taken", nil, message.PalletArrived{Order: "A", Pallet: "Q"}, bad, "/quantity", ""},
		{"pallet, more parts than places", nil, message.PalletArrived{Order: "A", Pallet: "Q", Quantity: 5}, bad, "/quantity", ""},
		{"pallet, of a cancelled order, and the dock is taken", after(message.CancelOrder{Order: "A"}), message.PalletArrived{Order: "A", Pallet: "Q", Quantity: 1}, no, "order_stopping", "stopping"},
		{"pallet, the dock is taken", nil, message.PalletArrived{Order: "A", Pallet: "OLD", Quantity: 4}, no, "dock_taken", ""},
		{"pallet, its number was used", freeDock, message.PalletArrived{Order: "D", Pallet: "OLD", Quantity: 4}, no, "pallet_used", ""},
		{"pallet, more parts than the order waits for", freeDock, message.PalletArrived{Order: "D", Pallet: "Q", Quantity: 3}, no, "too_many_parts", "draft"},
		{"pallet leaves, no such pallet", nil, message.PalletLeft{Pallet: "Q"}, missing, "unknown_pallet", ""},
		{"pallet leaves with a part", nil, message.PalletLeft{Pallet: "P"}, no, "parts_left", "QUEUED"},
		{"pallet leaves with a part that is being picked", func(b *bench) {
			b.with(func(tx *plant.Tx) { tx.ReserveBufferPlace("A.2", 2) })
			b.with(func(tx *plant.Tx) { tx.ClaimJobForAction("A.2", term.TaskMove, "robot", term.BufferPlace(2), nil) })
		}, message.PalletLeft{Pallet: "P"}, no, "parts_left", "MOVING"},
		{"pause the cell, paused", after(message.PauseCell{}), message.PauseCell{}, no, "paused", "paused"},
		{"release the cell, not paused", nil, message.ReleaseCell{}, no, "not_paused", ""},
		{"disable, no such equipment", nil, message.DisableEquipment{Equipment: "x"}, missing, "unknown_equipment", ""},
		{"disable, no reason", nil, message.DisableEquipment{Equipment: "lathe"}, bad, "/reason", ""},
		{"disable, disabled", after(message.DisableEquipment{Equipment: "lathe", Reason: "x"}), message.DisableEquipment{Equipment: "lathe", Reason: "x"}, no, "disabled", "OFFLINE"},
		{"enable, not disabled", nil, message.EnableEquipment{Equipment: "lathe", Reason: "x"}, no, "not_disabled", "OFFLINE"},
		{"acknowledge, no such alarm", nil, message.AckAlarm{Alarm: "x"}, missing, "unknown_alarm", ""},
		{"acknowledge, acknowledged", func(b *bench) { alarmed(term.AlarmFault)(b); after(message.AckAlarm{Alarm: b.alarm()})(b) }, message.AckAlarm{}, no, "acknowledged", "acknowledged"},
		{"shelve, no such alarm", nil, message.ShelveAlarm{Alarm: "x"}, missing, "unknown_alarm", ""},
		{"shelve, no reason", alarmed(term.AlarmPartLost), message.ShelveAlarm{For: hour}, bad, "/reason", ""},
		{"shelve, no time", alarmed(term.AlarmPartLost), message.ShelveAlarm{Reason: "x"}, bad, "/for", ""},
		{"shelve for too long", alarmed(term.AlarmFault), message.ShelveAlarm{For: 25 * hour, Reason: "x"}, bad, "/for", ""},
		{"shelve, a part may be lost", alarmed(term.AlarmPartLost), message.ShelveAlarm{For: hour, Reason: "x"}, no, "not_shelvable", "unacknowledged"},
		{"shelve, of a recovery", alarmed(term.AlarmRecovery), message.ShelveAlarm{For: hour, Reason: "x"}, no, "not_shelvable", "unacknowledged"},
		{"shelve, an action is in doubt", alarmed(term.AlarmTaskUnknown), message.ShelveAlarm{For: hour, Reason: "x"}, no, "not_shelvable", "unacknowledged"},
		{"report, no such part", nil, message.ReportPart{Job: "A.9"}, missing, "unknown_job", ""},
		{"report, no reason", nil, message.ReportPart{Job: "A.3"}, bad, "/reason", ""},
		{"report, not arrived", nil, message.ReportPart{Job: "A.3", Reason: "x"}, no, "not_arrived", "NOT_ARRIVED"},
		{"report, an action is open", in("A.1"), message.ReportPart{Job: "A.1", Reason: "x"}, no, "in_action", "RUNNING"},
		{"report on a place of another part", nil, message.ReportPart{Job: "A.2", Place: term.BufferPlace(1), Reason: "x"}, bad, "/place", ""},
		{"report beyond the buffer", nil, message.ReportPart{Job: "A.1", Place: term.BufferPlace(5), Reason: "x"}, bad, "/place", ""},
		{"report on the dock", nil, message.ReportPart{Job: "A.1", Place: term.DockPlace(3), Reason: "x"}, bad, "/place", ""},
		{"report in a slot that does not exist", nil, message.ReportPart{Job: "A.1", Place: term.SlotPlace("lathe:3"), Reason: "x"}, bad, "/place", ""},
		{"report in the gripper, without a place to put it", nil, message.ReportPart{Job: "A.2", Place: term.GripperPlace(), Reason: "x"}, bad, "/place", ""},
		{"report at a place that is none", nil, message.ReportPart{Job: "A.1", Place: term.Place{Type: "ON_FLOOR", Ref: "1"}, Reason: "x"}, bad, "/place", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := inCell(t)
			if c.before != nil {
				c.before(b)
			}
			switch p := c.ask.(type) { // the alarm of the test
			case message.AckAlarm:
				if p.Alarm == "" {
					p.Alarm = b.alarm()
				}
				c.ask = p
			case message.ShelveAlarm:
				if p.Alarm == "" {
					p.Alarm = b.alarm()
				}
				c.ask = p
			}
			before := b.state.Rows()
			o := b.ask(c.ask)
			require.Equal(t, c.code, o.Code, "%+v", o)
			if c.code == message.Invalid {
				require.Len(t, o.Problems, 1)
				require.Equal(t, c.reason, o.Problems[0].Pointer)
				require.NotEmpty(t, o.Problems[0].Detail)
			} else {
				require.Equal(t, c.reason, o.Reason)
			}
			require.Equal(t, c.state, o.State)
			if c.code != message.Accepted {
				require.Equal(t, before, b.state.Rows(), "nothing has changed")
			}
			if c.code == message.Refused || c.code == message.NotFound {
				require.NotEmpty(t, o.Detail, "a reason that a person can read")
			}
		})
	}
}

const hour = term.Duration(3600e9)

func (b *bench) alarm() term.AlarmID {
	require.Len(b.t, b.state.Alarms(), 1)
	return b.state.Alarms()[0].ID
}

func freeDock(b *bench) {
	b.with(func(tx *plant.Tx) {
		tx.DisposeOfJob("A.2", term.DispositionScrap, "x")
		tx.FinishJob("A.2", term.OutRemoved)
	})
	require.Equal(b.t, message.Accepted, b.ask(message.PalletLeft{Pallet: "P"}).Code)
}
