package main

import (
	"fmt"

	"surehand/internal/message"
	"surehand/internal/plant"
	"surehand/internal/term"
)

// command is one device's command on its way. It takes four messages, each decided in a turn after the one
// before, as on the wire. Rows of each, folded, the fence row left out:
//
//	SendCommand                  intent, execution, attempt, message key, log    5
//	AttemptEnded, sent           intent, attempt, receipt, log                   4
//	DeviceResponded, accepted    intent, receipt, log                            3
//	StateReported, applied       intent, receipt, execution, endpoint, log       5
//
// 17 rows in four messages: a message is 0.85 of a "transition of 5 rows", the unit in which the loop is held
// against the yardstick's 5 rows a transaction. Rows are counted as they are committed, not assumed.
type command struct {
	device  int
	count   int // commands of this device so far
	next    step
	publish plant.Publish
	fenced  bool // the publish of this command has come
}

// step is the message that comes next.
type step int

const (
	wish step = iota
	sent
	answered
	reported
)

// message of the next step; the step moves on when its answer comes.
func (c *command) message(h *house) message.Message {
	switch c.next {
	case wish:
		c.count++
		return h.person(message.SendCommand{Endpoint: valveEndpoint(c.device), Value: c.value(), Reassert: true})
	case sent:
		return h.stamp(message.FromWorker, message.AttemptEnded{AttemptID: c.publish.AttemptID, IntentID: c.publish.IntentID, Outcome: term.AttemptSent})
	case answered:
		return h.device(message.DeviceResponded{Serial: c.publish.Serial, CommandID: c.publish.CommandID, Status: term.RPCAccepted, ResultCode: term.ResultOK,
			Attempt: c.publish.Number, Correlation: c.publish.Correlation,
			Raw: fmt.Appendf(nil, `{"commandId":%q,"status":"accepted","resultCode":"ok","attempt":%d}`, c.publish.CommandID, c.publish.Number)})
	}
	return h.device(message.StateReported{Serial: c.publish.Serial, CommandID: c.publish.CommandID, Seq: -1,
		Fields: []message.Field{{Key: "position", Value: c.value()}},
		Raw:    fmt.Appendf(nil, `{"commandId":%q,"reportedState":{"position":%s}}`, c.publish.CommandID, c.value())})
}

// value of the target. By chance it may be reached already, which Reassert has sent all the same.
func (c *command) value() term.Value { return term.Int(int64(c.count % 100)) }

// decided moves on after an answer.
func (c *command) decided(o message.Outcome) error {
	if o.Code != message.Accepted {
		return fmt.Errorf("step %d of a command of device %d was not accepted: %+v", c.next, c.device, o)
	}
	c.next = (c.next + 1) % (reported + 1)
	if c.next == wish {
		c.fenced = false
	}
	return nil
}

// handedOut takes the command's publish, which comes after the answer to the wish, but on another channel.
func (c *command) handedOut(p plant.Publish) { c.publish, c.fenced = p, true }

// ready tells whether the next message may be posted.
func (c *command) ready() bool { return c.next != sent || c.fenced }

func newCommands(n int) []*command {
	all := make([]*command, n)
	for i := range all {
		all[i] = &command{device: i}
	}
	return all
}

// byDevice finds the command of a publish.
func byDevice(all []*command, p plant.Publish) (*command, error) {
	var n int
	if _, err := fmt.Sscanf(p.Serial, "VALVE-%d", &n); err != nil || n >= len(all) {
		return nil, fmt.Errorf("a publish for %s, which was not asked for: %w", p.Serial, err)
	}
	return all[n], nil
}
