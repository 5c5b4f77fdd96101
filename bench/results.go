package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"text/tabwriter"
)

// result is one entry of results.json.
type result struct {
	Name           string   `json:"name"`
	Value          float64  `json:"value"`
	Unit           string   `json:"unit"`
	Yardstick      string   `json:"yardstick"`
	YardstickValue float64  `json:"yardstickValue"`
	Ratio          float64  `json:"ratio"`
	Goal           *float64 `json:"goal"` // null: told beside another, and none is set

	AtMost          bool    `json:"-"` // the goal is an upper bound
	Lowest, Highest float64 `json:"-"` // of the rounds' ratios
}

// verdict holds the ratio against the goal, in words.
func (r result) verdict() string {
	if r.Goal == nil {
		return "none\t"
	}
	sign, met := "≥", r.Ratio >= *r.Goal
	if r.AtMost {
		sign, met = "≤", r.Ratio <= *r.Goal
	}
	word := "NOT MET"
	if met {
		word = "met"
	}
	return fmt.Sprintf("%s %g\t%s", sign, *r.Goal, word)
}

// facts say on what the results were measured.
type facts struct {
	Cores      int     `json:"cores"`
	Go         string  `json:"go"`
	PostgreSQL string  `json:"postgresql"`
	Rounds     int     `json:"rounds"`
	Seconds    float64 `json:"seconds"`
	// MeanSyncMS is how long the disk took for one WAL sync, over the whole run; -1: the server does not tell.
	MeanSyncMS float64 `json:"meanSyncMilliseconds"`
	SlowDisk   bool    `json:"slowDisk"` // above 1 ms: single commits are bound by the disk, ratios across runs do not compare
	// Load is the machine's load average over a minute at start and end: other programs' work moves the figures.
	LoadAtStart string `json:"loadAtStart"`
	LoadAtEnd   string `json:"loadAtEnd"`

	syncs    int64
	syncedMS float64
}

const slowSyncMS = 1.0

func (s *site) facts(ctx context.Context) *facts {
	f := &facts{Cores: runtime.NumCPU(), Go: runtime.Version(), Rounds: s.options.rounds, Seconds: s.options.seconds, LoadAtStart: load()}
	if err := s.admin.QueryRow(ctx, "SHOW server_version").Scan(&f.PostgreSQL); err != nil {
		f.PostgreSQL = "unknown: " + err.Error()
	}
	f.syncs, f.syncedMS = s.syncs(ctx)
	return f
}

func (f *facts) finish(ctx context.Context, s *site) {
	f.LoadAtEnd = load()
	f.MeanSyncMS = -1
	if n, ms := s.syncs(ctx); n > f.syncs {
		f.MeanSyncMS = (ms - f.syncedMS) / float64(n-f.syncs)
	}
	f.SlowDisk = f.MeanSyncMS > slowSyncMS
}

// syncs are the WAL syncs so far and their time. From version 18 on pg_stat_io has them.
func (s *site) syncs(ctx context.Context) (n int64, ms float64) {
	if _, err := s.admin.Exec(ctx, "SELECT pg_stat_force_next_flush()"); err != nil { // since version 15
		return 0, 0
	}
	query := "SELECT wal_sync, wal_sync_time FROM pg_stat_wal"
	if s.cluster.major >= 18 {
		query = "SELECT sum(fsyncs)::bigint, sum(fsync_time) FROM pg_stat_io WHERE object = 'wal'"
	}
	if err := s.admin.QueryRow(ctx, query).Scan(&n, &ms); err != nil {
		return 0, 0
	}
	return n, ms
}

// load is the load average over the last minute, where the system tells it.
func load() string {
	b, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	one, _, _ := strings.Cut(string(b), " ")
	return one
}

func printTable(w io.Writer, results []result, f *facts) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "\nbenchmark\tfigure\tyardstick\tratio\trange\tgoal\t")
	for _, r := range results {
		fmt.Fprintf(t, "%s\t%s %s\t%s\t%.2f\t%.2f–%.2f\t%s\n",
			r.Name, rounded(r.Value), r.Unit, rounded(r.YardstickValue), r.Ratio, r.Lowest, r.Highest, r.verdict())
	}
	if err := t.Flush(); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
	}
	fmt.Fprintf(w, "\n%d cores, %s, PostgreSQL %s, %d rounds of %g s, mean sync %.2f ms, load %s to %s\n",
		f.Cores, f.Go, f.PostgreSQL, f.Rounds, f.Seconds, f.MeanSyncMS, f.LoadAtStart, f.LoadAtEnd)
	if f.SlowDisk {
		fmt.Fprintf(w, "The disk took more than %g ms for a sync: what commits one message at a time was bound by it. Run again.\n", slowSyncMS)
	}
}

func rounded(v float64) string {
	if v >= 100 {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.3g", v)
}

// writeResults writes the list, and beside it what it was measured on.
func writeResults(path string, results []result, f *facts) error {
	write := func(path string, v any) error {
		b, err := json.MarshalIndent(v, "", "  ")
		if err != nil {
			return err
		}
		return os.WriteFile(path, append(b, '\n'), 0o644)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	if err := write(path, results); err != nil {
		return err
	}
	return write(filepath.Join(filepath.Dir(path), "machine.json"), f)
}
