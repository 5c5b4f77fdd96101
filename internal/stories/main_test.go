package stories

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"surehand/internal/embedded"
	"surehand/internal/embedded/embeddedtest"
	"surehand/internal/service/processtest"
)

// patience bounds every wait for something that must happen. It is for a loaded machine: nothing here waits for
// it to end.
const patience = 45 * time.Second

func TestMain(m *testing.M) {
	flag.Parse()
	// A story waits for windows of the device contract most of its time, so more of them fit than there are
	// processors. Asked for otherwise, that stands.
	asked := false
	flag.Visit(func(f *flag.Flag) { asked = asked || f.Name == "test.parallel" })
	if !asked {
		if err := flag.Set("test.parallel", "6"); err != nil {
			panic(err)
		}
	}
	code := m.Run()
	processtest.RemoveBinary()
	if server.Postgres != nil {
		server.Kill()
		_ = server.Stop(context.Background()) // nothing is left to save
		_ = os.RemoveAll(server.folder)
	}
	os.Exit(code)
}

// server is the PostgreSQL of this test process, with a database for each story. It syncs its commits: the
// product refuses one that does not, which is what embeddedtest gives for speed.
var server struct {
	*embedded.Postgres
	folder string
	once   sync.Once
	err    error
	made   atomic.Int64
}

// emptyDatabase is the URL of a new database without tables.
func emptyDatabase(t testing.TB) string {
	t.Helper()
	if os.Getenv("TEST_DATABASE_URL") != "" {
		return embeddedtest.Database(t)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute) // a fresh machine installs it first
	defer cancel()
	server.once.Do(func() {
		if server.folder, server.err = os.MkdirTemp("", "surehand-stories-"); server.err != nil {
			return
		}
		if server.err = os.Chmod(server.folder, 0o711); server.err != nil { // for the user that root runs it as
			return
		}
		server.Postgres, server.err = embedded.StartPostgres(ctx, embedded.PostgresOptions{Dir: filepath.Join(server.folder, "postgres"), Durable: true})
	})
	require.NoError(t, server.err)
	name := fmt.Sprintf("story_%d", server.made.Add(1))
	require.NoError(t, server.CreateDatabase(ctx, name))
	return server.URL(name)
}

// until waits for a condition that is read from outside, such as a state over HTTP.
func until(t testing.TB, what string, met func() bool) {
	t.Helper()
	late := time.NewTimer(patience)
	defer late.Stop()
	look := time.NewTicker(25 * time.Millisecond)
	defer look.Stop()
	for !met() {
		select {
		case <-look.C:
		case <-late.C:
			t.Fatalf("not within %s: %s", patience, what)
		}
	}
}
