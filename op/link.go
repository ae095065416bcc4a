package op

import (
	"strconv"
	"strings"

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
	// Extra is what else the link had, nil unless a reader was asked for it.
	Extra *LinkExtra
}

// MaxLinks is the number of links that a record keeps; further ones are dropped,
// with [WarnDroppedLinks].
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
		if x := l.Extra; x != nil {
			dst = appendAttrs(dst, `,"attrs":`, x.Attrs)
			dst = appendNumber(dst, `,"flags":`, int64(x.Flags))
			dst = appendText(dst, `,"trace_state":`, x.TraceState)
			dst = appendNumber(dst, `,"dropped_attributes":`, x.DroppedAttributes)
		}
		dst = append(dst, '}')
	}
	return append(dst, ']')
}

// decodeLinks reads a list of links, as [Builder.AddLink] takes them.
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
			case "attrs":
				d.more(&link).Attrs = d.furtherAttrs()
			case "flags":
				d.more(&link).Flags = d.flags()
			case "trace_state":
				d.more(&link).TraceState = d.text()
			case "dropped_attributes":
				d.more(&link).DroppedAttributes = d.amount(WarnBadValue).V
			default:
				l.Skip()
			}
		}
		d.links = appendLink(d.links, link, &d.entry.Warn)
	}
	return d.linksFound()
}

// more returns what the link has beside its fields, to add to it.
func (d *decoder) more(l *Link) *LinkExtra {
	if l.Extra == nil {
		d.linkExtras = append(d.linkExtras, LinkExtra{})
		l.Extra = &d.linkExtras[len(d.linkExtras)-1]
	}
	return l.Extra
}

// linksFound returns the links that have been read, nil for none.
func (d *decoder) linksFound() []Link {
	if len(d.links) == 0 {
		return nil
	}
	return d.links
}

// Int takes an attribute of the link with an integer value. The result is the
// warning for a value that the field cannot take, 0 for none.
func (l *Link) Int(key string, v int64) Warning {
	switch {
	case key != KeyLinkWeight:
		return 0
	case v < 0:
		return WarnBadValue
	}
	l.Weight = Known(v)
	return 0
}

// Str is Int for a string value, which may stand for an integer.
func (l *Link) Str(key, v string) Warning {
	if key != KeyLinkWeight {
		return 0
	}
	if n, ok := jsontext.ParseInt([]byte(strings.TrimSpace(v))); ok {
		return l.Int(key, n)
	}
	return WarnBadValue
}

// Float is Int for a floating-point value, which stands for an integer where it is
// integral and within ±2^53.
func (l *Link) Float(key string, v float64) Warning {
	if n, ok := jsontext.IntegralFloat(v); ok {
		return l.Int(key, n)
	}
	return l.Other(key)
}

// Other is Int for a value of any other type.
func (l *Link) Other(key string) Warning {
	if key == KeyLinkWeight {
		return WarnBadValue
	}
	return 0
}

// AddLink adds a link to the span. One that does not lead to a span is left out
// with a warning, and so are links beyond MaxLinks.
func (b *Builder) AddLink(l Link) {
	b.links = appendLink(b.links, l, &b.entry.Warn)
}

// appendLink appends l to the links of a record, as [Builder.AddLink] does, and adds
// a warning about one that is left out to warn.
func appendLink(links []Link, l Link, warn *Warning) []Link {
	switch {
	case !l.valid():
		*warn |= WarnBadID
	case len(links) == MaxLinks:
		*warn |= WarnDroppedLinks
	default:
		return append(links, l)
	}
	return links
}

// LinkAttr gives an attribute of any type to a link, and where everything is kept to
// extra.
func (b *Builder) LinkAttr(l *Link, extra *LinkExtra, a Attr) {
	var w Warning
	switch a.Type {
	case AttrText:
		w = l.Str(a.Key, a.Value)
	case AttrInt:
		n, _ := strconv.ParseInt(a.Value, 10, 64)
		w = l.Int(a.Key, n)
	case AttrFloat:
		f, _ := strconv.ParseFloat(a.Value, 64)
		w = l.Float(a.Key, f)
	default:
		w = l.Other(a.Key)
	}
	b.entry.Warn |= w
	if b.KeepsAll() && (a.Key != KeyLinkWeight || a.Type != AttrInt || w != 0) {
		extra.Attrs = setAttr(extra.Attrs, validAttr(a))
	}
}

// AddLinkWith is AddLink for a link and what else it has, which matters where
// everything is kept.
func (b *Builder) AddLinkWith(l Link, extra *LinkExtra) {
	if b.KeepsAll() && (len(extra.Attrs) > 0 || extra.Flags != 0 || extra.TraceState != "" || extra.DroppedAttributes != 0) {
		own := *extra
		l.Extra = &own
	}
	b.AddLink(l)
}

// Links returns the links that have been added, nil for none. They belong to the
// Builder and are valid until the next Reset. Those of an operation stand in its
// entry; this is for other spans.
func (b *Builder) Links() []Link {
	if len(b.links) == 0 {
		return nil
	}
	return b.links
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
