package dbstate_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"surehand/internal/message"
	"surehand/internal/plant"
	"surehand/internal/term"
)

// everyKind is one row of each kind, number n of its kind.
func everyKind(n int) []plant.Row {
	return []plant.Row{anOrganisation(n), aFarm(n), aProfile(n), aDevice(n), anEndpoint(n), aRule(n), aReading(n), anEvent(n),
		anExecution(n), anIntent(n), aReceipt(n), aHold(n), aKey(n), aParked(n)}
}

// A row read back equals the row written, for every kind that the picture holds, written one by one and many
// at once.
func TestPictureEqualsWhatWasWritten(t *testing.T) {
	for _, n := range []int{1, 30} {
		t.Run(fmt.Sprint(n, " of each"), func(t *testing.T) {
			s, state := opened(t, database(t))
			require.Equal(t, int64(1), state.Fence().Epoch)
			w := newTurns(t, s, state)
			var all []plant.Row
			for i := range n {
				all = append(all, everyKind(i)...)
				i, a := fenced(anIntent(10000+i), i)
				all = append(all, i, a)
			}
			w.must(insert(all...)...)

			got, err := s.Reload(t.Context())
			require.NoError(t, err)
			var open []plant.Row
			for _, r := range all {
				if r.Open() {
					open = append(open, r)
				}
			}
			want, err := plant.Load(w.fence, open)
			require.NoError(t, err)
			require.Empty(t, plant.Diff(want, got))
			require.Equal(t, w.fence, got.Fence())
		})
	}
}

// Nothing set is not the same as an empty list or the year one.
func TestRowsWithNothingSet(t *testing.T) {
	s, state := opened(t, database(t))
	w := newTurns(t, s, state)
	rows := []plant.Row{
		anOrganisation(0), aFarm(0), &plant.Profile{ID: "profile-0", Version: 1, Class: term.ClassC},
		&plant.Profile{ID: "profile-1", Version: 1, Class: term.ClassC, Endpoints: []term.EndpointSpec{}},
		&plant.Device{ID: "d", Version: 1, FarmID: "farm-0", ProfileID: "profile-0", Serial: "S", Status: term.DeviceRetired, Class: term.ClassC},
		&plant.Device{ID: "e", Version: 1, FarmID: "farm-0", ProfileID: "profile-0", Serial: "T", Status: term.DeviceRetired, Class: term.ClassC, Boots: []string{}},
		&plant.Endpoint{ID: "d/k", Version: 1, DeviceID: "d", EndpKey: "k", Mark: term.Mark{Seq: -1}},
		&plant.Rule{ID: "r", Version: 1},
		&plant.Event{ID: term.EventID(uid(1)), Version: 1, Status: term.EventPending},
		&plant.Execution{ID: term.ExecutionID(uid(2)), Version: 1, Source: term.SourceHand, Outcome: term.ExecutionRefused, Count: 1, IsOpen: true},
		&plant.Intent{ID: term.IntentID(uid(3)), Version: 1, ExecutionID: term.ExecutionID(uid(2)), Action: term.ActionPulse, MaxAttempts: 1,
			State: term.PendingDispatch, DueAt: at(0)},
		&plant.Hold{ID: term.HoldID(uid(4)), Version: 1, Reason: term.HoldParked},
	}
	w.must(insert(rows...)...)
	got, err := s.Reload(t.Context())
	require.NoError(t, err)
	want, err := plant.Load(w.fence, rows)
	require.NoError(t, err)
	require.Empty(t, plant.Diff(want, got))
}

func TestKnown(t *testing.T) {
	s, state := opened(t, database(t))
	w := newTurns(t, s, state)
	i, a := fenced(anIntent(1), 1)
	ended := with(anIntent(2), func(r *plant.Intent) {
		r.State, r.EndedAt, r.ClosedAt, r.CommandID = term.Failed, at(9), at(9), "command-2"
	})
	w.must(insert(aKey(1), aKey(2), i, a, ended)...)

	known, err := s.Known(t.Context(), message.Need{})
	require.NoError(t, err)
	require.Empty(t, known.Keys)

	known, err = s.Known(t.Context(), message.Need{
		Keys:     []string{aKey(1).ID, uid(1), "not a uuid", "'; drop table holds; --"},
		Commands: []term.CommandID{"command-2", "never", "with \x00 in it", "\xff"},
		Intents:  []term.IntentID{i.ID, "nonsense", ended.ID},
	})
	require.NoError(t, err)
	require.Equal(t, map[string]plant.MessageKey{aKey(1).ID: *aKey(1)}, known.Keys)
	require.ElementsMatch(t, []*plant.Intent{i, ended}, known.Intents)
}

func TestEntriesAreWrittenWithTheirBatch(t *testing.T) {
	for _, n := range []int64{1, 40} {
		url := database(t)
		s, state := opened(t, url)
		b := newTurns(t, s, state).batch()
		for seq := int64(1); seq <= n; seq++ {
			b.Entries = append(b.Entries, anEntry(seq))
		}
		b.After.Seq = n
		require.NoError(t, s.Commit(t.Context(), b))
		require.Len(t, jsonOf(t, url, "event_log", "seq"), int(n))
		got, err := s.Reload(t.Context())
		require.NoError(t, err)
		require.Equal(t, b.After, got.Fence())
	}
}
