// Package migrations holds the released schema history as goose files.
//
// cmd/migdiff writes a new file from the difference between these files and ent/schema; what ent does not
// know (storage settings) is written by hand in files of its own. A file that was released is never edited:
// atlas.sum has a checksum of each. internal/dbstate/migrate applies them.
package migrations

import "embed"

// Files are the migrations in order of their names.
//
//go:embed *.sql
var Files embed.FS
