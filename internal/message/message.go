package message

import (
	"encoding/json"
	"time"

	"surehand/internal/plant"
	"surehand/internal/term"
)

// Source says where a message comes from. It also ranks them: people and results are taken first, telemetry
// with a floor and at most half the room, timers last.
type Source string

const (
	FromPerson    Source = "person"
	FromWorker    Source = "worker"
	FromDevice    Source = "device"    // answers, state reports and status
	FromTelemetry Source = "telemetry" // readings
	FromTimer     Source = "timer"
	FromLoop      Source = "loop" // the loop to itself: start, sweeps
)

// Message is one thing to decide. Reply is optional; when set it must have room for one Answer per message
// that uses it, since the loop never waits: an answer that finds no room is dropped and logged as a bug.
type Message struct {
	ID            term.MessageID
	Source        Source
	Actor         string // who, for messages of people
	CorrelationID string // of a worker's result: the action it answers
	CausationID   string // the message that caused this one
	Payload       Payload
	Reply         chan<- Answer
	CreatedAt     time.Time
	// BodyHash of the request of a person: the same id with another hash is a conflict.
	BodyHash string
}

// Answer is the loop's word on one message, sent after the commit that it rests on.
type Answer struct {
	MessageID term.MessageID
	Outcome   Outcome
}

// Code is the kind of outcome.
type Code string

const (
	Accepted Code = "accepted"
	Conflict Code = "conflict" // the same id came with another body
	Refused  Code = "refused"  // by state or by value; Reason names it
	NotFound Code = "not_found"
	Invalid  Code = "invalid" // Problems points to each fault
	Parked   Code = "parked"  // could not be decided; kept for an engineer
	Noted    Code = "noted"   // stored; decided nothing (a plain reading)
	Ignored  Code = "ignored" // input that changes nothing: counted
)

// Problem points to one fault of a request or an import.
type Problem struct {
	Pointer string `json:"pointer"` // JSON pointer or YAML path
	Line    int    `json:"line,omitempty"`
	Detail  string `json:"detail"`
}

// Outcome of a message.
type Outcome struct {
	Code     Code      `json:"code"`
	Reason   string    `json:"reason,omitempty"` // gate, state or rule that refused; for machines
	Detail   string    `json:"detail,omitempty"` // for people: what is so, and what to do
	State    string    `json:"state,omitempty"`  // the state that forbids it, or that it led to
	Subject  string    `json:"subject,omitempty"`
	ID       string    `json:"id,omitempty"` // of the thing it created or meant
	Problems []Problem `json:"problems,omitempty"`
	Changed  int       `json:"changed,omitempty"` // things changed by an import
	// Seq of the event log row; 0 when there is none.
	Seq int64 `json:"seq,omitempty"`
}

// Payload is sealed: the loop knows every type.
type Payload interface {
	Type() string
	payload()
}

// Raw is a message's payload for the record when it is parked.
func Raw(p Payload) []byte {
	b, err := json.Marshal(p)
	if err != nil { // every payload here is plain data
		return []byte(err.Error())
	}
	return b
}

// Need is what a turn asks the store in one read before it decides.
type Need struct {
	Keys     []string         // message and delivery keys, UUIDs
	Commands []term.CommandID // command ids that are not in the picture
	Intents  []term.IntentID  // intents that are not in the picture
	Tasks    []term.TaskID    // tasks that are not in the picture
	Orders   []term.OrderID   // orders whose ended parts are to be counted, or that may have ended
	Pallets  []term.PalletID  // pallets that may have been here before
}

// Empty tells whether there is nothing to ask.
func (n Need) Empty() bool {
	return len(n.Keys) == 0 && len(n.Commands) == 0 && len(n.Intents) == 0 && len(n.Tasks) == 0 && len(n.Orders) == 0 && len(n.Pallets) == 0
}

// Known is the store's answer.
type Known struct {
	Keys    map[string]plant.MessageKey
	Intents []*plant.Intent // those asked for by either id that exist
	Tasks   []*plant.Task   // those asked for that exist
	// Ends counts the ended parts of each order asked for that exists, open or ended.
	Ends map[term.OrderID]Ends
	// Pallets are those asked for that exist, here or gone.
	Pallets map[term.PalletID]bool
}

// Ends counts the ended parts of an order by how they ended.
type Ends struct{ Completed, Scrapped, Cancelled int }
