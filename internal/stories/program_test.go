package stories

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"surehand/internal/service/processtest"
)

// proves
func TestDrainSendsNothingNewAndEndsWhenWhatWasUnderWayHasEnded(t *testing.T) {
	t.Parallel()
	s := open(t)
	valve := s.device("valve-1")

	under := s.ordered("under-way", "valve/open", "true")
	r := valve.hears()
	out, err := s.surehand("stop", "--drain", "--wait=100ms")
	require.ErrorContains(t, err, "exit status 1")
	require.Contains(t, out, "it still drains after 100ms, and goes on with it; it waits for 1 command to devices")
	waiting := s.ordered("too-late", "valve/level", "40")
	require.Equal(t, "stopping", ask[command](s, "/api/v1/commands/"+waiting.ID).WaitingFor)
	valve.acks(r)
	s.becomes(under.ID, "acknowledged")
	select {
	case <-s.Ended():
		t.Fatalf("it ended while a command was under way:\n%s", s.Log())
	default:
	}
	valve.reports(r)
	require.NoError(t, s.Wait(patience), "exit code 0")

	// Nothing was lost by it: the next life sends what waited, and that is the next thing the device hears.
	s.start()
	require.Equal(t, "applied", ask[command](s, "/api/v1/commands/"+under.ID).State)
	r = valve.hears()
	require.JSONEq(t, `{"level":40}`, string(r.Body.Params))
	require.Equal(t, 1, r.Body.Attempt)
	valve.obeys(r)
	s.becomes(waiting.ID, "applied")

	// With nothing under way there is nothing to wait for.
	out, err = s.surehand("stop", "--drain")
	require.NoError(t, err, out)
	require.Equal(t, "Stopped.\n", out)
	require.NoError(t, s.Wait(patience))
}

// proves X-14
func TestCheckTellsFaultsWithFileAndLine(t *testing.T) {
	t.Parallel()
	database := "postgres://surehand@localhost/surehand" // looked at, not connected to
	out, err := surehand(t, processtest.Options{DatabaseURL: database, Args: []string{"check"}})
	require.NoError(t, err, out)
	out, err = surehand(t, processtest.Options{DatabaseURL: database, Args: []string{"check", "testdata/site.yaml"}})
	require.NoError(t, err, out)
	require.Contains(t, out, "3 profiles, 4 devices, 4 rules")

	broken := filepath.Join(t.TempDir(), "broken.yaml")
	require.NoError(t, os.WriteFile(broken, []byte("organisations: []\nfarms: []\ndevices:\n  - {id: lamp, serail: lamp-1}\n"), 0o600))
	out, err = surehand(t, processtest.Options{DatabaseURL: database, Args: []string{"check", broken}})
	require.Error(t, err)
	require.Contains(t, out, "broken.yaml:4: ")
	require.Contains(t, out, "serail")

	out, err = surehand(t, processtest.Options{Args: []string{"check"}})
	require.Error(t, err)
	require.Contains(t, out, "SUREHAND_DATABASE_URL")

	out, err = surehand(t, processtest.Options{Args: []string{"version"}})
	require.NoError(t, err, out)
	require.NotEmpty(t, out)
}

// proves X-14
func TestDatabaseOfAnotherSchemaIsRefusedWithTheCommandThatHelps(t *testing.T) {
	t.Parallel()
	database := emptyDatabase(t)
	run := func(args ...string) (string, error) {
		return surehand(t, processtest.Options{DatabaseURL: database, BrokerURL: "mqtt://127.0.0.1:1", Args: args})
	}

	out, err := run("serve")
	require.Error(t, err)
	require.Contains(t, out, "create them with `surehand migrate`")
	out, err = run("migrate", "status")
	require.NoError(t, err, out)
	require.Contains(t, out, "missing")
	require.NotContains(t, out, "applied")

	out, err = run("migrate")
	require.NoError(t, err, out)
	out, err = run("migrate", "status")
	require.NoError(t, err, out)
	require.Contains(t, out, "applied")
	require.NotContains(t, out, "missing")

	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	conn, err := pgx.Connect(ctx, database)
	require.NoError(t, err)
	defer conn.Close(context.WithoutCancel(ctx))
	_, err = conn.Exec(ctx, "INSERT INTO goose_db_version (version_id, is_applied) VALUES (99991231000000, true)")
	require.NoError(t, err)
	out, err = run("serve")
	require.Error(t, err)
	require.Contains(t, out, "migrated by a newer surehand")
	require.Contains(t, out, "install that version")

	_, err = conn.Exec(ctx, "DELETE FROM goose_db_version WHERE version_id >= (SELECT max(version_id) FROM goose_db_version WHERE version_id < 99991231000000)")
	require.NoError(t, err)
	out, err = run("serve")
	require.Error(t, err)
	require.Contains(t, out, "make a backup, then run `surehand migrate`")
}
