package looptest

import "surehand/internal/plant"

// Load is a fresh picture of what is committed, without a handle: what invariant 13 compares with.
func (db *Database) Load() (*plant.State, error) {
	db.mu.Lock()
	defer db.mu.Unlock()
	return db.load()
}
