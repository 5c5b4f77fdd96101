package dbstate_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"surehand/internal/plant"
	"surehand/internal/term"
)

// BenchmarkCommit writes device transitions: an endpoint, an event, an execution and a command each change,
// and the log has a row. The picture is not part of it.
func BenchmarkCommit(b *testing.B) {
	for _, size := range []int{1, 8, 32, 128, 512} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			s, state := opened(b, database(b))
			w := newTurns(b, s, state)
			const devices = 2000
			endpoints, executions, commands := make([]*plant.Endpoint, devices), make([]*plant.Execution, devices), make([]*plant.Intent, devices)
			var rows []plant.Row
			for n := range devices {
				i, a := fenced(anIntent(n), n)
				endpoints[n], executions[n], commands[n] = anEndpoint(n), anExecution(n), i
				rows = append(rows, endpoints[n], executions[n], i, a)
			}
			w.must(insert(rows...)...)
			event, seq := 1_000_000, int64(0)
			b.ResetTimer()
			for range b.N {
				batch := w.batch()
				for range size {
					event++
					n := event % devices
					e := with(endpoints[n], func(r *plant.Endpoint) { r.Version++; r.Value = term.Float(float64(event)) })
					x := with(executions[n], func(r *plant.Execution) { r.Version++; r.Count++ })
					i := with(commands[n], func(r *plant.Intent) { r.Version++; r.WeakSamples++ })
					fresh := with(anEvent(event), func(r *plant.Event) { r.Status = term.EventProcessed })
					batch.Changes = append(batch.Changes, update(endpoints[n], e), plant.Change{Move: "RecordEvent", After: fresh},
						update(executions[n], x), update(commands[n], i))
					endpoints[n], executions[n], commands[n] = e, x, i
					seq++
					entry := anEntry(seq)
					entry.MessageID = term.MessageID(uid(event))
					batch.Entries = append(batch.Entries, entry)
				}
				batch.After.Seq = seq
				require.NoError(b, s.Commit(b.Context(), batch))
				w.fence = batch.After
			}
			b.ReportMetric(float64(b.N*size)/b.Elapsed().Seconds(), "transitions/s")
		})
	}
}
