package text

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/analyze/suspects"
	"github.com/optrace/optrace/internal/termtext"
	"github.com/optrace/optrace/internal/units"
	"github.com/optrace/optrace/op"
)

// envelope says what the figures were computed from, and what is wrong with it.
func (v *view) envelope() {
	in := &v.r.Input
	formats := "no format"
	if len(in.Formats) > 0 {
		formats = strings.Join(in.Formats, ", ")
	}
	v.field("input", fmt.Sprintf("%s, %s, %s", plural(in.Files, "file"), formats, units.Bytes(in.Bytes)), false)
	spans := fmt.Sprintf("%s: %s, %s skipped", units.Count(in.Spans), pluralOf(in.Entries, "entry", "entries"), units.Count(in.Skipped))
	skipped, others := splitSkipped(in.SkippedBy)
	v.field("spans", spans+reasons(skipped), false)
	if len(others) > 0 {
		v.field("others", "records that are no spans: "+strings.Join(counted(others), ", "), false)
	}
	v.faults(in)
	if !in.Duplicates.Known && in.Entries > 0 && v.r.LeftOut == "" {
		v.field("duplicates", "not looked for: only sections that need the structure of the run do", false)
	}
	v.missingLinks(in.MissingLinks.V)
	v.deviceClock(in.DeviceClock)
	v.without()
	v.field("sampling", samplingText(in.Sampling), in.Sampling == analyze.SamplingUnknown)
	v.total()
	if v.r.LeftOut != "" {
		v.field("left out", v.r.LeftOut, false)
	}
}

// missingLinks says how many links lead nowhere.
func (p *page) missingLinks(n int64) {
	if n > 0 {
		p.field("links", plural(n, "link")+" to spans that are not in the input", true)
	}
}

// deviceClock says how far times may be off.
func (v *view) deviceClock(c *analyze.DeviceClock) {
	if c != nil {
		v.field("clock", fmt.Sprintf("the times of %s come from devices and may be off by %s",
			plural(c.Entries, "operation"), units.Duration(c.MaxErrorNS)), false)
	}
}

// splitSkipped divides what was passed over into spans and other records.
func splitSkipped(by map[string]int64) (spans, others map[string]int64) {
	spans, others = make(map[string]int64), make(map[string]int64)
	for reason, n := range by {
		if op.SkipReason(reason).IsSpan() {
			spans[reason] = n
		} else {
			others[reason] = n
		}
	}
	return spans, others
}

// faults lists what was lost or is wrong; nothing where all is well.
func (p *page) faults(in *analyze.Envelope) {
	if in.Malformed > 0 {
		p.field("malformed", pluralOf(in.Malformed, "record", "records")+" could not be read"+reasons(in.MalformedBy), true)
	}
	if in.Truncated > 0 {
		p.field("truncated", plural(in.Truncated, "input")+" cut off within a record", true)
	}
	for _, problem := range in.Problems {
		p.note(termtext.Clean(problem))
	}
	if in.Dropped > 0 {
		p.field("dropped", pluralOf(in.Dropped, "entry", "entries")+" lost before they were written"+reasons(in.DroppedBy), true)
	}
	if in.MissingBatches > 0 || in.MissingEntries > 0 {
		p.field("missing", fmt.Sprintf("%s and %s that were announced",
			pluralOf(in.MissingBatches, "batch", "batches"), pluralOf(in.MissingEntries, "entry", "entries")), true)
	}
	if in.EarlierBatches > 0 {
		p.field("earlier", pluralOf(in.EarlierBatches, "batch", "batches")+" written before the first of the input, to other files", false)
	}
	if in.Orphans.Known && in.Orphans.V > 0 {
		p.field("orphans", pluralOf(in.Orphans.V, "entry", "entries")+" whose parent is not in the input", true)
	}
	if in.Duplicates.Known && in.Duplicates.V > 0 {
		repeats := ""
		if in.Repeated.V > 0 {
			repeats = ", " + units.Count(in.Repeated.V) + " of them with the same times: counted once"
		}
		p.field("duplicates", plural(in.Duplicates.V, "span")+" more than once in the input"+repeats, true)
		p.example(in, suspects.Repeat, "counted once: ")
	}
	if in.OverflowedGroups > 0 {
		p.field("overflow", plural(in.OverflowedGroups, "group")+" beyond the limit, summed up as (other)", true)
	}
	if len(in.Warnings) > 0 {
		p.field("warnings", strings.Join(counted(in.Warnings), ", "), true)
	}
	p.suspects(in)
}

func samplingText(s analyze.Sampling) string {
	switch s {
	case analyze.SamplingKnown:
		return "known; estimates are marked est."
	case analyze.SamplingUnknown:
		return "unknown: some entries carry a sampling weight, others do not; nothing is extrapolated"
	}
	return "none recorded"
}

func (v *view) total() {
	t := &v.r.Total
	wall := ""
	if t.WallNS.Known {
		wall = " within " + units.Duration(t.WallNS.V)
	}
	text := fmt.Sprintf("%s, %s%s, memory %s (largest %s)", pluralOf(t.Count, "operation", "operations"),
		units.Duration(t.SumNS), wall, units.Bytes(t.MemoryBytes), units.Bytes(t.PeakMemoryBytes))
	if t.FLOPs > 0 {
		text += ", " + units.FLOPs(t.FLOPs)
		if t.FLOPsDerived > 0 {
			text += fmt.Sprintf(" (%s derived)", units.FLOPs(t.FLOPsDerived))
		}
	}
	if t.StatedNS.Known {
		text += "; the input states " + units.Duration(t.StatedNS.V) + ", of which shares are parts"
	}
	v.field("total", text, false)
	if t.Count == 0 && v.r.Input.Entries == 0 {
		v.field("empty", "optrace doctor says what may be the reason", true)
	}
	if t.EstCount.Known && t.EstSumNS.Known {
		v.field("est.", fmt.Sprintf("%s operations, %s", units.Count(int64(t.EstCount.V+0.5)), units.DurationFloat(t.EstSumNS.V)), false)
	}
}

func plural(n int64, noun string) string { return pluralOf(n, noun, noun+"s") }

func pluralOf(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return units.Count(n) + " " + many
}

// reasons returns " (a 1, b 2)", or nothing for an empty map.
func reasons(by map[string]int64) string {
	if len(by) == 0 {
		return ""
	}
	return " (" + strings.Join(counted(by), ", ") + ")"
}

// counted returns the keys with their counts, sorted by key.
func counted(by map[string]int64) []string {
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(by)) {
		parts = append(parts, termtext.Clean(k)+" "+units.Count(by[k]))
	}
	return parts
}
