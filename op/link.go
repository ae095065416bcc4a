package op

import (
	"strconv"

	"github.com/optrace/optrace/internal/jsontext"
)

// Link is a reference from an operation or span to a span of any trace, such as
// from a step of a batching engine to the requests that it runs for.
type Link struct {
	TraceID TraceID
	SpanID  SpanID
	// Weight is the part of the work that was done for the linked span, by the
	// measure of the engine, such as tokens or rows.
	Weight Int
}

// KeyLinkWeight is the attribute of a link that holds its weight, an integer that
// is not negative.
const KeyLinkWeight = "tensor.link.weight"

// MaxLinks is the number of links that a record keeps; further ones are dropped.
const MaxLinks = 4096

func appendLinks(dst []byte, links []Link) []byte {
	if len(links) == 0 {
		return dst
	}
	dst = append(dst, `,"links":[`...)
	for i := range links {
		if i > 0 {
			dst = append(dst, ',')
		}
		l := &links[i]
		dst = appendID(dst, `{"trace_id":"`, l.TraceID[:])
		dst = appendID(dst, `,"span_id":"`, l.SpanID[:])
		if l.Weight.Known {
			dst = strconv.AppendInt(append(dst, `,"weight":`...), l.Weight.V, 10)
		}
		dst = append(dst, '}')
	}
	return append(dst, ']')
}

// decodeLinks reads a list of links. A link without ids is left out.
func (d *decoder) decodeLinks() []Link {
	l := &d.lex
	d.links = d.links[:0]
	if !d.is('[') {
		return nil
	}
	for l.Array(); l.More(); {
		if !d.is('{') {
			continue
		}
		var link Link
		for l.Object(); l.More(); {
			switch string(l.Key()) {
			case "trace_id":
				link.TraceID = d.traceID()
			case "span_id":
				link.SpanID = d.spanID()
			case "weight":
				link.Weight = d.amount(WarnBadValue)
			default:
				l.Skip()
			}
		}
		if link.valid() && len(d.links) < MaxLinks {
			d.links = append(d.links, link)
		}
	}
	return d.linksFound()
}

// linksFound returns the links that have been read, nil for none.
func (d *decoder) linksFound() []Link {
	if len(d.links) == 0 {
		return nil
	}
	return d.links
}

// valid reports whether the link leads to a span.
func (l *Link) valid() bool { return !l.TraceID.IsZero() && !l.SpanID.IsZero() }

// canonicalLinks reads the rest of a list of links, which is not empty.
func (d *decoder) canonicalLinks(b []byte, i int) ([]Link, int) {
	d.links = d.links[:0]
	for {
		var link Link
		i = jsontext.QuotedHex(b, jsontext.Literal(b, i, `{"trace_id":`), link.TraceID[:])
		i = jsontext.QuotedHex(b, jsontext.Literal(b, i, `,"span_id":`), link.SpanID[:])
		if j := jsontext.Literal(b, i, `,"weight":`); j > 0 {
			link.Weight, i = amount(b, j)
		}
		if i = jsontext.Literal(b, i, "}"); i < 0 || !link.valid() || len(d.links) == MaxLinks {
			return nil, -1
		}
		d.links = append(d.links, link)
		if !jsontext.Has(b, i, ",") {
			return d.links, jsontext.Literal(b, i, "]")
		}
		i++
	}
}
