package api

import (
	"encoding/json"
	"time"

	"surehand/internal/message"
	"surehand/internal/plant"
	"surehand/internal/term"
)

// Types of the contract: camelCase, times in RFC 3339 with microseconds in UTC, values as JSON scalars, what is
// not there left out.
type (
	// List is one page; Next is the cursor of the next one, empty on the last.
	List[T any] struct {
		Items []T    `json:"items"`
		Next  string `json:"next,omitempty"`
	}

	// Outcome is the loop's word on a request.
	Outcome struct {
		Code    message.Code `json:"code,omitempty"`   // kind of outcome: accepted; noted or ignored, if there was nothing to decide
		Reason  string       `json:"reason,omitempty"` // for machines
		Detail  string       `json:"detail,omitempty"` // for people
		State   string       `json:"state,omitempty"`  // that it led to
		Subject string       `json:"subject,omitempty"`
		ID      string       `json:"id,omitempty"`      // of the thing that it created or meant
		Changed int          `json:"changed,omitempty"` // things that an import changed
		Seq     int64        `json:"seq,omitempty"`     // of the row of the event log
	}

	// Command is one decided change of an endpoint of a device, from the wish to the proof.
	Command struct {
		ID               term.IntentID     `json:"id"`
		Version          int64             `json:"version"`
		State            term.CommandState `json:"state"`
		WaitingFor       term.Gate         `json:"waitingFor,omitempty"` // the gate that stops it, while it is pending or retrying
		FarmID           term.FarmID       `json:"farmId"`
		DeviceID         term.DeviceID     `json:"deviceId"`
		EndpointID       term.EndpointID   `json:"endpointId"`
		Serial           string            `json:"serialNumber"`
		TargetValue      term.Value        `json:"targetValue"` // what the endpoint is to be set to
		Action           term.ActionKind   `json:"action"`
		Method           string            `json:"method"`                    // of the call to the device
		Params           json.RawMessage   `json:"params,omitempty"`          // of the call to the device
		Actor            string            `json:"actor,omitempty"`           // who asked, of a hand command
		RuleID           term.RuleID       `json:"ruleId,omitempty"`          // left out of a hand command
		RuleRevision     int64             `json:"ruleRevision,omitempty"`    // of the rule when it fired
		EventID          term.EventID      `json:"eventId,omitempty"`         // the reading that made the rule fire
		ExecutionID      term.ExecutionID  `json:"ruleExecutionId"`           // why it exists
		CommandID        term.CommandID    `json:"deviceCommandId,omitempty"` // its id on the wire, from the first attempt on
		AttemptCount     int               `json:"attemptCount"`              // attempts that may have left
		MaxAttempts      int               `json:"maxAttempts"`
		LastError        string            `json:"lastError,omitempty"`  // of the last attempt, for people
		HoldsEndpoint    bool              `json:"holdsEndpoint"`        // no other command is sent to the endpoint meanwhile
		PossiblyExecuted bool              `json:"possiblyExecuted"`     // an attempt had left
		EvidenceID       term.ReceiptID    `json:"evidenceId,omitempty"` // what the device said that proves it
		CreatedAt        time.Time         `json:"createdAt"`
		UpdatedAt        time.Time         `json:"updatedAt"`
		NextAttemptAt    time.Time         `json:"nextAttemptAt,omitzero"` // not before this
		DeadlineAt       time.Time         `json:"deadlineAt,omitzero"`    // of the whole command
		FencedAt         time.Time         `json:"fencedAt,omitzero"`      // of the last attempt: it was stored and may have left since
		AckedAt          time.Time         `json:"ackedAt,omitzero"`       // the device accepted it
		LapseAt          time.Time         `json:"lapseAt,omitzero"`       // no copy of it can still arrive after this
		EndedAt          time.Time         `json:"endedAt,omitzero"`       // applied, failed or expired
		ClosedAt         time.Time         `json:"closedAt,omitzero"`      // nothing can come of it any more
	}

	// TimelineItem is one thing that happened.
	TimelineItem struct {
		At     time.Time       `json:"at"`
		Seq    int64           `json:"seq,omitempty"`    // of the row of the event log that it was in
		Kind   string          `json:"kind"`             // decided, attempt, attempt_ended, receipt, move
		Text   string          `json:"text"`             // what happened, for people
		From   string          `json:"from,omitempty"`   // state before a move
		To     string          `json:"to,omitempty"`     // state after a move
		Detail json.RawMessage `json:"detail,omitempty"` // whatever else the record has; its form depends on the kind
	}
	// CommandTimeline is the whole story of a command, oldest first.
	CommandTimeline struct {
		Items []TimelineItem `json:"items"`
	}
	// ExecutionTimeline is the story of one execution: the reading, the verdict and the command, if there is one.
	ExecutionTimeline struct {
		Execution Execution      `json:"execution"`
		Event     *Event         `json:"event,omitempty"`
		Command   *Command       `json:"command,omitempty"`
		Items     []TimelineItem `json:"items"`
	}

	// Execution is what one evaluation of a rule, or one hand command, came to. The same verdict in a row is one execution.
	Execution struct {
		ID           term.ExecutionID      `json:"id"`
		Version      int64                 `json:"version"`
		Source       term.ExecutionSource  `json:"source"`
		Outcome      term.ExecutionOutcome `json:"outcome"`
		Reason       string                `json:"reason,omitempty"`       // the gate that refused, or what was unknown
		RuleID       term.RuleID           `json:"ruleId,omitempty"`       // left out of a hand command
		RuleRevision int64                 `json:"ruleRevision,omitempty"` // of the rule when it was evaluated
		EventID      term.EventID          `json:"eventId,omitempty"`      // the reading that first brought this verdict
		LastEventID  term.EventID          `json:"lastEventId,omitempty"`  // the last one that brought it again
		FarmID       term.FarmID           `json:"farmId"`
		TargetID     term.EndpointID       `json:"targetId"`                  // the endpoint that was to be set
		Leaves       []term.Leaf           `json:"leaves"`                    // the comparisons of the condition
		Gates        []term.GateInput      `json:"gates"`                     // what was looked at before a command was allowed
		IntentID     term.IntentID         `json:"commandIntentId,omitempty"` // the command; left out: none
		FinalState   term.CommandState     `json:"finalState,omitempty"`      // of the command, once it has come to rest
		FinalReason  string                `json:"finalReason,omitempty"`     // why the command ended so
		Count        int64                 `json:"count"`                     // how often this verdict came in a row
		FirstAt      time.Time             `json:"firstAt"`
		LastAt       time.Time             `json:"lastAt"`
		Open         bool                  `json:"open"` // it is the current verdict of its rule, or its command has not ended
	}

	// Event is one reading of an endpoint.
	Event struct {
		ID         term.EventID       `json:"id"`
		FarmID     term.FarmID        `json:"farmId"`
		DeviceID   term.DeviceID      `json:"deviceId"`
		EndpointID term.EndpointID    `json:"endpointId"`
		At         time.Time          `json:"at"`         // time of the sample
		ReceivedAt time.Time          `json:"receivedAt"` // when it came here
		Value      term.Value         `json:"value"`
		Status     term.EventStatus   `json:"status"`
		Reason     term.DiscardReason `json:"reason,omitempty"` // why it fires nothing
	}

	// Device as the configuration has it.
	Device struct {
		ID        term.DeviceID     `json:"id"`
		Version   int64             `json:"version"`
		FarmID    term.FarmID       `json:"farmId"`
		ProfileID term.ProfileID    `json:"profileId"`
		Serial    string            `json:"serialNumber"` // of the device in its topics
		Name      string            `json:"name"`         // for people
		Status    term.DeviceStatus `json:"status"`
		Class     term.DeviceClass  `json:"class"`
		BootID    string            `json:"bootId,omitempty"` // of its last start, where it tells one
	}
	// DeviceDetail is a device with its endpoints and what holds it.
	DeviceDetail struct {
		Device
		Endpoints []Endpoint `json:"endpoints"` // by key
		Holds     []Hold     `json:"holds"`     // of this device and of the whole device half
	}
	// Endpoint of a device with its last observed value.
	Endpoint struct {
		ID      term.EndpointID    `json:"id"`
		Key     string             `json:"key"`            // within the device
		Enabled bool               `json:"enabled"`        // false: readings fire nothing and no command is sent
		Spec    *term.EndpointSpec `json:"spec,omitempty"` // missing when the endpoint left the catalogue
		// Overrides of the catalogue entry for this instance.
		Overrides  term.Overrides `json:"overrides"`
		Value      term.Value     `json:"value"`               // null: never observed
		SampledAt  time.Time      `json:"sampledAt,omitzero"`  // time of the sample by the device
		ReceivedAt time.Time      `json:"receivedAt,omitzero"` // when the value came here
		Holder     *Command       `json:"holder,omitempty"`    // the command that holds the endpoint
	}
	// EndpointValue is a live value.
	EndpointValue struct {
		EndpointID term.EndpointID `json:"endpointId"`
		DeviceID   term.DeviceID   `json:"deviceId"`
		Value      term.Value      `json:"value"`
		SampledAt  time.Time       `json:"sampledAt,omitzero"` // time of the sample by the device
		ReceivedAt time.Time       `json:"receivedAt"`         // when the value came here
	}

	// Organisation that owns farms.
	Organisation struct {
		ID      term.OrganisationID `json:"id"`
		Version int64               `json:"version"`
		Name    string              `json:"name"`
	}
	// Farm is a site whose devices and rules belong together.
	Farm struct {
		ID             term.FarmID         `json:"id"`
		Version        int64               `json:"version"`
		OrganisationID term.OrganisationID `json:"organisationId"`
		Name           string              `json:"name"`
	}
	// Profile is what all devices of a kind have in common.
	Profile struct {
		ID        term.ProfileID      `json:"id"`
		Version   int64               `json:"version"`
		Name      string              `json:"name"`
		Class     term.DeviceClass    `json:"class"`
		Timing    term.Timing         `json:"timing"`    // as it applies, defaults included
		Endpoints []term.EndpointSpec `json:"endpoints"` // the catalogue that every device of the profile has
	}
	// Rule sets a target when its condition holds.
	Rule struct {
		ID          term.RuleID      `json:"id"`
		Version     int64            `json:"version"`
		FarmID      term.FarmID      `json:"farmId"`
		Name        string           `json:"name"`
		Active      bool             `json:"active"`   // false: it is not evaluated
		Revision    int64            `json:"revision"` // counts the changes of what it says
		Trigger     term.EndpointID  `json:"trigger"`  // the endpoint whose readings make it be evaluated
		Condition   term.Condition   `json:"condition"`
		Target      term.EndpointID  `json:"target"`                    // the endpoint that it sets
		TargetValue term.Value       `json:"targetValue"`               // what it sets
		HoldOff     term.Duration    `json:"holdOff"`                   // how long it is quiet after it has fired
		HoldUntil   time.Time        `json:"holdUntil,omitzero"`        // no new command before this
		ExecutionID term.ExecutionID `json:"ruleExecutionId,omitempty"` // of the current verdict
	}
	// Hold keeps its subject from being driven, until it ends.
	Hold struct {
		ID      term.HoldID     `json:"id"`
		Subject string          `json:"subject"`
		Hold    term.HoldReason `json:"hold"` // for what it is held
		By      string          `json:"by"`   // who placed it; a part of Surehand or a person
		Why     string          `json:"why"`  // in words
		At      time.Time       `json:"at"`   // since when
	}

	// LogEntry is one row of the event log: one message that decided something.
	LogEntry struct {
		Seq           int64          `json:"seq"`
		MessageID     term.MessageID `json:"messageId"`               // of the message that decided something
		Type          string         `json:"type"`                    // of the message, such as SendCommand
		Source        string         `json:"source"`                  // where the message came from: person, worker, device, telemetry, timer, loop
		Actor         string         `json:"actor,omitempty"`         // who, of a message of a person
		CorrelationID string         `json:"correlationId,omitempty"` // of a result: what it answers
		CausationID   string         `json:"causationId,omitempty"`   // the message that caused this one
		At            time.Time      `json:"at"`                      // when it was decided
		CreatedAt     time.Time      `json:"createdAt,omitzero"`      // when the message was made
		Outcome       string         `json:"outcome"`                 // accepted, conflict, refused, not_found, invalid, noted, ignored
		Reason        string         `json:"reason,omitempty"`        // why it was refused, for machines
		Subject       string         `json:"subject,omitempty"`
		Notes         []plant.Note   `json:"notes"`                  // the changes that it made
		NotesLeftOut  int            `json:"notesLeftOut,omitempty"` // changes beyond those; above 0, anything may have changed
	}
	// ParkedMessage is one that could not be decided. Raw is the payload as it was kept, base64.
	ParkedMessage struct {
		ID     term.MessageID `json:"id"`
		Type   string         `json:"type"`   // of the message
		Source string         `json:"source"` // where it came from
		Reason string         `json:"reason"` // why it could not be decided
		At     time.Time      `json:"at"`     // when it was parked
		Raw    []byte         `json:"raw"`    // the payload as it was kept, base64
	}
	// Timeouts counts late answers of one endpoint.
	Timeouts struct {
		DeviceID   term.DeviceID   `json:"deviceId"`
		EndpointID term.EndpointID `json:"endpointId,omitempty"` // device/key
		Count      int64           `json:"count"`                // answers that came too late or not at all
		LastAt     time.Time       `json:"lastAt"`               // the last of them
	}

	// System is the running process.
	System struct {
		Version    string            `json:"version"` // of the program
		Epoch      int64             `json:"epoch"`
		Generation string            `json:"generation,omitempty"`
		Seq        int64             `json:"seq"`
		LastTurn   time.Time         `json:"lastTurn,omitzero"` // when the loop last turned; it does once a second at least
		Inbox      Inbox             `json:"inbox"`             // messages that wait to be decided
		Links      map[string]string `json:"links"`             // the broker connections telemetry, answers and commands: up, down or unknown
		Streams    int               `json:"streams"`           // clients of the event stream
		Database   string            `json:"database"`          // ok, away (for the loop), unreachable (for reading)
	}
	// Readiness is whether everything is there to decide and to write.
	Readiness struct {
		Ready    bool  `json:"ready"`    // all of these
		Database bool  `json:"database"` // it can be read now
		Writing  bool  `json:"writing"`  // the loop is not waiting for it
		Loop     bool  `json:"loop"`     // open: the database has confirmed this process life
		Turning  bool  `json:"turning"`  // it turned within 5 s
		Epoch    int64 `json:"epoch"`
	}
	// Liveness is whether the loop turned within 5 s, waiting for the database included.
	Liveness struct {
		OK       bool      `json:"ok"`                // the loop turned within 5 s
		LastTurn time.Time `json:"lastTurn,omitzero"` // when the loop last turned
	}
)
