package decode

import (
	"github.com/optrace/optrace/internal/model/opmodel"
	"github.com/optrace/optrace/op"
)

var linkMembers = members[op.Link]{
	"trace_id":           func(d *Decoder, l *op.Link) { d.id(l.TraceID[:], false) },
	"span_id":            func(d *Decoder, l *op.Link) { d.id(l.SpanID[:], false) },
	"weight":             func(d *Decoder, l *op.Link) { l.Weight = d.amount(op.WarnBadValue) },
	"weight_attention":   func(d *Decoder, l *op.Link) { l.Attention = d.amount(op.WarnBadValue) },
	"attrs":              func(d *Decoder, l *op.Link) { d.more(l).Attrs = d.furtherAttrs() },
	"flags":              func(d *Decoder, l *op.Link) { d.more(l).Flags = d.flags() },
	"trace_state":        func(d *Decoder, l *op.Link) { d.more(l).TraceState = d.text() },
	"dropped_attributes": func(d *Decoder, l *op.Link) { d.more(l).DroppedAttributes = d.amount(op.WarnBadValue).V },
}

// decodeLinks reads a list of links by the rules of [attrmap.Builder.AddLink].
func (d *Decoder) decodeLinks() []op.Link {
	d.links = d.links[:0]
	d.objects(func() {
		d.link = op.Link{}
		linkMembers.read(d, &d.link)
		d.links = opmodel.AppendLink(d.links, d.link, &d.Entry.Warn)
	})
	if len(d.links) == 0 {
		return nil
	}
	return d.links
}

func (d *Decoder) more(l *op.Link) *op.LinkExtra {
	if l.Extra == nil {
		d.linkExtras = append(d.linkExtras, op.LinkExtra{})
		l.Extra = &d.linkExtras[len(d.linkExtras)-1]
	}
	return l.Extra
}
