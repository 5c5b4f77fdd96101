package mqttrpc_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"surehand/internal/message"
	"surehand/internal/plant"
	"surehand/internal/term"
	"surehand/internal/workers/mqttrpc"
)

const prefix = "surehand/v1"

func parse(topic, payload string) message.Payload {
	p, _ := mqttrpc.Parse(prefix, mqttrpc.Incoming{Topic: topic, Payload: []byte(payload)})
	return p
}

func TestTelemetryOfTheContract(t *testing.T) {
	for _, c := range []struct {
		name, payload string
		want          []message.Reading
	}{
		{"everything", `{"ts":"2026-01-31T08:00:00.123456789+01:00","values":{"temp":21.50,"on":true,"mode":"auto","count":3},"seq":7,"bootId":"b1"}`,
			[]message.Reading{{
				At: time.Date(2026, 1, 31, 7, 0, 0, 123456000, time.UTC), Seq: 7, BootID: "b1",
				Fields: []message.Field{{Key: "count", Value: term.Int(3)}, {Key: "mode", Value: term.Text("auto")},
					{Key: "on", Value: term.Bool(true)}, {Key: "temp", Value: term.Float(21.5)}},
				Canonical: `{"bootId":"b1","seq":7,"ts":"2026-01-31T07:00:00.123456Z","values":{"count":3,"mode":"auto","on":true,"temp":21.5}}`,
			}}},
		{"values alone", ` { "values" : { "a" : 1 } } `,
			[]message.Reading{{Seq: -1, Fields: []message.Field{{Key: "a", Value: term.Int(1)}}, Canonical: `{"values":{"a":1}}`}}},
		{"milliseconds", `{"ts":1769846400123,"values":{"a":1.0}}`,
			[]message.Reading{{Seq: -1, At: time.UnixMilli(1769846400123).UTC(), Fields: []message.Field{{Key: "a", Value: term.Float(1)}},
				Canonical: `{"ts":"2026-01-31T08:00:00.123Z","values":{"a":1.0}}`}}},
		{"milliseconds with a fraction", `{"ts":1769846400123.5,"values":{"a":1}}`,
			[]message.Reading{{Seq: -1, At: time.UnixMicro(1769846400123500).UTC(), Fields: []message.Field{{Key: "a", Value: term.Int(1)}},
				Canonical: `{"ts":"2026-01-31T08:00:00.1235Z","values":{"a":1}}`}}},
		{"kept while offline", `[{"values":{"a":1},"seq":0},{"values":{"a":2},"seq":1}]`,
			[]message.Reading{
				{Seq: 0, Fields: []message.Field{{Key: "a", Value: term.Int(1)}}, Canonical: `{"seq":0,"values":{"a":1}}`},
				{Seq: 1, Fields: []message.Field{{Key: "a", Value: term.Int(2)}}, Canonical: `{"seq":1,"values":{"a":2}}`}}},
		{"members that we do not know", `{"values":{"a":1},"fw":{"x":[1,{"y":null}]},"z":"\u00e9"}`,
			[]message.Reading{{Seq: -1, Fields: []message.Field{{Key: "a", Value: term.Int(1)}}, Canonical: `{"values":{"a":1}}`}}},
		{"escapes, beyond 64 bits, minus zero", `{"values":{"a\"\u00e9":"<\ud83d\ude00\n>","big":1e19,"n":-0,"f":-0.0,"h":9223372036854775808}}`,
			[]message.Reading{{Seq: -1, Fields: []message.Field{{Key: "a\"é", Value: term.Text("<😀\n>")}, {Key: "big", Value: term.Float(1e19)},
				{Key: "f", Value: term.Float(0)}, {Key: "h", Value: term.Float(9223372036854775808)}, {Key: "n", Value: term.Int(0)}},
				Canonical: `{"values":{"a\"é":"\u003c😀\n\u003e","big":1e+19,"f":0.0,"h":9.223372036854776e+18,"n":0}}`}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, source := mqttrpc.Parse(prefix, mqttrpc.Incoming{Topic: prefix + "/SN-1/telemetry", Payload: []byte(c.payload),
				Delivery: message.Delivery{PacketID: 9, Duplicate: true, Retained: true}})
			want := message.TelemetryReceived{Serial: "SN-1", Readings: c.want,
				Delivery: message.Delivery{PacketID: 9, Duplicate: true, Retained: true}}
			if !reflect.DeepEqual(got, want) || source != message.FromTelemetry {
				t.Errorf("got  %+v (%s)\nwant %+v", got, source, want)
			}
			for _, r := range c.want {
				if !json.Valid([]byte(r.Canonical)) {
					t.Errorf("canonical form %s is not JSON", r.Canonical)
				}
			}
		})
	}
}

func TestAnswersOfTheContract(t *testing.T) {
	long := strings.Repeat("ü", 600)
	for _, c := range []struct {
		name, topic, payload, correlation string
		retained                          bool
		want                              message.Payload
	}{
		{"accepted without a code is ok", "rpc/response", `{"commandId":"c1","status":"accepted"}`, "a-1", false,
			message.DeviceResponded{Serial: "s", CommandID: "c1", Status: term.RPCAccepted, ResultCode: term.ResultOK, Correlation: "a-1"}},
		{"everything", "rpc/response", `{"commandId":"c1","status":"rejected","resultCode":"busy","message":"later","attempt":2}`, "", false,
			message.DeviceResponded{Serial: "s", CommandID: "c1", Status: term.RPCRejected, ResultCode: term.ResultBusy, Message: "later", Attempt: 2}},
		{"a long message is cut on a rune", "rpc/response", `{"commandId":"c1","status":"succeeded","message":"` + long + `"}`, "", false,
			message.DeviceResponded{Serial: "s", CommandID: "c1", Status: term.RPCSucceeded, ResultCode: term.ResultOK, Message: long[:2*512]}},
		{"correlation data that cannot be ours", "rpc/response", `{"commandId":"c1","status":"accepted"}`, "\x00\xff", false,
			message.DeviceResponded{Serial: "s", CommandID: "c1", Status: term.RPCAccepted, ResultCode: term.ResultOK}},
		{"state", "state", `{"commandId":"c1","reportedState":{"b":1,"a":"x"},"appliedAt":"2026-01-31T08:00:00Z","seq":3,"bootId":"b"}`, "", true,
			message.StateReported{Serial: "s", CommandID: "c1", Seq: 3, BootID: "b", Retained: true, AppliedAt: time.Date(2026, 1, 31, 8, 0, 0, 0, time.UTC),
				Fields: []message.Field{{Key: "a", Value: term.Text("x")}, {Key: "b", Value: term.Int(1)}}}},
		{"state of a device without a clock", "state", `{"reportedState":{"on":false},"appliedAt":5012}`, "", false,
			message.StateReported{Serial: "s", Seq: -1, Fields: []message.Field{{Key: "on", Value: term.Bool(false)}}}},
		{"status", "status", `{"online":true,"bootId":"b","capabilities":["dedupe","clock"],"lastCommandId":"c9"}`, "", true,
			message.DeviceStatusReported{Serial: "s", Online: true, BootID: "b", Capabilities: []string{"dedupe", "clock"}, LastCommandID: "c9", Retained: true}},
		{"a will", "status", `{"online":false}`, "", false, message.DeviceStatusReported{Serial: "s"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, source := mqttrpc.Parse(prefix, mqttrpc.Incoming{Topic: prefix + "/s/" + c.topic, Payload: []byte(c.payload),
				Correlation: []byte(c.correlation), Delivery: message.Delivery{Retained: c.retained}})
			switch w := c.want.(type) {
			case message.DeviceResponded:
				w.Raw = []byte(c.payload)
				c.want = w
			case message.StateReported:
				w.Raw = []byte(c.payload)
				c.want = w
			}
			if !reflect.DeepEqual(got, c.want) || source != message.FromDevice {
				t.Errorf("got  %+v (%s)\nwant %+v", got, source, c.want)
			}
		})
	}
}

// Every broken input has a reason of one word; none is applied.
func TestBrokenInputIsRejectedWithItsReason(t *testing.T) {
	values := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `"k%d":1,`, i)
		}
		return `{"values":{` + strings.TrimSuffix(b.String(), ",") + `}}`
	}
	deep := strings.Repeat("[", 15) + strings.Repeat("]", 15)
	for _, c := range []struct{ name, topic, payload, reason string }{
		{"empty payload", "telemetry", ``, "empty"},
		{"blank", "telemetry", ` `, "malformed"},
		{"cut off", "telemetry", `{"values":{"a":1`, "malformed"},
		{"text after it", "telemetry", `{"values":{"a":1}} x`, "malformed"},
		{"two documents", "telemetry", `{"values":{"a":1}}{}`, "malformed"},
		{"trailing comma", "telemetry", `{"values":{"a":1,}}`, "malformed"},
		{"single quotes", "telemetry", `{'values':{'a':1}}`, "malformed"},
		{"scalar", "telemetry", `17`, "wrong_type"},
		{"null", "telemetry", `null`, "wrong_type"},
		{"array of scalars", "telemetry", `[1]`, "wrong_type"},
		{"empty array", "telemetry", `[]`, "empty"},
		{"no values", "telemetry", `{"seq":1}`, "missing"},
		{"empty values", "telemetry", `{"values":{}}`, "empty"},
		{"values is an array", "telemetry", `{"values":[1]}`, "wrong_type"},
		{"null value among good ones", "telemetry", `{"values":{"a":1,"b":null}}`, "wrong_type"},
		{"nested value", "telemetry", `{"values":{"a":{"b":1}}}`, "wrong_type"},
		{"array value", "telemetry", `{"values":{"a":[1,2]}}`, "wrong_type"},
		{"key twice", "telemetry", `{"values":{"a":1,"a":1}}`, "duplicate_key"},
		{"key twice, written differently", "telemetry", `{"values":{"a":1,"\u0061":2}}`, "duplicate_key"},
		{"member twice", "telemetry", `{"values":{"a":1},"seq":1,"seq":1}`, "duplicate_key"},
		{"unknown member twice", "telemetry", `{"values":{"a":1},"x":1,"x":1}`, "duplicate_key"},
		{"NaN", "telemetry", `{"values":{"a":NaN}}`, "not_finite"},
		{"Infinity", "telemetry", `{"values":{"a":Infinity}}`, "not_finite"},
		{"-Infinity", "telemetry", `{"values":{"a":-Infinity}}`, "not_finite"},
		{"overflow", "telemetry", `{"values":{"a":1e999}}`, "overflow"},
		{"leading zero", "telemetry", `{"values":{"a":01}}`, "malformed"},
		{"leading plus", "telemetry", `{"values":{"a":+1}}`, "malformed"},
		{"bare point", "telemetry", `{"values":{"a":1.}}`, "malformed"},
		{"hexadecimal", "telemetry", `{"values":{"a":0x10}}`, "malformed"},
		{"endless number", "telemetry", `{"values":{"a":` + strings.Repeat("1", 1000) + `}}`, "malformed"},
		{"NUL escaped", "telemetry", `{"values":{"a":"\u0000"}}`, "nul"},
		{"NUL raw", "telemetry", "{\"values\":{\"a\":\"\x00\"}}", "nul"},
		{"NUL in a key", "telemetry", `{"values":{"\u0000":1}}`, "nul"},
		{"NUL between", "telemetry", "{\x00}", "nul"},
		{"control character in text", "telemetry", "{\"values\":{\"a\":\"\x01\"}}", "malformed"},
		{"invalid UTF-8", "telemetry", "{\"values\":{\"a\":\"\xff\"}}", "utf8"},
		{"half a surrogate", "telemetry", `{"values":{"a":"\ud800"}}`, "utf8"},
		{"surrogates the wrong way", "telemetry", `{"values":{"a":"\ude00\ud83d"}}`, "utf8"},
		{"bad escape", "telemetry", `{"values":{"a":"\x"}}`, "malformed"},
		{"bad hex", "telemetry", `{"values":{"a":"\u00g0"}}`, "malformed"},
		{"empty key", "telemetry", `{"values":{"":1}}`, "bad_key"},
		{"long key", "telemetry", `{"values":{"` + strings.Repeat("k", 129) + `":1}}`, "too_long"},
		{"long text", "telemetry", `{"values":{"a":"` + strings.Repeat("x", 1025) + `"}}`, "too_long"},
		{"257 values", "telemetry", values(257), "too_many"},
		{"1,025 readings", "telemetry", "[" + strings.TrimSuffix(strings.Repeat(`{"values":{"a":1}},`, 1025), ",") + "]", "too_many"},
		{"65 members", "telemetry", `{` + strings.TrimSuffix(strings.Repeat(`"values":{"a":1},`, 65), ",") + `}`, "duplicate_key"},
		{"deep", "telemetry", `{"values":{"a":1},"x":[[` + deep + `]]}`, "too_deep"},
		{"very deep", "telemetry", strings.Repeat("[", 60000), "too_deep"},
		{"very deep objects", "telemetry", `{"values":{"a":` + strings.Repeat(`{"a":`, 10000), "too_deep"},
		{"65,537 bytes", "telemetry", strings.Repeat(" ", 65537), "oversize"},
		{"negative seq", "telemetry", `{"values":{"a":1},"seq":-1}`, "bad_seq"},
		{"huge seq", "telemetry", `{"values":{"a":1},"seq":9007199254740993}`, "bad_seq"},
		{"overflowing seq", "telemetry", `{"values":{"a":1},"seq":99999999999999999999}`, "bad_seq"},
		{"seq with a fraction", "telemetry", `{"values":{"a":1},"seq":1.5}`, "bad_seq"},
		{"seq as text", "telemetry", `{"values":{"a":1},"seq":"1"}`, "wrong_type"},
		{"seq null", "telemetry", `{"values":{"a":1},"seq":null}`, "wrong_type"},
		{"bootId a number", "telemetry", `{"values":{"a":1},"bootId":1}`, "wrong_type"},
		{"bootId too long", "telemetry", `{"values":{"a":1},"bootId":"` + strings.Repeat("b", 129) + `"}`, "too_long"},
		{"bootId with control characters", "telemetry", `{"values":{"a":1},"bootId":"a\nb"}`, "bad_id"},
		{"ts in words", "telemetry", `{"values":{"a":1},"ts":"yesterday"}`, "bad_time"},
		{"ts without zone", "telemetry", `{"values":{"a":1},"ts":"2026-01-31T08:00:00"}`, "bad_time"},
		{"ts in seconds", "telemetry", `{"values":{"a":1},"ts":1769846400}`, "bad_time"},
		{"ts before clocks", "telemetry", `{"values":{"a":1},"ts":"1969-12-31T23:59:59Z"}`, "bad_time"},
		{"ts far away", "telemetry", `{"values":{"a":1},"ts":"2100-01-01T00:00:00Z"}`, "bad_time"},
		{"ts overflowing", "telemetry", `{"values":{"a":1},"ts":9223372036854775807}`, "bad_time"},
		{"ts huge", "telemetry", `{"values":{"a":1},"ts":1e300}`, "bad_time"},
		{"ts a bool", "telemetry", `{"values":{"a":1},"ts":true}`, "wrong_type"},

		{"answer: array", "rpc/response", `[]`, "wrong_type"},
		{"answer: no commandId", "rpc/response", `{"status":"accepted"}`, "missing"},
		{"answer: empty commandId", "rpc/response", `{"commandId":"","status":"accepted"}`, "missing"},
		{"answer: long commandId", "rpc/response", `{"commandId":"` + strings.Repeat("c", 129) + `","status":"accepted"}`, "too_long"},
		{"answer: unprintable commandId", "rpc/response", `{"commandId":"a\tb","status":"accepted"}`, "bad_id"},
		{"answer: no status", "rpc/response", `{"commandId":"c"}`, "missing"},
		{"answer: other status", "rpc/response", `{"commandId":"c","status":"done"}`, "bad_word"},
		{"answer: other code", "rpc/response", `{"commandId":"c","status":"failed","resultCode":"oops"}`, "bad_word"},
		{"answer: failed without a code", "rpc/response", `{"commandId":"c","status":"failed"}`, "missing"},
		{"answer: negative attempt", "rpc/response", `{"commandId":"c","status":"accepted","attempt":-1}`, "bad_attempt"},
		{"answer: message a number", "rpc/response", `{"commandId":"c","status":"accepted","message":1}`, "wrong_type"},
		{"answer: NUL in the message", "rpc/response", `{"commandId":"c","status":"accepted","message":"\u0000"}`, "nul"},
		{"state: none", "state", `{"commandId":"c"}`, "missing"},
		{"state: empty", "state", `{"reportedState":{}}`, "empty"},
		{"state: null value", "state", `{"reportedState":{"a":null}}`, "wrong_type"},
		{"state: appliedAt in words", "state", `{"reportedState":{"a":1},"appliedAt":"now"}`, "bad_time"},
		{"status: no online", "status", `{"bootId":"b"}`, "missing"},
		{"status: online as text", "status", `{"online":"true"}`, "wrong_type"},
		{"status: capabilities an object", "status", `{"online":true,"capabilities":{}}`, "wrong_type"},
		{"status: 17 capabilities", "status", `{"online":true,"capabilities":[` + strings.Repeat(`"a",`, 16) + `"a"]}`, "too_many"},
		{"status: lastCommandId a number", "status", `{"online":true,"lastCommandId":4}`, "wrong_type"},

		{"our own channel", "rpc/request", `{}`, "bad_topic"},
		{"unknown channel", "firmware", `{}`, "bad_topic"},
		{"below a channel", "telemetry/x", `{}`, "bad_topic"},
	} {
		t.Run(c.name, func(t *testing.T) {
			topic := prefix + "/SN_1/" + c.topic
			r, ok := parse(topic, c.payload).(message.InputRejected)
			if !ok || r.Reason != c.reason {
				t.Fatalf("got %+v, want a rejection with reason %s", r, c.reason)
			}
			if r.Serial != "SN_1" || r.Topic != topic || r.Detail == "" || len(r.Detail) > 300 || !utf8.ValidString(r.Detail) {
				t.Errorf("rejected as %+v", r)
			}
			if len(r.Raw) > plant.MaxReceiptBytes || !strings.HasPrefix(c.payload, string(r.Raw)) {
				t.Errorf("raw has %d bytes and begins %.40q", len(r.Raw), r.Raw)
			}
		})
	}
}

// proves D-1: the topic's serial is the identity, and nothing in a topic opens another device.
func TestTopics(t *testing.T) {
	const good = `{"online":true}`
	for _, c := range []struct{ topic, want string }{
		{prefix + "/SN-1_a/status", "serial SN-1_a"},
		{prefix + "/" + strings.Repeat("x", 64) + "/status", "serial " + strings.Repeat("x", 64)},
		{prefix + "/" + strings.Repeat("x", 65) + "/status", "bad_topic"},
		{prefix + "//status", "bad_topic"},
		{prefix + "/a b/status", "bad_topic"},
		{prefix + "/.marker/status", "bad_topic"},
		{prefix + "/sé/status", "bad_topic"},
		{prefix + "/a\x00/status", "bad_topic"},
		{prefix + "/a/status/", "bad_topic"},
		{prefix + "/a", "bad_topic"},
		{prefix + "/a\xff\n/status", "bad_topic"},
		{prefix, "ignored"},
		{prefix + "x/a/status", "ignored"},
		{"other/v1/a/status", "ignored"},
		{"$SYS/broker/uptime", "ignored"},
		{prefix + "/+/status", "ignored"},
		{prefix + "/#", "ignored"},
		{"", "ignored"},
	} {
		got := "ignored"
		switch p := parse(c.topic, good).(type) {
		case message.DeviceStatusReported:
			got = "serial " + p.Serial
		case message.InputRejected:
			got = p.Reason
			if !utf8.ValidString(p.Topic) || strings.ContainsRune(p.Topic, 0) {
				t.Errorf("%q is kept as topic", p.Topic)
			}
		}
		if got != c.want {
			t.Errorf("%q: %s, want %s", c.topic, got, c.want)
		}
	}
}

func TestRetainedAnswerIsRejected(t *testing.T) {
	p, _ := mqttrpc.Parse(prefix, mqttrpc.Incoming{Topic: prefix + "/s/rpc/response",
		Payload: []byte(`{"commandId":"c","status":"accepted"}`), Delivery: message.Delivery{Retained: true}})
	if r, ok := p.(message.InputRejected); !ok || r.Reason != "retained" {
		t.Errorf("got %+v", p)
	}
}

func TestDepth16IsAllowed(t *testing.T) {
	payload := `{"values":{"a":1},"x":` + strings.Repeat("[", 15) + strings.Repeat("]", 15) + `}`
	if _, ok := parse(prefix+"/s/telemetry", payload).(message.TelemetryReceived); !ok {
		t.Errorf("depth 16: %+v", parse(prefix+"/s/telemetry", payload))
	}
}

// A large payload is not kept alive by the small part of it that is.
func TestRawOfALargePayloadIsACopy(t *testing.T) {
	payload := make([]byte, 1<<20)
	p, _ := mqttrpc.Parse(prefix, mqttrpc.Incoming{Topic: prefix + "/s/state", Payload: payload})
	r := p.(message.InputRejected)
	if r.Reason != "oversize" || len(r.Raw) != plant.MaxReceiptBytes || cap(r.Raw) > 2*plant.MaxReceiptBytes {
		t.Errorf("%s, raw %d of %d bytes", r.Reason, len(r.Raw), cap(r.Raw))
	}
}

// 205 bytes, eight values: an ordinary reading.
const ordinary = `{"ts":"2026-01-31T08:00:00.123Z","seq":123456,"bootId":"7f3a9c","values":{"temperature":21.53,"humidity":61.2,"co2":812,"light":15321.5,"fan":true,"pump":false,"mode":"auto","battery":97.4,"rssi":-67}}`

func BenchmarkParseTelemetry(b *testing.B) {
	in := mqttrpc.Incoming{Topic: prefix + "/SN-1/telemetry", Payload: []byte(ordinary)}
	b.ReportAllocs()
	b.SetBytes(int64(len(ordinary)))
	for b.Loop() {
		if p, _ := mqttrpc.Parse(prefix, in); p == nil {
			b.Fatal("ignored")
		}
	}
}

// The yardstick: the standard decoder into a map, without any of the checks.
func BenchmarkStandardDecoder(b *testing.B) {
	b.ReportAllocs()
	b.SetBytes(int64(len(ordinary)))
	for b.Loop() {
		var r struct {
			TS     time.Time      `json:"ts"`
			Seq    int64          `json:"seq"`
			BootID string         `json:"bootId"`
			Values map[string]any `json:"values"`
		}
		if err := json.Unmarshal([]byte(ordinary), &r); err != nil {
			b.Fatal(err)
		}
	}
}
