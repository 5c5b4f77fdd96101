// Package term is the vocabulary that the database schema and the law share: ids, the states with
// all their values, typed values, and the structures that are stored as JSON.
//
// It is kept tiny and apart because ent/schema imports it: a change of the law in package plant must
// not recompile the generated code. It holds words and their spelling, no behaviour beyond parsing and
// printing them, and it imports nothing of ours.
//
// Every enum lists its own values (Values), so that the schema, its CHECK constraints, the API and the
// tests that walk every pair of states cannot disagree about what exists.
package term
