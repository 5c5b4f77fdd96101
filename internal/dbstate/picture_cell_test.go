package dbstate_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"surehand/internal/config"
	"surehand/internal/loop"
	"surehand/internal/loop/looptest"
	"surehand/internal/message"
	"surehand/internal/plant"
	"surehand/internal/term"
)

// cellWorld drives the production loop with a seeded shift in a cell in memory. It knows nothing of the store behind
// the loop.
type cellWorld struct {
	t      *testing.T
	chance *rand.Rand
	clock  *looptest.Clock
	mint   *looptest.Mint
	hands  *looptest.Hands
	feed   *looptest.Feed
	line   *looptest.Line
	loop   *loop.Loop
}

func newCellWorld(t *testing.T, seed uint64, store loop.Store, check func(context.Context, *plant.State)) *cellWorld {
	at := time.Date(2026, 11, 30, 6, 0, 0, 0, time.UTC)
	w := &cellWorld{t: t, chance: rand.New(rand.NewPCG(seed, 9)), clock: looptest.NewClock(at), mint: looptest.NewMint(seed), hands: &looptest.Hands{},
		feed: &looptest.Feed{}, line: looptest.NewLine(at)}
	w.loop = loop.New(loop.Options{Store: store, Hands: w.hands, Feed: w.feed, Clock: w.clock, Mint: w.mint, Check: check})
	require.NoError(t, w.loop.Begin(t.Context()))
	file, err := os.ReadFile("../../docs/examples/plant.yaml")
	require.NoError(t, err)
	cell, problems := config.Plant(file)
	require.Empty(t, problems)
	w.line.Exit = cell.Cell.Config.Exit
	w.line.Strike = func(plant.Perform) looptest.Mishap {
		if w.chance.IntN(6) > 0 {
			return looptest.Fine
		}
		return looptest.Mishap(1 + w.chance.IntN(8))
	}
	w.person(cell)
	w.person(message.CreateOrder{ID: "A", Product: "housing", Route: cell.Routes[0].ID, Quantity: 5})
	w.person(message.CreateOrder{ID: "B", Route: cell.Routes[0].ID, Quantity: 2, Priority: 5})
	w.person(message.PalletArrived{Pallet: "p1", Order: "A", Quantity: 5})
	w.line.Arrive("A", cell.Cell.Config.Dock.First, 5)
	w.person(message.StartOrder{Order: "A"})
	return w
}

func (w *cellWorld) person(p message.Payload) {
	w.turn(message.Message{Source: message.FromPerson, Actor: "kim", Payload: p, BodyHash: fmt.Sprint(p)})
}

func (w *cellWorld) turn(batch ...message.Message) {
	w.t.Helper()
	for i := range batch {
		batch[i].ID, batch[i].CreatedAt = term.MessageID(w.mint.ID(w.clock.Now())), w.clock.Now()
	}
	require.NoError(w.t, w.loop.Turn(w.t.Context(), batch))
	w.line.Take(w.hands.Take())
}

func (w *cellWorld) step() {
	next := w.line.Next()
	if due, ok := w.loop.NextTurn(); ok && due.Before(next) {
		next = due
	}
	w.clock.Advance(max(0, next.Sub(w.clock.Now())))
	if posts := w.line.Step(w.clock.Now()); len(posts) > 0 {
		w.turn(posts...)
	} else {
		w.turn()
	}
	s := w.loop.State()
	jobs := s.Jobs()
	if len(jobs) == 0 {
		return
	}
	job := jobs[w.chance.IntN(len(jobs))].ID
	switch w.chance.IntN(30) {
	case 0:
		w.line.Cut([]term.EquipmentID{"lathe", "robot", "oven"}[w.chance.IntN(3)], true)
	case 1, 2:
		for _, id := range []term.EquipmentID{"lathe", "robot", "oven"} {
			w.line.Cut(id, false)
		}
	case 3:
		w.person(message.SuspendJob{Job: job, Reason: "odd"})
	case 4, 5:
		w.person(message.ResumeJob{Job: job})
	case 6:
		w.person(message.PauseOrder{Order: "A"})
	case 7, 8:
		w.person(message.ResumeOrder{Order: "A"})
	case 9:
		w.person(message.ScrapJob{Job: job, Reason: "a scratch"})
	case 10:
		for _, a := range s.Alarms() {
			w.person(message.AckAlarm{Alarm: a.ID})
			w.person(message.ShelveAlarm{Alarm: a.ID, For: term.Duration(time.Minute), Reason: "known"})
		}
	case 11:
		w.person(message.CompareCell{})
	case 12, 13, 14, 15:
		w.line.Unstick()
		for _, q := range s.Questions() { // right or wrong: the store has to take it
			w.person(message.ResolveManualAction{Question: q.ID, Version: q.Version, Hash: q.Hash, Answer: q.Answers[w.chance.IntN(len(q.Answers))].Word, Reason: "drawn"})
		}
		w.person(message.ConfirmRecovery{})
	}
}

func (w *cellWorld) trace() (out []string) {
	installation := w.loop.State().Fence().Installation
	for _, c := range w.feed.Shown() {
		for _, e := range c.Entries {
			out = append(out, strings.ReplaceAll(fmt.Sprintf("%+v", e), installation, "I"))
		}
	}
	return out
}

// proves quality 13 and 17 for the cell: on PostgreSQL the picture equals a fresh load after every committed turn, and
// the same seed gives the same trace there and in memory.
func TestCellPictureAndTraceOnPostgreSQL(t *testing.T) {
	for seed := uint64(1); seed <= 3; seed++ {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			const steps = 200
			db := looptest.NewDatabase()
			memory := newCellWorld(t, seed, db.Store(), nil)
			for range steps {
				memory.step()
			}
			require.Empty(t, looptest.Invariants(db))

			store := connect(t, database(t))
			stored := newCellWorld(t, seed, store, func(ctx context.Context, s *plant.State) {
				fresh, err := store.Reload(ctx)
				require.NoError(t, err)
				require.Empty(t, plant.Diff(s, fresh))
			})
			for range steps {
				stored.step()
			}
			want, got := memory.trace(), stored.trace()
			for i := range want {
				require.Equal(t, want[i], got[min(i, len(got)-1)], "entry %d of seed %d", i, seed)
			}
			require.Len(t, got, len(want))
			require.Greater(t, len(want), steps/2)
		})
	}
}
