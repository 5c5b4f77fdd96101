package stories

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"surehand/internal/embedded"
	"surehand/internal/embedded/embeddedtest"
	"surehand/internal/service/processtest"
)

// site is one plant of a story: its own database and broker, and the process that may be killed.
type site struct {
	t        testing.TB
	database string
	broker   *embedded.Mosquitto
	*processtest.Process
}

// open is a site with the farm of testdata imported.
func open(t testing.TB) *site {
	t.Helper()
	s := prepare(t)
	s.start()
	s.Import(farm(t))
	return s
}

// prepare is a site with a migrated database, and no process yet.
func prepare(t testing.TB) *site {
	t.Helper()
	s := &site{t: t, broker: shippedBroker(t), database: emptyDatabase(t)}
	processtest.Migrate(t, s.database)
	return s
}

// start begins a process life and waits until all three of its links are up.
func (s *site) start() {
	s.t.Helper()
	s.Process = processtest.Start(s.t, processtest.Options{DatabaseURL: s.database, BrokerURL: s.broker.URL()})
	s.Ready(patience)
	until(s.t, "all links are up", func() bool {
		return s.metric(`surehand_link_up{link="commands"}`) == 1 && s.metric(`surehand_link_up{link="answers"}`) == 1 &&
			s.metric(`surehand_link_up{link="telemetry"}`) == 1
	})
}

// crash is kill -9 and a new start.
func (s *site) crash() {
	s.t.Helper()
	s.Kill()
	s.start()
}

// surehand runs one command of the product against this site and gives what it printed.
func (s *site) surehand(args ...string) (string, error) {
	s.t.Helper()
	return surehand(s.t, processtest.Options{DatabaseURL: s.database, BrokerURL: s.broker.URL(), Listen: s.Listen, Args: args})
}

func surehand(t testing.TB, o processtest.Options) (string, error) {
	t.Helper()
	p := processtest.Start(t, o)
	err := p.Wait(patience)
	return p.Log(), err
}

func farm(t testing.TB) []byte {
	t.Helper()
	data, err := os.ReadFile("testdata/site.yaml")
	require.NoError(t, err)
	return data
}

// shippedBroker is mosquitto under deploy/mosquitto.conf, line by line but for the port and the folder, which
// the tests of one machine cannot share.
func shippedBroker(t testing.TB) *embedded.Mosquitto {
	t.Helper()
	shipped, err := os.ReadFile("../../deploy/mosquitto.conf")
	require.NoError(t, err)
	dir := embeddedtest.Folder(t)
	_, port, _ := strings.Cut(processtest.FreeAddress(t), ":")
	text := replaceLine(t, string(shipped), "listener 1883 127.0.0.1", "listener "+port+" 127.0.0.1")
	text = replaceLine(t, text, "persistence_location /var/lib/mosquitto/", "persistence_location "+dir+"/")
	conf := filepath.Join(t.TempDir(), "mosquitto.conf")
	require.NoError(t, os.WriteFile(conf, []byte(text), 0o600))
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	broker, err := embedded.StartMosquitto(ctx, embedded.MosquittoOptions{Dir: dir, Config: conf})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, broker.Stop(context.Background())) })
	return broker
}

func replaceLine(t testing.TB, text, old, new string) string {
	t.Helper()
	line := regexp.MustCompile("(?m)^" + regexp.QuoteMeta(old) + "$")
	require.Len(t, line.FindAllString(text, -1), 1, "deploy/mosquitto.conf has the line %q once", old)
	return line.ReplaceAllLiteralString(text, new)
}
