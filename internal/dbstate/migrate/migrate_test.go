package migrate_test

import (
	"bytes"
	"context"
	"database/sql"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	atlas "ariga.io/atlas/sql/migrate"
	"ariga.io/atlas/sql/sqltool"
	"entgo.io/ent/dialect"
	entsql "entgo.io/ent/dialect/sql"
	"entgo.io/ent/dialect/sql/schema"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/stretchr/testify/require"

	entmigrate "surehand/ent/migrate"
	"surehand/internal/dbstate/migrate"
	"surehand/internal/embedded/embeddedtest"
	"surehand/migrations"
)

func up(t *testing.T, url string) {
	t.Helper()
	require.NoError(t, migrate.Up(t.Context(), url, slog.New(slog.DiscardHandler)))
}

func query(t *testing.T, url, q string) string {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	defer func() { require.NoError(t, conn.Close(context.Background())) }()
	var text string
	require.NoError(t, conn.QueryRow(t.Context(), q).Scan(&text))
	return text
}

func exec(t *testing.T, url, q string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	defer func() { require.NoError(t, conn.Close(context.Background())) }()
	_, err = conn.Exec(t.Context(), q)
	require.NoError(t, err)
}

func TestUpAndCheck(t *testing.T) {
	url := embeddedtest.Database(t)
	err := migrate.Check(t.Context(), url)
	require.ErrorIs(t, err, migrate.ErrEmpty)
	require.ErrorContains(t, err, "surehand migrate")
	up(t, url)
	up(t, url) // again changes nothing
	require.NoError(t, migrate.Check(t.Context(), url))
	list, err := migrate.Status(t.Context(), url)
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(list), 2)
	for _, m := range list {
		require.True(t, m.Applied, "%+v", m)
	}

	exec(t, url, "INSERT INTO goose_db_version (version_id, is_applied) VALUES (20990101000000, true)")
	err = migrate.Check(t.Context(), url)
	require.ErrorIs(t, err, migrate.ErrNewer)
	require.ErrorContains(t, err, "version 20990101000000")
	require.ErrorContains(t, err, "install that version")
}

// Two starts at once migrate once.
func TestTwoUpsAtOnce(t *testing.T) {
	url := embeddedtest.Database(t)
	done := make(chan error, 2)
	for range 2 {
		go func() { done <- migrate.Up(context.Background(), url, slog.New(slog.DiscardHandler)) }()
	}
	require.NoError(t, <-done)
	require.NoError(t, <-done)
	require.NoError(t, migrate.Check(t.Context(), url))
}

// Every released schema with data in it comes to the newest one with that data.
func TestFilledDatabaseIsUpgraded(t *testing.T) {
	names, err := fs.Glob(migrations.Files, "*.sql")
	require.NoError(t, err)
	for _, name := range names[:len(names)-1] {
		t.Run(name, func(t *testing.T) {
			url := embeddedtest.Database(t)
			version, err := goose.NumericComponent(name)
			require.NoError(t, err)
			config, err := pgx.ParseConfig(url)
			require.NoError(t, err)
			db := stdlib.OpenDB(*config)
			p, err := goose.NewProvider(goose.DialectPostgres, db, migrations.Files)
			require.NoError(t, err)
			_, err = p.UpTo(t.Context(), version)
			require.NoError(t, err)
			require.NoError(t, db.Close())
			require.ErrorIs(t, migrate.Check(t.Context(), url), migrate.ErrOlder)

			exec(t, url, `INSERT INTO organisations (id, version, name) VALUES ('o', 3, 'old');
				INSERT INTO telemetry (id, device_id, sampled_at, received_at, seq, body) SELECT gen_random_uuid(), 'd', now(), now(), -1, '{}' FROM generate_series(1, 1000);
				INSERT INTO loop_state VALUES (1, gen_random_uuid(), gen_random_uuid(), 5, 6, 7, gen_random_uuid(), true, true, now())`)
			before := query(t, url, "SELECT json_agg(t ORDER BY id)::text FROM telemetry t")
			up(t, url)
			require.NoError(t, migrate.Check(t.Context(), url))
			require.Equal(t, before, query(t, url, "SELECT json_agg(t ORDER BY id)::text FROM telemetry t"))
			require.Equal(t, "5 6 7", query(t, url, "SELECT concat_ws(' ', seq, turn, epoch) FROM loop_state"))
		})
	}
}

// The migrations lead exactly to ent/schema: neither the running database nor a replay of the files differs.
func TestMigrationsAndSchemaAgree(t *testing.T) {
	url := embeddedtest.Database(t)
	up(t, url)
	config, err := pgx.ParseConfig(url)
	require.NoError(t, err)
	db := stdlib.OpenDB(*config)
	defer func() { require.NoError(t, db.Close()) }()
	var missing bytes.Buffer
	require.NoError(t, entmigrate.NewSchema(entsql.OpenDB(dialect.Postgres, db)).WriteTo(t.Context(), &missing))
	require.Empty(t, strings.TrimSpace(missing.String()), "what the migrated database lacks; run: go run ./cmd/migdiff name")

	folder := t.TempDir()
	require.NoError(t, os.CopyFS(folder, migrations.Files))
	dir, err := sqltool.NewGooseDir(folder)
	require.NoError(t, err)
	sum, err := dir.Checksum()
	require.NoError(t, err)
	require.NoError(t, atlas.WriteSumFile(dir, sum))
	sql.Register(dialect.Postgres, stdlib.GetDefaultDriver()) // the name under which ent opens the scratch database
	require.NoError(t, entmigrate.NamedDiff(t.Context(), embeddedtest.Database(t), "nothing", schema.WithDir(dir),
		schema.WithMigrationMode(schema.ModeReplay), schema.WithDialect(dialect.Postgres), schema.WithFormatter(sqltool.GooseFormatter)))
	after, err := filepath.Glob(filepath.Join(folder, "*.sql"))
	require.NoError(t, err)
	names, err := fs.Glob(migrations.Files, "*.sql")
	require.NoError(t, err)
	require.Len(t, after, len(names), "the schema differs from the migrations: run go run ./cmd/migdiff name")
}

// Ent does not compare the text of constraints: every one of them says after all migrations what ent/schema says.
func TestConstraintsAndSchemaAgree(t *testing.T) {
	migrated, fresh := embeddedtest.Database(t), embeddedtest.Database(t)
	up(t, migrated)
	config, err := pgx.ParseConfig(fresh)
	require.NoError(t, err)
	db := stdlib.OpenDB(*config)
	defer func() { require.NoError(t, db.Close()) }()
	require.NoError(t, entmigrate.NewSchema(entsql.OpenDB(dialect.Postgres, db)).Create(t.Context()))
	const all = `SELECT string_agg(conrelid::regclass || ' ' || conname || ' ' || pg_get_constraintdef(oid), E'\n' ORDER BY conrelid::regclass::text, conname)
		FROM pg_constraint WHERE contype = 'c' AND connamespace = 'public'::regnamespace`
	// A condition that is read back once more is printed with other parentheses and casts.
	plain := strings.NewReplacer("(", "", ")", "", "[]", "", "::character varying", "", "::text", "", "::bigint", "")
	require.Equal(t, plain.Replace(query(t, fresh, all)), plain.Replace(query(t, migrated, all)))
}

// What ent does not know is still there after all migrations.
func TestHandWrittenSettings(t *testing.T) {
	url := embeddedtest.Database(t)
	up(t, url)
	require.Equal(t, "automation_endpoint_events_received_at_brin event_log_decided_at_brin telemetry_received_at_brin",
		query(t, url, `SELECT string_agg(c.relname, ' ' ORDER BY c.relname) FROM pg_class c JOIN pg_am a ON a.oid = c.relam
			WHERE a.amname = 'brin' AND c.reloptions @> '{autosummarize=true}'`))
	require.Equal(t, "event_log_notes_of_the_cell",
		query(t, url, "SELECT string_agg(c.relname, ' ') FROM pg_class c JOIN pg_am a ON a.oid = c.relam WHERE a.amname = 'gin'"))
	require.Equal(t, "automation_command_intents automation_rule_executions automation_rules device_endpoints equipment equipment_slots work_orders",
		query(t, url, "SELECT string_agg(relname, ' ' ORDER BY relname) FROM pg_class WHERE reloptions @> '{fillfactor=70}'"))
}

// The checksums are those of the files, so that an edited release is noticed.
func TestChecksums(t *testing.T) {
	dir, err := sqltool.NewGooseDir(filepath.Join("..", "..", "..", "migrations"))
	require.NoError(t, err)
	require.NoError(t, atlas.Validate(dir), "run: go run ./cmd/migdiff -hash")
}
