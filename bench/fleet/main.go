// Command fleet measures what the tiers of a fleet cost, with the real programs on this
// machine, and computes what they cost for many more.
//
// Usage:
//
//	go run -C bench ./fleet [-ops N] [-processes P] [-only process,profile,merge,collector,store]
//		[-clickhouse PROGRAM] [-gpus N] [-rate N] [-forward X] [-interval 1m] [-update FILE]
//
//	process    processes that record, each into a compressed file of its own
//	profile    optrace convert -to profile, of the file of each process
//	merge      optrace report of the profiles
//	collector  otelcol-optrace, which takes spans by OTLP from several senders, writes a
//	           compressed file and makes metrics
//	store      optrace-clickhouse load into two shards of ClickHouse on this machine, for which
//	           -clickhouse names the server's program
//
// The cost of each tier is a line, a cost per unit and one per run, through a small and a
// middle run of one process. A larger run of several at once says how far the line is off.
// What does not come out as it went in, by the number of operations, is an error. docs/scale.md
// explains the tables, and holds them between <!-- fleet --> and <!-- end of fleet -->.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/optrace/optrace/bench/internal/cache"
	"github.com/optrace/optrace/bench/measure"
)

// The tiers.
const (
	tierProcess   = "process"
	tierProfile   = "profile"
	tierMerge     = "merge"
	tierCollector = "collector"
	tierStore     = "store"
)

// tier is a part of a fleet.
type tier struct {
	name, unit string
	// few and many are the units of the two runs that the line goes through, most those of
	// the check.
	few, many, most int64
	// processes is how many runs there are at once in the check.
	processes int
	// perRun is set where each of these processes is a run.
	perRun bool
	run    func(ctx context.Context, units int64, processes int) (cost, error)
}

// runs is how many runs the check has.
func (t *tier) runs() int {
	if t.perRun {
		return t.processes
	}
	return 1
}

// bench is what the tiers share.
type bench struct {
	env        *measure.Env
	dir        string // removed at the end
	ops        int64
	processes  int
	optrace    string
	clickhouse string
	programs   map[string]string
	files      int // that were made
}

// program returns the path of a command, which is built once. module is its directory.
func (b *bench) program(ctx context.Context, module, pkg string) (string, error) {
	if path, ok := b.programs[pkg]; ok {
		return path, nil
	}
	path, err := cache.Program(ctx, b.env.Cache, module, pkg)
	if err == nil {
		b.programs[pkg] = path
	}
	return path, err
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if len(os.Args) > 1 && os.Args[1] == writerMode {
		exit(write(ctx, os.Args[2:]))
	}
	dir, err := cache.Default()
	if err == nil {
		err = run(ctx, dir, os.Args[1:], os.Stdout, os.Stderr)
	}
	exit(err)
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "fleet:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// run prints the tables, with programs prepared in the directory dir.
func run(ctx context.Context, dir string, args []string, stdout, stderr io.Writer) (err error) {
	b, f := &bench{programs: make(map[string]string)}, fleet{}
	fs := flag.NewFlagSet("fleet", flag.ContinueOnError)
	fs.SetOutput(stderr)
	fs.Int64Var(&b.ops, "ops", 100_000, "`number` of operations of a process, at least 100")
	fs.IntVar(&b.processes, "processes", 4, "`number` of processes at once")
	fs.StringVar(&b.clickhouse, "clickhouse", "", "the `program` of a ClickHouse server, none by default")
	only := fs.String("only", "", "only these `tiers`, separated by commas")
	fs.Float64Var(&f.gpus, "gpus", 10_000, "`number` of GPUs of the fleet, a process each")
	fs.Float64Var(&f.rate, "rate", 1e9, "operations a second of the fleet, a `number`")
	fs.Float64Var(&f.forward, "forward", 0.001, "`part` of the operations that is sent to Collectors")
	interval := fs.Duration("interval", time.Minute, "`time` of which a process makes a profile")
	update := fs.String("update", "", "write the tables into `FILE`, between the lines <!-- fleet --> and <!-- end of fleet -->")
	if err := fs.Parse(args); err != nil {
		return err
	}
	f.interval = interval.Seconds()
	if fs.NArg() > 0 || b.ops < 100 || b.processes < 1 || !(f.gpus > 0 && f.rate > 0 && f.forward >= 0 && f.interval > 0) {
		return fmt.Errorf("unexpected arguments %v", args)
	}
	tiers := b.tiers()
	names := strings.FieldsFunc(*only, func(r rune) bool { return r == ',' })
	for _, name := range names {
		if !slices.ContainsFunc(tiers, func(t tier) bool { return t.name == name }) {
			return fmt.Errorf("there is no tier %q", name)
		}
	}
	var document *measure.Section
	if *update != "" {
		if document, err = measure.FindSection(*update, "fleet"); err != nil {
			return err
		}
	}
	b.env = &measure.Env{Cache: dir, Progress: stderr}
	if b.optrace, err = b.program(ctx, "", "./cmd/optrace"); err != nil {
		return err
	}
	if b.dir, err = os.MkdirTemp("", "fleet-"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(b.dir)) }()
	var tables bytes.Buffer
	out := io.MultiWriter(stdout, &tables)
	fmt.Fprintf(out, "Measured on %s. %s. Least processor time of %d runs.\n",
		time.Now().Format(time.DateOnly), measure.ThisMachine(false), repeats)
	var results []result
	for _, t := range tiers {
		if len(names) > 0 && !slices.Contains(names, t.name) {
			continue
		}
		if t.name == tierStore && b.clickhouse == "" {
			fmt.Fprint(out, "\nThe store was not measured: -clickhouse names no server.\n")
			continue
		}
		r, err := b.measure(ctx, t)
		if err != nil {
			return fmt.Errorf("%s: %w", t.name, err)
		}
		results = append(results, r)
	}
	writeCosts(out, results)
	f.write(out, results)
	if document != nil {
		return document.Replace(tables.String())
	}
	return nil
}

// tiers returns the tiers in order.
func (b *bench) tiers() []tier {
	all := b.ops * int64(b.processes)
	profiles := max(4, b.ops/200)
	return []tier{
		{tierProcess, "op", b.ops / 4, b.ops, all, b.processes, true, b.runProcesses},
		{tierProfile, "op", b.ops / 4, b.ops, all, b.processes, true, b.runProfiles},
		{tierMerge, "profile", profiles / 4, profiles / 2, profiles, b.processes, false, b.runMerge},
		{tierCollector, "op", b.ops / 4, b.ops, 2 * b.ops, b.processes, false, b.runCollector},
		{tierStore, "op", b.ops / 4, b.ops, all, b.processes, false, b.runStore},
	}
}

// repeats is how often each run is repeated.
const repeats = 3

// measure measures a tier.
func (b *bench) measure(ctx context.Context, t tier) (result, error) {
	r := result{tier: t, units: t.most}
	few, err := b.least(ctx, &t, t.few, 1)
	if err != nil {
		return r, err
	}
	many, err := b.least(ctx, &t, t.many, 1)
	if err != nil {
		return r, err
	}
	r.line = through(t.few, t.many, few, many)
	r.predicted = r.predict(t.most, t.runs())
	r.measured, err = b.least(ctx, &t, t.most, t.processes)
	return r, err
}

// least returns the least costs of several runs.
func (b *bench) least(ctx context.Context, t *tier, units int64, processes int) (cost, error) {
	var least cost
	for i := range repeats {
		b.env.Log("%s: %d units, %d at once", t.name, units, processes)
		c, err := t.run(ctx, units, processes)
		if err != nil {
			return c, err
		}
		if i == 0 {
			least = c
		}
		least = cost{min(least.cpu, c.cpu), min(least.in, c.in), min(least.out, c.out)}
	}
	return least, nil
}
