package otlp

import (
	"github.com/optrace/optrace/internal/attrkey"
	"github.com/optrace/optrace/internal/jsontext"
	"github.com/optrace/optrace/internal/opmodel"
	"github.com/optrace/optrace/op"
)

// parseLink feeds a link of a span to the builder. Ids that are none make it one that
// leads nowhere.
func (r *jsonReader) parseLink(l *jsontext.Lexer) {
	var link op.Link
	var extra op.LinkExtra
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
		case "traceState", "trace_state":
			extra.TraceState = valid(r.parseText(l))
		case "attributes":
			if l.Null() {
				continue
			}
			for l.Array(); l.More(); {
				if a := parseAttr(l); l.Err() == nil {
					r.builder.LinkAttr(&link, &extra, a)
				}
			}
		case "droppedAttributesCount", "dropped_attributes_count":
			extra.DroppedAttributes = parseCount(l)
		case "flags":
			extra.Flags = uint32(parseCount(l))
		default:
			l.Skip()
		}
	}
	if l.Err() == nil {
		r.builder.AddLinkWith(link, &extra)
	}
}

// parseEvent gives an event of a span to the builder.
func (r *jsonReader) parseEvent(l *jsontext.Lexer) {
	var e op.Event
	for l.Object(); l.More(); {
		switch string(l.Key()) {
		case "timeUnixNano", "time_unix_nano":
			if n, ok := integer(l); ok && n > 0 {
				e.Time = eventTime(uint64(n))
			}
		case "name":
			e.Name = valid(r.parseText(l))
		case "attributes":
			e.Attrs = parseAttrs(e.Attrs, l)
		case "droppedAttributesCount", "dropped_attributes_count":
			e.DroppedAttributes = parseCount(l)
		default:
			l.Skip()
		}
	}
	if l.Err() == nil {
		x := r.builder.Extra()
		x.Events = append(x.Events, e)
	}
}

// parseCount reads a number of 32 bits, 0 for what is none.
func parseCount(l *jsontext.Lexer) int64 {
	n, _ := integer(l)
	return int64(uint32(n))
}

// canonicalLinks gives the links at b[i], whose bracket has been read, to the builder,
// and returns the index behind the closing bracket. It returns -1 before anything is
// added.
func (r *jsonReader) canonicalLinks(b []byte, i int) int {
	if r.links = r.links[:0]; r.builder.KeepsAll() {
		return -1
	}
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
			if i = jsontext.Literal(b, end, `"}}`); i < 0 || opmodel.LinkInt(link, string(key), n) != 0 {
				return -1
			}
		} else {
			_, end = jsontext.Quoted(b, jsontext.Literal(b, end, `stringValue":`))
			if i = jsontext.Literal(b, end, `}}`); i < 0 || string(key) == attrkey.LinkWeight {
				return -1
			}
		}
		if !jsontext.Has(b, i, ",") {
			return jsontext.Literal(b, i, "]")
		}
		i++
	}
}
