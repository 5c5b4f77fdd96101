package plant

import (
	"surehand/internal/term"
)

func (tx *Tx) moveOrder(m Move[term.OrderState], id term.OrderID, set func(*Order)) *Order {
	o, ok := tx.w.state.orders[id]
	if !ok {
		broken(6, "%s of order %s, which is not open", m.Name, id)
	}
	m.check(string(id), o.State)
	n := *o
	n.Version++
	if m.To != "" {
		n.State = m.To
	}
	if set != nil {
		set(&n)
	}
	if n.State.Ended() && n.EndedAt.IsZero() {
		n.EndedAt = tx.Now()
	}
	tx.put(m.Name, o, &n)
	return &n
}

// CreateOrder stores a draft and its parts, which have not arrived.
func (tx *Tx) CreateOrder(o Order) *Order {
	o.Version, o.State, o.CreatedAt = 1, term.OrderDraft, tx.Now()
	o.Product, o.Actor = Printable(o.Product), Printable(o.Actor)
	tx.put("CreateOrder", nil, &o)
	for n := 1; n <= o.Planned; n++ {
		tx.put("CreateJob", nil, &Job{ID: term.NewJobID(o.ID, n), Version: 1, OrderID: o.ID, Number: n, State: term.NotArrived,
			Position: term.Place{Type: term.Nowhere}, Disposition: term.DispositionNone})
	}
	return &o
}

// StartOrder lets a draft be worked on.
func (tx *Tx) StartOrder(id term.OrderID) *Order { return tx.moveOrder(orderStart, id, nil) }

// CancelOrder asks for the end of an order; its parts end by the rule, the last one ends the order.
func (tx *Tx) CancelOrder(id term.OrderID, rule term.InsideRule) *Order {
	return tx.moveOrder(orderCancel, id, func(n *Order) { n.Inside = rule })
}

// countEnd counts a part that has just ended and ends the order with its last part. The condition is the part's
// own move: it left an open state in this turn, which can happen once.
func (tx *Tx) countEnd(id term.OrderID, end term.JobState) {
	o, ok := tx.w.state.orders[id]
	if !ok {
		broken(11, "a part of order %s ends, and the order is not open", id)
	}
	count := func(n *Order) {
		switch end {
		case term.Completed:
			n.Completed++
		case term.Scrapped:
			n.Scrapped++
		case term.JobCancelled:
			n.Cancelled++
		}
	}
	open := len(tx.w.state.jobsOf[id])
	switch {
	case o.Left() > 1:
		tx.moveOrder(orderCount, id, count)
	case open > 0:
		// The counters are wrong. An order never ends before its last part; the recount, which is asked for, sets them.
	default:
		tx.endOrder(o, count)
	}
}

// endOrder ends an order whose parts have all ended.
func (tx *Tx) endOrder(o *Order, count func(*Order)) {
	m := orderDone
	if o.State == term.OrderStopping {
		m = orderEnded
	}
	tx.moveOrder(m, o.ID, count)
	for _, reason := range []term.HoldReason{term.HoldPaused, term.HoldParked} {
		tx.LiftHoldIfHeld(OrderSubject(o.ID), reason, "surehand", "the order has ended")
	}
}

// RecountOrder sets the counters to what the parts say; all of them ended: the order ends.
func (tx *Tx) RecountOrder(id term.OrderID, completed, scrapped, cancelled int) {
	set := func(n *Order) { n.Completed, n.Scrapped, n.Cancelled = completed, scrapped, cancelled }
	if o := tx.w.state.orders[id]; o != nil && completed+scrapped+cancelled == o.Planned {
		tx.endOrder(o, set)
		return
	}
	tx.moveOrder(orderRecount, id, set)
}
