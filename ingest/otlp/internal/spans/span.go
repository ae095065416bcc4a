package spans

import (
	"github.com/optrace/optrace/internal/model/opmodel"
	"github.com/optrace/optrace/internal/text/protobuf"
	"github.com/optrace/optrace/op"
)

var (
	kindNames = []string{
		"SPAN_KIND_UNSPECIFIED", "SPAN_KIND_INTERNAL", "SPAN_KIND_SERVER", "SPAN_KIND_CLIENT", "SPAN_KIND_PRODUCER",
		"SPAN_KIND_CONSUMER",
	}
	codeNames = []string{"STATUS_CODE_UNSET", "STATUS_CODE_OK", "STATUS_CODE_ERROR"}
)

func (d *Decoder) parseSpan(m message) {
	d.begin()
	for outer := m.open(); m.more(outer, spanSchema); {
		d.parseSpanField(m)
	}
}

func (d *Decoder) parseSpanField(m message) {
	f := &d.fields
	var ok bool
	switch m.number() {
	case protobuf.SpanTraceID:
		ok = m.id(f.trace[:])
		f.badID = f.badID || !ok
	case protobuf.SpanID:
		ok = m.id(f.id[:])
		f.badID = f.badID || !ok
	case protobuf.SpanParentID:
		ok = m.id(f.parent[:])
		f.badID = f.badID || !ok
	case protobuf.SpanTraceState:
		f.state = d.parseText(m)
	case protobuf.SpanName:
		f.name = d.parseText(m)
		f.rawName = nil
	case protobuf.SpanKind:
		f.kind = m.enum(kindNames)
	case protobuf.SpanFlags:
		f.flags = m.flags()
	case protobuf.SpanStart:
		f.start, ok = m.time()
		f.invalidTimes = f.invalidTimes || !ok
	case protobuf.SpanEnd:
		f.end, ok = m.time()
		f.invalidTimes = f.invalidTimes || !ok
	case protobuf.SpanAttributes:
		for first := true; m.element(first); first = false {
			d.parseAttribute(m)
		}
	case protobuf.SpanDroppedAttributes:
		f.dropped = m.count()
	case protobuf.SpanLinks:
		for first := true; m.element(first); first = false {
			d.parseLink(m)
		}
	case protobuf.SpanDroppedLinks:
		f.droppedLinks = m.count()
	case protobuf.SpanEvents:
		for first := true; m.element(first); first = false {
			d.parseEvent(m)
		}
	case protobuf.SpanDroppedEvents:
		f.droppedEvents = m.count()
	case protobuf.SpanStatus:
		d.parseStatus(m)
	default:
		m.skip()
	}
}

func (d *Decoder) parseStatus(m message) {
	if m.null() {
		return
	}
	f := &d.fields
	for outer := m.open(); m.more(outer, statusSchema); {
		switch m.number() {
		case protobuf.StatusMessage:
			f.message = d.parseText(m)
		case protobuf.StatusCode:
			f.code = m.enum(codeNames)
			f.failed = f.code == statusError
		default:
			m.skip()
		}
	}
}

// parseLink gives a link of a span to the builder. Bad ids are zero.
func (d *Decoder) parseLink(m message) {
	var link op.Link
	var extra op.LinkExtra
	for outer := m.open(); m.more(outer, linkSchema); {
		switch m.number() {
		case protobuf.LinkTraceID:
			m.id(link.TraceID[:])
		case protobuf.LinkSpanID:
			m.id(link.SpanID[:])
		case protobuf.LinkTraceState:
			extra.TraceState = valid(d.parseText(m))
		case protobuf.LinkAttributes:
			for first := true; m.element(first); first = false {
				if a := d.parseAttr(m); m.failure() == nil {
					d.builder.LinkAttr(&link, &extra, a)
				}
			}
		case protobuf.LinkDroppedAttributes:
			extra.DroppedAttributes = m.count()
		case protobuf.LinkFlags:
			extra.Flags = m.flags()
		default:
			m.skip()
		}
	}
	if m.failure() == nil {
		d.builder.AddLinkWith(link, &extra)
	}
}

func (d *Decoder) parseEvent(m message) {
	var e op.Event
	for outer := m.open(); m.more(outer, eventSchema); {
		switch m.number() {
		case protobuf.EventTime:
			ns, _ := m.time()
			e.Time = knownTime(ns)
		case protobuf.EventName:
			e.Name = valid(d.parseText(m))
		case protobuf.EventAttributes:
			if e.Name != "" && !d.builder.WantsEvent(e.Name) {
				m.skip()
				continue
			}
			for first := true; m.element(first); first = false {
				e.Attrs = d.builder.EventAttr(e.Attrs, d.parseAttr(m))
			}
		case protobuf.EventDroppedAttributes:
			e.DroppedAttributes = m.count()
		default:
			m.skip()
		}
	}
	if m.failure() == nil {
		d.builder.AddEvent(e)
	}
}

func (d *Decoder) parseScope(m message) {
	d.Scope = op.Scope{}
	if m.null() {
		return
	}
	for outer := m.open(); m.more(outer, scopeSchema); {
		switch m.number() {
		case protobuf.ScopeName:
			d.Scope.Name = valid(d.parseText(m))
		case protobuf.ScopeVersion:
			d.Scope.Version = valid(d.parseText(m))
		case protobuf.ScopeAttributes:
			for first := true; m.element(first); first = false {
				d.Scope.Attrs = d.builder.Outer.Append(d.Scope.Attrs, d.parseAttr(m))
			}
		default:
			m.skip()
		}
	}
}

func (d *Decoder) parseResource(m message) {
	d.Resource = op.Resource{}
	d.builder.Outer.Held.Reset()
	if m.null() {
		return
	}
	for outer := m.open(); m.more(outer, resourceSchema); {
		if m.number() != protobuf.ResourceAttributes {
			m.skip()
			continue
		}
		for first := true; m.element(first); first = false {
			opmodel.SetResourceAttr(&d.Resource, &d.builder.Outer, d.parseAttr(m))
		}
	}
}

// parseText reads a string; null is "".
func (d *Decoder) parseText(m message) string {
	if m.null() {
		return ""
	}
	return d.text(m.bytes())
}
