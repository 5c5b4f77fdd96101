package embedded

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// MosquittoOptions says how a private broker runs.
type MosquittoOptions struct {
	// Dir holds its persistence, log and generated configuration. It is made
	// when missing. As root it must be below a folder that every user can enter.
	Dir string
	// Config is a configuration file to use as it is; its first listener is
	// the one the broker is reached at. Empty generates one for loopback.
	Config string
	// Port is the loopback port of a generated configuration, 0 for a free one.
	Port int
	// Packages and Log are as in PostgresOptions.
	Packages string
	Log      *slog.Logger
}

// Mosquitto is a broker in a process of its own: what sites run, and what can
// be killed in a test. Its methods may be called from several goroutines.
type Mosquitto struct {
	options   MosquittoOptions
	log       *slog.Logger
	program   string
	libraries string
	as        *identity
	config    string
	address   string
	outside   bool

	mu     sync.Mutex
	broker *child
}

// ErrOutsideBroker is the answer of a broker that we use but did not start.
var ErrOutsideBroker = errors.New("this broker was given from outside (TEST_MQTT_URL) and is not ours to stop: " +
	"a test that kills its broker needs one of its own")

const mosquittoPatience = 15 * time.Second

var mosquittoSoftware = software{
	title:    "mosquitto",
	install:  "mosquitto",
	programs: []string{"usr/sbin/mosquitto"},
	unpack: func(ctx context.Context, a *apt) ([]string, error) {
		_, err := a.run(ctx, "/", "apt-cache", a.options("show", "mosquitto")...)
		return []string{"mosquitto"}, err
	},
	byHand: "install mosquitto 2 (Debian: 'apt-get install mosquitto', Homebrew: 'brew install mosquitto'), " +
		"or for tests set TEST_MQTT_URL to an MQTT 5 broker that may be used",
}

// StartMosquitto finds or brings the program, starts it, and returns when it
// answers MQTT.
func StartMosquitto(ctx context.Context, options MosquittoOptions) (*Mosquitto, error) {
	m := &Mosquitto{options: options, log: loggerOrNone(options.Log)}
	packages, err := packagesFolder(options.Packages)
	if err != nil {
		return nil, err
	}
	program, err := findOrBring(ctx, m.log, packages, mosquittoSoftware, "mosquitto")
	if err != nil {
		return nil, err
	}
	m.program, m.libraries = program.Path, program.Libraries
	if m.as, err = serverIdentity("mosquitto", "nobody"); err != nil {
		return nil, err
	}
	if m.options.Dir, err = absolute(options.Dir); err != nil {
		return nil, err
	}
	if !m.as.reaches(m.options.Dir) {
		return nil, fmt.Errorf("user %s, who runs mosquitto, can not enter %s: choose a folder that others can walk to",
			m.as.name, m.options.Dir)
	}
	if err := m.as.folder(m.options.Dir); err != nil {
		return nil, fmt.Errorf("make mosquitto's folder: %w", err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.open(ctx); err != nil {
		return nil, err
	}
	return m, nil
}

// OutsideMosquitto wraps a broker that runs already, given as mqtt://host:port.
func OutsideMosquitto(address string) (*Mosquitto, error) {
	rest, ok := strings.CutPrefix(address, "mqtt://")
	if !ok || strings.ContainsAny(rest, "/@") {
		return nil, fmt.Errorf("a broker's address looks like mqtt://host:port, not %q", address)
	}
	if _, _, err := net.SplitHostPort(rest); err != nil {
		return nil, fmt.Errorf("a broker's address looks like mqtt://host:port: %w", err)
	}
	return &Mosquitto{address: rest, outside: true}, nil
}

var mosquittoClientSoftware = software{
	title:    "mosquitto's clients",
	install:  "mosquitto-clients",
	programs: []string{"usr/bin/mosquitto_pub", "usr/bin/mosquitto_sub"},
	unpack: func(ctx context.Context, a *apt) ([]string, error) {
		_, err := a.run(ctx, "/", "apt-cache", a.options("show", "mosquitto-clients")...)
		return []string{"mosquitto-clients"}, err
	},
	byHand: "install mosquitto_pub and mosquitto_sub (Debian: 'apt-get install mosquitto-clients', Homebrew: 'brew install mosquitto')",
}

// Program is a program that was found or brought.
type Program struct {
	Path string
	// Libraries is the folder of shared libraries that came with it; empty for an installed program.
	Libraries string
}

// Command runs it with its libraries.
func (p Program) Command(ctx context.Context, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, p.Path, args...)
	if p.Libraries != "" {
		c.Env = append(os.Environ(), "LD_LIBRARY_PATH="+p.Libraries)
	}
	return c
}

// FindMosquitto finds or brings the broker's program without starting it.
func FindMosquitto(ctx context.Context, log *slog.Logger) (Program, error) {
	return findOrBringDefault(ctx, log, mosquittoSoftware, "mosquitto")
}

// FindMosquittoClient finds or brings mosquitto_pub or mosquitto_sub.
func FindMosquittoClient(ctx context.Context, name string, log *slog.Logger) (Program, error) {
	return findOrBringDefault(ctx, log, mosquittoClientSoftware, name)
}

func findOrBringDefault(ctx context.Context, log *slog.Logger, soft software, name string) (Program, error) {
	packages, err := packagesFolder("")
	if err != nil {
		return Program{}, err
	}
	return findOrBring(ctx, loggerOrNone(log), packages, soft, name)
}

func findOrBring(ctx context.Context, log *slog.Logger, packages string, soft software, name string) (Program, error) {
	if found := findProgram(packages, name); found.Path != "" {
		return found, nil
	}
	if err := bring(ctx, log, packages, soft, func() bool { return findProgram(packages, name).Path != "" }); err != nil {
		return Program{}, err
	}
	found := findProgram(packages, name)
	if found.Path == "" {
		return found, errors.New(name + " was installed but is in none of PATH, /usr/sbin, /usr/local/sbin; " + soft.byHand)
	}
	return found, nil
}

func findProgram(packages, name string) Program {
	if found, err := exec.LookPath(name); err == nil {
		return Program{Path: found}
	}
	// sbin is not on a normal user's PATH in Debian.
	for _, folder := range []string{"/usr/sbin", "/usr/local/sbin", "/opt/homebrew/sbin"} {
		if found := filepath.Join(folder, name); executable(found) {
			return Program{Path: found}
		}
	}
	for _, folder := range []string{"root/usr/sbin", "root/usr/bin"} {
		if found := filepath.Join(packages, folder, name); executable(found) {
			return Program{Path: found, Libraries: unpackedLibraries(packages)}
		}
	}
	return Program{}
}

func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0
}

// open starts with the given configuration, or with a generated one. A free
// port can be taken by someone else before the broker has it, so that is tried
// a few times.
func (m *Mosquitto) open(ctx context.Context) error {
	if m.options.Config != "" {
		return m.openGiven(ctx)
	}
	for attempt := 1; ; attempt++ {
		port := m.options.Port
		if port == 0 {
			var err error
			if port, err = freePort(); err != nil {
				return err
			}
		}
		m.address = net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
		m.config = filepath.Join(m.options.Dir, "mosquitto.conf")
		if err := os.WriteFile(m.config, []byte(mosquittoConfig(port, m.options.Dir)), 0o644); err != nil {
			return fmt.Errorf("write mosquitto's configuration: %w", err)
		}
		err := m.start(ctx)
		if err == nil || m.options.Port != 0 || attempt == 5 || !strings.Contains(err.Error(), "in use") {
			return err
		}
	}
}

func (m *Mosquitto) openGiven(ctx context.Context) error {
	text, err := os.ReadFile(m.options.Config)
	if err != nil {
		return fmt.Errorf("read mosquitto's configuration: %w", err)
	}
	if m.address, err = firstListener(string(text)); err != nil {
		return fmt.Errorf("%s: %w", m.options.Config, err)
	}
	// A copy, because the broker's user may not reach the original.
	m.config = filepath.Join(m.options.Dir, "mosquitto.conf")
	if err := os.WriteFile(m.config, text, 0o644); err != nil {
		return fmt.Errorf("write mosquitto's configuration: %w", err)
	}
	return m.start(ctx)
}

// mosquittoConfig is deploy/mosquitto.conf cut down to what a test needs, with
// every change written at once.
func mosquittoConfig(port int, dir string) string {
	return fmt.Sprintf(`# generated by surehand (internal/embedded); rewritten at each start
listener %d 127.0.0.1
allow_anonymous true
set_tcp_nodelay true
persistence true
persistence_location %s/
autosave_on_changes true
autosave_interval 1
max_inflight_messages 1000
max_queued_messages 100000
message_size_limit 131072
log_dest stderr
log_type error
log_type warning
log_type notice
`, port, dir)
}

// firstListener reads "listener PORT [ADDRESS]" out of a configuration.
func firstListener(text string) (string, error) {
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) < 2 || fields[0] != "listener" {
			continue
		}
		if _, err := strconv.ParseUint(fields[1], 10, 16); err != nil {
			return "", fmt.Errorf("the listener's port %q is no port: %w", fields[1], err)
		}
		host := "127.0.0.1"
		if len(fields) > 2 && fields[2] != "0.0.0.0" {
			host = fields[2]
		}
		return net.JoinHostPort(host, fields[1]), nil
	}
	return "", errors.New("the configuration has no listener line, so the broker's port is unknown")
}

func freePort() (int, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("find a free loopback port: %w", err)
	}
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port, nil
}

func (m *Mosquitto) logFile() string { return filepath.Join(m.options.Dir, "mosquitto.log") }

// start runs the broker until it answers. The caller holds mu.
func (m *Mosquitto) start(ctx context.Context) error {
	output, err := os.Create(m.logFile())
	if err != nil {
		return fmt.Errorf("open mosquitto's log: %w", err)
	}
	defer output.Close()
	broker, err := startChild(childSpec{
		path:     m.program,
		args:     []string{"-c", m.config},
		env:      cleanEnvironment(m.options.Dir, m.libraries),
		dir:      m.options.Dir,
		as:       m.as,
		output:   output,
		lastWill: syscall.SIGTERM,
	})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, mosquittoPatience,
		fmt.Errorf("it did not answer MQTT after %s", mosquittoPatience))
	defer cancel()
	if err := awaitMQTT(ctx, m.address, broker); err != nil {
		_ = broker.signal(syscall.SIGKILL)
		broker.endedWithin(stopPatience)
		return fmt.Errorf("mosquitto at %s did not start: %w; its log ends with:\n%s", m.address, err, lastLines(m.logFile(), 8))
	}
	m.broker = broker
	return nil
}

// URL is where clients connect, as mqtt://127.0.0.1:port. It stays the same
// over Restart.
func (m *Mosquitto) URL() string { return "mqtt://" + m.address }

// Address is the same as host:port.
func (m *Mosquitto) Address() string { return m.address }

// Outside tells that the broker was given to us; Kill and Restart then refuse.
func (m *Mosquitto) Outside() bool { return m.outside }

// Stop ends the broker so that it writes its state. An outside broker stays.
func (m *Mosquitto) Stop(ctx context.Context) error {
	if m.outside {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.stop(ctx)
}

func (m *Mosquitto) stop(ctx context.Context) error {
	broker := m.broker
	m.broker = nil
	if !broker.running() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, mosquittoPatience)
	defer cancel()
	if err := broker.signal(syscall.SIGTERM); err != nil {
		return fmt.Errorf("stop mosquitto: %w", err)
	}
	select {
	case <-broker.done:
		return nil
	case <-ctx.Done():
	}
	_ = broker.signal(syscall.SIGKILL)
	broker.endedWithin(stopPatience)
	return fmt.Errorf("mosquitto at %s did not stop by itself and was killed", m.address)
}

// Kill ends the broker with SIGKILL and returns when it is gone.
func (m *Mosquitto) Kill() error {
	if m.outside {
		return ErrOutsideBroker
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.kill()
}

func (m *Mosquitto) kill() error {
	broker := m.broker
	m.broker = nil
	if !broker.running() {
		return nil
	}
	if err := broker.signal(syscall.SIGKILL); err != nil {
		return fmt.Errorf("kill mosquitto: %w", err)
	}
	<-broker.done
	return nil
}

// Restart starts the broker again at the same address with the state it has on
// disk, after a Kill or by stopping it first.
func (m *Mosquitto) Restart(ctx context.Context) error {
	if m.outside {
		return ErrOutsideBroker
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.stop(ctx); err != nil {
		m.log.Warn("restarting", "error", err)
	}
	return m.start(ctx)
}

// RestartEmpty kills the broker and starts it without any state: sessions,
// retained and queued messages are lost, as after a lost disk.
func (m *Mosquitto) RestartEmpty(ctx context.Context) error {
	if m.outside {
		return ErrOutsideBroker
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.kill(); err != nil {
		return err
	}
	files, err := filepath.Glob(filepath.Join(m.options.Dir, "mosquitto.db*"))
	if err != nil {
		return err
	}
	for _, file := range files {
		if err := os.Remove(file); err != nil {
			return fmt.Errorf("forget the broker's state: %w", err)
		}
	}
	return m.start(ctx)
}
