package api

// usual says what fields are of which their type says nothing: by name, where the same word means the same everywhere,
// or by type and name.
var usual = map[string]string{
	"id": "Its id.", "version": "Counts its changes: the higher one is newer.", "name": "For people.", "items": "The entries.", "next": "Cursor of the next page; left out on the last.",
	"seq": "Position in the event log.", "epoch": "Counts the lives of the process.", "generation": "Of the event log. Another one says that rows were lost: positions of the old one mean nothing.",
	"farmId": "Its farm.", "organisationId": "Its organisation.", "deviceId": "The device.", "profileId": "Its profile.", "endpointId": "The endpoint, device/key.", "ruleId": "The rule.",
	"orderId": "The order.", "routeId": "The route.", "jobId": "The part, order.n.", "job": "The part, order.n.", "equipment": "The equipment.", "equipmentId": "The equipment.", "taskId": "The action.",
	"subject": "What it is about, such as device:fan-1, order:WO-1, job:WO-1.1, equipment:mill, cell.", "state": "Its state.", "createdAt": "When it was made.", "updatedAt": "When it last changed.",
	"endedAt": "When it ended; left out: it has not.", "at": "When it happened.", "firstAt": "The first time.", "lastAt": "The last time.", "reason": "Why.", "links": "The broker connections telemetry, answers and commands: up, down or unknown.",
	"serialNumber": "Of the device in its topics.", "openedAt": "Since when it is asked.", "farm": "Its farm.", "key": "Its name within the device.", "line": "Line of the file, from 1; left out: there is no file.", "detail": "For people.", "maxAttempts": "Attempts that may leave.",

	"Posted.messageId": "Of the message that the request became: the same for the same Idempotency-Key.",
	"Problem.type":     "urn:surehand:problem: and the code.", "Problem.title": "The words of the status.", "Problem.status": "The status.", "Problem.instance": "urn:surehand:request: and the request id.",
	"Problem.requestId": "Of this request; the log has it.", "Problem.state": "The state that forbids it.", "Problem.id": "Of the thing that was meant.", "Problem.problems": "Each fault of the request.",
	"Problem.seq":  "Of the row of the event log; left out: there is none.",
	"Posted.state": "That it led to; of a command to a device, the state that it came to.",

	"Inbox.person": "Of people.", "Inbox.worker": "Results of drivers.", "Inbox.device": "Answers and states of devices.", "Inbox.telemetry": "Readings.",
	"Note.kind": "Kind of the thing that changed.", "Note.key": "Its id.", "Note.move": "What was done with it.", "Note.from": "State before.", "Note.to": "State after.",
	"Answer.word": "What is sent back as the answer.", "BoundReading.predicates": "Its discrete signals, in one line.",

	"Binding.method": "Method of the call that sets it.", "Binding.param": "Parameter of the call that sets it.", "Binding.telemetry": "Key under which it is read back; its own unless said.",
	"Constraints.min": "Lowest value, in the unit of the endpoint.", "Constraints.max": "Highest value, in the unit of the endpoint.", "Constraints.step": "Values are multiples of it.",
	"Constraints.allowed": "The only values.", "Overrides.tolerance": "How far a reading may be from the target and still prove it, in the unit of the endpoint.",
	"EndpointSpec.unit": "Of its values, for people.", "EndpointSpec.writable": "Commands may be sent to it.",
	"Condition.all": "All of these hold.", "Condition.any": "One of these holds.", "Condition.endpoint": "The endpoint that is looked at, device/key.",
	"Leaf.endpoint": "The endpoint that was looked at, device/key.", "Leaf.operands": "What its value was compared with.",
	"GateInput.gate": "The gate.", "GateInput.fact": "What it looked at.", "GateInput.pass": "It let the command through.",

	"PlaceRow.count": "How many.", "PlaceRow.first": "Number of place 1 on the wire.", "CellOptions.refillBy": "Parts that are brought then.",
	"DriverConfig.command": "Address of the command block.", "DriverConfig.status": "Address of the status block.", "DriverConfig.node": "What the string ids of its nodes begin with.",
	"DriverConfig.format": "What an answer looks like, a regular expression.",
	"Place.ref":           "The place: a number from 1, a slot as equipment:n, or of OUT how it left.",
	"Step.timeout":        "After which time without done a person is asked; left out: never.", "Step.reworkTo": "Step to go back to, from 1.", "Step.reworkLimit": "How often.",
	"StepResult.at": "When it ended.", "StepResult.data": "What the machine said.", "JobContext.results": "What its steps brought.", "JobContext.reworks": "How often it was sent back.",
	"Plan.policy": "By which rule it was chosen.", "Plan.why": "For people.", "Plan.candidates": "What was looked at.",

	"ImportDevices.organisations": "Organisations by id.", "ImportDevices.farms": "Farms by id.", "ImportDevices.profiles": "Profiles by id.", "ImportDevices.devices": "Devices by id.",
	"ImportDevices.rules": "Rules by id.", "ImportFarm.organisation": "The organisation that owns it.", "ImportProfile.endpoints": "The catalogue that every device of the profile has.",
	"ImportDevice.profile": "Its profile.", "ImportDevice.serial": "Serial number: letters, digits, - and _. It stands in the topics.", "ImportEndpoint.enabled": "true unless said.",
	"ImportRule.trigger": "The endpoint whose readings make it be evaluated, device/key.", "ImportRule.target": "The endpoint that it sets, device/key.",
	"ImportRule.holdOff": "How long it is quiet after it has fired.",
}
