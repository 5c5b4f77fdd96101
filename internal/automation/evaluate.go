package automation

import (
	"fmt"
	"time"

	"surehand/internal/plant"
	"surehand/internal/term"
)

// evaluateEvent evaluates the rules of the farm that an event triggers and ends the event: processed, or
// failed when an evaluator broke. It tells whether any verdict was other than plain false.
func evaluateEvent(tx *plant.Tx, ev *plant.Event) (anyVerdict bool) {
	for _, id := range tx.State().TriggeredBy(ev.EndpointID) {
		r, ok := tx.State().Rule(id)
		if !ok || !r.Active || r.FarmID != ev.FarmID {
			continue
		}
		if evaluateRule(tx, r, ev) {
			anyVerdict = true
		}
	}
	tx.FinishEventIfPending(ev, term.EventProcessed)
	return anyVerdict
}

// verdict of one rule over one event.
type verdict struct {
	outcome term.ExecutionOutcome
	reason  string
	leaves  []term.Leaf
	gates   []term.GateInput
}

// evaluateRule evaluates one rule, stores the verdict when it or its reason changed, and creates the command
// intent when it fires. It publishes nothing (D-4).
func evaluateRule(tx *plant.Tx, r *plant.Rule, ev *plant.Event) bool {
	v := judgeRule(tx, r, ev)
	current, known := tx.State().Execution(r.ExecutionID)
	same := known && current.Outcome == v.outcome && current.Reason == v.reason && current.RuleRevision == r.Revision
	if v.outcome == term.ExecutionFired {
		fire(tx, r, ev, v)
		return true
	}
	switch {
	case !same:
		tx.RecordExecution(execution(tx, r, ev, v), r.HoldUntil)
	case v.outcome != term.ExecutionFalse && v.outcome != term.ExecutionUnknown:
		tx.RepeatExecution(current, ev.ID)
	}
	return v.outcome != term.ExecutionFalse && v.outcome != term.ExecutionUnknown
}

func execution(tx *plant.Tx, r *plant.Rule, ev *plant.Event, v verdict) plant.Execution {
	return plant.Execution{
		ID: term.ExecutionID(tx.NewID()), Source: term.SourceRule, RuleID: r.ID, RuleRevision: r.Revision, EventID: ev.ID, FarmID: r.FarmID,
		TargetID: r.Target, Outcome: v.outcome, Reason: v.reason, Leaves: v.leaves, Gates: v.gates,
	}
}

// judgeRule decides without changing anything.
func judgeRule(tx *plant.Tx, r *plant.Rule, ev *plant.Event) verdict {
	e := evaluator{state: tx.State(), now: tx.Now(), farm: r.FarmID, trigger: ev.EndpointID, value: ev.Value, at: ev.At}
	result := e.eval(r.Condition)
	v := verdict{leaves: e.leaves}
	switch result {
	case no:
		v.outcome = term.ExecutionFalse
		return v
	case unknown:
		v.outcome = term.ExecutionUnknown
		return v
	}
	want := wish{rule: r, endpoint: r.Target, value: r.TargetValue}
	refusing, inputs := refusingGates(tx, want)
	v.gates = inputs
	if refusing != term.GateNone && refusing != term.GateHoldOff && refusing != term.GateQueueFull {
		v.outcome, v.reason = term.ExecutionRefused, string(refusing)
		return v
	}
	if already, why := alreadyTrue(tx, want); already {
		v.outcome, v.reason = term.ExecutionAlreadyTrue, why
		return v
	}
	if id, ok := inFlight(tx, want); ok {
		v.outcome, v.reason = term.ExecutionInFlight, string(id)
		return v
	}
	if refusing != term.GateNone {
		v.outcome, v.reason = term.ExecutionRefused, string(refusing)
		return v
	}
	v.outcome = term.ExecutionFired
	return v
}

// fire creates the command of a rule in the same savepoint as its event and verdict.
func fire(tx *plant.Tx, r *plant.Rule, ev *plant.Event, v verdict) {
	want := wish{rule: r, endpoint: r.Target, value: r.TargetValue}
	x := execution(tx, r, ev, v)
	i := newIntent(tx, want)
	i.IdempotencyKey = plant.Hash(string(r.ID), string(r.Target), i.TargetValue.String(), string(ev.ID))
	i.ID = term.IntentID(plant.DerivedID(ev.At, "intent", i.IdempotencyKey))
	i.ExecutionID, i.RuleID, i.RuleRevision, i.EventID = x.ID, r.ID, r.Revision, ev.ID
	x.IntentID = i.ID
	holdUntil := r.HoldUntil
	if r.HoldOff > 0 {
		holdUntil = tx.Now().Add(time.Duration(r.HoldOff))
	}
	tx.CreateIntent(i)
	tx.RecordExecution(x, holdUntil)
	Dispatch(tx, i.EndpointID)
}

// newIntent fills what a command takes from its target. The gates have passed, so everything exists.
func newIntent(tx *plant.Tx, w wish) plant.Intent {
	e, _ := tx.State().Endpoint(w.endpoint)
	d, _ := tx.State().Device(e.DeviceID)
	spec, _ := tx.State().Spec(e)
	timing := tx.State().Timing(d.ID)
	value, _ := w.value.As(spec.Type)
	action := spec.Action
	if action == "" {
		action = term.ActionAbsolute
	}
	attempts := timing.MaxAttempts
	if action != term.ActionAbsolute || d.Class == term.ClassC {
		attempts = 1
	}
	params := paramsOf(spec, value)
	return plant.Intent{
		FarmID: d.FarmID, DeviceID: d.ID, EndpointID: e.ID, Serial: d.Serial, Method: spec.Binding.Method, Params: params,
		TargetValue: value, Action: action, Fingerprint: plant.Hash(string(e.ID), spec.Binding.Method, params),
		MaxAttempts: attempts, DeadlineAt: plant.Micros(tx.Now().Add(time.Duration(timing.CommandDeadline))),
		AckMark: term.Mark{Seq: -1},
	}
}

// paramsOf is the canonical parameter object that sets an endpoint to a value.
func paramsOf(spec *term.EndpointSpec, value term.Value) string {
	return fmt.Sprintf("{%s:%s}", term.Text(spec.Binding.Param), value)
}

// alreadyTrue: an absolute action whose fresh observation equals the target, with nothing under way that
// would change it, needs no command.
func alreadyTrue(tx *plant.Tx, w wish) (bool, string) {
	e, _ := tx.State().Endpoint(w.endpoint)
	spec, _ := tx.State().Spec(e)
	if spec.Action != term.ActionAbsolute && spec.Action != "" || e.Value.IsZero() {
		return false, ""
	}
	if _, held := tx.State().Holder(e.ID); held || len(tx.State().Queue(e.ID)) > 0 {
		return false, ""
	}
	window := tx.State().Timing(e.DeviceID).Freshness
	if spec.Freshness > 0 {
		window = spec.Freshness
	}
	target, err := w.value.As(spec.Type)
	if err != nil || !e.Value.Equal(target, tolerance(e, spec)) || tx.Now().Sub(e.SampledAt) > time.Duration(window) || tx.Now().Sub(e.ReceivedAt) > time.Duration(window) {
		return false, ""
	}
	// The value may be from before this process life; it counts only if the device was heard since.
	if _, heard := tx.Session().LastHeard(e.DeviceID); !heard {
		return false, ""
	}
	return true, ""
}

func tolerance(e *plant.Endpoint, spec *term.EndpointSpec) float64 {
	if e.Overrides.Tolerance != nil {
		return *e.Overrides.Tolerance
	}
	return spec.Tolerance
}

// inFlight: a live command for the same absolute target of the same endpoint is under way or waits.
func inFlight(tx *plant.Tx, w wish) (term.IntentID, bool) {
	e, _ := tx.State().Endpoint(w.endpoint)
	spec, _ := tx.State().Spec(e)
	target, err := w.value.As(spec.Type)
	if err != nil {
		return "", false
	}
	last, ok := lastWanted(tx.State(), w.endpoint)
	if !ok || last.Action != term.ActionAbsolute || last.TargetValue != target || last.State.Ended() || last.State == term.Uncertain {
		return "", false
	}
	return last.ID, true
}

// lastWanted is the newest wish for an endpoint: the end of its queue, else its holder.
func lastWanted(s *plant.State, id term.EndpointID) (*plant.Intent, bool) {
	if q := s.Queue(id); len(q) > 0 {
		return s.Intent(q[len(q)-1])
	}
	return s.Holder(id)
}
