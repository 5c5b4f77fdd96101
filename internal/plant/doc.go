// Package plant is the law and the picture.
//
// The law: the rows, and the moves that may change them. A move has its guard in its name and in its
// from-states; a move that is not listed cannot be written. Each move says the same thing three times:
// here, in the WHERE of the guarded write (version and state as before), and in a CHECK or partial
// unique index of the schema; Lawful holds the Go twin of those CHECKs.
//
// The picture: State, everything that is not finished, equal to what PostgreSQL holds at the last
// commit. A turn of the loop is a Work: an undo journal over the picture with one savepoint (Tx) per
// message. Rows are immutable; a change is the row before and the row after, and that same change is the
// guarded update, the log entry and the memory store of simulations.
//
// Session holds facts of this process life (links, who was heard). It is changed only by messages, is
// never written, and is an argument of the deciders.
//
// Nothing here reads a clock, draws chance, waits, or ranges over a map. A broken invariant panics with
// its number: a lone writer with a wrong picture must stop.
package plant
