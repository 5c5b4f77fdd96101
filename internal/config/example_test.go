package config

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// optional is a setting that the example leaves out: its key follows the '#' at once.
var optional = regexp.MustCompile(`(?m)^(\s*)#([A-Za-z]+:)`)

// deploy/surehand.yaml has every setting once, with a comment right above it, and shows the defaults.
func TestExampleHasEverySetting(t *testing.T) {
	const file = "../../deploy/surehand.yaml"
	text, err := os.ReadFile(file)
	require.NoError(t, err)

	shipped, err := Load(file, noEnvironment)
	require.NoError(t, err)
	least := filepath.Join(t.TempDir(), "least.yaml")
	require.NoError(t, os.WriteFile(least, []byte("database: {url: "+shipped.Database.URL.Reveal()+"}\n"), 0o600))
	defaults, err := Load(least, noEnvironment)
	require.NoError(t, err)
	shipped.Database, defaults.Database = Database{}, Database{}
	require.Equal(t, defaults, shipped, "what is not left out is the default")

	// With nothing left out, the file is taken as well.
	whole := optional.ReplaceAllString(string(text), "$1$2")
	password := filepath.Join(t.TempDir(), "password")
	require.NoError(t, os.WriteFile(password, []byte("secret\n"), 0o600))
	full := filepath.Join(t.TempDir(), "full.yaml")
	require.NoError(t, os.WriteFile(full, []byte(regexp.MustCompile(`passwordFile: .*`).ReplaceAllLiteralString(whole, "passwordFile: "+password)), 0o600))
	c, err := Load(full, noEnvironment)
	require.NoError(t, err)
	require.Equal(t, "secret", c.MQTT.Password.Reveal())

	for _, s := range settings() {
		lines := regexp.MustCompile(`(?m)^`+map[bool]string{true: "  "}[s.section != ""]+s.key+`: `).FindAllStringIndex(section(whole, s.section), -1)
		require.Len(t, lines, 1, "%s stands once", s.path())
		before := strings.Split(section(whole, s.section)[:lines[0][0]], "\n")
		require.Regexp(t, `^\s*#\s+\S`, before[len(before)-2], "%s has a comment right above it", s.path())
	}
}

// section is the part of a configuration below one top key; the whole of it for none.
func section(text, name string) string {
	if name == "" {
		return text
	}
	_, after, _ := strings.Cut(text, "\n"+name+":\n")
	if end := regexp.MustCompile(`(?m)^[a-zA-Z]`).FindStringIndex(after); end != nil {
		after = after[:end[0]]
	}
	return after
}

func noEnvironment(string) (string, bool) { return "", false }
