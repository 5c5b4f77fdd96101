// Package ent is generated from ent/schema by cmd/entgen; only the schema is written by hand.
//
// It is used by internal/dbstate alone: nothing above it may see a generated type. Regenerate with
// "go generate ./ent" after a change of the schema, then write the migration with "go run ./cmd/migdiff".
package ent

//go:generate go run surehand/cmd/entgen
