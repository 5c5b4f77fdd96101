// Package processtest runs the real surehand binary as a process of its own, so that tests can kill it, pause
// it and start it again while database, broker and devices live on.
//
// It builds the binary once per test process, gives each process a port of its own, keeps its log, and ends
// only processes that it started.
package processtest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var build struct {
	once sync.Once
	path string
	err  error
}

// Binary is the path of the product, built once with the race detector off.
func Binary(t testing.TB) string {
	t.Helper()
	build.once.Do(func() {
		dir, err := os.MkdirTemp("", "surehand-binary-")
		if err != nil {
			build.err = err
			return
		}
		build.path = filepath.Join(dir, "surehand")
		out, err := exec.Command("go", "build", "-o", build.path, "surehand/cmd/surehand").CombinedOutput()
		if err != nil {
			build.err = fmt.Errorf("%w: %s", err, out)
		}
	})
	require.NoError(t, build.err)
	return build.path
}

// RemoveBinary removes what Binary made; call it from TestMain.
func RemoveBinary() {
	if build.path != "" {
		_ = os.RemoveAll(filepath.Dir(build.path))
	}
}

// Process is one run of the product.
type Process struct {
	t       testing.TB
	command *exec.Cmd
	log     *logBuffer
	ended   chan struct{}
	err     error
	// Listen is the address of its HTTP interface.
	Listen string
}

// Options of a process.
type Options struct {
	DatabaseURL, BrokerURL string
	Listen                 string   // empty: a free loopback port
	Args                   []string // default: serve
	Env                    []string // further NAME=value
}

// FreeAddress is a loopback address that nobody listens on now. It lies below the ports that the system gives away by
// itself, so that no connection or listener of another test takes it meanwhile.
func FreeAddress(t testing.TB) string {
	t.Helper()
	for range 1000 {
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", lowestPort+int(port.Add(1))%ports))
		if err != nil {
			continue // taken
		}
		require.NoError(t, l.Close())
		return l.Addr().String()
	}
	t.Fatal("no port is free")
	return ""
}

// Ports handed out: from a place of this test process's own, one after the other.
const lowestPort, ports = 10000, 20000

var port = func() *atomic.Int64 {
	var n atomic.Int64
	n.Store(int64(os.Getpid()) * 97)
	return &n
}()

// Start runs the product and returns at once; Ready waits for it. It is ended with the test.
func Start(t testing.TB, o Options) *Process {
	t.Helper()
	if o.Listen == "" {
		o.Listen = FreeAddress(t)
	}
	if o.Args == nil {
		o.Args = []string{"serve"}
	}
	p := &Process{t: t, log: &logBuffer{}, ended: make(chan struct{}), Listen: o.Listen}
	p.command = exec.Command(Binary(t), o.Args...)
	p.command.Env = append([]string{"HOME=" + os.Getenv("HOME"), "PATH=" + os.Getenv("PATH"), "SUREHAND_DATABASE_URL=" + o.DatabaseURL,
		"SUREHAND_MQTT_URL=" + o.BrokerURL, "SUREHAND_HTTP_LISTEN=" + o.Listen, "SUREHAND_LOG_FORMAT=json"}, o.Env...)
	p.command.Stdout, p.command.Stderr = p.log, p.log
	p.command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	require.NoError(t, p.command.Start())
	go func() { p.err = p.command.Wait(); close(p.ended) }()
	t.Cleanup(func() {
		p.Kill()
		if t.Failed() {
			t.Logf("log of process %d:\n%s", p.command.Process.Pid, p.log.tail(60))
		}
	})
	return p
}

// Migrate brings the database to the schema of the product.
func Migrate(t testing.TB, databaseURL string) {
	t.Helper()
	p := Start(t, Options{DatabaseURL: databaseURL, BrokerURL: "mqtt://127.0.0.1:1", Args: []string{"migrate"}})
	require.NoError(t, p.Wait(time.Minute), p.log.tail(20))
}

// Ready waits until the process says that it is.
func (p *Process) Ready(within time.Duration) *Process {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	for {
		if status, _ := p.Get(ctx, "/readyz"); status == http.StatusOK {
			return p
		}
		tick := time.NewTimer(20 * time.Millisecond)
		select {
		case <-tick.C:
		case <-p.ended:
			p.t.Fatalf("the process ended before it was ready: %v\n%s", p.err, p.log.tail(30))
		case <-ctx.Done():
			p.t.Fatalf("the process was not ready within %s\n%s", within, p.log.tail(30))
		}
	}
}

// Get asks its HTTP interface; status 0: no answer.
func (p *Process) Get(ctx context.Context, path string) (int, []byte) {
	return p.call(ctx, http.MethodGet, path, "", nil)
}

// Post sends a body to its HTTP interface; status 0: no answer.
func (p *Process) Post(ctx context.Context, path, contentType string, body []byte) (int, []byte) {
	return p.call(ctx, http.MethodPost, path, contentType, body)
}

func (p *Process) call(ctx context.Context, method, path, contentType string, body []byte) (int, []byte) {
	request, err := http.NewRequestWithContext(ctx, method, "http://"+p.Listen+path, bytes.NewReader(body))
	if err != nil {
		return 0, nil
	}
	if contentType != "" {
		request.Header.Set("Content-Type", contentType)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, nil
	}
	data, err := io.ReadAll(response.Body)
	if err = errors.Join(err, response.Body.Close()); err != nil {
		return 0, nil
	}
	return response.StatusCode, data
}

// Import sends a device file and demands that it is taken.
func (p *Process) Import(yaml []byte) {
	p.t.Helper()
	status, body := p.Post(context.Background(), "/api/v1/configuration/import", "text/yaml", yaml)
	require.Equal(p.t, http.StatusOK, status, string(body))
}

// JSON asks for a path and decodes the answer.
func (p *Process) JSON(path string, into any) {
	p.t.Helper()
	status, body := p.Get(context.Background(), path)
	require.Equal(p.t, http.StatusOK, status, string(body))
	require.NoError(p.t, json.Unmarshal(body, into))
}

// Kill ends it with SIGKILL, as a crash does, and returns when it is gone.
func (p *Process) Kill() { p.signal(syscall.SIGKILL); <-p.ended }

// Term asks it to end.
func (p *Process) Term() { p.signal(syscall.SIGTERM) }

// Pause freezes it and returns when every thread of it stands still, which on a busy machine is not at once;
// Resume lets it go on.
func (p *Process) Pause() {
	p.t.Helper()
	p.signal(syscall.SIGSTOP)
	deadline := time.NewTimer(10 * time.Second)
	defer deadline.Stop()
	for !p.standsStill() {
		tick := time.NewTimer(time.Millisecond)
		select {
		case <-tick.C:
		case <-p.ended:
			return
		case <-deadline.C:
			p.t.Fatalf("process %d did not stop", p.command.Process.Pid)
		}
	}
}

func (p *Process) standsStill() bool {
	states, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", p.command.Process.Pid))
	if err != nil || len(states) == 0 {
		return false
	}
	for _, file := range states {
		stat, err := os.ReadFile(file)
		if err != nil { // a thread that has just ended
			continue
		}
		// The state follows the program's name, which is in brackets.
		if _, state, _ := strings.Cut(string(stat), ") "); !strings.HasPrefix(state, "T") {
			return false
		}
	}
	return true
}

func (p *Process) Resume() { p.signal(syscall.SIGCONT) }

func (p *Process) signal(s syscall.Signal) {
	select {
	case <-p.ended:
	default:
		_ = p.command.Process.Signal(s) // it may have ended this very moment
	}
}

// Ended is closed when the process is gone.
func (p *Process) Ended() <-chan struct{} { return p.ended }

// Wait returns how it ended.
func (p *Process) Wait(within time.Duration) error {
	p.t.Helper()
	timer := time.NewTimer(within)
	defer timer.Stop()
	select {
	case <-p.ended:
		return p.err
	case <-timer.C:
		p.t.Fatalf("the process did not end within %s\n%s", within, p.log.tail(30))
		return nil
	}
}

// Log is what it wrote so far.
func (p *Process) Log() string { return p.log.String() }

// logBuffer keeps the last part of a log.
type logBuffer struct {
	mu   sync.Mutex
	data []byte
}

const maxLogBytes = 4 << 20

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.data) > maxLogBytes {
		b.data = append(b.data[:0], b.data[maxLogBytes/2:]...)
	}
	b.data = append(b.data, p...)
	return len(p), nil
}

func (b *logBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return string(b.data)
}

func (b *logBuffer) tail(lines int) string {
	all := strings.Split(strings.TrimSpace(b.String()), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}
