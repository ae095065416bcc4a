package otlp

import (
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/optrace/optrace/internal/attrcache"
	"github.com/optrace/optrace/internal/encoding"
	"github.com/optrace/optrace/internal/span"
	"github.com/optrace/optrace/internal/traces"
	"github.com/optrace/optrace/op/attr"
)

// codec is one of the two encodings of OTLP, except for its span method. It is
// used by one goroutine at a time.
type codec interface {
	// nameField appends the name of a span.
	nameField(dst []byte, name string) []byte
	// spanAttributes appends attributes of a span as they stand among others.
	spanAttributes(dst []byte, attrs []attribute.KeyValue) []byte
	// sawFloats reports whether floating-point numbers have been encoded since its
	// last call.
	sawFloats() bool
	// resourceEnvelope returns the bytes before and after the scopes of a resource.
	resourceEnvelope(r *resource.Resource) (prefix, suffix []byte)
	// scopeEnvelope returns the bytes before and after the spans of a scope.
	scopeEnvelope(s instrumentation.Scope) (prefix, suffix []byte)
}

// encoder encodes operations, and the spans above them, as OTLP spans.
type encoder struct {
	mapping *attr.Mapping
	// codec is proto or json. The span method is called on the concrete type so
	// that the data stays on the stack.
	codec codec
	proto *protoCodec
	json  *jsonCodec

	scopes    scopeCache
	sanitizer span.Sanitizer
	cache     attrcache.Cache[template] // of operations only
	scratch   []byte
}

func newProtoEncoder(m *attr.Mapping, cacheBytes int) *encoder {
	c := new(protoCodec)
	return &encoder{
		mapping: m, codec: c, proto: c, scopes: newScopeCache(c, cacheBytes/8), cache: attrcache.New[template](cacheBytes/8*7, false),
	}
}

func newJSONEncoder(m *attr.Mapping, cacheBytes int) *encoder {
	c := new(jsonCodec)
	return &encoder{
		mapping: m, codec: c, json: c, scopes: newScopeCache(c, cacheBytes/8), cache: attrcache.New[template](cacheBytes/8*7, false),
	}
}

// span appends v as one of the spans of a scope. cached is the encoding of its
// name and attributes, or nil.
func (c *encoder) span(dst []byte, v *span.Data, cached *template) []byte {
	if c.proto != nil {
		return c.proto.span(dst, v, cached)
	}
	return c.json.span(dst, v, cached)
}

// CacheHits returns how many of the recent lookups in the cache found something.
func (c *encoder) CacheHits() int { return c.cache.Hits() }

func (c *encoder) Add(b *encoding.Batch, e span.Ended, t *traces.WithOps) encoding.Outcome {
	if e.Data != nil {
		return c.add(b, nil, e.Data, e.Alone, t)
	}
	d := span.ReadAll(e.Span, e.Context, e.Parent)
	return c.add(b, e.Span, &d, e.Alone, t)
}

// add adds the span s, or an operation without one, that d is the data of.
func (c *encoder) add(b *encoding.Batch, s sdktrace.ReadOnlySpan, d *span.Data, alone bool, t *traces.WithOps) encoding.Outcome {
	key := attrcache.Key{Name: d.Name, Attrs: d.Attrs, Varying: attrcache.FindVarying(d.Attrs)}
	cached, worthAdding := c.cache.Lookup(&key) // holds operations only
	out := encoding.Entry
	switch {
	case cached != nil || span.IsOperation(c.mapping, d.Attrs):
		if !alone { // nobody asks for a trace of one span
			t.Add(d.TraceID())
		}
	case t.Has(d.TraceID()):
		out = encoding.Ancestor
	default:
		return encoding.Skipped
	}
	encoding.AddLinked(t, d)
	if len(b.Records) == 0 {
		c.scopes.trim()
	}
	scope := c.scopes.get(d.Resource, d.Scope)
	start := len(b.Records)
	b.Records = c.span(b.Records, d, cached)
	// Few spans have anything that may have to be removed, and looking is not
	// cheap.
	if c.codec.sawFloats() || len(d.Links) > 0 || span.SameSpan(d.Context, d.Parent) {
		if s == nil {
			s = span.Snapshot(d)
		}
		if clean, changed := c.sanitizer.Clean(s); changed {
			cleaned := span.ReadAll(clean, clean.SpanContext(), clean.Parent())
			d = &cleaned
			b.Records = c.span(b.Records[:start], d, nil)
		}
	} else if worthAdding && out == encoding.Entry {
		c.remember(&key)
	}
	if len(b.Records)-start > encoding.MaxRecordBytes {
		bounded := d.Bounded()
		b.Records = c.span(b.Records[:start], &bounded, nil)
		b.Shortened++
	}
	b.Groups.Add(scope, start, len(b.Records))
	if out == encoding.Entry {
		b.Entries++
	}
	return out
}
