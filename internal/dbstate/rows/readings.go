package rows

import (
	"surehand/ent"
	"surehand/internal/plant"
	"surehand/internal/term"
)

func SetTelemetry(m *ent.TelemetryMutation, r *plant.Telemetry) {
	m.SetID(r.ID)
	m.SetDeviceID(r.DeviceID)
	m.SetSampledAt(plant.Micros(r.SampledAt))
	m.SetReceivedAt(plant.Micros(r.ReceivedAt))
	put(r.BootID, m.SetBootID, m.ClearBootID)
	m.SetSeq(r.Seq)
	m.SetBody(r.Body)
}

func Telemetry(e *ent.Telemetry) (*plant.Telemetry, error) {
	return &plant.Telemetry{
		ID: e.ID, DeviceID: e.DeviceID, SampledAt: plant.Micros(e.SampledAt), ReceivedAt: plant.Micros(e.ReceivedAt),
		BootID: get(e.BootID), Seq: e.Seq, Body: e.Body,
	}, nil
}

func SetEvent(m *ent.AutomationEndpointEventMutation, r *plant.Event) {
	m.SetID(r.ID)
	m.SetVersion(r.Version)
	m.SetOrganisationID(r.OrganisationID)
	m.SetFarmID(r.FarmID)
	m.SetDeviceID(r.DeviceID)
	m.SetEndpointID(r.EndpointID)
	put(r.TelemetryID, m.SetTelemetryID, m.ClearTelemetryID)
	m.SetAt(plant.Micros(r.At))
	m.SetReceivedAt(plant.Micros(r.ReceivedAt))
	m.SetValue(r.Value.String())
	m.SetSnapshot(r.Snapshot)
	m.SetStatus(r.Status)
	put(r.Reason, m.SetReason, m.ClearReason)
	m.SetIsOpen(r.Open())
}

func Event(e *ent.AutomationEndpointEvent) (*plant.Event, error) {
	p := &parser{kind: plant.KindEvent, key: string(e.ID)}
	return &plant.Event{
		ID: e.ID, Version: e.Version, OrganisationID: e.OrganisationID, FarmID: e.FarmID, DeviceID: e.DeviceID,
		EndpointID: e.EndpointID, TelemetryID: get(e.TelemetryID), At: plant.Micros(e.At), ReceivedAt: plant.Micros(e.ReceivedAt),
		Value: p.value("value", e.Value), Snapshot: e.Snapshot, Status: e.Status, Reason: get(e.Reason),
	}, p.err
}

func SetExecution(m *ent.AutomationRuleExecutionMutation, r *plant.Execution) {
	m.SetID(r.ID)
	m.SetVersion(r.Version)
	m.SetSource(r.Source)
	put(r.RuleID, m.SetRuleID, m.ClearRuleID)
	m.SetRuleRevision(r.RuleRevision)
	put(r.EventID, m.SetEventID, m.ClearEventID)
	put(r.LastEventID, m.SetLastEventID, m.ClearLastEventID)
	m.SetFarmID(r.FarmID)
	m.SetTargetID(r.TargetID)
	m.SetOutcome(r.Outcome)
	put(r.Reason, m.SetReason, m.ClearReason)
	putList(r.Leaves, m.SetLeaves, m.ClearLeaves)
	putList(r.Gates, m.SetGates, m.ClearGates)
	put(r.IntentID, m.SetIntentID, m.ClearIntentID)
	put(r.FinalState, m.SetFinalState, m.ClearFinalState)
	put(r.FinalReason, m.SetFinalReason, m.ClearFinalReason)
	m.SetCount(r.Count)
	m.SetFirstAt(plant.Micros(r.FirstAt))
	m.SetLastAt(plant.Micros(r.LastAt))
	m.SetIsOpen(r.IsOpen)
}

func Execution(e *ent.AutomationRuleExecution) (*plant.Execution, error) {
	p := &parser{kind: plant.KindExecution, key: string(e.ID)}
	return &plant.Execution{
		ID: e.ID, Version: e.Version, Source: e.Source, RuleID: get(e.RuleID), RuleRevision: e.RuleRevision,
		EventID: get(e.EventID), LastEventID: get(e.LastEventID), FarmID: e.FarmID, TargetID: e.TargetID,
		Outcome: e.Outcome, Reason: get(e.Reason),
		Leaves: list[term.Leaf](p, "leaves", e.Leaves), Gates: list[term.GateInput](p, "gates", e.Gates),
		IntentID: get(e.IntentID), FinalState: get(e.FinalState), FinalReason: get(e.FinalReason),
		Count: e.Count, FirstAt: plant.Micros(e.FirstAt), LastAt: plant.Micros(e.LastAt), IsOpen: e.IsOpen,
	}, p.err
}
