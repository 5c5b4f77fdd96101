package api

import (
	"net/http"
	"strings"

	"surehand/internal/term"
)

// The parts of an OpenAPI document that this one uses.
type (
	document struct {
		OpenAPI    string                           `json:"openapi"`
		Info       map[string]any                   `json:"info"`
		Servers    []map[string]any                 `json:"servers"`
		Security   []any                            `json:"security"`
		Tags       []tagged                         `json:"tags"`
		Paths      map[string]map[string]*operation `json:"paths"`
		Components map[string]any                   `json:"components"`
	}
	tagged struct {
		Name        string `json:"name"`
		Description string `json:"description"`
	}
	operation struct {
		OperationID string               `json:"operationId"`
		Tags        []string             `json:"tags"`
		Summary     string               `json:"summary"`
		Description string               `json:"description,omitempty"`
		Parameters  []*parameter         `json:"parameters,omitempty"`
		RequestBody *requestBody         `json:"requestBody,omitempty"`
		Responses   map[string]*response `json:"responses"`
	}
	parameter struct {
		Ref         string  `json:"$ref,omitempty"`
		Name        string  `json:"name,omitempty"`
		In          string  `json:"in,omitempty"`
		Required    bool    `json:"required,omitempty"`
		Description string  `json:"description,omitempty"`
		Style       string  `json:"style,omitempty"`
		Explode     *bool   `json:"explode,omitempty"`
		Schema      *schema `json:"schema,omitempty"`
		Example     any     `json:"example,omitempty"`
	}
	requestBody struct {
		Description string            `json:"description,omitempty"`
		Required    bool              `json:"required"`
		Content     map[string]*media `json:"content"`
	}
	media struct {
		Schema  *schema `json:"schema,omitempty"`
		Example any     `json:"example,omitempty"`
	}
	response struct {
		Ref         string                `json:"$ref,omitempty"`
		Description string                `json:"description,omitempty"`
		Headers     map[string]*headerDoc `json:"headers,omitempty"`
		Content     map[string]*media     `json:"content,omitempty"`
	}
	headerDoc struct {
		Ref         string  `json:"$ref,omitempty"`
		Required    bool    `json:"required,omitempty"`
		Description string  `json:"description,omitempty"`
		Schema      *schema `json:"schema,omitempty"`
	}
)

// row describes one route. What all rows of a kind share (problems, headers, preferences) is added by assemble.
type row struct {
	id, path, tag  string // the operation's stable name; the path below Root, or from / for what is outside
	summary, about string
	thing          *parameter   // {id}
	query          []*parameter // nil of a row with {id}: parameters are not looked at
	answer         any          // a value of the type of the answer, status 200
	body           any          // a value of the type of the request; nil of a post: an empty object, or nothing
	optional       bool         // the body may be left out
	example        any          // of the body
	refusals       string       // codes of 409 beside idempotency_conflict
	unknown        bool         // of a post without {id}: the loop may know nothing by the name that the body gives
}

func name(of, example string) *parameter {
	return &parameter{Name: "id", In: "path", Required: true, Description: "Name of the " + of + ".", Example: example,
		Schema: &schema{Type: "string", Pattern: "^" + someName + "$"}}
}

func uuidOf(of string) *parameter {
	return &parameter{Name: "id", In: "path", Required: true, Description: "Id of the " + of + ".", Example: idA,
		Schema: &schema{Type: "string", Format: "uuid", Pattern: uuidPattern}}
}

var partID = &parameter{Name: "id", In: "path", Required: true, Description: "The part: order.n, the n-th part of an order, from 1.", Example: "WO-1.1",
	Schema: &schema{Type: "string", Pattern: jobPattern}}

func text(name, what string) *parameter {
	return &parameter{Name: name, In: "query", Description: what, Schema: &schema{Type: "string"}}
}

func yesNo(name, what string) *parameter {
	return &parameter{Name: name, In: "query", Description: what, Schema: &schema{Type: "boolean", Default: false}}
}

func moment(name, what string) *parameter {
	return &parameter{Name: name, In: "query", Description: what, Schema: &schema{Type: "string", Format: "date-time"}, Example: "2026-01-31T08:00:00Z"}
}

// chosen is one word of a closed vocabulary.
func chosen[W interface{ Values() []string }](name, what string) *parameter {
	var w W
	return &parameter{Name: name, In: "query", Description: what, Schema: &schema{Type: "string", Enum: w.Values()}}
}

// several are words of a closed vocabulary, with commas between them.
func several(name, what string, known []string) *parameter {
	return &parameter{Name: name, In: "query", Description: what + " Several with commas between them.", Style: "form", Explode: new(bool),
		Schema: &schema{Type: "array", Items: &schema{Type: "string", Enum: known}}}
}

func states[W interface{ Values() []string }](what string) *parameter {
	var w W
	return several("state", "Only "+what+" in one of these states.", w.Values())
}

// paged adds what every list in pages takes.
func paged(filters ...*parameter) []*parameter {
	return append(filters, &parameter{Ref: "#/components/parameters/Cursor"}, &parameter{Ref: "#/components/parameters/Limit"})
}

var none = []*parameter{} // a parameter is a fault

// gets are the routes that read.
var gets = []row{
	{id: "getOpenAPI", path: "/openapi.json", tag: "System", summary: "This document", query: none},
	{id: "streamEvents", path: "/stream", tag: "Stream", summary: "Everything as it happens, resumable", query: []*parameter{
		several("topics", "Only what is about these. Left out: everything. `log` is every row, whatever it is about.",
			strings.Split("commands,devices,executions,links,configuration,cell,questions,alarms,log", ",")),
		{Name: "Last-Event-ID", In: "header", Description: "The id of the last event that was seen, `generation:seq`. An EventSource sends it by itself when it comes back.",
			Schema: &schema{Type: "string"}, Example: "0190f3a0-0000-7000-8000-000000000001:42"}}},

	{id: "listCommands", path: "/commands", tag: "Commands", summary: "Commands to devices, newest first", answer: List[Command]{}, query: paged(
		states[term.CommandState]("commands"), text("device", "Only of this device."), text("endpoint", "Only to this endpoint, `device/key`."),
		text("rule", "Only of this rule."), text("farm", "Only of this farm."), yesNo("holding", "Only those that hold their endpoint."))},
	{id: "getCommand", path: "/commands/{id}", tag: "Commands", summary: "One command", thing: uuidOf("command"), answer: Command{}},
	{id: "getCommandTimeline", path: "/commands/{id}/timeline", tag: "Commands", summary: "The whole story of a command", thing: uuidOf("command"), answer: CommandTimeline{},
		about: "Decision, attempts, answers of the device, evidence and moves, oldest first."},

	{id: "listExecutions", path: "/executions", tag: "Executions", summary: "Why rules fired or did not, newest first", answer: List[Execution]{}, query: paged(
		text("rule", "Only of this rule."), text("farm", "Only of this farm."), chosen[term.ExecutionOutcome]("outcome", "Only with this outcome."))},
	{id: "getExecution", path: "/executions/{id}", tag: "Executions", summary: "One execution", thing: uuidOf("execution"), answer: Execution{}},
	{id: "getExecutionTimeline", path: "/executions/{id}/timeline", tag: "Executions", summary: "Why a command exists, or why it does not", thing: uuidOf("execution"),
		answer: ExecutionTimeline{}},

	{id: "listDevices", path: "/devices", tag: "Devices", summary: "Devices by name", answer: List[Device]{}, query: paged(text("farm", "Only of this farm."),
		text("profile", "Only of this profile."), chosen[term.DeviceStatus]("status", "Only with this status."), text("search", "Only with this text in id, name or serial number."))},
	{id: "getDevice", path: "/devices/{id}", tag: "Devices", summary: "One device with its endpoints and last values", thing: name("device", "fan-1"), answer: DeviceDetail{}},
	{id: "listDeviceEvents", path: "/devices/{id}/events", tag: "Devices", summary: "Readings of one device, newest first", thing: name("device", "fan-1"), answer: List[Event]{},
		query: paged(text("endpoint", "Only of this endpoint, `device/key`."), chosen[term.EventStatus]("status", "Only with this status."),
			moment("from", "Samples from this time on; a day before `to` unless said."),
			moment("to", "Samples up to this time; now unless said."))},
	{id: "listEvents", path: "/events", tag: "Devices", summary: "Readings of all devices, newest first", answer: List[Event]{}, query: paged(text("device", "Only of this device."),
		text("endpoint", "Only of this endpoint, `device/key`."), chosen[term.EventStatus]("status", "Only with this status."), moment("from", "Samples from this time on; a day before `to` unless said."),
		moment("to", "Samples up to this time; now unless said."))},

	{id: "listOrganisations", path: "/organisations", tag: "Configuration", summary: "Organisations", answer: List[Organisation]{}, query: none},
	{id: "listFarms", path: "/farms", tag: "Configuration", summary: "Farms", answer: List[Farm]{}, query: none},
	{id: "listProfiles", path: "/profiles", tag: "Configuration", summary: "Device profiles with their endpoint catalogues", answer: List[Profile]{}, query: none},
	{id: "listRules", path: "/rules", tag: "Configuration", summary: "Rules", answer: List[Rule]{}, query: paged(text("farm", "Only of this farm."))},
	{id: "listHolds", path: "/holds", tag: "Holds", summary: "What is held, and why", answer: List[Hold]{}, query: none},

	{id: "listOrders", path: "/orders", tag: "Orders", summary: "Work orders, newest first", answer: List[Order]{}, query: paged(states[term.OrderState]("orders"))},
	{id: "getOrder", path: "/orders/{id}", tag: "Orders", summary: "One work order", thing: name("order", "WO-1"), answer: Order{}},
	{id: "getOrderTimeline", path: "/orders/{id}/timeline", tag: "Orders", summary: "What happened to an order", thing: name("order", "WO-1"), answer: Timeline{}},
	{id: "listParts", path: "/jobs", tag: "Parts", summary: "Parts of orders", answer: List[Job]{}, query: paged(text("order", "Only of this order."), states[term.JobState]("parts"),
		yesNo("open", "Only those that have not ended."))},
	{id: "getPart", path: "/jobs/{id}", tag: "Parts", summary: "One part", thing: partID, answer: Job{}},
	{id: "getPartTimeline", path: "/jobs/{id}/timeline", tag: "Parts", summary: "What happened to a part", thing: partID, answer: Timeline{}},
	{id: "listTasks", path: "/tasks", tag: "Actions", summary: "Physical actions in the cell, newest first", answer: List[Task]{}, query: paged(states[term.TaskState]("actions"),
		text("order", "Only for this order."), text("job", "Only for this part."), text("equipment", "Only of this equipment."), yesNo("open", "Only those that have not ended."))},
	{id: "getTask", path: "/tasks/{id}", tag: "Actions", summary: "One physical action", thing: uuidOf("action"), answer: Task{}},

	{id: "getCell", path: "/cell", tag: "Cell", summary: "The cell as it stands, and what it waits for", answer: Cell{}, query: none, unknown: true,
		about: "Everything is read at one commit. 404 until a plant file was imported."},
	{id: "listEquipment", path: "/equipment", tag: "Cell", summary: "Machines, tools and the robot with their slots", answer: List[Equipment]{}, query: none},
	{id: "getEquipment", path: "/equipment/{id}", tag: "Cell", summary: "One equipment", thing: name("equipment", "mill"), answer: Equipment{}},
	{id: "listRoutes", path: "/routes", tag: "Cell", summary: "Routes of the plant file", answer: List[Route]{}, query: none},
	{id: "getPlant", path: "/plant", tag: "Cell", summary: "The plant file as it was imported", answer: Plant{}, query: none, unknown: true, about: "404 until one was imported."},

	{id: "listManualActions", path: "/manual-actions", tag: "Recovery", summary: "What only a person can answer", answer: List[ManualAction]{}, query: paged(
		yesNo("all", "Also those that were answered."), text("subject", "Only about this, such as `job:WO-1.1` or `equipment:mill`."), text("job", "Only those that touch this part."))},
	{id: "getManualAction", path: "/manual-actions/{id}", tag: "Recovery", summary: "One manual action", thing: uuidOf("manual action"), answer: ManualAction{}},
	{id: "getRecovery", path: "/recovery", tag: "Recovery", summary: "Whether the cell waits for a person after a restart, and for what", answer: Recovery{}, query: none},
	{id: "listAlarms", path: "/alarms", tag: "Alarms", summary: "Alarms that are not normal, shelved ones included", answer: List[Alarm]{}, query: paged(yesNo("all", "The history too."),
		text("subject", "Only about this, such as `equipment:mill`."))},

	{id: "listLog", path: "/log", tag: "Log", summary: "The event log, newest first", answer: List[LogEntry]{}, query: paged(text("subject", "Only about this, such as `device:fan-1`."),
		text("type", "Only messages of this type, such as `SendCommand`."), text("outcome", "Only with this outcome, such as `refused`."), text("actor", "Only of this person."))},
	{id: "listParked", path: "/parked", tag: "Log", summary: "Messages that could not be decided and wait for an engineer", answer: List[ParkedMessage]{}, query: paged()},
	{id: "listTopTimeouts", path: "/diagnostics/top-timeouts", tag: "Log", summary: "Where devices answered too late most often", answer: List[Timeouts]{}, query: []*parameter{
		moment("since", "Not older than this; the last 24 hours unless said."), {Ref: "#/components/parameters/Limit"}}},
	{id: "getSystem", path: "/system", tag: "System", summary: "The running process and its links", answer: System{}, query: none,
		about: "It answers also while the database is away: then most of all."},
}

// outside are the routes that are not resources.
var outside = []row{
	{id: "getHealth", path: "/healthz", tag: "System", summary: "Is the process alive", answer: Liveness{},
		about: "A process that fails this for long should be ended. One that waits for its database is alive."},
	{id: "getReadiness", path: "/readyz", tag: "System", summary: "Is everything there to decide and to write", answer: Readiness{},
		about: "A process that fails this should be waited for. A lost broker does not make it unready."},
	{id: "getMetrics", path: "/metrics", tag: "System", summary: "Figures for Prometheus", unknown: true, about: "404 of a server that has none."},
}

// notDescribed are routes that are no part of this interface, by how they begin, with the reason.
var notDescribed = map[string]string{
	"/assets/": "files of the page, named anew by each build",
	"/lab":     "the demo's simulated plant, which the product does not have",
}

// page is the console itself: for people, and only where it was built.
const consolePath = "/"

func (r row) full() string {
	for _, o := range outside {
		if o.path == r.path {
			return r.path
		}
	}
	return Root + r.path
}

func methodOf(r row) string {
	for _, p := range posts {
		if p.id == r.id {
			return http.MethodPost
		}
	}
	return http.MethodGet
}
