// Package house holds the rules of how Surehand's packages may use each other,
// as a test: see imports_test.go.
//
// It owns the allow list of imports between our own packages, with one reason
// per edge, and the list of what the pure packages (level 2 and below) may never
// import. A list of forbidden edges would forget one; an allow list fails on
// anything that nobody thought about, a new package included.
//
// It must never hold code that runs: no package imports it. What needs types
// (ranging over maps, the wall clock) is checked by tools/bans.
package house
