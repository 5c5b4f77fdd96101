package embedded

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// software is a server program that can be brought with the package client.
type software struct {
	title string
	// install is the package that root installs.
	install string
	// unpack names the packages a normal user unpacks; the libraries they need
	// are found from there. It may ask apt which ones these are.
	unpack func(context.Context, *apt) ([]string, error)
	// programs are checked for missing libraries after unpacking.
	programs []string
	// byHand is what a person should do where we can do nothing.
	byHand string
}

// bring fetches software that was not found. It asks found again once it has
// the lock, since another test process may have brought it meanwhile.
func bring(ctx context.Context, log *slog.Logger, packages string, soft software, found func() bool) error {
	if _, err := exec.LookPath("apt-get"); err != nil {
		return fmt.Errorf("%s was not found, and there is no apt-get to bring it: %s", soft.title, soft.byHand)
	}
	if err := os.MkdirAll(packages, 0o755); err != nil {
		return fmt.Errorf("make the folder for unpacked packages: %w; %s", err, soft.byHand)
	}
	unlock, err := lockFile(ctx, filepath.Join(packages, "lock"))
	if err != nil {
		return err
	}
	defer unlock()
	if found() {
		return nil
	}
	a := &apt{log: log, folder: packages}
	if os.Geteuid() == 0 {
		log.Info("installing "+soft.title+" with apt-get; this takes a minute", "package", soft.install)
		err = a.install(ctx, soft.install)
	} else {
		log.Info("unpacking "+soft.title+" for this user; this takes a minute", "folder", packages)
		err = a.unpack(ctx, soft)
	}
	if err != nil {
		return fmt.Errorf("bring %s: %w; %s", soft.title, err, soft.byHand)
	}
	return nil
}

// DefaultPackages is where unpacked server programs are kept when the options
// name no folder: .state/packages beside go.mod when run from a checkout, else
// below the user's cache folder.
func DefaultPackages() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for ; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			state := filepath.Join(dir, ".state", "packages")
			if os.MkdirAll(state, 0o755) == nil && syscall.Access(state, 2) == nil {
				return state, nil
			}
			break
		}
		if dir == filepath.Dir(dir) {
			break
		}
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("no folder to keep unpacked programs in: %w", err)
	}
	return filepath.Join(cache, "surehand", "packages"), nil
}

func packagesFolder(given string) (string, error) {
	if given == "" {
		return DefaultPackages()
	}
	return filepath.Abs(given)
}

// apt runs the system's package client. folder holds what a normal user needs
// of his own: package lists, downloads and the unpacked tree.
type apt struct {
	log    *slog.Logger
	folder string
}

func (a *apt) tree() string { return filepath.Join(a.folder, "root") }

// run executes one command and returns its standard output. The error carries
// the end of what the command said.
func (a *apt) run(ctx context.Context, dir, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive", "LC_ALL=C")
	var out, problems strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &problems
	if err := cmd.Run(); err != nil {
		said := strings.Split(strings.TrimSpace(out.String()+"\n"+problems.String()), "\n")
		return "", fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err,
			strings.Join(said[max(0, len(said)-6):], " | "))
	}
	return out.String(), nil
}

// install is root's way. Two habits of Debian packages are held off while it
// runs: making a "main" cluster on port 5432, and starting a service at once.
// Both would be a server we did not ask for, on ports a site may use.
func (a *apt) install(ctx context.Context, name string) error {
	undoCluster, err := temporaryFile("/etc/postgresql-common/createcluster.d/surehand-no-main.conf",
		"create_main_cluster = false\n", 0o644)
	if err != nil {
		return err
	}
	defer undoCluster()
	undoServices, err := temporaryFile("/usr/sbin/policy-rc.d",
		"#!/bin/sh\n# "+temporaryNote+"\nexit 101\n", 0o755)
	if err != nil {
		return err
	}
	defer undoServices()
	// An update that fails for one unreachable source may still have brought
	// what we need, so its error counts only if the installation fails too.
	_, updateErr := a.run(ctx, "/", "apt-get", "update")
	if _, err := a.run(ctx, "/", "apt-get", "-o", "DPkg::Lock::Timeout=300", "install", "-y",
		"--no-install-recommends", name); err != nil {
		if updateErr != nil {
			return fmt.Errorf("%w (before it: %w)", err, updateErr)
		}
		return err
	}
	a.keepServiceOff(ctx, name)
	return nil
}

// keepServiceOff stops the service of a package that we installed from starting
// at the next boot. PostgreSQL has no cluster, hence no service to start.
func (a *apt) keepServiceOff(ctx context.Context, name string) {
	if name != mosquittoSoftware.install {
		return
	}
	command := []string{"update-rc.d", name, "disable"}
	if _, err := os.Stat("/run/systemd/system"); err == nil {
		command = []string{"systemctl", "disable", name}
	}
	if _, err := exec.LookPath(command[0]); err != nil {
		return // no service manager, as in a container: nothing starts at boot
	}
	if _, err := a.run(ctx, "/", command[0], command[1:]...); err != nil {
		a.log.Warn("the installed service may start at the next boot", "service", name, "error", err)
	}
}

const temporaryNote = "written by surehand for the time of one apt-get install; may be deleted"

// temporaryFile writes a file for the time of an installation, and leaves one
// that is not ours as it is.
func temporaryFile(path, text string, mode os.FileMode) (undo func(), err error) {
	if old, err := os.ReadFile(path); err == nil && string(old) != text {
		return func() {}, nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		return nil, err
	}
	return func() { _ = os.Remove(path) }, nil
}

// lockFile serialises test processes that would all install at once. It waits,
// because the other one is doing our work.
func lockFile(ctx context.Context, path string) (unlock func(), err error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open lock: %w", err)
	}
	locked := make(chan error, 1)
	go func() { locked <- syscall.Flock(int(file.Fd()), syscall.LOCK_EX) }()
	select {
	case err = <-locked:
	case <-ctx.Done():
		go func() { <-locked; _ = file.Close() }()
		return nil, fmt.Errorf("another process is installing (lock %s): %w", path, context.Cause(ctx))
	}
	if err != nil {
		_ = file.Close()
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	return func() { _ = file.Close() }, nil
}

func loggerOrNone(log *slog.Logger) *slog.Logger {
	if log == nil {
		return slog.New(slog.NewTextHandler(io.Discard, nil))
	}
	return log
}
