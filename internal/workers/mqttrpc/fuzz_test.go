package mqttrpc_test

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"surehand/internal/message"
	"surehand/internal/plant"
	"surehand/internal/term"
	"surehand/internal/workers/mqttrpc"
)

// checkRejected says what holds of every rejection, whatever came.
func checkRejected(t *testing.T, r message.InputRejected, payload []byte) {
	t.Helper()
	word := r.Reason != "" && !strings.ContainsFunc(r.Reason, func(c rune) bool { return c != '_' && (c < 'a' || c > 'z') && (c < '0' || c > '9') })
	if !word || r.Detail == "" || len(r.Detail) > 300 || len(r.Topic) > 256 || len(r.Raw) > min(len(payload), plant.MaxReceiptBytes) {
		t.Errorf("rejected as %+v", r)
	}
	for _, s := range []string{r.Topic, r.Detail} {
		if !utf8.ValidString(s) || strings.ContainsRune(s, 0) {
			t.Errorf("%q cannot be stored", s)
		}
	}
	if r.Serial != "" && !term.ValidSerial(r.Serial) {
		t.Errorf("serial %q", r.Serial)
	}
}

func checkFields(t *testing.T, fields []message.Field) {
	t.Helper()
	if len(fields) == 0 || len(fields) > 256 {
		t.Errorf("%d fields", len(fields))
	}
	if !slices.IsSortedFunc(fields, func(a, b message.Field) int { return strings.Compare(a.Key, b.Key) }) {
		t.Errorf("fields are not sorted: %v", fields)
	}
	for i, f := range fields {
		if f.Key == "" || len(f.Key) > 128 || i > 0 && f.Key == fields[i-1].Key || f.Value.IsZero() {
			t.Errorf("field %d is %+v", i, f)
		}
		if n, ok := f.Value.AsNumber(); ok && (math.IsNaN(n) || math.IsInf(n, 0)) {
			t.Errorf("%s is %v", f.Key, n)
		}
		if text, ok := f.Value.AsText(); ok && (!utf8.ValidString(text) || strings.ContainsRune(text, 0) || len(text) > term.MaxTextBytes) {
			t.Errorf("%s is %q", f.Key, text)
		}
		// What was read is what term reads of its own canonical form.
		again, err := term.ParseValue(f.Value.String())
		if err != nil || again != f.Value {
			t.Errorf("%s: %s comes back as %s (%v)", f.Key, f.Value, again, err)
		}
	}
}

// Whatever we take, encoding/json takes too: being strict is all that our own scanner may add.
func checkJSON(t *testing.T, payload []byte) {
	t.Helper()
	if !json.Valid(payload) {
		t.Errorf("%q was taken and is not JSON", payload)
	}
}

func FuzzTelemetry(f *testing.F) {
	f.Add([]byte(ordinary), false)
	f.Add([]byte(`[{"values":{"a":1}},{"values":{"a":"x"},"ts":1769846400123}]`), true)
	f.Fuzz(func(t *testing.T, payload []byte, retained bool) {
		in := mqttrpc.Incoming{Topic: prefix + "/s/telemetry", Payload: payload, Delivery: message.Delivery{Retained: retained}}
		got, source := mqttrpc.Parse(prefix, in)
		if source != message.FromTelemetry {
			t.Errorf("source %q", source)
		}
		switch p := got.(type) {
		case message.InputRejected:
			checkRejected(t, p, payload)
		case message.TelemetryReceived:
			checkJSON(t, payload)
			if len(p.Readings) == 0 || len(p.Readings) > 1024 || p.Delivery.Retained != retained {
				t.Errorf("%d readings", len(p.Readings))
			}
			for _, r := range p.Readings {
				checkFields(t, r.Fields)
				if r.Seq < -1 || r.At != r.At.UTC() || len(r.BootID) > 128 {
					t.Errorf("reading %+v", r)
				}
				// The canonical form is a reading that parses to itself.
				in.Payload = []byte(r.Canonical)
				again, _ := mqttrpc.Parse(prefix, in)
				if tr, ok := again.(message.TelemetryReceived); len(r.Canonical) <= mqttrpc.MaxPayloadBytes &&
					(!ok || len(tr.Readings) != 1 || tr.Readings[0].Canonical != r.Canonical) {
					t.Errorf("canonical %s comes back as %+v", r.Canonical, again)
				}
			}
		default:
			t.Errorf("parsed as %T", got)
		}
	})
}

func FuzzResponse(f *testing.F) {
	f.Add([]byte(`{"commandId":"c","status":"failed","resultCode":"busy","message":"m","attempt":1}`), []byte("attempt"))
	f.Fuzz(func(t *testing.T, payload, correlation []byte) {
		got, _ := mqttrpc.Parse(prefix, mqttrpc.Incoming{Topic: prefix + "/s/rpc/response", Payload: payload, Correlation: correlation})
		switch p := got.(type) {
		case message.InputRejected:
			checkRejected(t, p, payload)
		case message.DeviceResponded:
			checkJSON(t, payload)
			if p.CommandID == "" || len(p.CommandID) > 128 || p.Attempt < 0 || utf8.RuneCountInString(p.Message) > 512 ||
				!slices.Contains(p.Status.Values(), string(p.Status)) || !slices.Contains(p.ResultCode.Values(), string(p.ResultCode)) ||
				len(p.Correlation) > 128 || !utf8.ValidString(p.Correlation) || !utf8.ValidString(p.Message) || strings.ContainsRune(p.Message, 0) {
				t.Errorf("parsed as %+v", p)
			}
		default:
			t.Errorf("parsed as %T", got)
		}
	})
}

func FuzzState(f *testing.F) {
	f.Add([]byte(`{"commandId":"c","reportedState":{"on":true},"appliedAt":"2026-01-31T08:00:00Z","seq":1,"bootId":"b"}`))
	f.Fuzz(func(t *testing.T, payload []byte) {
		got, _ := mqttrpc.Parse(prefix, mqttrpc.Incoming{Topic: prefix + "/s/state", Payload: payload})
		switch p := got.(type) {
		case message.InputRejected:
			checkRejected(t, p, payload)
		case message.StateReported:
			checkJSON(t, payload)
			checkFields(t, p.Fields)
		default:
			t.Errorf("parsed as %T", got)
		}
	})
}

func FuzzTopic(f *testing.F) {
	f.Add(prefix+"/s/status", []byte(`{"online":true,"capabilities":["dedupe"]}`))
	f.Add("$SYS/x", []byte{})
	f.Fuzz(func(t *testing.T, topic string, payload []byte) {
		got, source := mqttrpc.Parse(prefix, mqttrpc.Incoming{Topic: topic, Payload: payload})
		serial := ""
		switch p := got.(type) {
		case nil:
			if source != "" {
				t.Errorf("ignored, from %q", source)
			}
			return
		case message.InputRejected:
			checkRejected(t, p, payload)
			return
		case message.TelemetryReceived:
			serial = p.Serial
		case message.DeviceResponded:
			serial = p.Serial
		case message.StateReported:
			serial = p.Serial
		case message.DeviceStatusReported:
			serial = p.Serial
			if len(p.Capabilities) > 16 {
				t.Errorf("%d capabilities", len(p.Capabilities))
			}
		}
		if !term.ValidSerial(serial) || !strings.HasPrefix(topic, prefix+"/"+serial+"/") || strings.ContainsAny(topic, "+#") {
			t.Errorf("topic %q speaks for %q", topic, serial)
		}
	})
}
