package main

import (
	"fmt"
	"net/url"
	"strings"
	"text/tabwriter"

	"surehand/api"
)

type orderCommand struct {
	Create orderCreate `cmd:"" help:"Store a work order as a draft."`
	Start  orderStart  `cmd:"" help:"Let a draft be worked on."`
	Pause  orderPause  `cmd:"" help:"Let no new action of an order begin."`
	Resume orderResume `cmd:"" help:"End a pause."`
	Cancel orderCancel `cmd:"" help:"End an order; parts in the cell are carried out, or finished first."`
	List   orderList   `cmd:"" help:"List orders that have not ended."`
	Show   orderShow   `cmd:"" help:"Show an order and its parts."`
}

type orderCreate struct {
	Route    string `arg:"" help:"Route of the plant file."`
	Quantity int    `arg:"" help:"How many parts, 1 to 10000."`
	ID       string `help:"Number of the order; made from the time if it is left out." placeholder:"WO-1001"`
	Product  string `help:"What is made, in words."`
	Priority int    `help:"-100 to 100; higher goes first."`
}

func (o *orderCreate) Run(c *commands) error {
	answer, err := c.send("/orders", map[string]any{"id": o.ID, "product": o.Product, "route": o.Route, "quantity": o.Quantity, "priority": o.Priority})
	if err != nil {
		return err
	}
	return c.say("Order %s is a %s. 'surehand order start %s' lets it be worked on.\n", answer.ID, answer.State, answer.ID)
}

// orderReason is an order with a reason that may be left out.
type orderReason struct {
	ID     string `arg:"" help:"Number of the order."`
	Reason string `help:"Why; it stays in the record."`
}

func (o *orderReason) tell(c *commands, verb string) error {
	answer, err := c.send("/orders/"+url.PathEscape(o.ID)+"/"+verb, map[string]string{"reason": o.Reason})
	if err != nil {
		return named(err, "order", o.ID)
	}
	return c.say("Order %s: %s.\n", o.ID, answer.State)
}

type orderStart struct {
	ID string `arg:"" help:"Number of the order."`
}

func (o *orderStart) Run(c *commands) error { return (&orderReason{ID: o.ID}).tell(c, "start") }

type orderPause struct{ orderReason }

func (o *orderPause) Run(c *commands) error { return o.tell(c, "pause") }

type orderResume struct{ orderReason }

func (o *orderResume) Run(c *commands) error { return o.tell(c, "resume") }

type orderCancel struct {
	orderReason
	Inside string `help:"What becomes of the parts in the cell: retire (to the exit as they are) or finish (their whole route first)." enum:"retire,finish" default:"retire"`
}

func (o *orderCancel) Run(c *commands) error {
	answer, err := c.send("/orders/"+url.PathEscape(o.ID)+"/cancel", map[string]string{"inside": o.Inside, "reason": o.Reason})
	if err != nil {
		return named(err, "order", o.ID)
	}
	return c.say("Order %s: %s.\n", o.ID, answer.State)
}

type orderList struct {
	All  bool `help:"Also those that have ended, newest first, at most 500."`
	JSON bool `name:"json" help:"As the interface says it."`
}

func (o *orderList) Run(c *commands) error {
	path := "/orders?limit=500"
	if !o.All {
		path += "&state=draft,ready,running,stopping"
	}
	var list api.List[api.Order]
	data, err := c.get(path, &list)
	if err != nil {
		return err
	}
	if o.JSON {
		return c.say("%s", data)
	}
	err = c.table("ORDER\tSTATE\tROUTE\tPRIORITY\tPLANNED\tCOMPLETED\tSCRAPPED\tCANCELLED\tHELD", len(list.Items), func(n int) string {
		o := list.Items[n]
		return fmt.Sprintf("%s\t%s\t%s\t%d\t%d\t%d\t%d\t%d\t%s", o.ID, o.State, o.RouteID, o.Priority, o.Planned, o.Completed, o.Scrapped, o.Cancelled, held(o.Holds, len(o.ManualActions)))
	})
	if err != nil {
		return err
	}
	return c.sayWhy()
}

type orderShow struct {
	ID   string `arg:"" help:"Number of the order."`
	JSON bool   `name:"json" help:"The order as the interface says it; its parts are at /api/v1/jobs."`
}

func (o *orderShow) Run(c *commands) error {
	var order api.Order
	data, err := c.get("/orders/"+url.PathEscape(o.ID), &order)
	if err != nil {
		return named(err, "order", o.ID)
	}
	if o.JSON {
		return c.say("%s", data)
	}
	jobs, err := all[api.Job](c, "/jobs?limit=500&order="+url.QueryEscape(o.ID))
	if err != nil {
		return err
	}
	if err := c.say("Order %s: %s. Route %s, %d of %s left.\n", order.ID, order.State, order.RouteID, order.Left, count(order.Planned, "part")); err != nil {
		return err
	}
	if why := held(order.Holds, len(order.ManualActions)); why != "" {
		if err := c.say("Held: %s\n", why); err != nil {
			return err
		}
	}
	err = c.table("PART\tSTATE\tPLACE\tBUFFER\tSTEP\tHELD", len(jobs), func(n int) string {
		step := "done"
		if at := jobs[n].StepIndex; at < len(order.Steps) {
			step = fmt.Sprintf("%d of %d", at+1, len(order.Steps))
		}
		return partRow(jobs[n], step)
	})
	if err != nil {
		return err
	}
	return c.sayWhy()
}

// held says in a few words why something does not go on.
func held(holds []api.Hold, questions int) string {
	var why []string
	for _, h := range holds {
		why = append(why, string(h.Hold)+" by "+h.By+because(h.Why))
	}
	if questions > 0 {
		why = append(why, count(questions, "open question"))
	}
	return strings.Join(why, ", ")
}

// table prints rows under a head, in columns.
func (c *commands) table(head string, rows int, row func(int) string) error {
	w := tabwriter.NewWriter(c.out, 0, 0, 2, ' ', 0)
	lines := []string{head}
	for n := range rows {
		lines = append(lines, row(n))
	}
	if _, err := fmt.Fprintln(w, strings.Join(lines, "\n")); err != nil {
		return err
	}
	return w.Flush()
}

type palletCommand struct {
	Arrived palletArrived `cmd:"" help:"A pallet with the next parts of an order stands at the dock."`
	Left    palletLeft    `cmd:"" help:"A pallet is gone."`
}

type palletArrived struct {
	Pallet   string `arg:"" help:"Name of the pallet."`
	Order    string `arg:"" help:"Number of the order."`
	Quantity int    `arg:"" help:"How many parts are on it; they stand on its places 1 and up."`
}

func (p *palletArrived) Run(c *commands) error {
	if _, err := c.send("/orders/"+url.PathEscape(p.Order)+"/pallets", map[string]any{"pallet": p.Pallet, "quantity": p.Quantity}); err != nil {
		return named(err, "order", p.Order)
	}
	return c.say("Pallet %s stands at the dock with %s of order %s.\n", p.Pallet, count(p.Quantity, "part"), p.Order)
}

type palletLeft struct {
	Pallet string `arg:"" help:"Name of the pallet."`
}

func (p *palletLeft) Run(c *commands) error {
	if _, err := c.send("/pallets/"+url.PathEscape(p.Pallet)+"/leave", map[string]string{}); err != nil {
		return named(err, "pallet", p.Pallet)
	}
	return c.say("Pallet %s is gone.\n", p.Pallet)
}
