package automation

import (
	"fmt"
	"slices"
	"strings"

	"surehand/internal/message"
	"surehand/internal/plant"
	"surehand/internal/term"
)

// Import applies a configuration as a whole or not at all. What is not named stays as it is; an endpoint that
// left its catalogue is disabled, not removed, because its history and its open commands refer to it.
func Import(tx *plant.Tx, p message.ImportDevices) message.Outcome {
	im := importer{tx: tx}
	for _, o := range p.Organisations {
		im.organisation(o)
	}
	for _, f := range p.Farms {
		im.farm(f)
	}
	for _, pr := range p.Profiles {
		im.profile(pr)
	}
	for _, d := range p.Devices {
		im.device(d)
	}
	im.refreshInstances(p)
	for _, r := range p.Rules {
		im.rule(r)
	}
	if len(im.problems) > 0 {
		return message.Outcome{Code: message.Invalid, Reason: "invalid_configuration", Problems: im.problems,
			Detail: fmt.Sprintf("%d faults; nothing was applied.", len(im.problems))}
	}
	for _, e := range tx.State().Endpoints() { // a changed rule, value bound or device state may open or close a gate
		if wants(tx.State(), e.ID) {
			Dispatch(tx, e.ID)
		}
	}
	return message.Outcome{Code: message.Accepted, Subject: "configuration", Changed: im.changed}
}

type importer struct {
	tx       *plant.Tx
	problems []message.Problem
	changed  int
}

// maxProblems bounds the answer to a broken file.
const maxProblems = 100

func (im *importer) fault(line int, pointer, format string, args ...any) {
	if len(im.problems) < maxProblems {
		im.problems = append(im.problems, message.Problem{Pointer: pointer, Line: line, Detail: fmt.Sprintf(format, args...)})
	}
}

func (im *importer) named(line int, pointer, id string) bool {
	if term.ValidName(id) {
		return true
	}
	im.fault(line, pointer, term.NoName, id)
	return false
}

func (im *importer) count(changed bool) {
	if changed {
		im.changed++
	}
}

func (im *importer) organisation(o message.ImportOrganisation) {
	if im.named(o.Line, "/organisations/"+string(o.ID)+"/id", string(o.ID)) {
		im.count(im.tx.ConfigureOrganisation(plant.Organisation{ID: o.ID, Name: plant.Printable(o.Name)}))
	}
}

func (im *importer) farm(f message.ImportFarm) {
	at := "/farms/" + string(f.ID)
	if !im.named(f.Line, at+"/id", string(f.ID)) {
		return
	}
	if _, ok := im.tx.State().Organisation(f.Organisation); !ok {
		im.fault(f.Line, at+"/organisation", "there is no organisation %q", f.Organisation)
		return
	}
	im.count(im.tx.ConfigureFarm(plant.Farm{ID: f.ID, OrganisationID: f.Organisation, Name: plant.Printable(f.Name)}))
}

func (im *importer) profile(p message.ImportProfile) {
	at := "/profiles/" + string(p.ID)
	if !im.named(p.Line, at+"/id", string(p.ID)) {
		return
	}
	if !slices.Contains(term.DeviceClass("").Values(), string(p.Class)) {
		im.fault(p.Line, at+"/class", "class %q is none of A, B, C", p.Class)
	}
	im.timing(p, at)
	keys, topics := map[string]bool{}, map[string]bool{}
	for _, e := range p.Endpoints {
		here := at + "/endpoints/" + e.Key
		im.named(p.Line, here+"/key", e.Key)
		if keys[e.Key] || topics[e.TelemetryKey()] {
			im.fault(p.Line, here, "key or telemetry key %q stands twice", e.Key)
		}
		keys[e.Key], topics[e.TelemetryKey()] = true, true
		im.spec(p.Line, here, e)
	}
	specs := slices.SortedFunc(slices.Values(p.Endpoints), func(a, b term.EndpointSpec) int { return strings.Compare(a.Key, b.Key) })
	im.count(im.tx.ConfigureProfile(plant.Profile{ID: p.ID, Name: plant.Printable(p.Name), Class: p.Class, Timing: p.Timing, Endpoints: specs}))
}

func (im *importer) timing(p message.ImportProfile, at string) {
	t := p.Timing.WithDefaults()
	for _, d := range append(slices.Clone(t.Backoff), t.AckTimeout, t.ReconciliationWindow, t.CommandDeadline, t.Freshness, t.KeepAlive) {
		if d <= 0 {
			im.fault(p.Line, at+"/timing", "a duration is not positive")
			return
		}
	}
	switch {
	case t.AckTimeout < term.Duration(plant.SendBefore):
		im.fault(p.Line, at+"/timing/ackTimeout", "must be at least %s, within which a send may still start", plant.SendBefore)
	case t.CommandDeadline < t.AckTimeout:
		im.fault(p.Line, at+"/timing/commandDeadline", "is shorter than ackTimeout")
	case t.MaxAttempts < 1 || t.MaxAttempts > plant.MaxAttemptsLimit:
		im.fault(p.Line, at+"/timing/maxAttempts", "must be 1 to %d", plant.MaxAttemptsLimit)
	case *t.Jitter < 0 || *t.Jitter > 1:
		im.fault(p.Line, at+"/timing/jitter", "must be 0 to 1")
	}
}

func (im *importer) spec(line int, at string, e term.EndpointSpec) {
	if !slices.Contains(term.ValueType("").Values(), string(e.Type)) {
		im.fault(line, at+"/type", "type %q is none of bool, int, float, enum, string", e.Type)
		return
	}
	if !slices.Contains(term.EndpointKind("").Values(), string(e.Kind)) {
		im.fault(line, at+"/kind", "kind %q is none of sensor, actuator", e.Kind)
	}
	if e.Action != "" && !slices.Contains(term.ActionKind("").Values(), string(e.Action)) {
		im.fault(line, at+"/action", "action %q is none of absolute, toggle, pulse", e.Action)
	}
	if e.Writable && (e.Binding.Method == "" || e.Binding.Param == "") {
		im.fault(line, at+"/binding", "a writable endpoint needs a method and a param")
	}
	if e.Type == term.TypeEnum && len(e.Constraints.Allowed) == 0 {
		im.fault(line, at+"/constraints/allowed", "an enum needs its allowed values")
	}
	for _, a := range e.Constraints.Allowed {
		if _, err := a.As(e.Type); err != nil {
			im.fault(line, at+"/constraints/allowed", "%v", err)
		}
	}
	c := e.Constraints
	if c.Min != nil && c.Max != nil && *c.Min > *c.Max {
		im.fault(line, at+"/constraints", "the minimum is above the maximum")
	}
	if e.Tolerance < 0 {
		im.fault(line, at+"/tolerance", "must not be negative")
	}
}

func (im *importer) device(d message.ImportDevice) {
	at := "/devices/" + string(d.ID)
	if !im.named(d.Line, at+"/id", string(d.ID)) {
		return
	}
	if !term.ValidSerial(d.Serial) {
		im.fault(d.Line, at+"/serial", "%q is no serial number: 1 to 64 letters, digits, '-' or '_'", d.Serial)
		return
	}
	if other, taken := im.tx.State().DeviceBySerial(d.Serial); taken && other.ID != d.ID {
		im.fault(d.Line, at+"/serial", "%q belongs to %s", d.Serial, other.ID)
		return
	}
	if _, ok := im.tx.State().Farm(d.Farm); !ok {
		im.fault(d.Line, at+"/farm", "there is no farm %q", d.Farm)
		return
	}
	profile, ok := im.tx.State().Profile(d.Profile)
	if !ok {
		im.fault(d.Line, at+"/profile", "there is no profile %q", d.Profile)
		return
	}
	row := plant.Device{ID: d.ID, FarmID: d.Farm, ProfileID: d.Profile, Serial: d.Serial, Name: plant.Printable(d.Name), Status: d.Status, Class: d.Class}
	if row.Status == "" {
		row.Status = term.DeviceActive
	}
	if row.Class == "" {
		row.Class = profile.Class
	}
	if !slices.Contains(row.Class.Values(), string(row.Class)) {
		im.fault(d.Line, at+"/class", "class %q is none of A, B, C", row.Class)
		return
	}
	if !slices.Contains(row.Status.Values(), string(row.Status)) {
		im.fault(d.Line, at+"/status", "status %q is none of active, maintenance, retired", row.Status)
		return
	}
	im.count(im.tx.ConfigureDevice(row))
	overrides := map[string]message.ImportEndpoint{}
	for _, e := range d.Endpoints {
		if !slices.ContainsFunc(profile.Endpoints, func(s term.EndpointSpec) bool { return s.Key == e.Key }) {
			im.fault(d.Line, at+"/endpoints/"+e.Key, "profile %s has no endpoint %q", d.Profile, e.Key)
		}
		overrides[e.Key] = e
	}
	for _, s := range profile.Endpoints {
		row := plant.Endpoint{ID: term.NewEndpointID(d.ID, s.Key), DeviceID: d.ID, EndpKey: s.Key, Enabled: true}
		if o, ok := overrides[s.Key]; ok {
			row.Overrides = o.Overrides
			row.Enabled = o.Enabled == nil || *o.Enabled
		}
		im.count(im.tx.ConfigureEndpoint(row))
	}
	im.retireLeftOver(d.ID, profile)
}

// refreshInstances brings the devices of changed profiles in line that the import itself does not name.
func (im *importer) refreshInstances(p message.ImportDevices) {
	for _, pr := range p.Profiles {
		profile, ok := im.tx.State().Profile(pr.ID)
		if !ok {
			continue
		}
		for _, d := range im.tx.State().Devices() {
			if d.ProfileID != pr.ID || slices.ContainsFunc(p.Devices, func(i message.ImportDevice) bool { return i.ID == d.ID }) {
				continue
			}
			for _, s := range profile.Endpoints {
				if _, exists := im.tx.State().Endpoint(term.NewEndpointID(d.ID, s.Key)); !exists {
					im.count(im.tx.ConfigureEndpoint(plant.Endpoint{ID: term.NewEndpointID(d.ID, s.Key), DeviceID: d.ID, EndpKey: s.Key, Enabled: true}))
				}
			}
			im.retireLeftOver(d.ID, profile)
		}
	}
}

func (im *importer) retireLeftOver(id term.DeviceID, profile *plant.Profile) {
	for _, eid := range slices.Clone(im.tx.State().EndpointsOf(id)) {
		e, _ := im.tx.State().Endpoint(eid)
		if !slices.ContainsFunc(profile.Endpoints, func(s term.EndpointSpec) bool { return s.Key == e.EndpKey }) {
			left := *e
			left.Enabled = false
			im.count(im.tx.ConfigureEndpoint(left))
		}
	}
}

func (im *importer) rule(r message.ImportRule) {
	at := "/rules/" + string(r.ID)
	if !im.named(r.Line, at+"/id", string(r.ID)) {
		return
	}
	if _, ok := im.tx.State().Farm(r.Farm); !ok {
		im.fault(r.Line, at+"/farm", "there is no farm %q", r.Farm)
		return
	}
	before := len(im.problems)
	im.ruleEndpoint(r, at+"/trigger", r.Trigger)
	leaves := 0
	im.condition(r, at+"/when", r.Condition, 1, &leaves)
	if leaves > plant.MaxConditionLeaves {
		im.fault(r.Line, at+"/when", "%d comparisons; at most %d are allowed", leaves, plant.MaxConditionLeaves)
	}
	if t, ok := im.ruleEndpoint(r, at+"/set/endpoint", r.Target); ok {
		switch problem := checkValue(r.TargetValue, t.spec, t.endpoint.Overrides); {
		case !t.spec.Writable || t.spec.Kind != term.Actuator:
			im.fault(r.Line, at+"/set/endpoint", "%s is not a writable actuator", r.Target)
		case problem != "":
			im.fault(r.Line, at+"/set/value", "%s", problem)
		}
	}
	if r.HoldOff < 0 {
		im.fault(r.Line, at+"/holdOff", "must not be negative")
	}
	if len(im.problems) > before {
		return
	}
	im.count(im.tx.ConfigureRule(plant.Rule{ID: r.ID, FarmID: r.Farm, Name: plant.Printable(r.Name), Active: r.Active == nil || *r.Active, Trigger: r.Trigger,
		Condition: r.Condition, Target: r.Target, TargetValue: r.TargetValue, HoldOff: r.HoldOff}))
}

// ruleEndpoint finds an endpoint that a rule names; it must be of the rule's farm.
func (im *importer) ruleEndpoint(r message.ImportRule, at string, id term.EndpointID) (target, bool) {
	t, ok := lookup(im.tx.State(), id)
	switch {
	case !ok:
		im.fault(r.Line, at, "there is no endpoint %q", id)
	case t.device.FarmID != r.Farm:
		im.fault(r.Line, at, "%s is on farm %s, not on %s", id, t.device.FarmID, r.Farm)
		return t, false
	}
	return t, ok
}

// condition checks a tree: exactly one form a node, comparable operands, known endpoints, possible ranges.
func (im *importer) condition(r message.ImportRule, at string, c term.Condition, depth int, leaves *int) {
	forms := 0
	for _, given := range []bool{len(c.All) > 0, len(c.Any) > 0, c.Not != nil, c.Endpoint != ""} {
		if given {
			forms++
		}
	}
	switch {
	case depth > plant.MaxConditionDepth:
		im.fault(r.Line, at, "deeper than %d levels", plant.MaxConditionDepth)
		return
	case forms != 1:
		im.fault(r.Line, at, "needs exactly one of all, any, not, or a comparison")
		return
	}
	for n, sub := range c.All {
		im.condition(r, fmt.Sprintf("%s/all/%d", at, n), sub, depth+1, leaves)
	}
	for n, sub := range c.Any {
		im.condition(r, fmt.Sprintf("%s/any/%d", at, n), sub, depth+1, leaves)
	}
	if c.Not != nil {
		im.condition(r, at+"/not", *c.Not, depth+1, leaves)
	}
	if c.Endpoint == "" {
		return
	}
	*leaves++
	t, ok := im.ruleEndpoint(r, at+"/endpoint", c.Endpoint)
	if !ok {
		return
	}
	im.leaf(r, at, c, t.spec)
}

func (im *importer) leaf(r message.ImportRule, at string, c term.Condition, spec *term.EndpointSpec) {
	ops := operands(c)
	for _, o := range ops {
		if _, err := o.As(spec.Type); err != nil {
			if _, number := o.AsNumber(); !number || spec.Type != term.TypeInt { // 20.5 is a fine bound for an int
				im.fault(r.Line, at, "%v", err)
				return
			}
		}
	}
	ordered := spec.Type == term.TypeInt || spec.Type == term.TypeFloat
	switch c.Op {
	case term.OpEq, term.OpNe:
	case term.OpGt, term.OpGe, term.OpLt, term.OpLe:
		if !ordered {
			im.fault(r.Line, at, "%s needs a number; %s is %s", c.Op, c.Endpoint, spec.Type)
		}
	case term.OpBetween:
		switch {
		case !ordered || len(ops) != 2:
			im.fault(r.Line, at, "between needs a number and two bounds")
		default:
			if cmp, _ := ops[0].Compare(ops[1]); cmp > 0 {
				im.fault(r.Line, at, "the range %s to %s is empty", ops[0], ops[1])
			}
		}
	case term.OpIn:
		if len(ops) == 0 || len(ops) > plant.MaxConditionLeaves {
			im.fault(r.Line, at, "in needs 1 to %d values", plant.MaxConditionLeaves)
		}
	default:
		im.fault(r.Line, at, "%q is no operator", c.Op)
	}
}
