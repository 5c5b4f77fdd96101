package automation

import "surehand/internal/term"

// advice is what a person can do about a gate. It follows the fact that the gate looked at.
var advice = map[term.Gate]string{
	term.GateDeviceRetired: "The device is retired; set it active in the configuration if it is in service again.",
	term.GateMaintenance:   "The device is in maintenance; set it active when the work is done.",
	term.GateDisabled:      "The endpoint is disabled; enable it in the configuration.",
	term.GateNotWritable:   "The endpoint is not a writable actuator of its profile.",
	term.GateBinding:       "The endpoint's binding is not what the command was decided for; decide it anew.",
	term.GateFarm:          "The device is on another farm.",
	term.GateQueueFull:     "Too many commands wait for this endpoint already; see what holds it.",
	term.GateStopping:      "The process is stopping; the command goes out in its next life, until its deadline.",
	term.GateQuarantine:    "The device is held; compare it with what is recorded, then release the hold with a reason.",
	term.GateNotFresh:      "The device has not been heard lately; it is sent as soon as it speaks, until the deadline.",
	term.GateEndpointBusy:  "Another command holds this endpoint; it is sent when that one has ended, until the deadline.",
	term.GateLinkDown:      "There is no connection to the broker; it is sent when there is, until the deadline.",
	term.GateNoSlot:        "Many commands are being sent; it is sent in its turn.",
}

// explain joins what is so with what to do.
func explain(gate term.Gate, fact string) string {
	if fact == "" {
		return advice[gate]
	}
	if advice[gate] == "" {
		return fact + "."
	}
	return advice[gate] + " (" + fact + ")"
}
