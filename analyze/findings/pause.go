package findings

import (
	"slices"

	"github.com/optrace/optrace/analyze/findings/internal/hostcalls"
	"github.com/optrace/optrace/analyze/steps"
	"github.com/optrace/optrace/analyze/timeline"
)

// longPause is the least idle time of a pause in a single call.
const longPause = 1_000_000 // ns

// ranges returns the names of ranges, spans and calls of the host in which a device is idle once for long, as in a
// checkpoint, without those named and those of other rules. In others, such as a backward pass, the operations within
// them cause the idle time.
func (l *list) ranges(named map[string]bool) map[string]bool {
	names := make(map[string]bool)
	if l.Forest == nil {
		return names
	}
	all := l.Extent.Calls
	if !l.byRequest { // a request has a span, too
		all = slices.Concat(l.Extent.Host, all)
	}
	const few = 100 // of the whole; it bounds the number of names to look at
	for _, h := range all {
		if h.IsOp || named[h.Operation] || h.Longest.HostNS < longPause || hostcalls.HasRule(h.Operation) ||
			few*h.TimeNS < l.whole*l.devicesNum {
			continue
		}
		n, ns := timeline.Within(l.Forest, &h)
		names[h.Operation] = 2*n*h.Longest.HostNS >= h.TimeNS || ns == 0 || l.isStep(h.Operation)
	}
	return names
}

// isStep reports whether a range is the steps themselves. It does not say what the host does within it.
func (l *list) isStep(name string) bool {
	isNamed := func(s steps.Row) bool { return s.Source == steps.SourceRange && s.Name == name }
	return slices.ContainsFunc(l.Steps, isNamed)
}
