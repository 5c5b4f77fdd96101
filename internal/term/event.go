package term

// EventStatus is the processing status of an endpoint event.
type EventStatus string

const (
	// EventPending: stored, rules not yet evaluated. The next turns evaluate it; a crash leaves it here
	// and it is evaluated after the restart.
	EventPending EventStatus = "pending"
	// EventProcessed (end): every rule of the farm that it triggers was evaluated.
	EventProcessed EventStatus = "processed"
	// EventDiscarded (end): stored for the record and fires nothing; the reason says why.
	EventDiscarded EventStatus = "discarded"
	// EventFailed (end): set aside by an engineer's decision. A broken evaluator parks the whole message instead.
	EventFailed EventStatus = "failed"
)

func (EventStatus) Values() []string { return []string{"pending", "processed", "discarded", "failed"} }

// DiscardReason says why an event fires nothing.
type DiscardReason string

const (
	DiscardNone     DiscardReason = ""
	DiscardBackfill DiscardReason = "backfill" // older than the freshness window when it came
	DiscardOlder    DiscardReason = "older"    // not newer than what is already known of the endpoint
	DiscardDisabled DiscardReason = "disabled" // the endpoint is disabled
	DiscardDevice   DiscardReason = "device"   // the device is in maintenance or retired
)

func (DiscardReason) Values() []string { return []string{"backfill", "older", "disabled", "device"} }

// ExecutionOutcome is what one evaluation of a rule, or one hand command, came to.
type ExecutionOutcome string

const (
	ExecutionFired       ExecutionOutcome = "fired"        // a command intent was created
	ExecutionFalse       ExecutionOutcome = "false"        // the condition does not hold
	ExecutionUnknown     ExecutionOutcome = "unknown"      // an endpoint of the condition has no value yet
	ExecutionAlreadyTrue ExecutionOutcome = "already_true" // the target holds already, freshly observed
	ExecutionInFlight    ExecutionOutcome = "in_flight"    // a command for the same target is under way
	ExecutionRefused     ExecutionOutcome = "refused"      // a gate refused; the reason names it
	ExecutionFailed      ExecutionOutcome = "failed"       // set aside together with its event
)

func (ExecutionOutcome) Values() []string {
	return []string{"fired", "false", "unknown", "already_true", "in_flight", "refused", "failed"}
}

// ExecutionSource says who wanted the command.
type ExecutionSource string

const (
	SourceRule ExecutionSource = "rule"
	SourceHand ExecutionSource = "hand"
)

func (ExecutionSource) Values() []string { return []string{"rule", "hand"} }

// Gate names the check that refused or delays a command, in order of precedence within its kind:
// refusing gates first, then waiting gates.
type Gate string

const (
	GateNone Gate = ""

	// Refusing gates: no intent, or failed while unsent.
	GateRuleInactive  Gate = "rule_inactive"
	GateRuleRevision  Gate = "rule_revision"
	GateFarm          Gate = "other_farm"
	GateDeviceRetired Gate = "device_retired"
	GateMaintenance   Gate = "device_maintenance"
	GateDisabled      Gate = "endpoint_disabled"
	GateNotWritable   Gate = "endpoint_not_writable"
	GateBinding       Gate = "invalid_binding"
	GateValue         Gate = "invalid_value"
	GateHoldOff       Gate = "hold_off"
	GateQueueFull     Gate = "queue_full"
	GateUnknownTarget Gate = "unknown_endpoint"

	// Waiting gates: the command stays pending until its deadline.
	GateStopping     Gate = "stopping"
	GateQuarantine   Gate = "quarantine"
	GateNotFresh     Gate = "device_not_fresh"
	GateEndpointBusy Gate = "endpoint_busy"
	GateLinkDown     Gate = "link_down"
	GateNoSlot       Gate = "no_worker_slot"
)

// RefusingGates lists the refusing gates by precedence: the first that fails is named.
func RefusingGates() []Gate {
	return []Gate{GateUnknownTarget, GateRuleInactive, GateRuleRevision, GateFarm, GateDeviceRetired, GateMaintenance,
		GateDisabled, GateNotWritable, GateBinding, GateValue, GateHoldOff, GateQueueFull}
}

// WaitingGates lists the waiting gates by precedence: the first that fails is named.
func WaitingGates() []Gate {
	return []Gate{GateStopping, GateQuarantine, GateNotFresh, GateEndpointBusy, GateLinkDown, GateNoSlot}
}
