package processor

import (
	"context"
	"errors"
	"fmt"
	"io"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/bench/measure"
)

// The sides of the suite.
const (
	batchOTLP    = "BatchSpanProcessor, blocking, otlptrace + proto.Marshal"
	batchDiscard = "BatchSpanProcessor, blocking, discarding"
	ours         = "Processor + Exporter, entries"
	oursOTLP     = "Processor + Exporter, OTLP protobuf"

	// One producer in place of two.
	oneDiscard = "BatchSpanProcessor, blocking, discarding, one producer"
	oneOurs    = "Processor + Exporter, entries, one producer"
)

// Suite returns what is compared: two producers that start and end prepared
// operations in a tight loop, until the last one is with the exporter. The cost
// is the processor time of the process per operation, spans included. Nothing
// may be lost.
func Suite() []measure.Measure {
	s := &measure.Suite{Name: "processing", Unit: "op", Rounds: 31, QuickRounds: 9, Open: open}
	return []measure.Measure{
		{Name: "processor_vs_batch_otlp", Target: 3, Cases: measure.Compare(s, batchOTLP, ours),
			What: "two producers, lossless, against batches of OTLP protobuf"},
		{Name: "processor_vs_batch_discard", Target: 0.85, Cases: measure.Compare(s, batchDiscard, ours),
			What: "the same against batches that are thrown away"},
		{Name: "processor_otlp_vs_batch_otlp", Cases: measure.Compare(s, batchOTLP, oursOTLP), LongOnly: true,
			What: "two producers, lossless, both to OTLP protobuf"},
		{Name: "processor_vs_batch_discard/one_producer", Cases: measure.Compare(s, oneDiscard, oneOurs), LongOnly: true,
			What: "one producer, lossless, against batches that are thrown away"},
	}
}

const producersPerRun = 2

// opsPerRun is how many operations the producers end together in a round.
const opsPerRun = 20_000

func open(ctx context.Context, env *measure.Env, want measure.Want) (*measure.Opened, error) {
	return openWith(ctx, env, want, opsPerRun)
}

func openWith(ctx context.Context, env *measure.Env, want measure.Want, ops int) (*measure.Opened, error) {
	toOTLP := func() (pipeline, error) { return newBatch(newOTLPExporter(), sdktrace.WithBlocking()) }
	toNothing := func() (pipeline, error) { return newBatch(discarding{}, sdktrace.WithBlocking()) }
	toEntries := func() (pipeline, error) { return newOurs(optrace.FormatEntries, optrace.WithPolicy(optrace.Block)) }
	toProto := func() (pipeline, error) { return newOurs(optrace.FormatOTLPProto, optrace.WithPolicy(optrace.Block)) }
	sides := []struct {
		name      string
		open      func() (pipeline, error)
		producers int
	}{
		{batchOTLP, toOTLP, producersPerRun},
		{batchDiscard, toNothing, producersPerRun},
		{ours, toEntries, producersPerRun},
		{oursOTLP, toProto, producersPerRun},
		{oneDiscard, toNothing, 1},
		{oneOurs, toEntries, 1},
	}
	o := &measure.Opened{
		Sides: map[string]measure.Side{},
		After: func(ctx context.Context) (map[string]float64, error) { return losses(ctx, ops, env.Size(5, 3)) },
	}
	var opened []*producer
	o.Close = func() (err error) {
		for _, p := range opened {
			err = errors.Join(err, p.provider.Shutdown(ctx))
		}
		return err
	}
	for _, s := range sides {
		if !want[s.name] {
			continue
		}
		p, err := newProducer(s.open, s.producers, ops)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("%s: %w", s.name, err), o.Close())
		}
		opened = append(opened, p)
		o.Sides[s.name] = p.lossless
	}
	return o, nil
}

// losses returns which share of the operations gets lost with the default
// options: medians of a few runs.
func losses(ctx context.Context, ops, runs int) (map[string]float64, error) {
	found := map[string]float64{}
	for name, open := range map[string]func() (pipeline, error){
		"lost_default_batch":         func() (pipeline, error) { return newBatch(newOTLPExporter()) },
		"lost_default_batch_discard": func() (pipeline, error) { return newBatch(discarding{}) },
		"lost_ours":                  func() (pipeline, error) { return newOurs(optrace.FormatEntries) },
	} {
		var shares []float64
		for range runs {
			p, err := newProducer(open, producersPerRun, ops)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			if _, err := p.run(ctx); err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			if err := p.provider.Shutdown(ctx); err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			shares = append(shares, 1-float64(p.pipeline.delivered())/float64(ops))
		}
		found[name] = measure.Median(shares)
	}
	return found, nil
}

// newBatch returns the SDK's batch processor, with its defaults but for opts.
func newBatch(next sdktrace.SpanExporter, opts ...sdktrace.BatchSpanProcessorOption) (pipeline, error) {
	c := &counting{SpanExporter: next}
	return pipeline{sdktrace.NewBatchSpanProcessor(c, opts...), c.count.Load}, nil
}

func newOTLPExporter() sdktrace.SpanExporter { return otlptrace.NewUnstarted(marshallingClient{}) }

// newOurs returns our processor and exporter, in front of a writer that takes
// everything.
func newOurs(f optrace.Format, opts ...optrace.ProcessorOption) (pipeline, error) {
	exp, err := optrace.NewExporter(io.Discard, optrace.WithFormat(f))
	if err != nil {
		return pipeline{}, err
	}
	p, err := optrace.NewProcessor(exp, opts...)
	return pipeline{p, func() int64 { return int64(p.Stats().Written) }}, err
}
