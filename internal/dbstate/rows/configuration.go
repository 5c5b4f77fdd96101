package rows

import (
	"time"

	"surehand/ent"
	"surehand/internal/plant"
	"surehand/internal/term"
)

func SetOrganisation(m *ent.OrganisationMutation, r *plant.Organisation) {
	m.SetID(r.ID)
	m.SetVersion(r.Version)
	m.SetName(r.Name)
}

func Organisation(e *ent.Organisation) (*plant.Organisation, error) {
	return &plant.Organisation{ID: e.ID, Version: e.Version, Name: e.Name}, nil
}

func SetFarm(m *ent.FarmMutation, r *plant.Farm) {
	m.SetID(r.ID)
	m.SetVersion(r.Version)
	m.SetOrganisationID(r.OrganisationID)
	m.SetName(r.Name)
}

func Farm(e *ent.Farm) (*plant.Farm, error) {
	return &plant.Farm{ID: e.ID, Version: e.Version, OrganisationID: e.OrganisationID, Name: e.Name}, nil
}

func SetProfile(m *ent.DeviceProfileMutation, r *plant.Profile) {
	m.SetID(r.ID)
	m.SetVersion(r.Version)
	m.SetName(r.Name)
	m.SetClass(r.Class)
	m.SetTiming(term.JSON(r.Timing))
	putList(r.Endpoints, m.SetEndpoints, m.ClearEndpoints)
}

func Profile(e *ent.DeviceProfile) (*plant.Profile, error) {
	p := &parser{kind: plant.KindProfile, key: string(e.ID)}
	return &plant.Profile{
		ID: e.ID, Version: e.Version, Name: e.Name, Class: e.Class,
		Timing:    document[term.Timing](p, "timing", e.Timing),
		Endpoints: list[term.EndpointSpec](p, "endpoints", e.Endpoints),
	}, p.err
}

func SetDevice(m *ent.DeviceMutation, r *plant.Device) {
	m.SetID(r.ID)
	m.SetVersion(r.Version)
	m.SetFarmID(r.FarmID)
	m.SetProfileID(r.ProfileID)
	m.SetSerial(r.Serial)
	m.SetName(r.Name)
	m.SetStatus(r.Status)
	m.SetClass(r.Class)
	put(r.BootID, m.SetBootID, m.ClearBootID)
	putList(r.Boots, m.SetBoots, m.ClearBoots)
}

func Device(e *ent.Device) (*plant.Device, error) {
	p := &parser{kind: plant.KindDevice, key: string(e.ID)}
	return &plant.Device{
		ID: e.ID, Version: e.Version, FarmID: e.FarmID, ProfileID: e.ProfileID, Serial: e.Serial, Name: e.Name,
		Status: e.Status, Class: e.Class, BootID: get(e.BootID), Boots: list[string](p, "boots", e.Boots),
	}, p.err
}

func SetEndpoint(m *ent.DeviceEndpointMutation, r *plant.Endpoint) {
	m.SetID(r.ID)
	m.SetVersion(r.Version)
	m.SetDeviceID(r.DeviceID)
	m.SetEndpointKey(r.EndpKey)
	m.SetEnabled(r.Enabled)
	m.SetOverrides(term.JSON(r.Overrides))
	put(Value(r.Value), m.SetValue, m.ClearValue)
	putTime(r.SampledAt, m.SetSampledAt, m.ClearSampledAt)
	putTime(r.ReceivedAt, m.SetReceivedAt, m.ClearReceivedAt)
	m.SetMark(term.JSON(r.Mark))
}

func Endpoint(e *ent.DeviceEndpoint) (*plant.Endpoint, error) {
	p := &parser{kind: plant.KindEndpoint, key: string(e.ID)}
	r := &plant.Endpoint{
		ID: e.ID, Version: e.Version, DeviceID: e.DeviceID, EndpKey: e.EndpointKey, Enabled: e.Enabled,
		Overrides: document[term.Overrides](p, "overrides", e.Overrides),
		SampledAt: getTime(e.SampledAt), ReceivedAt: getTime(e.ReceivedAt),
		Mark: document[term.Mark](p, "mark", e.Mark),
	}
	if e.Value != nil {
		r.Value = p.value("value", *e.Value)
	}
	return r, p.err
}

func SetRule(m *ent.AutomationRuleMutation, r *plant.Rule) {
	m.SetID(r.ID)
	m.SetVersion(r.Version)
	m.SetFarmID(r.FarmID)
	m.SetName(r.Name)
	m.SetActive(r.Active)
	m.SetRevision(r.Revision)
	m.SetTriggerID(r.Trigger)
	m.SetCondition(term.JSON(r.Condition))
	m.SetTargetID(r.Target)
	m.SetTargetValue(r.TargetValue.String())
	m.SetHoldOffNs(int64(r.HoldOff))
	putTime(r.HoldUntil, m.SetHoldUntil, m.ClearHoldUntil)
	put(r.ExecutionID, m.SetExecutionID, m.ClearExecutionID)
}

func Rule(e *ent.AutomationRule) (*plant.Rule, error) {
	p := &parser{kind: plant.KindRule, key: string(e.ID)}
	return &plant.Rule{
		ID: e.ID, Version: e.Version, FarmID: e.FarmID, Name: e.Name, Active: e.Active, Revision: e.Revision,
		Trigger: e.TriggerID, Condition: document[term.Condition](p, "condition", e.Condition),
		Target: e.TargetID, TargetValue: p.value("target_value", e.TargetValue),
		HoldOff: term.Duration(time.Duration(e.HoldOffNs)), HoldUntil: getTime(e.HoldUntil), ExecutionID: get(e.ExecutionID),
	}, p.err
}
