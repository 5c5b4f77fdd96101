package production

import (
	"surehand/internal/message"
	"surehand/internal/plant"
	"surehand/internal/term"
)

func job(tx *plant.Tx, id term.JobID) (*plant.Job, message.Outcome) {
	j, ok := tx.State().Job(id)
	if !ok {
		return nil, notFound("unknown_job", "There is no open part %s: it never was, or it has ended.", id)
	}
	return j, message.Outcome{}
}

// SuspendJob lets no new action of a part begin (ISA-95: suspended). In the gripper it is put down first.
func SuspendJob(tx *plant.Tx, m message.Message, p message.SuspendJob) message.Outcome {
	j, fault := job(tx, p.Job)
	if j == nil {
		return fault
	}
	subject := plant.JobSubject(j.ID)
	if h, held := tx.State().Held(subject, term.HoldSuspended); held {
		return refused(subject, "suspended", string(j.State), "Part %s is suspended already, by %s.", j.ID, h.By)
	}
	tx.PlaceHold(subject, term.HoldSuspended, m.Actor, p.Reason)
	if j.State == term.Queued && j.TempSlotNo != 0 { // it must not keep a place that another part could use
		tx.ReserveBufferPlace(j.ID, 0)
	}
	return accepted(subject, string(j.ID), string(term.HoldSuspended))
}

// ResumeJob ends a suspension. Refused while a question about the part is open.
func ResumeJob(tx *plant.Tx, m message.Message, p message.ResumeJob) message.Outcome {
	j, fault := job(tx, p.Job)
	if j == nil {
		return fault
	}
	subject := plant.JobSubject(j.ID)
	if n := len(tx.State().AskedAbout(subject)); n > 0 {
		return refused(subject, "question", string(j.State), "Part %s has %d open questions; answer them first.", j.ID, n)
	}
	if !tx.LiftHoldIfHeld(subject, term.HoldSuspended, m.Actor, p.Reason) {
		return refused(subject, "not_suspended", string(j.State), "Part %s is not suspended.", j.ID)
	}
	return accepted(subject, string(j.ID), string(j.State))
}

// ReworkJob sends a part back to a step that it has passed.
func ReworkJob(tx *plant.Tx, p message.ReworkJob) message.Outcome {
	j, fault := job(tx, p.Job)
	if j == nil {
		return fault
	}
	subject := plant.JobSubject(j.ID)
	o, _ := tx.State().Order(j.OrderID)
	switch {
	case p.Reason == "":
		return invalid("/reason", "say why")
	case p.Step < 1 || p.Step > len(o.Steps):
		return invalid("/step", "the route has steps 1 to %d", len(o.Steps))
	case o.State != term.OrderRunning && o.State != term.OrderReady && o.Inside != term.InsideFinish:
		return refused(subject, "order_"+string(o.State), string(j.State), "Order %s is %s; its parts are not worked on any more.", o.ID, o.State)
	case j.State == term.WaitingJudgement:
		return refused(subject, "question", string(j.State), "Part %s waits for judgement; answer that question.", j.ID)
	case j.State != term.Waiting && j.State != term.WaitingUnload:
		return refused(subject, "not_at_rest", string(j.State), "Part %s is %s; it can be sent back when it waits.", j.ID, j.State)
	case len(tx.State().AskedAbout(subject)) > 0:
		return refused(subject, "question", string(j.State), "Part %s has an open question; answer it first.", j.ID)
	case p.Step-1 > j.StepIndex:
		return refused(subject, "step_ahead", string(j.State), "Part %s has not reached step %d.", j.ID, p.Step)
	}
	tx.ReworkJob(j.ID, p.Step-1)
	return accepted(subject, string(j.ID), string(j.State))
}

// ScrapJob lets a part be carried out as not good. One that never came, or stands on its pallet, ends at once.
func ScrapJob(tx *plant.Tx, p message.ScrapJob) message.Outcome {
	j, fault := job(tx, p.Job)
	if j == nil {
		return fault
	}
	subject := plant.JobSubject(j.ID)
	switch {
	case p.Reason == "":
		return invalid("/reason", "say why")
	case j.State == term.NotArrived:
		return refused(subject, "not_arrived", string(j.State), "Part %s has not arrived; cancel the order, or let it come.", j.ID)
	case j.Disposition != term.DispositionNone:
		return refused(subject, "leaving", string(j.State), "Part %s is to leave already (%s).", j.ID, j.Disposition)
	}
	if o, _ := tx.State().Order(j.OrderID); o.State == term.OrderDraft {
		return refused(subject, "order_draft", string(j.State), "Order %s has not been started.", o.ID)
	}
	j = tx.DisposeOfJob(j.ID, term.DispositionScrap, p.Reason)
	endOnDock(tx, j.ID)
	return accepted(subject, string(j.ID), string(j.State))
}

// PalletArrived puts the next parts of an order on the dock: place n of the pallet holds the n-th of them.
func PalletArrived(tx *plant.Tx, p message.PalletArrived, known message.Known) message.Outcome {
	o, fault := order(tx, p.Order)
	if o == nil {
		return fault
	}
	cell, _ := tx.State().Cell()
	subject := plant.PalletSubject(p.Pallet)
	var coming []*plant.Job
	for _, j := range tx.State().JobsOf(o.ID) {
		if j.State == term.NotArrived && len(coming) < p.Quantity {
			coming = append(coming, j)
		}
	}
	switch {
	case !term.ValidName(string(p.Pallet)):
		return invalid("/pallet", term.NoName, p.Pallet)
	case p.Quantity < 1 || p.Quantity > cell.Config.Dock.Count:
		return invalid("/quantity", "the dock has %d places", cell.Config.Dock.Count)
	case o.State == term.OrderStopping:
		return refused(subject, "order_"+string(o.State), string(o.State), "Order %s is %s; it takes no more parts.", o.ID, o.State)
	case len(tx.State().Pallets()) > 0:
		return refused(subject, "dock_taken", "", "Pallet %s is at the dock; it has to leave first.", tx.State().Pallets()[0].ID)
	case known.Pallets[p.Pallet]:
		return refused(subject, "pallet_used", "", "There was a pallet %s already; a number is used once. Give this delivery another one.", p.Pallet)
	case p.Quantity > len(coming):
		return refused(subject, "too_many_parts", string(o.State), "Order %s waits for %d more parts.", o.ID, len(coming))
	}
	tx.ArrivePallet(plant.Pallet{ID: p.Pallet, OrderID: o.ID, Places: p.Quantity})
	for n, j := range coming {
		tx.ArriveOnPallet(j.ID, n+1)
	}
	return accepted(subject, string(p.Pallet), string(o.State))
}

// PalletLeft: the dock is free. Refused while a part of an open job stands on the pallet.
func PalletLeft(tx *plant.Tx, p message.PalletLeft) message.Outcome {
	pallet, ok := tx.State().Pallet(p.Pallet)
	if !ok {
		return notFound("unknown_pallet", "There is no pallet %s at the dock.", p.Pallet)
	}
	for _, j := range tx.State().Placed() {
		if j.Position.Type == term.OnDock {
			return refused(plant.PalletSubject(p.Pallet), "parts_left", string(j.State),
				"Part %s still stands on the pallet. Report it as removed, or cancel its order, if it is to leave.", j.ID)
		}
	}
	tx.LeavePallet(pallet)
	return accepted(plant.PalletSubject(p.Pallet), string(p.Pallet), "")
}

// RefillRequested brings parts from the dock although fewer buffer places than usual are free.
func RefillRequested(tx *plant.Tx) message.Outcome {
	if _, ok := tx.State().Cell(); !ok {
		return noCell()
	}
	tx.AskRefill(true)
	return accepted(plant.CellSubject, "", "")
}

func noCell() message.Outcome {
	return notFound("no_cell", "No plant file has been imported.")
}
