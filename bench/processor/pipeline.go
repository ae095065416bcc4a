package processor

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/bench/measure"
	"github.com/optrace/optrace/op"
)

// pipeline is a processor and how many spans got to its end.
type pipeline struct {
	sdktrace.SpanProcessor
	delivered func() int64
}

// producer records operations in front of a pipeline.
type producer struct {
	pipeline   pipeline
	provider   *sdktrace.TracerProvider
	op         *optrace.Prepared
	goroutines int
	ops        int // of all of them in a run
}

func newProducer(open func() (pipeline, error), goroutines, ops int) (*producer, error) {
	p, err := open()
	if err != nil {
		return nil, err
	}
	tp := sdktrace.NewTracerProvider(sdktrace.WithSampler(sdktrace.AlwaysSample()), sdktrace.WithSpanProcessor(p))
	prep, err := optrace.NewTracer(tp).Prepare(optrace.OpSpec{
		Name: "matmul", Device: "cuda:0", DType: op.F32,
		Inputs: []op.Shape{{64, 784}, {784, 256}}, Output: op.Shape{64, 256},
	})
	return &producer{p, tp, prep, goroutines, ops}, err
}

// run lets the producers run until the last operation is with the exporter.
func (p *producer) run(ctx context.Context) (measure.Sample, error) {
	return measure.Timed(int64(p.ops), func() error {
		var wg sync.WaitGroup
		for range p.goroutines {
			wg.Go(func() {
				for range p.ops / p.goroutines {
					_, o := p.op.Start(ctx)
					o.End()
				}
			})
		}
		wg.Wait()
		return p.provider.ForceFlush(ctx)
	})
}

// lossless is run, and an error unless everything arrives.
func (p *producer) lossless(ctx context.Context) (measure.Sample, error) {
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

// counting is an exporter that counts the spans that it is given.
type counting struct {
	sdktrace.SpanExporter
	count atomic.Int64
}

func (c *counting) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	c.count.Add(int64(len(spans)))
	return c.SpanExporter.ExportSpans(ctx, spans)
}

// discarding is an exporter that does nothing.
type discarding struct{}

func (discarding) ExportSpans(context.Context, []sdktrace.ReadOnlySpan) error { return nil }
func (discarding) Shutdown(context.Context) error                             { return nil }

// marshallingClient does what OTLP clients do with spans short of sending them.
type marshallingClient struct{}

func (marshallingClient) Start(context.Context) error { return nil }
func (marshallingClient) Stop(context.Context) error  { return nil }

func (marshallingClient) UploadTraces(_ context.Context, spans []*tracepb.ResourceSpans) error {
	_, err := proto.Marshal(&tracepb.TracesData{ResourceSpans: spans})
	return err
}
