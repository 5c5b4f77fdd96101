package embedded_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"surehand/internal/embedded"
	"surehand/internal/embedded/embeddedtest"
)

func startPostgres(t *testing.T, options embedded.PostgresOptions) *embedded.Postgres {
	t.Helper()
	server, err := embedded.StartPostgres(t.Context(), options)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Stop(context.Background())) })
	return server
}

// remember writes one row; recall reads it back.
func remember(t *testing.T, server *embedded.Postgres, text string) {
	t.Helper()
	query(t, server, "CREATE TABLE IF NOT EXISTS remembered (said text)")
	query(t, server, fmt.Sprintf("INSERT INTO remembered VALUES ('%s')", text))
}

func recall(t *testing.T, server *embedded.Postgres) string {
	t.Helper()
	return query(t, server, "SELECT string_agg(said, ' ') FROM remembered")
}

// query returns the first column of the first row, if there is one.
func query(t *testing.T, server *embedded.Postgres, sql string) string {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), server.URL("postgres"))
	require.NoError(t, err)
	defer conn.Close(context.Background())
	rows, err := conn.Query(t.Context(), sql)
	require.NoError(t, err)
	answers, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	if len(answers) == 0 {
		return ""
	}
	return answers[0]
}

func TestPostgresKeepsItsDataOverARestart(t *testing.T) {
	for name, durable := range map[string]bool{"durable": true, "throwaway": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			options := embedded.PostgresOptions{Dir: filepath.Join(embeddedtest.Folder(t), "pg"), Durable: durable}
			first := startPostgres(t, options)
			require.Equal(t, map[bool]string{true: "on", false: "off"}[durable], query(t, first, "SHOW fsync"))
			require.Equal(t, "on", query(t, first, "SHOW synchronous_commit"))
			require.Equal(t, "", query(t, first, "SHOW listen_addresses"), "nothing listens on the network")
			remember(t, first, "once")
			require.NoError(t, first.Stop(t.Context()))
			require.NoError(t, first.Stop(t.Context()), "stopping twice is harmless")
			require.Zero(t, first.Pid())
			require.ErrorContains(t, first.Restart(t.Context()), "call StartPostgres")

			second := startPostgres(t, options)
			require.Equal(t, "once", recall(t, second))
			require.NoError(t, second.Restart(t.Context()))
			require.Equal(t, "once", recall(t, second))
		})
	}
}

// One cluster goes through every way in which a server can end; each story
// starts from a running server and leaves a running one.
func TestPostgresStartsAgainAfterEveryEnd(t *testing.T) {
	t.Parallel()
	options := embedded.PostgresOptions{Dir: embeddedtest.Folder(t)}
	server := startPostgres(t, options)
	remember(t, server, "committed")

	t.Run("killed with all its children", func(t *testing.T) {
		open, err := pgx.Connect(t.Context(), server.URL("postgres"))
		require.NoError(t, err)
		pid := server.Pid()
		server.Kill()
		require.Zero(t, server.Pid())
		require.ErrorIs(t, syscall.Kill(pid, 0), syscall.ESRCH)
		require.Error(t, open.Ping(t.Context()))
		_, err = pgx.Connect(t.Context(), server.URL("postgres"))
		require.Error(t, err)

		require.NoError(t, server.Restart(t.Context()))
		require.Equal(t, "committed", recall(t, server), "same URL, same data")
		require.Contains(t, serverLog(t, server), "automatic recovery in progress")
	})

	// The data folder is not empty when the next start comes.
	t.Run("killed alone while a child is in a long query", func(t *testing.T) {
		open, err := pgx.Connect(t.Context(), server.URL("postgres"))
		require.NoError(t, err)
		busy := make(chan error, 1)
		go func() {
			_, err := open.Exec(context.Background(), "SELECT pg_sleep(60)")
			busy <- err
		}()
		awaitTrue(t, func() bool {
			return query(t, server, "SELECT count(*)::text FROM pg_stat_activity WHERE wait_event = 'PgSleep'") == "1"
		})
		require.NoError(t, syscall.Kill(server.Pid(), syscall.SIGKILL))
		require.NoError(t, server.Restart(t.Context()))
		require.Error(t, <-busy)
		require.Equal(t, "committed", recall(t, server))
	})

	// After a reboot the process id in postmaster.pid may belong to anyone.
	t.Run("its pid file names someone else", func(t *testing.T) {
		server.Kill()
		file := filepath.Join(server.Folder(), "data", "postmaster.pid")
		text, err := os.ReadFile(file)
		require.NoError(t, err, "a kill leaves the pid file")
		_, rest, _ := strings.Cut(string(text), "\n")
		require.NoError(t, os.WriteFile(file, []byte(strconv.Itoa(os.Getpid())+"\n"+rest), 0o600))
		require.NoError(t, server.Restart(t.Context()))
		require.Equal(t, "committed", recall(t, server))
	})

	t.Run("still in use by someone", func(t *testing.T) {
		_, err := embedded.StartPostgres(t.Context(), options)
		require.ErrorContains(t, err, "in use by process "+strconv.Itoa(os.Getpid()))
		require.Equal(t, "committed", recall(t, server), "the running server is left alone")
	})

	t.Run("left running by an earlier process", func(t *testing.T) {
		old := server.Pid()
		server.Abandon()
		next := startPostgres(t, options)
		require.NotEqual(t, old, next.Pid())
		require.Zero(t, server.Pid())
		require.Equal(t, "committed", recall(t, next))
	})
}

// A process that starts a server and is killed without any chance to stop it.
func TestPostgresEndsWithTheProcessThatStartedIt(t *testing.T) {
	if dir := os.Getenv("SUREHAND_TEST_OWNER_OF"); dir != "" {
		server, err := embedded.StartPostgres(context.Background(), embedded.PostgresOptions{Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintln(os.Stdout, "server process", server.Pid())
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}
	t.Parallel()
	dir := embeddedtest.Folder(t)
	owner := exec.Command(os.Args[0], "-test.run", "^TestPostgresEndsWithTheProcessThatStartedIt$")
	owner.Env = append(os.Environ(), "SUREHAND_TEST_OWNER_OF="+dir)
	output, err := owner.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, owner.Start())
	var pid int
	for lines := bufio.NewScanner(output); lines.Scan(); {
		if number, ok := strings.CutPrefix(lines.Text(), "server process "); ok {
			pid, err = strconv.Atoi(number)
			require.NoError(t, err)
		}
	}
	require.ErrorContains(t, owner.Wait(), "killed")
	require.NotZero(t, pid, "the owner started a server")
	awaitTrue(t, func() bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) })

	server := startPostgres(t, embedded.PostgresOptions{Dir: dir})
	require.NotEqual(t, pid, server.Pid())
}

func TestPostgresLeavesForeignFoldersAlone(t *testing.T) {
	for name, files := range map[string][]string{
		"a cluster":                  {"PG_VERSION", "postgresql.conf"},
		"a cluster below":            {"data/PG_VERSION"},
		"somebody's files":           {"letters.txt"},
		"a cluster without a marker": {"server.log", "data/PG_VERSION"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := embeddedtest.Folder(t)
			for _, file := range files {
				path := filepath.Join(dir, file)
				require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
				require.NoError(t, os.WriteFile(path, []byte("15\n"), 0o644))
			}
			before := listing(t, dir)
			_, err := embedded.StartPostgres(t.Context(), embedded.PostgresOptions{Dir: dir})
			require.ErrorIs(t, err, embedded.ErrForeignFolder)
			require.ErrorContains(t, err, "stays untouched")
			require.Equal(t, before, listing(t, dir))
		})
	}
}

// A folder with a long name, in which an earlier start was killed just before
// the cluster was complete.
func TestPostgresInAnAwkwardFolder(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(embeddedtest.Folder(t), strings.Repeat("long/", 20))
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "data.new"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "data.new", "PG_VERSION"), []byte("15\n"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "surehand-cluster.txt"), nil, 0o644))
	server := startPostgres(t, embedded.PostgresOptions{Dir: dir})
	require.NoDirExists(t, filepath.Join(dir, "data.new"))

	socket := query(t, server, "SHOW unix_socket_directories")
	require.Equal(t, os.TempDir(), filepath.Dir(socket), "a socket's path is at most 107 bytes")
	info, err := os.Stat(socket)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o700), info.Mode().Perm())

	name := `Odd "name" / with spaces`
	require.NoError(t, server.CreateDatabase(t.Context(), name))
	require.NoError(t, server.CreateDatabase(t.Context(), name), "it may exist already")
	conn, err := pgx.Connect(t.Context(), server.URL(name))
	require.NoError(t, err)
	var current string
	require.NoError(t, conn.QueryRow(t.Context(), "SELECT current_database()").Scan(&current))
	require.Equal(t, name, current)
	require.NoError(t, conn.Close(t.Context()))

	require.NoError(t, server.Stop(t.Context()))
	require.NoDirExists(t, socket)
}

func TestPostgresProgramsOfPG_BIN(t *testing.T) {
	t.Setenv("PG_BIN", t.TempDir())
	_, err := embedded.StartPostgres(t.Context(), embedded.PostgresOptions{Dir: embeddedtest.Folder(t)})
	require.ErrorContains(t, err, "PG_BIN="+os.Getenv("PG_BIN"))
	require.ErrorContains(t, err, "initdb and postgres")
}

// A checkout below /root: the server's user can not walk there.
func TestPostgresOfRootInAClosedFolder(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root starts servers as another user; covered when the tests run as root, as in CI")
	}
	t.Parallel()
	closed := t.TempDir()
	require.NoError(t, os.Chmod(closed, 0o700))
	options := embedded.PostgresOptions{Dir: filepath.Join(closed, "postgres"), Durable: true}
	first := startPostgres(t, options)
	t.Cleanup(func() {
		require.NoError(t, os.RemoveAll(first.Folder()))
		_ = os.Remove(embedded.ElsewhereBase) // unless others keep a cluster there
	})
	require.Equal(t, embedded.ElsewhereBase, filepath.Dir(first.Folder()))
	remember(t, first, "once")
	require.NoError(t, first.Stop(t.Context()))

	second := startPostgres(t, options)
	require.Equal(t, first.Folder(), second.Folder())
	require.Equal(t, "once", recall(t, second))
	require.NoError(t, second.Stop(t.Context()))

	require.NoError(t, os.RemoveAll(options.Dir), "the person starts afresh")
	third := startPostgres(t, options)
	require.Equal(t, first.Folder(), third.Folder())
	require.Equal(t, "f", query(t, third, "SELECT left((to_regclass('remembered') IS NOT NULL)::text, 1)"))
	require.NoError(t, third.Stop(t.Context()))

	options.Durable = false
	throwaway := startPostgres(t, options)
	require.NoError(t, throwaway.Stop(t.Context()))
	require.NoDirExists(t, throwaway.Folder(), "nobody else would remove it")
}

func TestServersAsNormalUser(t *testing.T) {
	t.Parallel()
	embeddedtest.AsNormalUser(t,
		"^(TestPostgresStartsAgainAfterEveryEnd|TestPostgresEndsWithTheProcessThatStartedIt|TestMosquittoKeepsItsStateAndItsAddress)$")
}

// awaitTrue asks again until the answer is yes, for at most 20 seconds.
func awaitTrue(t *testing.T, ask func() bool) {
	t.Helper()
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	late := time.NewTimer(20 * time.Second)
	defer late.Stop()
	for !ask() {
		select {
		case <-look.C:
		case <-late.C:
			t.Fatal("it did not become true within 20 seconds")
		}
	}
}

func serverLog(t *testing.T, server *embedded.Postgres) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(server.Folder(), "server.log"))
	require.NoError(t, err)
	return string(text)
}

func listing(t *testing.T, dir string) []string {
	t.Helper()
	var names []string
	require.NoError(t, filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		names = append(names, path)
		return err
	}))
	return names
}
