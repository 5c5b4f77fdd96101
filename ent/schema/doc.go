// Package schema says what PostgreSQL stores: one table per row kind of package plant, the event log, and
// the one row that fences every commit.
//
// It owns the third voice of the law: each law of internal/plant/law.go is a CHECK constraint of the same
// name here, and what must be unique is a unique index. Partial indexes stand on boolean columns (is_open,
// holds_endpoint), each tied to the state by a CHECK: a predicate that lists states is printed back
// differently by PostgreSQL, and every diff would then write the same migration again.
//
// It imports only package term, so that a change of the law does not recompile the generated code. There
// are no edges, hooks or defaults: rows come from the picture whole, with their ids and versions, and are
// never fetched by following a relation. Storage settings that ent does not know are in the migrations.
package schema
