package dbstate_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"surehand/internal/dbstate"
	"surehand/internal/dbstate/migrate"
	"surehand/internal/embedded/embeddedtest"
	"surehand/internal/plant"
	"surehand/internal/term"
)

// Every class of error is really provoked, by one change and by many, and leaves nothing behind: the same
// store commits the next batch.
func TestFaults(t *testing.T) {
	many := func(change func(n int) plant.Row) func(int) []plant.Change {
		return func(count int) []plant.Change {
			var rows []plant.Row
			for n := range count {
				rows = append(rows, change(n))
			}
			return insert(rows...)
		}
	}
	longest := strings.Repeat("x", 300)
	for _, tt := range []struct {
		name    string
		prepare string // SQL on a plain connection, after the picture was loaded
		changes func(count int) []plant.Change
		want    plant.FaultKind
	}{
		{"22021: a NUL in a text", "", many(func(n int) plant.Row {
			return with(anOrganisation(n), func(o *plant.Organisation) { o.Name = "a\x00b" })
		}), plant.FaultConflict},
		{"22021: not UTF-8", "", many(func(n int) plant.Row {
			return with(anOrganisation(n), func(o *plant.Organisation) { o.Name = "\xff" })
		}), plant.FaultConflict},
		{"22P02: not a UUID", "", many(func(n int) plant.Row {
			return with(aHold(n), func(h *plant.Hold) { h.ID = "hold" })
		}), plant.FaultConflict},
		{"22P02: not JSON", "", many(func(n int) plant.Row {
			return with(aKey(n), func(k *plant.MessageKey) { k.Outcome = "{" })
		}), plant.FaultConflict},
		{"23505: a key again", "INSERT INTO organisations VALUES ('org-0', 1, 'x')", many(func(n int) plant.Row { return anOrganisation(n) }), plant.FaultConflict},
		{"23514: a CHECK", "", many(func(n int) plant.Row {
			return with(aDevice(n), func(d *plant.Device) { d.Serial = longest })
		}), plant.FaultConflict},
		{"0 rows: the version moved", "INSERT INTO organisations VALUES ('org-0', 7, 'x')", func(count int) []plant.Change {
			cs := many(func(n int) plant.Row { return anOrganisation(n) })(count)
			cs[0] = update(anOrganisation(0), with(anOrganisation(0), func(o *plant.Organisation) { o.Version = 2 }))
			return cs
		}, plant.FaultConflict},
		{"0 rows: the row is not there", "", func(count int) []plant.Change {
			var cs []plant.Change
			for n := range count {
				cs = append(cs, update(anOrganisation(n), with(anOrganisation(n), func(o *plant.Organisation) { o.Version = 2 })))
			}
			return cs
		}, plant.FaultConflict},
		{"42P01: the table is gone", "DROP TABLE farms", many(func(n int) plant.Row { return aFarm(n) }), plant.FaultBug},
		{"42703: a column is gone", "ALTER TABLE farms DROP COLUMN name", many(func(n int) plant.Row { return aFarm(n) }), plant.FaultBug},
		{"25006: the database became read-only", "ALTER DATABASE \"DATABASE_NAME\" SET default_transaction_read_only = on; SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()",
			many(func(n int) plant.Row { return aFarm(n) }), plant.FaultAway},
		{"57P01: the backend is killed", "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()",
			many(func(n int) plant.Row { return aFarm(n) }), plant.FaultAway},
		{"40001: a trigger says serialisation failure", raising("40001"), many(func(n int) plant.Row { return aFarm(n) }), plant.FaultAgain},
		{"40P01: deadlock", raising("40P01"), many(func(n int) plant.Row { return aFarm(n) }), plant.FaultAgain},
		{"53100: disk full", raising("53100"), many(func(n int) plant.Row { return aFarm(n) }), plant.FaultAway},
		{"57014: statement timeout", raising("57014"), many(func(n int) plant.Row { return aFarm(n) }), plant.FaultAway},
		{"58030: the disk fails", raising("58030"), many(func(n int) plant.Row { return aFarm(n) }), plant.FaultAway},
		{"XX001: corruption", raising("XX001"), many(func(n int) plant.Row { return aFarm(n) }), plant.FaultBug},
		{"23514 at COMMIT: a deferred trigger", deferred, many(func(n int) plant.Row { return aFarm(n) }), plant.FaultConflict},
	} {
		for _, count := range []int{1, 20} {
			t.Run(fmt.Sprintf("%s, %d", tt.name, count), func(t *testing.T) {
				url := database(t)
				s, state := opened(t, url)
				w := newTurns(t, s, state)
				side := session(t, url)
				name := side.Config().Database
				if tt.prepare != "" {
					_, err := side.Exec(t.Context(), strings.ReplaceAll(tt.prepare, "DATABASE_NAME", name))
					require.NoError(t, err)
				}
				requireFault(t, tt.want, w.try(tt.changes(count)...))
				if strings.HasPrefix(tt.name, "25006") {
					requireFault(t, plant.FaultAway, w.try()) // also after it was reopened
					_, err := side.Exec(t.Context(), fmt.Sprintf("SET default_transaction_read_only = off; ALTER DATABASE %q RESET ALL", name))
					require.NoError(t, err)
				}
				w.must(insert(aHold(99))...)
				if strings.HasPrefix(tt.name, "42") {
					return // the picture cannot be loaded from such a schema
				}
				got, err := s.Reload(t.Context())
				require.NoError(t, err)
				require.Equal(t, w.fence, got.Fence())
				require.Empty(t, got.Farms())
			})
		}
	}
}

// raising makes every insert of a farm fail with a code.
func raising(code string) string {
	return fmt.Sprintf(`CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no' USING ERRCODE = '%s'; END $$;
		CREATE TRIGGER refuse BEFORE INSERT ON farms FOR EACH ROW EXECUTE FUNCTION refuse()`, code)
}

const deferred = `CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no' USING ERRCODE = '23514'; END $$;
	CREATE CONSTRAINT TRIGGER refuse AFTER INSERT ON farms DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION refuse()`

// 55P03: someone holds a row that the batch needs.
func TestLockTimeout(t *testing.T) {
	url := database(t)
	s, state := opened(t, url, func(o *dbstate.Options) { o.LockTimeout = 20 * time.Millisecond })
	w := newTurns(t, s, state)
	tx, err := session(t, url).Begin(t.Context())
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), "SELECT FROM loop_state FOR UPDATE")
	require.NoError(t, err)
	requireFault(t, plant.FaultAgain, w.try())
	require.NoError(t, tx.Rollback(t.Context()))
	w.must()
}

// The caller's time is over: nothing was committed, and the next batch finds a working connection.
func TestCallerGivesUp(t *testing.T) {
	s, state := opened(t, database(t))
	w := newTurns(t, s, state)
	over, cancel := context.WithCancel(t.Context())
	cancel()
	requireFault(t, plant.FaultAway, s.Commit(over, w.batch()))
	_, err := s.Reload(over)
	requireFault(t, plant.FaultAway, err)
	w.must()
}

func TestWrongPictureIsAConflict(t *testing.T) {
	url := database(t)
	s, state := opened(t, url)
	w := newTurns(t, s, state)
	w.must()
	stale := w.batch()
	w.must()
	requireFault(t, plant.FaultConflict, s.Commit(t.Context(), stale))
	w.must()
}

func TestFixedColumnsMayNotChange(t *testing.T) {
	s, state := opened(t, database(t))
	w := newTurns(t, s, state)
	i := anIntent(1)
	w.must(insert(i, aReading(1))...)
	requireFault(t, plant.FaultBug, w.try(update(i, with(i, func(r *plant.Intent) { r.Version++; r.Params = "{}" }))))
	requireFault(t, plant.FaultBug, w.try(update(aReading(1), aReading(1))))
}

// A second process is refused in clear words, takes over when told to, and fences the first.
func TestSecondProcess(t *testing.T) {
	url := database(t)
	first, state := opened(t, url, func(o *dbstate.Options) { o.Application = "surehand line-1/4711" })
	w := newTurns(t, first, state)

	second := connect(t, url)
	_, err := second.Open(t.Context(), uid(901))
	requireFault(t, plant.FaultFenced, err)
	require.ErrorContains(t, err, "another surehand already runs on this database")
	require.ErrorContains(t, err, `"surehand line-1/4711"`)
	require.ErrorContains(t, err, "--takeover")
	w.must() // the refused start disturbed nothing

	third, taken := opened(t, url, func(o *dbstate.Options) { o.Takeover = true })
	require.Equal(t, int64(2), taken.Fence().Epoch)
	require.Equal(t, state.Fence().Installation, taken.Fence().Installation)
	require.Equal(t, state.Fence().Generation, taken.Fence().Generation)
	require.False(t, third.Previous().StoppedCleanly)

	// The forgotten one first learns that its connection is gone, then that its life is over.
	requireFault(t, plant.FaultAway, w.try())
	requireFault(t, plant.FaultFenced, w.try())
	newTurns(t, third, taken).must()

	require.NoError(t, third.Stop(t.Context(), true))
	// Nobody holds the interlock now: the epoch alone fences the forgotten one.
	requireFault(t, plant.FaultFenced, w.try())
	_, err = first.Reload(t.Context())
	requireFault(t, plant.FaultFenced, err)
	requireFault(t, plant.FaultFenced, first.Stop(t.Context(), true))
	fourth := connect(t, url, func(o *dbstate.Options) { o.Takeover = true })
	_, err = fourth.Open(t.Context(), uid(904))
	require.NoError(t, err)
	require.True(t, fourth.Previous().StoppedCleanly)
	require.True(t, fourth.Previous().Drained)
	require.Equal(t, int64(2), fourth.Previous().Epoch)
}

func TestServerThatLosesCommitsIsRefused(t *testing.T) {
	unsafe := embeddedtest.Postgres(t) // of its own: an outside server of the tests may well sync
	require.NoError(t, unsafe.CreateDatabase(t.Context(), "unsafe"))
	_, err := dbstate.Connect(t.Context(), dbstate.Options{URL: unsafe.URL("unsafe")})
	require.ErrorContains(t, err, "fsync=off")
	require.ErrorContains(t, err, "set fsync=on")
}

func TestSchemaIsChecked(t *testing.T) {
	empty := connect(t, embeddedtest.Database(t))
	_, err := empty.Open(t.Context(), uid(1))
	requireFault(t, plant.FaultRefused, err)
	require.ErrorIs(t, err, migrate.ErrEmpty)
	require.ErrorContains(t, err, "surehand migrate")
}

func TestHandOverInOneBatch(t *testing.T) {
	for _, n := range []int{1, 30} {
		s, state := opened(t, database(t))
		w := newTurns(t, s, state)
		var first, second []plant.Change
		for k := range n {
			holder, a := fenced(anIntent(k), k)
			next := with(anIntent(1000+k), func(i *plant.Intent) { i.EndpointID = holder.EndpointID })
			first = append(first, insert(holder, a, next)...)
			sent := with(a, func(r *plant.Attempt) { r.Version++; r.Outcome, r.EndedAt = term.AttemptSent, at(2) })
			failed := with(holder, func(r *plant.Intent) {
				r.Version++
				r.State, r.HoldsEndpoint, r.EndedAt, r.ClosedAt = term.Failed, false, at(3), at(3)
			})
			taking, opens := fenced(next, 1000+k)
			// The one that takes over stands in front of the one that lets go.
			second = append(second, update(next, taking), update(holder, failed), plant.Change{Move: "Insert", After: opens}, update(a, sent))
		}
		w.must(first...)
		w.must(second...)
	}
}
