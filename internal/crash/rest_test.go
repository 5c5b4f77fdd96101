package crash

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"surehand/internal/simulator"
)

const liveStates = "('pending_dispatch','dispatched','acknowledged','retrying')"

// rest lets everything come to rest and holds what the database says against what really happened. mayLose
// names readings that the broker may have lost with its own state; nil: none.
func (w *world) rest(wishes []*wish, mayLose func(simulator.ReadingTruth) bool) {
	w.t.Helper()
	w.process.Ready(30 * time.Second)
	w.fleet.behave()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	require.NoError(w.t, w.fleet.Connected(ctx))
	// Invariant 7: every open command reaches an end or uncertain.
	until(w.t, restWithin, "every command has ended or is uncertain", func() bool {
		return w.number("SELECT count(*) FROM automation_command_intents WHERE state IN "+liveStates) == 0
	})
	w.awaitPicture()
	w.fleet.Stop() // what the devices still had to say is with the broker now
	truth := w.fleet.Truth()
	w.awaitReadings(truth, mayLose)
	w.process.Term()
	require.NoError(w.t, w.process.Wait(15*time.Second), "an orderly end")
	w.checkEnds()
	w.checkDatabase()
	w.checkWishes(wishes)
	w.checkTruth(truth)
	w.summary(truth)
}

// awaitPicture: with quiet devices, what the product believes of every endpoint is what is so.
func (w *world) awaitPicture() {
	w.t.Helper()
	wrong := ""
	defer func() {
		if wrong != "" {
			w.t.Log("the picture is wrong: " + wrong)
		}
	}()
	until(w.t, 20*time.Second, "the picture of every endpoint is the truth", func() bool {
		wrong = ""
		for _, row := range w.rows("SELECT device_id, endpoint_key, coalesce(value, '') FROM device_endpoints") {
			if is := fmt.Sprint(w.fleet.Device(row[0]).Value(row[1])); is != strings.TrimSuffix(row[2], ".0") {
				wrong = fmt.Sprintf("%s/%s is %s, the database says %s", row[0], row[1], is, row[2])
				return false
			}
		}
		return true
	})
}

// awaitReadings: every reading that the broker took is stored. What it has not delivered yet waits in our
// session, so it may take a moment.
func (w *world) awaitReadings(truth map[string]simulator.Truth, mayLose func(simulator.ReadingTruth) bool) {
	w.t.Helper()
	missing, lost := []string{}, 0
	over := time.Now().Add(20 * time.Second)
	until(w.t, 30*time.Second, "the readings are compared", func() bool {
		stored := map[string]bool{}
		for _, row := range w.rows("SELECT device_id, coalesce(boot_id, ''), seq::text FROM telemetry") {
			stored[strings.Join(row, " ")] = true
		}
		missing, lost = missing[:0], 0
		for serial, t := range truth {
			for _, r := range t.Readings {
				id := fmt.Sprintf("%s %s %d", serial, r.BootID, r.Seq)
				switch {
				case !r.Acked || stored[id]:
				case mayLose != nil && mayLose(r):
					lost++
				default:
					missing = append(missing, id+" of "+r.TS.Format(time.RFC3339Nano))
				}
			}
		}
		return len(missing) == 0 || time.Now().After(over)
	})
	assert.Empty(w.t, missing[:min(len(missing), 10)], "%d readings that the broker acknowledged are not in the database", len(missing))
	if mayLose != nil {
		w.t.Logf("%d readings were lost by the broker with its own state", lost)
	}
}

// seeEnds remembers what has ended by now.
func (w *world) seeEnds() {
	w.t.Helper()
	rows, err := w.query("SELECT id::text, state || ' ' || ended_at::text FROM automation_command_intents WHERE ended_at IS NOT NULL")
	if err != nil {
		return // the database is being killed
	}
	for _, row := range rows {
		if before, seen := w.ends[row[0]]; seen {
			assert.Equal(w.t, before, row[1], "invariant 6: the end of command %s changed", row[0])
		}
		w.ends[row[0]] = row[1]
	}
}

func (w *world) checkEnds() {
	w.t.Helper()
	w.seeEnds()
	have := w.number("SELECT count(*) FROM automation_command_intents WHERE ended_at IS NOT NULL")
	assert.Len(w.t, w.ends, have, "invariant 6: a command that had ended is gone")
}

// checkWishes: one key, one command, and the answer was true.
func (w *world) checkWishes(wishes []*wish) {
	w.t.Helper()
	intents := map[string][]string{}
	for _, row := range w.rows("SELECT endpoint_id, target_value, id::text FROM automation_command_intents WHERE rule_id IS NULL") {
		intents[row[0]+" "+row[1]] = append(intents[row[0]+" "+row[1]], row[2])
	}
	repeated := 0
	for _, a := range wishes {
		made := intents[fmt.Sprintf("%s %d", a.endpoint, a.value)]
		delete(intents, fmt.Sprintf("%s %d", a.endpoint, a.value))
		if a.asked > 1 {
			repeated++
		}
		if a.refused != "" {
			assert.Empty(w.t, made, "hand command %s was refused (%s) and made a command", a.key, a.refused)
			continue
		}
		assert.Equal(w.t, []string{a.intent}, made, "hand command %s, asked %d times, made these commands", a.key, a.asked)
	}
	assert.Empty(w.t, intents, "hand commands that nobody asked for")
	w.t.Logf("%d hand commands, %d of them asked more than once", len(wishes), repeated)
}

func (w *world) summary(truth map[string]simulator.Truth) {
	w.t.Helper()
	readings, acked, received, executed := 0, 0, 0, 0
	for _, t := range truth {
		readings += len(t.Readings)
		for _, r := range t.Readings {
			if r.Acked {
				acked++
			}
		}
		for _, c := range t.Commands {
			received += c.Received
			executed += c.Executed
		}
	}
	w.t.Logf("%d readings taken, %d acknowledged by the broker; %d copies of commands received, %d executed; commands by state: %v",
		readings, acked, received, executed, w.rows(`SELECT state, CASE WHEN state <> 'applied' THEN split_part(last_error, ' by ', 1) END AS why, count(*)::text
		FROM automation_command_intents GROUP BY 1, 2 ORDER BY 1, 3 DESC`))
}
