package api

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"surehand/internal/plant"
	"surehand/internal/term"
)

// position is a place in the event log: the id of an event of the stream. Seq counts on over generations; a new
// generation says that rows of the old one were lost, so an old position means nothing any more.
type position struct {
	generation string
	seq        int64
}

func (p position) String() string { return p.generation + ":" + strconv.FormatInt(p.seq, 10) }

func parsePosition(s string) (position, bool) {
	generation, text, ok := strings.Cut(s, ":")
	seq, err := strconv.ParseInt(text, 10, 64)
	if !ok || generation == "" || err != nil || seq < 0 || text != strconv.FormatInt(seq, 10) {
		return position{}, false
	}
	return position{generation, seq}, true
}

// frame is one event of the stream. Without a position it has no id and leaves the client's position alone.
type frame struct {
	name string
	at   position
	data []byte // JSON on one line, never empty
}

func (f frame) id() string {
	if f.at.generation == "" {
		return ""
	}
	return f.at.String()
}

// bytes is the frame on the wire.
func (f frame) bytes() []byte {
	id := ""
	if f.at.generation != "" {
		id = "id: " + f.at.String() + "\n"
	}
	return fmt.Appendf(nil, "%sevent: %s\ndata: %s\n\n", id, f.name, f.data)
}

// parcel is frames that leave together, as they are on the wire; it is shared by all clients that get it.
type parcel struct {
	frames []frame
	ends   []int // of each frame in the bytes
	bytes  []byte
}

// pack makes a parcel of those frames that are wanted, in order; nil: all.
func pack(frames []frame, wanted func(i int) bool) *parcel {
	p := &parcel{}
	for i, f := range frames {
		if wanted == nil || wanted(i) {
			p.frames = append(p.frames, f)
			p.bytes = append(p.bytes, f.bytes()...)
			p.ends = append(p.ends, len(p.bytes))
		}
	}
	return p
}

// after is what a client that has seen rows up to a seq has not seen of it, and the seq that it has seen then. A heartbeat
// names the last row and is no row itself.
func (p *parcel) after(seq int64) (rest []byte, seen int64) {
	start := 0
	for i, f := range p.frames {
		switch {
		case f.at.generation == "":
		case f.at.seq < seq, f.at.seq == seq && f.name != "heartbeat":
			start = p.ends[i] // rows are in order, so those seen are the first ones
		default:
			seq = f.at.seq
		}
	}
	return p.bytes[start:], seq
}

func jsonFrame(name string, v any) frame {
	data, err := json.Marshal(v)
	if err != nil { // our own plain types always marshal
		panic(fmt.Sprintf("event %s does not marshal: %v", name, err))
	}
	return frame{name: name, data: data}
}

// entryFrame is a row of the event log. All rows have the same event name, so that a client which does not
// know a type of message still gets every row.
func entryFrame(generation string, e *plant.Entry) frame {
	f := jsonFrame("log", entryJSON(e))
	f.at = position{generation, e.Seq}
	return f
}

type (
	// How things stand.
	snapshotEvent struct {
		Generation   string            `json:"generation"`
		Seq          int64             `json:"seq"`
		Epoch        int64             `json:"epoch"`
		Links        map[string]string `json:"links"`
		OpenCommands []Command         `json:"openCommands"` // those that may still move by themselves, and those that hold their endpoint
		// Truncated: there are more open commands than these; GET /commands has them all.
		Truncated bool `json:"truncated,omitempty"`
		// Cell is of the topic cell; also left out while no plant file was imported.
		Cell          *Cell          `json:"cell,omitempty"`
		OpenOrders    []Order        `json:"openOrders,omitzero"`    // of the topic cell
		ManualActions []ManualAction `json:"manualActions,omitzero"` // the open ones; of the topic questions
		Alarms        []Alarm        `json:"alarms,omitzero"`        // those that are not normal; of the topic alarms
	}
	// The log goes on where the client left it.
	resumedEvent struct {
		Generation string            `json:"generation"`
		Seq        int64             `json:"seq"` // of the newest row when it resumed
		Epoch      int64             `json:"epoch"`
		Links      map[string]string `json:"links"`
	}
	// What was missed cannot be shown; a snapshot follows.
	resetEvent struct {
		Reason     string `json:"reason"` // generation, ahead, malformed, too_far, trimmed
		Generation string `json:"generation"`
		Seq        int64  `json:"seq"`
	}
	// Events without an id were skipped.
	resyncEvent struct {
		Reason string `json:"reason"` // overflow
	}
	// The stream is alive.
	heartbeatEvent struct {
		Generation string    `json:"generation"`
		Seq        int64     `json:"seq"`
		At         time.Time `json:"at"`
	}
	// The broker connections have changed.
	linksEvent struct {
		Links map[string]string `json:"links"`
	}
	// Live values that changed.
	valuesEvent struct {
		Values []EndpointValue `json:"values"` // the newest of each endpoint
	}
)

// topics are what a client wants to see, as a set.
type topics uint16

const (
	topicCommands topics = 1 << iota
	topicDevices
	topicExecutions
	topicLinks
	topicConfiguration
	topicCell
	topicQuestions
	topicAlarms
	topicLog  // every row, whatever it is about
	allTopics = topicLog<<1 - 1
)

var topicNames = map[string]topics{"commands": topicCommands, "devices": topicDevices, "executions": topicExecutions,
	"links": topicLinks, "configuration": topicConfiguration, "cell": topicCell, "questions": topicQuestions, "alarms": topicAlarms, "log": topicLog}

// parseTopics reads a comma-separated list; empty: all.
func parseTopics(text string) (topics, error) {
	if text == "" {
		return allTopics, nil
	}
	var t topics
	for name := range strings.SplitSeq(text, ",") {
		topic, ok := topicNames[name]
		if !ok {
			return 0, invalid("?topics", "%q is none of commands, devices, executions, links, configuration, cell, questions, alarms, log", name)
		}
		t |= topic
	}
	return t, nil
}

// topicsOf is what a row is about: by its message, and by what it changed. A refused message changed nothing
// and is found by its type.
func topicsOf(e *plant.Entry) topics {
	t := topicLog
	switch e.Type {
	case "SendCommand", "CancelCommand", "JudgeCommand", "AttemptEnded", "DeviceResponded", "StateReported":
		t |= topicCommands
	case "ReleaseHold", "DeviceStatusReported", "TelemetryReceived", "InputRejected":
		t |= topicDevices
	case "LinkChanged", "SessionDrained", "OutageEnded", "ProcessStarted", "DatabaseTravelled", "StopRequested":
		t |= topicLinks
	case "ImportDevices":
		t |= topicConfiguration
	case "ImportPlant":
		t |= topicConfiguration | topicCell
	case "CreateOrder", "StartOrder", "PauseOrder", "ResumeOrder", "CancelOrder", "SuspendJob", "ResumeJob", "ReworkJob", "ScrapJob", "PauseCell",
		"ReleaseCell", "EnableEquipment", "DisableEquipment", "PalletArrived", "PalletLeft", "RefillRequested", "EquipmentStatusChanged",
		"MachineDone", "InspectionResult", "StepTimeout", "ScheduleTick", "RobotActionSucceeded", "RobotActionFailed", "ToolActionSucceeded",
		"ToolActionFailed", "MachineStartSucceeded", "MachineStartFailed", "DoneAcknowledged":
		t |= topicCell
	case "ReportPart", "ConfirmRecovery", "CompareCell", "ResolveManualAction":
		t |= topicCell | topicQuestions
	case "AckAlarm", "ShelveAlarm":
		t |= topicAlarms
	}
	for _, n := range e.Notes {
		switch n.Kind {
		case plant.KindIntent, plant.KindAttempt, plant.KindReceipt:
			t |= topicCommands
		case plant.KindDevice, plant.KindEvent:
			t |= topicDevices
		case plant.KindHold: // of a device or of something in the cell; a note does not say
			t |= topicDevices | topicCell
		case plant.KindCell, plant.KindEquipment, plant.KindSlot, plant.KindPallet, plant.KindOrder, plant.KindJob, plant.KindTask:
			t |= topicCell
		case plant.KindQuestion:
			t |= topicQuestions
		case plant.KindAlarm:
			t |= topicAlarms
		case plant.KindExecution:
			t |= topicExecutions
		case plant.KindOrganisation, plant.KindFarm, plant.KindProfile, plant.KindRule, plant.KindRoute:
			t |= topicConfiguration
		}
	}
	if e.NotesLeftOut > 0 { // what is not named may be about anything
		t = allTopics
	}
	return t
}

// maxValues of one event; what is left goes with the next.
const maxValues = 1000

// conflated keeps the last value of each endpoint, oldest change first, so that none starves.
type conflated struct {
	order  []term.EndpointID
	values map[term.EndpointID]EndpointValue
}

func (c *conflated) put(e *plant.Endpoint) {
	if c.values == nil {
		c.values = map[term.EndpointID]EndpointValue{}
	}
	if _, waiting := c.values[e.ID]; !waiting {
		c.order = append(c.order, e.ID)
	}
	c.values[e.ID] = valueJSON(e)
}

func (c *conflated) take(n int) []EndpointValue {
	n = min(n, len(c.order))
	taken := make([]EndpointValue, 0, n)
	for _, id := range c.order[:n] {
		taken = append(taken, c.values[id])
		delete(c.values, id)
	}
	c.order = append([]term.EndpointID(nil), c.order[n:]...)
	return taken
}

// linkOf reads the loop's count of a link change, such as "answers up".
func linkOf(c plant.Count) (link plant.Link, up, ok bool) {
	name, word, cut := strings.Cut(c.Label, " ")
	if c.Name != "link" || !cut || word != "up" && word != "down" {
		return "", false, false
	}
	switch link = plant.Link(name); link {
	case plant.LinkTelemetry, plant.LinkAnswers, plant.LinkCommands:
		return link, word == "up", true
	}
	return "", false, false
}
