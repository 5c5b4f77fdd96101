package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/jackc/pgx/v5"
)

// site is the machine under test: the private servers, and the houses that benchmarks share.
type site struct {
	options options
	folder  string
	cluster *cluster
	admin   *pgx.Conn
	houses  map[string]*house
	pgbench *pgbench
	broker  string // address; empty: not started yet
	closers []func()
	notes   []string
	asides  []pair // of the benchmark that runs, one a round
}

func openSite(ctx context.Context, o options) (*site, error) {
	folder, err := os.MkdirTemp(o.dir, "surehand-bench-")
	if err != nil {
		return nil, err
	}
	s := &site{options: o, folder: folder, houses: map[string]*house{}}
	s.closers = append(s.closers, func() {
		if err := os.RemoveAll(folder); err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
		}
	})
	if err := s.open(ctx); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func (s *site) open(ctx context.Context) error {
	err := os.Chmod(s.folder, 0o755) // the servers run as users of their own
	if err != nil {
		return err
	}
	var more []string
	if s.options.statements {
		more = append(more, "shared_preload_libraries=pg_stat_statements", "pg_stat_statements.max=1000")
	}
	if s.cluster, err = startCluster(ctx, s.folder, more...); err != nil {
		return err
	}
	s.closers = append(s.closers, s.cluster.stop)
	if s.admin, err = pgx.Connect(ctx, s.cluster.url("postgres")); err != nil || !s.options.statements {
		return err
	}
	_, err = s.admin.Exec(ctx, "CREATE EXTENSION pg_stat_statements")
	return err
}

// printStatements tells where PostgreSQL's time went since the last call.
func (s *site) printStatements(ctx context.Context) error {
	if !s.options.statements {
		return nil
	}
	rows, err := s.admin.Query(ctx, `SELECT round(total_exec_time::numeric), calls, s.rows, round((total_exec_time * 1000 / greatest(s.rows, 1))::numeric, 1),
		wal_bytes / greatest(s.rows, 1), datname, left(regexp_replace(query, '\s+', ' ', 'g'), 70)
		FROM pg_stat_statements s JOIN pg_database d ON d.oid = s.dbid ORDER BY total_exec_time DESC LIMIT 20`)
	if err != nil {
		return err
	}
	fmt.Println("   ms      calls     rows  µs/row  WAL/row  statement")
	for rows.Next() {
		var ms, perRow, wal float64
		var calls, n int64
		var database, query string
		if err := rows.Scan(&ms, &calls, &n, &perRow, &wal, &database, &query); err != nil {
			return err
		}
		fmt.Printf("%6.0f %8d %8d %7.1f %8.0f  %s: %s\n", ms, calls, n, perRow, wal, database, query)
	}
	if err := rows.Err(); err != nil {
		return err
	}
	_, err = s.admin.Exec(ctx, "SELECT pg_stat_statements_reset()")
	return err
}

// close ends everything, the newest first.
func (s *site) close() {
	for i := len(s.closers) - 1; i >= 0; i-- {
		s.closers[i]()
	}
}

func (s *site) createDatabase(ctx context.Context, name string) error {
	_, err := s.admin.Exec(ctx, "CREATE DATABASE "+pgx.Identifier{name}.Sanitize())
	return err
}

// checkpoint puts the checkpoint before the rounds, so that none falls into them.
func (s *site) checkpoint(ctx context.Context) error {
	_, err := s.admin.Exec(ctx, "CHECKPOINT")
	return err
}

// note keeps what explains a round; -v prints it.
func (s *site) note(format string, args ...any) {
	s.notes = append(s.notes, fmt.Sprintf(format, args...))
}

// aside keeps what a round measured for the second row of its benchmark.
func (s *site) aside(value, yardstick float64) { s.asides = append(s.asides, pair{value, yardstick}) }

func (s *site) takeNotes() string {
	defer func() { s.notes = nil }()
	return strings.Join(s.notes, "; ")
}

// house opens the named house once.
func (s *site) house(ctx context.Context, name string, spec houseSpec) (*house, error) {
	if h, ok := s.houses[name]; ok {
		return h, nil
	}
	if err := s.createDatabase(ctx, name); err != nil {
		return nil, err
	}
	h, err := openHouse(ctx, s.cluster.url(name, spec.settings...), spec)
	if err != nil {
		return nil, fmt.Errorf("house %s: %w", name, err)
	}
	s.houses[name] = h
	s.closers = append(s.closers, func() {
		if err := h.close(); err != nil && !errors.Is(err, context.Canceled) {
			fmt.Fprintf(os.Stderr, "bench: house %s: %v\n", name, err)
		}
	})
	return h, nil
}
