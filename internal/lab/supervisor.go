package lab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"
)

// RestartAfter is how long a Surehand that has ended stays ended, so that a person sees what that looks like.
const RestartAfter = 6 * time.Second

// comesUpWithin: a first process that fails before is not set up right, and starting it again would not help.
const comesUpWithin = 10 * time.Second

// frozenFor is how long a freeze of Surehand lasts.
const frozenFor = 10 * time.Second

var errNotRunning = errors.New("surehand is not running right now")

// Supervisor keeps the Surehand of the demo running, as systemd does on a real machine, and hurts it when asked to.
type Supervisor struct {
	command func() *exec.Cmd
	tell    io.Writer
	pause   time.Duration // RestartAfter

	mu      sync.Mutex
	process *os.Process
	thaw    *time.Timer
}

// NewSupervisor makes one; command gives the process anew for each start.
func NewSupervisor(p *Plant, tell io.Writer, command func() *exec.Cmd) *Supervisor {
	s := &Supervisor{command: command, tell: tell, pause: RestartAfter}
	p.Add(Fault{ID: "kill:surehand", Group: "Surehand", Label: fmt.Sprintf("kill -9; it is started again %s later", RestartAfter), Kind: Once}, func(bool) error { return s.signal(syscall.SIGKILL) })
	p.Add(Fault{ID: "freeze:surehand", Group: "Surehand", Label: fmt.Sprintf("Stands still for %s (SIGSTOP)", frozenFor), Kind: Once}, func(bool) error { return s.freeze() })
	return s
}

// PID of the process; 0: none runs.
func (s *Supervisor) PID() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process == nil {
		return 0
	}
	return s.process.Pid
}

func (s *Supervisor) signal(what syscall.Signal) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process == nil {
		return errNotRunning
	}
	return s.process.Signal(what)
}

func (s *Supervisor) freeze() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	frozen := s.process
	if frozen == nil {
		return errNotRunning
	}
	if err := frozen.Signal(syscall.SIGSTOP); err != nil {
		return err
	}
	if s.thaw != nil { // frozen once more: its time begins anew
		s.thaw.Stop()
	}
	s.thaw = time.AfterFunc(frozenFor, func() { _ = frozen.Signal(syscall.SIGCONT) })
	return nil
}

// Run starts the process, again whenever it ends, until ctx ends; then it asks it to end and waits. A process that does
// not come up at all the first time is an error.
func (s *Supervisor) Run(ctx context.Context) error {
	runtime.LockOSThread() // a child that is to end with us ends with the thread that started it
	defer runtime.UnlockOSThread()
	for first := true; ; first = false {
		c := s.command()
		c.SysProcAttr = childOfOurs()
		if err := c.Start(); err != nil {
			return err
		}
		started := time.Now()
		s.set(c.Process)
		ended := make(chan error, 1)
		go func() { ended <- c.Wait() }()
		select {
		case err := <-ended:
			s.set(nil)
			if first && time.Since(started) < comesUpWithin && c.ProcessState.ExitCode() > 0 {
				return fmt.Errorf("surehand did not come up: %w", err)
			}
			fmt.Fprintf(s.tell, "\nSurehand has ended (%s). It is started again in %s.\n", c.ProcessState, RestartAfter)
		case <-ctx.Done():
			_ = c.Process.Signal(syscall.SIGCONT) // one that was frozen could not hear the next
			_ = c.Process.Signal(syscall.SIGTERM)
			<-ended
			s.set(nil)
			return nil
		}
		again := time.NewTimer(s.pause)
		select {
		case <-again.C:
		case <-ctx.Done():
			again.Stop()
			return nil
		}
	}
}

func (s *Supervisor) set(p *os.Process) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.process = p
	if s.thaw != nil {
		s.thaw.Stop()
		s.thaw = nil
	}
}
