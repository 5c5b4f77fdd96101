package config

import (
	"strconv"

	"surehand/internal/message"
	"surehand/internal/term"
)

// Devices reads an import of the device half. With problems the import is not to be used.
func Devices(data []byte) (message.ImportDevices, []message.Problem) {
	root, problem := parse(data)
	if problem != nil {
		return message.ImportDevices{}, []message.Problem{*problem}
	}
	f := &form{}
	o := f.object(root, "", deviceKeys...)
	var out message.ImportDevices
	each(o, "organisations", []string{"id", "name"}, func(o object, id string) {
		out.Organisations = append(out.Organisations, message.ImportOrganisation{ID: term.OrganisationID(id), Name: o.text("name"), Line: o.line})
	})
	each(o, "farms", []string{"id", "organisation", "name"}, func(o object, id string) {
		out.Farms = append(out.Farms, message.ImportFarm{ID: term.FarmID(id), Organisation: term.OrganisationID(o.required("organisation")),
			Name: o.text("name"), Line: o.line})
	})
	each(o, "profiles", []string{"id", "name", "class", "timing", "endpoints"}, func(o object, id string) {
		out.Profiles = append(out.Profiles, profile(o, id))
	})
	each(o, "devices", []string{"id", "farm", "profile", "serial", "name", "status", "class", "endpoints"}, func(o object, id string) {
		out.Devices = append(out.Devices, device(o, id))
	})
	serials(f, out.Devices)
	each(o, "rules", []string{"id", "farm", "name", "active", "trigger", "when", "set", "holdOff"}, func(o object, id string) {
		out.Rules = append(out.Rules, rule(o, id))
	})
	if len(f.problems) > 0 {
		return message.ImportDevices{}, f.problems
	}
	return out, nil
}

// each reads a list of things that have an id, none of them twice. A thing is pointed to by its id, as in the
// loop's own problems, or by its place if it has none.
func each(o object, key string, known []string, read func(object, string)) {
	lines := map[string]int{}
	for n, item := range o.list(key) {
		at := o.at + "/" + key + "/" + strconv.Itoa(n)
		if item.kind != mapping {
			o.f.fault(item.line, at, "must be a mapping")
			continue
		}
		if id := idOf(item); id != "" {
			at = o.at + "/" + key + "/" + escape(id)
		}
		thing := o.f.object(item, at, known...)
		id := thing.required(known[0])
		if first, twice := lines[id]; twice && id != "" {
			thing.fault(known[0], "%q stands in line %d already", id, first)
		}
		lines[id] = thing.line
		read(thing, id)
	}
}

func idOf(item *node) string {
	for _, p := range item.pairs {
		if (p.key == "id" || p.key == "key") && p.value.kind == scalar {
			return p.value.text
		}
	}
	return ""
}

// serials: two devices cannot be one in the topics.
func serials(f *form, devices []message.ImportDevice) {
	first := map[string]message.ImportDevice{}
	for _, d := range devices {
		if other, twice := first[d.Serial]; twice && d.Serial != "" {
			f.fault(d.Line, "/devices/"+escape(string(d.ID))+"/serial", "%q is the serial number of %s in line %d already", d.Serial, other.ID, other.Line)
		}
		first[d.Serial] = d
	}
}

func profile(o object, id string) message.ImportProfile {
	p := message.ImportProfile{ID: term.ProfileID(id), Name: o.text("name"), Line: o.line,
		Class: term.DeviceClass(o.word("class", term.DeviceClass("").Values()))}
	if !o.has("class") {
		o.fault("class", "is missing: A, B or C")
	}
	p.Timing = timing(o.object("timing", "ackTimeout", "backoff", "jitter", "maxAttempts", "reconciliationWindow", "commandDeadline", "freshness", "keepAlive"))
	known := []string{"key", "kind", "type", "unit", "writable", "action", "binding", "constraints", "tolerance", "freshness"}
	each(o, "endpoints", known, func(o object, key string) {
		p.Endpoints = append(p.Endpoints, endpoint(o, key))
	})
	return p
}

func timing(o object) term.Timing {
	t := term.Timing{AckTimeout: o.duration("ackTimeout"), Jitter: o.number("jitter"), MaxAttempts: o.int("maxAttempts"),
		ReconciliationWindow: o.duration("reconciliationWindow"), CommandDeadline: o.duration("commandDeadline"),
		Freshness: o.duration("freshness"), KeepAlive: o.duration("keepAlive")}
	for _, n := range o.list("backoff") {
		t.Backoff = append(t.Backoff, o.asDuration("backoff", n))
	}
	return t
}

func endpoint(o object, key string) term.EndpointSpec {
	e := term.EndpointSpec{Key: key, Kind: term.EndpointKind(o.word("kind", term.EndpointKind("").Values())),
		Type: term.ValueType(o.word("type", term.ValueType("").Values())), Unit: o.text("unit"),
		Action: term.ActionKind(o.word("action", term.ActionKind("").Values())), Freshness: o.duration("freshness")}
	for _, k := range []string{"kind", "type"} {
		if !o.has(k) {
			o.fault(k, "is missing")
		}
	}
	if w := o.bool("writable"); w != nil {
		e.Writable = *w
	}
	if t := o.number("tolerance"); t != nil {
		e.Tolerance = *t
	}
	b := o.object("binding", "method", "param", "telemetry")
	e.Binding = term.Binding{Method: b.text("method"), Param: b.text("param"), Telemetry: b.text("telemetry")}
	e.Constraints = constraints(o)
	return e
}

func constraints(o object) term.Constraints {
	c := o.object("constraints", "min", "max", "step", "allowed")
	return term.Constraints{Min: c.number("min"), Max: c.number("max"), Step: c.number("step"), Allowed: c.values("allowed")}
}

func device(o object, id string) message.ImportDevice {
	d := message.ImportDevice{ID: term.DeviceID(id), Farm: term.FarmID(o.required("farm")), Profile: term.ProfileID(o.required("profile")),
		Serial: o.required("serial"), Name: o.text("name"), Status: term.DeviceStatus(o.word("status", term.DeviceStatus("").Values())),
		Class: term.DeviceClass(o.word("class", term.DeviceClass("").Values())), Line: o.line}
	each(o, "endpoints", []string{"key", "enabled", "constraints", "tolerance"}, func(o object, key string) {
		e := message.ImportEndpoint{Key: key, Enabled: o.bool("enabled"), Overrides: term.Overrides{Tolerance: o.number("tolerance")}}
		if o.has("constraints") {
			c := constraints(o)
			e.Overrides.Constraints = &c
		}
		d.Endpoints = append(d.Endpoints, e)
	})
	return d
}
