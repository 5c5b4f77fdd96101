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
		Code    message.Code `json:"code,omitempty"`
		Reason  string       `json:"reason,omitempty"`
		Detail  string       `json:"detail,omitempty"`
		State   string       `json:"state,omitempty"`
		Subject string       `json:"subject,omitempty"`
		ID      string       `json:"id,omitempty"`
		Changed int          `json:"changed,omitempty"`
		Seq     int64        `json:"seq,omitempty"`
	}

	Command struct {
		ID               term.IntentID     `json:"id"`
		Version          int64             `json:"version"`
		State            term.CommandState `json:"state"`
		WaitingFor       term.Gate         `json:"waitingFor,omitempty"`
		FarmID           term.FarmID       `json:"farmId"`
		DeviceID         term.DeviceID     `json:"deviceId"`
		EndpointID       term.EndpointID   `json:"endpointId"`
		Serial           string            `json:"serialNumber"`
		TargetValue      term.Value        `json:"targetValue"`
		Action           term.ActionKind   `json:"action"`
		Method           string            `json:"method"`
		Params           json.RawMessage   `json:"params,omitempty"`
		Actor            string            `json:"actor,omitempty"`
		RuleID           term.RuleID       `json:"ruleId,omitempty"`
		RuleRevision     int64             `json:"ruleRevision,omitempty"`
		EventID          term.EventID      `json:"eventId,omitempty"`
		ExecutionID      term.ExecutionID  `json:"ruleExecutionId"`
		CommandID        term.CommandID    `json:"deviceCommandId,omitempty"`
		AttemptCount     int               `json:"attemptCount"`
		MaxAttempts      int               `json:"maxAttempts"`
		LastError        string            `json:"lastError,omitempty"`
		HoldsEndpoint    bool              `json:"holdsEndpoint"`
		PossiblyExecuted bool              `json:"possiblyExecuted"`
		EvidenceID       term.ReceiptID    `json:"evidenceId,omitempty"`
		CreatedAt        time.Time         `json:"createdAt"`
		UpdatedAt        time.Time         `json:"updatedAt"`
		NextAttemptAt    time.Time         `json:"nextAttemptAt,omitzero"`
		DeadlineAt       time.Time         `json:"deadlineAt,omitzero"`
		FencedAt         time.Time         `json:"fencedAt,omitzero"`
		AckedAt          time.Time         `json:"ackedAt,omitzero"`
		LapseAt          time.Time         `json:"lapseAt,omitzero"`
		EndedAt          time.Time         `json:"endedAt,omitzero"`
		ClosedAt         time.Time         `json:"closedAt,omitzero"`
	}

	TimelineItem struct {
		At     time.Time       `json:"at"`
		Seq    int64           `json:"seq,omitempty"`
		Kind   string          `json:"kind"` // decided, attempt, attempt_ended, receipt, move
		Text   string          `json:"text"`
		From   string          `json:"from,omitempty"`
		To     string          `json:"to,omitempty"`
		Detail json.RawMessage `json:"detail,omitempty"`
	}
	CommandTimeline struct {
		Items []TimelineItem `json:"items"`
	}
	ExecutionTimeline struct {
		Execution Execution      `json:"execution"`
		Event     *Event         `json:"event,omitempty"`
		Command   *Command       `json:"command,omitempty"`
		Items     []TimelineItem `json:"items"`
	}

	Execution struct {
		ID           term.ExecutionID      `json:"id"`
		Version      int64                 `json:"version"`
		Source       term.ExecutionSource  `json:"source"`
		Outcome      term.ExecutionOutcome `json:"outcome"`
		Reason       string                `json:"reason,omitempty"`
		RuleID       term.RuleID           `json:"ruleId,omitempty"`
		RuleRevision int64                 `json:"ruleRevision,omitempty"`
		EventID      term.EventID          `json:"eventId,omitempty"`
		LastEventID  term.EventID          `json:"lastEventId,omitempty"`
		FarmID       term.FarmID           `json:"farmId"`
		TargetID     term.EndpointID       `json:"targetId"`
		Leaves       []term.Leaf           `json:"leaves"`
		Gates        []term.GateInput      `json:"gates"`
		IntentID     term.IntentID         `json:"commandIntentId,omitempty"`
		FinalState   term.CommandState     `json:"finalState,omitempty"`
		FinalReason  string                `json:"finalReason,omitempty"`
		Count        int64                 `json:"count"`
		FirstAt      time.Time             `json:"firstAt"`
		LastAt       time.Time             `json:"lastAt"`
		Open         bool                  `json:"open"`
	}

	Event struct {
		ID         term.EventID       `json:"id"`
		FarmID     term.FarmID        `json:"farmId"`
		DeviceID   term.DeviceID      `json:"deviceId"`
		EndpointID term.EndpointID    `json:"endpointId"`
		At         time.Time          `json:"at"`
		ReceivedAt time.Time          `json:"receivedAt"`
		Value      term.Value         `json:"value"`
		Status     term.EventStatus   `json:"status"`
		Reason     term.DiscardReason `json:"reason,omitempty"`
	}

	Device struct {
		ID        term.DeviceID     `json:"id"`
		Version   int64             `json:"version"`
		FarmID    term.FarmID       `json:"farmId"`
		ProfileID term.ProfileID    `json:"profileId"`
		Serial    string            `json:"serialNumber"`
		Name      string            `json:"name"`
		Status    term.DeviceStatus `json:"status"`
		Class     term.DeviceClass  `json:"class"`
		BootID    string            `json:"bootId,omitempty"`
	}
	DeviceDetail struct {
		Device
		Endpoints []Endpoint `json:"endpoints"`
		Holds     []Hold     `json:"holds"` // of this device and of the whole device half
	}
	Endpoint struct {
		ID      term.EndpointID    `json:"id"`
		Key     string             `json:"key"`
		Enabled bool               `json:"enabled"`
		Spec    *term.EndpointSpec `json:"spec,omitempty"` // missing when the endpoint left the catalogue
		// Overrides of the catalogue entry for this instance.
		Overrides  term.Overrides `json:"overrides"`
		Value      term.Value     `json:"value"` // null: never observed
		SampledAt  time.Time      `json:"sampledAt,omitzero"`
		ReceivedAt time.Time      `json:"receivedAt,omitzero"`
		Holder     *Command       `json:"holder,omitempty"` // the command that holds the endpoint
	}
	// EndpointValue is a live value.
	EndpointValue struct {
		EndpointID term.EndpointID `json:"endpointId"`
		DeviceID   term.DeviceID   `json:"deviceId"`
		Value      term.Value      `json:"value"`
		SampledAt  time.Time       `json:"sampledAt,omitzero"`
		ReceivedAt time.Time       `json:"receivedAt"`
	}

	Organisation struct {
		ID      term.OrganisationID `json:"id"`
		Version int64               `json:"version"`
		Name    string              `json:"name"`
	}
	Farm struct {
		ID             term.FarmID         `json:"id"`
		Version        int64               `json:"version"`
		OrganisationID term.OrganisationID `json:"organisationId"`
		Name           string              `json:"name"`
	}
	Profile struct {
		ID        term.ProfileID      `json:"id"`
		Version   int64               `json:"version"`
		Name      string              `json:"name"`
		Class     term.DeviceClass    `json:"class"`
		Timing    term.Timing         `json:"timing"` // as it applies, defaults included
		Endpoints []term.EndpointSpec `json:"endpoints"`
	}
	Rule struct {
		ID          term.RuleID      `json:"id"`
		Version     int64            `json:"version"`
		FarmID      term.FarmID      `json:"farmId"`
		Name        string           `json:"name"`
		Active      bool             `json:"active"`
		Revision    int64            `json:"revision"`
		Trigger     term.EndpointID  `json:"trigger"`
		Condition   term.Condition   `json:"condition"`
		Target      term.EndpointID  `json:"target"`
		TargetValue term.Value       `json:"targetValue"`
		HoldOff     term.Duration    `json:"holdOff"`
		HoldUntil   time.Time        `json:"holdUntil,omitzero"`
		ExecutionID term.ExecutionID `json:"ruleExecutionId,omitempty"` // of the current verdict
	}
	Hold struct {
		ID      term.HoldID     `json:"id"`
		Subject string          `json:"subject"`
		Hold    term.HoldReason `json:"hold"`
		By      string          `json:"by"`
		Why     string          `json:"why"`
		At      time.Time       `json:"at"`
	}

	LogEntry struct {
		Seq           int64          `json:"seq"`
		MessageID     term.MessageID `json:"messageId"`
		Type          string         `json:"type"`
		Source        string         `json:"source"`
		Actor         string         `json:"actor,omitempty"`
		CorrelationID string         `json:"correlationId,omitempty"`
		CausationID   string         `json:"causationId,omitempty"`
		At            time.Time      `json:"at"`
		CreatedAt     time.Time      `json:"createdAt,omitzero"`
		Outcome       string         `json:"outcome"`
		Reason        string         `json:"reason,omitempty"`
		Subject       string         `json:"subject,omitempty"`
		Notes         []plant.Note   `json:"notes"`
		NotesLeftOut  int            `json:"notesLeftOut,omitempty"`
	}
	// ParkedMessage is one that could not be decided. Raw is the payload as it was kept, base64.
	ParkedMessage struct {
		ID     term.MessageID `json:"id"`
		Type   string         `json:"type"`
		Source string         `json:"source"`
		Reason string         `json:"reason"`
		At     time.Time      `json:"at"`
		Raw    []byte         `json:"raw"`
	}
	Timeouts struct {
		DeviceID   term.DeviceID   `json:"deviceId"`
		EndpointID term.EndpointID `json:"endpointId,omitempty"`
		Count      int64           `json:"count"`
		LastAt     time.Time       `json:"lastAt"`
	}

	System struct {
		Version    string            `json:"version"`
		Epoch      int64             `json:"epoch"`
		Generation string            `json:"generation,omitempty"`
		Seq        int64             `json:"seq"`
		LastTurn   time.Time         `json:"lastTurn,omitzero"`
		Inbox      Inbox             `json:"inbox"`
		Links      map[string]string `json:"links"`
		Streams    int               `json:"streams"`
		Database   string            `json:"database"` // ok, away (for the loop), unreachable (for reading)
	}
	Readiness struct {
		Ready    bool  `json:"ready"`
		Database bool  `json:"database"` // it can be read now
		Writing  bool  `json:"writing"`  // the loop is not waiting for it
		Loop     bool  `json:"loop"`     // open: the database has confirmed this process life
		Turning  bool  `json:"turning"`  // it turned within 5 s
		Epoch    int64 `json:"epoch"`
	}
	// Liveness is whether the loop turned within 5 s, waiting for the database included.
	Liveness struct {
		OK       bool      `json:"ok"`
		LastTurn time.Time `json:"lastTurn,omitzero"`
	}
)
