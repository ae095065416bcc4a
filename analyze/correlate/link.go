package correlate

import (
	"strings"

	"github.com/optrace/optrace/analyze/key"
	"github.com/optrace/optrace/op"
)

// Link is the address of a page, "" if there is no page.
type Link string

// MarshalJSON returns the address as a string, or null for "".
func (l Link) MarshalJSON() ([]byte, error) {
	return key.Value{Text: string(l), Known: l != ""}.MarshalJSON()
}

// span returns the page of a span in Jaeger at l, or of the trace for a zero span, "" if l is empty.
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
