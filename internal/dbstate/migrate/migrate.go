// Package migrate brings a database to the schema that this binary was built with, and tells whether it
// is there.
//
// Up applies the released files under a lock, so that two processes started at once do not collide. Check
// is what a start asks: it changes nothing, and its error names the command that helps. A start never
// migrates by itself: an upgrade of the schema is a decision of a person who has a backup.
package migrate

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"

	"surehand/migrations"
)

// What Check may find; match with errors.Is.
var (
	ErrEmpty = errors.New("database has no surehand tables")
	ErrOlder = errors.New("database is older than this surehand")
	ErrNewer = errors.New("database is newer than this surehand")
)

// VersionError says which schema was found and which one is needed.
type VersionError struct {
	Kind             error // ErrEmpty, ErrOlder or ErrNewer
	Database, Binary int64 // schema versions
}

func (e *VersionError) Unwrap() error { return e.Kind }

func (e *VersionError) Error() string {
	switch e.Kind {
	case ErrEmpty:
		return "the database has no surehand tables yet: create them with `surehand migrate`"
	case ErrOlder:
		return fmt.Sprintf("the database has schema version %d, this binary needs %d: make a backup, then run `surehand migrate`", e.Database, e.Binary)
	}
	return fmt.Sprintf("this database was migrated by a newer surehand (version %d, this binary knows %d): install that version", e.Database, e.Binary)
}

// Applied is one migration and whether the database has it.
type Applied struct {
	Version int64
	Name    string
	Applied bool
}

// Up applies what is missing and says so on log. Running it again changes nothing.
func Up(ctx context.Context, url string, log *slog.Logger) error {
	p, closeDB, err := provider(url)
	if err != nil {
		return err
	}
	defer closeDB()
	results, err := p.Up(ctx)
	for _, r := range results {
		if r.Error == nil {
			log.Info("migrated", "file", r.Source.Path, "took", r.Duration)
		}
	}
	if err != nil {
		var partly *goose.PartialError
		if errors.As(err, &partly) {
			return fmt.Errorf("migrate: %w; the failed file was rolled back, those before it stand", err)
		}
		return fmt.Errorf("migrate: %w; nothing was changed (the server, the role and the database of SUREHAND_DATABASE_URL must exist)", err)
	}
	if len(results) == 0 {
		log.Info("the database has this version's schema already")
	}
	return nil
}

// Status lists the migrations that this binary knows, oldest first.
func Status(ctx context.Context, url string) ([]Applied, error) {
	p, closeDB, err := provider(url)
	if err != nil {
		return nil, err
	}
	defer closeDB()
	found, err := p.Status(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the state of the migrations: %w", err)
	}
	list := make([]Applied, 0, len(found))
	for _, s := range found {
		list = append(list, Applied{Version: s.Source.Version, Name: s.Source.Path, Applied: s.State == goose.StateApplied})
	}
	return list, nil
}

// Check tells whether the database has exactly the schema of this binary; if not, a *VersionError.
func Check(ctx context.Context, url string) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return fmt.Errorf("connect to the database: %w", err)
	}
	defer conn.Close(context.WithoutCancel(ctx))
	return CheckConn(ctx, conn)
}

// CheckConn is Check on a connection that is open already.
func CheckConn(ctx context.Context, conn *pgx.Conn) error {
	newest, err := Newest()
	if err != nil {
		return err
	}
	var found bool
	if err := conn.QueryRow(ctx, "SELECT to_regclass('"+goose.DefaultTablename+"') IS NOT NULL").Scan(&found); err != nil {
		return fmt.Errorf("look for the table of migrations: %w", err)
	}
	var have int64
	if found {
		q := "SELECT coalesce(max(version_id), 0) FROM " + goose.DefaultTablename + " WHERE is_applied"
		if err := conn.QueryRow(ctx, q).Scan(&have); err != nil {
			return fmt.Errorf("read the table of migrations: %w", err)
		}
	}
	switch {
	case have == 0:
		return &VersionError{Kind: ErrEmpty, Binary: newest}
	case have < newest:
		return &VersionError{Kind: ErrOlder, Database: have, Binary: newest}
	case have > newest:
		return &VersionError{Kind: ErrNewer, Database: have, Binary: newest}
	}
	return nil
}

// Newest is the schema version that this binary was built with.
func Newest() (int64, error) {
	names, err := fs.Glob(migrations.Files, "*.sql")
	if err != nil || len(names) == 0 {
		return 0, fmt.Errorf("this binary was built without migrations (%d found): %w", len(names), err)
	}
	v, err := goose.NumericComponent(names[len(names)-1]) // names are sorted, and start with their version
	if err != nil {
		return 0, fmt.Errorf("migration %s: %w", names[len(names)-1], err)
	}
	return v, nil
}

func provider(url string) (*goose.Provider, func(), error) {
	config, err := pgx.ParseConfig(url)
	if err != nil {
		return nil, nil, fmt.Errorf("database URL: %w", err)
	}
	locker, err := lock.NewPostgresSessionLocker()
	if err != nil {
		return nil, nil, err
	}
	db := stdlib.OpenDB(*config)
	p, err := goose.NewProvider(goose.DialectPostgres, db, migrations.Files, goose.WithSessionLocker(locker))
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("read the migrations: %w", err), db.Close())
	}
	return p, func() { closeQuietly(db) }, nil
}

// closeQuietly: nothing is left to save when the pool of a finished migration cannot be closed.
func closeQuietly(db *sql.DB) { _ = db.Close() }
