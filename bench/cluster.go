package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// cluster is a private durable PostgreSQL with the settings that the yardsticks were calibrated with: syncs
// and checksums on, room so that no checkpoint falls into a round. internal/embedded has no room for extra
// settings and makes no checksums, so it is started here.
type cluster struct {
	folder string
	bin    string
	major  int
	server *exec.Cmd
	ended  chan error
}

var clusterSettings = []string{
	"listen_addresses=", "port=5432", "fsync=on", "synchronous_commit=on", "full_page_writes=on",
	"shared_buffers=512MB", "max_wal_size=4GB", "checkpoint_timeout=30min", "wal_buffers=32MB", "wal_compression=on",
	"random_page_cost=1.1", "track_wal_io_timing=on", "jit=off", "max_connections=200", "logging_collector=off",
}

func startCluster(ctx context.Context, folder string, more ...string) (*cluster, error) {
	bin, major, err := findPostgres()
	if err != nil {
		return nil, err
	}
	c := &cluster{folder: folder, bin: bin, major: major, ended: make(chan error, 1)}
	as, err := serverUser()
	if err != nil {
		return nil, err
	}
	for _, dir := range []string{c.data(), c.socket()} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, err
		}
		if as != nil {
			if err := os.Chown(dir, int(as.Uid), int(as.Gid)); err != nil {
				return nil, err
			}
		}
	}
	initdb := exec.CommandContext(ctx, filepath.Join(bin, "initdb"), "-D", c.data(), "-U", "postgres", "-A", "trust", "-E", "UTF8",
		"--locale=C", "--data-checksums")
	initdb.SysProcAttr, initdb.Dir = &syscall.SysProcAttr{Credential: as}, c.data()
	if out, err := initdb.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("initdb: %w: %s", err, out)
	}
	if err := c.start(as, more); err != nil {
		return nil, err
	}
	return c, c.awaitReady(ctx)
}

func (c *cluster) data() string   { return filepath.Join(c.folder, "data") }
func (c *cluster) socket() string { return filepath.Join(c.folder, "socket") }

// start runs the server on a thread of its own: the kernel ends it when that thread ends, so that a killed
// bench leaves no server behind.
func (c *cluster) start(as *syscall.Credential, more []string) error {
	args := []string{"-D", c.data(), "-k", c.socket()}
	for _, setting := range append(more, clusterSettings...) {
		args = append(args, "-c", setting)
	}
	log, err := os.Create(filepath.Join(c.folder, "server.log"))
	if err != nil {
		return err
	}
	defer log.Close()
	c.server = exec.Command(filepath.Join(c.bin, "postgres"), args...)
	c.server.SysProcAttr = &syscall.SysProcAttr{Credential: as, Pdeathsig: syscall.SIGQUIT, Setpgid: true}
	c.server.Dir, c.server.Stdout, c.server.Stderr = c.data(), log, log
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := c.server.Start()
		started <- err
		if err == nil {
			c.ended <- c.server.Wait()
		}
	}()
	return <-started
}

func (c *cluster) awaitReady(ctx context.Context) error {
	for range 300 {
		conn, err := pgx.Connect(ctx, c.url("postgres"))
		if err == nil {
			return conn.Close(ctx)
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case err := <-c.ended:
			return fmt.Errorf("PostgreSQL ended at once: %w; see server.log in %s", err, c.folder)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return errors.New("PostgreSQL was not ready after 30 s")
}

// url of a database; settings are those of the session, such as commit_delay.
func (c *cluster) url(database string, settings ...string) string {
	q := url.Values{"host": {c.socket()}, "port": {"5432"}, "user": {"postgres"}, "sslmode": {"disable"}}
	for _, s := range settings {
		name, value, _ := strings.Cut(s, "=")
		q.Set(name, value)
	}
	return (&url.URL{Scheme: "postgres", Path: "/" + database, RawQuery: q.Encode()}).String()
}

func (c *cluster) stop() {
	if c.server == nil || c.server.Process == nil {
		return
	}
	if err := c.server.Process.Signal(syscall.SIGQUIT); err != nil { // at once: its folder is thrown away
		return
	}
	select {
	case <-c.ended:
	case <-time.After(10 * time.Second):
	}
}

// findPostgres takes the newest installed server.
func findPostgres() (bin string, major int, err error) {
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin")
	if err != nil {
		return "", 0, err
	}
	for _, dir := range found {
		n, err := strconv.Atoi(filepath.Base(filepath.Dir(dir)))
		if _, missing := os.Stat(filepath.Join(dir, "pgbench")); err == nil && missing == nil && n > major {
			bin, major = dir, n
		}
	}
	if bin == "" {
		return "", 0, errors.New("no PostgreSQL with pgbench found: apt-get install postgresql postgresql-contrib")
	}
	return bin, major, nil
}

// serverUser is whom the servers run as: PostgreSQL refuses to run as root.
func serverUser() (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		return nil, fmt.Errorf("running as root: %w", err)
	}
	uid, err1 := strconv.ParseUint(u.Uid, 10, 32)
	gid, err2 := strconv.ParseUint(u.Gid, 10, 32)
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, errors.Join(err1, err2)
}
