package robotrpc_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"surehand/internal/term"
	"surehand/internal/workers/robotrpc"
)

func TestTopics(t *testing.T) {
	for topic, fault := range map[string]string{
		"":                    "", // prefix, "equipment" and the id
		"surehand/v1/cell/r":  "",
		"plant/r":             "",
		"surehand/v1/r":       "of a device",
		"surehand/v1/+/r":     "must not",
		"/surehand/v1/cell/r": "must not",
		"$SYS/r":              "must not",
	} {
		_, err := robotrpc.New(robotrpc.Options{Equipment: "r", URL: "mqtt://127.0.0.1:1", Prefix: "surehand/v1", Config: term.DriverConfig{Topic: topic},
			Installation: func() string { return "i" }, Clock: wallClock{}})
		if fault == "" {
			require.NoError(t, err, topic)
		} else {
			require.ErrorContains(t, err, fault, topic)
		}
	}
}
