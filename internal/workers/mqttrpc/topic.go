package mqttrpc

import (
	"strings"

	"surehand/internal/message"
	"surehand/internal/term"
)

// channel is what a device says on a topic: the levels after its serial.
type channel string

const (
	channelTelemetry channel = "telemetry"
	channelResponse  channel = "rpc/response"
	channelState     channel = "state"
	channelStatus    channel = "status"
)

const maxTopicBytes = 256 // kept of a topic that is rejected

// splitTopic finds the serial and the channel of a topic below prefix. ours is false for what is not ours to
// judge: broker topics, wildcards, other prefixes. The serial is empty when it is not a valid one.
func splitTopic(prefix, topic string) (serial string, c channel, ours bool) {
	if strings.HasPrefix(topic, "$") || strings.ContainsAny(topic, "+#") {
		return "", "", false
	}
	rest, ok := strings.CutPrefix(topic, prefix+"/")
	if !ok {
		return "", "", false
	}
	serial, tail, _ := strings.Cut(rest, "/")
	if !term.ValidSerial(serial) {
		serial = ""
	}
	return serial, channel(tail), true
}

// source ranks a channel in the loop's inbox.
func (c channel) source() message.Source {
	if c == channelTelemetry {
		return message.FromTelemetry
	}
	return message.FromDevice
}

// markerTopic carries our markers of one link. Its first level below the prefix has a dot, which no serial has.
func markerTopic(prefix, installation string, l string) string {
	return prefix + "/.marker/" + installation + "/" + l
}
