package mqttrpc_test

import (
	"bytes"
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"surehand/internal/automation"
	"surehand/internal/message"
	"surehand/internal/term"
	"surehand/internal/workers/mqttrpc"
)

// contract is docs/device-contract.md.
func contract(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../../docs/device-contract.md")
	require.NoError(t, err)
	return string(text)
}

var example = regexp.MustCompile("(?s)```json ([a-z/]+)(?: refused ([a-z0-9_]+))?\n(.*?)\n```")

// Every example of the contract is what the parser takes, or refuses for the reason that the example names.
func TestExamplesOfTheDocumentHold(t *testing.T) {
	text := contract(t)
	found := example.FindAllStringSubmatch(text, -1)
	require.Equal(t, strings.Count(text, "```json"), len(found), "each example says where it is sent")
	taken := map[string]int{}
	for _, e := range found {
		channel, reason, payload := e[1], e[2], e[3]
		if channel == "rpc/request" {
			isRequest(t, payload)
			taken[channel]++
			continue
		}
		p := parse(prefix+"/VALVE-1/"+channel, payload)
		rejected, is := p.(message.InputRejected)
		if reason != "" {
			require.True(t, is, payload)
			require.Equal(t, reason, rejected.Reason, payload)
			continue
		}
		require.False(t, is, "%s: %+v", payload, rejected)
		require.NotNil(t, p, payload)
		taken[channel]++
	}
	for _, channel := range []string{"rpc/request", "rpc/response", "state", "telemetry", "status"} {
		require.Positive(t, taken[channel], channel)
	}
}

// isRequest holds an example against what a command of ours looks like.
func isRequest(t *testing.T, payload string) {
	t.Helper()
	var r struct {
		CommandID  string          `json:"commandId"`
		Method     string          `json:"method"`
		Params     json.RawMessage `json:"params"`
		SentAt     string          `json:"sentAt"`
		DeadlineAt string          `json:"deadlineAt"`
		Attempt    int             `json:"attempt"`
	}
	d := json.NewDecoder(bytes.NewReader([]byte(payload)))
	d.DisallowUnknownFields()
	require.NoError(t, d.Decode(&r), payload)
	require.Regexp(t, `^cmd_[0-9a-f]{32}_[0-9a-f]{32}$`, r.CommandID)
	sent, err := time.Parse(automation.TimeFormat, r.SentAt)
	require.NoError(t, err)
	deadline, err := time.Parse(automation.TimeFormat, r.DeadlineAt)
	require.NoError(t, err)
	require.Equal(t, 5*time.Second, deadline.Sub(sent), "the default ackTimeout")
	require.Equal(t, 1, r.Attempt)
	require.NotEmpty(t, r.Method)
	require.NotEmpty(t, r.Params)
}

// Every topic that the document names is one on which we speak or listen, and there is no other.
func TestTopicsOfTheDocumentAreThoseOfTheProduct(t *testing.T) {
	speaks := prefix + "/" + automation.RequestTopic("VALVE-1")
	channels := map[string]string{"rpc/response": `{"commandId":"c","status":"accepted"}`, "state": `{"reportedState":{"a":1}}`,
		"telemetry": `{"values":{"a":1}}`, "status": `{"online":true}`}
	named := map[string]bool{}
	for _, topic := range regexp.MustCompile("`"+prefix+"/[^`]+`").FindAllString(contract(t), -1) {
		topic = strings.Trim(topic, "`")
		named[topic] = true
		if topic == speaks {
			require.IsType(t, message.InputRejected{}, parse(topic, "{}"), "devices do not speak there")
			continue
		}
		p := parse(topic, channels[strings.TrimPrefix(topic, prefix+"/VALVE-1/")])
		require.NotNil(t, p, topic)
		require.NotEqual(t, "InputRejected", p.Type(), topic)
	}
	require.Len(t, named, len(channels)+1)
}

// The table of times has the product's defaults.
func TestTimesOfTheDocumentAreTheDefaults(t *testing.T) {
	text := contract(t)
	d := term.Timing{}.WithDefaults()
	say := func(all ...term.Duration) string {
		var words []string
		for _, one := range all {
			if whole := time.Duration(one); whole > time.Minute {
				words = append(words, strconv.Itoa(int(whole.Minutes()))+" min")
			} else {
				words = append(words, strconv.Itoa(int(whole.Seconds()))+" s")
			}
		}
		return strings.Join(words, ", ")
	}
	for name, value := range map[string]string{"ackTimeout": say(d.AckTimeout), "backoff": say(d.Backoff...), "maxAttempts": strconv.Itoa(d.MaxAttempts),
		"reconciliationWindow": say(d.ReconciliationWindow), "commandDeadline": say(d.CommandDeadline), "freshness": say(d.Freshness), "keepAlive": say(d.KeepAlive)} {
		row := "| `" + name + "` | " + value + " |"
		require.True(t, strings.Contains(text, row), "the document does not have the row %q", row)
	}
	require.Contains(t, strings.Join(regexp.MustCompile("`jitter` \\([0-9.]+\\)").FindAllString(text, -1), ""), strconv.FormatFloat(*d.Jitter, 'g', -1, 64))
}

// What is said of retained messages, of limits and of reasons is so.
func TestLimitsAndReasonsOfTheDocument(t *testing.T) {
	text := contract(t)
	retained := func(channel, payload string) message.Payload {
		p, _ := mqttrpc.Parse(prefix, mqttrpc.Incoming{Topic: prefix + "/VALVE-1/" + channel, Payload: []byte(payload), Delivery: message.Delivery{Retained: true}})
		return p
	}
	require.Equal(t, "retained", retained("rpc/response", `{"commandId":"c","status":"accepted"}`).(message.InputRejected).Reason)
	require.True(t, retained("state", `{"reportedState":{"a":1}}`).(message.StateReported).Retained)
	require.True(t, retained("telemetry", `{"values":{"a":1}}`).(message.TelemetryReceived).Delivery.Retained)
	require.True(t, retained("status", `{"online":true}`).(message.DeviceStatusReported).Online)

	readings := func(n int) string { return "[" + strings.Repeat(`{"values":{"a":1}},`, n-1) + `{"values":{"a":1}}]` }
	nested := func(n int) string {
		return `{"values":{"a":1},"x":` + strings.Repeat("[", n-1) + strings.Repeat("]", n-1) + "}"
	}
	for _, c := range []struct {
		said, most, more, reason string
	}{
		{"Payload 64 KiB", `{"values":{"a":1}}` + strings.Repeat(" ", 64<<10-18), `{"values":{"a":1}}` + strings.Repeat(" ", 64<<10-17), "oversize"},
		{"1,024 readings", readings(1024), readings(1025), "too_many"},
		{"nesting 16", nested(16), nested(17), "too_deep"},
		{"128 bytes", `{"values":{"a":1},"bootId":"` + strings.Repeat("b", 128) + `"}`, `{"values":{"a":1},"bootId":"` + strings.Repeat("b", 129) + `"}`, "too_long"},
		{"text up to 1,024 bytes", `{"values":{"a":"` + strings.Repeat("t", 1024) + `"}}`, `{"values":{"a":"` + strings.Repeat("t", 1025) + `"}}`, "too_long"},
		{"From 2000 to 2099", `{"ts":"2099-12-31T23:59:59Z","values":{"a":1}}`, `{"ts":"2100-01-01T00:00:00Z","values":{"a":1}}`, "bad_time"},
		{"up to 2⁵³", `{"seq":9007199254740992,"values":{"a":1}}`, `{"seq":9007199254740993,"values":{"a":1}}`, "bad_seq"},
	} {
		require.True(t, strings.Contains(text, c.said), "the document does not say %q", c.said)
		require.IsType(t, message.TelemetryReceived{}, parse(prefix+"/VALVE-1/telemetry", c.most), c.said)
		require.Equal(t, c.reason, parse(prefix+"/VALVE-1/telemetry", c.more).(message.InputRejected).Reason, c.said)
	}

	// Every reason that the parser can give is in the document.
	source, err := os.ReadFile("parse.go")
	require.NoError(t, err)
	for _, file := range []string{"scan.go", "member.go"} {
		more, err := os.ReadFile(file)
		require.NoError(t, err)
		source = append(source, more...)
	}
	var reasons []string
	for _, call := range regexp.MustCompile(`(?:reject\(|fault\{)"([a-z0-9_]+)"|"(bad_[a-z]+)"`).FindAllSubmatch(source, -1) {
		reasons = append(reasons, string(call[1])+string(call[2]))
	}
	slices.Sort(reasons)
	reasons = slices.Compact(reasons)
	require.Greater(t, len(reasons), 15)
	for _, reason := range reasons {
		require.True(t, strings.Contains(text, "`"+reason+"`"), "the document does not have the reason %s", reason)
	}
}
