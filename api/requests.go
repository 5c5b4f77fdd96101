package api

import (
	"encoding/json"

	"surehand/internal/term"
)

// What a person sends. A field that has to be there has no omitempty; its comment is its description in openapi.json,
// and the bounds there are those that the handlers hold.
type (
	// CommandRequest is a command by hand to one endpoint of a device.
	CommandRequest struct {
		Endpoint term.EndpointID `json:"endpoint"` // device/key, such as fan-1/on
		// Value to set: true, false, a number or a text, of the type of the endpoint and in its unit.
		Value  json.RawMessage `json:"value"`
		Reason string          `json:"reason,omitempty"` // for the record
		// Reassert sends also when the endpoint is freshly observed to have the value already.
		Reassert bool `json:"reassert,omitempty"`
	}

	// VerdictRequest says what became of a command that nobody could prove.
	VerdictRequest struct {
		Verdict term.Verdict `json:"verdict"` // what you know by looking
		Reason  string       `json:"reason"`  // how you know; it stays in the record
	}

	// ReasonRequest says why, for the record.
	ReasonRequest struct {
		Reason string `json:"reason,omitempty"` // why; it stays in the record
	}

	// ReleaseHoldRequest ends a hold that a person's word alone may end.
	ReleaseHoldRequest struct {
		Subject string          `json:"subject"` // what is held, as the list of holds names it: device:fan-1, devices
		Hold    term.HoldReason `json:"hold"`    // the other holds have a way of their own, which checks more
		Reason  string          `json:"reason"`  // how you know; it stays in the record
	}

	// OrderRequest is a new work order, stored as a draft.
	OrderRequest struct {
		ID       term.OrderID `json:"id,omitempty"`       // a name of your own; empty or left out: made from the time
		Product  string       `json:"product,omitempty"`  // for people
		Route    term.RouteID `json:"route"`              // a route of the plant file
		Quantity int          `json:"quantity"`           // parts to make
		Priority int          `json:"priority,omitempty"` // higher goes first; 0 unless said
	}

	// CancelOrderRequest says what becomes of the parts that are in the cell.
	CancelOrderRequest struct {
		Inside term.InsideRule `json:"inside,omitempty"` // retire: carried to the exit as they are, unless said; finish: their whole route first
		Reason string          `json:"reason,omitempty"` // why; it stays in the record
	}

	// PalletRequest: parts 1 to quantity of a pallet stand at the dock.
	PalletRequest struct {
		Pallet   term.PalletID `json:"pallet"`   // a name that was not used before
		Quantity int           `json:"quantity"` // parts on it: on places 1 to quantity
	}

	// ReworkRequest sends a part back.
	ReworkRequest struct {
		Step   int    `json:"step"`   // of its route, from 1
		Reason string `json:"reason"` // why; it stays in the record
	}

	// ReportRequest says where a part is. It is asked back before anything changes.
	ReportRequest struct {
		Place  term.Place `json:"place"`  // where it is now; OUT: taken out of the cell
		Reason string     `json:"reason"` // how you know; it stays in the record
	}

	// ConfirmRequest brings the cell back into work after a restart.
	ConfirmRequest struct {
		Release *bool  `json:"release,omitempty"` // false: the cell stays paused until it is released; true unless said
		Reason  string `json:"reason,omitempty"`  // why; it stays in the record
	}

	// AnswerRequest answers a manual action as it was shown.
	AnswerRequest struct {
		Version int64  `json:"version"` // that was shown
		Hash    string `json:"hash"`    // that was shown: it stands for the signals that the person saw
		Answer  string `json:"answer"`  // the word of one of the answers that were shown
		Reason  string `json:"reason"`  // how you know; it stays in the record
	}

	// ShelveRequest puts an alarm aside for a time.
	ShelveRequest struct {
		For    term.Duration `json:"for,omitempty"` // 1m to 24h; 0s or left out brings it back
		Reason string        `json:"reason"`        // why; it stays in the record
	}

	// StopRequest ends the process.
	StopRequest struct {
		// Drain begins nothing new, lets what is under way end, puts a part in the gripper down, and ends then.
		Drain bool `json:"drain,omitempty"`
	}
)
