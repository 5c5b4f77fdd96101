// Command migdiff writes the migration that leads from the files in migrations/ to ent/schema.
//
//	go run ./cmd/migdiff add_something   write the difference; no difference, no file
//	go run ./cmd/migdiff -hash           record the checksums after a file was written by hand
//
// It replays the migrations into an empty scratch database on a PostgreSQL of its own. Look at what it
// wrote: a new NOT NULL column comes without a default, and a rename is a drop and an add.
package main

import (
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"ariga.io/atlas/sql/migrate"
	"ariga.io/atlas/sql/sqltool"
	"entgo.io/ent/dialect"
	"entgo.io/ent/dialect/sql/schema"
	"github.com/jackc/pgx/v5/stdlib"

	entmigrate "surehand/ent/migrate"
	"surehand/internal/embedded"
)

func main() {
	hash := flag.Bool("hash", false, "only record the checksums of the files")
	flag.Parse()
	if err := run(context.Background(), *hash, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "migdiff:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, hash bool, args []string) error {
	dir, err := sqltool.NewGooseDir("migrations")
	if err != nil {
		return fmt.Errorf("run it in the root of the repository: %w", err)
	}
	if hash {
		sum, err := dir.Checksum()
		if err != nil {
			return err
		}
		return migrate.WriteSumFile(dir, sum)
	}
	if len(args) != 1 {
		return errors.New("name the migration, for example: go run ./cmd/migdiff add_device_model")
	}
	scratch, err := os.MkdirTemp("", "migdiff-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	server, err := embedded.StartPostgres(ctx, embedded.PostgresOptions{Dir: filepath.Join(scratch, "postgres")})
	if err != nil {
		return err
	}
	err = diff(ctx, server, dir, args[0])
	return errors.Join(err, server.Stop(ctx))
}

func diff(ctx context.Context, server *embedded.Postgres, dir migrate.Dir, name string) error {
	if err := server.CreateDatabase(ctx, "scratch"); err != nil {
		return err
	}
	sql.Register(dialect.Postgres, stdlib.GetDefaultDriver()) // the name under which ent opens the scratch database
	return entmigrate.NamedDiff(ctx, server.URL("scratch"), name,
		schema.WithDir(dir),
		schema.WithMigrationMode(schema.ModeReplay),
		schema.WithDialect(dialect.Postgres),
		schema.WithFormatter(sqltool.GooseFormatter),
	)
}
