// Package dbstate is the loop's Store on PostgreSQL: it loads the picture, answers what is known, commits a
// batch, and settles a commit in doubt. It owns all SQL that writes; package read owns what the API reads.
//
// One connection is the writer. Whoever writes has taken a session advisory lock (against a second start by
// mistake) and owns the epoch in loop_state (against a forgotten process that wakes up): every commit moves
// that one row forward under the condition that it stands where the batch found it, so a process whose
// picture or whose life is over changes nothing.
//
// Every write is a guarded statement whose rows are counted. 0 rows: the picture is wrong, nothing is
// committed. More than one: a bug. A few changes of a kind go through ent; many go as one statement per
// table. Both say the same, and a test holds them against each other.
//
// It must never decide anything about a device or a command, keep a second copy of the picture, or retry
// a write by itself: what an error means is said by its plant.FaultKind, and the loop acts on it.
package dbstate
