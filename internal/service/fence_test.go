package service

import (
	"bytes"
	"context"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"surehand/internal/dbstate/read"
)

// Broker and drivers of the cell wait for the same word of the database, and the log says so once for all of them.
func TestAnAbsentDatabaseIsSaidForAllThatWait(t *testing.T) {
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, closed.Close())
	reader, err := read.Open(t.Context(), "postgres://nobody@"+closed.Addr().String()+"/none")
	require.NoError(t, err)
	defer reader.Close()
	var log bytes.Buffer
	s := &Service{reader: reader, log: slog.New(slog.NewTextHandler(&log, nil))}
	for range 3 {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		require.ErrorIs(t, s.confirmLife(ctx), context.DeadlineExceeded)
		cancel()
	}
	require.Equal(t, 1, strings.Count(log.String(), "\n"), log.String())
	require.Contains(t, log.String(), "neither the broker nor the cell's equipment")
}
