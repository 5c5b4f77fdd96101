package embeddedtest

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
)

// cleanUp runs after the test process is gone, however it went: its end closes
// the pipe that cat reads. Servers normally end by their last will; where the
// kernel knows none, they are told here.
const cleanUp = `
cat >/dev/null
i=0
while [ "$i" -lt 100 ]; do
	for f in "$1"/*/data/postmaster.pid; do
		[ -f "$f" ] && kill -QUIT "$(head -n 1 "$f")" 2>/dev/null
	done
	rm -rf -- "$1"
	[ -e "$1" ] || exit 0
	i=$((i + 1))
	sleep 0.1
done
`

// janitor is held for the life of the process: losing the pipe ends the folder.
type janitor struct {
	folder string
	pipe   io.WriteCloser
}

// workFolder is this process's folder for everything that its servers write.
var workFolder = sync.OnceValues(func() (*janitor, error) {
	base, err := openBase()
	if err != nil {
		return nil, err
	}
	folder, err := os.MkdirTemp(base, "surehand-test-")
	if err != nil {
		return nil, fmt.Errorf("make a folder for test servers: %w", err)
	}
	// Servers started by root run as another user, who must get through.
	if err := os.Chmod(folder, 0o711); err != nil {
		return nil, err
	}
	cmd := exec.Command("/bin/sh", "-c", cleanUp, "surehand-test-janitor", folder)
	cmd.Dir = "/"
	// A session of its own, so that Ctrl-C does not end the janitor with the
	// tests. Its output goes nowhere: "go test" waits for whoever holds its own.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	pipe, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("start the clean-up of test servers: %w", err), os.RemoveAll(folder))
	}
	return &janitor{folder: folder, pipe: pipe}, nil
})

// openBase is the temporary folder, unless other users can not enter it and we
// are root, whose servers run as another user.
func openBase() (string, error) {
	candidates := []string{os.TempDir()}
	if os.Geteuid() == 0 {
		candidates = append(candidates, "/tmp", "/var/tmp")
	}
	for _, dir := range candidates {
		if os.Geteuid() != 0 || open(dir) {
			return dir, nil
		}
	}
	return "", fmt.Errorf("none of the folders %v can be entered by the user who runs the test servers: set TMPDIR to one that can", candidates)
}

func open(dir string) bool {
	for ; ; dir = filepath.Dir(dir) {
		info, err := os.Stat(dir)
		if err != nil || info.Mode().Perm()&0o001 == 0 {
			return false
		}
		if dir == filepath.Dir(dir) {
			return true
		}
	}
}
