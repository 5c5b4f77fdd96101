package mqttrpc

import (
	"bytes"
	"errors"
	"strings"
	"unicode/utf8"

	"surehand/internal/message"
	"surehand/internal/plant"
	"surehand/internal/term"
)

// Bounds of the wire contract.
const (
	MaxPayloadBytes = 64 << 10
	maxValues       = 256
	maxReadings     = 1024
	maxCapabilities = 16
	maxIDBytes      = 128
	maxMessageRunes = 512
	maxSeq          = 1 << 53 // beyond it, a device that counts in floats no longer counts
	maxDetailBytes  = 300
)

// Incoming is one MQTT message as it came.
type Incoming struct {
	Topic       string
	Payload     []byte
	Correlation []byte
	Delivery    message.Delivery
}

// Parse makes the loop's message of what a device sent. Whatever is not of the contract becomes an
// InputRejected; nil stands for topics that are not ours to judge. The result keeps no reference to a payload
// that is larger than a receipt.
func Parse(prefix string, in Incoming) (message.Payload, message.Source) {
	serial, c, ours := splitTopic(prefix, in.Topic)
	if !ours {
		return nil, ""
	}
	p, err := parse(serial, c, in)
	if err == nil {
		return p, c.source()
	}
	var f *fault
	if !errors.As(err, &f) {
		f = &fault{"malformed", err.Error()}
	}
	return message.InputRejected{
		Serial: serial, Topic: printable(in.Topic, maxTopicBytes), Reason: f.reason,
		Detail: printable(f.detail, maxDetailBytes), Raw: receiptBytes(in.Payload),
	}, c.source()
}

func parse(serial string, c channel, in Incoming) (message.Payload, error) {
	var body func(serial string, in Incoming) (message.Payload, error)
	switch c {
	case channelTelemetry:
		body = telemetry
	case channelResponse:
		body = response
	case channelState:
		body = state
	case channelStatus:
		body = status
	}
	switch {
	case serial == "":
		return nil, reject("bad_topic", "a serial number is 1 to 64 of A-Z, a-z, 0-9, '_' and '-'")
	case body == nil:
		return nil, reject("bad_topic", "devices do not speak on %q", string(c))
	case in.Delivery.Retained && c == channelResponse:
		return nil, reject("retained", "an answer must not be retained")
	case len(in.Payload) > MaxPayloadBytes:
		return nil, reject("oversize", "%d bytes, at most %d are allowed", len(in.Payload), MaxPayloadBytes)
	case len(in.Payload) == 0:
		return nil, reject("empty", "no payload")
	case !utf8.Valid(in.Payload):
		return nil, reject("utf8", "not valid UTF-8")
	}
	return body(serial, in)
}

func telemetry(serial string, in Incoming) (message.Payload, error) {
	s := &scanner{data: in.Payload}
	t := message.TelemetryReceived{Serial: serial, Delivery: in.Delivery}
	one := func(depth int) error {
		if s.next() != '{' {
			return s.wrongType(depth, "reading", "an object")
		}
		if len(t.Readings) == maxReadings {
			return reject("too_many", "more than %d readings", maxReadings)
		}
		r, err := s.reading(depth)
		t.Readings = append(t.Readings, r)
		return err
	}
	var err error
	if s.next() == '[' {
		err = s.array(func() error { return one(2) })
	} else {
		err = one(1)
	}
	if err == nil {
		err = s.end()
	}
	if err == nil && len(t.Readings) == 0 {
		err = reject("empty", "an array without readings")
	}
	return t, err
}

// reading reads one sample at the given depth.
func (s *scanner) reading(depth int) (message.Reading, error) {
	r := message.Reading{Seq: -1}
	found := false
	err := s.record(depth, func(key string) (bool, error) {
		var err error
		switch key {
		case "ts":
			r.At, err = s.sampleTime(depth + 1)
		case "values":
			found = true
			r.Fields, err = s.fields(depth+1, key)
		case "seq":
			r.Seq, err = s.sequence(depth + 1)
		case "bootId":
			r.BootID, err = s.identifier(depth+1, key)
		default:
			return false, nil
		}
		return true, err
	})
	if err != nil {
		return r, err
	}
	if !found {
		return r, reject("missing", "no values")
	}
	if len(r.Fields) == 0 {
		return r, reject("empty", "a reading without values")
	}
	r.Canonical = canonical(r)
	return r, nil
}

func response(serial string, in Incoming) (message.Payload, error) {
	s := &scanner{data: in.Payload}
	r := message.DeviceResponded{Serial: serial, Correlation: correlation(in.Correlation), Raw: receiptBytes(in.Payload)}
	if s.next() != '{' {
		return nil, s.wrongType(1, "response", "an object")
	}
	var status, code string
	err := s.record(1, func(key string) (bool, error) {
		var err error
		var id string
		switch key {
		case "commandId":
			id, err = s.identifier(2, key)
			r.CommandID = term.CommandID(id)
		case "status":
			status, err = s.word(key, term.RPCStatus("").Values())
		case "resultCode":
			code, err = s.word(key, term.ResultCode("").Values())
		case "message":
			r.Message, err = s.remark(key)
		case "attempt":
			r.Attempt, err = s.attempt()
		default:
			return false, nil
		}
		return true, err
	})
	if err == nil {
		err = s.end()
	}
	if err != nil {
		return nil, err
	}
	r.Status, r.ResultCode = term.RPCStatus(status), term.ResultCode(code)
	switch {
	case r.CommandID == "":
		return nil, reject("missing", "no commandId")
	case status == "":
		return nil, reject("missing", "no status")
	case code != "":
	case r.Status == term.RPCAccepted, r.Status == term.RPCSucceeded:
		r.ResultCode = term.ResultOK
	default:
		return nil, reject("missing", "no resultCode, which status %s needs", status)
	}
	return r, nil
}

func state(serial string, in Incoming) (message.Payload, error) {
	s := &scanner{data: in.Payload}
	r := message.StateReported{Serial: serial, Seq: -1, Retained: in.Delivery.Retained, Raw: receiptBytes(in.Payload)}
	if s.next() != '{' {
		return nil, s.wrongType(1, "state", "an object")
	}
	found := false
	err := s.record(1, func(key string) (bool, error) {
		var err error
		var id string
		switch key {
		case "commandId":
			id, err = s.identifier(2, key)
			r.CommandID = term.CommandID(id)
		case "reportedState":
			found = true
			r.Fields, err = s.fields(2, key)
		case "appliedAt":
			r.AppliedAt, err = s.statedTime(2, key)
		case "seq":
			r.Seq, err = s.sequence(2)
		case "bootId":
			r.BootID, err = s.identifier(2, key)
		default:
			return false, nil
		}
		return true, err
	})
	if err == nil {
		err = s.end()
	}
	switch {
	case err != nil:
		return nil, err
	case !found:
		return nil, reject("missing", "no reportedState")
	case len(r.Fields) == 0:
		return nil, reject("empty", "a reportedState without values")
	}
	return r, nil
}

func status(serial string, in Incoming) (message.Payload, error) {
	s := &scanner{data: in.Payload}
	r := message.DeviceStatusReported{Serial: serial, Retained: in.Delivery.Retained}
	if s.next() != '{' {
		return nil, s.wrongType(1, "status", "an object")
	}
	found := false
	err := s.record(1, func(key string) (bool, error) {
		var err error
		var id string
		switch key {
		case "online":
			found = true
			r.Online, err = s.boolean(2, key)
		case "bootId":
			r.BootID, err = s.identifier(2, key)
		case "capabilities":
			r.Capabilities, err = s.capabilities()
		case "lastCommandId":
			id, err = s.identifier(2, key)
			r.LastCommandID = term.CommandID(id)
		default:
			return false, nil
		}
		return true, err
	})
	if err == nil {
		err = s.end()
	}
	switch {
	case err != nil:
		return nil, err
	case !found:
		return nil, reject("missing", "no online")
	}
	return r, nil
}

// correlation is our attempt id as the device sent it back. What cannot be one is no correlation: the echoed
// attempt number then has to do.
func correlation(b []byte) string {
	if len(b) == 0 || len(b) > maxIDBytes || !identifies(string(b)) {
		return ""
	}
	return string(b)
}

// receiptBytes is what is kept of a payload, cut where a receipt would cut it.
func receiptBytes(payload []byte) []byte {
	if len(payload) <= plant.MaxReceiptBytes {
		return payload
	}
	return bytes.Clone(payload[:plant.MaxReceiptBytes])
}

// printable makes foreign text safe to store and to show.
func printable(s string, limit int) string {
	s = strings.Map(func(r rune) rune {
		if r < 0x20 || r == 0x7f {
			return utf8.RuneError
		}
		return r
	}, strings.ToValidUTF8(s, string(utf8.RuneError)))
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit]
}
