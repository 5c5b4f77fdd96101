package message

import "surehand/internal/term"

// SendCommand is a hand command: it takes the same path as a rule's.
type SendCommand struct {
	Endpoint term.EndpointID `json:"endpoint"`
	Value    term.Value      `json:"value"`
	Reason   string          `json:"reason,omitempty"`
	// Reassert sends the command also when the target is observed to hold already.
	Reassert bool `json:"reassert,omitempty"`
}

// CancelCommand stops a command of which nothing has left; after the fence it is refused.
type CancelCommand struct {
	IntentID term.IntentID `json:"intentId"`
	Reason   string        `json:"reason,omitempty"`
}

// JudgeCommand is a person's verdict on an uncertain command, or on the endpoint that an expired one holds.
type JudgeCommand struct {
	IntentID term.IntentID `json:"intentId"`
	Verdict  term.Verdict  `json:"verdict"`
	Reason   string        `json:"reason"`
}

// ReleaseHold ends a hold of a device ("device:ID") or of the whole device half ("devices"), with a reason.
type ReleaseHold struct {
	Subject string          `json:"subject"`
	Hold    term.HoldReason `json:"hold"`
	Reason  string          `json:"reason"`
}

// StopRequested ends the process. With Drain nothing new is sent and what is under way is waited for, until
// it has ended or is uncertain.
type StopRequested struct {
	Drain bool `json:"drain"`
}

// ImportDevices is the device half's configuration: what is named is created or changed, what is not named
// stays. It is applied as a whole or not at all.
type ImportDevices struct {
	Organisations []ImportOrganisation `json:"organisations"`
	Farms         []ImportFarm         `json:"farms"`
	Profiles      []ImportProfile      `json:"profiles"`
	Devices       []ImportDevice       `json:"devices"`
	Rules         []ImportRule         `json:"rules"`
}

// Each imported thing carries the line of the file on which it starts; 0 when there is no file.
type (
	ImportOrganisation struct {
		ID   term.OrganisationID `json:"id"`
		Name string              `json:"name"`
		Line int                 `json:"line,omitempty"`
	}
	ImportFarm struct {
		ID           term.FarmID         `json:"id"`
		Organisation term.OrganisationID `json:"organisation"`
		Name         string              `json:"name"`
		Line         int                 `json:"line,omitempty"`
	}
	ImportProfile struct {
		ID        term.ProfileID      `json:"id"`
		Name      string              `json:"name"`
		Class     term.DeviceClass    `json:"class"`
		Timing    term.Timing         `json:"timing"`
		Endpoints []term.EndpointSpec `json:"endpoints"`
		Line      int                 `json:"line,omitempty"`
	}
	ImportDevice struct {
		ID      term.DeviceID     `json:"id"`
		Farm    term.FarmID       `json:"farm"`
		Profile term.ProfileID    `json:"profile"`
		Serial  string            `json:"serial"`
		Name    string            `json:"name"`
		Status  term.DeviceStatus `json:"status,omitempty"` // default active
		Class   term.DeviceClass  `json:"class,omitempty"`  // default: the profile's
		// Endpoints overrides instances by key; every endpoint of the catalogue exists and is enabled.
		Endpoints []ImportEndpoint `json:"endpoints,omitempty"`
		Line      int              `json:"line,omitempty"`
	}
	ImportEndpoint struct {
		Key       string         `json:"key"`
		Enabled   *bool          `json:"enabled,omitempty"`
		Overrides term.Overrides `json:"overrides"`
	}
	ImportRule struct {
		ID          term.RuleID     `json:"id"`
		Farm        term.FarmID     `json:"farm"`
		Name        string          `json:"name"`
		Active      *bool           `json:"active,omitempty"` // default true
		Trigger     term.EndpointID `json:"trigger"`
		Condition   term.Condition  `json:"condition"`
		Target      term.EndpointID `json:"target"`
		TargetValue term.Value      `json:"targetValue"`
		HoldOff     term.Duration   `json:"holdOff,omitempty"`
		Line        int             `json:"line,omitempty"`
	}
)

func (SendCommand) Type() string   { return "SendCommand" }
func (CancelCommand) Type() string { return "CancelCommand" }
func (JudgeCommand) Type() string  { return "JudgeCommand" }
func (ReleaseHold) Type() string   { return "ReleaseHold" }
func (StopRequested) Type() string { return "StopRequested" }
func (ImportDevices) Type() string { return "ImportDevices" }

func (SendCommand) payload()   {}
func (CancelCommand) payload() {}
func (JudgeCommand) payload()  {}
func (ReleaseHold) payload()   {}
func (StopRequested) payload() {}
func (ImportDevices) payload() {}
