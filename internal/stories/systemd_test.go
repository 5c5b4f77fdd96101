package stories

import (
	"net"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"surehand/internal/embedded/pgproxy"
	"surehand/internal/service/processtest"
)

// systemd is the socket that a service of Type=notify is given.
type systemd struct {
	t      testing.TB
	socket *net.UnixConn
}

func startSystemd(t testing.TB) (d *systemd, path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "notify")
	socket, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	require.NoError(t, err)
	t.Cleanup(func() { _ = socket.Close() })
	return &systemd{t, socket}, path
}

// until reads on to the datagram with a line, and gives the lines of all before it.
func (d *systemd) until(line string) (before []string) {
	d.t.Helper()
	require.NoError(d.t, d.socket.SetReadDeadline(time.Now().Add(patience)))
	b := make([]byte, 4096)
	for {
		n, err := d.socket.Read(b)
		require.NoError(d.t, err, "not said: %s; but: %q", line, before)
		lines := strings.Split(string(b[:n]), "\n")
		if slices.Contains(lines, line) {
			return before
		}
		before = append(before, lines...)
	}
}

// The service that deploy/surehand.service starts: ready only with its database, alive also without it.
func TestSystemdHearsReadyAliveAndStopping(t *testing.T) {
	t.Parallel()
	s := prepare(t)
	proxy, err := pgproxy.Start(s.database)
	require.NoError(t, err)
	t.Cleanup(func() { _ = proxy.Close() })
	d, path := startSystemd(t)
	p := processtest.Start(t, processtest.Options{DatabaseURL: proxy.URL(), BrokerURL: s.broker.URL(),
		Env: []string{"NOTIFY_SOCKET=" + path, "WATCHDOG_USEC=4000000"}})

	before := d.until("READY=1")
	require.NotContains(t, before, "STOPPING=1")
	status, _ := p.Get(t.Context(), "/healthz")
	require.Equal(t, 200, status, "HTTP answers when ready is said")
	d.until("WATCHDOG=1")

	proxy.Refuse(true)
	proxy.Cut()
	devices, asked := farm(t), make(chan struct{}) // an idle loop writes nothing, and would not notice
	go func() {
		defer close(asked)
		p.Post(t.Context(), "/api/v1/configuration/import", "text/yaml", devices)
	}()
	d.until("STATUS=waits for the database: nothing is sent until it is back")
	for range 3 { // longer than one look: it stays alive without a database
		d.until("WATCHDOG=1")
	}
	proxy.Refuse(false)
	d.until("STATUS=running")
	d.until("WATCHDOG=1")

	<-asked
	p.Term()
	d.until("STOPPING=1")
	require.NoError(t, p.Wait(patience))
}
