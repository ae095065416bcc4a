package decode

import (
	"math"

	"github.com/optrace/optrace/op"
)

// decodeExtra reads an object, nil for what is none.
func (d *Decoder) decodeExtra() *op.Extra {
	l := &d.Lex
	if !d.Is('{') {
		return nil
	}
	x := &d.extra
	*x = op.Extra{}
	for l.Object(); l.More(); {
		switch string(l.Key()) {
		case "name":
			x.Name = d.text()
		case "kind":
			x.Kind = d.text()
		case "flags":
			x.Flags = d.flags()
		case "trace_state":
			x.TraceState = d.text()
		case "ok":
			x.OK = d.flag()
		case "message":
			x.Message = d.text()
		case "scope":
			x.Scope.Name = d.text()
		case "scope_version":
			x.Scope.Version = d.text()
		case "scope_attrs":
			x.Scope.Attrs = d.furtherAttrs()
		case "events":
			x.Events = d.events()
		case "dropped_attributes":
			x.DroppedAttributes = d.amount(op.WarnBadValue).V
		case "dropped_events":
			x.DroppedEvents = d.amount(op.WarnBadValue).V
		case "dropped_links":
			x.DroppedLinks = d.amount(op.WarnBadValue).V
		default:
			l.Skip()
		}
	}
	if x.IsZero() {
		return nil
	}
	return x
}

// flags reads a number of 32 bits.
func (d *Decoder) flags() uint32 {
	n := d.amount(op.WarnBadValue).V
	if n > math.MaxUint32 {
		d.Entry.Warn |= op.WarnBadValue
		return 0
	}
	return uint32(n)
}

func (d *Decoder) events() []op.Event {
	l := &d.Lex
	d.eventList = d.eventList[:0]
	if !d.Is('[') {
		return nil
	}
	for l.Array(); l.More(); {
		if !d.Is('{') {
			continue
		}
		var e op.Event
		for l.Object(); l.More(); {
			switch string(l.Key()) {
			case "name":
				e.Name = d.text()
			case "time_unix_ns":
				e.Time = d.Integer(op.WarnBadTime)
			case "attrs":
				e.Attrs = d.furtherAttrs()
			case "dropped_attributes":
				e.DroppedAttributes = d.amount(op.WarnBadValue).V
			default:
				l.Skip()
			}
		}
		d.eventList = append(d.eventList, e)
	}
	if len(d.eventList) == 0 {
		return nil
	}
	return d.eventList
}

// furtherAttrs reads attributes of a part of a span.
func (d *Decoder) furtherAttrs() []op.Attr {
	n := len(d.moreAttrs)
	attrs := d.Attributes(d.moreAttrs[n:])
	if attrs == nil {
		return nil
	}
	d.moreAttrs = append(d.moreAttrs[:n], attrs...)
	// Where moreAttrs grows later, these keep the memory they had.
	return d.moreAttrs[n:len(d.moreAttrs):len(d.moreAttrs)]
}
