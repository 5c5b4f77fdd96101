package api

import "surehand/internal/message"

// posts are the routes that post a message to the loop.
var posts = []row{
	{id: "sendCommand", refusals: "device_retired device_maintenance endpoint_disabled endpoint_not_writable invalid_binding queue_full", path: "/commands", tag: "Commands", summary: "Send a command by hand", body: CommandRequest{}, unknown: true,
		example: map[string]any{"endpoint": "fan-1/on", "value": true, "reason": "too hot"},
		about: "With `Prefer: wait=n` the answer waits until the command has come to rest: 200 with its state, `applied` only when the device has proven it. " +
			"Until then 202, with the command in `Location`."},
	{id: "cancelCommand", refusals: "left_already", path: "/commands/{id}/cancel", tag: "Commands", summary: "Cancel a command that has not left", thing: uuidOf("command"), body: ReasonRequest{}, optional: true,
		example: map[string]any{"reason": "sent by mistake"}, about: "Refused with `left_already` once an attempt may have left."},
	{id: "judgeCommand", refusals: "not_uncertain", path: "/commands/{id}/verdict", tag: "Commands", summary: "Say what became of an uncertain command", thing: uuidOf("command"), body: VerdictRequest{},
		example: map[string]any{"verdict": "applied", "reason": "I stand before it and it is open"}},
	{id: "importConfiguration", path: "/configuration/import", tag: "Configuration", summary: "Apply a device file", body: message.ImportDevices{},
		example: map[string]any{"organisations": []any{map[string]any{"id": "acme", "name": "Acme"}}, "farms": []any{map[string]any{"id": "house-1", "organisation": "acme", "name": "House 1"}}},
		about: "As a whole or not at all: what is named is created or changed, what is not named stays. YAML as people keep it in a file, or the same as JSON. " +
			"Every fault is told with its line."},
	{id: "releaseHold", path: "/holds/release", tag: "Holds", summary: "End a hold by a person's word", body: ReleaseHoldRequest{}, unknown: true,
		example: map[string]any{"subject": "device:fan-1", "hold": "quarantine", "reason": "checked by hand"}},

	{id: "createOrder", refusals: "order_exists too_many_orders", path: "/orders", tag: "Orders", summary: "Store a work order as a draft", body: OrderRequest{},
		example: map[string]any{"id": "WO-1", "route": "housing", "quantity": 12}},
	{id: "startOrder", refusals: "not_draft", path: "/orders/{id}/start", tag: "Orders", summary: "Let a draft be worked on", thing: name("order", "WO-1"), body: ReasonRequest{}, optional: true},
	{id: "pauseOrder", refusals: "not_started paused", path: "/orders/{id}/pause", tag: "Orders", summary: "Let no new action of an order begin", thing: name("order", "WO-1"), body: ReasonRequest{}, optional: true,
		example: map[string]any{"reason": "lunch"}, about: "What is under way ends; a part in the gripper is put down first."},
	{id: "resumeOrder", refusals: "question not_paused", path: "/orders/{id}/resume", tag: "Orders", summary: "End a pause", thing: name("order", "WO-1"), body: ReasonRequest{}, optional: true},
	{id: "cancelOrder", refusals: "stopping", path: "/orders/{id}/cancel", tag: "Orders", summary: "End an order", thing: name("order", "WO-1"), body: CancelOrderRequest{}, optional: true,
		example: map[string]any{"inside": "finish", "reason": "the customer withdrew"}, about: "Parts that are not in the cell end at once, parts inside by `inside`."},
	{id: "reportPalletArrived", refusals: "order_draft dock_taken pallet_used too_many_parts", path: "/orders/{id}/pallets", tag: "Orders", summary: "Say that a pallet stands at the dock", thing: name("order", "WO-1"), body: PalletRequest{},
		example: map[string]any{"pallet": "P-1", "quantity": 12}, about: "Say only what is so: the robot fetches what the record says."},
	{id: "reportPalletLeft", refusals: "parts_left", path: "/pallets/{id}/leave", tag: "Orders", summary: "Say that a pallet is gone", thing: name("pallet", "P-1")},

	{id: "suspendPart", refusals: "suspended", path: "/jobs/{id}/suspend", tag: "Parts", summary: "Let no new action of a part begin", thing: partID, body: ReasonRequest{}, optional: true,
		about: "In the gripper it is put down first."},
	{id: "resumePart", refusals: "question not_suspended", path: "/jobs/{id}/resume", tag: "Parts", summary: "End a suspension", thing: partID, body: ReasonRequest{}, optional: true},
	{id: "reworkPart", refusals: "question not_at_rest step_ahead", path: "/jobs/{id}/rework", tag: "Parts", summary: "Send a part back to a step of its route", thing: partID, body: ReworkRequest{},
		example: map[string]any{"step": 1, "reason": "a burr is left"}},
	{id: "scrapPart", refusals: "not_arrived leaving", path: "/jobs/{id}/scrap", tag: "Parts", summary: "Let a part be carried out as not good", thing: partID, body: ReasonRequest{},
		example: map[string]any{"reason": "cracked"}},
	{id: "reportPart", refusals: "not_arrived in_action", path: "/jobs/{id}/report", tag: "Parts", summary: "Say where a part is, or that it was taken out", thing: partID, body: ReportRequest{},
		example: map[string]any{"place": map[string]any{"type": "ON_BUFFER", "ref": "4"}, "reason": "I set it there"},
		about:   "Nothing changes yet: it opens a manual action, whose id is the answer's `id`, that shows what would."},

	{id: "pauseCell", refusals: "paused", path: "/cell/pause", tag: "Cell", summary: "Let no new action begin", body: ReasonRequest{}, optional: true, unknown: true,
		about: "A pause is not a stop: what is under way ends."},
	{id: "releaseCell", refusals: "recovery not_paused", path: "/cell/release", tag: "Cell", summary: "End a pause of the cell", body: ReasonRequest{}, optional: true},
	{id: "refillCell", path: "/cell/refill", tag: "Cell", summary: "Bring parts from the dock now, however few buffer places are free", unknown: true},
	{id: "compareCell", path: "/cell/compare", tag: "Cell", summary: "Compare record and machines now", unknown: true, about: "It ends with a confirmation, as after a restart."},
	{id: "enableEquipment", refusals: "not_disabled", path: "/equipment/{id}/enable", tag: "Cell", summary: "Use an equipment again", thing: name("equipment", "mill"), body: ReasonRequest{},
		example: map[string]any{"reason": "repaired"}, about: "It is compared before it is used."},
	{id: "disableEquipment", refusals: "disabled", path: "/equipment/{id}/disable", tag: "Cell", summary: "Run without an equipment", thing: name("equipment", "mill"), body: ReasonRequest{},
		example: map[string]any{"reason": "the spindle is worn"}},
	{id: "importPlant", path: "/plant", tag: "Cell", summary: "Apply a plant file", body: "", query: []*parameter{
		yesNo("check", "Only look: faults that the file alone shows are told, and nothing is applied.")},
		about: "As a whole or not at all. The form is that of docs/examples/plant.yaml; every fault is told with its line."},

	{id: "answerManualAction", refusals: "changed unsteady working impossible", path: "/manual-actions/{id}/answer", tag: "Recovery", summary: "Answer a manual action as it was shown", thing: uuidOf("manual action"), body: AnswerRequest{},
		example: map[string]any{"version": 3, "hash": "b1946ac9", "answer": "done", "reason": "the part stands in the mill"},
		about: "The answer is bound to what was seen. If the question or the signals behind it have changed, nothing is done: 409 with code `changed`, " +
			"and `current` is the question as it is now."},
	{id: "confirmRecovery", refusals: "not_in_recovery comparing findings_open", path: "/recovery/confirm", tag: "Recovery", summary: "Bring the cell back into work", body: ConfirmRequest{}, optional: true,
		example: map[string]any{"reason": "I looked"}, about: "Refused with `findings_open` while a question blocks it, and with `comparing` until every machine was read and stands still."},
	{id: "acknowledgeAlarm", refusals: "acknowledged", path: "/alarms/{id}/acknowledge", tag: "Alarms", summary: "Say that an alarm was seen", thing: uuidOf("alarm")},
	{id: "shelveAlarm", refusals: "not_shelvable", path: "/alarms/{id}/shelve", tag: "Alarms", summary: "Put an alarm aside for a time, or bring it back", thing: uuidOf("alarm"), body: ShelveRequest{},
		example: map[string]any{"for": "30m", "reason": "known, the part is ordered"}, about: "Never an alarm where a part may be lost: `not_shelvable`."},
	{id: "stopSystem", path: "/system/stop", tag: "System", summary: "End the process", body: StopRequest{}, optional: true, example: map[string]any{"drain": true}},
}
