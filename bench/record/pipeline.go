package record

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/bench/measure"
)

// The sides of the suites on pipelines.
const (
	batchOTLP    = "BatchSpanProcessor, blocking, otlptrace + proto.Marshal"
	batchDiscard = "BatchSpanProcessor, blocking, discarding"
	oursEntries  = "Processor + Exporter, entries"
)

// pipelineSuite compares whole pipelines. Two producers start and end prepared operations in a tight
// loop, until the exporter has the last one. The cost is the processor time of the process per
// operation, spans included. It is an error to lose an operation.
func pipelineSuite() []measure.Measure {
	cases := measure.Over(measure.Suite{Name: "processing", Unit: "op", Rounds: 31, QuickRounds: 7}, sets,
		openPipelines)
	const limitSpan = "the SDK's span, three quarters of our cost"
	return []measure.Measure{
		{Name: "processor_vs_batch_otlp", Target: 2.7, Cases: cases(batchOTLP, oursEntries), Limit: limitSpan},
		{
			Name: "processor_vs_batch_discard", Target: 0.8, Cases: cases(batchDiscard, oursEntries),
			Limit: limitSpan + "; 0.9 remains where ours costs nothing",
		},
	}
}

const opsPerRun = 20_000 // the number of operations that all producers record in a round

func openPipelines(_ context.Context, env *measure.Env, set *set) (*measure.Opened, error) {
	ops := env.Size(opsPerRun, opsPerRun)
	o := &measure.Opened{Sides: map[string]measure.Side{}}
	if set == sets[0] {
		o.After = func(ctx context.Context) (map[string]float64, error) { return losses(ctx, set, ops, env.Size(5, 3)) }
	}
	var opened []*producers
	o.Close = func() (err error) {
		for _, p := range opened {
			err = errors.Join(err, p.provider.Shutdown(context.Background()))
		}
		return err
	}
	for name, open := range map[string]func() (pipeline, error){
		batchOTLP: func() (pipeline, error) { return newBatch(newOTLPExporter(), sdktrace.WithBlocking()) },
		batchDiscard: func() (pipeline, error) {
			return newBatch(tracetest.NewNoopExporter(), sdktrace.WithBlocking())
		},
		oursEntries: func() (pipeline, error) { return newOurs(optrace.WithPolicy(optrace.PolicyBlock)) },
	} {
		p, err := newProducers(open, set, ops)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("%s: %w", name, err), o.Close())
		}
		opened = append(opened, p)
		o.Sides[name] = p.lossless
	}
	return o, nil
}

// pipeline is a span processor that counts the operations at its end.
type pipeline struct {
	sdktrace.SpanProcessor
	delivered func() int64
}

// producers record operations into a pipeline.
type producers struct {
	pipeline pipeline
	provider *sdktrace.TracerProvider
	preps    []*optrace.Prepared
	runs     []*run // one for each of two goroutines
	ops      int    // of all runs in a round
}

func newProducers(open func() (pipeline, error), s *set, ops int) (*producers, error) {
	p, err := open()
	if err != nil {
		return nil, err
	}
	tp := newProvider(p)
	specs := s.ops()
	preps, err := prepareAll(optrace.NewTracer(tp), specs)
	tracer := tp.Tracer("trainer")
	runs := []*run{
		{set: s, ops: len(specs), tracer: tracer}, {set: s, ops: len(specs), tracer: tracer, next: len(specs) / 2},
	}
	return &producers{pipeline: p, provider: tp, preps: preps, ops: ops, runs: runs}, err
}

// run runs the producers until the exporter has the last operation.
func (p *producers) run(ctx context.Context) (measure.Sample, error) {
	return measure.Timed(int64(p.ops), func() error {
		var wg sync.WaitGroup
		for _, r := range p.runs {
			wg.Go(func() {
				r.each(ctx, p.ops/len(p.runs), func(ctx context.Context, i int) {
					_, o := p.preps[i].Start(ctx)
					o.End()
				})
			})
		}
		wg.Wait()
		return p.provider.ForceFlush(ctx)
	})
}

// lossless is run, with an error unless all operations arrive.
func (p *producers) lossless(ctx context.Context) (measure.Sample, error) {
	before := p.pipeline.delivered()
	s, err := p.run(ctx)
	if err != nil {
		return s, err
	}
	if n := p.pipeline.delivered() - before; n != int64(p.ops) {
		return s, fmt.Errorf("%d of %d operations arrived", n, p.ops)
	}
	return s, nil
}

// losses returns the share of operations lost with the default options, as the median of some rounds.
func losses(ctx context.Context, set *set, ops, rounds int) (map[string]float64, error) {
	found := map[string]float64{}
	for name, open := range map[string]func() (pipeline, error){
		"lost_default_batch":         func() (pipeline, error) { return newBatch(newOTLPExporter()) },
		"lost_default_batch_discard": func() (pipeline, error) { return newBatch(tracetest.NewNoopExporter()) },
		"lost_ours":                  func() (pipeline, error) { return newOurs() },
	} {
		var shares []float64
		for range rounds {
			p, err := newProducers(open, set, ops)
			if err == nil {
				_, err = p.run(ctx)
			}
			if err == nil {
				err = p.provider.Shutdown(ctx)
			}
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			shares = append(shares, 1-float64(p.pipeline.delivered())/float64(ops))
		}
		found[name] = measure.Median(shares)
	}
	return found, nil
}

func newBatch(next sdktrace.SpanExporter, opts ...sdktrace.BatchSpanProcessorOption) (pipeline, error) {
	c := &counting{SpanExporter: next}
	return pipeline{sdktrace.NewBatchSpanProcessor(c, opts...), c.count.Load}, nil
}

func newOTLPExporter() sdktrace.SpanExporter { return otlptrace.NewUnstarted(new(marshallingClient)) }

func newOurs(opts ...optrace.ProcessorOption) (pipeline, error) {
	p, err := newProcessor(opts...)
	return pipeline{p, func() int64 { return int64(p.Stats().Written) }}, err
}

// counting counts the exported operations.
type counting struct {
	sdktrace.SpanExporter
	count atomic.Int64
}

func (c *counting) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	for _, s := range spans {
		if s.InstrumentationScope().Name == optrace.ScopeName {
			c.count.Add(1)
		}
	}
	return c.SpanExporter.ExportSpans(ctx, spans)
}
