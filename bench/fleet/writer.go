package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/bench/workload"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/tensorconv"
)

// writerMode is the first argument of a process that records: the number of operations, its
// rank and the file follow.
const writerMode = "-record"

// opsPerStep is how many operations a step has, those of the graph.
const opsPerStep = 2000

// write records operations into a file, and fails unless all of them are there.
func write(ctx context.Context, args []string) error {
	if len(args) != 3 {
		return fmt.Errorf("%s has three arguments", writerMode)
	}
	ops, err := strconv.ParseInt(args[0], 10, 64)
	rank, rankErr := strconv.ParseInt(args[1], 10, 64)
	if err := errors.Join(err, rankErr); err != nil {
		return err
	}
	sdk, err := optrace.Setup(args[2],
		optrace.WithExporterOptions(optrace.WithCompression(optrace.CompressionZstd)),
		optrace.WithProcessorOptions(optrace.WithPolicy(optrace.PolicyBlock)),
		optrace.WithProviderOptions(sdktrace.WithResource(resource.NewSchemaless(
			attribute.String(op.KeyServiceName, workload.ServiceName), tensorconv.Rank(rank)))))
	if err != nil {
		return err
	}
	if err := record(sdk, ops, uint64(rank)); err != nil {
		return errors.Join(err, sdk.Shutdown(ctx))
	}
	if err := sdk.Shutdown(ctx); err != nil {
		return err
	}
	if st := sdk.Processor().Stats(); st.Written != uint64(ops) || st.Dropped > 0 {
		return fmt.Errorf("of %d operations %d were written and %d dropped", ops, st.Written, st.Dropped)
	}
	return nil
}

// record records the graph of a device again and again, with the times of a device.
func record(sdk *optrace.SDK, ops int64, seed uint64) error {
	tracer := sdk.Tracer()
	var prepared []*optrace.Prepared
	for _, spec := range workload.Graph(1) {
		p, err := tracer.Prepare(spec.OpSpec)
		if err != nil {
			return err
		}
		prepared = append(prepared, p)
	}
	r := rand.New(rand.NewPCG(seed, 1))
	durations := make([]int64, 1<<12+1) // no multiple of the graph
	for i := range durations {
		durations[i] = int64(20_000 * math.Exp(0.8*r.NormFloat64()))
	}
	rec := sdk.Processor().Recorder(context.Background())
	at := int64(1_760_000_000_000_000_000)
	for i := range ops {
		if i%opsPerStep == 0 {
			rec.Finish()
			rec.Step(i / opsPerStep)
		}
		end := at + durations[int(i)%len(durations)]
		rec.RecordPrepared(prepared[int(i)%len(prepared)], optrace.Times{Start: at, End: end})
		at = end + 500
	}
	rec.Finish()
	return nil
}
