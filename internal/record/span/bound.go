package span

import (
	"unicode/utf8"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/resource"
)

// The bounds of a span that is too large to be read again: formats take up to six times as much.
const (
	maxText  = 64 << 10 // of one text
	maxSmall = 512      // of a value that is kept before larger ones
	maxTotal = 512 << 10
	number   = 8 // for a value itself
)

// cutMark ends a text that was cut.
const cutMark = "…"

// CutText returns text, or if it is too long its beginning and a mark.
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

// Bounded returns d with texts that are not too long, and without the attributes, events and links that are too many for one
// record. What was cut or left out counts as dropped.
func (d *Data) Bounded() Data {
	out := *d
	out.Name, out.Status.Description, out.Scope = CutText(d.Name), CutText(d.Status.Description), BoundScope(d.Scope)
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

// differs returns 1 if a text was cut.
func differs(text, cut string) int {
	if len(text) == len(cut) {
		return 0
	}
	return 1
}

// BoundScope is Bounded for a scope.
func BoundScope(s instrumentation.Scope) instrumentation.Scope {
	s.Name, s.Version, s.SchemaURL = CutText(s.Name), CutText(s.Version), CutText(s.SchemaURL)
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

// room is what may be added to a span: small values and large ones.
type room struct{ small, large int }

func newRoom() *room { return &room{small: maxTotal, large: maxTotal} }

// takes takes n bytes if they are there.
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

// attributes returns the attributes that there is room for, and how many were dropped before, left out or cut.
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
