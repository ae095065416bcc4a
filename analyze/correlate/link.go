package correlate

import (
	"strings"

	"github.com/optrace/optrace/op"
)

// linker makes links to the pages of Jaeger at an address; "" makes none.
type linker string

// span returns the link to a span, or without one to its trace.
func (l linker) span(trace op.TraceID, span op.SpanID) *string {
	if l == "" || trace.IsZero() {
		return nil
	}
	link := l.page() + trace.String()
	if !span.IsZero() {
		link += "?uiFind=" + span.String()
	}
	return &link
}

// compare returns the link to the comparison of two traces.
func (l linker) compare(a, b op.TraceID) *string {
	if l == "" || a.IsZero() || b.IsZero() || a == b {
		return nil
	}
	link := l.page() + a.String() + "..." + b.String()
	return &link
}

func (l linker) page() string { return strings.TrimRight(string(l), "/") + "/trace/" }
