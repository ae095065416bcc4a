package html

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/analyze/path"
	"github.com/optrace/optrace/analyze/profile"
	"github.com/optrace/optrace/analyze/suspects"
	"github.com/optrace/optrace/internal/units"
)

// finding is a sentence about what stands out, and what to select to see it.
type finding struct {
	Text string
	// Select is the JSON that the page's select function takes.
	Select selection
}

// selection is the evidence of a finding: fields of the page's state.
type selection struct {
	Section   string `json:"section,omitempty"`
	Operation string `json:"operation,omitempty"`
	Device    *int   `json:"device,omitempty"`
	Request   *int   `json:"request,omitempty"`
	From      *int64 `json:"from,omitempty"`
	To        *int64 `json:"to,omitempty"`
}

// maxFindings bounds the sentences.
const maxFindings = 4

// findings returns what stands out, the most important first:
//
//   - operations with suspect durations, which the other figures hold too;
//   - the operation that is the largest part of the critical paths, or of all
//     time where there are none, if it is a tenth or more;
//   - the device that waits least in collectives while the others wait, if the
//     waiting is a tenth or more of the time in them;
//   - the slowest request, if it took twice as long as the median of its name;
//   - the device that idled most, if that was a fifth or more of its span, and
//     the cause of most of it.
func findings(r *analyze.Report, v *view) []finding {
	var all []finding
	for _, find := range []func(*analyze.Report, *view) (finding, bool){overrun, costliest, straggler, slowRequest, idlest} {
		if f, ok := find(r, v); ok && len(all) < maxFindings {
			all = append(all, f)
		}
	}
	return all
}

func overrun(r *analyze.Report, _ *view) (finding, bool) {
	i := slices.IndexFunc(r.Input.Suspects, func(s suspects.Suspect) bool { return s.What == suspects.Duration })
	if i < 0 {
		return finding{}, false
	}
	s := &r.Input.Suspects[i]
	text := fmt.Sprintf("%s, still running when a later operation of the stream had ended; the longest is %s with %s.",
		count(r.Input.SuspectDurations.V, "suspect duration"), s.Operation, units.Duration(s.DurationNS))
	if w := r.WithoutSuspects; w != nil {
		text += fmt.Sprintf(" Without suspect times all operations take %s instead of %s.", units.Duration(w.Total.SumNS),
			units.Duration(r.Total.SumNS))
	}
	return finding{Text: text, Select: selection{Section: "operations", Operation: s.Operation}}, true
}

func costliest(r *analyze.Report, _ *view) (finding, bool) {
	sums := make(map[string]int64)
	for _, p := range r.CriticalPath {
		if p.Kind != path.KindHost && p.Kind != path.KindIdle {
			sums[p.Operation] += p.TimeNS
		}
	}
	name, most := "", int64(0)
	for n, ns := range sums {
		if ns > most || ns == most && n < name {
			name, most = n, ns
		}
	}
	if r.PathTotals != nil && r.PathTotals.DurationNS > 0 && float64(most) >= 0.1*float64(r.PathTotals.DurationNS) {
		return finding{
			Text: fmt.Sprintf("%s is %s of the critical paths, the largest part: %s.%s", name,
				units.Percent(float64(most)/float64(r.PathTotals.DurationNS)), units.Duration(most), dragOf(r, name)),
			Select: selection{Section: "operations", Operation: name},
		}, true
	}
	for i := range r.Operations {
		o := &r.Operations[i]
		if o.Side == "" && o.Share.Known && o.Share.V >= 0.1 {
			return finding{
				Text: fmt.Sprintf("%s takes %s of the time of all operations: %s in %s calls.", o.Operation, units.Percent(o.Share.V),
					units.Duration(o.SumNS), units.Count(o.Count)),
				Select: selection{Section: "operations", Operation: o.Operation},
			}, true
		}
	}
	return finding{}, false
}

// dragOf says how much shorter the critical paths were without the time of an operation.
func dragOf(r *analyze.Report, operation string) string {
	for _, o := range r.PathOperations {
		if o.Operation == operation && o.DragNS.Known {
			return fmt.Sprintf(" If it takes no time, they are %s (%s) shorter.", units.Duration(o.DragNS.V),
				units.Percent(float64(o.DragNS.V)/float64(r.PathTotals.DurationNS)))
		}
	}
	return ""
}

func straggler(r *analyze.Report, v *view) (finding, bool) {
	for i := range r.Communication.Collectives {
		c := &r.Communication.Collectives[i]
		transfer, wait := c.TransferNS.V, c.WaitNS.V
		if c.Count < 2 || len(c.Stragglers) == 0 || wait < (wait+transfer)/10 {
			continue
		}
		s := c.Stragglers[0]
		for _, other := range c.Stragglers[1:] {
			if other.Count > s.Count {
				s = other
			}
		}
		return finding{
			Text: fmt.Sprintf("%s: devices waited %s for each other beyond the transfer of %s; %s came last in %s of %s.", c.Name,
				units.Duration(wait), units.Duration(transfer), s.Label(v.severalRanks), units.Count(s.Count), units.Count(c.Count)),
			Select: selection{Section: "communication", Operation: c.Name},
		}, true
	}
	return finding{}, false
}

func slowRequest(_ *analyze.Report, v *view) (finding, bool) {
	if len(v.Requests) == 0 {
		return finding{}, false
	}
	slowest := &v.Requests[0] // they are sorted by duration
	var same []int64
	for i := range v.Requests {
		if q := &v.Requests[i]; q.Name == slowest.Name && q.Service == slowest.Service {
			same = append(same, q.Duration)
		}
	}
	slices.Sort(same)
	median := same[len(same)/2]
	if len(same) < 4 || slowest.Duration < 2*median || len(slowest.Path) == 0 {
		return finding{}, false
	}
	index, from, to := slowest.Index, slowest.Start, slowest.Start+slowest.Duration
	text := fmt.Sprintf("The slowest %s took %s, the median %s.", slowest.Name, units.Duration(slowest.Duration), units.Duration(median))
	if len(slowest.Causes) > 0 {
		text += " " + slowest.Causes[0]
	}
	return finding{
		Text:   text,
		Select: selection{Section: "requests", Request: &index, From: &from, To: &to},
	}, true
}

func idlest(r *analyze.Report, v *view) (finding, bool) {
	var most *profile.Device
	for i := range r.Devices {
		d := &r.Devices[i]
		if d.SpanNS.V == 0 || 5*d.IdleNS.V < d.SpanNS.V {
			continue
		}
		if most == nil || d.IdleNS.V > most.IdleNS.V {
			most = d
		}
	}
	if most == nil {
		return finding{}, false
	}
	at := slices.IndexFunc(v.Devices, func(d shownDevice) bool { return d.Row >= 0 && &r.Devices[d.Row] == most })
	label := most.DeviceID
	f := finding{Select: selection{Section: "devices"}}
	if at >= 0 {
		label, f.Select.Device = v.Devices[at].Label, &at
	}
	f.Text = fmt.Sprintf("%s was idle for %s of its span: %s%s.", label, units.Percent(float64(most.IdleNS.V)/float64(most.SpanNS.V)),
		units.Duration(most.IdleNS.V), idleCause(r, most))
	return f, true
}

// idleCause names the cause of more than half of a device's idle time.
func idleCause(r *analyze.Report, d *profile.Device) string {
	if r.IdleCauses == nil {
		return ""
	}
	for i := range r.IdleCauses.Devices {
		c := &r.IdleCauses.Devices[i]
		switch {
		case c.Key != d.Key():
		case 2*c.Host.SumNS > d.IdleNS.V:
			return ", mostly because the host launched too late"
		case 2*c.Queue.SumNS > d.IdleNS.V:
			return ", mostly between operations that were queued"
		}
	}
	return ""
}

// sentence describes the input in one sentence, and notes what is wrong with it.
func sentence(r *analyze.Report, devices int) (string, []Note) {
	in := &r.Input
	text := fmt.Sprintf("%s in %s on %s", count(in.Entries, "operation"), count(in.Spans, "span"), count(int64(devices), "device"))
	if r.Total.Count == 0 && in.Entries > 0 {
		text = fmt.Sprintf("%s in %s, all the host's view: none of a device was recorded",
			count(in.Entries, "operation"), count(in.Spans, "span"))
	}
	if r.Total.WallNS.Known {
		text += " within " + units.Duration(r.Total.WallNS.V)
	}
	var chips []Note
	add := func(n int64, noun, detail string) {
		if n > 0 {
			chips = append(chips, Note{count(n, noun), detail})
		}
	}
	add(in.Dropped, "lost operation", "Lost before they were written: "+reasons(in.DroppedBy)+". Sums are too small by them.")
	add(in.MissingEntries, "missing operation", fmt.Sprintf("In %s that the files do not hold.", count(in.MissingBatches, "batch")))
	problems := strings.Join(in.Problems, "; ")
	add(in.Malformed, "malformed record", "Left out: "+reasons(in.MalformedBy)+". "+problems)
	add(in.Truncated, "cut-off file", "The last record of a file is incomplete. "+problems)
	if in.Orphans.Known {
		add(in.Orphans.V, "orphan", "Operations whose parent is none of the spans read; they stand at the top of their trace.")
	}
	if in.Duplicates.Known {
		add(in.Duplicates.V, "duplicate", "Operations and spans whose ids were seen before. The timeline shows the first of them.")
	}
	add(in.SuspectDurations.V, "suspect duration", "Operations that were still running when a later one of their stream had ended.")
	add(in.Clock.V, "clock problem", "Operations and spans that start more than 1 ms before their parent started or after it ended.")
	add(in.Cycles.V, "cycle", "Rings of parents, each cut at the span that starts first.")
	add(in.OverflowedGroups, "overflowed group", "Groups beyond the limit share the row (other).")
	if in.Sampling == analyze.SamplingKnown || in.Sampling == analyze.SamplingUnknown {
		chips = append(chips, Note{"sampled", "The traces were sampled, with " + string(in.Sampling) + " probability."})
	}
	if c := r.Clocks; c != nil && len(c.Offsets) > 0 {
		chips = append(chips, Note{"clocks aligned", fmt.Sprintf("Times of %s are on the clock of rank %d, by when collectives end.",
			count(int64(len(c.Offsets)), "rank"), *c.Reference)})
	}
	if len(chips) == 0 {
		return text + "; nothing lost.", nil
	}
	return text + ".", chips
}

func count(n int64, noun string) string {
	switch {
	case n == 1:
		return "1 " + noun
	case strings.HasSuffix(noun, "ch"):
		return units.Count(n) + " " + noun + "es"
	}
	return units.Count(n) + " " + noun + "s"
}

// reasons lists counts by reason, the largest first.
func reasons(by map[string]int64) string {
	keys := make([]string, 0, len(by))
	for k := range by {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b string) int { return cmp.Or(cmp.Compare(by[b], by[a]), strings.Compare(a, b)) })
	for i, k := range keys {
		keys[i] = k + " " + units.Count(by[k])
	}
	return strings.Join(keys, ", ")
}
