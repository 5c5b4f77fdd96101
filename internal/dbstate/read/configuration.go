package read

import (
	"context"

	entsql "entgo.io/ent/dialect/sql"

	"surehand/ent"
	"surehand/ent/automationrule"
	"surehand/ent/device"
	"surehand/ent/deviceendpoint"
	"surehand/ent/deviceprofile"
	"surehand/ent/farm"
	"surehand/ent/hold"
	"surehand/ent/organisation"
	"surehand/internal/dbstate/rows"
	"surehand/internal/plant"
	"surehand/internal/term"
)

// Organisations lists all, by id.
func (r *Reader) Organisations(ctx context.Context) ([]*plant.Organisation, error) {
	list, err := r.client.Organisation.Query().Order(organisation.ByID()).All(ctx)
	return all(list, err, rows.Organisation)
}

// Farms lists all, by id.
func (r *Reader) Farms(ctx context.Context) ([]*plant.Farm, error) {
	list, err := r.client.Farm.Query().Order(farm.ByID()).All(ctx)
	return all(list, err, rows.Farm)
}

// Profiles lists all, by id.
func (r *Reader) Profiles(ctx context.Context) ([]*plant.Profile, error) {
	list, err := r.client.DeviceProfile.Query().Order(deviceprofile.ByID()).All(ctx)
	return all(list, err, rows.Profile)
}

// Profile finds one.
func (r *Reader) Profile(ctx context.Context, id term.ProfileID) (*plant.Profile, error) {
	e, err := r.client.DeviceProfile.Query().Where(deviceprofile.ID(id)).Only(ctx)
	return one(e, err, rows.Profile)
}

// DeviceFilter narrows a list of devices; empty fields do not.
type DeviceFilter struct {
	Farm    term.FarmID
	Profile term.ProfileID
	Status  term.DeviceStatus
	Search  string // part of the id, serial or name
	Cursor  string
	Limit   int
}

// Devices lists devices by id.
func (r *Reader) Devices(ctx context.Context, f DeviceFilter) (Page[*plant.Device], error) {
	limit := bounded(f.Limit)
	q := r.client.Device.Query().Order(device.ByID()).Limit(limit + 1)
	switch key, more, err := after(f.Cursor); {
	case err != nil:
		return Page[*plant.Device]{}, err
	case more:
		q = q.Where(device.IDGT(term.DeviceID(key)))
	}
	if f.Farm != "" {
		q = q.Where(device.FarmID(f.Farm))
	}
	if f.Profile != "" {
		q = q.Where(device.ProfileID(f.Profile))
	}
	if f.Status != "" {
		q = q.Where(device.StatusEQ(f.Status))
	}
	if f.Search != "" {
		q = q.Where(device.Or(device.SerialContainsFold(f.Search), device.NameContainsFold(f.Search),
			func(s *entsql.Selector) { s.Where(entsql.ContainsFold(s.C(device.FieldID), f.Search)) }))
	}
	list, err := q.All(ctx)
	return pageOf(list, err, limit, rows.Device, func(e *ent.Device) string { return string(e.ID) })
}

// Device finds one.
func (r *Reader) Device(ctx context.Context, id term.DeviceID) (*plant.Device, error) {
	e, err := r.client.Device.Query().Where(device.ID(id)).Only(ctx)
	return one(e, err, rows.Device)
}

// EndpointsOf lists the endpoints of a device, by id.
func (r *Reader) EndpointsOf(ctx context.Context, id term.DeviceID) ([]*plant.Endpoint, error) {
	list, err := r.client.DeviceEndpoint.Query().Where(deviceendpoint.DeviceID(id)).Order(deviceendpoint.ByID()).All(ctx)
	return all(list, err, rows.Endpoint)
}

// Endpoint finds one.
func (r *Reader) Endpoint(ctx context.Context, id term.EndpointID) (*plant.Endpoint, error) {
	e, err := r.client.DeviceEndpoint.Query().Where(deviceendpoint.ID(id)).Only(ctx)
	return one(e, err, rows.Endpoint)
}

// RuleFilter narrows a list of rules; empty fields do not.
type RuleFilter struct {
	Farm   term.FarmID
	Cursor string
	Limit  int
}

// Rules lists rules by id.
func (r *Reader) Rules(ctx context.Context, f RuleFilter) (Page[*plant.Rule], error) {
	limit := bounded(f.Limit)
	q := r.client.AutomationRule.Query().Order(automationrule.ByID()).Limit(limit + 1)
	switch key, more, err := after(f.Cursor); {
	case err != nil:
		return Page[*plant.Rule]{}, err
	case more:
		q = q.Where(automationrule.IDGT(term.RuleID(key)))
	}
	if f.Farm != "" {
		q = q.Where(automationrule.FarmID(f.Farm))
	}
	list, err := q.All(ctx)
	return pageOf(list, err, limit, rows.Rule, func(e *ent.AutomationRule) string { return string(e.ID) })
}

// Rule finds one.
func (r *Reader) Rule(ctx context.Context, id term.RuleID) (*plant.Rule, error) {
	e, err := r.client.AutomationRule.Query().Where(automationrule.ID(id)).Only(ctx)
	return one(e, err, rows.Rule)
}

// Holds lists the open holds, oldest first.
func (r *Reader) Holds(ctx context.Context) ([]*plant.Hold, error) {
	list, err := r.client.Hold.Query().Where(hold.IsOpen(true)).Order(hold.ByID()).All(ctx)
	return all(list, err, rows.Hold)
}
