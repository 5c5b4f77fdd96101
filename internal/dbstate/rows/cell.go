package rows

import (
	"surehand/ent"
	"surehand/internal/plant"
	"surehand/internal/term"
)

func SetCell(m *ent.CellMutation, r *plant.Cell) {
	m.SetID(r.Key())
	m.SetVersion(r.Version)
	m.SetName(r.Name)
	m.SetRevision(r.Revision)
	m.SetFile(r.File)
	m.SetConfig(term.JSON(r.Config))
	m.SetLastActionNo(int64(r.LastActionNo))
	m.SetClean(r.Clean)
	m.SetRefillAsked(r.RefillAsked)
	put(r.WaitingFor, m.SetWaitingFor, m.ClearWaitingFor)
	put(Plan(r.Plan), m.SetPlan, m.ClearPlan)
	putTime(r.DueAt, m.SetDueAt, m.ClearDueAt)
}

func Cell(e *ent.Cell) (*plant.Cell, error) {
	p := &parser{kind: plant.KindCell, key: e.ID}
	return &plant.Cell{
		Version: e.Version, Name: e.Name, Revision: e.Revision, File: e.File,
		Config: document[term.CellConfig](p, "config", e.Config), LastActionNo: uint32(e.LastActionNo),
		Clean: e.Clean, RefillAsked: e.RefillAsked, WaitingFor: get(e.WaitingFor), Plan: plan(p, e.Plan), DueAt: getTime(e.DueAt),
	}, p.err
}

// Plan is the stored form of a scheduler's explanation: empty for none, which is NULL.
func Plan(p *term.Plan) string {
	if p == nil {
		return ""
	}
	return term.JSON(p)
}

func plan(p *parser, text *string) *term.Plan {
	if text == nil {
		return nil
	}
	v := document[term.Plan](p, "plan", *text)
	return &v
}

func SetRoute(m *ent.RouteMutation, r *plant.Route) {
	m.SetID(r.ID)
	m.SetVersion(r.Version)
	m.SetRevision(r.Revision)
	m.SetName(r.Name)
	putList(r.Steps, m.SetSteps, m.ClearSteps)
}

func Route(e *ent.Route) (*plant.Route, error) {
	p := &parser{kind: plant.KindRoute, key: string(e.ID)}
	return &plant.Route{ID: e.ID, Version: e.Version, Revision: e.Revision, Name: e.Name, Steps: list[term.Step](p, "steps", e.Steps)}, p.err
}

func SetEquipment(m *ent.EquipmentMutation, r *plant.Equipment) {
	m.SetID(r.ID)
	m.SetVersion(r.Version)
	m.SetName(r.Name)
	m.SetType(r.Type)
	m.SetConfig(term.JSON(r.Config))
	m.SetStatus(r.Status)
	m.SetDoneLatch(r.Latch)
	m.SetCycle(int64(r.Cycle))
	m.SetHasCycle(r.HasCycle)
}

func Equipment(e *ent.Equipment) (*plant.Equipment, error) {
	p := &parser{kind: plant.KindEquipment, key: string(e.ID)}
	return &plant.Equipment{
		ID: e.ID, Version: e.Version, Name: e.Name, Type: e.Type, Config: document[term.EquipmentConfig](p, "config", e.Config),
		Status: e.Status, Latch: e.DoneLatch, Cycle: uint32(e.Cycle), HasCycle: e.HasCycle,
	}, p.err
}

func SetSlot(m *ent.EquipmentSlotMutation, r *plant.Slot) {
	m.SetID(r.ID)
	m.SetVersion(r.Version)
	m.SetEquipmentID(r.EquipmentID)
	m.SetNumber(r.Number)
	m.SetState(r.State)
	put(r.JobID, m.SetCurrentJobID, m.ClearCurrentJobID)
	putTime(r.EnteredAt, m.SetEnteredAt, m.ClearEnteredAt)
	putTime(r.StartedAt, m.SetStartedAt, m.ClearStartedAt)
	putTime(r.DueAt, m.SetDueAt, m.ClearDueAt)
}

func Slot(e *ent.EquipmentSlot) (*plant.Slot, error) {
	return &plant.Slot{
		ID: e.ID, Version: e.Version, EquipmentID: e.EquipmentID, Number: e.Number, State: e.State, JobID: get(e.CurrentJobID),
		EnteredAt: getTime(e.EnteredAt), StartedAt: getTime(e.StartedAt), DueAt: getTime(e.DueAt),
	}, nil
}

func SetPallet(m *ent.PalletMutation, r *plant.Pallet) {
	m.SetID(r.ID)
	m.SetVersion(r.Version)
	m.SetOrderID(r.OrderID)
	m.SetPlaces(r.Places)
	m.SetArrivedAt(plant.Micros(r.ArrivedAt))
	putTime(r.LeftAt, m.SetLeftAt, m.ClearLeftAt)
	m.SetIsOpen(r.Open())
}

func Pallet(e *ent.Pallet) (*plant.Pallet, error) {
	return &plant.Pallet{ID: e.ID, Version: e.Version, OrderID: e.OrderID, Places: e.Places,
		ArrivedAt: plant.Micros(e.ArrivedAt), LeftAt: getTime(e.LeftAt)}, nil
}
