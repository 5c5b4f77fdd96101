package embeddedtest

import (
	"io"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
)

// AsNormalUser runs tests of the calling test binary once more as user nobody,
// so that a run as root (as in CI) also shows what a normal user gets. Without
// root there is nothing to change to, and the tests have run as a normal user
// already; the test log says so.
func AsNormalUser(t *testing.T, pattern string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Logf("running as user id %d: the tests of this package are themselves the run as a normal user", os.Geteuid())
		return
	}
	nobody, err := user.Lookup("nobody")
	if err != nil {
		t.Fatalf("user nobody is needed to run as a normal user: %v", err)
	}
	uid, _ := strconv.Atoi(nobody.Uid)
	gid, _ := strconv.Atoi(nobody.Gid)
	dir := ownFolder(t, "nobody-")
	if err := os.Chown(dir, uid, gid); err != nil {
		t.Fatal(err)
	}
	// The test binary itself is in a folder that only root can enter.
	binary := filepath.Join(dir, "tests")
	copyProgram(t, os.Args[0], binary)
	cmd := exec.Command(binary, "-test.run", pattern, "-test.v", "-test.timeout=5m")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HOME="+dir, "TMPDIR=/tmp")
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid), Groups: []uint32{uint32(gid)}},
	}
	out, err := cmd.CombinedOutput()
	t.Logf("as user nobody:\n%s", out)
	if err != nil {
		t.Fatalf("the tests fail for a normal user: %v", err)
	}
}

func copyProgram(t *testing.T, from, to string) {
	t.Helper()
	source, err := os.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	defer source.Close()
	target, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(target, source); err != nil {
		t.Fatal(err)
	}
	if err := target.Close(); err != nil {
		t.Fatal(err)
	}
}
