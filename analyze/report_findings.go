package analyze

import (
	"github.com/optrace/optrace/analyze/collective"
	"github.com/optrace/optrace/analyze/findings"
	"github.com/optrace/optrace/analyze/requests"
	"github.com/optrace/optrace/analyze/steps"
	"github.com/optrace/optrace/analyze/timeline"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/op"
)

// comparisons are the figures that only findings are made of.
type comparisons struct {
	extent   *timeline.Extent
	lateness []collective.Lateness
	alike    []requests.Alike
}

// addFindings adds what the other figures of r say.
func (r *Report) addFindings(f *trace.Forest, c *comparisons) {
	in := &r.Input
	if c.extent.DurationNS > 0 || r.Total.WallNS.Known {
		r.ExtentNS = op.Known(c.extent.DurationNS)
	}
	facts := &findings.Facts{
		Input: findings.Input{
			Spans: in.Spans, Entries: in.Entries, Malformed: in.Malformed, Truncated: in.Truncated, Dropped: in.Dropped,
			MissingEntries: in.MissingEntries, SuspectDurations: in.SuspectDurations.V, SkippedBy: in.SkippedBy, Suspects: in.Suspects,
		},
		Total: r.Total, Operations: r.Operations, Devices: r.Devices, Copies: r.Memory.Copies, Idle: r.Idle, IdleCauses: r.IdleCauses,
		Launches: r.Launches, Paths: r.PathTotals, PathOperations: r.PathOperations, Sequences: r.Sequences,
		Extent: c.extent, Lateness: c.lateness, Alike: c.alike, First: steps.FirstOf(f, r.Steps),
	}
	if r.WithoutSuspects != nil {
		facts.WithoutSuspects = &r.WithoutSuspects.Total
	}
	r.Findings = findings.Of(facts)
}
