package browser

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"surehand/internal/embedded"
	"surehand/internal/embedded/embeddedtest"
	"surehand/internal/embedded/pgproxy"
	"surehand/internal/service/processtest"
	"surehand/internal/simulator/line"
)

// site is one plant with a simulated line that lives on while the product is killed.
type site struct {
	t        testing.TB
	database *pgproxy.Proxy
	broker   *embedded.Mosquitto
	plant    *line.World
	*processtest.Process
}

// Numbers of the places on the wire.
const (
	dockFirst, bufferFirst, exitPlace = 1, 21, 99
	latheFirst, millFirst             = 41, 51
)

// newSite starts everything, imports a plant file and confirms the first comparison.
func newSite(t *testing.T) *site {
	t.Helper()
	s := &site{t: t}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute) // a fresh machine installs PostgreSQL first
	defer cancel()
	pg, err := embedded.StartPostgres(ctx, embedded.PostgresOptions{Dir: embeddedtest.Folder(t), Durable: true})
	require.NoError(t, err)
	t.Cleanup(func() {
		pg.Kill() // its folder goes with the test
		require.NoError(t, pg.Stop(context.Background()))
	})
	require.NoError(t, pg.CreateDatabase(ctx, "surehand"))
	processtest.Migrate(t, pg.URL("surehand"))
	s.database, err = pgproxy.Start(pg.URL("surehand"))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.database.Close()) })
	s.broker = embeddedtest.Broker(t)
	s.plant, err = line.Start(line.Options{
		Dock: line.Row{First: dockFirst, Count: 6}, Buffer: line.Row{First: bufferFirst, Count: 8}, Exit: exitPlace,
		Robot: line.RobotOptions{MoveTime: 150 * time.Millisecond},
		Machines: []line.MachineOptions{{Name: "lathe", First: latheFirst, CycleTime: 300 * time.Millisecond},
			{Name: "mill", First: millFirst, Slots: 2, CycleTime: 300 * time.Millisecond, Inspects: true}},
	})
	require.NoError(t, err)
	t.Cleanup(s.plant.Close)
	s.start(processtest.FreeAddress(t))
	s.accepts("/plant", "text/yaml", s.yaml())
	until(t, "the first comparison is confirmed", func() bool {
		status, _ := s.post("/recovery/confirm", "application/json", `{"reason":"first start, I looked"}`)
		return status == http.StatusOK
	})
	return s
}

// start runs the product; a restart has the same address, so that a page finds it again.
func (s *site) start(listen string) {
	s.t.Helper()
	s.Process = processtest.Start(s.t, processtest.Options{DatabaseURL: s.database.URL(), BrokerURL: s.broker.URL(), Listen: listen, Env: []string{"SUREHAND_LOG_LEVEL=warn"}})
	s.Ready(patience)
}

func (s *site) yaml() string {
	modbus := func(kind, address string) string {
		return fmt.Sprintf(`{type: modbus-%s, address: "%s", unit: 1, command: 0, status: 100, poll: 20ms, stale: 1s, timeout: 300ms}`, kind, address)
	}
	b := &strings.Builder{}
	fmt.Fprintf(b, "cell:\n  name: cell-1\n  dock: {places: 6, first: %d}\n  buffer: {places: 8, first: %d}\n  exit: %d\nequipment:\n", dockFirst, bufferFirst, exitPlace)
	fmt.Fprintf(b, "  - {id: lathe, name: Lathe, kind: machine, first: %d, actionTime: 5s, driver: %s}\n", latheFirst, modbus("machine", s.plant.Machine("lathe").Address()))
	fmt.Fprintf(b, "  - {id: mill, name: Mill, kind: machine, slots: 2, first: %d, actionTime: 5s, driver: %s}\n", millFirst, modbus("machine", s.plant.Machine("mill").Address()))
	fmt.Fprintf(b, "  - {id: robot, kind: robot, actionTime: 1m, driver: %s}\n", modbus("robot", s.plant.Robot().Address()))
	b.WriteString("routes:\n  - {id: housing, steps: [{machine: lathe, program: 7, expected: 1s, timeout: 1m}, {machine: mill, program: 12, expected: 1s, timeout: 1m}]}\n")
	return b.String()
}

func (s *site) post(path, contentType, body string) (int, []byte) {
	return s.Post(context.Background(), "/api/v1"+path, contentType, []byte(body))
}

func (s *site) accepts(path, contentType, body string) {
	s.t.Helper()
	status, answer := s.post(path, contentType, body)
	require.Equal(s.t, http.StatusOK, status, "%s: %s", path, answer)
}

// begin creates an order, brings its pallet and starts it.
func (s *site) begin(order string, parts int) {
	s.t.Helper()
	s.accepts("/orders", "application/json", fmt.Sprintf(`{"id":%q,"route":"housing","quantity":%d}`, order, parts))
	_, err := s.plant.Arrive(parts)
	require.NoError(s.t, err)
	s.accepts("/orders/"+order+"/pallets", "application/json", fmt.Sprintf(`{"pallet":"pallet-of-%s","quantity":%d}`, order, parts))
	s.accepts("/orders/"+order+"/start", "application/json", `{}`)
}

// logged counts the rows of the event log of one type.
func (s *site) logged(kind string) int {
	s.t.Helper()
	var rows struct{ Items []json.RawMessage }
	s.JSON("/api/v1/log?limit=500&type="+kind, &rows)
	return len(rows.Items)
}

// completed is how many parts of an order are done.
func (s *site) completed(order string) int {
	s.t.Helper()
	var o struct{ Completed int }
	s.JSON("/api/v1/orders/"+order, &o)
	return o.Completed
}
