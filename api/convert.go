package api

import (
	"encoding/json"

	"surehand/internal/dbstate/read"
	"surehand/internal/message"
	"surehand/internal/plant"
)

func convert[R, T any](rows []R, one func(R) T) []T {
	all := make([]T, 0, len(rows))
	for _, r := range rows {
		all = append(all, one(r))
	}
	return all
}

func listOf[R, T any](p read.Page[R], one func(R) T) List[T] {
	return List[T]{Items: convert(p.Items, one), Next: p.Next}
}

func outcomeJSON(o message.Outcome) Outcome {
	return Outcome{Code: o.Code, Reason: o.Reason, Detail: o.Detail, State: o.State, Subject: o.Subject, ID: o.ID, Changed: o.Changed, Seq: o.Seq}
}

func commandJSON(r *plant.Intent) Command {
	c := Command{
		ID: r.ID, Version: r.Version, State: r.State, WaitingFor: r.WaitingFor, FarmID: r.FarmID, DeviceID: r.DeviceID, EndpointID: r.EndpointID,
		Serial: r.Serial, TargetValue: r.TargetValue, Action: r.Action, Method: r.Method, Actor: r.Actor, RuleID: r.RuleID,
		RuleRevision: r.RuleRevision, EventID: r.EventID, ExecutionID: r.ExecutionID, CommandID: r.CommandID, AttemptCount: r.AttemptCount,
		MaxAttempts: r.MaxAttempts, LastError: r.LastError, HoldsEndpoint: r.HoldsEndpoint, PossiblyExecuted: r.PossiblyExecuted,
		EvidenceID: r.EvidenceID, CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt, NextAttemptAt: r.NextAttemptAt, DeadlineAt: r.DeadlineAt,
		FencedAt: r.FencedAt, AckedAt: r.AckedAt, LapseAt: r.LapseAt, EndedAt: r.EndedAt, ClosedAt: r.ClosedAt,
	}
	if json.Valid([]byte(r.Params)) {
		c.Params = json.RawMessage(r.Params)
	}
	return c
}

func timelineJSON(i read.TimelineItem) TimelineItem {
	return TimelineItem{At: i.At, Seq: i.Seq, Kind: i.Kind, Text: i.Text, From: i.From, To: i.To, Detail: i.Detail}
}

func executionJSON(r *plant.Execution) Execution {
	return Execution{
		ID: r.ID, Version: r.Version, Source: r.Source, Outcome: r.Outcome, Reason: r.Reason, RuleID: r.RuleID, RuleRevision: r.RuleRevision,
		EventID: r.EventID, LastEventID: r.LastEventID, FarmID: r.FarmID, TargetID: r.TargetID, Leaves: orEmpty(r.Leaves), Gates: orEmpty(r.Gates),
		IntentID: r.IntentID, FinalState: r.FinalState, FinalReason: r.FinalReason, Count: r.Count, FirstAt: r.FirstAt, LastAt: r.LastAt, Open: r.IsOpen,
	}
}

func eventJSON(r *plant.Event) Event {
	return Event{ID: r.ID, FarmID: r.FarmID, DeviceID: r.DeviceID, EndpointID: r.EndpointID, At: r.At, ReceivedAt: r.ReceivedAt,
		Value: r.Value, Status: r.Status, Reason: r.Reason}
}

func deviceJSON(r *plant.Device) Device {
	return Device{ID: r.ID, Version: r.Version, FarmID: r.FarmID, ProfileID: r.ProfileID, Serial: r.Serial, Name: r.Name, Status: r.Status,
		Class: r.Class, BootID: r.BootID}
}

func endpointJSON(r *plant.Endpoint, p *plant.Profile, holder *plant.Intent) Endpoint {
	e := Endpoint{ID: r.ID, Key: r.EndpKey, Enabled: r.Enabled, Overrides: r.Overrides, Value: r.Value, SampledAt: r.SampledAt, ReceivedAt: r.ReceivedAt}
	for i := range p.Endpoints {
		if p.Endpoints[i].Key == r.EndpKey {
			e.Spec = &p.Endpoints[i]
		}
	}
	if holder != nil {
		c := commandJSON(holder)
		e.Holder = &c
	}
	return e
}

func valueJSON(r *plant.Endpoint) EndpointValue {
	return EndpointValue{EndpointID: r.ID, DeviceID: r.DeviceID, Value: r.Value, SampledAt: r.SampledAt, ReceivedAt: r.ReceivedAt}
}

func organisationJSON(r *plant.Organisation) Organisation {
	return Organisation{ID: r.ID, Version: r.Version, Name: r.Name}
}

func farmJSON(r *plant.Farm) Farm {
	return Farm{ID: r.ID, Version: r.Version, OrganisationID: r.OrganisationID, Name: r.Name}
}

func profileJSON(r *plant.Profile) Profile {
	return Profile{ID: r.ID, Version: r.Version, Name: r.Name, Class: r.Class, Timing: r.Timing.WithDefaults(), Endpoints: orEmpty(r.Endpoints)}
}

func ruleJSON(r *plant.Rule) Rule {
	return Rule{ID: r.ID, Version: r.Version, FarmID: r.FarmID, Name: r.Name, Active: r.Active, Revision: r.Revision, Trigger: r.Trigger,
		Condition: r.Condition, Target: r.Target, TargetValue: r.TargetValue, HoldOff: r.HoldOff, HoldUntil: r.HoldUntil, ExecutionID: r.ExecutionID}
}

func holdJSON(r *plant.Hold) Hold {
	return Hold{ID: r.ID, Subject: r.Subject, Hold: r.Reason, By: r.By, Why: r.Why, At: r.At}
}

func entryJSON(r *plant.Entry) LogEntry {
	return LogEntry{Seq: r.Seq, MessageID: r.MessageID, Type: r.Type, Source: r.Source, Actor: r.Actor, CorrelationID: r.CorrelationID,
		CausationID: r.CausationID, At: r.At, CreatedAt: r.CreatedAt, Outcome: r.Outcome, Reason: r.Reason, Subject: r.Subject,
		Notes: orEmpty(r.Notes), NotesLeftOut: r.NotesLeftOut}
}

func parkedJSON(r *plant.Parked) ParkedMessage {
	return ParkedMessage{ID: r.ID, Type: r.Type, Source: r.Source, Reason: r.Reason, At: r.At, Raw: r.Raw}
}

func timeoutsJSON(t read.Timeouts) Timeouts {
	return Timeouts{DeviceID: t.DeviceID, EndpointID: t.EndpointID, Count: t.Count, LastAt: t.LastAt}
}

// orEmpty: a list that is empty is [] and not null.
func orEmpty[T any](l []T) []T {
	if l == nil {
		return []T{}
	}
	return l
}
