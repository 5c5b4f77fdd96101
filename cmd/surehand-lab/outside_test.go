package main

import (
	"log/slog"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"surehand/internal/config"
	"surehand/internal/dbstate/migrate"
	"surehand/internal/embedded/embeddedtest"
	"surehand/internal/lab"
	"surehand/internal/message"
	"surehand/internal/service"
)

// A database that somebody names is the demo's only if no cell of a real site is in it.
func TestTheDemoLeavesARealCellAlone(t *testing.T) {
	t.Parallel()
	file, err := os.ReadFile("../../docs/examples/plant.yaml")
	require.NoError(t, err)
	plant, problems := config.Plant(file)
	require.Empty(t, problems)
	for name, refused := range map[string]bool{"cell-1": true, lab.CellName: false} {
		url := embeddedtest.Database(t)
		require.NoError(t, onlyTheDemos(t.Context(), url), "an empty one")
		log := slog.New(slog.DiscardHandler)
		require.NoError(t, migrate.Up(t.Context(), url, log))
		require.NoError(t, onlyTheDemos(t.Context(), url), "one without a cell")
		own := map[string]string{"SUREHAND_DATABASE_URL": url, "SUREHAND_MQTT_URL": "mqtt://127.0.0.1:1", "SUREHAND_HTTP_LISTEN": "127.0.0.1:0"}
		conf, err := config.Load("", func(key string) (string, bool) { v, ok := own[key]; return v, ok })
		require.NoError(t, err)
		s, err := service.Start(t.Context(), service.Options{Config: conf, Log: log, AllowUnsafe: true})
		require.NoError(t, err)
		plant.Cell.Name = name
		outcome, err := s.Decide(t.Context(), "kim", plant)
		require.NoError(t, err)
		require.Equal(t, message.Accepted, outcome.Code, "%+v", outcome)
		s.Stop(false)
		require.NoError(t, s.Wait())
		if err := onlyTheDemos(t.Context(), url); refused {
			require.ErrorContains(t, err, "a cell cell-1 that is not the demo's")
		} else {
			require.NoError(t, err)
		}
	}
}
