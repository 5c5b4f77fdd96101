package automation

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"surehand/internal/plant"
	"surehand/internal/term"
)

// proves D-16: the gates are checked in the published order of precedence, and when several fail the first is
// named while every fact is kept.
func TestPrecedenceOfGates(t *testing.T) {
	order := func(checks []gateCheck) (out []term.Gate) {
		for _, c := range checks {
			out = append(out, c.gate)
		}
		return out
	}
	require.Equal(t, term.RefusingGates()[1:], order(refusingChecks), "the first, unknown_endpoint, is told before there is a target")
	require.Equal(t, term.WaitingGates(), order(waitingChecks))

	for _, gate := range append(term.RefusingGates()[3:], term.WaitingGates()...) { // those of a hand command
		if gate != term.GateValue && gate != term.GateHoldOff { // told by the fact, or never met by hand
			require.NotEmpty(t, explain(gate, ""), "%s tells a person nothing", gate)
		}
	}

	s, err := plant.Load(plant.Fence{}, []plant.Row{
		&plant.Organisation{ID: "o", Version: 1}, &plant.Farm{ID: "f", Version: 1, OrganisationID: "o"},
		&plant.Profile{ID: "p", Version: 1, Class: term.ClassA, Endpoints: []term.EndpointSpec{{Key: "k", Kind: term.Sensor, Type: term.TypeInt}}},
		&plant.Device{ID: "d", Version: 1, FarmID: "f", ProfileID: "p", Serial: "D", Status: term.DeviceRetired, Class: term.ClassA},
		&plant.Endpoint{ID: "d/k", Version: 1, DeviceID: "d", EndpKey: "k", Mark: term.Mark{Seq: -1}},
	})
	require.NoError(t, err)
	tx := s.Begin(time.Date(2026, 11, 30, 3, 0, 0, 0, time.UTC), nil, plant.NewSession(), nil, nil).Tx()
	// Everything is wrong at once; mending one thing after the other uncovers the next.
	rule := &plant.Rule{FarmID: "elsewhere", Revision: 2, HoldUntil: tx.Now().Add(time.Second)}
	w := wish{rule: rule, revision: 1, endpoint: "d/k", value: term.Text("x")}
	d, _ := s.Device("d")
	e, _ := s.Endpoint("d/k")
	spec, _ := s.Spec(e)
	for _, step := range []struct {
		named term.Gate
		mend  func()
	}{
		{term.GateRuleInactive, func() { rule.Active = true }},
		{term.GateRuleRevision, func() { w.revision = 2 }},
		{term.GateFarm, func() { rule.FarmID = "f" }},
		{term.GateDeviceRetired, func() { d.Status = term.DeviceMaintenance }},
		{term.GateMaintenance, func() { d.Status = term.DeviceActive }},
		{term.GateDisabled, func() { e.Enabled = true }},
		{term.GateNotWritable, func() { spec.Kind, spec.Writable = term.Actuator, true }},
		{term.GateBinding, func() { spec.Binding = term.Binding{Method: "set", Param: "k"} }},
		{term.GateValue, func() { w.value = term.Int(1) }},
		{term.GateHoldOff, func() { rule.HoldUntil = tx.Now() }},
		{term.GateNone, nil},
	} {
		gate, facts := refusingGates(tx, w)
		require.Equal(t, step.named, gate)
		require.Len(t, facts, len(refusingChecks))
		if step.mend != nil {
			step.mend()
		}
	}
	w.endpoint = "d/none"
	gate, _ := refusingGates(tx, w)
	require.Equal(t, term.GateUnknownTarget, gate)
}
