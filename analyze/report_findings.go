package analyze

import (
	"maps"

	"github.com/optrace/optrace/analyze/collective"
	"github.com/optrace/optrace/analyze/findings"
	"github.com/optrace/optrace/analyze/profile"
	"github.com/optrace/optrace/analyze/requests"
	"github.com/optrace/optrace/analyze/steps"
	"github.com/optrace/optrace/analyze/timeline"
	"github.com/optrace/optrace/analyze/trace"
)

// comparisons are the figures that only findings are made of.
type comparisons struct {
	extent   *timeline.Extent
	lateness []collective.Lateness
	alike    []requests.Alike
}

// FindingsOf returns the findings of the operations and requests of f, as a report on them has these. in are the counts
// of the input.
func FindingsOf(f *trace.Forest, in *Envelope) []findings.Finding {
	opts := Options{Sections: []string{"findings"}}
	input := *in
	input.Warnings = maps.Clone(in.Warnings)
	f.Build()
	return newReport(input, profile.Of(f, profile.New(opts.sums()), f.CountsInSums), f, &opts).Findings
}

// addFindings adds what the other figures of r say. without is the total without suspect times, nil where there are none.
func (r *Report) addFindings(f *trace.Forest, c *comparisons, without *profile.Total) {
	in := &r.Input
	facts := &findings.Facts{
		Input: findings.Input{
			Spans: in.Spans, Entries: in.Entries, Malformed: in.Malformed, Truncated: in.Truncated, Dropped: in.Dropped,
			MissingEntries: in.MissingEntries, SuspectDurations: in.SuspectDurations.V, SkippedBy: in.SkippedBy, Suspects: in.Suspects,
		},
		Total: r.Total, Operations: r.Operations, Devices: r.Devices, Copies: r.Memory.Copies, Idle: r.Idle, IdleCauses: r.IdleCauses,
		Launches: r.Launches, Operators: r.Operators, Paths: r.PathTotals, PathOperations: r.PathOperations, Sequences: r.Sequences,
		Extent: c.extent, Lateness: c.lateness, Alike: c.alike, Engines: r.Engines, First: steps.FirstOf(f, r.Steps), WithoutSuspects: without,
	}
	r.Findings = findings.Of(facts)
}
