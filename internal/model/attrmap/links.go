package attrmap

import (
	"math"

	"github.com/optrace/optrace/internal/model/opmodel"
	"github.com/optrace/optrace/op"
)

// AddLink adds a link to the span. One that does not lead to a span is left out
// with a warning, and so are links beyond MaxLinks.
func (b *Builder) AddLink(l op.Link) {
	if len(b.links) == op.MaxLinks && l.Valid() {
		b.extra.DroppedLinks++
	}
	b.links = opmodel.AppendLink(b.links, l, &b.entry.Warn)
}

// DropLinks sets how many links the SDK's limits dropped.
func (b *Builder) DropLinks(n int64) {
	if n > 0 {
		b.extra.DroppedLinks += min(n, math.MaxUint32) // as OTLP counts them
		b.Warn(op.WarnDroppedLinks)
	}
}

// LinkAttr gives an attribute of any type to a link, and where everything is kept to extra.
func (b *Builder) LinkAttr(l *op.Link, extra *op.LinkExtra, a op.Attr) {
	w := opmodel.LinkAttr(l, a)
	b.entry.Warn |= w
	if b.KeepsAll() && (opmodel.LinkWeight(l, a.Key) == nil || a.Type != op.AttrInt || w != 0) {
		extra.Attrs = b.further.Set(extra.Attrs, opmodel.ValidAttr(a))
	}
}

// AddLinkWith is AddLink for a link with what else it has, where everything is kept.
func (b *Builder) AddLinkWith(l op.Link, extra *op.LinkExtra) {
	if b.KeepsAll() && (len(extra.Attrs) > 0 || extra.Flags != 0 || extra.TraceState != "" ||
		extra.DroppedAttributes != 0) {
		own := *extra
		l.Extra = &own
	}
	b.AddLink(l)
}

// Take asks for n bytes, until the next Reset, that a reader takes for a value of the span, and reports whether it may.
func (b *Builder) Take(n int) bool { return b.further.Held.Take(n) }

// EventAttr appends an attribute to those of an event of the span.
func (b *Builder) EventAttr(attrs []op.Attr, a op.Attr) []op.Attr { return b.further.Append(attrs, a) }

// Links returns the links that have been added, nil for none, valid until the next Reset. Entries have theirs.
func (b *Builder) Links() []op.Link {
	if len(b.links) == 0 {
		return nil
	}
	return b.links
}
