package workload

import (
	"context"
	"errors"
	"math/rand/v2"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/internal/model/attrkey"
	"github.com/optrace/optrace/internal/release"
	"github.com/optrace/optrace/tensorconv"
)

const _ = release.ModulesMustBeOfOneReleaseV0_3_0

// ServiceName is that of all processes.
const ServiceName = "trainer"

// BatchSize is how many spans are written at a time, as the SDK's batch
// processor exports them.
const BatchSize = 512

type recorder struct {
	provider           *sdktrace.TracerProvider
	operations, layers trace.Tracer
	ids                ids
}

// record records the spans of a configuration, in the order in which they end.
// The spans of each process go to a processor of its own, which is flushed after
// each batch.
func record(c Config, newProcessor func() (sdktrace.SpanProcessor, error)) (err error) {
	recorders := make([]*recorder, c.processes())
	defer func() {
		for _, r := range recorders {
			if r != nil {
				err = errors.Join(err, r.provider.Shutdown(context.Background()))
			}
		}
	}()
	for i := range recorders {
		p, err := newProcessor()
		if err != nil {
			return err
		}
		recorders[i] = newRecorder(p, c.resource(i))
	}
	streams, pick := c.streams(), rand.New(rand.NewPCG(c.Seed, 1))
	last, ops := recorders[0], 0
	for turn := 0; ops < c.Ops; turn++ {
		for n := 0; n < BatchSize && ops < c.Ops; n++ {
			s := streams[turn%len(streams)]
			if c.Kind != G512 {
				s = streams[pick.IntN(len(streams))]
			}
			last = recorders[s.process]
			if s.next(last) {
				ops++
			}
		}
		if err := last.provider.ForceFlush(context.Background()); err != nil {
			return err
		}
	}
	for _, s := range streams {
		for _, open := range []*context.Context{&s.layer, &s.step} {
			if *open != nil {
				s.end(open)
			}
		}
	}
	return nil
}

func newRecorder(p sdktrace.SpanProcessor, res *resource.Resource) *recorder {
	r := new(recorder)
	r.provider = sdktrace.NewTracerProvider(
		sdktrace.WithSampler(sdktrace.AlwaysSample()), sdktrace.WithSpanProcessor(p), sdktrace.WithResource(res),
		sdktrace.WithIDGenerator(&r.ids))
	r.operations = r.provider.Tracer(optrace.ScopeName, trace.WithInstrumentationVersion(optrace.Version))
	r.layers = r.provider.Tracer(layerScope)
	return r
}

func (c Config) resource(process int) *resource.Resource {
	attrs := []attribute.KeyValue{attribute.String(attrkey.ServiceName, ServiceName)}
	if n := c.processes(); n > 1 {
		attrs = append(attrs, tensorconv.Rank(int64(process)), tensorconv.WorldSize(int64(n)))
	}
	return resource.NewSchemaless(attrs...)
}
