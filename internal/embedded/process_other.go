//go:build !linux

package embedded

import (
	"bufio"
	"bytes"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
)

// childAttributes has no last will here: the kernel offers none. A server that
// a killed process left behind is found and stopped at the next start.
func childAttributes(as *identity, _ syscall.Signal) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Credential: as.credential()}
}

// processesIn finds a server by its command line, which names its data folder.
// Its children do not name it and are not listed; they end with the server.
func processesIn(dir, program string) []int {
	out, err := exec.Command("ps", "-axo", "pid=,command=").Output()
	if err != nil {
		return nil
	}
	var pids []int
	lines := bufio.NewScanner(bytes.NewReader(out))
	for lines.Scan() {
		number, command, _ := strings.Cut(strings.TrimSpace(lines.Text()), " ")
		if pid, err := strconv.Atoi(number); err == nil &&
			strings.Contains(command, program) && strings.Contains(command, "-D "+dir+" ") {
			pids = append(pids, pid)
		}
	}
	return pids
}
