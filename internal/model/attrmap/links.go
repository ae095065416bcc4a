package attrmap

import (
	"math"

	"github.com/optrace/optrace/internal/model/opmodel"
	"github.com/optrace/optrace/op"
)

// AddLink adds a link to the span. It drops invalid links and links beyond MaxLinks, with a warning.
func (b *Builder) AddLink(l op.Link) {
	if len(b.links) == op.MaxLinks && l.Valid() {
		b.extra.DroppedLinks++
	}
	b.links = opmodel.AppendLink(b.links, l, &b.entry.Warn)
}

// DropLinks adds n links dropped by the SDK's limits.
func (b *Builder) DropLinks(n int64) {
	if n > 0 {
		b.extra.DroppedLinks += min(n, math.MaxUint32) // OTLP's limit
		b.Warn(op.WarnDroppedLinks)
	}
}

// LinkAttr gives an attribute of any type to a link, and under KeepsAll to extra.
func (b *Builder) LinkAttr(l *op.Link, extra *op.LinkExtra, a op.Attr) {
	w := opmodel.LinkAttr(l, a)
	b.entry.Warn |= w
	if b.KeepsAll() && (opmodel.LinkWeight(l, a.Key) == nil || a.Type != op.AttrInt || w != 0) {
		extra.Attrs = b.further.Set(extra.Attrs, opmodel.ValidAttr(a))
	}
}

// AddLinkWith is AddLink with the rest of the link, under KeepsAll.
func (b *Builder) AddLinkWith(l op.Link, extra *op.LinkExtra) {
	if b.KeepsAll() && (len(extra.Attrs) > 0 || extra.Flags != 0 || extra.TraceState != "" ||
		extra.DroppedAttributes != 0) {
		own := *extra
		l.Extra = &own
	}
	b.AddLink(l)
}

// Take asks for n bytes for a value of the span, until the next Reset. It reports whether the reader may use them.
func (b *Builder) Take(n int) bool { return b.further.Held.Take(n) }

// EventAttr appends an attribute of an event of the span.
func (b *Builder) EventAttr(attrs []op.Attr, a op.Attr) []op.Attr { return b.further.Append(attrs, a) }

// Links returns the links added since Reset, valid until the next Reset. An entry has them already.
func (b *Builder) Links() []op.Link {
	if len(b.links) == 0 {
		return nil
	}
	return b.links
}
