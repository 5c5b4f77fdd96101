package term

import (
	"slices"
	"testing"
)

// Each finding either keeps a recovery open or not; a new one has to be put into this table.
func TestBlocksRecovery(t *testing.T) {
	blocks := map[Finding]bool{
		FindJobSlot: true, FindSlotJob: true, FindSharedPlace: true, FindPlaceRange: true, FindTwoPlaces: true, FindCounters: true,
		FindNotRunning: true, FindPartMissing: true, FindPartForeign: true, FindGripper: true, FindGripperEmpty: true, FindEchoUnknown: true,
		FindUnreachable: true, FindFault: true, FindFlapping: true,
		FindTaskUnknown: true, FindLateSuccess: true, FindUnexpected: true, FindJobMismatch: true,

		FindActionFailed: false, FindOverdue: false, FindJudgement: false, FindReportedPart: false, FindParkedMessage: false,
	}
	for f, want := range blocks {
		if !slices.Contains(f.Values(), string(f)) || f.BlocksRecovery() != want {
			t.Errorf("%s: %t, want %t", f, f.BlocksRecovery(), want)
		}
	}
	if known := Finding("").Values(); len(known) != len(blocks) {
		t.Errorf("%d findings, %d in the table", len(known), len(blocks))
	}
}
