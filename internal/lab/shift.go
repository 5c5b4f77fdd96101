package lab

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

const (
	shiftID = "shift:orders"
	// perPallet is how many parts an order has: one pallet.
	perPallet = 6
	// openOrders are kept going, so that parts of several orders are in the cell at once.
	openOrders = 3
)

// Shift is the people of the demo: they create orders, bring pallets and take empty ones away. They answer no question and
// confirm nothing, for that is what the person in front of the demo is for.
type Shift struct {
	plant  *Plant
	client Client
	log    *slog.Logger
	on     atomic.Bool
	said   string
}

// NewShift makes the shift, and makes it known among the faults, to be switched off.
func NewShift(p *Plant, c Client, log *slog.Logger) *Shift {
	s := &Shift{plant: p, client: c, log: log}
	s.on.Store(true)
	p.Add(Fault{ID: shiftID, Group: "Shift", Label: "Orders and pallets keep coming", Kind: Switch, On: true}, func(on bool) error {
		s.on.Store(on)
		return nil
	})
	return s
}

// Run works until ctx ends. What does not succeed, as while Surehand is down, is tried again a second later.
func (s *Shift) Run(ctx context.Context) {
	for ctx.Err() == nil {
		if s.on.Load() {
			s.say(s.step(ctx))
		}
		again := time.NewTimer(time.Second)
		select {
		case <-again.C:
		case <-ctx.Done():
			again.Stop()
		}
	}
}

// say tells each new trouble once.
func (s *Shift) say(err error) {
	text := ""
	if err != nil {
		text = err.Error()
	}
	if text != "" && text != s.said {
		s.log.Info("the shift waits", "error", text)
	}
	s.said = text
}

type shownOrder struct {
	ID, State string
	Planned   int
}

type shownCell struct {
	Dock    []struct{ Taken bool }
	Pallets []struct{ ID, OrderID string }
}

func (s *Shift) step(ctx context.Context) error {
	var orders struct{ Items []shownOrder }
	if err := s.client.get(ctx, "/api/v1/orders?limit=20", &orders); err != nil {
		return err
	}
	var cell shownCell
	if err := s.client.get(ctx, "/api/v1/cell", &cell); err != nil {
		return err
	}
	if err := s.create(ctx, orders.Items); err != nil {
		return err
	}
	if len(cell.Pallets) > 0 {
		return s.takeAway(ctx, cell)
	}
	return s.bring(ctx, orders.Items)
}

// create keeps some orders open. Numbers count on from the highest there is.
func (s *Shift) create(ctx context.Context, orders []shownOrder) error {
	open, highest := 0, 0
	for _, o := range orders {
		if n, err := strconv.Atoi(strings.TrimPrefix(o.ID, "WO-")); err == nil {
			highest = max(highest, n)
		}
		switch o.State {
		case "draft":
			return s.client.post(ctx, "/api/v1/orders/"+o.ID+"/start", "start-"+o.ID, struct{}{})
		case "ready", "running":
			open++
		}
	}
	if open >= openOrders {
		return nil
	}
	n := highest + 1
	order := map[string]any{"id": fmt.Sprintf("WO-%04d", n), "route": "housing", "product": "Pump housing", "quantity": perPallet}
	if n%2 == 0 {
		order["route"], order["product"] = "flange", "Flange"
	}
	return s.client.post(ctx, "/api/v1/orders", fmt.Sprintf("create-%04d", n), order)
}

// takeAway takes a pallet from the dock once nothing stands on it, in the record and in the plant.
func (s *Shift) takeAway(ctx context.Context, cell shownCell) error {
	for _, place := range cell.Dock {
		if place.Taken {
			return nil
		}
	}
	if n := s.plant.AtDock(); n > 0 {
		return fmt.Errorf("the dock holds %d parts that the record does not know", n)
	}
	s.plant.World.Depart()
	id := cell.Pallets[0].ID
	return s.client.post(ctx, "/api/v1/pallets/"+id+"/leave", "leave-"+id, struct{}{})
}

// bring sets the pallet of the oldest order that has had none on the dock, first the parts, then the word.
func (s *Shift) bring(ctx context.Context, orders []shownOrder) error {
	for i := len(orders) - 1; i >= 0; i-- {
		o := orders[i]
		if o.State != "ready" && o.State != "running" {
			continue
		}
		var jobs struct{ Items []struct{ State string } }
		if err := s.client.get(ctx, "/api/v1/jobs?limit=1&state=NOT_ARRIVED&order="+o.ID, &jobs); err != nil {
			return err
		}
		if len(jobs.Items) == 0 {
			continue
		}
		if s.plant.AtDock() == 0 {
			if _, err := s.plant.Arrive(o.Planned); err != nil {
				return err
			}
		}
		return s.client.post(ctx, "/api/v1/orders/"+o.ID+"/pallets", "pallet-"+o.ID,
			map[string]any{"pallet": "P" + strings.TrimPrefix(o.ID, "WO"), "quantity": o.Planned})
	}
	return nil
}
