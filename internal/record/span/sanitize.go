package span

import (
	"math"
	"slices"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// Clean removes everything from a span that tracing backends cannot process, and reports whether it changed the span:
//
//   - attributes with a NaN or infinite number: one makes version 1 of Jaeger's API fail for the trace and for every
//     search that finds it;
//   - links of a span to itself or to its parent, which Jaeger takes for the span's place in the trace;
//   - a parent that is the span itself.
//
// Removed attributes and links count as dropped. Integers stay: Jaeger returns large ones as strings, and readers accept
// them. The resource is cleaned by [CleanResource].
func (d *Data) Clean() (changed bool) {
	if d.isClean() {
		return false
	}
	parent := d.Parent
	if SameSpan(d.Context, parent) {
		d.Parent = trace.SpanContext{}
	}
	d.Attrs, d.DroppedAttrs = finiteAttributes(d.Attrs, d.DroppedAttrs)
	d.Events = slices.Clone(d.Events) // the span's own events stay unchanged
	for i := range d.Events {
		e := &d.Events[i]
		e.Attributes, e.DroppedAttributeCount = finiteAttributes(e.Attributes, e.DroppedAttributeCount)
	}
	var links []sdktrace.Link
	for _, l := range d.Links {
		if SameSpan(l.SpanContext, d.Context) || SameSpan(l.SpanContext, parent) {
			d.DroppedLinks++
			continue
		}
		l.Attributes, l.DroppedAttributeCount = finiteAttributes(l.Attributes, l.DroppedAttributeCount)
		links = append(links, l)
	}
	d.Links = links
	return true
}

func (d *Data) isClean() bool {
	return !SameSpan(d.Context, d.Parent) && !slices.ContainsFunc(d.Attrs, isNonFinite) &&
		!slices.ContainsFunc(d.Events, func(e sdktrace.Event) bool {
			return slices.ContainsFunc(e.Attributes,
				isNonFinite)
		}) &&
		!slices.ContainsFunc(d.Links, func(l sdktrace.Link) bool {
			return SameSpan(l.SpanContext, d.Context) || SameSpan(l.SpanContext, d.Parent) ||
				slices.ContainsFunc(l.Attributes, isNonFinite)
		})
}

// CleanResource returns r, which may be nil, without attributes of NaN or infinite numbers.
func CleanResource(r *resource.Resource) *resource.Resource {
	attrs := r.Attributes()
	if !slices.ContainsFunc(attrs, isNonFinite) {
		return r
	}
	kept, _ := finiteAttributes(attrs, 0)
	return resource.NewWithAttributes(r.SchemaURL(), kept...)
}

// SameSpan reports whether a and b are the same valid span.
func SameSpan(a, b trace.SpanContext) bool {
	return a.SpanID() == b.SpanID() && a.TraceID() == b.TraceID() && a.IsValid()
}

// finiteAttributes returns attrs without NaN and infinite numbers, and counts the removed ones as dropped.
func finiteAttributes(attrs []attribute.KeyValue, dropped int) (finite []attribute.KeyValue, total int) {
	if !slices.ContainsFunc(attrs, isNonFinite) {
		return attrs, dropped
	}
	finite = slices.DeleteFunc(slices.Clone(attrs), isNonFinite)
	return finite, dropped + len(attrs) - len(finite)
}

func isNonFinite(kv attribute.KeyValue) bool { return isNonFiniteValue(kv.Value, 0) }

// MaxValueDepth is the depth of nested values. Deeper ones are written empty. The SDK's limit is 64.
const MaxValueDepth = 128

// isNonFiniteValue reports whether v has a NaN or infinite number, down to MaxValueDepth.
func isNonFiniteValue(v attribute.Value, depth int) bool {
	if depth > MaxValueDepth {
		return false
	}
	switch v.Type() {
	case attribute.FLOAT64:
		return isNonFiniteFloat(v.AsFloat64())
	case attribute.FLOAT64SLICE:
		return slices.ContainsFunc(v.AsFloat64Slice(), isNonFiniteFloat)
	case attribute.SLICE:
		return slices.ContainsFunc(v.AsSlice(), func(e attribute.Value) bool { return isNonFiniteValue(e, depth+1) })
	case attribute.MAP:
		return slices.ContainsFunc(v.AsMap(), func(kv attribute.KeyValue) bool {
			return isNonFiniteValue(kv.Value,
				depth+1)
		})
	}
	return false
}

func isNonFiniteFloat(x float64) bool { return math.IsNaN(x) || math.IsInf(x, 0) }
