package storetest

import (
	"fmt"
	"time"

	"surehand/internal/plant"
	"surehand/internal/term"
)

const (
	farm       = term.FarmID("house-1")
	awkward    = "温室 Nhà kính “1” \\ ' \" \t\n%_"
	sec        = term.Duration(time.Second)
	fanProfile = term.ProfileID("fan")
)

func fan(n int) term.DeviceID       { return term.DeviceID(name("fan", n)) }
func fanOn(n int) term.EndpointID   { return term.NewEndpointID(fan(n), "on") }
func coolDown(n int) term.RuleID    { return term.RuleID(name("cool-down", n)) }
func fanSerial(n int) string        { return fmt.Sprintf("GH_FAN-%d", n) }
func celsius(v float64) term.Value  { return term.Float(v) }
func fanTemp(n int) term.EndpointID { return term.NewEndpointID(fan(n), "temperature") }

// configured is a step that stores a farm with devices 1 to n, each with two endpoints and a rule.
func configured(n int) step {
	return func(tx *plant.Tx) {
		tx.ConfigureOrganisation(plant.Organisation{ID: "acme", Name: awkward})
		tx.ConfigureFarm(plant.Farm{ID: farm, OrganisationID: "acme", Name: "House 1"})
		tx.ConfigureProfile(fullProfile())
		for d := 1; d <= n; d++ {
			configureFan(tx, d)
		}
	}
}

func configureFan(tx *plant.Tx, n int) {
	tx.ConfigureDevice(plant.Device{ID: fan(n), FarmID: farm, ProfileID: fanProfile, Serial: fanSerial(n), Name: awkward,
		Status: term.DeviceActive, Class: term.ClassA})
	tx.ConfigureEndpoint(plant.Endpoint{ID: fanOn(n), DeviceID: fan(n), EndpKey: "on", Enabled: true})
	tx.ConfigureEndpoint(plant.Endpoint{ID: fanTemp(n), DeviceID: fan(n), EndpKey: "temperature", Enabled: n%2 == 1,
		Overrides: term.Overrides{Tolerance: ptr(0.5), Constraints: &term.Constraints{Min: ptr(-10.0), Allowed: []term.Value{term.Float(1), term.Int(2), term.Text("三")}}}})
	tx.ConfigureRule(plant.Rule{ID: coolDown(n), FarmID: farm, Name: awkward, Active: true, Trigger: fanTemp(n), Condition: condition(n),
		Target: fanOn(n), TargetValue: term.Bool(true), HoldOff: 30 * sec})
}

func condition(n int) term.Condition {
	return term.Condition{All: []term.Condition{
		{Endpoint: fanTemp(n), Op: term.OpGt, Value: celsius(28)},
		{Not: &term.Condition{Any: []term.Condition{
			{Endpoint: fanOn(n), Op: term.OpEq, Value: term.Bool(true)},
			{Endpoint: fanTemp(n), Op: term.OpBetween, Values: []term.Value{term.Int(1), term.Float(2)}},
		}}},
	}}
}

func fullProfile() plant.Profile {
	return plant.Profile{ID: fanProfile, Name: "Fan", Class: term.ClassA,
		Timing: term.Timing{AckTimeout: 5 * sec, Backoff: []term.Duration{5 * sec, 15 * sec}, Jitter: ptr(0.0), MaxAttempts: 3,
			ReconciliationWindow: 30 * sec, CommandDeadline: 300 * sec, Freshness: 120 * sec, KeepAlive: 60 * sec},
		Endpoints: []term.EndpointSpec{
			{Key: "on", Kind: term.Actuator, Type: term.TypeBool, Writable: true, Action: term.ActionAbsolute, Binding: term.Binding{Method: "set", Param: "on", Telemetry: "relay"}},
			{Key: "temperature", Kind: term.Sensor, Type: term.TypeFloat, Unit: "°C", Tolerance: 0.25, Freshness: 10 * sec,
				Constraints: term.Constraints{Min: ptr(-40.0), Max: ptr(85.5), Step: ptr(0.1)}},
		}}
}

// reading records one reading of a device and its event, pending or with a reason for its discard.
func reading(tx *plant.Tx, n int, at time.Time, v float64, discard term.DiscardReason) (*plant.Event, plant.Telemetry) {
	at = plant.Micros(at)
	tel := plant.Telemetry{ID: term.TelemetryID(plant.DerivedID(at, "reading", string(fan(n)))), DeviceID: fan(n), SampledAt: at,
		ReceivedAt: tx.Now(), BootID: "b1", Seq: int64(n), Body: `{"values":{"temperature":` + celsius(v).String() + `}}`}
	tx.RecordTelemetry(tel)
	status := term.EventPending
	if discard != term.DiscardNone {
		status = term.EventDiscarded
	}
	e := tx.RecordEvent(plant.Event{ID: term.EventID(plant.DerivedID(at, "event", string(fanTemp(n)))), OrganisationID: "acme", FarmID: farm,
		DeviceID: fan(n), EndpointID: fanTemp(n), TelemetryID: tel.ID, At: at, ReceivedAt: tx.Now(), Value: celsius(v),
		Snapshot: tel.Body, Status: status, Reason: discard})
	return e, tel
}

func observe(tx *plant.Tx, n int, v float64) {
	e := must(tx.State().Endpoint(fanTemp(n)))
	tx.Observe(e, celsius(v), tx.Now().Add(-time.Second), tx.Now(),
		term.Mark{BootID: "b1", Seq: e.Mark.Seq + 1, At: tx.Now().UnixMicro(), Hashes: []string{plant.Hash("a"), plant.Hash("b")}})
}

// command creates a rule's command for fan n with its execution; event may be empty.
func command(tx *plant.Tx, n int, event term.EventID) *plant.Intent {
	r := must(tx.State().Rule(coolDown(n)))
	e := plant.Execution{ID: term.ExecutionID(tx.NewID()), Source: term.SourceRule, RuleID: r.ID, RuleRevision: r.Revision, EventID: event,
		FarmID: farm, TargetID: fanOn(n), Outcome: term.ExecutionFired, IntentID: term.IntentID(tx.NewID()),
		Leaves: []term.Leaf{{Endpoint: fanTemp(n), Op: term.OpGt, Operands: []term.Value{celsius(28)}, Actual: celsius(28.4), AgeMS: 12, Result: "true"}},
		Gates:  []term.GateInput{{Gate: term.GateHoldOff, Fact: "over", Pass: true}}}
	tx.RecordExecution(e, tx.Now().Add(30*time.Second))
	return create(tx, n, e, term.ActionAbsolute, 3)
}

// handCommand creates a person's command: a pulse, which may be tried once.
func handCommand(tx *plant.Tx, n int) *plant.Intent {
	e := plant.Execution{ID: term.ExecutionID(tx.NewID()), Source: term.SourceHand, FarmID: farm, TargetID: fanOn(n),
		Outcome: term.ExecutionFired, IntentID: term.IntentID(tx.NewID())}
	tx.RecordExecution(e, time.Time{})
	return create(tx, n, e, term.ActionPulse, 1)
}

func create(tx *plant.Tx, n int, e plant.Execution, action term.ActionKind, most int) *plant.Intent {
	actor := ""
	if e.Source == term.SourceHand {
		actor = "mai"
	}
	params := `{"on":true}`
	return tx.CreateIntent(plant.Intent{ID: e.IntentID, ExecutionID: e.ID, RuleID: e.RuleID, RuleRevision: e.RuleRevision, EventID: e.EventID,
		Actor: actor, FarmID: farm, DeviceID: fan(n), EndpointID: fanOn(n), Serial: fanSerial(n), Method: "set", Params: params,
		TargetValue: term.Bool(true), Action: action, IdempotencyKey: plant.Hash(string(e.IntentID)), Fingerprint: plant.Hash(string(fanOn(n)), "set", params),
		MaxAttempts: most, DeadlineAt: plant.Micros(tx.Now().Add(5 * time.Minute))})
}

func fence(tx *plant.Tx, i *plant.Intent) *plant.Intent {
	id := i.CommandID
	if id == "" {
		id = term.CommandID(tx.State().Fence().Installation + "." + tx.NewID())
	}
	return tx.FenceIfFree(i, plant.Send{CommandID: id, Topic: "surehand/v1/" + i.Serial + "/rpc/request", QoS: 1,
		Payload: `{"commandId":"` + string(id) + `","method":"set","params":` + i.Params + `}`, Hash: plant.Hash(string(id), i.Method, i.Params),
		AckAfter: 5 * time.Second, LapseFor: 90 * time.Second, BootID: "b1"})
}

func receipt(tx *plant.Tx, i *plant.Intent, kind term.ReceiptType) term.ReceiptID {
	return tx.RecordReceipt(plant.Receipt{IntentID: i.ID, DeviceID: i.DeviceID, Serial: i.Serial, Type: kind, Correlation: term.CorrelationTimely,
		CorrelationKey: i.MQTTRequestID, Payload: []byte{'{', 0, 0xff, '}'}})
}

func acknowledge(tx *plant.Tx, i *plant.Intent) *plant.Intent {
	receipt(tx, i, term.ReceiptAck)
	return tx.MarkAcknowledged(i, term.Mark{BootID: "b1", Seq: 7, At: tx.Now().UnixMicro(), Hashes: []string{plant.Hash("x")}}, 30*time.Second)
}

func apply(tx *plant.Tx, i *plant.Intent) *plant.Intent {
	return tx.MarkApplied(i, receipt(tx, i, term.ReceiptStateReport))
}
