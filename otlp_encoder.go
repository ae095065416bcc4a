package optrace

import (
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/optrace/optrace/internal/attrcache"
	"github.com/optrace/optrace/op"
)

// otlpCodec is an encoding of OTLP, but for what is done for every span. It is
// used by one goroutine at a time.
type otlpCodec interface {
	// nameField appends the name of a span.
	nameField(dst []byte, name string) []byte
	// spanAttributes appends attributes of a span as they stand among others.
	spanAttributes(dst []byte, attrs []attribute.KeyValue) []byte
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
	// codec is either of the two behind it. They are called by their types for
	// every span, so that views need not escape: that saves a twentieth.
	codec otlpCodec
	proto *protoCodec
	json  *jsonCodec

	sources otlpSources
	safety  safety
	memo    attrcache.Cache[knownSpan] // of operations only
	scratch []byte
}

func newProtoEncoder(m *op.Mapping, memoBytes int) *otlpEncoder {
	c := new(protoCodec)
	return &otlpEncoder{
		mapping: m, codec: c, proto: c, sources: otlpSources{codec: c}, memo: attrcache.New[knownSpan](memoBytes, false),
	}
}

func newJSONEncoder(m *op.Mapping, memoBytes int) *otlpEncoder {
	c := new(jsonCodec)
	return &otlpEncoder{
		mapping: m, codec: c, json: c, sources: otlpSources{codec: c}, memo: attrcache.New[knownSpan](memoBytes, false),
	}
}

// span appends v as one of the spans of a scope. known is how much of it is
// encoded, nil where that is not known.
func (c *otlpEncoder) span(dst []byte, v *otlpView, known *knownSpan) []byte {
	if c.proto != nil {
		return c.proto.span(dst, v, known)
	}
	return c.json.span(dst, v, known)
}

func (c *otlpEncoder) isOperation(s sdktrace.ReadOnlySpan) bool {
	return c.makeOperation(s.Attributes())
}

// makeOperation reports whether attributes make a span an operation.
func (c *otlpEncoder) makeOperation(attrs []attribute.KeyValue) bool {
	p := c.mapping.Predicate()
	for i := range attrs {
		if p.See(string(attrs[i].Key)) {
			return true
		}
	}
	return false
}

func (c *otlpEncoder) takesViews() bool { return false }

func (c *otlpEncoder) add(b *batch, f finished, traces traceNotes) outcome {
	var v otlpView
	v.read(f.span, f.context, f.parent)
	return c.addView(b, f.span, &v, traces)
}

func (c *otlpEncoder) addSpan(b *batch, s sdktrace.ReadOnlySpan, traces traceNotes) outcome {
	var v otlpView
	v.read(s, s.SpanContext(), s.Parent())
	return c.addView(b, s, &v, traces)
}

// addView adds s, of which v is the view.
func (c *otlpEncoder) addView(b *batch, s sdktrace.ReadOnlySpan, v *otlpView, traces traceNotes) outcome {
	key := attrcache.Key{Name: v.name, Attrs: v.attrs, Varying: attrcache.FindVarying(v.attrs)}
	known, worthAdding := c.memo.Lookup(&key) // holds operations only
	id, out := op.TraceID(v.context.TraceID()), asEntry
	if known != nil || c.makeOperation(v.attrs) {
		traces.add(id)
	} else if traces.has(id) {
		out = asAncestor
	} else {
		return asNothing
	}
	scope := c.sources.of(v.resource, v.scope)
	start := len(b.records)
	b.records = c.span(b.records, v, known)
	// Few spans have any of what may be unsafe, and looking is not cheap.
	if c.codec.sawFloats() || len(v.links) > 0 || isSame(v.context, v.parent) {
		if safe, changed := c.safety.span(s); changed {
			v.read(safe, safe.SpanContext(), safe.Parent())
			b.records = c.span(b.records[:start], v, nil)
		}
	} else if worthAdding && out == asEntry {
		c.remember(&key)
	}
	b.otlp.add(scope, start, len(b.records))
	if out == asEntry {
		b.entries++
	} else {
		b.ancestors++
	}
	return out
}
