package op

// Link is a reference to a span of any trace, such as from a step of a batching engine to one of its requests.
type Link struct {
	TraceID TraceID
	SpanID  SpanID
	// Weight is the linked span's part of the work, in the engine's measure, such as tokens or rows.
	Weight Int
	// Attention is the linked span's part of the attention work if it differs: pairs of queries and keys.
	Attention Int
	// Extra holds the rest of the link. It is nil unless the reader was asked for it.
	Extra *LinkExtra
}

// MaxLinks is the largest number of links of a record. Readers drop further ones, with [WarnDroppedLinks].
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
		dst = appendKnown(dst, `,"weight":`, l.Weight)
		dst = appendKnown(dst, `,"weight_attention":`, l.Attention)
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

// Valid reports whether the link leads to a span.
func (l *Link) Valid() bool { return !l.TraceID.IsZero() && !l.SpanID.IsZero() }
