package mqttrpc

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"time"

	"surehand/internal/term"
	"surehand/internal/workers"
	"surehand/internal/workers/mqttconn"
)

// Options of a Driver. URL, Installation, Poster, Clock and NewID are required.
type Options struct {
	URL                string      // mqtt://host:1883 or mqtts://host:8883; one broker
	TLS                *tls.Config // for mqtts; nil: the system's roots
	Username, Password string

	// Installation names this plant at the broker: [A-Za-z0-9_-]{1,64}. The client ids are
	// surehand-<installation>-telemetry, -answers and -commands, so no two processes keep a connection.
	Installation string
	Prefix       string // of all topics; default surehand/v1

	Poster workers.Poster
	Clock  workers.Clock
	NewID  func(now time.Time) string // of messages: UUIDv7
	// Confirm is asked before each connection whether this process still owns the database; an error keeps
	// it away from the broker. nil: Start alone is the permission.
	Confirm func(context.Context) error

	SessionExpiry    time.Duration // of the persistent sessions; default 24 h
	TelemetryMaximum uint16        // Receive Maximum: telemetry messages without our PUBACK; default 1024
	AnswersMaximum   uint16        // the same of answers; default 512
	QoS0Room         int           // telemetry at QoS 0 that may wait for the inbox; default 1024, the rest is dropped and counted
	KeepAlive        time.Duration // default 5 s
	ConnectTimeout   time.Duration // default 5 s
	// PacketTimeout is how long the broker may take to acknowledge; at most 3 s. With plant.SendBefore it
	// must stay below the shortest ack timeout of a profile. Default 2 s.
	PacketTimeout time.Duration
	// RedialAfter is the first wait after a lost connection; it doubles up to RedialAtMost. Defaults 50 ms, 5 s.
	RedialAfter, RedialAtMost time.Duration

	// Count counts, by link (telemetry, answers, commands): "mqtt_up", "mqtt_down", "mqtt_connect_failed",
	// "mqtt_taken_over" (if the broker says so), "mqtt_received", "mqtt_acked", "mqtt_qos0_dropped", "mqtt_ignored",
	// "mqtt_marker_foreign", "mqtt_marker_failed", "mqtt_parser_fault"; and "mqtt_rejected" by reason.
	Count func(name, label string)
	Log   *slog.Logger
}

const (
	maxPacketTimeout = 3 * time.Second
	// maxPacketBytes is told to the broker, which then does not deliver anything larger. It leaves room to
	// see, and to say, that a payload is over the contract's 64 KiB.
	maxPacketBytes = 256 << 10
	// Two processes with one client id must not cut each other off many times a second. Some brokers tell
	// who was taken over, others only close: a connection that did not last is not dialled again at once.
	takenOverWait = 2 * time.Second
	steadyAfter   = 5 * time.Second
)

func (o Options) filled() (Options, error) {
	def := func(d *time.Duration, v time.Duration) {
		if *d == 0 {
			*d = v
		}
	}
	def(&o.SessionExpiry, 24*time.Hour)
	def(&o.KeepAlive, 5*time.Second)
	def(&o.ConnectTimeout, 5*time.Second)
	def(&o.PacketTimeout, 2*time.Second)
	def(&o.RedialAfter, 50*time.Millisecond)
	def(&o.RedialAtMost, 5*time.Second)
	if o.Prefix == "" {
		o.Prefix = "surehand/v1"
	}
	if o.TelemetryMaximum == 0 {
		o.TelemetryMaximum = 1024
	}
	if o.AnswersMaximum == 0 {
		o.AnswersMaximum = 512
	}
	if o.QoS0Room == 0 {
		o.QoS0Room = 1024
	}
	if o.Count == nil {
		o.Count = func(string, string) {}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	switch {
	case o.Poster == nil, o.Clock == nil, o.NewID == nil:
		return o, errors.New("mqttrpc: Poster, Clock and NewID are required")
	case !term.ValidSerial(o.Installation):
		return o, fmt.Errorf("the installation id %q must be 1 to 64 of A-Z, a-z, 0-9, '_' and '-'", o.Installation)
	case o.Prefix != strings.Trim(o.Prefix, "/") || strings.ContainsAny(o.Prefix, "+#\x00") || o.Prefix[0] == '$' || len(o.Prefix) > 128:
		return o, fmt.Errorf("the topic prefix %q must not begin or end with '/', begin with '$', hold '+' or '#', or exceed 128 bytes", o.Prefix)
	case o.PacketTimeout < 0 || o.PacketTimeout > maxPacketTimeout:
		return o, fmt.Errorf("the packet timeout %s must be at most %s, below every ack timeout", o.PacketTimeout, maxPacketTimeout)
	case o.KeepAlive < time.Second || o.KeepAlive > math.MaxUint16*time.Second:
		return o, fmt.Errorf("the keepalive %s must be whole seconds, at least one", o.KeepAlive)
	case o.SessionExpiry < time.Minute || o.SessionExpiry > math.MaxUint32*time.Second:
		return o, fmt.Errorf("the session expiry %s must be at least a minute: shorter than an outage it loses answers", o.SessionExpiry)
	}
	_, _, err := mqttconn.Address(o.URL)
	return o, err
}
