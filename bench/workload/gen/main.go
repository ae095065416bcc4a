// Command gen writes a file of generated spans.
//
// Usage:
//
//	go run -C bench ./workload/gen -o FILE [-ops N] [-kind g512|g1|random]
//		[-format entries|otlp-json|otlp-proto|otlp-message] [-seed N]
//
// The file is replaced. The same flags give the same operations, ids, times and
// order; entries also name their writer, which differs from file to file.
package main

import (
	"flag"
	"fmt"
	"os"

	"github.com/optrace/optrace/bench/workload"
)

func main() {
	var (
		cfg    workload.Config
		kind   = flag.String("kind", string(workload.G512), "how the operations follow one another: g512, g1 or random")
		format = flag.String("format", string(workload.OTLPJSON), "entries, otlp-json, otlp-proto or otlp-message")
		path   = flag.String("o", "", "`file` to write")
	)
	flag.IntVar(&cfg.Ops, "ops", 1_000_000, "number of operations")
	flag.Uint64Var(&cfg.Seed, "seed", 0, "other operations of the same kind")
	flag.Parse()
	cfg.Kind = workload.Kind(*kind)
	if *path == "" || flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}
	err := workload.WriteFile(*path, workload.Format(*format), cfg)
	var sum workload.Summary
	if err == nil {
		sum, err = workload.Summarise(*path)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
	fmt.Fprintf(os.Stderr, "gen: %s: %d operations in %d spans, %d ns in total\n", *path, sum.Ops, sum.Spans, sum.SumNS)
}
