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
	// scale shrinks what some benchmarks are about, to try whether they work; what they then measure is no result.
	scale float64
	// statements prints where PostgreSQL's time went; it costs some itself.
	statements bool
}

// scaled is a count as -scale has it, at least 10.
func (o options) scaled(n int) int { return max(10, int(float64(n)*o.scale)) }

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
	flag.Float64Var(&o.scale, "scale", 1, "share of the subscribers of sse_1000 and of the commands of restart; below 1 only to try them out")
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
	// aside is a second row without a goal, whose pairs the rounds give to site.aside; empty: none.
	aside, asideUnit, asideYardstick string
}

// round measures the yardstick and the figure once, one right after the other.
type round func(ctx context.Context) (value, yardstick float64, err error)

func benchmarks() []benchmark {
	pgbench := "pgbench -c1, six statements pipelined, transactions/s"
	return []benchmark{
		{name: "loop_full_queue_setbased", unit: "transitions/s of 5 rows", yardstick: pgbench, goal: 2.5, open: fullQueue},
		{name: "loop_full_queue_ent", unit: "cell transitions/s", yardstick: "the same transitions, one message a transaction, transitions/s", goal: 1.5, open: fullQueueEnt},
		{name: "loop_single", unit: "transitions/s of 5 rows", yardstick: pgbench, goal: 0.5, open: single},
		{name: "loop_commit_1ms", unit: "messages/s", yardstick: "the same without commit_delay", goal: 0.7, open: slowCommit},
		{name: "loop_latency", unit: "µs p50", yardstick: "one batch of one message by a direct call, µs p50", goal: 3, atMost: true, open: latency},
		{name: "ingest_1000", unit: "readings/s", yardstick: "COPY of the same rows, 1,000 readings a transaction, readings/s", goal: 0.6, open: ingest},
		{name: "river_ratio", unit: "rows changed/s", yardstick: "2 × River's worked no-op jobs/s", goal: 1.5, open: riverRatio},
		{name: "rpc_p50", unit: "µs p50", yardstick: "a bare paho echo on the same broker, µs p50", goal: 1.5, atMost: true, open: rpc},
		{name: "sse_1000", unit: "events/s to each of 1,000 subscribers", yardstick: "plain r3labs/sse, events/s to each of as many", goal: 3, open: stream1000},
		{name: "plan", unit: "ms p99", yardstick: "1 ms, so that the ratio is the time itself", goal: 5, atMost: true, open: plan},
		{name: "restart", unit: "s p99", yardstick: "1 s, so that the ratio is the time itself", goal: 2, atMost: true, open: restart},
		{name: "go_cpu", unit: "µs of Go CPU a message", yardstick: "µs of PostgreSQL CPU a message", goal: 0.3, atMost: true, open: goCPU},
		// last: its service and its cell go on polling until the end
		{name: "stall", unit: "messages/s, of loop or stream the one that lost more", yardstick: "the same with nothing stalled", goal: 0.95, open: stall,
			aside: "stall_slowest_turn", asideUnit: "ms without any answer", asideYardstick: "the same with nothing stalled"},
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
		rows, err := measure(ctx, s, b)
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("%s: %w", b.name, err))
			continue
		}
		results = append(results, rows...)
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
func measure(ctx context.Context, s *site, b benchmark) ([]result, error) {
	one, err := b.open(ctx, s)
	if err != nil {
		return nil, err
	}
	if err := s.checkpoint(ctx); err != nil {
		return nil, err
	}
	endProfile, err := startProfile(s.options.profile, b.name)
	if err != nil {
		return nil, err
	}
	defer endProfile()
	var pairs []pair
	s.asides = nil
	for n := range s.options.rounds {
		v, y, err := one(ctx)
		if err != nil {
			return nil, err
		}
		if v <= 0 || y <= 0 {
			return nil, fmt.Errorf("round %d measured nothing: figure %g, yardstick %g", n+1, v, y)
		}
		if s.options.details {
			fmt.Printf("%s round %d: %.4g against %.4g = %.3f  %s\n", b.name, n+1, v, y, v/y, s.takeNotes())
		}
		pairs = append(pairs, pair{v, y})
	}
	if err := s.printStatements(ctx); err != nil {
		return nil, err
	}
	row := summary(pairs)
	row.Name, row.Unit, row.Yardstick, row.Goal, row.AtMost = b.name, b.unit, b.yardstick, &b.goal, b.atMost
	results := []result{row}
	if b.aside != "" {
		row := summary(s.asides)
		row.Name, row.Unit, row.Yardstick = b.aside, b.asideUnit, b.asideYardstick
		results = append(results, row)
	}
	return results, nil
}

// pair is what one round measured.
type pair struct{ value, yardstick float64 }

// summary is the median of the rounds.
func summary(pairs []pair) result {
	var values, yardsticks, ratios []float64
	for _, p := range pairs {
		values, yardsticks, ratios = append(values, p.value), append(yardsticks, p.yardstick), append(ratios, p.value/p.yardstick)
	}
	return result{Value: median(values), YardstickValue: median(yardsticks), Ratio: median(ratios),
		Lowest: slices.Min(ratios), Highest: slices.Max(ratios)}
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
