package optrace

import (
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/optrace/optrace/op"
)

// otlpCodec is an encoding of OTLP. It is used by one goroutine at a time.
type otlpCodec interface {
	// span appends s as one of the spans of a scope.
	span(dst []byte, s sdktrace.ReadOnlySpan) []byte
	// sawFloats reports whether what was encoded since its last call holds
	// floating-point numbers.
	sawFloats() bool
	// aroundResource and aroundScope return what comes before and behind what
	// they hold.
	aroundResource(r *resource.Resource) (head, tail []byte)
	aroundScope(s instrumentation.Scope) (head, tail []byte)
}

// otlpEncoder encodes operations, and the spans above them, as OTLP spans.
type otlpEncoder struct {
	mapping *op.Mapping
	codec   otlpCodec
	sources otlpSources
	safety  safety
}

func newOTLPEncoder(m *op.Mapping, c otlpCodec) *otlpEncoder {
	return &otlpEncoder{mapping: m, codec: c, sources: otlpSources{codec: c}}
}

func (c *otlpEncoder) isOperation(s sdktrace.ReadOnlySpan) bool {
	p := c.mapping.Predicate()
	for _, kv := range s.Attributes() {
		if p.See(string(kv.Key)) {
			return true
		}
	}
	return false
}

func (c *otlpEncoder) add(b *batch, s sdktrace.ReadOnlySpan, _ root, traces *recentTraces) outcome {
	id, out := op.TraceID(s.SpanContext().TraceID()), asEntry
	if c.isOperation(s) {
		traces.add(id)
	} else if traces.has(id) {
		out = asAncestor
	} else {
		return asNothing
	}
	scope := c.sources.of(s)
	start := len(b.records)
	b.records = c.codec.span(b.records, s)
	// Few spans have any of what may be unsafe, and looking is not cheap.
	if c.codec.sawFloats() || len(s.Links()) > 0 || isSame(s.SpanContext(), s.Parent()) {
		if safe, changed := c.safety.span(s); changed {
			b.records = c.codec.span(b.records[:start], safe)
		}
	}
	b.otlp.add(scope, start, len(b.records))
	if out == asEntry {
		b.entries++
	} else {
		b.ancestors++
	}
	return out
}
