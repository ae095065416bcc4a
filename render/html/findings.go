package html

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/analyze/findings"
	"github.com/optrace/optrace/analyze/suspects"
	"github.com/optrace/optrace/internal/text/units"
)

// selection is the evidence of a finding, as fields of the page's state, and the gain.
type selection struct {
	Section   string `json:"section,omitempty"`
	Gain      string `json:"gain,omitempty"` // as in the text
	Operation string `json:"operation,omitempty"`
	Device    *int   `json:"device,omitempty"`
	Request   *int   `json:"request,omitempty"`
	From      *int64 `json:"from,omitempty"`
	To        *int64 `json:"to,omitempty"`
}

func selectionOf(f *findings.Finding, r *analyze.Report, v *view) selection {
	w := &f.Where
	s := selection{Section: cmp.Or(w.Section, "timeline"), Operation: w.Operation, Gain: f.Gain()}
	switch {
	case s.Section == "summary" || s.Section == "idle" && w.FromNS.Known:
		s.Section = "timeline"
	case s.Section == "critical_path" && !w.SpanID.IsZero():
		s.Section = "requests"
	}
	for i, d := range v.Devices {
		if w.DeviceID != "" && d.Row >= 0 && r.Devices[d.Row].DeviceID == w.DeviceID &&
			r.Devices[d.Row].Rank == w.Rank {
			s.Device = &i
			break
		}
	}
	if !w.SpanID.IsZero() {
		i := slices.IndexFunc(v.Requests, func(q request) bool { return q.Trace == w.TraceID && q.Span == w.SpanID })
		if i >= 0 {
			q := &v.Requests[i]
			from, to := q.Start, q.Start+q.Duration
			s.Request = &q.Index
			s.From = &from
			s.To = &to
		}
		return s
	}
	if origin, err := strconv.ParseInt(v.Origin, 10, 64); err == nil && w.FromNS.Known && w.ToNS.Known {
		from, to := max(0, w.FromNS.V-origin), min(v.SpanNS, w.ToNS.V-origin)
		if from < to {
			s.From, s.To = &from, &to
		}
	}
	return s
}

// sentence describes the input in one sentence, and its faults in notes.
func sentence(r *analyze.Report, devices int) (string, []Note) {
	in := &r.Input
	spans := " in " + units.Plural(in.Spans, "span")
	text := units.Plural(r.Total.Count, "operation") + spans + " on " + units.Plural(int64(devices), "device")
	only := ""
	switch host := in.Entries - r.Total.Count; {
	case r.Total.Count == 0 && host > 0:
		text = units.Plural(host, "operation") + spans
		only = ", all the host's view: none of a device was recorded"
	case host > 0:
		text = units.Plural(r.Total.Count, "operation") + " and " + units.Count(host) + " of the host" + spans + " on " +
			units.Plural(int64(devices), "device")
	}
	if extent := cmp.Or(r.ExtentNS, r.Total.WallNS); extent.Known {
		text += " within " + units.Duration(extent.V)
	}
	text += only
	var chips []Note
	add := func(n int64, noun, detail string) {
		if n > 0 {
			chips = append(chips, Note{units.Plural(n, noun), detail})
		}
	}
	if c := r.Coverage; c != nil && c.Text() != "" {
		chips = append(chips, Note{"work missing", c.Text()})
	}
	add(in.Dropped, "lost operation",
		"Lost before they were written: "+reasons(in.DroppedBy)+". Sums are too small by them.")
	add(in.MissingEntries, "missing operation", fmt.Sprintf("In %s that the files do not hold.",
		units.Plural(in.MissingBatches, "batch")))
	problems := strings.Join(in.Problems, "; ")
	add(in.Malformed, "malformed record", "Left out: "+reasons(in.MalformedBy)+". "+problems)
	add(in.Truncated, "cut-off file", "The last record of a file is incomplete. "+problems)
	add(in.Orphans.V, "orphan",
		"Operations whose parent is none of the spans read; they stand at the top of their trace.")
	add(in.Duplicates.V, "duplicate",
		"Operations and spans whose ids were seen before. The timeline shows the first of them.")
	add(in.SuspectDurations.V, "suspect duration",
		"Operations "+suspects.Reason(in.Suspects, in.SuspectDurations.V)+".")
	add(in.Clock.V, "clock problem",
		"Operations and spans that start more than 1 ms before their parent started or after it ended.")
	add(in.Cycles.V, "cycle", "Rings of parents, each cut at the span that starts first.")
	add(in.OverflowedGroups, "overflowed group", "Groups beyond the limit share the row (other).")
	if in.Sampling == analyze.SamplingKnown || in.Sampling == analyze.SamplingUnknown {
		chips = append(chips, Note{"sampled", "The traces were sampled, with " + string(in.Sampling) + " probability."})
	}
	if c := r.Clocks; c != nil && len(c.Offsets) > 0 {
		chips = append(chips,
			Note{"clocks aligned", fmt.Sprintf("Times of %s are on the clock of rank %d, by when collectives end.",
				units.Plural(int64(len(c.Offsets)), "rank"), *c.Reference)})
	}
	if len(chips) == 0 {
		return text + "; nothing lost.", nil
	}
	return text + ".", chips
}

func reasons(by map[string]int64) string {
	keys := slices.SortedFunc(maps.Keys(by), func(a, b string) int {
		return cmp.Or(cmp.Compare(by[b], by[a]), strings.Compare(a, b))
	})
	for i, k := range keys {
		keys[i] = k + " " + units.Count(by[k])
	}
	return strings.Join(keys, ", ")
}
