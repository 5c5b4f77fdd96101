package house

// allowed is the table of who may import whom among our own packages. A package
// that is not a key here fails the test, an edge that is not listed fails it, and
// a listed edge that no code uses yet is fine. A name that ends in "/..." stands
// for the packages below it.
//
// Test files are free of this table: the deciders' tests may use what they like,
// as long as nothing of it reaches the product.
var allowed = map[string]map[string]string{
	// Level 0 and 1: vocabulary and law.
	"internal/term":    {},
	"internal/plant":   {"internal/term": "entities are made of ids, states and stored structs"},
	"internal/message": {"internal/plant": "payloads speak of entities", "internal/term": "payloads carry ids and states"},

	// Level 2: pure decisions.
	"internal/automation": {
		"internal/message": "decides on messages",
		"internal/plant":   "moves devices, commands and rules by the law",
		"internal/term":    "names ids and states",
	},
	"internal/scheduler": {
		"internal/plant": "looks at the picture",
		"internal/term":  "names ids and states",
	},
	"internal/production": {
		"internal/message":   "decides on messages",
		"internal/plant":     "moves orders, jobs and slots by the law",
		"internal/term":      "names ids and states",
		"internal/scheduler": "asks for the next move and carries it out by the law",
	},
	"internal/recovery": {
		"internal/message":    "decides on what a restart found",
		"internal/plant":      "opens findings by the law",
		"internal/term":       "names ids and states",
		"internal/production": "an answer ends in a production move",
	},

	// Level 3: the driver contract.
	"internal/workers": {
		"internal/message": "results come back as messages",
		"internal/plant":   "an action is a committed row",
		"internal/term":    "names ids and states",
	},
	"internal/workers/mqttconn": {
		"internal/workers": "says what became of a publish",
	},
	"internal/workers/mqttrpc": {
		"internal/workers":          "implements the driver contract",
		"internal/workers/mqttconn": "has its connections",
		"internal/message":          "results come back as messages",
		"internal/plant":            "an action is a committed row",
		"internal/term":             "names ids and states",
	},
	"internal/workers/robotrpc": {
		"internal/workers":          "implements the driver contract",
		"internal/workers/mqttconn": "has its connection",
		"internal/plant":            "an action is a committed row",
		"internal/term":             "names ids and states",
	},
	"internal/workers/handshake": {
		"internal/workers": "does one half of the driver contract",
		"internal/plant":   "an action is a committed row",
		"internal/term":    "names ids and states",
	},
	"internal/workers/modbus": {
		"internal/workers":           "says errors in words that stay the same",
		"internal/workers/handshake": "carries its blocks",
		"internal/term":              "is told the addresses",
	},
	"internal/workers/opcua": {
		"internal/workers":           "says errors in words that stay the same",
		"internal/workers/handshake": "carries its blocks",
		"internal/term":              "is told the addresses",
	},
	"internal/workers/plc": {
		"internal/workers":           "implements the driver contract",
		"internal/workers/handshake": "begins and follows an action with it",
		"internal/plant":             "an action is a committed row",
		"internal/term":              "names ids and states",
	},
	"internal/workers/robot": {
		"internal/workers":           "implements the driver contract",
		"internal/workers/handshake": "begins and follows an action with it",
		"internal/term":              "names ids and states",
	},
	"internal/workers/tool": {
		"internal/workers": "implements the driver contract",
		"internal/plant":   "an action is a committed row, and what can be marked is its law",
		"internal/term":    "names ids and states",
	},

	"internal/workers/workertest": {
		"internal/workers": "states what every driver must do",
		"internal/plant":   "makes actions",
		"internal/term":    "names ids and states",
	},

	// The real clock and the real chance, handed to the loop by cmd.
	"internal/system": {},
	// Whoever started the process is told how it is; by what, cmd says.
	"internal/supervisor": {},

	// Level 4: carry out, store, face a person.
	"internal/loop": {
		"internal/automation": "calls the deciders",
		"internal/production": "calls the deciders",
		"internal/recovery":   "calls the deciders",
		"internal/message":    "takes and releases messages",
		"internal/plant":      "owns the picture",
		"internal/term":       "names ids and states",
	},
	"internal/loop/looptest": {
		"internal/loop":    "simulates the real loop",
		"internal/message": "posts and compares messages",
		"internal/plant":   "compares pictures",
		"internal/term":    "names ids and states",
	},
	"internal/loop/storetest": {
		"internal/loop":          "states what every Store must do",
		"internal/loop/looptest": "compares a Store with the simulation's",
		"internal/message":       "writes log rows",
		"internal/plant":         "writes changes and compares pictures",
		"internal/term":          "names ids and states",
	},
	"internal/dbstate": {
		"internal/loop":            "answers with the loop's store errors and types",
		"internal/message":         "writes log rows",
		"internal/plant":           "loads the picture and writes its changes",
		"internal/term":            "names ids and states",
		"internal/dbstate/rows":    "converts between rows and entities",
		"internal/dbstate/entpgx":  "runs ent's statements in a pgx batch",
		"internal/dbstate/migrate": "refuses a schema that is not the expected one",
		"ent":                      "conditional updates",
		"ent/...":                  "conditional updates",
	},
	"internal/dbstate/rows": {
		"internal/plant": "converts entities",
		"internal/term":  "converts ids and states",
		"ent":            "converts ent's types",
	},
	"internal/dbstate/read": {
		"internal/plant":          "reads entities",
		"internal/term":           "names ids and states",
		"internal/dbstate/rows":   "converts between rows and entities",
		"internal/dbstate/entpgx": "reads through a pool that may not write",
		"ent":                     "queries",
		"ent/...":                 "queries",
	},
	"internal/dbstate/entpgx": {
		"ent": "is a driver for its client",
	},
	"internal/dbstate/migrate": {"migrations": "applies them"},
	"migrations":               {},
	"api": {
		"internal/message":      "writes only by posting a message",
		"internal/plant":        "shows entities",
		"internal/term":         "names ids and states",
		"internal/dbstate/read": "the read-only side of the database",
	},
	"web": {},
	"internal/observe": {
		"internal/plant": "shows committed rows",
		"internal/term":  "names ids and states",
	},
	"internal/config": {
		"internal/message": "configuration is applied by messages",
		"internal/plant":   "a plant file describes entities",
		"internal/term":    "names ids and states",
	},

	// ent: the schema knows the vocabulary, generated code knows the schema.
	"ent":        {"ent/...": "generated packages use each other", "internal/term": "typed columns"},
	"ent/schema": {"internal/term": "typed columns, and nothing of the law, so that a change of it does not recompile ent"},
	"ent/...":    {"ent": "generated packages use each other", "ent/...": "generated packages use each other", "internal/term": "typed columns"},

	// Nothing of ours: the wire and the machine are met as a stranger meets them.
	"internal/simulator":             {},
	"internal/simulator/line":        {},
	"internal/embedded":              {},
	"internal/embedded/embeddedtest": {"internal/embedded": "starts its servers"},
	"internal/embedded/pgproxy":      {},
	"internal/service/processtest":   {},
	"internal/stories":               {},
	"internal/stories/browser":       {},
	"internal/stories/npmtest":       {},
	"internal/crash":                 {},
	"internal/house":                 {},

	// Level 5: one running Surehand, started alike by the product, the demo and tests.
	"internal/service": {
		"api":                        "serves it",
		"internal/config":            "is told what to connect to",
		"internal/dbstate":           "opens the store",
		"internal/dbstate/migrate":   "refuses another schema",
		"internal/dbstate/read":      "opens the reading side",
		"internal/loop":              "runs it",
		"internal/message":           "posts for tests and benchmarks",
		"internal/observe":           "shows what was committed",
		"internal/plant":             "compares fences",
		"internal/system":            "hands in the clock and the chance",
		"internal/term":              "names ids and states",
		"internal/workers":           "makes the crew",
		"internal/workers/mqttrpc":   "makes the driver",
		"internal/workers/handshake": "tells what the drivers of numbered actions share",
		"internal/workers/modbus":    "tells the cell's drivers how to reach the wire",
		"internal/workers/opcua":     "tells the cell's drivers how to reach the wire",
		"internal/workers/plc":       "makes the machines' drivers",
		"internal/workers/robot":     "makes the robot's driver",
		"internal/workers/robotrpc":  "makes the robot's driver",
		"internal/workers/tool":      "makes the tools' drivers",
		"web":                        "hands the page to the API",
	},

	// The demo's world talks to Surehand as an outsider does, and reads the files that a person would write.
	"internal/lab": {
		"internal/config":         "reads its own plant file",
		"internal/message":        "a plant file is read into a message",
		"internal/term":           "names kinds of equipment",
		"internal/simulator":      "runs the greenhouses",
		"internal/simulator/line": "runs the line",
	},

	// Level 5: joins everything. The product gets no test things: see notInProduct.
	"cmd/surehand": {
		"api":          "reads its answers",
		"internal/...": "wires them",
	},
	"cmd/surehand-lab": {
		"internal/...": "the demo and the simulations use all",
	},
	"cmd/entgen": {},
	"cmd/migdiff": {
		"ent/...":           "compares with its tables",
		"internal/embedded": "needs an empty database to replay on",
	},
}

// notInProduct must not be reachable from cmd/surehand, by any path.
var notInProduct = []string{
	"internal/embedded",
	"internal/embedded/embeddedtest",
	"internal/embedded/pgproxy",
	"internal/lab",
	"internal/loop/looptest",
	"internal/loop/storetest",
	"internal/service/processtest",
	"internal/simulator",
	"internal/simulator/line",
	"internal/stories/npmtest",
	"internal/workers/workertest",
}

// pure are the packages of level 2 and below: same input, same decision.
var pure = []string{
	"internal/term", "internal/plant", "internal/message",
	"internal/automation", "internal/production", "internal/scheduler", "internal/recovery",
}

// impure is what they must not import, with what goes with it ("net" forbids
// "net/http" too). Package time is allowed for its types; tools/bans holds off
// the clock and the timers in it.
var impure = map[string]string{
	"context":      "nothing here waits, so there is nothing to cancel",
	"crypto/rand":  "randomness is an argument",
	"database/sql": "dbstate stores",
	"log":          "a decision explains itself in its reason, not in a log",
	"math/rand":    "randomness is an argument",
	"net":          "workers and the API talk",
	"os":           "the same input must give the same decision on every machine",
	"sync":         "one goroutine decides",
	"syscall":      "the same input must give the same decision on every machine",
}
