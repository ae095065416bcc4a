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
	device  string
	graph   []*Spec // on the first device; nil where each operation is another one
	own     []*Spec // those of the graph that have run on the device
	clock   int64   // Unix nanoseconds

	at          int             // the next operation
	number      int64           // of the step
	sequence    int64           // of the next collective
	step, layer context.Context // of the spans that have not ended, nil where there is none
	attrs       []attribute.KeyValue
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
			rng: rng, device: deviceName(i), graph: graph, own: make([]*Spec, len(graph)), clock: firstStart + rng.Int64N(1_000_000),
		}
		if c.Kind == G512 {
			streams[i].process = i
		}
	}
	return streams
}

// spec returns the i-th operation of the graph, or another one in its place.
func (s *stream) spec(i int) *Spec {
	if s.graph == nil {
		return newSpec(s.rng, deviceName(s.rng.IntN(numDevices)), pathOf(i), randomStep).build()
	}
	if s.own[i] == nil {
		own := *s.graph[i]
		own.Device = s.device
		s.own[i] = own.build()
	}
	return s.own[i]
}

// next records up to the end of the next span: an operation, after the last one
// of a layer the layer, after the last layer the step. It reports whether it was an operation.
func (s *stream) next(r *recorder) bool {
	switch {
	case s.layer != nil && s.at > 0 && s.at%opsPerLayer == 0:
		s.end(&s.layer)
		return false
	case s.at == opsPerGraph:
		s.end(&s.step)
		s.at = 0
		s.number++
		return false
	}
	if s.step == nil {
		s.step = s.begin(r, context.Background(), stepName)
	}
	if s.layer == nil {
		s.layer = s.begin(r, s.step, layerName)
	}
	spec := s.spec(s.at)
	s.at++
	start := s.clock + 500 + s.rng.Int64N(3_000)
	s.clock = start + int64(spec.median*math.Exp(durationSpread*s.rng.NormFloat64()))
	s.attrs = append(append(s.attrs[:0], spec.All...), tensorconv.Step(s.number))
	if spec.Kind == op.KindCollective {
		s.attrs = append(s.attrs, tensorconv.CollectiveSequence(s.sequence))
		s.sequence++
	}
	r.ids.from = s.rng
	_, span := r.operations.Start(s.layer, spec.Name, at(start))
	span.SetAttributes(s.attrs...)
	span.End(at(s.clock))
	return true
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
