package automation

import (
	"fmt"
	"math"
	"time"

	"surehand/internal/plant"
	"surehand/internal/term"
)

// wish is a change of an endpoint that a rule or a person wants.
type wish struct {
	rule     *plant.Rule // nil for a hand command
	revision int64       // of the rule when it was decided; 0: now
	endpoint term.EndpointID
	value    term.Value
	intent   *plant.Intent // when it was decided already and is checked again before a send
}

// gateCheck is one gate: whether it lets the wish pass, and the fact it looked at.
type gateCheck struct {
	gate term.Gate
	test func(tx *plant.Tx, w wish, t target) (pass bool, fact string)
}

// target is what a wish is about, looked up once.
type target struct {
	endpoint *plant.Endpoint
	device   *plant.Device
	spec     *term.EndpointSpec
}

// refusingChecks stand in the order of precedence of term.RefusingGates: the first that fails is named.
var refusingChecks = []gateCheck{
	{term.GateRuleInactive, func(_ *plant.Tx, w wish, _ target) (bool, string) {
		return w.rule == nil || w.rule.Active, ruleFact(w)
	}},
	{term.GateRuleRevision, func(_ *plant.Tx, w wish, _ target) (bool, string) {
		return w.rule == nil || w.revision == 0 || w.rule.Revision == w.revision, ruleFact(w)
	}},
	{term.GateFarm, func(_ *plant.Tx, w wish, t target) (bool, string) {
		if w.rule != nil && w.rule.FarmID != t.device.FarmID {
			return false, fmt.Sprintf("rule of %s, device of %s", w.rule.FarmID, t.device.FarmID)
		}
		return w.intent == nil || w.intent.FarmID == t.device.FarmID, "farm " + string(t.device.FarmID)
	}},
	{term.GateDeviceRetired, func(_ *plant.Tx, _ wish, t target) (bool, string) {
		return t.device.Status != term.DeviceRetired, "device " + string(t.device.Status)
	}},
	{term.GateMaintenance, func(_ *plant.Tx, _ wish, t target) (bool, string) {
		return t.device.Status != term.DeviceMaintenance, "device " + string(t.device.Status)
	}},
	{term.GateDisabled, func(_ *plant.Tx, _ wish, t target) (bool, string) {
		return t.endpoint.Enabled, fmt.Sprintf("enabled %t", t.endpoint.Enabled)
	}},
	{term.GateNotWritable, func(_ *plant.Tx, _ wish, t target) (bool, string) {
		return t.spec.Writable && t.spec.Kind == term.Actuator, fmt.Sprintf("%s, writable %t", t.spec.Kind, t.spec.Writable)
	}},
	{term.GateBinding, func(_ *plant.Tx, w wish, t target) (bool, string) {
		if w.intent != nil && (w.intent.Serial != t.device.Serial || w.intent.Method != t.spec.Binding.Method ||
			w.intent.Params != paramsOf(t.spec, w.intent.TargetValue)) {
			return false, "the binding or serial number changed since the command was decided"
		}
		return t.spec.Binding.Method != "" && t.spec.Binding.Param != "", fmt.Sprintf("method %q, param %q", t.spec.Binding.Method, t.spec.Binding.Param)
	}},
	{term.GateValue, func(_ *plant.Tx, w wish, t target) (bool, string) {
		if problem := checkValue(w.value, t.spec, t.endpoint.Overrides); problem != "" {
			return false, problem
		}
		return true, "value " + w.value.String()
	}},
	{term.GateHoldOff, func(tx *plant.Tx, w wish, _ target) (bool, string) {
		if w.rule == nil || w.intent != nil || !tx.Now().Before(w.rule.HoldUntil) {
			return true, ""
		}
		return false, "until " + w.rule.HoldUntil.Format(time.RFC3339)
	}},
	{term.GateQueueFull, func(tx *plant.Tx, w wish, t target) (bool, string) {
		n := len(tx.State().Queue(t.endpoint.ID))
		return w.intent != nil || n < plant.MaxQueue, fmt.Sprintf("%d commands wait", n)
	}},
}

func ruleFact(w wish) string {
	if w.rule == nil {
		return "hand command"
	}
	return fmt.Sprintf("active %t, revision %d", w.rule.Active, w.rule.Revision)
}

// waitingChecks stand in the order of precedence of term.WaitingGates.
var waitingChecks = []gateCheck{
	{term.GateStopping, func(tx *plant.Tx, _ wish, _ target) (bool, string) {
		return !tx.Session().Stopping(), fmt.Sprintf("stopping %t", tx.Session().Stopping())
	}},
	{term.GateQuarantine, func(tx *plant.Tx, _ wish, t target) (bool, string) {
		for _, subject := range []string{plant.DeviceSubject(t.device.ID), plant.DevicesSubject} {
			for _, reason := range []term.HoldReason{term.HoldQuarantine, term.HoldParked} {
				if h, held := tx.State().Held(subject, reason); held {
					return false, string(h.Reason) + ": " + h.Why
				}
			}
		}
		return true, "no hold"
	}},
	{term.GateNotFresh, func(tx *plant.Tx, _ wish, t target) (bool, string) {
		heard, ok := tx.Session().LastHeard(t.device.ID)
		if !ok {
			return false, "not heard since the start"
		}
		age := tx.Now().Sub(heard)
		return age <= time.Duration(tx.State().Timing(t.device.ID).Freshness), fmt.Sprintf("heard %s ago", age.Round(time.Millisecond))
	}},
	{term.GateEndpointBusy, func(tx *plant.Tx, w wish, t target) (bool, string) {
		h, held := tx.State().Holder(t.endpoint.ID)
		if held && (w.intent == nil || h.ID != w.intent.ID) {
			return false, "held by " + string(h.ID) + " (" + string(h.State) + ")"
		}
		return true, "free"
	}},
	{term.GateLinkDown, func(tx *plant.Tx, _ wish, _ target) (bool, string) {
		up := tx.Session().LinkUp(plant.LinkCommands)
		return up, fmt.Sprintf("up %t", up)
	}},
	{term.GateNoSlot, func(tx *plant.Tx, _ wish, _ target) (bool, string) {
		n := tx.State().PublishesOpen()
		return n < plant.MaxPublishesOpen, fmt.Sprintf("%d publishes open", n)
	}},
}

// refusingGates tells the first refusing gate that fails, and every fact looked at.
func refusingGates(tx *plant.Tx, w wish) (term.Gate, []term.GateInput) {
	t, ok := lookup(tx.State(), w.endpoint)
	if !ok {
		return term.GateUnknownTarget, []term.GateInput{{Gate: term.GateUnknownTarget, Fact: "no endpoint " + string(w.endpoint)}}
	}
	return check(tx, w, t, refusingChecks)
}

// waitingGates tells the first waiting gate that fails, and every fact looked at.
func waitingGates(tx *plant.Tx, w wish) (term.Gate, []term.GateInput) {
	t, ok := lookup(tx.State(), w.endpoint)
	if !ok {
		return term.GateUnknownTarget, nil
	}
	return check(tx, w, t, waitingChecks)
}

func check(tx *plant.Tx, w wish, t target, checks []gateCheck) (term.Gate, []term.GateInput) {
	first := term.GateNone
	inputs := make([]term.GateInput, 0, len(checks))
	for _, c := range checks {
		pass, fact := c.test(tx, w, t)
		inputs = append(inputs, term.GateInput{Gate: c.gate, Fact: fact, Pass: pass})
		if !pass && first == term.GateNone {
			first = c.gate
		}
	}
	return first, inputs
}

func lookup(s *plant.State, id term.EndpointID) (target, bool) {
	e, ok := s.Endpoint(id)
	if !ok {
		return target{}, false
	}
	d, ok := s.Device(e.DeviceID)
	if !ok {
		return target{}, false
	}
	spec, ok := s.Spec(e)
	return target{e, d, spec}, ok
}

// checkValue holds a value against type and constraints and says what is wrong; empty: nothing.
func checkValue(v term.Value, spec *term.EndpointSpec, o term.Overrides) string {
	value, err := v.As(spec.Type)
	if err != nil {
		return err.Error()
	}
	c := spec.Constraints
	if o.Constraints != nil {
		c = *o.Constraints
	}
	if len(c.Allowed) > 0 {
		for _, a := range c.Allowed {
			if allowed, err := a.As(spec.Type); err == nil && allowed == value {
				return ""
			}
		}
		return value.String() + " is not an allowed value"
	}
	n, number := value.AsNumber()
	if !number {
		return ""
	}
	switch {
	case c.Min != nil && n < *c.Min:
		return fmt.Sprintf("%s is below the minimum %g", value, *c.Min)
	case c.Max != nil && n > *c.Max:
		return fmt.Sprintf("%s is above the maximum %g", value, *c.Max)
	case c.Step != nil && *c.Step > 0:
		base := 0.0
		if c.Min != nil {
			base = *c.Min
		}
		steps := (n - base) / *c.Step
		if math.Abs(steps-math.Round(steps)) > 1e-9 {
			return fmt.Sprintf("%s is not a step of %g", value, *c.Step)
		}
	}
	return ""
}
