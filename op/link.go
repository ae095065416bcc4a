package op

import (
	"strconv"
	"strings"

	"github.com/optrace/optrace/internal/attrkey"
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

// Int takes an attribute of the link with an integer value. The result is the
// warning for a value that the field cannot take, 0 for none.
func (l *Link) Int(key string, v int64) Warning {
	switch {
	case key != attrkey.LinkWeight:
		return 0
	case v < 0:
		return WarnBadValue
	}
	l.Weight = Known(v)
	return 0
}

// Str is Int for a string value, which may stand for an integer.
func (l *Link) Str(key, v string) Warning {
	if key != attrkey.LinkWeight {
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
	if key == attrkey.LinkWeight {
		return WarnBadValue
	}
	return 0
}

// AppendLink appends l to the links of a record, and adds
// a warning about one that is left out to warn.
func AppendLink(links []Link, l Link, warn *Warning) []Link {
	switch {
	case !l.Valid():
		*warn |= WarnBadID
	case len(links) == MaxLinks:
		*warn |= WarnDroppedLinks
	default:
		return append(links, l)
	}
	return links
}

// Valid reports whether the link leads to a span.
func (l *Link) Valid() bool { return !l.TraceID.IsZero() && !l.SpanID.IsZero() }
