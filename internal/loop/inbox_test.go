package loop

import (
	"testing"

	"github.com/stretchr/testify/require"

	"surehand/internal/message"
	"surehand/internal/plant"
)

// proves K-1: people and results first, telemetry with a floor and at most half the room while others wait.
func TestPick(t *testing.T) {
	type queue struct{ person, worker, device, telemetry int }
	for name, c := range map[string]struct{ queued, picked queue }{
		"nothing":                 {},
		"telemetry alone":         {queue{telemetry: 1000}, queue{telemetry: plant.MaxBatch}},
		"a flood of answers":      {queue{device: 2000, telemetry: 100}, queue{device: plant.MaxBatch - telemetryFloor, telemetry: telemetryFloor}},
		"floods of both":          {queue{device: 2000, telemetry: 2000}, queue{device: plant.MaxBatch - telemetryFloor, telemetry: telemetryFloor}},
		"a flood of readings":     {queue{person: 3, worker: 5, telemetry: 2000}, queue{person: 3, worker: 5, telemetry: plant.MaxBatch - 8}},
		"people before answers":   {queue{person: 200, worker: 500, device: 500}, queue{person: 200, worker: plant.MaxBatch - 200}},
		"everything fits":         {queue{1, 2, 3, 4}, queue{1, 2, 3, 4}},
		"little telemetry, a few": {queue{worker: 600, telemetry: 10}, queue{worker: plant.MaxBatch - 10, telemetry: 10}},
	} {
		t.Run(name, func(t *testing.T) {
			b := newInbox()
			fill := func(s message.Source, n int) {
				for range n {
					b.queued[rankOf(s)].Add(1)
					b.accept(message.Message{Source: s})
				}
			}
			fill(message.FromTelemetry, c.queued.telemetry)
			fill(message.FromDevice, c.queued.device)
			fill(message.FromWorker, c.queued.worker)
			fill(message.FromPerson, c.queued.person)
			var got queue
			for _, m := range b.pick() {
				switch rankOf(m.Source) {
				case rankPerson:
					got.person++
				case rankWorker:
					got.worker++
				case rankDevice:
					got.device++
				case rankTelemetry:
					got.telemetry++
				}
			}
			require.Equal(t, c.picked, got)
			require.EqualValues(t, c.queued.telemetry-got.telemetry, b.queued[rankTelemetry].Load())
		})
	}
}
