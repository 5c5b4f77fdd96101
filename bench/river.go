package main

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
)

const (
	riverDatabase = "river"
	riverJobs     = 30000
	riverWorkers  = 2000
	// riverRows are written for a worked job: it is fetched (running) and completed.
	riverRows = 2
)

type noop struct{}

func (noop) Kind() string { return "noop" }

type noopWorker struct {
	river.WorkerDefaults[noop]
	worked *atomic.Int64
}

func (w *noopWorker) Work(context.Context, *river.Job[noop]) error { w.worked.Add(1); return nil }

// riverRatio holds the rows that the loop changes against the rows that River changes, the fastest job queue
// on PostgreSQL in Go, when it works jobs that do nothing: 30,000 of them, 2,000 at a time.
func riverRatio(ctx context.Context, s *site) (round, error) {
	h, err := s.house(ctx, "full", fullHouse)
	if err != nil {
		return nil, err
	}
	if err := s.createDatabase(ctx, riverDatabase); err != nil {
		return nil, err
	}
	pool, err := pgxpool.New(ctx, s.cluster.url(riverDatabase, "pool_max_conns=20"))
	if err != nil {
		return nil, err
	}
	s.closers = append(s.closers, pool.Close)
	migrator, err := rivermigrate.New(riverpgxv5.New(pool), &rivermigrate.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, err
	}
	if _, err := migrator.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return nil, err
	}
	return func(ctx context.Context) (float64, float64, error) {
		jobs, err := riverWorks(ctx, pool)
		if err != nil {
			return 0, 0, fmt.Errorf("river: %w", err)
		}
		m, err := h.flood(ctx, fullHouse.valves, s.options.window())
		s.note("River %.0f jobs/s; loop %s", jobs, m)
		return m.rowsPerSecond(), riverRows * jobs, err
	}, nil
}

// riverWorks fills the queue, starts a client, and times it until no job is available or running.
func riverWorks(ctx context.Context, pool *pgxpool.Pool) (perSecond float64, err error) {
	worked := &atomic.Int64{}
	workers := river.NewWorkers()
	river.AddWorker(workers, &noopWorker{worked: worked})
	client, err := river.NewClient(riverpgxv5.New(pool), &river.Config{
		FetchCooldown: 2 * time.Millisecond, Workers: workers, Logger: slog.New(slog.DiscardHandler),
		Queues: map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: riverWorkers}},
	})
	if err != nil {
		return 0, err
	}
	if _, err := pool.Exec(ctx, "TRUNCATE river_job"); err != nil {
		return 0, err
	}
	jobs := make([]river.InsertManyParams, riverJobs)
	for i := range jobs {
		jobs[i].Args = noop{}
	}
	if _, err := client.InsertManyFast(ctx, jobs); err != nil {
		return 0, err
	}
	if _, err := pool.Exec(ctx, "VACUUM ANALYZE river_job"); err != nil {
		return 0, err
	}
	began := time.Now()
	if err := client.Start(ctx); err != nil {
		return 0, err
	}
	left := 1
	for left > 0 && ctx.Err() == nil && time.Since(began) < patience {
		time.Sleep(5 * time.Millisecond)
		if worked.Load() < riverJobs {
			continue
		}
		err := pool.QueryRow(ctx, "SELECT count(*) FROM river_job WHERE state IN ('available', 'running')").Scan(&left)
		if err != nil && err != pgx.ErrNoRows {
			return 0, err
		}
	}
	wall := time.Since(began)
	if left > 0 {
		return 0, fmt.Errorf("only %d of %d jobs were worked", worked.Load(), riverJobs)
	}
	return riverJobs / wall.Seconds(), client.Stop(ctx)
}
