package otlp

import (
	"github.com/optrace/optrace/internal/jsontext"
	"github.com/optrace/optrace/op"
)

// parseLink feeds a link of a span to the builder. Ids that are none make it one that
// leads nowhere.
func (r *jsonReader) parseLink(l *jsontext.Lexer) {
	var link op.Link
	for l.Object(); l.More(); {
		switch string(l.Key()) {
		case "traceId", "trace_id":
			if !l.Null() {
				link.TraceID, _ = op.ParseTraceID(l.Str())
			}
		case "spanId", "span_id":
			if !l.Null() {
				link.SpanID, _ = op.ParseSpanID(l.Str())
			}
		case "attributes":
			if l.Null() {
				continue
			}
			for l.Array(); l.More(); {
				r.parseLinkAttribute(l, &link)
			}
		default:
			l.Skip()
		}
	}
	if l.Err() == nil {
		r.builder.AddLink(link)
	}
}

// parseLinkAttribute feeds an attribute to a link.
func (r *jsonReader) parseLinkAttribute(l *jsontext.Lexer, link *op.Link) {
	var key string
	value := []byte("{}")
	for l.Object(); l.More(); {
		switch string(l.Key()) {
		case "key":
			key = r.text(l.Str())
		case "value":
			value = l.Raw()
		default:
			l.Skip()
		}
	}
	if l.Err() != nil {
		return
	}
	v := &r.value
	v.Reset(value)
	if v.Null() {
		r.builder.Warn(link.Other(key))
		return
	}
	empty := true
	for v.Object(); v.More(); {
		if r.parseLinkVariant(v, v.Key(), link, key) {
			empty = false
		}
	}
	if empty {
		r.builder.Warn(link.Other(key))
	}
}

// parseLinkVariant feeds a value of the type name to a link. It passes over what is
// none of the types.
func (r *jsonReader) parseLinkVariant(l *jsontext.Lexer, name []byte, link *op.Link, key string) bool {
	b := r.builder
	switch string(name) {
	case "stringValue", "string_value":
		b.Warn(link.Str(key, r.parseText(l)))
	case "intValue", "int_value":
		if n, ok := integer(l); ok {
			b.Warn(link.Int(key, n))
		} else {
			b.Warn(link.Other(key))
		}
	case "doubleValue", "double_value":
		if f, ok := double(l); ok {
			b.Warn(link.Float(key, f))
		} else {
			b.Warn(link.Other(key))
		}
	case "boolValue", "bool_value", "arrayValue", "array_value", "kvlistValue", "kvlist_value", "bytesValue", "bytes_value":
		l.Skip()
		b.Warn(link.Other(key))
	default:
		l.Skip()
		return false
	}
	return true
}

// canonicalLinks gives the links at b[i], whose bracket has been read, to the builder,
// and returns the index behind the closing bracket. It returns -1 before anything is
// added.
func (r *jsonReader) canonicalLinks(b []byte, i int) int {
	r.links = r.links[:0]
	for {
		var link op.Link
		i = jsontext.QuotedHex(b, jsontext.Literal(b, i, `{"traceId":`), link.TraceID[:])
		i = jsontext.QuotedHex(b, jsontext.Literal(b, i, `,"spanId":`), link.SpanID[:])
		if j := jsontext.Literal(b, i, `,"attributes":[`); j > 0 {
			i = canonicalLinkAttributes(b, j, &link)
		}
		if j := jsontext.Literal(b, i, `,"flags":`); j > 0 {
			_, i = jsontext.Digits(b, j)
		}
		if i = jsontext.Literal(b, i, "}"); i < 0 {
			return -1
		}
		r.links = append(r.links, link)
		if !jsontext.Has(b, i, ",") {
			break
		}
		i++
	}
	if i = jsontext.Literal(b, i, "]"); i > 0 {
		for _, link := range r.links {
			r.builder.AddLink(link)
		}
	}
	return i
}

// canonicalLinkAttributes reads the attributes of a link, which are integers that it
// takes and texts that it has no use for.
func canonicalLinkAttributes(b []byte, i int, link *op.Link) int {
	for {
		key, end := jsontext.Quoted(b, jsontext.Literal(b, i, `{"key":`))
		end = jsontext.Literal(b, end, `,"value":{"`)
		if j := jsontext.Literal(b, end, `intValue":"`); j > 0 {
			var n int64
			n, end = jsontext.Integer(b, j)
			if i = jsontext.Literal(b, end, `"}}`); i < 0 || link.Int(string(key), n) != 0 {
				return -1
			}
		} else {
			_, end = jsontext.Quoted(b, jsontext.Literal(b, end, `stringValue":`))
			if i = jsontext.Literal(b, end, `}}`); i < 0 || string(key) == op.KeyLinkWeight {
				return -1
			}
		}
		if !jsontext.Has(b, i, ",") {
			return jsontext.Literal(b, i, "]")
		}
		i++
	}
}
