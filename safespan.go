package optrace

import (
	"math"
	"slices"
	"sync/atomic"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// safety takes out of spans what tracing backends choke on:
//
//   - attributes with a number that is not finite, of which one makes version 1
//     of Jaeger's API fail for the trace and for every search that finds it;
//   - links of a span to itself or to its own parent, which Jaeger takes for the
//     span's place in the trace;
//   - a parent that is the span itself.
//
// What is taken out counts as dropped, like what exceeds the SDK's limits.
// Integers stay as they are: Jaeger hands those that JavaScript cannot hold
// out as text, which readers take.
//
// A safety is safe for concurrent use.
type safety struct {
	// last is the resource seen last: a process has one.
	last atomic.Pointer[checkedResource]
}

// checkedResource is a resource and what is left of it.
type checkedResource struct{ given, safe *resource.Resource }

// span returns s without what is not safe, and whether there was any. Nearly
// always s comes back as it is.
func (f *safety) span(s sdktrace.ReadOnlySpan) (safest sdktrace.ReadOnlySpan, changed bool) {
	res := f.resource(s.Resource())
	own, parent := s.SpanContext(), s.Parent()
	isSafe := res == s.Resource() && !isSame(own, parent) && !slices.ContainsFunc(s.Attributes(), isUnsafe) &&
		!slices.ContainsFunc(s.Events(), hasUnsafe) &&
		!slices.ContainsFunc(s.Links(), func(l sdktrace.Link) bool { return isUnsafeLink(l, own, parent) })
	if isSafe {
		return s, false
	}
	safe := &safeSpan{ReadOnlySpan: s, parent: parent, resource: res}
	if isSame(own, parent) {
		safe.parent = trace.SpanContext{}
	}
	safe.attributes, safe.droppedAttributes = safeAttributes(s.Attributes(), s.DroppedAttributes())
	for _, e := range s.Events() {
		e.Attributes, e.DroppedAttributeCount = safeAttributes(e.Attributes, e.DroppedAttributeCount)
		safe.events = append(safe.events, e)
	}
	safe.droppedLinks = s.DroppedLinks()
	for _, l := range s.Links() {
		if isSame(l.SpanContext, own) || isSame(l.SpanContext, parent) {
			safe.droppedLinks++
			continue
		}
		l.Attributes, l.DroppedAttributeCount = safeAttributes(l.Attributes, l.DroppedAttributeCount)
		safe.links = append(safe.links, l)
	}
	return safe, true
}

// resource is safeResource, which is asked for the same one again and again.
func (f *safety) resource(r *resource.Resource) *resource.Resource {
	if last := f.last.Load(); last != nil && last.given == r {
		return last.safe
	}
	safe := safeResource(r)
	f.last.Store(&checkedResource{r, safe})
	return safe
}

// safeResource returns r, which may be nil, without what is not safe.
func safeResource(r *resource.Resource) *resource.Resource {
	attrs := r.Attributes()
	if !slices.ContainsFunc(attrs, isUnsafe) {
		return r
	}
	kept, _ := safeAttributes(attrs, 0)
	return resource.NewWithAttributes(r.SchemaURL(), kept...)
}

// isSame reports whether a and b are the same valid span.
func isSame(a, b trace.SpanContext) bool {
	return a.SpanID() == b.SpanID() && a.TraceID() == b.TraceID() && a.IsValid()
}

func hasUnsafe(e sdktrace.Event) bool { return slices.ContainsFunc(e.Attributes, isUnsafe) }

func isUnsafeLink(l sdktrace.Link, own, parent trace.SpanContext) bool {
	return isSame(l.SpanContext, own) || isSame(l.SpanContext, parent) || slices.ContainsFunc(l.Attributes, isUnsafe)
}

// safeAttributes returns the attributes that are safe, and how many have been
// dropped with those that are not.
func safeAttributes(attrs []attribute.KeyValue, dropped int) (safe []attribute.KeyValue, total int) {
	if !slices.ContainsFunc(attrs, isUnsafe) {
		return attrs, dropped
	}
	safe = slices.DeleteFunc(slices.Clone(attrs), isUnsafe)
	return safe, dropped + len(attrs) - len(safe)
}

func isUnsafe(kv attribute.KeyValue) bool { return !isFinite(kv.Value, 0) }

// isFinite reports whether every number in v is finite, as deep as values are
// looked into; what is deeper is not written either.
func isFinite(v attribute.Value, depth int) bool {
	if depth > maxValueDepth {
		return true
	}
	switch v.Type() {
	case attribute.FLOAT64:
		return isFiniteFloat(v.AsFloat64())
	case attribute.FLOAT64SLICE:
		for _, x := range v.AsFloat64Slice() {
			if !isFiniteFloat(x) {
				return false
			}
		}
	case attribute.SLICE:
		for _, x := range v.AsSlice() {
			if !isFinite(x, depth+1) {
				return false
			}
		}
	case attribute.MAP:
		for _, kv := range v.AsMap() {
			if !isFinite(kv.Value, depth+1) {
				return false
			}
		}
	}
	return true
}

func isFiniteFloat(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

// safeSpan is a span of which something was taken out.
type safeSpan struct {
	sdktrace.ReadOnlySpan
	parent            trace.SpanContext
	attributes        []attribute.KeyValue
	droppedAttributes int
	events            []sdktrace.Event
	links             []sdktrace.Link
	droppedLinks      int
	resource          *resource.Resource
}

// What is left of the parts of the span.

func (s *safeSpan) Parent() trace.SpanContext        { return s.parent }
func (s *safeSpan) Attributes() []attribute.KeyValue { return s.attributes }
func (s *safeSpan) DroppedAttributes() int           { return s.droppedAttributes }
func (s *safeSpan) Events() []sdktrace.Event         { return s.events }
func (s *safeSpan) Links() []sdktrace.Link           { return s.links }
func (s *safeSpan) DroppedLinks() int                { return s.droppedLinks }
func (s *safeSpan) Resource() *resource.Resource     { return s.resource }
