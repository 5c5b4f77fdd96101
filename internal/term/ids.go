package term

// Names are chosen by people (ValidName says of what) and appear in YAML,
// URLs and logs. A serial number is a property of a device, not its identity: a spare part keeps the
// device and its history.
type (
	OrganisationID string
	FarmID         string
	ProfileID      string
	DeviceID       string
	// EndpointID is "device/key", for example "greenhouse-fan/on".
	EndpointID string
	RuleID     string
)

// Ids below are UUIDs. Those of events and intents are derived from what they stand for, so that the
// same reading or decision always has the same id; the others are minted, time-ordered.
type (
	TelemetryID string
	EventID     string
	ExecutionID string
	IntentID    string
	AttemptID   string
	ReceiptID   string
	HoldID      string
	MessageID   string
	// CommandID is the deviceCommandId on the wire. It is minted at the first fence from the
	// installation id and a UUIDv7, never from a counter: a restored backup would reuse a counter.
	CommandID string
)

// NewEndpointID joins a device and an endpoint key.
func NewEndpointID(device DeviceID, key string) EndpointID {
	return EndpointID(string(device) + "/" + key)
}

// NoName says of a text that is not a ValidName what is wrong with it.
const NoName = "%q is no name: 1 to 64 letters, digits, '-', '_' or '.'"

// ValidName tells whether s may be what people call a thing: a device, an order, an equipment, a route.
func ValidName(s string) bool {
	if s == "" || len(s) > 64 {
		return false
	}
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-', c == '_', c == '.':
		default:
			return false
		}
	}
	return s[0] != '.' && s[0] != '-'
}

// ValidSerial tells whether s may be a device's serial number in a topic: [A-Za-z0-9_-]{1,64}, so that
// no wildcard or slash can open another device's topics.
func ValidSerial(s string) bool {
	if s == "" || len(s) > 64 {
		return false
	}
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-', c == '_':
		default:
			return false
		}
	}
	return true
}
