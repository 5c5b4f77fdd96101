package looptest

import "surehand/internal/plant"

// Load is a fresh picture of what is committed, without a handle: what invariant 13 compares with.
func (db *Database) Load() (*plant.State, error) {
	db.mu.Lock()
	defer db.mu.Unlock()
	return db.load()
}

// heldAlready tells whether an open hold for the same subject and reason is stored.
func (db *Database) heldAlready(h *plant.Hold) bool {
	for _, r := range db.rows {
		if o, ok := r.(*plant.Hold); ok && o.Open() && o.Subject == h.Subject && o.Reason == h.Reason {
			return true
		}
	}
	return false
}

// Wreck writes rows as no commit of the loop would: what somebody did to the database by hand. Load has to bear it
// where a person can put it right.
func (db *Database) Wreck(rows ...plant.Row) {
	db.mu.Lock()
	defer db.mu.Unlock()
	for _, r := range rows {
		before := db.rows[idOf(r)]
		if before != nil {
			db.release(before)
		}
		db.put(before, r)
	}
}
