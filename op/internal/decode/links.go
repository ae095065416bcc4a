package decode

import (
	"github.com/optrace/optrace/internal/opmodel"
	"github.com/optrace/optrace/op"
)

// decodeLinks reads a list of links, as [attrmap.Builder.AddLink] takes them.
func (d *Decoder) decodeLinks() []op.Link {
	l := &d.Lex
	d.links = d.links[:0]
	if !d.Is('[') {
		return nil
	}
	for l.Array(); l.More(); {
		if !d.Is('{') {
			continue
		}
		var link op.Link
		for l.Object(); l.More(); {
			switch string(l.Key()) {
			case "trace_id":
				d.id(link.TraceID[:], false)
			case "span_id":
				d.id(link.SpanID[:], false)
			case "weight":
				link.Weight = d.amount(op.WarnBadValue)
			case "weight_attention":
				link.Attention = d.amount(op.WarnBadValue)
			case "attrs":
				d.more(&link).Attrs = d.furtherAttrs()
			case "flags":
				d.more(&link).Flags = d.flags()
			case "trace_state":
				d.more(&link).TraceState = d.text()
			case "dropped_attributes":
				d.more(&link).DroppedAttributes = d.amount(op.WarnBadValue).V
			default:
				l.Skip()
			}
		}
		d.links = opmodel.AppendLink(d.links, link, &d.Entry.Warn)
	}
	if len(d.links) == 0 {
		return nil
	}
	return d.links
}

// more returns what the link has beside its fields, to add to it.
func (d *Decoder) more(l *op.Link) *op.LinkExtra {
	if l.Extra == nil {
		d.linkExtras = append(d.linkExtras, op.LinkExtra{})
		l.Extra = &d.linkExtras[len(d.linkExtras)-1]
	}
	return l.Extra
}
