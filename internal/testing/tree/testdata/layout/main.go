// Command layout records operations of four shapes in three ways and in every format. It writes a file for
// each format, with its name, into the directory in its argument. It prints the Stats, the bytes of lists
// and span.LayoutKnown.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"go.opentelemetry.io/otel/attribute"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/internal/record/span"
	"github.com/optrace/optrace/op"
)

// each is the number of operations per way.
const each = 4000

func main() {
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(dir string) error {
	out := struct {
		Stats  map[string]optrace.Stats
		Memory int
		Known  bool
	}{Stats: make(map[string]optrace.Stats), Memory: span.Memory(lists), Known: span.LayoutKnown()}
	for _, f := range []optrace.Format{optrace.FormatEntries, optrace.FormatOTLPJSON, optrace.FormatOTLPProto} {
		stats, err := record(filepath.Join(dir, fmt.Sprint(f)), f)
		if err != nil {
			return err
		}
		out.Stats[fmt.Sprint(f)] = stats
	}
	return json.NewEncoder(os.Stdout).Encode(out)
}

// lists are attributes with 10 bytes of keys, lists of 16, 32 and 16 bytes, and 9 bytes of texts.
var lists = []attribute.KeyValue{
	attribute.Int64Slice("ab", []int64{17 << 56, 2}),
	attribute.StringSlice("cd", []string{"abc", "de"}),
	attribute.Slice("ef"),
	attribute.ByteSlice("gh", []byte("abcd")),
	attribute.Bool("ij", true),
}

func record(path string, f optrace.Format) (optrace.Stats, error) {
	sdk, err := optrace.Setup(path, optrace.WithExporterOptions(optrace.WithFormat(f)),
		optrace.WithProcessorOptions(optrace.WithPolicy(optrace.PolicyBlock)))
	if err != nil {
		return optrace.Stats{}, err
	}
	ctx := context.Background()
	tracer := sdk.Tracer()
	recorder := tracer.Recorder(ctx)
	var prepared [4]*optrace.Prepared
	for i := range prepared {
		prepared[i], err = tracer.Prepare(optrace.OpSpec{
			Name: "prepared", Device: "cuda:0", Inputs: []op.Shape{{rows(i), 8}}, Output: op.Shape{rows(i)},
			Attrs: lists,
		})
		if err != nil {
			return optrace.Stats{}, err
		}
	}
	for i := range each {
		_, o := tracer.Start(ctx, "started", "cuda:0")
		o.In(rows(i), 8).Out(rows(i)).Attrs(lists...).End()
		_, p := prepared[i%4].Start(ctx)
		p.End()
		recorder.Begin("recorded", "cuda:0").In(rows(i), 8).Out(rows(i)).Attrs(lists...).End()
	}
	recorder.Finish()
	err = sdk.Shutdown(ctx)
	return sdk.Processor().Stats(), err
}

// rows is the first dimension of the i-th operation: 1 to 4.
func rows(i int) int64 { return int64(1 + i%4) }
