package config

import (
	"strconv"
	"strings"

	"surehand/internal/message"
	"surehand/internal/plant"
	"surehand/internal/term"
)

func rule(o object, id string) message.ImportRule {
	r := message.ImportRule{ID: term.RuleID(id), Farm: term.FarmID(o.required("farm")), Name: o.text("name"), Active: o.bool("active"),
		Trigger: term.EndpointID(o.required("trigger")), HoldOff: o.duration("holdOff"), Line: o.line}
	if o.has("when") {
		leaves := 0
		r.Condition = condition(o.f, o.fields["when"].value, o.at+"/when", 1, &leaves)
		if leaves > plant.MaxConditionLeaves {
			o.fault("when", "has %d comparisons; at most %d are allowed", leaves, plant.MaxConditionLeaves)
		}
	} else {
		o.fault("when", "is missing: a comparison, or all, any or not of some")
	}
	set := o.object("set", "endpoint", "value")
	if !o.has("set") {
		o.fault("set", "is missing: the endpoint to drive and its value")
		return r
	}
	r.Target = term.EndpointID(set.required("endpoint"))
	if r.TargetValue = set.value("value"); !set.has("value") {
		set.fault("value", "is missing")
	}
	return r
}

// condition reads one node of the tree: all, any, not, or an endpoint with exactly one operator as its key.
func condition(f *form, n *node, at string, depth int, leaves *int) term.Condition {
	o := f.object(n, at, append([]string{"all", "any", "not", "endpoint"}, term.Operator("").Values()...)...)
	var forms []string
	for _, k := range []string{"all", "any", "not", "endpoint"} {
		if _, given := o.fields[k]; given {
			forms = append(forms, k)
		}
	}
	switch {
	case depth > plant.MaxConditionDepth:
		f.fault(o.line, at, "is deeper than %d levels", plant.MaxConditionDepth)
		return term.Condition{}
	case len(forms) != 1:
		f.fault(o.line, at, "must have exactly one of all, any, not and endpoint")
		return term.Condition{}
	case forms[0] == "endpoint":
		*leaves++
		return comparison(o)
	case len(o.fields) != 1:
		f.fault(o.line, at, "%s stands alone; a comparison needs an endpoint", forms[0])
		return term.Condition{}
	}
	branches := func(key string) []term.Condition {
		items := o.list(key)
		if len(items) == 0 {
			o.fault(key, "needs at least one condition")
		}
		var out []term.Condition
		for i, item := range items {
			out = append(out, condition(f, item, at+"/"+key+"/"+strconv.Itoa(i), depth+1, leaves))
		}
		return out
	}
	switch forms[0] {
	case "all":
		return term.Condition{All: branches("all")}
	case "any":
		return term.Condition{Any: branches("any")}
	}
	inner := condition(f, o.fields["not"].value, at+"/not", depth+1, leaves)
	return term.Condition{Not: &inner}
}

func comparison(o object) term.Condition {
	c := term.Condition{Endpoint: term.EndpointID(o.required("endpoint"))}
	for _, op := range term.Operator("").Values() {
		if _, given := o.fields[op]; !given {
			continue
		}
		if c.Op != "" {
			o.fault(op, "a comparison has one operator; put two of them under all")
			return c
		}
		c.Op = term.Operator(op)
		switch c.Op {
		case term.OpBetween:
			if c.Values = o.values(op); len(c.Values) != 2 {
				o.fault(op, "needs two values, the lower and the upper")
			}
		case term.OpIn:
			if c.Values = o.values(op); len(c.Values) == 0 {
				o.fault(op, "needs a list of values")
			}
		default:
			if c.Value = o.value(op); !o.has(op) {
				o.fault(op, "needs a value")
			}
		}
	}
	if c.Op == "" {
		o.fault("endpoint", "needs an operator: %s", strings.Join(term.Operator("").Values(), ", "))
	}
	return c
}
