package automation_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"surehand/internal/automation"
	"surehand/internal/loop/looptest"
	"surehand/internal/message"
	"surehand/internal/plant"
	"surehand/internal/term"
)

func number(v float64) *float64 { return &v }

func greenhouse() message.ImportDevices {
	return message.ImportDevices{
		Organisations: []message.ImportOrganisation{{ID: "acme", Line: 1}},
		Farms:         []message.ImportFarm{{ID: "house", Organisation: "acme", Line: 2}, {ID: "other", Organisation: "acme", Line: 3}},
		Profiles: []message.ImportProfile{{ID: "fan", Class: "A", Line: 4, Endpoints: []term.EndpointSpec{
			{Key: "on", Kind: term.Actuator, Type: term.TypeBool, Writable: true, Binding: term.Binding{Method: "set", Param: "on"}},
			{Key: "mode", Kind: term.Actuator, Type: term.TypeEnum, Writable: true, Binding: term.Binding{Method: "set", Param: "mode"},
				Constraints: term.Constraints{Allowed: []term.Value{term.Text("auto"), term.Text("off")}}},
			{Key: "temperature", Kind: term.Sensor, Type: term.TypeFloat},
		}}},
		Devices: []message.ImportDevice{{ID: "fan-1", Farm: "house", Profile: "fan", Serial: "F1", Line: 5}, {ID: "fan-2", Farm: "other", Profile: "fan", Serial: "F2", Line: 6}},
		Rules: []message.ImportRule{{ID: "r", Farm: "house", Trigger: "fan-1/temperature", Target: "fan-1/on", TargetValue: term.Bool(true), Line: 7,
			Condition: term.Condition{Endpoint: "fan-1/temperature", Op: term.OpGt, Value: term.Int(28)}}},
	}
}

func importInto(t *testing.T, s *plant.State, p message.ImportDevices) message.Outcome {
	t.Helper()
	w := s.Begin(time.Date(2026, 11, 30, 3, 0, 0, 0, time.UTC), looptest.NewMint(1), plant.NewSession(), nil, nil)
	tx := w.Tx()
	o := automation.Import(tx, p)
	if o.Code != message.Accepted {
		w.Drop(tx)
	}
	w.Close(tx)
	w.Accept(w.Batch())
	return o
}

func empty(t *testing.T) *plant.State {
	s, err := plant.Load(plant.Fence{}, nil)
	require.NoError(t, err)
	return s
}

// proves D-23: each fault of a configuration is named with its line, and nothing of it is applied.
func TestImportFaults(t *testing.T) {
	leaf := func(op term.Operator, v ...term.Value) term.Condition {
		c := term.Condition{Endpoint: "fan-1/temperature", Op: op, Values: v}
		if len(v) == 1 && op != term.OpIn {
			c.Value, c.Values = v[0], nil
		}
		return c
	}
	deep := leaf(term.OpGt, term.Int(1))
	for range plant.MaxConditionDepth {
		deep = term.Condition{All: []term.Condition{deep}}
	}
	for name, c := range map[string]struct {
		change func(*message.ImportDevices)
		line   int
		says   string
	}{
		"name":                {func(p *message.ImportDevices) { p.Organisations[0].ID = "a/b" }, 1, "is no name"},
		"no organisation":     {func(p *message.ImportDevices) { p.Farms[0].Organisation = "x" }, 2, "no organisation"},
		"class":               {func(p *message.ImportDevices) { p.Profiles[0].Class = "D" }, 4, "none of A, B, C"},
		"type":                {func(p *message.ImportDevices) { p.Profiles[0].Endpoints[0].Type = "colour" }, 4, "none of bool"},
		"twice":               {func(p *message.ImportDevices) { p.Profiles[0].Endpoints[1].Key = "on" }, 4, "stands twice"},
		"no binding":          {func(p *message.ImportDevices) { p.Profiles[0].Endpoints[0].Binding = term.Binding{} }, 4, "needs a method"},
		"enum without values": {func(p *message.ImportDevices) { p.Profiles[0].Endpoints[1].Constraints.Allowed = nil }, 4, "allowed values"},
		"empty range of spec": {func(p *message.ImportDevices) {
			p.Profiles[0].Endpoints[2].Constraints = term.Constraints{Min: number(2), Max: number(1)}
		}, 4, "above the maximum"},
		"ack before send":    {func(p *message.ImportDevices) { p.Profiles[0].Timing.AckTimeout = term.Duration(time.Second) }, 4, "at least 2s"},
		"too many attempts":  {func(p *message.ImportDevices) { p.Profiles[0].Timing.MaxAttempts = 11 }, 4, "1 to 10"},
		"negative":           {func(p *message.ImportDevices) { p.Profiles[0].Timing.Freshness = -1 }, 4, "not positive"},
		"class of a device":  {func(p *message.ImportDevices) { p.Devices[0].Class = "x" }, 5, "none of A, B, C"},
		"status":             {func(p *message.ImportDevices) { p.Devices[0].Status = "x" }, 5, "none of active"},
		"serial":             {func(p *message.ImportDevices) { p.Devices[0].Serial = "+" }, 5, "no serial number"},
		"serial taken":       {func(p *message.ImportDevices) { p.Devices[1].Serial = "F1" }, 6, "belongs to fan-1"},
		"no farm":            {func(p *message.ImportDevices) { p.Devices[0].Farm = "x" }, 5, "no farm"},
		"no profile":         {func(p *message.ImportDevices) { p.Devices[0].Profile = "x" }, 5, "no profile"},
		"unknown override":   {func(p *message.ImportDevices) { p.Devices[0].Endpoints = []message.ImportEndpoint{{Key: "x"}} }, 5, "has no endpoint"},
		"unknown trigger":    {func(p *message.ImportDevices) { p.Rules[0].Trigger = "x/y" }, 7, "no endpoint"},
		"target elsewhere":   {func(p *message.ImportDevices) { p.Rules[0].Target = "fan-2/on" }, 7, "is on farm other"},
		"target is a sensor": {func(p *message.ImportDevices) { p.Rules[0].Target = "fan-1/temperature" }, 7, "not a writable actuator"},
		"target value":       {func(p *message.ImportDevices) { p.Rules[0].TargetValue = term.Int(1) }, 7, "not a value of type bool"},
		"target not allowed": {func(p *message.ImportDevices) {
			p.Rules[0].Target, p.Rules[0].TargetValue = "fan-1/mode", term.Text("x")
		}, 7, "not an allowed value"},
		"operand type": {func(p *message.ImportDevices) { p.Rules[0].Condition = leaf(term.OpGt, term.Text("hot")) }, 7, "not a value of type float"},
		"empty range":  {func(p *message.ImportDevices) { p.Rules[0].Condition = leaf(term.OpBetween, term.Int(3), term.Int(2)) }, 7, "is empty"},
		"no operator":  {func(p *message.ImportDevices) { p.Rules[0].Condition = leaf("near", term.Int(3)) }, 7, "no operator"},
		"order of a bool": {func(p *message.ImportDevices) {
			p.Rules[0].Condition = term.Condition{Endpoint: "fan-1/on", Op: term.OpGt, Value: term.Bool(true)}
		}, 7, "needs a number"},
		"nothing": {func(p *message.ImportDevices) { p.Rules[0].Condition = term.Condition{} }, 7, "exactly one"},
		"two forms": {func(p *message.ImportDevices) {
			c := leaf(term.OpGt, term.Int(1))
			c.Not = &term.Condition{}
			p.Rules[0].Condition = c
		}, 7, "exactly one"},
		"too deep":          {func(p *message.ImportDevices) { p.Rules[0].Condition = deep }, 7, "deeper than"},
		"negative hold-off": {func(p *message.ImportDevices) { p.Rules[0].HoldOff = -1 }, 7, "not be negative"},
	} {
		t.Run(name, func(t *testing.T) {
			s := empty(t)
			p := greenhouse()
			c.change(&p)
			o := importInto(t, s, p)
			require.Equal(t, message.Invalid, o.Code)
			found := false
			for _, problem := range o.Problems {
				found = found || problem.Line == c.line && strings.Contains(problem.Detail, c.says)
			}
			require.True(t, found, "%+v", o.Problems)
			require.Empty(t, s.Rows(), "applied in part")
		})
	}
}

// proves D-23: the same file again changes nothing; a changed rule is a new revision; an endpoint that left its
// catalogue is disabled.
func TestImportAgain(t *testing.T) {
	s := empty(t)
	require.NotZero(t, importInto(t, s, greenhouse()).Changed)
	require.Zero(t, importInto(t, s, greenhouse()).Changed)
	p := greenhouse()
	p.Rules[0].HoldOff = term.Duration(time.Minute)
	require.Equal(t, 1, importInto(t, s, p).Changed)
	r, _ := s.Rule("r")
	require.EqualValues(t, 2, r.Revision)
	p.Profiles[0].Endpoints = p.Profiles[0].Endpoints[:1]
	p.Rules, p.Devices = nil, nil
	require.Equal(t, message.Accepted, importInto(t, s, p).Code)
	e, _ := s.Endpoint("fan-1/temperature")
	require.False(t, e.Enabled)
	e, _ = s.Endpoint("fan-1/on")
	require.True(t, e.Enabled)
}
