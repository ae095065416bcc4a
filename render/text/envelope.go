package text

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/analyze/clocks"
	"github.com/optrace/optrace/analyze/device"
	"github.com/optrace/optrace/analyze/profile"
	"github.com/optrace/optrace/analyze/suspects"
	"github.com/optrace/optrace/internal/text/termtext"
	"github.com/optrace/optrace/internal/text/units"
	"github.com/optrace/optrace/op"
)

// envelope describes the input and its faults.
func (v *view) envelope() {
	in := &v.r.Input
	v.field("input", inputText(in), false)
	skipped, others, missing := splitSkipped(in.SkippedBy)
	v.field("spans", fmt.Sprintf("%s: %s, %s skipped", units.Count(in.Spans), units.Plural(in.Entries, "entry"),
		units.Count(in.Skipped))+reasons(skipped), false)
	v.fact("others", int64(len(others)), "records that are no spans: "+strings.Join(counted(others), ", "))
	v.missingTables(missing)
	v.faults(in)
	if !in.Duplicates.Known && in.Entries > 0 && v.r.LeftOut == "" {
		v.field("duplicates", "not looked for: only sections that need the structure of the run do", false)
	}
	v.missingLinks(in.MissingLinks.V)
	if c := in.DeviceClock; c != nil {
		v.field("clock", fmt.Sprintf("the times of %s come from devices and may be off by %s",
			units.Plural(c.Entries, "operation"), units.Duration(c.MaxErrorNS)), false)
	}
	if c := v.r.Coverage; c != nil {
		v.field("coverage", c.Text(), true)
	}
	v.without()
	v.field("sampling", samplingText(in), in.Sampling == analyze.SamplingUnknown)
	v.total(false)
	v.field("left out", v.r.LeftOut, false)
	if s := v.r.Steady; s != nil && s.LeftOut > 0 && v.r.Steps != nil && s.Left(v.r.Steps) == 0 {
		v.field("steady", steadyText(s), false)
	}
}

func inputText(in *analyze.Envelope) string {
	formats := "no format"
	if len(in.Formats) > 0 {
		formats = strings.Join(in.Formats, ", ")
	}
	return fmt.Sprintf("%s, %s, %s", units.Plural(in.Files, "file"), formats, units.Bytes(in.Bytes))
}

// splitSkipped divides skipped records into spans and others, and lists missing tables.
func splitSkipped(by map[string]int64) (spans, others map[string]int64, missing []string) {
	spans = make(map[string]int64)
	others = make(map[string]int64)
	for _, reason := range slices.Sorted(maps.Keys(by)) {
		if table, ok := strings.CutPrefix(reason, string(op.SkipMissing)); ok {
			missing = append(missing, termtext.Clean(table))
		} else if op.SkipReason(reason).IsSpan() {
			spans[reason] = by[reason]
		} else {
			others[reason] = by[reason]
		}
	}
	return spans, others, missing
}

func (p *page) missingTables(names []string) {
	p.fact("tables", int64(len(names)), "none called "+strings.Join(names, ", "))
}

func (p *page) droppedLinks(n int64) {
	p.fault("dropped", n,
		units.Plural(n, "link")+" dropped by the limits of the recorder: the parts of their requests are nobody's")
}

func (p *page) missingLinks(n int64) {
	p.fault("links", n, units.Plural(n, "link")+" to spans that are not in the input")
}

func (p *page) faults(in *analyze.Envelope) {
	p.fault("malformed", in.Malformed, units.Plural(in.Malformed,
		"record")+" could not be read"+reasons(in.MalformedBy))
	p.fault("truncated", in.Truncated, units.Plural(in.Truncated, "input")+" cut off within a record")
	for _, problem := range in.Problems {
		p.note(termtext.Clean(problem))
	}
	p.fault("dropped", in.Dropped,
		units.Plural(in.Dropped, "entry")+" lost before they were written"+reasons(in.DroppedBy))
	p.fault("missing", in.MissingBatches+in.MissingEntries,
		fmt.Sprintf("%s and %s that were announced", units.Plural(in.MissingBatches, "batch"),
			units.Plural(in.MissingEntries, "entry")))
	p.fact("earlier", in.EarlierBatches, units.Plural(in.EarlierBatches,
		"batch")+" written before the first of the input, to other files")
	p.droppedLinks(in.DroppedLinks)
	p.fault("orphans", in.Orphans.V, units.Plural(in.Orphans.V,
		"entry")+" whose parent is not in the input: see optrace doctor")
	repeats := ifAny(in.Repeated.V, ", "+units.Count(in.Repeated.V)+" of them with the same times: counted once")
	p.fault("duplicates", in.Duplicates.V, units.Plural(in.Duplicates.V, "span")+" more than once in the input"+repeats+
		"; the tree has the first of an id")
	p.example(in, in.Duplicates.V, suspects.Repeat, "counted once: ")
	p.fault("overflow", in.OverflowedGroups, units.Plural(in.OverflowedGroups,
		"group")+" beyond the limit, summed up as (other)")
	p.fault("warnings", int64(len(in.Warnings)), warnings(in.Warnings))
	p.fault("shapes", in.BadProducts, units.Plural(in.BadProducts, "product")+
		" of shapes that cannot be multiplied, such as "+inText(in.BadProduct))
	if in.TimeUnit != "" {
		p.fault("times", in.EarlyStarts, units.Plural(in.EarlyStarts, "operation")+" in 1970: times look like "+
			in.TimeUnit+", and should be Unix nanoseconds")
	}
	n := in.SuspectDurations.V
	p.fault("suspect", n, units.Plural(n, "duration")+", "+suspects.Reason(in.Suspects, n))
	p.example(in, n, suspects.Duration, "the longest: ")
	n = in.Clock.V
	p.fault("clock", n, units.Plural(n, "start")+" more than 1 ms before the parent started or after it ended")
	p.example(in, n, suspects.Clock, "farthest off: ")
	n = in.Cycles.V
	p.fault("cycles", n, units.Plural(n, "ring")+" of parents, cut at the span that starts first")
	p.example(in, n, suspects.Cycle, "the first: ")
}

// example shows the example of a kind with n suspect records.
func (p *page) example(in *analyze.Envelope, n int64, what suspects.Kind, label string) {
	for i := range in.Suspects {
		if s := &in.Suspects[i]; n > 0 && s.What == what {
			p.note(label + suspectText(s))
		}
	}
}

func samplingText(in *analyze.Envelope) string {
	switch {
	case in.Sampling == analyze.SamplingKnown:
		return "known; estimates are marked est."
	case in.Sampler != "":
		return "unknown: the sampler " + inText(in.Sampler) + " may have left operations out; nothing is extrapolated"
	case in.Sampling == analyze.SamplingUnknown:
		return "unknown: some entries carry a sampling weight, others do not; nothing is extrapolated"
	}
	return "no sampling recorded"
}

// total sums up the operations; brief leaves out memory and derived FLOPs.
func (v *view) total(brief bool) {
	t := &v.r.Total
	text := units.Plural(t.Count, "operation") + ", " + units.Duration(t.SumNS)
	if extent := cmp.Or(v.r.ExtentNS, t.WallNS); extent.Known {
		text += " within " + units.Duration(extent.V)
	}
	outputs := t.MemoryBytes.V - t.CopiedBytes.V
	derived := ""
	if !brief {
		text += ifAny(outputs, ", outputs of "+units.Bytes(outputs))
		if t.CopiedBytes.Known {
			text += ", " + units.Bytes(t.CopiedBytes.V) + " copied and set"
		}
		text += ifAny(t.PeakMemoryBytes.V, " (the largest "+units.Bytes(t.PeakMemoryBytes.V)+")")
		derived = ifAny(t.FLOPsDerived, " ("+units.FLOPs(t.FLOPsDerived)+" derived)")
	}
	if !brief {
		text += ifAny(t.FLOPs, ", "+units.FLOPs(t.FLOPs)+derived+ofOperations(t.FLOPsCount, t.Count))
	}
	host := int64(0)
	for i := range v.r.Operations {
		if o := &v.r.Operations[i]; o.Side != "" {
			host += o.Count
		}
	}
	if brief {
		text += ifAny(host, "; on the host "+units.Count(host)+" more")
	}
	if t.StatedNS.Known {
		text += "; the input states " + units.Duration(t.StatedNS.V) + ", of which shares are parts"
	}
	v.field("total", text, false)
	hasPaths := v.r.Headline != nil || v.r.PathTotals != nil && v.r.PathTotals.Paths > 0
	if requests := int64(0); t.Count == 0 && v.r.Input.Entries == 0 && len(v.r.Engines) > 0 {
		for i := range v.r.Engines {
			requests += v.r.Engines[i].Requests
		}
		v.field("requests", units.Count(requests)+" of which engines tell in spans", false)
	} else if t.Count == 0 && v.r.Input.Entries == 0 && !hasPaths {
		v.field("empty", "optrace doctor says what may be the reason", true)
	}
	if t.EstCount.Known && t.EstSumNS.Known {
		v.field("est.", fmt.Sprintf("%s, %s", units.Plural(int64(t.EstCount.V+0.5), "operation"),
			units.DurationFloat(t.EstSumNS.V)), false)
	}
}

// ofOperations returns " of N of M operations", "" if FLOPs cover all operations or the number is not known.
func ofOperations(covered, all int64) string {
	if covered == 0 || covered == all {
		return ""
	}
	return " of " + someOperations(covered, all)
}

// someOperations returns "N operations", or "N of M operations" for a part of them.
func someOperations(n, all int64) string {
	if n == all {
		return units.Plural(n, "operation")
	}
	return units.Count(n) + " of " + units.Plural(all, "operation")
}

// reasons returns " (a 1, b 2)", "" for an empty map.
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

var warningText = map[string]string{
	"bad_shape": "a shape that cannot be", "dynamic_dim": "a dimension of -1",
	"overflow":        "elements or bytes beyond 64 bits",
	"shape_truncated": "too many dimensions or inputs", "bad_value": "an attribute of another type or out of range",
	"bad_memory": "a size in bytes that cannot be", "unknown_dtype": "an element type that is not known",
	"neg_duration": "an end before the start", "bad_time": "a time of zero, beyond 64 bits or far from all others",
	"bad_id":     "an id that cannot be",
	"non_finite": "a number that is NaN or infinite", "invalid_utf8": "text that is not UTF-8",
	"dropped_attributes": "attributes dropped by limits", "no_start": "the source has no start times",
	"us_truncated": "the source has whole microseconds only", "dropped_links": "links dropped by limits",
}

func warnings(by map[string]int64) string {
	parts := counted(by)
	for i, name := range slices.Sorted(maps.Keys(by)) {
		if text := warningText[name]; text != "" {
			parts[i] += " (" + text + ")"
		}
	}
	return strings.Join(parts, ", ")
}

// suspectText describes a record with impossible times.
func suspectText(s *suspects.Suspect) string {
	text := inText(s.Operation)
	if s.DeviceID != "" {
		device := device.Key{Rank: s.Rank, DeviceID: s.DeviceID, Service: s.Service, Host: s.Host}
		text += " on " + termtext.Truncate(termtext.Clean(device.Label(true)), maxInText)
	}
	if s.Stream.Known {
		text += ", stream " + s.Stream.String()
	}
	text += ", " + units.Duration(s.DurationNS)
	switch {
	case s.OffNS.V < 0:
		text += ", " + units.Duration(-s.OffNS.V) + " before its parent started"
	case s.OffNS.V > 0:
		text += ", " + units.Duration(s.OffNS.V) + " after its parent ended"
	}
	if s.SpanID != (op.SpanID{}) {
		text += ", span " + s.SpanID.String()
	}
	return text
}

// without shows how the totals change without operations with suspect times.
func (v *view) without() {
	w := v.r.WithoutSuspects
	if w == nil {
		return
	}
	if w.Total.Count == 0 {
		v.field("without", "suspect times: no operation is left", true)
		return
	}
	v.field("without", fmt.Sprintf("suspect times: %s, %s instead of %s", units.Plural(w.Total.Count, "operation"),
		units.Duration(w.Total.SumNS), units.Duration(v.r.Total.SumNS)), true)
	v.largestWithout(w)
	v.spanWithout(w)
}

// largestWithout names the operation with the largest share without suspect times, if the share changes.
func (v *view) largestWithout(w *analyze.WithoutSuspects) {
	largest := slices.IndexFunc(w.Operations, func(o profile.Operation) bool { return o.Share.Known })
	if largest < 0 {
		return
	}
	o := &w.Operations[largest]
	share := knownFloat(o.Share, units.Percent)
	before := absent
	if at := slices.IndexFunc(v.r.Operations, func(with profile.Operation) bool {
		return with.Operation == o.Operation && with.Side == o.Side
	}); at >= 0 {
		before = knownFloat(v.r.Operations[at].Share, units.Percent)
	}
	if share != before {
		v.note(fmt.Sprintf("%s is %s of it instead of %s", inText(o.Operation), share, before))
	}
}

// spanWithout names the device whose span shrinks most without suspect times.
func (v *view) spanWithout(w *analyze.WithoutSuspects) {
	var device, with *profile.Device
	most := int64(0)
	for i := range v.r.Devices {
		b := &v.r.Devices[i]
		at := slices.IndexFunc(w.Devices, func(d profile.Device) bool { return d.Key() == b.Key() })
		if at >= 0 && w.Devices[at].SpanNS.Known && b.SpanNS.V-w.Devices[at].SpanNS.V > most {
			device, with = &w.Devices[at], b
			most = b.SpanNS.V - device.SpanNS.V
		}
	}
	if device != nil {
		v.note(fmt.Sprintf("%s spans %s instead of %s", inText(v.deviceLabel(device)), units.Duration(device.SpanNS.V),
			units.Duration(with.SpanNS.V)))
	}
}

// clocks shows the offsets between the clocks of ranks, if they were asked for.
func (v *view) clocks() {
	c := v.r.Clocks
	if c == nil {
		return
	}
	if v.empty("CLOCKS", len(c.Offsets) == 0, fmt.Sprintf("not compared: no two ranks have %d collectives in common "+
		"that end for all at once, with their starts", c.MinCollectives)) {
		return
	}
	v.note(fmt.Sprintf("times are those of rank %d; entries that are listed are as recorded", *c.Reference))
	show(&v.page, "rank:n|ahead by|by collectives|with rank:n|residual|at most|drift:1", c.Offsets,
		func(t *table, o *clocks.Offset) {
			if o.Via.Known {
				t.add(decimal(o.Rank), units.Duration(o.OffsetNS), units.Count(o.Collectives), o.Via.String(),
					knownDuration(o.ResidualMedianNS), knownDuration(o.ResidualMaxNS), knownFloat(o.DriftNSPerS, drift))
			}
		})
	v.note("residual: how far apart collectives end after the correction, in the median and at most; " +
		"drift: what the clock gains on the other one")
	if c.Inferred {
		v.note("collectives have no sequence numbers and were matched by their order")
	}
	switch n := len(c.Unknown); n {
	case 0:
	case 1:
		v.note(fmt.Sprintf("1 rank, %d, has less than %d collectives in common with others: its times are as recorded",
			c.Unknown[0].Rank, c.MinCollectives))
	default:
		v.note(fmt.Sprintf("%s ranks, such as %d, have less than %d collectives in common with others: their times "+
			"are as recorded", units.Count(int64(n)), c.Unknown[0].Rank, c.MinCollectives))
	}
	const columns = "collective:n|group:n4|recorded start skew:2|start skew|recorded end skew:1|end skew"
	show(&v.page, columns, c.Collectives, func(t *table, s *clocks.AlignedCollective) {
		t.add(s.Name, s.Group, units.Duration(s.RecordedMaxStartSkewNS), units.Duration(s.MaxStartSkewNS),
			units.Duration(s.RecordedMaxEndSkewNS), units.Duration(s.MaxEndSkewNS))
	})
	if c.WallNS.Known {
		v.note(fmt.Sprintf("from the first start to the last end: %s, as recorded %s",
			knownDuration(c.WallNS), knownDuration(c.RecordedWallNS)))
	}
}

func drift(perSecond float64) string { return strconv.FormatFloat(perSecond/1000, 'f', 3, 64) + " ppm" }
