package findings

import (
	"github.com/optrace/optrace/analyze/engines"
	"github.com/optrace/optrace/analyze/findings/internal/enginetext"
	"github.com/optrace/optrace/op"
)

const maxEngines = 3

// engineFindings compares the slow requests of each engine with its others. If alone is set, the input has no
// operations, and the bound comes from the engine's own times.
func engineFindings(rows []engines.Engine, alone bool) (found []Finding) {
	for i := range rows[:min(len(rows), maxEngines)] {
		e := &rows[i]
		where := Where{Section: "engines"}
		if alone {
			found = append(found, Finding{Kind: Bound, Text: enginetext.All(e), Where: where})
		}
		all := e.E2E.Mean * float64(e.E2E.Count)
		if e.Slow == nil || !alone && (e.Slow.Part == "" || float64(e.Slow.BeyondNS) < minShare*all) {
			continue
		}
		where.TraceID = e.Slow.TraceID
		where.SpanID = e.Slow.SpanID
		found = append(found, Finding{
			Kind: SlowRequest, Text: enginetext.Slow(e), Where: where,
			SavedNS: op.Known(e.Slow.BeyondNS), OfNS: op.Known(int64(all)),
		})
	}
	return found
}
