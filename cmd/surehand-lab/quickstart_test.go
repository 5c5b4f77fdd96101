package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"surehand/internal/service/processtest"
)

var typed = regexp.MustCompile("(?ms)^```sh\n(.*?)^```$")

// proves X-14: docs/quick-start.md is typed line by line, as a newcomer would, in two terminals. Only the folder, the ports and
// the speed are the test's own.
func TestQuickStart(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/quick-start.md")
	require.NoError(t, err)
	state := t.TempDir()
	surehand, faults := processtest.FreeAddress(t), processtest.FreeAddress(t)
	ours := strings.NewReplacer("127.0.0.1:8750", surehand, "$PWD/.state/bin", filepath.Join(state, "bin"),
		"make run", "exec make run STATE="+state+" DEMOFLAGS='--state "+state+" --lab "+faults+" --listen "+surehand+" --speed 50'")
	blocks := typed.FindAllStringSubmatch(string(page), -1)
	require.Greater(t, len(blocks), 6)
	require.Equal(t, "make run\n", blocks[0][1])

	terminal := func(script string) *exec.Cmd {
		c := exec.Command("bash", "-e", "-o", "pipefail", "-x")
		c.Dir, c.Stdin = "../..", strings.NewReader(ours.Replace(script))
		for _, e := range os.Environ() {
			if !strings.HasPrefix(e, "SUREHAND_") {
				c.Env = append(c.Env, e)
			}
		}
		c.Env = append(c.Env, "SUREHAND_HTTP_LISTEN="+surehand, "SUREHAND_LAB_LISTEN="+faults)
		c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
		return c
	}
	first := terminal(blocks[0][1])
	said := &lockedBuffer{}
	first.Stdout, first.Stderr = said, said
	require.NoError(t, first.Start())
	ended := make(chan error, 1)
	go func() { ended <- first.Wait() }()
	defer func() {
		require.NoError(t, syscall.Kill(-first.Process.Pid, syscall.SIGINT)) // Ctrl-C reaches the whole group
		<-ended
		require.Contains(t, said.String(), "Stopping.")
	}()
	for !strings.Contains(said.String(), "Open  http://"+surehand) {
		select {
		case err := <-ended:
			t.Fatalf("make run has ended: %v\n%s", err, said)
		case <-time.After(100 * time.Millisecond):
		}
	}

	var rest strings.Builder
	for _, b := range blocks[1:] {
		rest.WriteString(b[1])
	}
	second := terminal(rest.String())
	var out bytes.Buffer
	second.Stdout, second.Stderr = &out, &out
	err = second.Run()
	require.NoError(t, err, "%s\n%s", out.String(), said)
	for _, want := range []string{"Waiting for", `"kind":"attempt"`, "action_unknown", "Answered.", "cut:mill"} {
		require.Contains(t, out.String(), want)
	}
}
