package loop_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"surehand/internal/message"
)

// proves C-22 C-15 C-16 C-17
func TestAnOrderOfTwelvePartsGoesItsWholeRoute(t *testing.T) {
	r := newCellRig(t, theCell())
	r.confirm()
	r.order("WO-1", 12)
	r.until("the order has ended", time.Hour, func() bool { return r.ended("WO-1") })
	r.finished("WO-1", 12)
	r.truth()
	require.Empty(t, r.loop.State().Questions())
	r.accept(message.PalletLeft{Pallet: "pallet-WO-1"})
}
