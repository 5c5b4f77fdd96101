// Bench measures Surehand against yardsticks that run on the same machine in the same minutes.
//
// A figure alone says little: processors and disks differ by a factor of ten, and one machine differs from
// itself by the minute. So every benchmark has a yardstick (pgbench, COPY, River, a bare echo …), each round
// runs both one after the other, and the result is the median of the rounds' ratios.
//
// It is a module of its own so that River, which is only a yardstick, stays out of the product's modules. It
// starts a private durable PostgreSQL and a private mosquitto in a temporary folder, drives the real loop,
// deciders and store, and asserts nothing about time: a goal that is not met is printed as not met.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/pprof"
	"slices"
	"strings"
	"syscall"
	"time"
)

// options of a run.
type options struct {
	only    string
	rounds  int
	seconds float64
	out     string
	dir     string
	profile string
	details bool
	// statements prints where PostgreSQL's time went; it costs some itself.
	statements bool
}

// window is how long one side of one round is measured.
func (o options) window() time.Duration { return time.Duration(o.seconds * float64(time.Second)) }

func main() {
	var o options
	flag.StringVar(&o.only, "only", "", "names of the benchmarks to run, separated by commas; empty: all")
	flag.IntVar(&o.rounds, "rounds", 5, "rounds; each runs the figure and its yardstick once")
	flag.Float64Var(&o.seconds, "seconds", 2, "seconds of each side of a round")
	flag.StringVar(&o.out, "out", "results.json", "file for the results; the machine's facts go beside it")
	flag.StringVar(&o.dir, "dir", "", "folder on the disk to measure, for the private servers; empty: the temporary folder")
	flag.StringVar(&o.profile, "profile", "", "folder for CPU profiles of the figures, one file a benchmark")
	flag.BoolVar(&o.statements, "statements", false, "print the dearest SQL statements of each benchmark (needs pg_stat_statements)")
	flag.BoolVar(&o.details, "v", false, "print every round")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// benchmark is one row of the table.
type benchmark struct {
	name, unit string
	yardstick  string // in words
	goal       float64
	atMost     bool // the ratio should be at most the goal, else at least
	// open readies a benchmark; the round that it returns is run -rounds times.
	open func(ctx context.Context, s *site) (round, error)
}

// round measures the yardstick and the figure once, one right after the other.
type round func(ctx context.Context) (value, yardstick float64, err error)

func benchmarks() []benchmark {
	pgbench := "pgbench -c1, six statements pipelined, transactions/s"
	return []benchmark{
		{"loop_full_queue_setbased", "transitions/s of 5 rows", pgbench, 2.5, false, fullQueue},
		{"loop_single", "transitions/s of 5 rows", pgbench, 0.5, false, single},
		{"loop_commit_1ms", "messages/s", "the same without commit_delay", 0.7, false, slowCommit},
		{"loop_latency", "µs p50", "one batch of one message by a direct call, µs p50", 3, true, latency},
		{"ingest_1000", "readings/s", "COPY of the same rows, 1,000 readings a transaction, readings/s", 0.6, false, ingest},
		{"river_ratio", "rows changed/s", "2 × River's worked no-op jobs/s", 1.5, false, riverRatio},
		{"rpc_p50", "µs p50", "a bare paho echo on the same broker, µs p50", 1.5, true, rpc},
		{"go_cpu", "µs of Go CPU a message", "µs of PostgreSQL CPU a message", 0.3, true, goCPU},
	}
}

func run(ctx context.Context, o options) error {
	chosen, err := choose(benchmarks(), o.only)
	if err != nil {
		return err
	}
	s, err := openSite(ctx, o)
	if err != nil {
		return err
	}
	defer s.close()
	facts := s.facts(ctx)
	var results []result
	var failed error
	for _, b := range chosen { // one that fails does not cost the others' results
		r, err := measure(ctx, s, b)
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("%s: %w", b.name, err))
			continue
		}
		results = append(results, r)
	}
	facts.finish(ctx, s)
	printTable(os.Stdout, results, facts)
	return errors.Join(failed, writeResults(o.out, results, facts))
}

func choose(all []benchmark, only string) ([]benchmark, error) {
	if only == "" {
		return all, nil
	}
	var chosen []benchmark
	for name := range strings.SplitSeq(only, ",") {
		i := slices.IndexFunc(all, func(b benchmark) bool { return b.name == name })
		if i < 0 {
			return nil, fmt.Errorf("there is no benchmark %q", name)
		}
		chosen = append(chosen, all[i])
	}
	return chosen, nil
}

// measure runs all rounds of one benchmark.
func measure(ctx context.Context, s *site, b benchmark) (result, error) {
	one, err := b.open(ctx, s)
	if err != nil {
		return result{}, err
	}
	if err := s.checkpoint(ctx); err != nil {
		return result{}, err
	}
	endProfile, err := startProfile(s.options.profile, b.name)
	if err != nil {
		return result{}, err
	}
	defer endProfile()
	var values, yardsticks, ratios []float64
	for n := range s.options.rounds {
		v, y, err := one(ctx)
		if err != nil {
			return result{}, err
		}
		if v <= 0 || y <= 0 {
			return result{}, fmt.Errorf("round %d measured nothing: figure %g, yardstick %g", n+1, v, y)
		}
		if s.options.details {
			fmt.Printf("%s round %d: %.4g against %.4g = %.3f  %s\n", b.name, n+1, v, y, v/y, s.takeNotes())
		}
		values, yardsticks, ratios = append(values, v), append(yardsticks, y), append(ratios, v/y)
	}
	if err := s.printStatements(ctx); err != nil {
		return result{}, err
	}
	return result{Name: b.name, Value: median(values), Unit: b.unit, Yardstick: b.yardstick, YardstickValue: median(yardsticks),
		Ratio: median(ratios), Goal: b.goal, AtMost: b.atMost, Lowest: slices.Min(ratios), Highest: slices.Max(ratios)}, nil
}

func median(v []float64) float64 {
	sorted := slices.Sorted(slices.Values(v))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// startProfile profiles the whole process, generator and yardsticks in Go included: a profile is read by
// function, not by its total.
func startProfile(folder, name string) (end func(), err error) {
	if folder == "" {
		return func() {}, nil
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return nil, err
	}
	f, err := os.Create(filepath.Join(folder, name+".cpu.pprof"))
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return func() {
		pprof.StopCPUProfile()
		if err := f.Close(); err != nil {
			fmt.Fprintln(os.Stderr, "bench: profile:", err)
		}
	}, nil
}
