package config

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write docs/configuration.md anew")

// meanings are what a person reads; a setting without one fails the test.
var meanings = map[string]string{
	"database.url":      "PostgreSQL 15 or newer itself, not a pooler; several hosts with `target_session_attrs=read-write` are allowed. Needed by `serve` and `migrate`.",
	"mqtt.url":          "The broker: `mqtt://` or `mqtts://`, without a user in it.",
	"mqtt.username":     "User at the broker.",
	"mqtt.passwordFile": "File with that user's password; secrets never stand in the configuration or in arguments.",
	"mqtt.prefix":       "Of all topics, at most 128 characters.",
	"http.listen":       "host:port of the HTTP interface; the host must be loopback until users and roles exist. Port 0 takes a free one, which only the log tells.",
	"log.format":        "`auto`: for people on a terminal, else JSON lines; or `text`, `json`.",
	"log.level":         "`debug`, `info`, `warn` or `error`.",
	"sessionExpiry":     "How long the broker keeps what devices say while this process is away: 1m to 136 years.",
}

// docs/configuration.md is made from the table of settings, so that it cannot be wrong.
func TestDocument(t *testing.T) {
	const file = "../../docs/configuration.md"
	var b strings.Builder
	b.WriteString("# Configuration\n\nGenerated from `internal/config`. `surehand --config FILE` reads YAML; the environment wins over the file, the file over the\n" +
		"default. Unknown keys are faults with their line. `surehand check` tells them without running anything. An example with every\n" +
		"setting: [deploy/surehand.yaml](../deploy/surehand.yaml).\n\n" +
		"| key | environment | default | meaning |\n|---|---|---|---|\n")
	for _, s := range settings() {
		meaning, ok := meanings[s.path()]
		require.True(t, ok, "setting %s has no meaning", s.path())
		preset := "`" + s.preset + "`"
		if s.preset == "" {
			preset = "–"
		}
		b.WriteString("| `" + s.path() + "` | `" + s.env + "` | " + preset + " | " + meaning + " |\n")
	}
	b.WriteString("\n```yaml\ndatabase: {url: postgres://surehand@localhost/surehand}\nmqtt:\n  url: mqtts://broker.plant.example:8883\n" +
		"  username: surehand\n  passwordFile: /etc/surehand/mqtt-password\nlog: {level: info}\n```\n")
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(b.String()), 0o644))
	}
	have, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, b.String(), string(have), "write it anew: go test ./internal/config -run Document -update")
}
