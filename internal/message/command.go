package message

import "surehand/internal/term"

// SendCommand is a hand command: it takes the same path as a rule's.
type SendCommand struct {
	Endpoint term.EndpointID `json:"endpoint"`
	Value    term.Value      `json:"value"`
	Reason   string          `json:"reason,omitempty"`
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

// ReleaseDevice ends the quarantine or the parked hold of a device, with a reason.
type ReleaseDevice struct {
	DeviceID term.DeviceID   `json:"deviceId"`
	Hold     term.HoldReason `json:"hold"`
	Reason   string          `json:"reason"`
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
func (ReleaseDevice) Type() string { return "ReleaseDevice" }
func (ImportDevices) Type() string { return "ImportDevices" }

func (SendCommand) payload()   {}
func (CancelCommand) payload() {}
func (JudgeCommand) payload()  {}
func (ReleaseDevice) payload() {}
func (ImportDevices) payload() {}
