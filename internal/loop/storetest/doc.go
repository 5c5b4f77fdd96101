// Package storetest is what every loop.Store must do: one suite, run against the store in memory that
// simulations use and against PostgreSQL, so that a simulation means something.
//
// Run needs an Opener: new handles on one fresh, empty, migrated database. A handle that is opened takes the
// database over from the one opened before it, as a process started with --takeover does.
//
// Batches are built through the real moves of package plant wherever the law lets them; what the law forbids
// (a stale version, a second holder) is written into a batch by hand, to see that the store refuses it by its
// own means. After every commit the picture is compared with a fresh load (invariant 13).
//
// A store that can also read back closed rows and its log may implement Reader; what it returns is then
// compared as well.
package storetest
