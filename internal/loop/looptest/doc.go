// Package looptest is the world around the loop without hardware, database or time: what simulations and
// tests put in the place of Store, Hands, Feed, Clock and Mint.
//
// Database is one database in memory; Memory is one process's handle on it. It refuses what PostgreSQL would
// refuse (fence, version and state of each row, CHECKs, unique laws at the end of the batch), keeps closed
// rows, the event log and the history of commits, and can fail in every way a commit can: before, after it
// happened, without a word, late, or by going back in time. Fault says which; Settle always tells the truth.
//
// Invariants holds rows, log and history against docs/invariants.md without SQL.
//
// Everything is a function of its inputs: same seed and same calls, same rows, ids and order. Nothing here
// imports testing, so the lab's simulation uses it too; nothing here decides anything.
package looptest
