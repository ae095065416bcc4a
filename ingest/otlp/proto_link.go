package otlp

import "github.com/optrace/optrace/op"

// parseLink feeds a link of a span to the builder. Ids that are none make it one that
// leads nowhere.
func (r *protoReader) parseLink(w *wire) {
	var link op.Link
	var extra op.LinkExtra
	for w.next() {
		switch w.field {
		case fieldLinkTraceID:
			link.TraceID = op.TraceID{}
			if id := w.bytes(); len(id) == len(link.TraceID) {
				link.TraceID = op.TraceID(id)
			}
		case fieldLinkSpanID:
			link.SpanID = op.SpanID{}
			if id := w.bytes(); len(id) == len(link.SpanID) {
				link.SpanID = op.SpanID(id)
			}
		case fieldLinkState:
			extra.TraceState = r.text(w.bytes())
		case fieldLinkAttributes:
			if a := w.attr(); w.err == nil {
				r.builder.LinkAttr(&link, &extra, a)
			}
		case fieldLinkDropped:
			extra.DroppedAttributes = int64(uint32(w.uint()))
		case fieldLinkFlags:
			extra.Flags = w.fixed32()
		default:
			w.skip()
		}
	}
	if w.err == nil {
		r.builder.AddLinkWith(link, &extra)
	}
}

// parseEvent gives an event of a span to the builder.
func (r *protoReader) parseEvent(w *wire) {
	var e op.Event
	for w.next() {
		switch w.field {
		case fieldEventTime:
			e.Time = eventTime(w.fixed64())
		case fieldEventName:
			e.Name = valid(r.text(w.bytes()))
		case fieldEventAttributes:
			e.Attrs = append(e.Attrs, w.attr())
		case fieldEventDropped:
			e.DroppedAttributes = int64(uint32(w.uint()))
		default:
			w.skip()
		}
	}
	if w.err == nil {
		x := r.builder.Extra()
		x.Events = append(x.Events, e)
	}
}
