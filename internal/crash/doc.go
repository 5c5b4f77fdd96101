// Package crash holds the tests that kill things: the real binary, its PostgreSQL, its broker, and the
// connections between them, at random moments and exactly between two steps, under load.
//
// A fleet of simulated devices of all three classes lives in the test's process, so it outlives every kill and
// counts what really happened: which commands were executed, how often, and which readings the broker took.
// After a test everything comes to rest, and that truth is held against the rows in the database: nothing lost,
// nothing fired twice, nothing called done, or not done, that was otherwise. Invariants carry the numbers of
// the quality rules.
//
// Each test prints its seed; -seed chooses the same moments and the same faults again, though not the same
// scheduling. The counts are small by default; a long run is
//
//	go test ./internal/crash -run TestKill -kills 100 -timeout 60m
//
// The package has no product code. It ends only processes that it started.
package crash
