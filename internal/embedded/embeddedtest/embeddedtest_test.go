package embeddedtest_test

import (
	"bufio"
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"surehand/internal/embedded"
	"surehand/internal/embedded/embeddedtest"
)

func TestDatabaseIsFreshAndDropped(t *testing.T) {
	// Tests must not reach a database that matters, whatever the shell holds.
	t.Setenv("SUREHAND_DATABASE_URL", "postgres://nobody@127.0.0.1:1/production")
	t.Setenv("TEST_DATABASE_URL", "")
	var first, second string
	t.Run("two tests", func(t *testing.T) {
		first, second = embeddedtest.Database(t), embeddedtest.Database(t)
		require.NotEqual(t, first, second)
		execute(t, first, "CREATE TABLE made (n int)")
		execute(t, second, "CREATE TABLE made (n int)")
	})
	_, err := pgx.Connect(t.Context(), first)
	require.ErrorContains(t, err, "does not exist")

	again := embeddedtest.Database(t)
	execute(t, again, "CREATE TABLE made (n int)")
}

func TestDatabaseIsDroppedWithConnectionsLeftOpen(t *testing.T) {
	t.Setenv("TEST_DATABASE_URL", "")
	var left *pgx.Conn
	t.Run("a careless test", func(t *testing.T) {
		left = connect(t, embeddedtest.Database(t))
	})
	require.Error(t, left.Ping(t.Context()))
}

func TestDatabaseLikeCopiesATemplateFilledOnce(t *testing.T) {
	t.Setenv("TEST_DATABASE_URL", "")
	filled := 0
	fill := func(url string) error {
		filled++
		conn, err := pgx.Connect(context.Background(), url)
		if err != nil {
			return err
		}
		defer conn.Close(context.Background())
		_, err = conn.Exec(context.Background(), "CREATE TABLE made (n int); INSERT INTO made VALUES (7)")
		return err
	}
	for range 3 {
		database := embeddedtest.DatabaseLike(t, "seven", fill)
		var n int
		require.NoError(t, connect(t, database).QueryRow(t.Context(), "SELECT n FROM made").Scan(&n))
		require.Equal(t, 7, n)
		execute(t, database, "DELETE FROM made")
	}
	require.Equal(t, 1, filled)
}

func TestDatabaseOnAServerFromOutside(t *testing.T) {
	outside := embeddedtest.Postgres(t)
	t.Setenv("TEST_DATABASE_URL", outside.URL("postgres"))
	databases := func() (n int) {
		conn := connect(t, outside.URL("postgres"))
		require.NoError(t, conn.QueryRow(t.Context(), "SELECT count(*) FROM pg_database").Scan(&n))
		return n
	}
	before := databases()
	t.Run("a test", func(t *testing.T) {
		parsed, err := url.Parse(embeddedtest.Database(t))
		require.NoError(t, err)
		given, err := url.Parse(outside.URL("postgres"))
		require.NoError(t, err)
		require.Equal(t, given.RawQuery, parsed.RawQuery, "the same server")
		require.True(t, strings.HasPrefix(parsed.Path, "/surehand_test_"), parsed.Path)
		embeddedtest.DatabaseLike(t, "empty", func(string) error { return nil })
		require.Equal(t, before+3, databases(), "the two of this test and a template")
	})
	require.Equal(t, before, databases(), "nothing is left on somebody's server")

	own := embeddedtest.Postgres(t)
	require.NotEqual(t, outside.Folder(), own.Folder(), "a test that kills its server gets one of its own")
}

func TestBrokerFromOutside(t *testing.T) {
	t.Setenv("TEST_MQTT_URL", "")
	outside := embeddedtest.Broker(t)
	require.False(t, outside.Outside())
	t.Setenv("TEST_MQTT_URL", outside.URL())
	shared := embeddedtest.Broker(t)
	require.Equal(t, outside.Address(), shared.Address())
	require.ErrorIs(t, shared.Kill(), embedded.ErrOutsideBroker)
	own := embeddedtest.OwnBroker(t)
	require.NotEqual(t, outside.Address(), own.Address())
	require.NoError(t, own.Kill())
}

// Nothing is left of a test process that is killed: no server, no folder.
func TestKilledTestProcessLeavesNothing(t *testing.T) {
	if os.Getenv("SUREHAND_TEST_DIE") != "" {
		t.Setenv("TEST_DATABASE_URL", "")
		database, err := url.Parse(embeddedtest.Database(t))
		require.NoError(t, err)
		broker := embeddedtest.OwnBroker(t)
		fmt.Fprintln(os.Stdout, "socket", database.Query().Get("host"))
		fmt.Fprintln(os.Stdout, "folder", embeddedtest.Folder(t))
		fmt.Fprintln(os.Stdout, "broker", broker.Address())
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}
	cmd := exec.Command(os.Args[0], "-test.run", "^TestKilledTestProcessLeavesNothing$")
	cmd.Env = append(os.Environ(), "SUREHAND_TEST_DIE=yes")
	output, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	said := map[string]string{}
	for lines := bufio.NewScanner(output); lines.Scan(); {
		key, value, _ := strings.Cut(lines.Text(), " ")
		said[key] = value
	}
	require.ErrorContains(t, cmd.Wait(), "killed")
	require.NotEmpty(t, said["broker"], "the process came as far as its end")
	work, _, ok := strings.Cut(said["folder"], "/folder-")
	require.True(t, ok, said["folder"])
	require.True(t, strings.HasPrefix(said["socket"], work), "%s is in %s", said["socket"], work)

	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	late := time.After(20 * time.Second)
	for {
		_, err := os.Stat(work)
		_, answers := pgx.Connect(t.Context(), "postgres:///postgres?user=postgres&host="+url.QueryEscape(said["socket"]))
		if os.IsNotExist(err) && answers != nil {
			return
		}
		select {
		case <-look.C:
		case <-late:
			t.Fatalf("%s is still there", work)
		}
	}
}

func TestAsNormalUser(t *testing.T) {
	embeddedtest.AsNormalUser(t, "^(TestDatabaseIsFreshAndDropped|TestKilledTestProcessLeavesNothing)$")
}

func connect(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

func execute(t *testing.T, url, statement string) {
	t.Helper()
	_, err := connect(t, url).Exec(t.Context(), statement)
	require.NoError(t, err)
}
