package config

import (
	"fmt"
	"strconv"

	"surehand/internal/message"
	"surehand/internal/term"
)

// Print writes an import in the form that Devices reads: what Devices reads back equals it but for the line
// numbers. An import that Devices would refuse is an error.
func Print(d message.ImportDevices) ([]byte, error) {
	root := &node{kind: mapping}
	lists := []struct {
		key   string
		items []*node
	}{
		{"organisations", nodes(d.Organisations, organisationNode)},
		{"farms", nodes(d.Farms, farmNode)},
		{"profiles", nodes(d.Profiles, profileNode)},
		{"devices", nodes(d.Devices, deviceNode)},
		{"rules", nodes(d.Rules, ruleNode)},
	}
	for _, l := range lists {
		root.put(l.key, sequence(l.items))
	}
	out := emit(root)
	if _, problems := Devices(out); len(problems) > 0 {
		p := problems[0]
		return nil, fmt.Errorf("this configuration has no YAML form (and %d more): %s %s", len(problems)-1, p.Pointer, p.Detail)
	}
	return out, nil
}

func nodes[T any](in []T, make func(T) *node) []*node {
	var out []*node
	for _, v := range in {
		out = append(out, make(v))
	}
	return out
}

// put adds a key; nothing to say: no key.
func (n *node) put(key string, value *node) *node {
	if value != nil {
		n.pairs = append(n.pairs, pair{key: key, value: value})
	}
	return n
}

// fields starts a mapping.
func fields() *node { return &node{kind: mapping} }

func organisationNode(o message.ImportOrganisation) *node {
	return fields().put("id", text(string(o.ID))).put("name", text(o.Name))
}

func farmNode(f message.ImportFarm) *node {
	return fields().put("id", text(string(f.ID))).put("organisation", text(string(f.Organisation))).put("name", text(f.Name))
}

func profileNode(p message.ImportProfile) *node {
	t := p.Timing
	timing := fields().put("ackTimeout", duration(t.AckTimeout)).
		put("backoff", sequence(nodes(t.Backoff, func(d term.Duration) *node { return bare(durationText(d)) }))).
		put("jitter", number(t.Jitter)).put("maxAttempts", whole(t.MaxAttempts)).
		put("reconciliationWindow", duration(t.ReconciliationWindow)).put("commandDeadline", duration(t.CommandDeadline)).
		put("freshness", duration(t.Freshness)).put("keepAlive", duration(t.KeepAlive))
	return fields().put("id", text(string(p.ID))).put("name", text(p.Name)).put("class", text(string(p.Class))).
		put("timing", some(timing)).put("endpoints", sequence(nodes(p.Endpoints, endpointNode)))
}

func endpointNode(e term.EndpointSpec) *node {
	n := fields().put("key", text(e.Key)).put("kind", text(string(e.Kind))).put("type", text(string(e.Type))).put("unit", text(e.Unit))
	if e.Writable {
		n.put("writable", bare("true"))
	}
	n.put("action", text(string(e.Action)))
	n.put("binding", some(fields().put("method", text(e.Binding.Method)).put("param", text(e.Binding.Param)).put("telemetry", text(e.Binding.Telemetry))))
	n.put("constraints", some(constraintsNode(e.Constraints)))
	if e.Tolerance != 0 {
		n.put("tolerance", number(&e.Tolerance))
	}
	return n.put("freshness", duration(e.Freshness))
}

func constraintsNode(c term.Constraints) *node {
	return fields().put("min", number(c.Min)).put("max", number(c.Max)).put("step", number(c.Step)).put("allowed", sequence(nodes(c.Allowed, value)))
}

func deviceNode(d message.ImportDevice) *node {
	return fields().put("id", text(string(d.ID))).put("farm", text(string(d.Farm))).put("profile", text(string(d.Profile))).
		put("serial", text(d.Serial)).put("name", text(d.Name)).put("status", text(string(d.Status))).put("class", text(string(d.Class))).
		put("endpoints", sequence(nodes(d.Endpoints, func(e message.ImportEndpoint) *node {
			n := fields().put("key", text(e.Key)).put("enabled", truth(e.Enabled))
			if e.Overrides.Constraints != nil { // also an empty one: it lifts the profile's
				n.put("constraints", constraintsNode(*e.Overrides.Constraints))
			}
			return n.put("tolerance", number(e.Overrides.Tolerance))
		})))
}

func ruleNode(r message.ImportRule) *node {
	return fields().put("id", text(string(r.ID))).put("farm", text(string(r.Farm))).put("name", text(r.Name)).put("active", truth(r.Active)).
		put("trigger", text(string(r.Trigger))).put("when", conditionNode(r.Condition)).
		put("set", fields().put("endpoint", text(string(r.Target))).put("value", value(r.TargetValue))).
		put("holdOff", duration(r.HoldOff))
}

func conditionNode(c term.Condition) *node {
	n := fields()
	switch {
	case len(c.All) > 0:
		return n.put("all", sequence(nodes(c.All, conditionNode)))
	case len(c.Any) > 0:
		return n.put("any", sequence(nodes(c.Any, conditionNode)))
	case c.Not != nil:
		return n.put("not", conditionNode(*c.Not))
	}
	n.put("endpoint", text(string(c.Endpoint)))
	if c.Op == term.OpBetween || c.Op == term.OpIn {
		return n.put(string(c.Op), sequence(nodes(c.Values, value)))
	}
	return n.put(string(c.Op), value(c.Value))
}

// The makers below return nil for what is not there.

func text(s string) *node {
	if s == "" {
		return nil
	}
	return &node{text: s}
}

func bare(s string) *node { return &node{text: s, plain: true} }

func value(v term.Value) *node {
	if s, ok := v.AsText(); ok {
		return &node{text: s}
	}
	return bare(v.String())
}

func truth(b *bool) *node {
	if b == nil {
		return nil
	}
	return bare(strconv.FormatBool(*b))
}

func number(f *float64) *node {
	if f == nil {
		return nil
	}
	return bare(strconv.FormatFloat(*f, 'g', -1, 64))
}

func whole(i int) *node {
	if i == 0 {
		return nil
	}
	return bare(strconv.Itoa(i))
}

func duration(d term.Duration) *node {
	if d == 0 {
		return nil
	}
	return bare(durationText(d))
}

func sequence(items []*node) *node {
	if len(items) == 0 {
		return nil
	}
	return &node{kind: list, items: items}
}

func some(n *node) *node {
	if len(n.pairs) == 0 {
		return nil
	}
	return n
}
