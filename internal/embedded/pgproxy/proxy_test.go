package pgproxy_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"surehand/internal/embedded/embeddedtest"
	"surehand/internal/embedded/pgproxy"
)

func start(t *testing.T) (*pgproxy.Proxy, *pgx.Conn) {
	t.Helper()
	url := embeddedtest.Database(t)
	p, err := pgproxy.Start(url)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	direct, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	t.Cleanup(func() { _ = direct.Close(context.Background()) })
	_, err = direct.Exec(t.Context(), "CREATE TABLE t (n int)")
	require.NoError(t, err)
	return p, direct
}

func client(t *testing.T, p *pgproxy.Proxy) *pgx.Conn {
	t.Helper()
	c, err := pgx.Connect(t.Context(), p.URL())
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close(context.Background()) })
	return c
}

func count(t *testing.T, c *pgx.Conn) (n int) {
	t.Helper()
	require.NoError(t, c.QueryRow(t.Context(), "SELECT count(*) FROM t").Scan(&n))
	return n
}

// Every action does to a COMMIT what it says, simple or prepared.
func TestTraps(t *testing.T) {
	for _, prepared := range []bool{false, true} {
		for _, tt := range []struct {
			action  pgproxy.Action
			rows    int  // when the trap has sprung
			arrives bool // when it is released
		}{
			{pgproxy.CutBefore, 0, false}, {pgproxy.CutAfter, 1, true}, {pgproxy.HangAfter, 1, true},
			{pgproxy.HoldBack, 0, true}, {pgproxy.HangBefore, 0, true},
		} {
			t.Run(tt.action.String(), func(t *testing.T) {
				p, direct := start(t)
				c := client(t, p)
				_, err := c.Exec(t.Context(), "BEGIN")
				require.NoError(t, err)
				_, err = c.Exec(t.Context(), "INSERT INTO t VALUES ($1)", 1)
				require.NoError(t, err)
				commit := "COMMIT;"
				if prepared {
					_, err = c.Prepare(t.Context(), "done", "commit")
					require.NoError(t, err)
					commit = "done"
				}
				trap := p.Arm(tt.action)
				ctx, giveUp := context.WithCancel(t.Context())
				failed := make(chan error, 1)
				go func() { _, err := c.Exec(ctx, commit); failed <- err }()
				<-trap.Sprung()
				require.Equal(t, tt.rows, count(t, direct))
				giveUp()
				require.Error(t, <-failed)
				require.Equal(t, tt.arrives, trap.Release())
				if tt.arrives {
					require.Equal(t, 1, count(t, direct))
				}
				require.Equal(t, 1, p.Counts().Trapped)
				require.Equal(t, 1, p.Counts().Commits)
			})
		}
	}
}

func TestEverythingElsePasses(t *testing.T) {
	p, direct := start(t)
	c := client(t, p)
	p.Delay(time.Millisecond)
	require.NoError(t, pgx.BeginFunc(t.Context(), c, func(tx pgx.Tx) error {
		_, err := tx.CopyFrom(t.Context(), pgx.Identifier{"t"}, []string{"n"}, pgx.CopyFromSlice(5000, func(n int) ([]any, error) { return []any{n}, nil }))
		return err
	}))
	require.Equal(t, 5000, count(t, direct))
	require.Equal(t, 5000, count(t, c))
	require.Equal(t, pgproxy.Counts{Connections: 1, Commits: 1}, p.Counts())

	p.Refuse(true)
	p.Cut()
	require.Error(t, c.Ping(t.Context()))
	_, err := pgx.Connect(t.Context(), p.URL())
	require.Error(t, err)
	p.Refuse(false)
	require.Equal(t, 5000, count(t, client(t, p)))
}
