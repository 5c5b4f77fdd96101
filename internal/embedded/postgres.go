package embedded

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// PostgresOptions says where a private cluster lives and how safe it is.
type PostgresOptions struct {
	// Dir is the cluster's folder: new, empty, or made by an earlier call.
	Dir string
	// Durable keeps what was committed over a crash and a power cut, as the
	// demo needs it. Without it the cluster is for tests: it survives the kill
	// of its processes, but not of the machine, and is faster.
	Durable bool
	// Packages is where server programs are unpacked when they are neither
	// installed nor installable; empty means DefaultPackages.
	Packages string
	// Log gets a line when something takes long or was repaired; nil is silent.
	Log *slog.Logger
}

// Postgres is a private PostgreSQL server, reachable by its unix socket only.
// Its methods may be called from several goroutines.
type Postgres struct {
	options  PostgresOptions
	log      *slog.Logger
	programs postgresPrograms
	as       *identity
	cluster  *cluster
	socket   string
	// elsewhere: the cluster is not in the folder that the options name.
	elsewhere bool

	mu     sync.Mutex
	server *child
}

// How long the server may take. Starting includes the repair after a crash.
const (
	startPatience  = 2 * time.Minute
	stopPatience   = 30 * time.Second
	orphanPatience = 10 * time.Second
)

// elsewhereBase holds clusters of checkouts that the server's user can not enter.
const elsewhereBase = "/var/lib/surehand-embedded"

// StartPostgres finds or brings the server programs, makes the cluster if the
// folder is new, and starts the server. It returns when the server answers.
func StartPostgres(ctx context.Context, options PostgresOptions) (*Postgres, error) {
	p := &Postgres{options: options, log: loggerOrNone(options.Log)}
	packages, err := packagesFolder(options.Packages)
	if err != nil {
		return nil, err
	}
	// The programs come first: installing them also makes the user to run as.
	if p.programs, err = findOrBringPostgres(ctx, p.log, packages, 0); err != nil {
		return nil, err
	}
	if p.as, err = serverIdentity("postgres", "nobody"); err != nil {
		return nil, err
	}
	folder, err := reachableFolder(p.log, options.Dir, p.as, elsewhereBase)
	if err != nil {
		return nil, err
	}
	asked, err := absolute(options.Dir)
	if err != nil {
		return nil, err
	}
	p.elsewhere = folder != asked
	if p.cluster, err = openCluster(folder); err != nil {
		return nil, err
	}
	if err := p.open(ctx, packages); err != nil {
		p.cluster.release()
		return nil, err
	}
	return p, nil
}

// open makes or takes over the cluster and starts the server on it.
func (p *Postgres) open(ctx context.Context, packages string) error {
	var err error
	if major := p.cluster.major(); major == 0 {
		err = p.create(ctx)
	} else {
		err = p.adopt(ctx, packages, major)
	}
	if err != nil {
		return err
	}
	if p.socket, err = p.cluster.socketFolder(p.as); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.start(ctx)
}

// create makes the cluster beside its final name, so that an interrupted
// initdb is never taken for a cluster.
func (p *Postgres) create(ctx context.Context) error {
	unfinished := p.cluster.data() + ".new"
	if err := os.RemoveAll(unfinished); err != nil {
		return fmt.Errorf("remove an unfinished cluster: %w", err)
	}
	if err := p.as.folder(unfinished); err != nil {
		return fmt.Errorf("make the cluster's folder: %w", err)
	}
	locale := "C.UTF-8"
	if runtime.GOOS != "linux" {
		locale = "C" // C.UTF-8 is not known everywhere
	}
	args := []string{"-D", unfinished, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=" + locale}
	if !p.options.Durable {
		args = append(args, "--no-sync")
	}
	runtime.LockOSThread() // its last will goes with this thread, see startChild
	defer runtime.UnlockOSThread()
	initdb := exec.CommandContext(ctx, filepath.Join(p.programs.bin, "initdb"), args...)
	initdb.Dir = unfinished
	initdb.Env = cleanEnvironment(unfinished, p.programs.libraries)
	initdb.SysProcAttr = childAttributes(p.as, syscall.SIGKILL)
	if out, err := initdb.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb%s in %s: %w: %s", p.as.suffix(), unfinished, err, strings.TrimSpace(string(out)))
	}
	if err := os.Rename(unfinished, p.cluster.data()); err != nil {
		return fmt.Errorf("put the new cluster in place: %w", err)
	}
	return nil
}

// adopt readies an existing cluster: its own version and its own user, and no
// server of an earlier life on it.
func (p *Postgres) adopt(ctx context.Context, packages string, major int) error {
	var err error
	if p.programs.major != major {
		if p.programs, err = findOrBringPostgres(ctx, p.log, packages, major); err != nil {
			return err
		}
	}
	owner, err := ownerOf(p.cluster.data())
	if err != nil {
		return err
	}
	if owner != nil && os.Geteuid() != 0 {
		return fmt.Errorf("the cluster %s belongs to user %s: run as that user or as root, or delete the folder",
			p.cluster.folder, owner.name)
	}
	p.as = owner
	return p.endEarlierLife(ctx)
}

// start runs the server and waits until it answers. The caller holds mu.
//
// A process of an earlier life that is just ending has left the data folder but
// still holds the shared memory; the server refuses to start beside it, rightly,
// and is asked again for a while.
func (p *Postgres) start(ctx context.Context) error {
	deadline := time.Now().Add(orphanPatience)
	for {
		err := p.startOnce(ctx)
		if err == nil || time.Now().After(deadline) || !strings.Contains(err.Error(), "pre-existing shared memory block") {
			return err
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			return err
		}
	}
}

func (p *Postgres) startOnce(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, startPatience,
		fmt.Errorf("the server was not ready after %s", startPatience))
	defer cancel()
	output, err := os.Create(p.cluster.log())
	if err != nil {
		return fmt.Errorf("open the server's log: %w", err)
	}
	defer output.Close()
	lastWill := syscall.SIGQUIT // tests: gone at once
	if p.options.Durable {
		lastWill = syscall.SIGINT // demo: with a checkpoint
	}
	server, err := startChild(childSpec{
		path:     filepath.Join(p.programs.bin, "postgres"),
		args:     p.arguments(),
		env:      cleanEnvironment(p.cluster.data(), p.programs.libraries),
		dir:      p.cluster.data(),
		as:       p.as,
		output:   output,
		lastWill: lastWill,
	})
	if err != nil {
		return err
	}
	if err := p.awaitReady(ctx, server); err != nil {
		p.killAll(server)
		return fmt.Errorf("PostgreSQL in %s did not start: %w; its log ends with:\n%s",
			p.cluster.folder, err, lastLines(p.cluster.log(), 12))
	}
	p.server = server
	return nil
}

func (p *Postgres) arguments() []string {
	args := []string{"-D", p.cluster.data(), "-k", p.socket}
	settings := []string{
		"listen_addresses=",
		"port=5432", // only the socket's name: nothing listens on the network
		"unix_socket_permissions=0700",
		"max_connections=200",
		"jit=off", // unpacked copies come without LLVM; the plans here are short
		"logging_collector=off",
		"log_line_prefix=%m [%p] ",
	}
	if p.options.Durable {
		settings = append(settings, "fsync=on", "full_page_writes=on", "synchronous_commit=on",
			"shared_buffers=256MB", "max_wal_size=1GB")
	} else {
		// Shared memory as files of the data folder, so that a killed test
		// server leaves nothing in /dev/shm.
		settings = append(settings, "fsync=off", "full_page_writes=off", "synchronous_commit=on",
			"dynamic_shared_memory_type=mmap")
	}
	for _, setting := range settings {
		args = append(args, "-c", setting)
	}
	return args
}

// awaitReady reads the state that the server writes into its pid file; this
// takes no connection and knows recovery from readiness.
func (p *Postgres) awaitReady(ctx context.Context, server *child) error {
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	for {
		if file, err := readPidFile(p.cluster.data()); err == nil && file.pid == server.pid() && file.state == "ready" {
			return nil
		}
		select {
		case <-look.C:
		case <-server.done:
			return fmt.Errorf("the server ended at once: %w", errors.Join(server.err, errors.New("see below")))
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// URL gives the connection string of a database of this server, for pgx.
func (p *Postgres) URL(database string) string {
	return (&url.URL{
		Scheme: "postgres",
		Path:   "/" + database,
		RawQuery: url.Values{
			"host": {p.socket}, "port": {"5432"}, "user": {"postgres"}, "sslmode": {"disable"},
		}.Encode(),
	}).String()
}

// CreateDatabase makes an empty database; one that exists already is left as it is.
func (p *Postgres) CreateDatabase(ctx context.Context, name string) error {
	conn, err := pgx.Connect(ctx, p.URL("postgres"))
	if err != nil {
		return fmt.Errorf("connect to the private PostgreSQL: %w", err)
	}
	defer conn.Close(context.WithoutCancel(ctx))
	var exists bool
	if err := conn.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)", name).Scan(&exists); err != nil {
		return fmt.Errorf("look for database %s: %w", name, err)
	}
	if exists {
		return nil
	}
	if _, err := conn.Exec(ctx, "CREATE DATABASE "+pgx.Identifier{name}.Sanitize()); err != nil {
		return fmt.Errorf("create database %s: %w", name, err)
	}
	return nil
}

// Pid is the process id of the running server, 0 when it does not run.
func (p *Postgres) Pid() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.server.running() {
		return 0
	}
	return p.server.pid()
}

// Folder is where the cluster is, server.log included.
func (p *Postgres) Folder() string { return p.cluster.folder }

// Stop ends the server with a checkpoint and gives the folder free. A cluster
// that had to be kept outside the options' folder stays only if it is durable. Clients are
// disconnected. Calling it again, or after Kill, is harmless.
func (p *Postgres) Stop(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	err := p.stop(ctx)
	if filepath.Dir(p.socket) != p.cluster.folder {
		_ = os.Remove(p.socket) // fails if not empty, which it is not after an unclean end
	}
	p.cluster.release()
	if !p.options.Durable && p.elsewhere {
		// A throwaway cluster outside the caller's folder: nobody else will
		// remove it.
		err = errors.Join(err, os.RemoveAll(p.cluster.folder))
		_ = os.Remove(elsewhereBase) // unless others keep a cluster there
	}
	return err
}

// stop asks nicely, then firmly, then not at all. The caller holds mu.
func (p *Postgres) stop(ctx context.Context) error {
	server := p.server
	p.server = nil
	if !server.running() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, stopPatience)
	defer cancel()
	if err := server.signal(syscall.SIGINT); err != nil {
		return fmt.Errorf("stop PostgreSQL: %w", err)
	}
	select {
	case <-server.done:
		return nil
	case <-ctx.Done():
	}
	_ = server.signal(syscall.SIGQUIT)
	if !server.endedWithin(5 * time.Second) {
		p.killAll(server)
	}
	return fmt.Errorf("PostgreSQL in %s did not stop by itself and was ended; it repairs itself at the next start", p.cluster.folder)
}

// Kill ends the server and all its children with SIGKILL, as a crash does, and
// returns when they are gone. The folder stays taken: Restart or Stop follows.
func (p *Postgres) Kill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.server.running() {
		p.killAll(p.server)
	}
	p.server = nil
}

// Restart starts the server again on the same folder, socket and URL, after a
// Kill or by stopping it first.
func (p *Postgres) Restart(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cluster.lock == nil {
		return errors.New("this PostgreSQL was stopped for good and its folder given free: call StartPostgres")
	}
	if err := p.stop(ctx); err != nil {
		p.log.Warn("restarting", "error", err)
	}
	if err := p.endEarlierLife(ctx); err != nil {
		return err
	}
	return p.start(ctx)
}
