package otlp

import (
	"math"

	"github.com/optrace/optrace/op"
)

// parseLink feeds a link of a span to the builder. Ids that are none make it one that
// leads nowhere.
func (r *protoReader) parseLink(w *wire) {
	var link op.Link
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
		case fieldLinkAttributes:
			m := w.message()
			r.parseLinkAttribute(&m, &link)
			w.join(&m)
		default:
			w.skip()
		}
	}
	if w.err == nil {
		r.builder.AddLink(link)
	}
}

// parseLinkAttribute feeds an attribute to a link.
func (r *protoReader) parseLinkAttribute(w *wire, link *op.Link) {
	var key []byte
	var value wire
	for w.next() {
		switch w.field {
		case fieldKey:
			key = w.bytes()
		case fieldValue:
			value = w.message()
		default:
			w.skip()
		}
	}
	if w.err != nil {
		return
	}
	name := r.text(key)
	empty := true
	for value.next() {
		if r.parseLinkVariant(&value, link, name) {
			empty = false
		}
	}
	if empty {
		r.builder.Warn(link.Other(name))
	}
	w.join(&value)
}

// parseLinkVariant feeds a value of the current field's type to a link. It passes over
// what is none of the types.
func (r *protoReader) parseLinkVariant(w *wire, link *op.Link, key string) bool {
	b := r.builder
	switch w.field {
	case fieldString:
		b.Warn(link.Str(key, r.text(w.bytes())))
	case fieldInt:
		b.Warn(link.Int(key, int64(w.uint())))
	case fieldDouble:
		b.Warn(link.Float(key, math.Float64frombits(w.fixed64())))
	case fieldBool, fieldArray, fieldMap, fieldBytes:
		w.skip()
		b.Warn(link.Other(key))
	default:
		w.skip()
		return false
	}
	return true
}
