package dbstate_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"surehand/internal/dbstate"
	"surehand/internal/embedded/pgproxy"
	"surehand/internal/plant"
)

// proxied is an opened store behind a proxy that can lose its commits.
func proxied(t *testing.T) (*turns, *pgproxy.Proxy, string) {
	t.Helper()
	url := database(t)
	p, err := pgproxy.Start(url)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	s, state := opened(t, p.URL())
	return newTurns(t, s, state), p, url
}

func within(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// stored tells whether a batch stands in the database.
func stored(t *testing.T, url string, b plant.Batch) bool {
	t.Helper()
	var turn int64
	require.NoError(t, session(t, url).QueryRow(t.Context(), "SELECT turn FROM loop_state").Scan(&turn))
	return turn == b.After.Turn
}

func TestCommitInDoubt(t *testing.T) {
	for _, tt := range []struct {
		action pgproxy.Action
		want   plant.Settled
	}{
		{pgproxy.CutBefore, plant.Lost},
		{pgproxy.CutAfter, plant.Stands},
		{pgproxy.HangAfter, plant.Stands},
		{pgproxy.HangBefore, plant.Lost},
		{pgproxy.HoldBack, plant.Lost},
	} {
		t.Run(tt.action.String(), func(t *testing.T) {
			w, p, url := proxied(t)
			w.must(insert(anOrganisation(0))...)
			trap := p.Arm(tt.action)
			b := w.batch(insert(anOrganisation(1))...)
			ctx, giveUp := context.WithCancel(t.Context())
			go func() { // a client that hangs is given up once the commit is where the test wants it
				<-trap.Sprung()
				giveUp()
			}()
			requireFault(t, plant.FaultDoubt, w.store.Commit(ctx, b))

			got, err := w.store.Settle(within(t, time.Minute), b)
			require.NoError(t, err)
			require.Equal(t, tt.want, got)
			require.Equal(t, tt.want == plant.Stands, stored(t, url, b))
			if tt.action == pgproxy.HoldBack || tt.action == pgproxy.HangBefore {
				// The commit arrives after it was settled: it must find its session ended.
				require.False(t, trap.Release())
				require.False(t, stored(t, url, b))
			}

			// Life goes on from whichever side it is.
			if tt.want == plant.Stands {
				w.fence = b.After
			}
			w.must(insert(anOrganisation(2))...)
			require.Equal(t, 1, p.Counts().Trapped)
		})
	}
}

// A commit that arrives while it is being settled either makes it or finds its session ended: what Settle
// says is what stands, and stays so.
func TestCommitLandsWhileItIsSettled(t *testing.T) {
	w, p, url := proxied(t)
	for n := range 8 {
		trap := p.Arm(pgproxy.HoldBack)
		b := w.batch(insert(anOrganisation(n))...)
		requireFault(t, plant.FaultDoubt, w.store.Commit(t.Context(), b))
		<-trap.Sprung()

		arrived := make(chan bool, 1)
		go func() { arrived <- trap.Release() }()
		settled, err := w.store.Settle(within(t, time.Minute), b)
		require.NoError(t, err)
		stands := stored(t, url, b)
		require.Equal(t, stands, settled == plant.Stands)
		<-arrived
		require.Equal(t, stands, stored(t, url, b))
		if stands {
			w.fence = b.After
		}
	}
}

// A row lock of someone else on the fence makes Settle wait, not guess.
func TestSettleWaitsForTheFenceRow(t *testing.T) {
	w, _, url := proxied(t)
	b := w.batch()
	other := session(t, url)
	tx, err := other.Begin(t.Context())
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), "SELECT FROM loop_state FOR UPDATE")
	require.NoError(t, err)

	type answer struct {
		settled plant.Settled
		err     error
	}
	settled := make(chan answer, 1)
	go func() {
		got, err := w.store.Settle(within(t, time.Minute), b)
		settled <- answer{got, err}
	}()
	waitFor(t, session(t, url), "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%FOR UPDATE%')")
	require.NoError(t, tx.Rollback(t.Context()))
	got := <-settled
	require.NoError(t, got.err)
	require.Equal(t, plant.Lost, got.settled)
}

// waitFor asks the server until a condition holds. Each question waits for its answer, so nothing sleeps.
func waitFor(t *testing.T, on *pgx.Conn, condition string, args ...any) {
	t.Helper()
	ctx := within(t, time.Minute)
	for holds := false; !holds; {
		require.NoError(t, on.QueryRow(ctx, condition, args...).Scan(&holds))
	}
}

func TestSettleTellsTimeTravelAndLostLives(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change string
		want   plant.Settled
		fault  plant.FaultKind
	}{
		{"seq went back", "UPDATE loop_state SET seq = 0, turn = 1", plant.TimeTravel, -1},
		{"another generation", "UPDATE loop_state SET generation = gen_random_uuid()", plant.TimeTravel, -1},
		{"our epoch is gone", "UPDATE loop_state SET epoch = 1, life = gen_random_uuid()", plant.TimeTravel, -1},
		{"a newer life", "UPDATE loop_state SET epoch = 9, life = gen_random_uuid()", 0, plant.FaultFenced},
		{"another life of our epoch", "UPDATE loop_state SET life = gen_random_uuid()", 0, plant.FaultFenced},
	} {
		t.Run(tt.name, func(t *testing.T) {
			url := database(t)
			first, _ := opened(t, url)
			require.NoError(t, first.Stop(t.Context(), true))
			s, state := opened(t, url)
			require.Equal(t, int64(2), state.Fence().Epoch)
			w := newTurns(t, s, state)
			w.must()
			w.must()
			_, err := session(t, url).Exec(t.Context(), tt.change)
			require.NoError(t, err)

			b := w.batch()
			err = s.Commit(t.Context(), b)
			if tt.fault == plant.FaultFenced {
				requireFault(t, plant.FaultFenced, err)
			} else {
				requireFault(t, plant.FaultDoubt, err)
				_, err := s.Reload(t.Context())
				requireFault(t, plant.FaultDoubt, err)
			}
			got, err := s.Settle(t.Context(), b)
			if tt.fault == plant.FaultFenced {
				requireFault(t, plant.FaultFenced, err)
				_, err = s.NewGeneration(t.Context())
				requireFault(t, plant.FaultFenced, err)
				_, err = s.Reload(t.Context())
				requireFault(t, plant.FaultFenced, err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, tt.want, got)

			fresh, err := s.NewGeneration(t.Context())
			require.NoError(t, err)
			f := fresh.Fence()
			require.NotEqual(t, b.Before.Generation, f.Generation)
			require.Equal(t, b.Before.Installation, f.Installation)
			require.Equal(t, []any{b.Before.Epoch, b.Before.Life}, []any{f.Epoch, f.Life})
			newTurns(t, s, fresh).must()
		})
	}
}

// The database is away and comes back; the store reopens by itself and has the interlock again.
func TestDatabaseGoesAwayAndComesBack(t *testing.T) {
	w, p, url := proxied(t)
	p.Refuse(true)
	p.Cut()
	requireFault(t, plant.FaultAway, w.try())
	requireFault(t, plant.FaultAway, w.try())
	_, err := w.store.Reload(t.Context())
	requireFault(t, plant.FaultAway, err)
	p.Refuse(false)
	w.must()

	second := connect(t, url)
	_, err = second.Open(t.Context(), uid(901))
	requireFault(t, plant.FaultFenced, err)
	var occupied *dbstate.OccupiedError
	require.ErrorAs(t, err, &occupied)
}
