package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"

	"surehand/internal/term"
)

// Organisation owns farms.
type Organisation struct{ ent.Schema }

func (Organisation) Annotations() []schema.Annotation {
	return []schema.Annotation{entsql.Annotation{Table: "organisations"}}
}

func (Organisation) Fields() []ent.Field {
	return []ent.Field{nameKey(term.OrganisationID("")), version(), changing.text("name", nil)}
}

// Farm is the scope of rules.
type Farm struct{ ent.Schema }

func (Farm) Annotations() []schema.Annotation {
	return []schema.Annotation{entsql.Annotation{Table: "farms"}}
}

func (Farm) Fields() []ent.Field {
	return []ent.Field{
		nameKey(term.FarmID("")), version(),
		changing.text("organisation_id", term.OrganisationID("")),
		changing.text("name", nil),
	}
}

// DeviceProfile is a kind of device with its endpoint catalogue.
type DeviceProfile struct{ ent.Schema }

func (DeviceProfile) Annotations() []schema.Annotation {
	return []schema.Annotation{checks("device_profiles",
		"device_profile_class_known", known("class", term.DeviceClass("").Values()))}
}

func (DeviceProfile) Fields() []ent.Field {
	return []ent.Field{
		nameKey(term.ProfileID("")), version(),
		changing.text("name", nil),
		changing.enum("class", term.ClassA),
		changing.document("timing"),
		optional.document("endpoints"),
	}
}

// Device is one device on a farm.
type Device struct{ ent.Schema }

func (Device) Annotations() []schema.Annotation {
	return []schema.Annotation{checks("devices",
		"device_status_known", known("status", term.DeviceStatus("").Values()),
		"device_class_known", known("class", term.DeviceClass("").Values()),
		"device_serial_valid", "serial ~ '^[A-Za-z0-9_-]{1,64}$'",
	)}
}

func (Device) Fields() []ent.Field {
	return []ent.Field{
		nameKey(term.DeviceID("")), version(),
		changing.text("farm_id", term.FarmID("")),
		changing.text("profile_id", term.ProfileID("")),
		changing.text("serial", nil),
		changing.text("name", nil),
		changing.enum("status", term.DeviceActive),
		changing.enum("class", term.ClassA),
		optional.text("boot_id", nil),
		optional.list("boots"),
	}
}

func (Device) Indexes() []ent.Index {
	return []ent.Index{index.Fields("serial").Unique().StorageKey("devices_serial_key")}
}

// DeviceEndpoint is one sensor or actuator of a device with its last value. It is written with almost every
// reading, so no index stands on it but its key, and every update stays within its page (HOT).
type DeviceEndpoint struct{ ent.Schema }

func (DeviceEndpoint) Annotations() []schema.Annotation {
	return []schema.Annotation{entsql.Annotation{Table: "device_endpoints"}}
}

func (DeviceEndpoint) Fields() []ent.Field {
	return []ent.Field{
		nameKey(term.EndpointID("")), version(),
		fixed.text("device_id", term.DeviceID("")),
		fixed.text("endpoint_key", nil),
		field.Bool("enabled"),
		changing.document("overrides"),
		optional.text("value", nil),
		optional.time("sampled_at"),
		optional.time("received_at"),
		changing.document("mark"),
	}
}

// AutomationRule drives one target endpoint from one triggering endpoint of the same farm.
type AutomationRule struct{ ent.Schema }

func (AutomationRule) Annotations() []schema.Annotation {
	return []schema.Annotation{entsql.Annotation{Table: "automation_rules"}}
}

func (AutomationRule) Fields() []ent.Field {
	return []ent.Field{
		nameKey(term.RuleID("")), version(),
		changing.text("farm_id", term.FarmID("")),
		changing.text("name", nil),
		field.Bool("active"),
		field.Int64("revision"),
		changing.text("trigger_id", term.EndpointID("")),
		changing.document("condition"),
		changing.text("target_id", term.EndpointID("")),
		changing.text("target_value", nil),
		field.Int64("hold_off_ns"),
		optional.time("hold_until"),
		optional.uuid("execution_id", term.ExecutionID("")),
	}
}
