package loop_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"surehand/internal/loop/looptest"
	"surehand/internal/message"
	"surehand/internal/term"
)

// A part that somebody sets into a machine is alarmed, the machine is not loaded, and the alarm ends when it is gone.
func TestAForeignPartIsAlarmedAndItsSlotIsLeftAlone(t *testing.T) {
	r := newCellRig(t, theCell())
	r.confirm()
	r.line.At["stranger"] = 41
	r.wait(3 * time.Second)
	a, alarmed := r.loop.State().AlarmOf(term.AlarmUnexpected, "slot:lathe:1")
	require.True(t, alarmed)
	require.Equal(t, term.AlarmUnacknowledged, a.State)
	r.order("A", 1)
	r.wait(2 * time.Minute)
	require.Equal(t, term.BufferPlace(1), r.job("A.1").Position, "%s", r.describe())
	r.line.PutBy("stranger", looptest.Removed)
	r.withOperator("A", time.Hour)
	r.finished("A", 1)
	r.truth()
	a, _ = r.loop.State().AlarmOf(term.AlarmUnexpected, "slot:lathe:1")
	require.Equal(t, term.AlarmReturned, a.State)
	r.accept(message.AckAlarm{Alarm: a.ID})
}
