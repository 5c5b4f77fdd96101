package crash

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"surehand/internal/embedded"
	"surehand/internal/embedded/embeddedtest"
	"surehand/internal/embedded/pgproxy"
	"surehand/internal/service/processtest"
)

var (
	seedFlag    = flag.Uint64("seed", 0, "choose the moments and faults of an earlier run; 0: new ones")
	kills       = flag.Int("kills", 8, "how often TestKill kills the process")
	dbKills     = flag.Int("dbkills", 2, "how often TestDatabaseKilled kills PostgreSQL")
	brokerKills = flag.Int("brokerkills", 2, "how often TestBrokerKilled kills the broker")
	doubts      = flag.Int("doubts", 6, "how many commits TestCommitInDoubtUnderLoad puts in doubt")
	away        = flag.Duration("away", 20*time.Second, "how long TestDatabaseAway keeps the database away")
)

func TestMain(m *testing.M) {
	flag.Parse()
	if !parallelGiven() { // these tests wait more than they work
		if err := flag.Set("test.parallel", "5"); err != nil {
			panic(err)
		}
	}
	code := m.Run()
	processtest.RemoveBinary()
	os.Exit(code)
}

func parallelGiven() (given bool) {
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	return given
}

// world is one site: database, broker, devices and the product.
type world struct {
	t       *testing.T
	random  *rand.Rand // of the test's own goroutine
	seed    uint64
	pg      *embedded.Postgres
	url     string // of the database, without proxy
	proxy   *pgproxy.Proxy
	broker  *embedded.Mosquitto
	through *valve // between the process and the broker
	process *processtest.Process
	listen  atomic.Value // string: where the product's HTTP interface is
	starts  int
	fleet   *fleet
	ends    map[string]string // ends of commands that were seen: they never change
	frozen  []int             // sessions of the database server
	// of trapFence: what it sent, and the last turn before its trap
	trapped    []*wish
	turnAtTrap int
}

// newWorld starts database and broker; the product and the devices come with run.
func newWorld(t *testing.T) *world {
	t.Helper()
	seed := *seedFlag
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("replay the moments of this run with -run '^%s$' -seed %d", t.Name(), seed)
	w := &world{t: t, seed: seed, random: rand.New(rand.NewPCG(seed, 0)), ends: map[string]string{}}
	w.listen.Store(processtest.FreeAddress(t))
	w.startDatabase()
	w.startBroker()
	processtest.Migrate(t, w.url)
	return w
}

// startDatabase starts a PostgreSQL that syncs: the product refuses any other.
func (w *world) startDatabase() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	var err error
	w.pg, err = embedded.StartPostgres(ctx, embedded.PostgresOptions{Dir: embeddedtest.Folder(w.t), Durable: true})
	require.NoError(w.t, err)
	w.t.Cleanup(func() {
		w.pg.Kill() // its folder goes with the test
		require.NoError(w.t, w.pg.Stop(context.Background()))
	})
	require.NoError(w.t, w.pg.CreateDatabase(ctx, "surehand"))
	w.url = w.pg.URL("surehand")
	w.proxy, err = pgproxy.Start(w.url)
	require.NoError(w.t, err)
	w.t.Cleanup(func() { require.NoError(w.t, w.proxy.Close()) })
}

// startBroker starts mosquitto as shipped, but for the place of its state, its port and its log.
func (w *world) startBroker() {
	shipped, err := os.ReadFile(filepath.Join("..", "..", "deploy", "mosquitto.conf"))
	require.NoError(w.t, err)
	dir := filepath.Join(embeddedtest.Folder(w.t), "broker")
	text := string(shipped)
	_, port, err := net.SplitHostPort(processtest.FreeAddress(w.t))
	require.NoError(w.t, err)
	for _, change := range [][2]string{
		{"listener 1883 127.0.0.1", "listener " + port + " 127.0.0.1"},
		{"persistence_location /var/lib/mosquitto/", "persistence_location " + dir + "/"},
		{"log_dest syslog", "log_dest stderr"},
	} {
		require.Equal(w.t, 1, strings.Count(text, change[0]), "deploy/mosquitto.conf has changed: %s", change[0])
		text = strings.Replace(text, change[0], change[1], 1)
	}
	file := filepath.Join(w.t.TempDir(), "mosquitto.conf")
	require.NoError(w.t, os.WriteFile(file, []byte(text), 0o644))
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	w.broker, err = embedded.StartMosquitto(ctx, embedded.MosquittoOptions{Dir: dir, Config: file})
	require.NoError(w.t, err)
	w.t.Cleanup(func() {
		require.NoError(w.t, w.broker.Kill())
		require.NoError(w.t, w.broker.Stop(context.Background()))
	})
	w.through = newValve(w.t, w.broker.Address())
}

// address is where people reach the product; a takeover changes it.
func (w *world) address() string { return w.listen.Load().(string) }

// start runs the product, without waiting for it.
func (w *world) start(more ...string) *processtest.Process {
	w.t.Helper()
	w.starts++
	w.process = w.another(w.proxy.URL(), w.address(), more...)
	return w.process
}

func (w *world) another(url, listen string, more ...string) *processtest.Process {
	return processtest.Start(w.t, processtest.Options{DatabaseURL: url, BrokerURL: w.through.url(), Listen: listen, Args: append([]string{"serve"}, more...),
		Env: []string{"SUREHAND_LOG_LEVEL=warn"}})
}

// run starts the product and the fleet, and returns when every device was heard.
func (w *world) run(devices int, how manner) {
	w.t.Helper()
	w.start().Ready(30 * time.Second)
	w.process.Import([]byte(fleetYAML(devices)))
	w.linksUp(w.process, 20*time.Second)
	w.fleet = newFleet(w, devices, how)
	until(w.t, 20*time.Second, "every device is heard", func() bool {
		return w.number("SELECT count(*) FROM devices WHERE boot_id IS NOT NULL") == devices
	})
}

// linksUp waits until the process has its three connections to the broker.
func (w *world) linksUp(p *processtest.Process, within time.Duration) {
	w.t.Helper()
	until(w.t, within, "the broker connections are up", func() bool {
		var system struct{ Links map[string]string }
		if !getJSON(p.Listen, "/api/v1/system", &system) {
			return false
		}
		up := 0
		for _, state := range system.Links {
			if state == "up" {
				up++
			}
		}
		return up == 3
	})
}

// query reads text rows straight from the database.
func (w *world) query(sql string, args ...any) ([][]string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, w.url)
	if err != nil {
		return nil, err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	rows, err := conn.Query(ctx, sql, append([]any{pgx.QueryExecModeSimpleProtocol}, args...)...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(r pgx.CollectableRow) ([]string, error) {
		row := make([]string, len(r.RawValues()))
		for n, v := range r.RawValues() {
			row[n] = string(v)
		}
		return row, nil
	})
}

func (w *world) rows(sql string, args ...any) [][]string {
	w.t.Helper()
	rows, err := w.query(sql, args...)
	require.NoError(w.t, err)
	return rows
}

func (w *world) number(sql string, args ...any) (n int) {
	w.t.Helper()
	rows := w.rows(sql, args...)
	_, err := fmt.Sscan(rows[0][0], &n)
	require.NoError(w.t, err)
	return n
}

// until asks again and again, for the things that give no signal of their own.
func until(t *testing.T, within time.Duration, what string, is func() bool) {
	t.Helper()
	look := time.NewTicker(25 * time.Millisecond)
	defer look.Stop()
	over := time.NewTimer(within)
	defer over.Stop()
	for !is() {
		select {
		case <-look.C:
		case <-over.C:
			t.Fatalf("not within %s: %s", within, what)
		}
	}
}

// moment waits for a random while: what is killed after it was doing anything.
func (w *world) moment(least, most time.Duration) {
	<-time.After(least + time.Duration(w.random.Int64N(int64(most-least)+1)))
}
