package embedded

import (
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

func childAttributes(as *identity, lastWill syscall.Signal) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{
		Setpgid:    true,
		Pdeathsig:  lastWill,
		Credential: as.credential(),
	}
}

// processesIn lists the processes of a program whose working folder is dir.
// A PostgreSQL server and all its children work in the data folder, so this
// names exactly the processes of one cluster, whatever their process ids were
// before a reboot. Processes of other users are invisible to a normal user and
// cannot belong to a cluster of ours.
func processesIn(dir, program string) []int {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var pids []int
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		proc := filepath.Join("/proc", entry.Name())
		if cwd, err := os.Readlink(filepath.Join(proc, "cwd")); err != nil || cwd != dir {
			continue
		}
		if exe, err := os.Readlink(filepath.Join(proc, "exe")); err != nil || filepath.Base(exe) != program {
			continue
		}
		pids = append(pids, pid)
	}
	return pids
}
