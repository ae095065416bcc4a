package span

import (
	"math"
	"slices"
	"sync/atomic"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// Sanitizer removes from spans what tracing backends cannot process:
//
//   - attributes with a number that is not finite: one of them makes version 1
//     of Jaeger's API fail for the trace and for every search that finds it;
//   - links of a span to itself or to its own parent, which Jaeger takes for the
//     span's place in the trace;
//   - a parent that is the span itself.
//
// Removed attributes and links count as dropped, like those beyond the SDK's
// limits. Integers are kept: Jaeger returns those that JavaScript cannot
// represent as strings, which readers accept.
//
// A Sanitizer is safe for concurrent use.
type Sanitizer struct {
	// last is the resource of the last span: a process has one.
	last atomic.Pointer[checkedResource]
}

// checkedResource is a resource and its sanitized form.
type checkedResource struct{ given, clean *resource.Resource }

// Clean returns s without such parts, and whether it had any. Nearly always it
// returns s itself.
func (f *Sanitizer) Clean(s sdktrace.ReadOnlySpan) (clean sdktrace.ReadOnlySpan, changed bool) {
	res := f.resource(s.Resource())
	own, parent := s.SpanContext(), s.Parent()
	isClean := res == s.Resource() && !SameSpan(own, parent) && !slices.ContainsFunc(s.Attributes(), isNonFinite) &&
		!slices.ContainsFunc(s.Events(), hasNonFinite) &&
		!slices.ContainsFunc(s.Links(), func(l sdktrace.Link) bool { return isBadLink(l, own, parent) })
	if isClean {
		return s, false
	}
	out := &cleanSpan{ReadOnlySpan: s, parent: parent, resource: res}
	if SameSpan(own, parent) {
		out.parent = trace.SpanContext{}
	}
	out.attributes, out.droppedAttributes = finiteAttributes(s.Attributes(), s.DroppedAttributes())
	for _, e := range s.Events() {
		e.Attributes, e.DroppedAttributeCount = finiteAttributes(e.Attributes, e.DroppedAttributeCount)
		out.events = append(out.events, e)
	}
	out.droppedLinks = s.DroppedLinks()
	for _, l := range s.Links() {
		if SameSpan(l.SpanContext, own) || SameSpan(l.SpanContext, parent) {
			out.droppedLinks++
			continue
		}
		l.Attributes, l.DroppedAttributeCount = finiteAttributes(l.Attributes, l.DroppedAttributeCount)
		out.links = append(out.links, l)
	}
	return out, true
}

// resource is CleanResource with a cache of one.
func (f *Sanitizer) resource(r *resource.Resource) *resource.Resource {
	if last := f.last.Load(); last != nil && last.given == r {
		return last.clean
	}
	clean := CleanResource(r)
	f.last.Store(&checkedResource{r, clean})
	return clean
}

// CleanResource returns r, which may be nil, without attributes that are not
// finite.
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

func hasNonFinite(e sdktrace.Event) bool { return slices.ContainsFunc(e.Attributes, isNonFinite) }

func isBadLink(l sdktrace.Link, own, parent trace.SpanContext) bool {
	return SameSpan(l.SpanContext, own) || SameSpan(l.SpanContext, parent) || slices.ContainsFunc(l.Attributes, isNonFinite)
}

// finiteAttributes returns attrs without those that are not finite, and the
// number of dropped attributes with these.
func finiteAttributes(attrs []attribute.KeyValue, dropped int) (finite []attribute.KeyValue, total int) {
	if !slices.ContainsFunc(attrs, isNonFinite) {
		return attrs, dropped
	}
	finite = slices.DeleteFunc(slices.Clone(attrs), isNonFinite)
	return finite, dropped + len(attrs) - len(finite)
}

func isNonFinite(kv attribute.KeyValue) bool { return isNonFiniteValue(kv.Value, 0) }

// MaxValueDepth is how deep nested values are written; the SDK cuts them at 64
// levels by default. Deeper ones are written as empty values.
const MaxValueDepth = 128

// isNonFiniteValue reports whether a number in v is not finite, down to MaxValueDepth.
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
		return slices.ContainsFunc(v.AsMap(), func(kv attribute.KeyValue) bool { return isNonFiniteValue(kv.Value, depth+1) })
	}
	return false
}

func isNonFiniteFloat(x float64) bool { return math.IsNaN(x) || math.IsInf(x, 0) }

// cleanSpan is a span from which something has been removed.
type cleanSpan struct {
	sdktrace.ReadOnlySpan
	parent            trace.SpanContext
	attributes        []attribute.KeyValue
	droppedAttributes int
	events            []sdktrace.Event
	links             []sdktrace.Link
	droppedLinks      int
	resource          *resource.Resource
}

// The parts that differ from those of the span.

func (s *cleanSpan) Parent() trace.SpanContext        { return s.parent }
func (s *cleanSpan) Attributes() []attribute.KeyValue { return s.attributes }
func (s *cleanSpan) DroppedAttributes() int           { return s.droppedAttributes }
func (s *cleanSpan) Events() []sdktrace.Event         { return s.events }
func (s *cleanSpan) Links() []sdktrace.Link           { return s.links }
func (s *cleanSpan) DroppedLinks() int                { return s.droppedLinks }
func (s *cleanSpan) Resource() *resource.Resource     { return s.resource }
