package embedded

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// pidFile is what a server writes about itself into postmaster.pid.
type pidFile struct {
	pid   int
	state string // "starting", "ready", "stopping" …
}

func readPidFile(data string) (pidFile, error) {
	text, err := os.ReadFile(filepath.Join(data, "postmaster.pid"))
	if err != nil {
		return pidFile{}, err
	}
	lines := strings.Split(string(text), "\n")
	pid, err := strconv.Atoi(strings.TrimSpace(lines[0]))
	if err != nil {
		return pidFile{}, fmt.Errorf("postmaster.pid names no process: %w", err)
	}
	file := pidFile{pid: pid}
	if len(lines) > 7 {
		file.state = strings.TrimSpace(lines[7])
	}
	return file, nil
}

// endEarlierLife clears what an earlier owner of this cluster left. We hold the
// cluster's lock, so that owner is dead and every process found in the data
// folder is an orphan. Three cases:
//
//   - a whole server runs: it is stopped, with a checkpoint;
//   - its children outlive it (kill -9 of the server alone): they notice and
//     end by themselves, unless one is deep in a query;
//   - nothing runs, but postmaster.pid names a process id that after a reboot
//     belongs to someone else: PostgreSQL would refuse to start, so the file goes.
func (p *Postgres) endEarlierLife(ctx context.Context) error {
	data := p.cluster.data()
	file, err := readPidFile(data)
	if err == nil && slices.Contains(processesIn(data, "postgres"), file.pid) {
		p.log.Info("stopping a PostgreSQL that an earlier process left running", "pid", file.pid, "folder", p.cluster.folder)
		if err := syscall.Kill(file.pid, syscall.SIGINT); err != nil && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("a PostgreSQL of an earlier start (process %d) still runs in %s and can not be stopped: %w; stop it by hand",
				file.pid, p.cluster.folder, err)
		}
	}
	if !p.emptied(ctx, orphanPatience) {
		for _, pid := range processesIn(data, "postgres") {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		if !p.emptied(ctx, orphanPatience) {
			return fmt.Errorf("processes of an earlier start still run in %s: %v; stop them by hand",
				p.cluster.folder, processesIn(data, "postgres"))
		}
	}
	if file, err := readPidFile(data); err == nil && alive(file.pid) {
		if err := os.Remove(filepath.Join(data, "postmaster.pid")); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove a stale postmaster.pid: %w", err)
		}
	}
	return nil
}

// emptied waits until no process works in the data folder.
func (p *Postgres) emptied(ctx context.Context, patience time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	for len(processesIn(p.cluster.data(), "postgres")) > 0 {
		select {
		case <-look.C:
		case <-ctx.Done():
			return false
		}
	}
	return true
}

// killAll ends the server first, so that it can start no further children and
// has no chance to tidy up, then whatever still works in its data folder.
func (p *Postgres) killAll(server *child) {
	_ = server.signal(syscall.SIGKILL)
	server.endedWithin(orphanPatience)
	// Bounded: a process stuck in the kernel can not be waited for.
	for range 250 {
		if p.emptied(context.Background(), 20*time.Millisecond) {
			return
		}
		for _, pid := range processesIn(p.cluster.data(), "postgres") {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}
