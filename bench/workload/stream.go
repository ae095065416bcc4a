package workload

import (
	"context"
	"encoding/binary"
	"errors"
	"math"
	"math/rand/v2"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/internal/model/attrkey"
	"github.com/optrace/optrace/internal/release"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/tensorconv"
)

const _ = release.ModulesMustBeOfOneReleaseV0_3_0

// ServiceName is the service of all processes.
const ServiceName = "trainer"

const (
	batchSize      = 512                       // spans per write; the SDK's batch processor exports as many
	firstStart     = 1_760_000_000_000_000_000 // the start of the first step in Unix nanoseconds
	durationSpread = 0.4                       // the standard deviation of a duration's logarithm

	// The scope and the names of the spans above operations.
	layerScope = "example.com/trainer"
	layerName  = "layer"
	stepName   = "train_step"
)

// recorder is the tracing of one process.
type recorder struct {
	provider   *sdktrace.TracerProvider
	operations *optrace.Tracer
	layers     trace.Tracer
	ids        ids
}

// record records the spans of a configuration in the order of their ends. newProcessor makes the
// span processor of each process; it is flushed after each batch.
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
	streams := c.streams()
	pick := rand.New(rand.NewPCG(c.Seed, 1))
	last := recorders[0]
	ops := 0
	for turn := 0; ops < c.Ops; turn++ {
		for n := 0; n < batchSize && ops < c.Ops; n++ {
			s := streams[turn%len(streams)]
			if c.Kind != G512 {
				s = streams[pick.IntN(len(streams))]
			}
			last = recorders[s.process]
			isOp, err := s.next(last)
			if err != nil {
				return err
			}
			if isOp {
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
	r.provider = sdktrace.NewTracerProvider(sdktrace.WithSampler(sdktrace.AlwaysSample()),
		sdktrace.WithSpanProcessor(p), sdktrace.WithResource(res), sdktrace.WithIDGenerator(&r.ids))
	r.operations = optrace.NewTracer(r.provider)
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

// stream runs the graph on one device repeatedly and records it.
type stream struct {
	rng     *rand.Rand
	process int
	device  string
	graph   []*Spec // on the first device; nil for random operations
	own     []*Spec // the graph on this device, as far as it has run
	clock   int64   // Unix nanoseconds

	at          int             // index of the next operation
	number      int64           // of the step
	sequence    int64           // of the next collective
	step, layer context.Context // of the open spans; nil without one
}

func (c Config) streams() []*stream {
	var graph []*Spec
	if c.Kind != Random {
		rng := rand.New(rand.NewPCG(c.Seed, 2))
		for i := range opsPerGraph {
			graph = append(graph, newSpec(rng, deviceName(0), pathOf(i), graphStep))
		}
	}
	streams := make([]*stream, numDevices)
	for i := range streams {
		rng := rand.New(rand.NewPCG(c.Seed, uint64(3+i)))
		streams[i] = &stream{
			rng: rng, device: deviceName(i), graph: graph, own: make([]*Spec, len(graph)), clock: firstStart +
				rng.Int64N(1_000_000),
		}
		if c.Kind == G512 {
			streams[i].process = i
		}
	}
	return streams
}

// spec returns the i-th operation of the graph, or a random one.
func (s *stream) spec(i int) *Spec {
	if s.graph == nil {
		return newSpec(s.rng, deviceName(s.rng.IntN(numDevices)), pathOf(i), randomStep)
	}
	if s.own[i] == nil {
		own := *s.graph[i]
		own.Device = s.device
		s.own[i] = &own
	}
	return s.own[i]
}

// next records until the end of the next span: an operation, the layer after its last operation, or
// the step after its last layer. It reports whether the span is an operation.
func (s *stream) next(r *recorder) (isOp bool, err error) {
	switch {
	case s.layer != nil && s.at > 0 && s.at%opsPerLayer == 0:
		s.end(&s.layer)
		return false, nil
	case s.at == opsPerGraph:
		s.end(&s.step)
		s.at = 0
		s.number++
		return false, nil
	}
	if s.step == nil {
		s.step = s.begin(r, optrace.ContextWithStep(context.Background(), s.number), stepName)
	}
	if s.layer == nil {
		s.layer = s.begin(r, s.step, layerName)
	}
	spec := s.spec(s.at)
	if spec.ready == nil {
		if spec.ready, err = r.operations.Prepare(spec.OpSpec); err != nil {
			return false, err
		}
	}
	s.at++
	start := s.clock + 500 + s.rng.Int64N(3_000)
	s.clock = start + int64(spec.median*math.Exp(durationSpread*s.rng.NormFloat64()))
	var further []attribute.KeyValue
	if spec.Kind == op.KindCollective {
		further = append(further, tensorconv.CollectiveSequence(s.sequence))
		s.sequence++
	}
	r.ids.from = s.rng
	spec.ready.Record(s.layer, optrace.Times{Start: start, End: s.clock}, further...)
	return true, nil
}

func (s *stream) begin(r *recorder, parent context.Context, name string) context.Context {
	r.ids.from = s.rng
	ctx, _ := r.layers.Start(parent, name, at(s.clock))
	return ctx
}

func (s *stream) end(open *context.Context) {
	s.clock += 1_000
	trace.SpanFromContext(*open).End(at(s.clock))
	*open = nil
}

func at(ns int64) trace.SpanEventOption { return trace.WithTimestamp(time.Unix(0, ns)) }

// ids makes random ids of spans from the generator of the current stream.
type ids struct{ from *rand.Rand }

// NewIDs implements the SDK's IDGenerator.
func (g *ids) NewIDs(ctx context.Context) (id trace.TraceID, _ trace.SpanID) {
	binary.BigEndian.PutUint64(id[:8], g.from.Uint64())
	binary.BigEndian.PutUint64(id[8:], g.from.Uint64()|1) // never zero
	return id, g.NewSpanID(ctx, id)
}

// NewSpanID implements the SDK's IDGenerator.
func (g *ids) NewSpanID(context.Context, trace.TraceID) (id trace.SpanID) {
	for !id.IsValid() {
		binary.BigEndian.PutUint64(id[:], g.from.Uint64())
	}
	return id
}
