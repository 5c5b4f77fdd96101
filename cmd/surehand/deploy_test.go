package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"surehand/internal/config"
	"surehand/internal/dbstate/migrate"
)

const unitFile = "../../deploy/surehand.service"

// What is shipped to be copied passes the product's own check.
func TestShippedFilesPassTheCheck(t *testing.T) {
	for _, one := range []struct{ config, file, want string }{
		{config: "../../deploy/surehand.yaml", want: "The configuration is well formed.\n"},
		{file: "../../deploy/devices.yaml", want: "Well formed: 2 profiles, 3 devices, 2 rules. References are checked when it is imported.\n"},
		{file: "../../docs/examples/plant.yaml", want: "Well formed: "},
	} {
		var out bytes.Buffer
		c := commands{Config: one.config, out: &out}
		require.NoError(t, (&checkCommand{File: one.file}).Run(&c))
		require.Contains(t, out.String(), one.want)
	}
}

// unit is the settings of the unit, in the order of the file.
func unit(t *testing.T) (settings map[string][]string) {
	t.Helper()
	text, err := os.ReadFile(unitFile)
	require.NoError(t, err)
	settings = map[string][]string{}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if key, value, ok := strings.Cut(line, "="); ok && !strings.HasPrefix(line, "#") {
			settings[key] = append(settings[key], value)
		}
	}
	return settings
}

func TestUnitStartsWhatThereIs(t *testing.T) {
	u := unit(t)
	for key, values := range u {
		if !strings.HasPrefix(key, "Exec") {
			continue
		}
		require.NotContains(t, strings.Join(values, " "), "migrate", "%s: the schema is a person's decision", key)
	}
	require.Len(t, u["ExecStart"], 1)
	words := strings.Fields(u["ExecStart"][0])
	var c commands
	parsed, err := c.parser().Parse(words[1:])
	require.NoError(t, err)
	require.Equal(t, "serve", parsed.Command())
	require.Equal(t, "/etc/surehand/surehand.yaml", c.Config)

	require.Equal(t, []string{"notify"}, u["Type"], "it is ready when it says so")
	require.NotEmpty(t, u["WatchdogSec"])
	require.Equal(t, []string{strconv.Itoa(exitCode(&config.Error{}))}, u["RestartPreventExitStatus"])
	require.Equal(t, exitCode(&config.Error{}), exitCode(&migrate.VersionError{}))
	require.Equal(t, 1, exitCode(os.ErrDeadlineExceeded), "what may be over at the next start")

	// The files that the example configuration reads are those that the unit provides.
	example, err := os.ReadFile("../../deploy/surehand.yaml")
	require.NoError(t, err)
	for _, credential := range u["LoadCredential"] {
		name, _, _ := strings.Cut(credential, ":")
		require.Contains(t, string(example), "/run/credentials/surehand.service/"+name)
	}
}

// The unit in the eyes of systemd itself, where its tool is installed.
func TestUnitPassesSystemdAnalyze(t *testing.T) {
	tool, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("systemd-analyze is not installed (Debian: 'apt-get install systemd')")
	}
	dir := t.TempDir()
	program := filepath.Join(dir, "surehand")
	require.NoError(t, os.WriteFile(program, []byte("#!/bin/sh\n"), 0o755))
	text, err := os.ReadFile(unitFile)
	require.NoError(t, err)
	file := filepath.Join(dir, "surehand.service")
	require.NoError(t, os.WriteFile(file, bytes.ReplaceAll(text, []byte("/usr/local/bin/surehand"), []byte(program)), 0o600))

	out, err := exec.Command(tool, "verify", file).CombinedOutput()
	require.NoError(t, err, string(out))
	require.Empty(t, string(out))
	// The scale is that of the tool: 0 is closed, 10 is open; the network and the plant's addresses cost 0.8.
	out, err = exec.Command(tool, "security", "--offline=yes", "--threshold=15", file).CombinedOutput()
	require.NoError(t, err, string(out))
}
