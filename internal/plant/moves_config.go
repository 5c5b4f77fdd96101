package plant

import (
	"encoding/json"
	"reflect"

	"surehand/internal/term"
)

// ConfigureOrganisation stores an organisation as given; unchanged: nothing is written.
func (tx *Tx) ConfigureOrganisation(o Organisation) bool {
	old, exists := tx.w.state.organisations[o.ID]
	if o.Version = 1; exists {
		o.Version = old.Version
	}
	return configure(tx, "ConfigureOrganisation", old, &o, func(r *Organisation) { r.Version++ })
}

// ConfigureFarm stores a farm as given.
func (tx *Tx) ConfigureFarm(f Farm) bool {
	old, exists := tx.w.state.farms[f.ID]
	if f.Version = 1; exists {
		f.Version = old.Version
	}
	return configure(tx, "ConfigureFarm", old, &f, func(r *Farm) { r.Version++ })
}

// ConfigureProfile stores a profile as given.
func (tx *Tx) ConfigureProfile(p Profile) bool {
	p.Timing, p.Endpoints = normal(p.Timing), normal(p.Endpoints)
	old, exists := tx.w.state.profiles[p.ID]
	if p.Version = 1; exists {
		p.Version = old.Version
	}
	return configure(tx, "ConfigureProfile", old, &p, func(r *Profile) { r.Version++ })
}

// ConfigureDevice stores a device as given; its boot history is what was observed and stays.
func (tx *Tx) ConfigureDevice(d Device) bool {
	old, exists := tx.w.state.devices[d.ID]
	d.Version = 1
	if exists {
		d.Version, d.BootID, d.Boots = old.Version, old.BootID, old.Boots
	}
	return configure(tx, "ConfigureDevice", old, &d, func(r *Device) { r.Version++ })
}

// ConfigureEndpoint stores an endpoint instance as given; what was observed of it stays.
func (tx *Tx) ConfigureEndpoint(e Endpoint) bool {
	e.Overrides = normal(e.Overrides)
	old, exists := tx.w.state.endpoints[e.ID]
	e.Version, e.Mark = 1, term.Mark{Seq: -1}
	if exists {
		e.Version = old.Version
		e.Value, e.SampledAt, e.ReceivedAt, e.Mark = old.Value, old.SampledAt, old.ReceivedAt, old.Mark
	}
	return configure(tx, "ConfigureEndpoint", old, &e, func(r *Endpoint) { r.Version++ })
}

// ConfigureRule stores a rule as given. A change is a new revision: commands decided by an older one are no
// longer sent. Its memory stays.
func (tx *Tx) ConfigureRule(r Rule) bool {
	r.Condition = normal(r.Condition)
	old, exists := tx.w.state.rules[r.ID]
	r.Version, r.Revision = 1, 1
	if exists {
		r.Version, r.Revision, r.HoldUntil, r.ExecutionID = old.Version, old.Revision, old.HoldUntil, old.ExecutionID
	}
	return configure(tx, "ConfigureRule", old, &r, func(r *Rule) { r.Version++; r.Revision++ })
}

// normal brings a stored structure into the form that it has after it was stored and read back (an empty list
// is an absent one), so that the picture equals a fresh load.
func normal[T any](v T) T {
	var n T
	if err := json.Unmarshal([]byte(term.JSON(v)), &n); err != nil {
		broken(13, "a stored structure does not read back: %v", err)
	}
	return n
}

// configure writes after unless it equals before. next makes after the version that follows before.
func configure[R any, P interface {
	*R
	Row
}](tx *Tx, move string, before, after P, next func(P)) bool {
	if before == nil {
		tx.put(move, nil, after)
		return true
	}
	if reflect.DeepEqual(before, after) {
		return false
	}
	next(after)
	tx.put(move, before, after)
	return true
}

// ConfigureCell stores the plant file and the cell's configuration as given.
func (tx *Tx) ConfigureCell(name, file string, config term.CellConfig) bool {
	old := tx.w.state.cell
	n := Cell{Version: 1, Name: name, File: file, Config: normal(config), Revision: 1}
	if old != nil {
		n = *old
		n.Name, n.File, n.Config = name, file, normal(config)
	}
	return configure(tx, "ConfigureCell", old, &n, func(r *Cell) { r.Version++; r.Revision++ })
}

// ConfigureRoute stores a route as given. A change is a new revision; orders keep the steps they were created with.
func (tx *Tx) ConfigureRoute(r Route) bool {
	r.Steps = normal(r.Steps)
	old, exists := tx.w.state.routes[r.ID]
	r.Version, r.Revision = 1, 1
	if exists {
		r.Version, r.Revision = old.Version, old.Revision
	}
	return configure(tx, "ConfigureRoute", old, &r, func(r *Route) { r.Version++; r.Revision++ })
}

// ConfigureEquipment stores an equipment as given, with its slots; what was observed of it stays.
func (tx *Tx) ConfigureEquipment(e Equipment) bool {
	e.Config = normal(e.Config)
	old, exists := tx.w.state.equipment[e.ID]
	e.Version, e.Status, e.Latch = 1, term.Offline, term.LatchNone
	if exists {
		e.Version, e.Status, e.Latch, e.Cycle, e.HasCycle = old.Version, old.Status, old.Latch, old.Cycle, old.HasCycle
	}
	changed := configure(tx, "ConfigureEquipment", old, &e, func(r *Equipment) { r.Version++ })
	for n := 1; n <= e.Config.Slots; n++ {
		id := term.NewSlotID(e.ID, n)
		if _, ok := tx.w.state.slots[id]; !ok {
			tx.put("CreateSlot", nil, &Slot{ID: id, Version: 1, EquipmentID: e.ID, Number: n, State: term.SlotEmpty})
		}
	}
	return changed
}
