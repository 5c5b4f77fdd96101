// Package production decides what happens in the cell: orders, parts, machines, results, alarms and the plant file.
//
// A message goes in with the savepoint of its turn; the package checks the state, answers a refusal that names what
// forbids it, or calls the moves of package plant. A part's place changes only with the evidence that moved it: the
// result of its action, or a person's answer. A result that nobody waits for any more changes nothing; a success that
// contradicts what a person said stops the cell and asks.
//
// Schedule asks package scheduler for the next move and claims it. It runs once in a batch, after the last message that
// changed the cell.
//
// It must never wait, read a clock, or treat an unknown outcome as a failure or as a permission to repeat.
package production
