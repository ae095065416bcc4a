package workload

import (
	"encoding/binary"
	"math"
	"math/rand/v2"

	"go.opentelemetry.io/otel/trace"
)

// stream is one device's way through the graph, span by span in the order in
// which they end: an operation, after the last one of a layer the layer, after
// the last layer the step.
type stream struct {
	rng     *rand.Rand
	process int
	graph   []*Spec
	// make returns an operation that is not of the graph; nil for the graph's.
	make  func(*rand.Rand) *Spec
	clock int64

	at          int // the next operation
	trace       trace.TraceID
	step, layer openSpan
}

// openSpan is a span that has not ended.
type openSpan struct {
	id    trace.SpanID
	start int64
}

// firstStart is when the first step starts, in Unix nanoseconds.
const firstStart = 1_760_000_000_000_000_000

func newStream(rng *rand.Rand, process int) *stream {
	return &stream{rng: rng, process: process, clock: firstStart + rng.Int64N(1_000_000)}
}

// next returns the next span that ends.
func (s *stream) next() Span {
	switch {
	case s.layer.id.IsValid() && s.at > 0 && s.at%opsPerLayer == 0:
		return s.endLayer()
	case s.at == opsPerGraph:
		return s.endStep()
	}
	if !s.step.id.IsValid() {
		s.begin()
	}
	if !s.layer.id.IsValid() {
		s.layer = s.open()
	}
	spec := s.spec()
	s.at++
	start := s.clock + 500 + s.rng.Int64N(3_000)
	s.clock = start + int64(spec.median*math.Exp(durationSpan*s.rng.NormFloat64()))
	return Span{
		Name: spec.Name, Process: s.process, TraceID: s.trace, SpanID: s.newID(), Parent: s.layer.id,
		Start: start, End: s.clock, Op: spec,
	}
}

func (s *stream) spec() *Spec {
	if s.make != nil {
		return s.make(s.rng)
	}
	return s.graph[s.at]
}

// begin begins a step, in a trace of its own.
func (s *stream) begin() {
	binary.BigEndian.PutUint64(s.trace[:8], s.rng.Uint64())
	binary.BigEndian.PutUint64(s.trace[8:], s.rng.Uint64())
	s.step = s.open()
}

func (s *stream) open() openSpan { return openSpan{id: s.newID(), start: s.clock} }

func (s *stream) newID() (id trace.SpanID) {
	for !id.IsValid() {
		binary.BigEndian.PutUint64(id[:], s.rng.Uint64())
	}
	return id
}

func (s *stream) endLayer() Span {
	ended := s.layer
	s.layer = openSpan{}
	return s.end(layerName, ended, s.step.id)
}

func (s *stream) endStep() Span {
	ended := s.step
	s.step, s.at = openSpan{}, 0
	return s.end(stepName, ended, trace.SpanID{})
}

func (s *stream) end(name string, o openSpan, parent trace.SpanID) Span {
	s.clock += 1_000
	return Span{
		Name: name, Process: s.process, TraceID: s.trace, SpanID: o.id, Parent: parent,
		Start: o.start, End: s.clock,
	}
}

// rest ends what is under way.
func (s *stream) rest() []Span {
	var spans []Span
	if s.layer.id.IsValid() {
		spans = append(spans, s.endLayer())
	}
	if s.step.id.IsValid() {
		spans = append(spans, s.endStep())
	}
	return spans
}
