package diff

import (
	"fmt"
	"math"
	"slices"

	"github.com/optrace/optrace/analyze/internal/rank"
	"github.com/optrace/optrace/internal/text/units"
)

func (r *Report) warn(base, head []*Run) {
	warn := func(format string, args ...any) { r.Warnings = append(r.Warnings, fmt.Sprintf(format, args...)) }
	for i, verdict := range []Verdict{Removed, Added} {
		side := []string{"base", "head"}[i]
		var labels []string
		for i := range r.Parts {
			if p := &r.Parts[i]; p.Verdict == verdict && p.Device != nil {
				labels = append(labels, p.Device.Label(true))
			}
		}
		if labels = slices.Compact(labels); len(labels) > 0 {
			warn("devices of the %s only, without a match: %s", side, listed(labels))
		}
	}
	if len(base) == 1 && len(head) == 1 {
		warn("one run per side: other runs may differ as much; record at least %d per side", r.leastRuns())
	}
	if n := r.neededForAny(); n > 0 {
		warn("too few values to find any difference with %s: record at least %d per side",
			units.Plural(int64(r.Tests), "test"), n)
	}
	if n := len(slices.DeleteFunc(r.comparisons(), func(c *Comparison) bool { return !c.isDependent() })); n > 0 {
		warn("not decided: %d of %d comparisons; their values depend on one another", n, len(r.comparisons()))
	}
	for _, side := range []struct {
		name string
		runs []*Run
	}{{"base", base}, {"head", head}} {
		for _, run := range side.runs {
			in := &run.input
			for _, lack := range []struct {
				n    int64
				what string
			}{
				{in.Dropped, "operations were lost before they were written"},
				{in.MissingEntries, "announced operations are missing"},
				{in.Malformed, "records could not be read"},
				{in.Truncated, "files are cut off"},
				{in.SuspectDurations.V, "durations are suspect"},
			} {
				if lack.n > 0 {
					warn("%s, %s: %d %s", side.name, run.name, lack.n, lack.what)
				}
			}
			if in.Entries == 0 {
				warn("%s, %s: no operations", side.name, run.name)
			}
		}
	}
}

// neededForAny returns the number of runs per side needed to decide any row. It returns 0 if a row is decided, or
// undecided for another reason.
func (r *Report) neededForAny() int {
	for i := range r.Rows {
		if c := &r.Rows[i].Comparison; c.Verdict != TooFew || c.isDependent() {
			return 0
		}
	}
	if r.Tests == 0 {
		return 0
	}
	return r.leastRuns()
}

// leastRuns returns the number of runs per side for a significant change of any row, at least enoughRuns.
func (r *Report) leastRuns() int {
	const enoughRuns = 8
	least := 1.0
	for _, c := range r.comparisons() {
		least = min(least, c.weight)
	}
	for n := enoughRuns; ; n++ {
		if rank.LeastP(n, n) <= r.Alpha*least || n == math.MaxInt16 {
			return n
		}
	}
}

// isDependent reports whether the values of one run depend on each other too much for a comparison.
func (c *Comparison) isDependent() bool {
	return c.Independent.Known && !c.P.Known && len(c.Unsteady) == 0
}
