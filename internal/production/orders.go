package production

import (
	"fmt"

	"surehand/internal/message"
	"surehand/internal/plant"
	"surehand/internal/term"
)

func accepted(subject, id, state string) message.Outcome {
	return message.Outcome{Code: message.Accepted, Subject: subject, ID: id, State: state}
}

func refused(subject, reason, state, format string, args ...any) message.Outcome {
	return message.Outcome{Code: message.Refused, Reason: reason, State: state, Subject: subject, Detail: fmt.Sprintf(format, args...)}
}

func notFound(reason, format string, args ...any) message.Outcome {
	return message.Outcome{Code: message.NotFound, Reason: reason, Detail: fmt.Sprintf(format, args...)}
}

func invalid(pointer, format string, args ...any) message.Outcome {
	return message.Outcome{Code: message.Invalid, Problems: []message.Problem{{Pointer: pointer, Detail: fmt.Sprintf(format, args...)}}}
}

func ignored(reason string) message.Outcome {
	return message.Outcome{Code: message.Ignored, Reason: reason}
}

// Needs adds to need what the store has to be asked before a message of the cell can be decided.
func Needs(s *plant.State, m message.Message, need *message.Need) {
	switch p := m.Payload.(type) {
	case message.ActionEnded:
		if _, open := s.Task(p.Task); !open {
			need.Tasks = append(need.Tasks, p.Task)
		}
	case message.PalletArrived:
		need.Pallets = append(need.Pallets, p.Pallet)
	case message.CreateOrder:
		need.Orders = append(need.Orders, p.ID)
	case message.ResolveManualAction:
		if q, open := s.Question(p.Question); open && q.Finding == term.FindCounters {
			for _, o := range s.Orders() {
				if plant.OrderSubject(o.ID) == q.Subject {
					need.Orders = append(need.Orders, o.ID)
				}
			}
		}
	}
}

// CreateOrder stores a draft (ISA-95: NotAllowedToStart) with the steps of its route as they are now.
func CreateOrder(tx *plant.Tx, m message.Message, p message.CreateOrder, known message.Known) message.Outcome {
	if p.ID == "" {
		p.ID = term.OrderID("WO-" + tx.Now().Format("20060102-150405") + "-" + string(m.ID)[max(0, len(m.ID)-4):])
	}
	route, ok := tx.State().Route(p.Route)
	switch {
	case !term.ValidName(string(p.ID)) || len(p.ID) > maxOrderName:
		return invalid("/id", "%q is no order number: 1 to %d letters, digits, '-', '_' or '.'", p.ID, maxOrderName)
	case !ok:
		return invalid("/route", "there is no route %q", p.Route)
	case p.Quantity < 1 || p.Quantity > plant.MaxParts:
		return invalid("/quantity", "1 to %d parts", plant.MaxParts)
	case p.Priority < -100 || p.Priority > 100:
		return invalid("/priority", "-100 to 100")
	}
	if o, open := tx.State().Order(p.ID); open {
		return refused(plant.OrderSubject(p.ID), "order_exists", string(o.State), "There is an order %s already; it is %s.", p.ID, o.State)
	}
	if _, ended := known.Ends[p.ID]; ended {
		return refused(plant.OrderSubject(p.ID), "order_exists", "", "There was an order %s already; a number is used once.", p.ID)
	}
	if len(tx.State().Orders()) >= plant.MaxOpenOrders {
		return refused(plant.OrderSubject(p.ID), "too_many_orders", "", "%d orders are open; finish or cancel one first.", plant.MaxOpenOrders)
	}
	o := tx.CreateOrder(plant.Order{ID: p.ID, Product: p.Product, RouteID: route.ID, RouteRevision: route.Revision, Steps: route.Steps,
		Priority: p.Priority, Planned: p.Quantity, Actor: m.Actor})
	return accepted(plant.OrderSubject(o.ID), string(o.ID), string(o.State))
}

// maxOrderName leaves room for a part's number in its name.
const maxOrderName = 56

func order(tx *plant.Tx, id term.OrderID) (*plant.Order, message.Outcome) {
	o, ok := tx.State().Order(id)
	if !ok {
		return nil, notFound("unknown_order", "There is no open order %s: it never was, or it has ended.", id)
	}
	return o, message.Outcome{}
}

// StartOrder lets an order be worked on. Its first move is decided in the same batch.
func StartOrder(tx *plant.Tx, p message.StartOrder) message.Outcome {
	o, fault := order(tx, p.Order)
	if o == nil {
		return fault
	}
	if o.State != term.OrderDraft {
		return refused(plant.OrderSubject(o.ID), "not_draft", string(o.State), "Order %s is %s; only a draft can be started.", o.ID, o.State)
	}
	o = tx.StartOrder(o.ID)
	return accepted(plant.OrderSubject(o.ID), string(o.ID), string(o.State))
}

// PauseOrder lets no new action of an order begin (ISA-95: suspended). What is under way ends; a part in the gripper
// is put down.
func PauseOrder(tx *plant.Tx, m message.Message, p message.PauseOrder) message.Outcome {
	o, fault := order(tx, p.Order)
	if o == nil {
		return fault
	}
	subject := plant.OrderSubject(o.ID)
	if o.State == term.OrderDraft {
		return refused(subject, "not_started", string(o.State), "Order %s is a draft; there is nothing to pause.", o.ID)
	}
	if h, held := tx.State().Held(subject, term.HoldPaused); held {
		return refused(subject, "paused", string(o.State), "Order %s is paused already, by %s.", o.ID, h.By)
	}
	tx.PlaceHold(subject, term.HoldPaused, m.Actor, p.Reason)
	return accepted(subject, string(o.ID), string(term.HoldPaused))
}

// ResumeOrder ends a pause. What else holds the order or its parts stays.
func ResumeOrder(tx *plant.Tx, m message.Message, p message.ResumeOrder) message.Outcome {
	o, fault := order(tx, p.Order)
	if o == nil {
		return fault
	}
	subject := plant.OrderSubject(o.ID)
	if n := len(tx.State().AskedAbout(subject)); n > 0 {
		return refused(subject, "question", string(o.State), "Order %s has %d open questions; answer them first.", o.ID, n)
	}
	if !tx.LiftHoldIfHeld(subject, term.HoldPaused, m.Actor, p.Reason) {
		return refused(subject, "not_paused", string(o.State), "Order %s is not paused.", o.ID)
	}
	return accepted(subject, string(o.ID), string(o.State))
}

// CancelOrder ends an order. Parts that are not in the cell end at once; parts inside are carried out, or finished
// first, and the last of them ends the order. A part in the gripper is put down first.
func CancelOrder(tx *plant.Tx, m message.Message, p message.CancelOrder) message.Outcome {
	o, fault := order(tx, p.Order)
	if o == nil {
		return fault
	}
	subject := plant.OrderSubject(o.ID)
	switch p.Inside {
	case "":
		p.Inside = term.InsideRetire
	case term.InsideRetire, term.InsideFinish:
	default:
		return invalid("/inside", "retire or finish")
	}
	if o.State == term.OrderStopping && (o.Inside == p.Inside || p.Inside == term.InsideFinish) {
		return refused(subject, "stopping", string(o.State), "Order %s is stopping already: its parts %s.", o.ID, o.Inside)
	}
	tx.CancelOrder(o.ID, p.Inside)
	tx.LiftHoldIfHeld(subject, term.HoldPaused, m.Actor, "the order is cancelled")
	for _, j := range tx.State().JobsOf(o.ID) {
		switch {
		case j.State == term.NotArrived:
			tx.DisposeOfJob(j.ID, term.DispositionCancel, p.Reason)
			tx.FinishJob(j.ID, "")
		case j.State == term.Queued:
			leaveOnPallet(tx, j)
		case p.Inside == term.InsideRetire && j.Disposition == term.DispositionNone:
			tx.DisposeOfJob(j.ID, term.DispositionCancel, p.Reason)
		}
	}
	state := term.OrderCancelled // unless parts are left
	if o, open := tx.State().Order(p.Order); open {
		state = o.State
	}
	return accepted(subject, string(p.Order), string(state))
}

// leaveOnPallet ends a part that stays on its pallet. A question about it comes first.
func leaveOnPallet(tx *plant.Tx, j *plant.Job) {
	if j.Disposition == term.DispositionNone {
		j = tx.DisposeOfJob(j.ID, term.DispositionCancel, "left on pallet")
	}
	if len(tx.State().AskedAbout(plant.JobSubject(j.ID))) == 0 {
		tx.FinishJob(j.ID, term.OutPallet)
	}
}

// endOnDock ends a part that rests on its pallet although it is to leave: its order was cancelled, or it was scrapped,
// while it was being picked.
func endOnDock(tx *plant.Tx, id term.JobID) {
	j, open := tx.State().Job(id)
	if !open || j.State != term.Queued {
		return
	}
	if o, ok := tx.State().Order(j.OrderID); ok && (o.State == term.OrderStopping || j.Disposition != term.DispositionNone) {
		leaveOnPallet(tx, j)
	}
}
