package plant

import (
	"slices"

	"surehand/internal/term"
)

func (s *State) Fence() Fence { return s.fence }

func (s *State) Organisation(id term.OrganisationID) (*Organisation, bool) {
	r, ok := s.organisations[id]
	return r, ok
}
func (s *State) Farm(id term.FarmID) (*Farm, bool)          { r, ok := s.farms[id]; return r, ok }
func (s *State) Profile(id term.ProfileID) (*Profile, bool) { r, ok := s.profiles[id]; return r, ok }
func (s *State) Device(id term.DeviceID) (*Device, bool)    { r, ok := s.devices[id]; return r, ok }
func (s *State) Endpoint(id term.EndpointID) (*Endpoint, bool) {
	r, ok := s.endpoints[id]
	return r, ok
}
func (s *State) Rule(id term.RuleID) (*Rule, bool)    { r, ok := s.rules[id]; return r, ok }
func (s *State) Event(id term.EventID) (*Event, bool) { r, ok := s.events[id]; return r, ok }
func (s *State) Execution(id term.ExecutionID) (*Execution, bool) {
	r, ok := s.executions[id]
	return r, ok
}
func (s *State) Intent(id term.IntentID) (*Intent, bool)    { r, ok := s.intents[id]; return r, ok }
func (s *State) Attempt(id term.AttemptID) (*Attempt, bool) { r, ok := s.attempts[id]; return r, ok }

func (s *State) Organisations() []*Organisation { return sortedRows(s.organisations) }
func (s *State) Farms() []*Farm                 { return sortedRows(s.farms) }
func (s *State) Profiles() []*Profile           { return sortedRows(s.profiles) }
func (s *State) Devices() []*Device             { return sortedRows(s.devices) }
func (s *State) Endpoints() []*Endpoint         { return sortedRows(s.endpoints) }
func (s *State) Rules() []*Rule                 { return sortedRows(s.rules) }
func (s *State) Intents() []*Intent             { return sortedRows(s.intents) }
func (s *State) OpenAttempts() []*Attempt       { return sortedRows(s.attempts) }

// DeviceBySerial finds the device that a topic names.
func (s *State) DeviceBySerial(serial string) (*Device, bool) {
	id, ok := s.bySerial[serial]
	if !ok {
		return nil, false
	}
	return s.devices[id], true
}

// EndpointsOf lists a device's endpoints, sorted.
func (s *State) EndpointsOf(id term.DeviceID) []term.EndpointID { return s.byDevice[id] }

// TriggeredBy lists the rules that an endpoint triggers, sorted.
func (s *State) TriggeredBy(id term.EndpointID) []term.RuleID { return s.byTrigger[id] }

// IntentByCommand finds an open command by its id on the wire.
func (s *State) IntentByCommand(id term.CommandID) (*Intent, bool) {
	i, ok := s.byCommand[id]
	if !ok {
		return nil, false
	}
	return s.intents[i], true
}

// Holder is the command that holds an endpoint.
func (s *State) Holder(id term.EndpointID) (*Intent, bool) {
	i, ok := s.holder[id]
	if !ok {
		return nil, false
	}
	return s.intents[i], true
}

// Queue lists the commands that wait for an endpoint, oldest first.
func (s *State) Queue(id term.EndpointID) []term.IntentID { return s.queue[id] }

// OpenAttemptOf is the attempt of a command that is being sent.
func (s *State) OpenAttemptOf(id term.IntentID) (*Attempt, bool) {
	a, ok := s.openAttempt[id]
	if !ok {
		return nil, false
	}
	return s.attempts[a], true
}

// PublishesOpen counts open attempts: handed out and not yet answered, or left by an earlier life and not yet
// judged.
func (s *State) PublishesOpen() int {
	return len(s.attempts)
}

// Held finds an open hold.
func (s *State) Held(subject string, reason term.HoldReason) (*Hold, bool) {
	id, ok := s.held[holdKey(subject, reason)]
	if !ok {
		return nil, false
	}
	return s.holds[id], true
}

// Holds lists the open holds, sorted by id.
func (s *State) Holds() []*Hold { return sortedRows(s.holds) }

// PendingEvents lists up to n events whose rules are not evaluated yet, oldest first.
func (s *State) PendingEvents(n int) []term.EventID {
	return slices.Clone(s.pending[:min(n, len(s.pending))])
}

// WaitingAt lists up to n commands that a waiting gate stops, sorted by id: oldest event first.
func (s *State) WaitingAt(gate term.Gate, n int) []term.IntentID {
	return slices.Clone(s.waiting[gate][:min(n, len(s.waiting[gate]))])
}

// specIndex finds catalogue entries by key and by telemetry key.
type specIndex struct{ byKey, byTelemetry map[string]*term.EndpointSpec }

func indexSpecs(p *Profile) specIndex {
	x := specIndex{map[string]*term.EndpointSpec{}, map[string]*term.EndpointSpec{}}
	for i := range p.Endpoints {
		spec := &p.Endpoints[i]
		x.byKey[spec.Key] = spec
		x.byTelemetry[spec.TelemetryKey()] = spec
	}
	return x
}

// Spec is the catalogue entry of an endpoint.
func (s *State) Spec(e *Endpoint) (*term.EndpointSpec, bool) {
	d, ok := s.devices[e.DeviceID]
	if !ok {
		return nil, false
	}
	spec, ok := s.specs[d.ProfileID].byKey[e.EndpKey]
	return spec, ok
}

// SpecByTelemetry is the catalogue entry that a telemetry key of a device means.
func (s *State) SpecByTelemetry(d *Device, key string) (*term.EndpointSpec, bool) {
	spec, ok := s.specs[d.ProfileID].byTelemetry[key]
	return spec, ok
}

// Timing of a device, with defaults filled in.
func (s *State) Timing(id term.DeviceID) term.Timing {
	if d, ok := s.devices[id]; ok {
		if p, ok := s.profiles[d.ProfileID]; ok {
			return p.Timing.WithDefaults()
		}
	}
	return term.Timing{}.WithDefaults()
}

// Mute takes a timer out until its row changes or the picture is loaded again: after its message was parked.
func (s *State) Mute(d Due) { s.due.drop(d.Kind, d.Key) }

// NextDue is the earliest due time of the picture.
func (s *State) NextDue() (Due, bool) { return s.due.first() }

func holdKey(subject string, reason term.HoldReason) string { return subject + "\x00" + string(reason) }
