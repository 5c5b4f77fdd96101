package stories

import (
	"encoding/json"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// said is one line of a conversation in docs/device-contract.md.
type said struct{ who, channel, payload, state string }

var (
	conversation = regexp.MustCompile("(?s)```text conversation ([A-Z0-9-]+)\n(.*?)\n```")
	saidLine     = regexp.MustCompile(`^(device|surehand)\s+(\S+)\s+(\{.*\})(?:\s+(\w+))?$`)
)

// The conversations of the device contract, played with the shipped device file: the device says what the document
// says, and Surehand answers as the document says.
func TestConversationsOfTheDeviceContract(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/device-contract.md")
	require.NoError(t, err)
	devices, err := os.ReadFile("../../deploy/devices.yaml")
	require.NoError(t, err)
	found := conversation.FindAllStringSubmatch(string(text), -1)
	require.Len(t, found, strings.Count(string(text), "```text conversation"))
	require.NotEmpty(t, found)
	for n, c := range found {
		t.Run(strconv.Itoa(n+1), func(t *testing.T) {
			t.Parallel()
			s := prepare(t)
			s.start()
			s.Import(devices)
			var lines []said
			for line := range strings.Lines(c[2]) {
				m := saidLine.FindStringSubmatch(strings.TrimSpace(line))
				require.NotNil(t, m, line)
				lines = append(lines, said{m[1], m[2], m[3], m[4]})
			}
			s.play(c[1], lines)
		})
	}
}

// play says the device's lines, waits for ours, and looks at the command where a line names its state.
func (s *site) play(serial string, lines []said) {
	s.t.Helper()
	d := &device{t: s.t, s: s, serial: serial, heard: make(chan request, 64)}
	d.listen()
	var id string
	var last request
	for _, line := range lines {
		payload := strings.ReplaceAll(line.payload, "CMD", last.Body.CommandID)
		switch {
		case line.who == "surehand":
			if id == "" {
				id = s.ordered("contract", strings.ToLower(serial)+"/open", "true").ID
			}
			last = d.hears()
			require.Equal(s.t, "surehand/v1/"+serial+"/"+line.channel, last.Topic)
			require.JSONEq(s.t, plain(s.t, line.payload, "CMD"), plain(s.t, last.Payload, last.Body.CommandID))
		case line.channel == "rpc/response":
			require.NoError(s.t, s.publish(last.ResponseTopic, []byte(payload), "-D", "publish", "correlation-data", last.Correlation))
		case line.channel == "status":
			require.NoError(s.t, s.publish("surehand/v1/"+serial+"/status", []byte(payload), "-r"))
		default:
			require.NoError(s.t, s.publish("surehand/v1/"+serial+"/"+line.channel, []byte(payload)))
		}
		if line.state != "" {
			s.becomes(id, line.state)
		}
	}
}

// plain is a request without what differs from one to the next.
func plain(t testing.TB, payload, commandID string) string {
	t.Helper()
	var members map[string]any
	require.NoError(t, json.Unmarshal([]byte(payload), &members))
	require.Equal(t, commandID, members["commandId"])
	for _, name := range []string{"commandId", "sentAt", "deadlineAt"} {
		require.NotEmpty(t, members[name])
		members[name] = "any"
	}
	text, err := json.Marshal(members)
	require.NoError(t, err)
	return string(text)
}
