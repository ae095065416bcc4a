package analyze

import (
	"maps"

	"github.com/optrace/optrace/analyze/findings"
	"github.com/optrace/optrace/analyze/profile"
	"github.com/optrace/optrace/analyze/steps"
	"github.com/optrace/optrace/analyze/trace"
)

// FindingsOf returns the findings about f, as in a report. in has the counts of the input.
func FindingsOf(f *trace.Forest, in *Envelope) []findings.Finding {
	opts := Options{Sections: []string{"findings"}}
	input := *in
	input.Warnings = maps.Clone(in.Warnings)
	f.Build()
	return newReport(input, profile.Of(f, profile.New(opts.sums()), f.CountsInSums), f, &opts).Findings
}

// addFindings computes the findings from the figures of r and from facts, which it completes.
func (r *Report) addFindings(f *trace.Forest, facts *findings.Facts) {
	in := &r.Input
	facts.Input = findings.Input{
		Files: in.Files, Bytes: in.Bytes, Formats: in.Formats,
		Spans: in.Spans, Entries: in.Entries, Malformed: in.Malformed, Truncated: in.Truncated, Dropped: in.Dropped,
		MissingEntries: in.MissingEntries, SuspectDurations: in.SuspectDurations.V, SkippedBy: in.SkippedBy,
		Suspects: in.Suspects,
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
