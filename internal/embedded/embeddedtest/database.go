package embeddedtest

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"surehand/internal/embedded"
)

// patience covers bringing a server on a fresh machine.
const patience = 10 * time.Minute

// Database gives the URL of a fresh, empty database that is dropped when the
// test ends. It is on the server of TEST_DATABASE_URL when that is set, else on
// this process's own throwaway cluster.
func Database(t testing.TB) string {
	t.Helper()
	return database(t, "template0")
}

// DatabaseLike is Database filled by copying: the first call for a key makes a
// template by calling fill with its URL, and every call copies it, which is much
// faster than migrating each time. fill must close its connections.
func DatabaseLike(t testing.TB, key string, fill func(url string) error) string {
	t.Helper()
	templates.Lock()
	defer templates.Unlock()
	template, known := templates.byKey[key]
	if !known {
		server := serverURL(t)
		template = uniqueName("surehand_tmpl_")
		if err := create(server, template, "template0"); err != nil {
			t.Fatalf("template database for %q: %v", key, err)
		}
		if outside() {
			// Ours ends with its cluster; on a server of someone else the
			// template must not outlive the test that made it.
			t.Cleanup(func() {
				templates.Lock()
				defer templates.Unlock()
				delete(templates.byKey, key)
				if err := drop(server, template); err != nil {
					t.Errorf("drop template database: %v", err)
				}
			})
		}
		if err := fill(withDatabase(server, template)); err != nil {
			t.Fatalf("fill template database for %q: %v", key, err)
		}
		templates.byKey[key] = template
	}
	return database(t, template)
}

var templates = struct {
	sync.Mutex
	byKey map[string]string
}{byKey: map[string]string{}}

// Postgres gives a server of this test's own, to be killed and restarted at
// will. TEST_DATABASE_URL does not apply to it.
func Postgres(t testing.TB) *embedded.Postgres {
	t.Helper()
	if outside() {
		t.Log("TEST_DATABASE_URL is set, but this test stops its PostgreSQL and therefore starts one of its own")
	}
	dir := ownFolder(t, "postgres-")
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	server, err := embedded.StartPostgres(ctx, embedded.PostgresOptions{Dir: dir, Log: logger()})
	if err != nil {
		t.Fatalf("start a PostgreSQL for this test: %v", err)
	}
	t.Cleanup(func() {
		if err := server.Stop(context.Background()); err != nil {
			t.Errorf("stop this test's PostgreSQL: %v", err)
		}
	})
	return server
}

func database(t testing.TB, template string) string {
	t.Helper()
	server := serverURL(t)
	name := uniqueName("surehand_test_")
	if err := create(server, name, template); err != nil {
		t.Fatalf("fresh test database: %v", err)
	}
	t.Cleanup(func() {
		if err := drop(server, name); err != nil {
			t.Errorf("drop test database: %v", err)
		}
	})
	return withDatabase(server, name)
}

func outside() bool { return os.Getenv("TEST_DATABASE_URL") != "" }

// serverURL names a server on which databases may be made and dropped.
func serverURL(t testing.TB) string {
	t.Helper()
	if given := os.Getenv("TEST_DATABASE_URL"); given != "" {
		parsed, err := url.Parse(given)
		if err != nil || parsed.Scheme != "postgres" && parsed.Scheme != "postgresql" {
			t.Fatalf("TEST_DATABASE_URL must be a URL such as postgres://user@host:5432/postgres of a role that may create databases")
		}
		return given
	}
	server, err := sharedServer()
	if err != nil {
		t.Fatalf("start the throwaway PostgreSQL of this test process: %v", err)
	}
	return server.URL("postgres")
}

// sharedServer is started by the first test that needs it and ends with the
// process, by its last will.
var sharedServer = sync.OnceValues(func() (*embedded.Postgres, error) {
	work, err := workFolder()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return embedded.StartPostgres(ctx, embedded.PostgresOptions{
		Dir: filepath.Join(work.folder, "shared"), Log: logger(),
	})
})

func create(server, name, template string) error {
	return execute(server, fmt.Sprintf("CREATE DATABASE %s TEMPLATE %s",
		pgx.Identifier{name}.Sanitize(), pgx.Identifier{template}.Sanitize()))
}

// drop disconnects whoever a failed test left connected.
func drop(server, name string) error {
	return execute(server, fmt.Sprintf("DROP DATABASE IF EXISTS %s WITH (FORCE)", pgx.Identifier{name}.Sanitize()))
}

func execute(server, statement string) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	conn, err := pgx.Connect(ctx, server)
	if err != nil {
		return fmt.Errorf("connect to the test server: %w", err)
	}
	defer conn.Close(context.WithoutCancel(ctx))
	if _, err := conn.Exec(ctx, statement); err != nil {
		return fmt.Errorf("%s: %w", statement, err)
	}
	return nil
}

// withDatabase keeps everything of a server's URL but the database.
func withDatabase(server, name string) string {
	parsed, err := url.Parse(server)
	if err != nil {
		panic("embeddedtest: the server's URL was checked before: " + err.Error())
	}
	parsed.Path = "/" + name
	return parsed.String()
}

func uniqueName(prefix string) string {
	var random [8]byte
	_, _ = rand.Read(random[:]) // never fails, as its documentation promises
	return prefix + hex.EncodeToString(random[:])
}

// logger tells on stderr what takes long, such as installing a server.
func logger() *slog.Logger { return slog.New(slog.NewTextHandler(os.Stderr, nil)) }
