package looptest_test

import (
	"testing"

	"surehand/internal/loop"
	"surehand/internal/loop/looptest"
	"surehand/internal/loop/storetest"
)

func TestMemoryIsAStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T) storetest.Opener {
		db := looptest.NewDatabase()
		t.Cleanup(func() {
			for _, b := range looptest.Invariants(db) {
				t.Error(b)
			}
		})
		return func(*testing.T) loop.Store { return db.Store() }
	})
}
