package embedded

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// childSpec says how a server process is started.
type childSpec struct {
	path   string
	args   []string
	env    []string
	dir    string
	as     *identity
	output *os.File
	// lastWill is the signal the kernel sends to the child when we die without
	// having stopped it, SIGKILL of us included (Linux only).
	lastWill syscall.Signal
}

// child is a running server process. Its end is seen by closing done; err is
// set before that.
type child struct {
	cmd  *exec.Cmd
	done chan struct{}
	err  error
}

// startChild starts the process in a process group of its own, so that Ctrl-C
// in a terminal reaches us alone and we stop our servers in the right order.
//
// The kernel delivers the last will when the *thread* that forked ends, not the
// process. The forking goroutine is therefore locked to its thread and stays in
// Wait for as long as the child lives.
func startChild(spec childSpec) (*child, error) {
	cmd := exec.Command(spec.path, spec.args...)
	cmd.Env = spec.env
	cmd.Dir = spec.dir
	cmd.Stdout, cmd.Stderr = spec.output, spec.output
	cmd.SysProcAttr = childAttributes(spec.as, spec.lastWill)
	c := &child{cmd: cmd, done: make(chan struct{})}
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err != nil {
			return
		}
		c.err = cmd.Wait()
		close(c.done)
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s%s: %w", spec.path, spec.as.suffix(), err)
	}
	return c, nil
}

func (c *child) pid() int { return c.cmd.Process.Pid }

func (c *child) running() bool {
	if c == nil {
		return false
	}
	select {
	case <-c.done:
		return false
	default:
		return true
	}
}

// signal ignores a process that has already ended: the caller wanted it gone.
func (c *child) signal(sig syscall.Signal) error {
	err := c.cmd.Process.Signal(sig)
	if errors.Is(err, os.ErrProcessDone) {
		return nil
	}
	return err
}

// endedWithin waits for the end of the process for at most d.
func (c *child) endedWithin(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-c.done:
		return true
	case <-timer.C:
		return false
	}
}

// alive tells whether a process with this id exists, whoever owns it.
func alive(pid int) bool {
	err := syscall.Kill(pid, 0)
	return err == nil || errors.Is(err, syscall.EPERM)
}

// lastLines gives the end of a log file for an error text: a server says there
// why it did not start.
func lastLines(path string, n int) string {
	file, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer file.Close()
	if info, err := file.Stat(); err == nil && info.Size() > 8192 {
		if _, err := file.Seek(-8192, io.SeekEnd); err != nil {
			return ""
		}
	}
	text, err := io.ReadAll(file)
	if err != nil {
		return ""
	}
	lines := strings.Split(strings.TrimRight(string(text), "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

// cleanEnvironment is what a server sees of our environment: nothing that could
// point it at another cluster (PGDATA, PGHOST …), and English messages, since
// some of them are read here.
func cleanEnvironment(home, libraries string) []string {
	env := []string{
		"PATH=" + os.Getenv("PATH"),
		"HOME=" + home,
		"LC_ALL=C",
		"TZ=UTC",
	}
	if libraries != "" {
		env = append(env, "LD_LIBRARY_PATH="+libraries)
	}
	return env
}

// absolute resolves symbolic links as far as the path exists, because the
// kernel reports a server's folder resolved and the two are compared.
func absolute(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	rest := ""
	for p := path; ; p = filepath.Dir(p) {
		if resolved, err := filepath.EvalSymlinks(p); err == nil {
			return filepath.Join(resolved, rest), nil
		}
		if p == filepath.Dir(p) {
			return path, nil
		}
		rest = filepath.Join(filepath.Base(p), rest)
	}
}
