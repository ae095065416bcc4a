package workload

import (
	"context"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/tensorconv"
)

// The scope and the names of the spans above operations.
const (
	layerScope = "example.com/trainer"
	layerName  = "layer"
	stepName   = "train_step"
)

const (
	// firstStart is when the first step starts, in Unix nanoseconds.
	firstStart = 1_760_000_000_000_000_000
	// durationSpread is the standard deviation of a duration's logarithm.
	durationSpread = 0.4
)

// stream runs the graph on one device again and again, and records it.
type stream struct {
	rng     *rand.Rand
	process int
	graph   []*Spec
	// make returns an operation that is not of the graph; nil for the graph's.
	make  func(*rand.Rand, string) *Spec
	clock int64 // Unix nanoseconds

	at          int   // the next operation
	number      int64 // of the step
	sequence    int64 // of the next collective
	step, layer openSpan
	attrs       []attribute.KeyValue
}

// openSpan is a span that has not ended; its context is nil where there is none.
type openSpan struct {
	ctx  context.Context
	span trace.Span
}

func newStream(rng *rand.Rand, process int) *stream {
	return &stream{rng: rng, process: process, clock: firstStart + rng.Int64N(1_000_000)}
}

// streams returns a stream per device.
func (c Config) streams() []*stream {
	graph := newGraph(rand.New(rand.NewPCG(c.Seed, 2)))
	streams := make([]*stream, numDevices)
	for i := range streams {
		process := 0
		if c.Kind == G512 {
			process = i
		}
		s := newStream(rand.New(rand.NewPCG(c.Seed, uint64(3+i))), process)
		if c.Kind == Random {
			s.make = func(rng *rand.Rand, path string) *Spec {
				return newSpec(rng, deviceName(rng.IntN(numDevices)), path, randomStep)
			}
		} else {
			s.graph = make([]*Spec, len(graph))
			for j, spec := range graph {
				s.graph[j] = spec.on(deviceName(i))
			}
		}
		streams[i] = s
	}
	return streams
}

func (s *stream) spec(i int) *Spec {
	if s.make != nil {
		return s.make(s.rng, pathOf(i))
	}
	return s.graph[i]
}

// next records up to the end of the next span: an operation, after the last one
// of a layer the layer, after the last layer the step. It returns the duration of
// the operation in nanoseconds, and false for another span.
func (s *stream) next(r *recorder) (ns int64, isOp bool) {
	switch {
	case s.layer.ctx != nil && s.at > 0 && s.at%opsPerLayer == 0:
		s.end(&s.layer)
		return 0, false
	case s.at == opsPerGraph:
		s.end(&s.step)
		s.at = 0
		s.number++
		return 0, false
	}
	if s.step.ctx == nil {
		s.step = s.begin(r, context.Background(), stepName)
	}
	if s.layer.ctx == nil {
		s.layer = s.begin(r, s.step.ctx, layerName)
	}
	spec := s.spec(s.at)
	s.at++
	start := s.clock + 500 + s.rng.Int64N(3_000)
	s.clock = start + int64(spec.median*math.Exp(durationSpread*s.rng.NormFloat64()))
	s.attrs = append(append(s.attrs[:0], spec.attrs...), tensorconv.Step(s.number))
	if spec.Kind == op.KindCollective {
		s.attrs = append(s.attrs, tensorconv.CollectiveSequence(s.sequence))
		s.sequence++
	}
	r.ids.from = s.rng
	_, span := r.operations.Start(s.layer.ctx, spec.Name, at(start))
	span.SetAttributes(s.attrs...)
	span.End(at(s.clock))
	return s.clock - start, true
}

// finish ends the spans that are open and returns how many they were.
func (s *stream) finish() (n int64) {
	for _, o := range []*openSpan{&s.layer, &s.step} {
		if o.ctx != nil {
			s.end(o)
			n++
		}
	}
	return n
}

func (s *stream) begin(r *recorder, parent context.Context, name string) openSpan {
	r.ids.from = s.rng
	ctx, span := r.layers.Start(parent, name, at(s.clock))
	return openSpan{ctx, span}
}

func (s *stream) end(o *openSpan) {
	s.clock += 1_000
	o.span.End(at(s.clock))
	*o = openSpan{}
}

// at returns the option for a time in Unix nanoseconds.
func at(ns int64) trace.SpanEventOption { return trace.WithTimestamp(time.Unix(0, ns)) }

// ids makes the ids of spans at random, from the generator that was set last.
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
