package automation

import (
	"strconv"
	"strings"
	"time"

	"surehand/internal/plant"
	"surehand/internal/term"
)

// TimeFormat of the wire: RFC 3339, UTC, milliseconds.
const TimeFormat = "2006-01-02T15:04:05.000Z"

// RequestTopic is where a device listens for commands; the prefix is added by the worker that publishes.
func RequestTopic(serial string) string { return serial + "/rpc/request" }

// OurCommand tells whether a command id was minted by this installation.
func OurCommand(installation string, id term.CommandID) bool {
	return installation != "" && strings.HasPrefix(string(id), "cmd_"+compact(installation)+"_")
}

// newCommandID mints a deviceCommandId: installation id + UUIDv7, never a counter, which a restored backup
// would use again.
func newCommandID(tx *plant.Tx) term.CommandID {
	return term.CommandID("cmd_" + compact(tx.State().Fence().Installation) + "_" + compact(tx.NewID()))
}

func compact(uuid string) string { return strings.ReplaceAll(uuid, "-", "") }

// request is the frozen payload of one attempt, with its keys in the order of the contract.
func request(id term.CommandID, i *plant.Intent, sentAt, deadlineAt time.Time, attempt int) string {
	var b strings.Builder
	b.WriteString(`{"commandId":`)
	b.WriteString(term.Text(string(id)).String())
	b.WriteString(`,"method":`)
	b.WriteString(term.Text(i.Method).String())
	b.WriteString(`,"params":`)
	b.WriteString(i.Params)
	b.WriteString(`,"sentAt":"`)
	b.WriteString(sentAt.Format(TimeFormat))
	b.WriteString(`","deadlineAt":"`)
	b.WriteString(deadlineAt.Format(TimeFormat))
	b.WriteString(`","attempt":`)
	b.WriteString(strconv.Itoa(attempt))
	b.WriteString("}")
	return b.String()
}
