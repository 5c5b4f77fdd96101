package robotrpc_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"surehand/internal/stories/npmtest"
	"surehand/internal/term"
	"surehand/internal/workers"
)

// stranger is a running robot.mjs.
type stranger struct {
	t     *testing.T
	run   *exec.Cmd
	in    io.WriteCloser
	lines chan strangerLine
	begun []uint32
}

type strangerLine struct {
	There, Told bool
	Begun       uint32
	Method      string
	Error       string
}

func startStranger(t *testing.T, script, broker, topic, memory string) *stranger {
	t.Helper()
	s := &stranger{t: t, run: exec.Command("node", script, broker, topic, memory), lines: make(chan strangerLine, 100)}
	s.run.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	var faults bytes.Buffer
	s.run.Stderr = &faults
	var err error
	if s.in, err = s.run.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := s.run.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.run.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer close(s.lines)
		for lines := json.NewDecoder(out); ; {
			var l strangerLine
			if lines.Decode(&l) != nil {
				break
			}
			s.lines <- l
		}
		_ = s.run.Wait()
	}()
	t.Cleanup(func() {
		_ = s.run.Process.Kill()
		<-ended
		if t.Failed() {
			t.Log(faults.String())
		}
	})
	s.await(func(l strangerLine) bool { return l.There })
	return s
}

func (s *stranger) await(is func(strangerLine) bool) {
	s.t.Helper()
	over := time.After(patience)
	for {
		select {
		case l, more := <-s.lines:
			if !more || l.Error != "" {
				s.t.Fatalf("robot.mjs ended: %s", l.Error)
			}
			if l.Begun != 0 {
				s.begun = append(s.begun, l.Begun)
			}
			if is(l) {
				return
			}
		case <-over:
			s.t.Fatal("robot.mjs does not say what is waited for")
		}
	}
}

func (s *stranger) tell(words string) {
	s.t.Helper()
	if _, err := fmt.Fprintln(s.in, words); err != nil {
		s.t.Fatal(err)
	}
	s.await(func(l strangerLine) bool { return l.Told })
}

// What docs/drivers.md says of a robot on MQTT is enough for somebody who has nothing else. proves C-5
func TestRobotOfAnotherLanguage(t *testing.T) {
	t.Parallel()
	npmtest.Needed(t)
	script, err := npmtest.Install(t.TempDir(), "mqtt@5", filepath.Join("testdata", "robot.mjs"))
	if err != nil {
		t.Fatal(err)
	}
	address, memory := broker(t), filepath.Join(t.TempDir(), "memory")
	c := &cell{t: t, topic: fmt.Sprintf("%s-%d", topic, cells.Add(1))}
	c.pipe = newPipe(t, address)
	d := c.newDriver()
	await := c.watched(d)
	robot := startStranger(t, script, "mqtt://"+address, c.topic, memory)
	await(reached)
	ends := func(task workers.Task, want workers.Ending, why string) {
		t.Helper()
		got := d.Perform(t.Context(), task)
		if !strings.Contains(got.Error, why) || (why == "") != (got.Error == "") {
			t.Errorf("number %d: the reason is %q, want %q", task.ActionNo, got.Error, why)
		}
		if got.Error = ""; got != want {
			t.Errorf("number %d ended %+v, want %+v", task.ActionNo, got, want)
		}
	}
	notDone := workers.Ending{Outcome: term.NotDone, PartAt: term.PartAtFrom}
	ends(move(1), workers.Happened(term.PartAtTo), "")
	ends(move(1), notDone, "not newer")
	robot.tell(`{"refuse": true}`)
	ends(move(2), notDone, "I do not want to")
	robot.tell(`{"deaf": true}`)
	ends(soon(3), notDone, "did not begin in time")
	unknown := move(4)
	unknown.To = 77
	ends(unknown, notDone, "error 1")
	presents := move(5)
	presents.Present, presents.To = true, station
	ends(presents, workers.Happened(term.PartGripper), "")
	await(func(r term.Reading) bool { return r.Gripper && r.Position == station && !r.Go })
	places := move(6)
	places.FromGripper = true
	ends(places, workers.Happened(term.PartAtTo), "")

	if err := robot.run.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	await(func(r term.Reading) bool { return !r.Reached })
	again := startStranger(t, script, "mqtt://"+address, c.topic, memory)
	await(func(r term.Reading) bool { return r.Reached && r.Echo == 6 })
	ends(move(7), workers.Happened(term.PartAtTo), "")
	again.tell(`{}`)
	for len(robot.lines) > 0 {
		if l := <-robot.lines; l.Begun != 0 {
			robot.begun = append(robot.begun, l.Begun)
		}
	}
	if got, want := fmt.Sprint(append(robot.begun, again.begun...)), "[1 4 5 6 7]"; got != want {
		t.Errorf("begun %s, want %s", got, want)
	}
}
