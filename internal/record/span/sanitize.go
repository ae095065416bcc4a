package span

import (
	"math"
	"slices"
	"unicode/utf8"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/instrumentation"
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

// The bounds of a very large span. Formats take up to six times as much.
const (
	maxText  = 64 << 10 // of one text
	maxSmall = 512      // small values have room of their own
	maxTotal = 512 << 10
	number   = 8 // of a value itself
)

const cutMark = "…"

// CutText returns text, cut and marked if it is too long.
func CutText(text string) string {
	if len(text) <= maxText {
		return text
	}
	n := maxText - len(cutMark)
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n] + cutMark
}

// Bounded returns d cut to the bounds of one record. Shortened and omitted parts count as dropped.
func (d *Data) Bounded() Data {
	out := *d
	out.Name = CutText(d.Name)
	out.Status.Description = CutText(d.Status.Description)
	out.Scope = BoundScope(d.Scope)
	out.DroppedAttrs += differs(d.Name, out.Name) + differs(d.Status.Description, out.Status.Description)
	room := newRoom()
	out.Attrs, out.DroppedAttrs = room.attributes(d.Attrs, out.DroppedAttrs)
	out.Events = nil
	out.Links = nil
	for _, e := range d.Events {
		name := CutText(e.Name)
		if !room.takes(len(name) + 100) {
			out.DroppedEvents++
			continue
		}
		e.DroppedAttributeCount += differs(e.Name, name)
		e.Name = name
		e.Attributes, e.DroppedAttributeCount = room.attributes(e.Attributes, e.DroppedAttributeCount)
		out.Events = append(out.Events, e)
	}
	for _, l := range d.Links {
		if !room.takes(100) {
			out.DroppedLinks++
			continue
		}
		l.Attributes, l.DroppedAttributeCount = room.attributes(l.Attributes, l.DroppedAttributeCount)
		out.Links = append(out.Links, l)
	}
	return out
}

func differs(text, cut string) int {
	if len(text) == len(cut) {
		return 0
	}
	return 1
}

// BoundScope is Bounded for a scope.
func BoundScope(s instrumentation.Scope) instrumentation.Scope {
	s.Name = CutText(s.Name)
	s.Version = CutText(s.Version)
	s.SchemaURL = CutText(s.SchemaURL)
	attrs := s.Attributes.ToSlice()
	if kept, n := newRoom().attributes(attrs, 0); n > 0 {
		s.Attributes = attribute.NewSet(kept...)
	}
	return s
}

// BoundResource is Bounded for a resource, which may be nil.
func BoundResource(r *resource.Resource) *resource.Resource {
	kept, n := newRoom().attributes(r.Attributes(), 0)
	if n == 0 {
		return r
	}
	return resource.NewWithAttributes(CutText(r.SchemaURL()), kept...)
}

// room is the number of bytes free for small and for large values.
type room struct{ small, large int }

func newRoom() *room { return &room{small: maxTotal, large: maxTotal} }

func (r *room) takes(n int) bool {
	of := &r.large
	if n <= maxSmall {
		of = &r.small
	}
	if n > *of {
		return false
	}
	*of -= n
	return true
}

func (r *room) attributes(attrs []attribute.KeyValue, dropped int) (kept []attribute.KeyValue, total int) {
	for _, kv := range attrs {
		if kv.Value.Type() == attribute.STRING && len(kv.Value.AsString()) > maxText {
			kv.Value = attribute.StringValue(CutText(kv.Value.AsString()))
			dropped++
		}
		if r.takes(number + Memory([]attribute.KeyValue{kv})) {
			kept = append(kept, kv)
		} else {
			dropped++
		}
	}
	return kept, dropped
}
