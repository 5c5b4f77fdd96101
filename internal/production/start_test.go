package production_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"surehand/internal/message"
	"surehand/internal/plant"
	"surehand/internal/production"
	"surehand/internal/term"
)

// A start is about the parts that were in the slots when it was decided: one that came later is not started by it, not
// done by a done that could only prove that start, and not finished by an answer about it.
func TestAStartIsAboutThePartsOfThen(t *testing.T) {
	for _, c := range []struct {
		name    string
		again   time.Duration // after the start: the part is taken out and set in again; 0: it stays
		started bool
	}{{"the part stays", 0, true}, {"it was set in again", time.Minute, false}} {
		t.Run(c.name, func(t *testing.T) {
			b := inCell(t)
			var start *plant.Task
			b.with(func(tx *plant.Tx) {
				tx.CorrectJobPlace("A.1", term.SlotPlace("lathe:2"), false)
				start = tx.StartMachine("lathe", 2, []int{2}, 1)
			})
			if b.later = c.again; c.again > 0 {
				b.with(func(tx *plant.Tx) { tx.CorrectJobPlace("A.1", term.BufferPlace(1), false) })
				b.with(func(tx *plant.Tx) { tx.CorrectJobPlace("A.1", term.SlotPlace("lathe:2"), false) })
			}
			done := message.MachineDone{Machine: "lathe", SlotNo: 2}
			o := b.decide(func(tx *plant.Tx) message.Outcome {
				o := production.ActionEnded(tx, message.ActionEnded{Task: start.ID, Kind: start.Type, Attempt: 1, Epoch: 1, Outcome: term.Done})
				s, _ := tx.State().Slot("lathe:2")
				require.Equal(t, c.started, !s.StartedAt.IsZero())
				o.Code = message.Refused // look only
				return o
			})
			require.Equal(t, message.Refused, o.Code)
			b.with(func(tx *plant.Tx) {
				o := production.MachineDone(tx, done)
				require.Equal(t, c.started, o.Reason != "not_expected", "%+v", o)
				j, _ := tx.State().Job("A.1")
				require.Equal(t, c.started, j.StepIndex == 1)
			})
		})
	}
}
