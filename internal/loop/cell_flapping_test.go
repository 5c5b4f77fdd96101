package loop_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"surehand/internal/loop/looptest"
	"surehand/internal/message"
	"surehand/internal/plant"
	"surehand/internal/term"
)

// A robot whose signals never stand still again must not keep the question about its last action away from a person:
// once it is put out of use, the question comes and can be answered.
func TestAnActionOfARobotThatNeverStandsStillCanBeAnswered(t *testing.T) {
	r := newCellRig(t, theCell())
	r.confirm()
	r.line.Strike = func(plant.Perform) looptest.Mishap { return looptest.Silent }
	r.order("A", 1)
	r.crash()
	on := false
	flap := func() {
		on = !on
		r.clock.Advance(300 * time.Millisecond)
		r.post(message.EquipmentStatusChanged{Equipment: "robot", Epoch: r.loop.State().Fence().Epoch, Reading: term.Reading{Reached: true, Ready: on, Echo: 1}})
	}
	for range 40 {
		flap()
	}
	require.Empty(t, r.loop.State().AskedAbout("job:A.1"), "%s", r.describe())
	r.accept(message.DisableEquipment{Equipment: "robot", Reason: "its cable is loose"})
	for range 20 {
		flap()
		for _, id := range r.loop.State().AskedAbout("job:A.1") {
			q, _ := r.loop.State().Question(id)
			r.answerWith(q, term.AnswerRemoved)
		}
	}
	_, open := r.loop.State().Job("A.1")
	require.False(t, open, "%s", r.describe())
}
