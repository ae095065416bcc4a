// Command gen prints the path of a file of simulated spans, and makes the file on the first call.
//
//	go run -C bench ./workload/gen [-ops N] [-kind g512|g1|random] [-format entries|otlp-json|otlp-proto|otlp-message]
package main

import (
	"context"
	"flag"
	"fmt"
	"os"

	"github.com/optrace/optrace/bench/measure"
	"github.com/optrace/optrace/bench/workload"
)

func main() {
	var c workload.Config
	flag.IntVar(&c.Ops, "ops", 1_000_000, "number of operations")
	kind := flag.String("kind", string(workload.G512), "kind of data: g512, g1 or random")
	format := flag.String("format", string(workload.Entries), "entries, otlp-json, otlp-proto or otlp-message")
	flag.Parse()
	c.Kind = workload.Kind(*kind)
	dir, err := measure.DefaultCache()
	var file workload.File
	if err == nil {
		env := &measure.Env{Cache: dir, Progress: os.Stderr}
		file, err = workload.Get(context.Background(), env, workload.Format(*format), c)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
	fmt.Println(file.Path)
}
