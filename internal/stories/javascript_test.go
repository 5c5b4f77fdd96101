package stories

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"surehand/internal/stories/npmtest"
)

// proves D-3, D-7, D-12, D-14, D-15
func TestDeviceOfAnotherLanguageIsUnderstood(t *testing.T) {
	t.Parallel()
	dir := npm(t, "mqtt@5", "device.mjs")
	s := open(t)
	js := s.javascript(dir, "sensor-1", "valve-1", "brisk-1:deaf")

	// A reading, its command, ack and report: all of it spoken in JavaScript.
	js.senses("sensor-1", map[string]any{"temperature": 31})
	h := js.hears("valve-1")
	require.Equal(t, heard{Serial: "valve-1", Heard: h.Heard, Attempt: 1, Ran: true, Params: map[string]any{"open": true}}, h)
	c := s.becomes(s.one("hot").ID, "applied")
	require.Equal(t, h.Heard, c.CommandID)

	// A hand command, and one that the device refuses.
	p := s.ordered("half", "valve/level", "45.5")
	require.Equal(t, map[string]any{"level": 45.5}, js.hears("valve-1").Params)
	s.becomes(p.ID, "applied")
	p = s.ordered("full", "valve/level", "95")
	js.hears("valve-1")
	require.Equal(t, "invalid_param: this valve opens to 90 % at most", s.becomes(p.ID, "failed").LastError)

	// The first answer is lost: asked again by the same id, the device answers from memory and runs nothing twice.
	p = s.ordered("lost", "brisk/open", "true")
	first, second := js.hears("brisk-1"), js.hears("brisk-1")
	require.Equal(t, first.Heard, second.Heard)
	require.Equal(t, []int{1, 2}, []int{first.Attempt, second.Attempt})
	require.Equal(t, []bool{true, false}, []bool{first.Ran, second.Ran})
	require.Equal(t, 2, s.becomes(p.ID, "applied").AttemptCount)

	// Proof by the device's own readings, and its goodbye.
	js.senses("valve-1", map[string]any{"open": false})
	until(t, "the valve is seen closed", func() bool { return s.value("valve", "valve/open") == false })
	require.NoError(t, js.in.Close())
	require.NoError(t, js.end())
}

// npm is a folder with npm packages and a script of testdata that uses them.
func npm(t *testing.T, packages, script string) string {
	t.Helper()
	npmtest.Needed(t)
	dir := t.TempDir()
	_, err := npmtest.Install(dir, packages, filepath.Join("testdata", script))
	require.NoError(t, err)
	return dir
}

// javascript is a running device.mjs.
type javascript struct {
	t     testing.TB
	in    io.WriteCloser
	lines map[string]chan heard // by serial number
	ended chan error
}

// heard is what the device prints of a command.
type heard struct {
	Serial, Heard string
	Attempt       int
	Ran, Retained bool
	Params        map[string]any
	Ready         bool
	Error         string
}

func (s *site) javascript(dir string, devices ...string) *javascript {
	s.t.Helper()
	run := exec.Command("node", append([]string{filepath.Join(dir, "device.mjs"), s.broker.URL()}, devices...)...)
	run.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	var faults bytes.Buffer
	run.Stderr = &faults
	in, err := run.StdinPipe()
	require.NoError(s.t, err)
	out, err := run.StdoutPipe()
	require.NoError(s.t, err)
	require.NoError(s.t, run.Start())
	js := &javascript{t: s.t, in: in, ended: make(chan error, 1), lines: map[string]chan heard{}}
	for _, serial := range []string{"", "sensor-1", "valve-1", "brisk-1"} {
		js.lines[serial] = make(chan heard, 64)
	}
	read := make(chan struct{})
	go func() {
		defer close(read)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			var h heard
			if err := json.Unmarshal(lines.Bytes(), &h); err != nil || h.Error != "" {
				s.t.Errorf("device.mjs printed %s", lines.Text())
				continue
			}
			js.lines[h.Serial] <- h
		}
		js.ended <- run.Wait()
	}()
	s.t.Cleanup(func() {
		_ = run.Process.Kill() // it has ended when all went well
		<-read
		if s.t.Failed() {
			s.t.Logf("device.mjs: %s", faults.String())
		}
	})
	require.True(s.t, js.hears("").Ready)
	return js
}

// hears waits for the next command of a device.
func (js *javascript) hears(serial string) heard {
	js.t.Helper()
	select {
	case h := <-js.lines[serial]:
		return h
	case err := <-js.ended:
		js.t.Fatalf("device.mjs ended: %v", err)
	case <-time.After(patience):
		js.t.Fatalf("device.mjs heard nothing for %q within %s", serial, patience)
	}
	return heard{}
}

func (js *javascript) senses(serial string, values map[string]any) {
	js.t.Helper()
	require.NoError(js.t, json.NewEncoder(js.in).Encode(map[string]any{"serial": serial, "values": values}))
}

func (js *javascript) end() error {
	js.t.Helper()
	select {
	case err := <-js.ended:
		return err
	case <-time.After(patience):
		js.t.Fatalf("device.mjs did not end within %s", patience)
		return nil
	}
}
