package correlate

import (
	"strings"

	"github.com/optrace/optrace/analyze/key"
	"github.com/optrace/optrace/op"
)

// Link is the address of a page, "" for none.
type Link string

// MarshalJSON returns the address as a string, null for none.
func (l Link) MarshalJSON() ([]byte, error) {
	return key.Value{Text: string(l), Known: l != ""}.MarshalJSON()
}

// span returns the page of Jaeger, whose address is l, for a span, or without a
// span for its trace. It is "" where l is.
func (l Link) span(trace op.TraceID, span op.SpanID) Link {
	if l == "" || trace.IsZero() {
		return ""
	}
	link := l.page() + trace.String()
	if !span.IsZero() {
		link += "?uiFind=" + span.String()
	}
	return Link(link)
}

func (l Link) compare(a, b op.TraceID) Link {
	if l == "" || a.IsZero() || b.IsZero() || a == b {
		return ""
	}
	return Link(l.page() + a.String() + "..." + b.String())
}

func (l Link) page() string { return strings.TrimRight(string(l), "/") + "/trace/" }
