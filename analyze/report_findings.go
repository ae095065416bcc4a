package analyze

import (
	"maps"

	"github.com/optrace/optrace/analyze/findings"
	"github.com/optrace/optrace/analyze/profile"
	"github.com/optrace/optrace/analyze/steps"
	"github.com/optrace/optrace/analyze/trace"
)

// FindingsOf returns the findings of the operations and requests of f, as a report on them has these. in are the counts
// of the input.
func FindingsOf(f *trace.Forest, in *Envelope) []findings.Finding {
	opts := Options{Sections: []string{"findings"}}
	input := *in
	input.Warnings = maps.Clone(in.Warnings)
	f.Build()
	return newReport(input, profile.Of(f, profile.New(opts.sums()), f.CountsInSums), f, &opts).Findings
}

// addFindings adds what the other figures of r say, and those that only findings are made of: facts has these.
func (r *Report) addFindings(f *trace.Forest, facts *findings.Facts) {
	in := &r.Input
	facts.Input = findings.Input{
		Files: in.Files, Bytes: in.Bytes, Formats: in.Formats,
		Spans: in.Spans, Entries: in.Entries, Malformed: in.Malformed, Truncated: in.Truncated, Dropped: in.Dropped,
		MissingEntries: in.MissingEntries, SuspectDurations: in.SuspectDurations.V, SkippedBy: in.SkippedBy, Suspects: in.Suspects,
		TimeUnit: in.TimeUnit, EarlyStarts: in.EarlyStarts, BadProducts: in.BadProducts, BadProduct: in.BadProduct,
	}
	facts.Total = r.Total
	facts.Operations = r.Operations
	facts.Devices = r.Devices
	facts.Copies = r.Memory.Copies
	facts.Errors = r.Errors
	facts.Idle = r.Idle
	facts.IdleCauses = r.IdleCauses
	facts.Launches = r.Launches
	facts.Operators = r.Operators
	facts.Paths = r.PathTotals
	facts.PathOperations = r.PathOperations
	facts.Sequences = r.Sequences
	facts.Engines = r.Engines
	facts.First = steps.FirstOf(f, r.Steps)
	r.Findings = findings.Of(facts)
}
