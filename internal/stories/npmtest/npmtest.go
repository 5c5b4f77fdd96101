// Package npmtest brings the npm packages that tests talk to: programs of another language and of other authors, which
// have nothing of Surehand in them.
//
// It owns how a package gets there, and what happens where there is no npm: with CI=true the test fails, else it is
// skipped and that is said aloud. It must never install anything for the whole machine.
package npmtest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// within bounds one installation.
const within = 3 * time.Minute

// Needed skips a test where node or npm is missing.
func Needed(t testing.TB) {
	t.Helper()
	for _, program := range []string{"node", "npm"} {
		if _, err := exec.LookPath(program); err != nil {
			missing := "NO JAVASCRIPT DEVICE in this run: " + program + " is not installed (Debian: 'apt-get install nodejs npm')"
			if os.Getenv("CI") == "true" {
				t.Fatal(missing)
			}
			_, _ = os.Stderr.WriteString("*** " + missing + "\n") // also without -v
			t.Skip(missing)
		}
	}
}

// Install puts packages, with spaces between them, into a folder, and a script that uses them beside it: that is where node
// looks for packages. It gives the script's path.
func Install(folder, packages, script string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	args := []string{"install", "--no-save", "--no-audit", "--no-fund", "--prefer-offline", "--omit=optional", "--prefix", folder}
	install := exec.CommandContext(ctx, "npm", append(args, strings.Fields(packages)...)...)
	if out, err := install.CombinedOutput(); err != nil {
		return "", fmt.Errorf("npm install %s: %w: %s", packages, err, out)
	}
	text, err := os.ReadFile(script)
	if err != nil {
		return "", err
	}
	there := filepath.Join(folder, filepath.Base(script))
	return there, os.WriteFile(there, text, 0o600)
}
