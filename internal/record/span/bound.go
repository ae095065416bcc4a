package span

import (
	"unicode/utf8"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/resource"
)

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

// attributes returns the attributes within the room, and dropped plus the number left out or cut.
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
